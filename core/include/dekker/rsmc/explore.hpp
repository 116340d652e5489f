// Relaxed stateless model checking: every trace that the model allows, exactly once.
//
// After "Stateless Model Checking for POWER" (Abdulla, Atig, Jonsson, Leonardsson), section 3. Threads are fetched and
// their memory accesses committed one at a time, in an order that respects commit-before; a store is committed with its
// place in coherence, a load with the store it reads from. A load that could also have read from a store committed
// later is explored again behind that store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dekker/model_program.hpp"
#include "dekker/rsmc/probe_guide.hpp"
#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// An instruction that a thread executes.
struct Place {
  std::int32_t thread = none;
  std::int32_t block = 0;
  std::int32_t pc = 0;

  auto operator<=>(const Place&) const = default;
};

// Which order events are committed in.
struct CommitOrder {
  bool in_order = true;            // program order
  bool same_location_reads = true;   // reads of one location are committed in program order
  bool same_location_writes = true;  // a write is committed after earlier accesses of its location
  // A load may take the value of a store of its own thread before that store is committed. The model must then define
  // from-read by itself: the store adds pairs between events that are there already.
  bool forwarding = false;
  // So may the read of an update that succeeds, and so may both with the value of an update or store-conditional. They
  // need not wait for what only chooses that value or decides whether there is a store: that is guessed.
  bool forwarding_of_updates = false;
  // The model keeps a write behind what the addresses of earlier accesses depend on. Otherwise a write that waits for one
  // for no other reason is a Guess.
  bool address_order = true;
  // What uses the status of a store-conditional waits until its write is committed.
  bool status_is_dependency = false;
  // Not 0: what to commit next is drawn at random, which must make no difference to what is found.
  std::uint64_t pick_seed = 0;
  // Items of continuations that may wait to be explored.
  std::uint64_t most_waiting = 100'000;
  // What the model allows is still allowed without some reads and fences.
  bool forgets_reads = false;
  // And with less dependencies, and if a read is weaker.
  bool forgets_dependencies = false;
  // The model has flags: executions that they mark are violations.
  bool has_flags = false;
  // Where nobody sees in which order writes come, some order goes with whatever the model allows of the rest.
  bool leaves_order_open = false;
};

struct Limits {
  std::int32_t unroll = 2;
  bool counts_known_rounds = true;  // of loops, also those that no event had a say in
  std::uint64_t max_traces = 0;  // 0: no limit
  double timeout_s = 0;          // 0: no limit
  std::uint64_t memory_bytes = 0;  // of the whole process; 0: no limit
  bool wants_examples = false;     // a trace for every state, violation and flag
  bool stops_at_violation = false;  // or flag of the model
  bool finds_leaks = false;         // memory that is lost at the end is a violation
  bool stops_at_deadlock = true;    // they are violations
  // Otherwise one may stand for those that renaming of threads makes of it, or another order of writes that nobody sees.
  bool counts_executions = true;
};

enum class EventKind : std::uint8_t { read, write, fence, choice };

// An event of a run. `link` is for reads the number of the write in the trace, or `none` for the initial write; for writes
// the rank in coherence behind the initial write, from 1.
struct TraceEvent {
  Place place;
  EventKind kind;
  Address address;
  std::uint8_t size;
  Value value;
  std::int32_t link;
};

// Threads one after the other, each in program order, as far as it got.
using Trace = std::vector<TraceEvent>;

enum class ViolationKind : std::uint8_t { assertion, memory, use_after_free, double_free, call, join, release, allocation, leak, unsupported, uninitialised };

struct Violation {
  ViolationKind kind;
  Place place;
  Address address;

  auto operator<=>(const Violation&) const = default;
};

enum class Stop : std::uint8_t { not_stopped, time, memory, traces, events, interrupt, violation };

