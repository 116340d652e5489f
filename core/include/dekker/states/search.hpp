// Explicit-state search under SC, TSO and PSO: every final state, every violation, each state visited once.
//
// States are those of the textbook machine: a memory and, under TSO and PSO, a store buffer for each thread. After Still
// and Barnat, "Model Checking of C++ Programs under the x86-TSO Memory Model", section 3, nothing leaves a buffer by itself:
// the choice is delayed until an instruction needs it. What differs from the paper is said in docs/states.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dekker/states/program.hpp"

namespace dekker::states {

enum class Model : std::uint8_t { sc, tso, pso };

struct Options {
  Model model = Model::tso;
  std::uint32_t buffer_bound = 0;  // entries of each buffer; 0: without bound
  std::uint32_t trial_entries = 0;  // unless 0, the search is given up if a buffer overflows, or one holds more than this
  std::uint64_t trial_states = 0;   // and there are more states than this
  bool depth_first = false;
  bool dynamic_local = true;    // objects that one thread alone can reach bypass the buffers
  bool reduce = true;           // steps that nobody else can notice are not interleaved
  bool symmetry = true;         // states that differ in the order of equal threads are one
  bool merges_spawned = false;  // also of threads that are spawned: joins in a row are then one step, and states are not counted
  bool stop_at_violation = false;
  bool finds_deadlocks = true;  // they are violations
  bool may_come_back = true;    // threads, to where they were, in loops that are no awaits
  bool robust = false;          // asks for a state with empty buffers that SC does not have
  bool leaks = false;           // memory that is lost at the end is a violation
  bool compact = false;         // at the memory limit, go on with hashes in the place of states
  std::uint64_t max_states = 0;  // 0: no limit
  double timeout_s = 0;
  std::uint64_t memory_bytes = 0;  // of the whole process
  bool wants_examples = false;     // a schedule for every final state
  std::uint32_t jobs = 1;          // threads that search; one if `depth_first`
  std::uint64_t delay_seed = 0;    // for tests: unless 0, workers are late at random, and share even the smallest work
  bool tells_waiting = false;      // set by the search: a thread that has waited is not like one that has just come
};

// An instruction that a thread executes.
struct Place {
  std::int32_t thread = none;
  std::int32_t block = 0;
  std::int32_t pc = 0;

  auto operator<=>(const Place&) const = default;
};

enum class ViolationKind : std::uint8_t {
  assertion,
  memory,
  use_after_free,
  double_free,
  call,
  join,
  release,
  allocation,
  uninitialised,
  deadlock,  // this and what follows is known when all stores are written
  not_robust,
  leak,  // the place is that of the allocation, the address its size
};

// Two of the same kind at the same place are one.
struct Violation {
  ViolationKind kind;
  Place place;
  Address address;

  auto operator<=>(const Violation& other) const {
    return kind != other.kind ? kind <=> other.kind : place <=> other.place;
  }
  bool operator==(const Violation& other) const { return kind == other.kind && place == other.place; }
};

// One thing that happens in a run.
enum class ActionKind : std::uint8_t {
  read,
  write,     // straight to memory
  buffered,  // into the buffer
  commit,    // from the buffer to memory; `value` is the position in the buffer
  fence,
  choice,
  spawn,  // `value` is the new thread
  join,   // `value` is the thread that ended
  begin,  // of a spawned thread
  end,    // of a spawned thread
  allocate,
  release,
  renew,
  wait,  // the condition of an await fails
  failure,
};

struct Action {
  ActionKind kind;
  Place place;
  Address address = 0;
  std::uint8_t size = 0;
  Value value = 0;
};

using Schedule = std::vector<Action>;

enum class Stop : std::uint8_t { not_stopped, time, memory, states, interrupt, threads, stores, refused, buffers };

struct Statistics {
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t visited_bytes = 0;  // of the visited set, with the components that states share
  std::uint64_t final_states = 0;   // states in which all threads have ended
  std::uint64_t blocked = 0;        // states without a step in which some thread has not ended
  std::uint64_t deadlocks = 0;      // those in which every such thread waits for ever
  std::uint64_t largest_buffer = 0;
  std::uint64_t overflows = 0;  // stores that found a full buffer
  std::uint64_t components = 0;
  std::uint64_t limits = 0;  // runs that met a limit of the runtime library
  bool is_compact = false;
  bool merges_spawned = false;  // threads that were spawned changed places
};

struct Outcome {
  Statistics statistics;
  std::map<std::vector<Value>, Schedule> states;
  std::vector<std::pair<Violation, Schedule>> violations;
  Stop stop = Stop::not_stopped;
  Place refused_at;
  bool renames = true;  // objects were numbered by reachability
};

// Called now and then; returning false ends the search.
using Progress = std::function<bool(const Statistics&)>;

Outcome search(const Program& program, const Options& options, const Progress& progress);

}  // namespace dekker::states
