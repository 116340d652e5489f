// Reads of updates that another update comes before, such as acquisitions of a lock.
//
// A read finds the lock free, and another update is found later that takes the same place: the read would then see a lock
// that is held, and its thread would wait. To go on from there without the read, as other reads sleep, ends in runs in
// which it never gets the lock. So in program order such a read is put off instead: it is displaced by the update, stays
// to be committed, and is picked again like any other. A lock is then never explored as a failure.
//
// Each execution must be found in one way. A read that was explored at a stamp would have seen, before a write w that it
// reads from, the last in coherence among what was there at the stamp and what w needs: that is the predecessor of w, and
// the predecessors of that lead down to what was there at the stamp. The read was displaced on the way to w if one of them
// is an update behind which it waits, in the place behind a predecessor with which it would have gone on
// (`Maximality::is_displaced`; what the model has to say about these sources later, beside events that came since, does not
// matter). So a displaced read may read only from writes with the update that displaced it among their predecessors: the
// others are found without. And a run in which it is displaced is the one to explore a continuation (maximality.hpp) if the
// same holds for what the store needs; one that ends without the read is the one to count if it holds for all that there is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rsmc/machine_state.hpp"

namespace dekker::rsmc {

struct Displacement {
  EventId read;
  EventId by;           // the write of the update
  std::uint64_t stamp;  // when the read was explored
  std::size_t item;     // in the run
};

}  // namespace dekker::rsmc