struct Statistics {
  std::uint64_t complete = 0;
  std::uint64_t blocked = 0;    // runs that end with a failed assumption or a thread that waits
  std::uint64_t deadlocks = 0;  // blocked runs in which all that stopped wait for ever
  std::uint64_t abandoned = 0;  // runs in which the model allowed no parameter for some event
  std::uint64_t cut = 0;
  std::uint64_t failed = 0;     // runs that end in a failed assertion
  std::uint64_t left_out = 0;   // rounds of loops that make no difference
  std::uint64_t up_to_renaming = 0;  // ends of runs that stand for those that renaming alike threads makes of them
  std::uint64_t up_to_order = 0;     // ends of runs that stand for all orders of some writes
  std::uint64_t stuck = 0;      // events that are not updates for which the model allowed no parameter
  std::uint64_t not_last = 0;   // or did not allow what comes last in coherence, as continuations rely on
  std::uint64_t commits = 0;
  std::uint64_t checks = 0;
  std::uint64_t templates = 0;
  std::uint64_t report_bytes = 0;  // about what those who read the outcome need for its states
};

struct StateCount {
  std::uint64_t count = 0;
  Trace example;
};

// Measured on reports of a million states.
inline std::uint64_t report_bytes(const std::vector<Value>& state, const StateCount& found) {
  return 480 + 96 * state.size() + 250 * found.example.size();
}

struct Outcome {
  Statistics statistics;
  std::map<std::vector<Value>, StateCount> states;
  std::map<std::string, std::uint64_t> flags;
  std::vector<std::pair<Violation, Trace>> violations;
  std::map<std::string, Trace> flag_examples;
  Trace deadlock_example;
  std::set<Place> cut_at;     // where runs were cut
  std::uint64_t n_alone = 0;  // memory accesses and fences of the first thread that are no events
  Stop stop = Stop::not_stopped;
  Place stuck_at;     // the first event that had no parameter
  Place too_long_at;  // Stop::events: of the event that was one too many
};

// Accesses that overlap without being equal, or pieces of a larger access that race with another thread; the explorer does
// not handle them.
struct MixedSizes {
  Place place;
  Address address = 0;
  std::uint8_t size = 0;
  Place other;
  Address other_address = 0;
  std::uint8_t other_size = 0;
};

// The model lets a store (`later`) be seen before the address of an earlier access is known, which the explorer does not
// guess. Or it lets loads take the value of a store before it is known, and there are too many that it could be: then both
// are the store.
struct Guess {
  Place later;
  Place earlier;
};

// Called now and then; returning false ends the exploration.
using Progress = std::function<bool(const Statistics&)>;

// Two runs may have different objects at the same address.
struct Allocation {
  Address start = 0;
  Address size = 0;
  Place place;

  auto operator<=>(const Allocation&) const = default;
};

// Of allocated objects: offset and size.
using Parts = std::map<Allocation, std::set<std::pair<Address, std::uint8_t>>>;

// What is relied on where rounds of loops are left out, about a place in memory: that no run writes to it twice by events;
// that none does so by a plain store; and that what the last plain or relaxed store wrote is what others read. Elsewhere: that
// nobody sees in which order writes to it come.
enum class Reliance : std::uint8_t { one_write, no_plain_write, last_is_read, unseen };
using Reliances = std::set<std::pair<Address, Reliance>>;

