// A part of an exploration that is explored by itself: the run that leads there, to be replayed step for step, and what is
// to be done behind it.
//
// Nothing but the run is needed. Each continuation of a read belongs to one run (maximality.hpp), so that whoever explores
// a run can tell whether to explore what is found there, and no two do. Reads that Explore was called on before the run
// came here are open: continuations that are found for them below belong to the unit, which explores them in its turn.
// Only that a read sleeps once is not told by the run: units for that have a number, and of each there is one.
#pragma once

#include "dekker/rsmc/explore.hpp"
#include "rsmc/templates.hpp"

namespace dekker::rsmc {

// How much there was of everything that can be taken back.
struct RunMark {
  std::size_t nodes, events, saved, deferred, objects, items, matrix, locations, trail;

  bool operator==(const RunMark&) const = default;
};

// A write that was found not to be between two items, and how long the trail was then.
struct AbsentWrite {
  std::size_t trail;
  Key write;
};

// A location that was met, and how long the trail was then.
struct MetLocation {
  std::size_t trail;
  Address address;
  std::uint8_t size;
  bool is_outside;
  Place place;
};

// To do again what was taken back, step for step: the items, and between them locations that were met and writes that were
// found not to be.
struct RunSteps {
  std::vector<TemplateItem> items;
  std::vector<AbsentWrite> absent;
  std::vector<MetLocation> locations;
};

// A read that Explore was called on.
struct OpenRead {
  Key active;  // the read; of a compare-exchange that is to fail, its write
  Key read;
  RunMark before;
  std::size_t run_size;
  std::uint64_t stamp;
  bool only_success;
  bool has_slept;
  bool tries_again;
  std::uint64_t id;
};

enum class UnitKind : std::uint8_t {
  here,          // go on from here
  continuation,  // of the last open read
  asleep,        // the last open read sleeps
};

struct Unit {
  RunSteps steps;
  RunMark mark;  // where the steps lead to
  std::vector<OpenRead> open;
  UnitKind kind;
  Template continuation;
  std::uint64_t last_stamp;

  std::uint64_t sleep_id() const { return kind == UnitKind::asleep ? open.back().id : 0; }
};

// The bytes are the same on every machine.
PackedUnit pack(const Unit& unit);
Unit unpack(const PackedUnit& packed);

}  // namespace dekker::rsmc
