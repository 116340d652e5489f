// A committed event in the order of the run.
#pragma once

#include "rsmc/machine_state.hpp"
#include "rsmc/templates.hpp"

namespace dekker::rsmc {

template <std::size_t W>
struct RunItem {
  EventId event;
  ItemKind kind;
  FixedBits<W> past;  // of commit-before, in run indices
  FixedBits<W> least_past = {};  // without what reads wait for because of their writes; kept only if some do
};

}  // namespace dekker::rsmc