// What exploring has found out about a program, and what was relied on since it started.
// - The parts of allocated objects that programs access. Releasing an object writes to all of them that were known at the
//   start, so that an access after that is seen as one that the model allows to come after those writes.
// - Who writes to memory by events, and who relies on being the only one; releases do not matter.
// - The objects that are freed, with their sizes, if what is freed may be allocated again; and those of them that were known
//   at the start, from which allocations choose.
// - Whether somebody notices when a thread ends, other than the first thread when it has nothing to do but to join others; and
//   whether that was known at the start, so that ends are events.
// - What the first thread accesses early and other threads could notice; and what of it was known at the start.
// - Whether it matters that the read of an update may come before accesses that its write waits for; and whether that was
//   known at the start. If not, the read waits for them, too.
// - Whether the program ends although there are threads that the first one has not joined, so that they may wait then; and
//   whether that was known at the start.
// - Whether the program tells threads apart that would otherwise be explored up to renaming; and whether that was known at
//   the start.
// - Where a run has shown nobody who sees in which order writes come, if one was looked at; and what of that was known at the
//   start, so that none is chosen there (unseen_writes.hpp).
// - What is relied on where rounds of loops are left out; and what was refuted of that, or of where nobody sees an order.
// - The numbers of threads that others start, by parent and order.
struct Known {
  Parts parts;
  Parts released_parts;
  bool releases = false;  // in any run
  std::map<Address, std::int32_t> writers;
  std::map<Address, std::int32_t> trusted;
  std::set<std::pair<Address, Address>> freed;
  std::set<std::pair<Address, Address>> reusable;
  bool ends_matter = false;
  bool ends_are_events = false;
  std::set<Address> noticed;
  std::set<Address> noticed_before;
  bool needs_split = false;
  bool splits = false;
  bool ends_unjoined = false;
  bool ended_unjoined_before = false;
  bool told_apart = false;
  bool tells_apart = false;
  bool looked_at_run = false;
  std::set<Address> unseen;
  std::set<Address> unseen_before;
  Reliances relied_on;
  Reliances refuted;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> threads;

  bool operator==(const Known&) const = default;
};

// A part of the exploration: the run that leads there, and what is to be done behind it (unit.hpp says how).
struct PackedUnit {
  std::string bytes;
  std::uint32_t depth = 0;      // events of that run
  std::uint64_t sleep_id = 0;   // not 0: of all units with this number only one is to be explored
};

// How, and which part of, an exploration is done.
struct Work {
  std::uint32_t jobs = 1;
  bool keeps_rest = false;     // what a limit leaves unexplored is given back in parts
  double slice_s = 0;          // not 0: stop then, and give back the rest
  std::uint64_t split_seed = 0;  // not 0: split at random, and let workers be late at random
  bool numbers_threads = true;   // else throw UnknownThread
  // Not 0: others explore other parts of the same at the same time. Reads with a smaller number are theirs: units that let
  // one of them sleep go to `asking`, for whoever knows which slept. New knowledge ends the exploration, because all have
  // to start again.
  std::uint64_t first_own_id = 0;
  std::vector<PackedUnit> asking;
  // Where to go on; without units at the start.
  std::vector<PackedUnit> units;
  std::uint32_t words = 1;     // of the units, see explore_with
  Known known;
  std::uint64_t next_id = 1;   // of reads that several units know
  std::set<std::uint64_t> slept;
};

// What is left, if `keeps_rest`: `work` has the units. If it started again, nothing counts that was found before; with
// others at the same time it has only found out that all must, and `work` says why.
struct Explored {
  Outcome outcome;
  Work work;
  bool started_again = false;
};

struct UnknownThread {
  std::int32_t parent = 0;
  std::int32_t nth = 0;
};

// Throws MixedSizes, Guess and UnknownThread. `flag_names` names the checks of the model.
Explored explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                 const CommitOrder& order, const Limits& limits, const Progress& progress, Work work);

Outcome explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                const CommitOrder& order, const Limits& limits, const Progress& progress);

// The unit that everything is part of.
PackedUnit whole_exploration();

// Adds what was found in another part.
void merge(Outcome& total, Outcome&& part);

// Adds what another part has found out and relied on since the same start. False if somebody relied on what is not so: then
// all start again from `known_at_start`.
bool merge(Known& total, const Known& part);

// What remains known when an exploration starts again: nobody relies on anything yet. Threads keep their numbers, which
// say who writes where.
Known known_at_start(const Known& known);

// What random probes came to: the weight of a complete or blocked run, 0 for other ends.
struct Probes {
  std::vector<std::pair<double, double>> runs;
  Stop stop = Stop::not_stopped;
};

// The means of the weights estimate how many complete and blocked runs there are. Probes are guided by earlier ones, and guide
// later ones. Throws what `explore` throws.
Probes probe(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
             const CommitOrder& order, const Limits& limits, std::uint64_t n_probes, std::uint64_t seed, ProbeGuide& guide,
             const Progress& progress);

}  // namespace dekker::rsmc
