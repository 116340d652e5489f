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
#include <string>
#include <vector>

#include "dekker/model_program.hpp"
#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// Which order events are committed in.
struct CommitOrder {
  bool in_order = true;            // program order
  bool same_location_reads = true;   // reads of one location are committed in program order
  bool same_location_writes = true;  // a write is committed after earlier accesses of its location
  // A load may take the value of a store of its own thread before that store is committed. The model must then define
  // from-read by itself: the store adds pairs between events that are there already.
  bool forwarding = false;
  // What uses the status of a store-conditional waits until its write is committed.
  bool status_is_dependency = false;
  // The checks of the model (by number) that forbid writes between the halves of an update.
  std::uint64_t atomicity_checks = 0;
};

struct Limits {
  std::int32_t unroll = 2;
  std::uint64_t max_traces = 0;  // 0: no limit
  double timeout_s = 0;          // 0: no limit
};

enum class ViolationKind : std::uint8_t { assertion, memory };

struct Violation {
  ViolationKind kind;
  std::int32_t thread;
  std::int32_t pc;
  Address address;

  auto operator<=>(const Violation&) const = default;
};

enum class Stop : std::uint8_t { not_stopped, time, traces, interrupt };

struct Statistics {
  std::uint64_t complete = 0;
  std::uint64_t blocked = 0;    // runs that the model or an assumption stopped
  std::uint64_t abandoned = 0;  // runs in which an update lost its place
  std::uint64_t cut = 0;
  std::uint64_t failed = 0;     // runs that end in a failed assertion
  std::uint64_t commits = 0;
  std::uint64_t checks = 0;
  std::uint64_t templates = 0;
};

struct Outcome {
  Statistics statistics;
  std::map<std::vector<Value>, std::uint64_t> states;
  std::map<std::string, std::uint64_t> flags;
  std::vector<Violation> violations;
  Stop stop = Stop::not_stopped;
};

// Accesses that overlap without being equal; the explorer does not handle them.
struct MixedSizes {
  std::int32_t thread;
  std::int32_t pc;
};

// Called now and then; returning false ends the exploration.
using Progress = std::function<bool(const Statistics&)>;

// Throws MixedSizes. `flag_names` names the checks of the model.
Outcome explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                const CommitOrder& order, const Limits& limits, const Progress& progress);

}  // namespace dekker::rsmc
