// Finds all states, final values and violations.
#pragma once

#include <chrono>
#include <deque>
#include <set>

#include "process_memory.hpp"
#include "states/steps.hpp"
#include "states/visited.hpp"

namespace dekker::states {

class Searcher {
 public:
  Searcher(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress)
      : program_(program),
        options_(options),
        progress_(progress),
        machine_(program, options_, assumptions),
        steps_(machine_, program),
        solo_(machine_, program),
        started_(std::chrono::steady_clock::now()) {
    encode(ThreadState{}, words_);
    threads_.intern(words_.words());  // 0 is a thread that does not exist yet
    find_awaits();
    if (options_.robust) options_.reduce = options_.dynamic_local = false;
    spawns_ = has(Operation::spawn);
    options_.tells_waiting = !options_.robust && (options_.leaks || !program.observed.empty()) && has(Operation::exit);
  }

  Outcome run() {
    if (!options_.robust || explore_sequentially()) explore();
    finish();
    return std::move(outcome_);
  }

 private:
  static constexpr std::uint32_t no_state = Visited::nowhere;

  // A step from one state to another.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };

  void find_awaits() {
    for (std::size_t b = 0; b < program_.threads.size() + program_.functions.size(); ++b) {
      const std::vector<Instruction>& code = program_.block(static_cast<std::int32_t>(b)).code;
      std::vector<bool>& inside = in_await_.emplace_back(code.size() + 1, false);
      for (std::size_t pc = 0; pc < code.size(); ++pc)
        if (code[pc].operation == Operation::await)
          for (std::size_t p = at(code[pc].target); p <= pc; ++p) inside[p] = true;
    }
  }

  bool has(Operation operation) const {
    for (std::size_t b = 0; b < in_await_.size(); ++b)
      for (const Instruction& i : program_.block(static_cast<std::int32_t>(b)).code)
        if (i.operation == operation) return true;
    return false;
  }

  // What SC reaches. Returns whether there is anything left to find: what goes wrong there does so under the model, too.
  bool explore_sequentially() {
    const Model model = options_.model;
    options_.model = Model::sc;
    explore();
    if (outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation)) return false;
    options_.model = model;
    sequential_ = std::move(visited_);
    visited_ = {};
    known_violations_.clear();
    known_outcomes_.clear();
    outcome_.statistics = {};
    has_violation_ = false;
    is_second_phase_ = true;
    return true;
  }

  // ---- The search -----------------------------------------------------------------------------------------------------

  void explore() {
    machine_.contents().forget_drafts();
    State start = machine_.initial();
    add(start, no_state);
    std::uint32_t next = 0;
    while (true) {
      std::uint32_t number;
      if (options_.depth_first) {
        if (stack_.empty()) break;
        number = stack_.back();
        stack_.pop_back();
      } else {
        if (next == visited_.size()) break;
        number = next++;
      }
      if (should_stop(number)) break;
      expand(number);
    }
    stack_.clear();
    update_statistics();
  }

  // `next` is to be expanded now.
  bool should_stop(std::uint32_t next) {
    if (has_violation_ && options_.stop_at_violation) return true;
    if (options_.max_states != 0 && visited_.size() >= options_.max_states) return stop(Stop::states);
    if (++n_expanded_ % 1024 != 0) return false;
    if (!options_.depth_first) visited_.forget(next);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    if (options_.timeout_s > 0 && elapsed.count() > options_.timeout_s) return stop(Stop::time);
    if (n_expanded_ % 16384 != 0) return false;
    update_statistics();
    if (progress_ && !progress_(outcome_.statistics)) return stop(Stop::interrupt);
    if (options_.memory_bytes != 0 && process_memory() > options_.memory_bytes) return at_memory_limit(next);
    return false;
  }

  bool at_memory_limit(std::uint32_t next) {
    const bool may_compact = options_.compact && !options_.depth_first && !options_.robust;
    if (!may_compact) return stop(Stop::memory);
    if (!visited_.is_compact()) {
      visited_.become_compact(next);
      return false;
    }
    return process_memory() > 2 * options_.memory_bytes ? stop(Stop::memory) : false;
  }

  bool stop(Stop reason) {
    outcome_.stop = reason;
    return true;
  }

  void expand(std::uint32_t number) {
    decode_state(visited_[number]);
    if (is_final()) {
      record_final(number);
      return;
    }
    readiness_.resize(current_.threads.size());
    for (std::int32_t t = 0; at(t) < current_.threads.size(); ++t) readiness_[at(t)] = machine_.readiness(current_, t);
    const std::uint64_t before = n_successors_;
    const std::int32_t holder = section_holder();
    if (holder != none) {
      step(number, holder);
    } else {
      std::int32_t done = none;
      if (options_.reduce) {
        done = unnoticed_thread();
        if (done != none && step(number, done)) return;
      }
      for (std::int32_t t = 0; at(t) < current_.threads.size(); ++t)
        if (t != done) step(number, t);
    }
    if (n_successors_ == before) ++outcome_.statistics.blocked;
    if (!may_be_deadlock()) return;
    if (options_.tells_waiting && ends_waiting())
      record_final(number);
    else
      look_for_deadlock(number);
  }

  // Whether there were successors, and all of them are new: then a step that commutes with all that others do may go first.
  // On every cycle some state must let all threads go on.
  bool step(std::uint32_t number, std::int32_t t) {
    bool all_new = true;
    const std::uint64_t before = n_successors_;
    steps_.each(current_, t, readiness_[at(t)], [&](State& next) {
      ++n_successors_;
      if (!add(next, number)) all_new = false;
    });
    return all_new && n_successors_ != before;
  }

  std::int32_t unnoticed_thread() const {
    for (std::int32_t t = 0; at(t) < current_.threads.size(); ++t)
      if (readiness_[at(t)] == Readiness::local || readiness_[at(t)] == Readiness::choice) return t;
    return none;
  }

  std::int32_t section_holder() const {
    for (std::int32_t t = 0; at(t) < current_.threads.size(); ++t)
      if (current_.threads[at(t)].in_section) return t;
    return none;
  }

  // Whether the state is new. It is overwritten.
  bool add(State& state, std::uint32_t parent) {
    number_components(state);
    const Visited::Found found = visited_.insert(ids_, parent);
    for (const Violation& violation : machine_.violations()) note_violation(violation, found.number, parent);
    machine_.violations().clear();
    if (found.is_new) {
      if (options_.depth_first) stack_.push_back(found.number);
      if (is_second_phase_) check_robustness(state, found.number);
    }
    return found.is_new;
  }

  // It is met on the way from `parent` to the state, or in the state if that is where it was first reached from.
  void note_violation(const Violation& violation, std::uint32_t number, std::uint32_t parent) {
    has_violation_ = true;
    known_violations_.try_emplace(violation, Edge{parent, number});
  }

  // ---- States and numbers ---------------------------------------------------------------------------------------------

  // `ids_` becomes the numbers of the canonical form of the state.
  void number_components(State& state) {
    if (machine_.renames()) renumbering_.apply(state, machine_.contents());
    if (state.memory.number == unnumbered) machine_.contents().settle(state.memory);
    ids_.resize(1 + state.threads.size());
    ids_[0] = number_of(state.memory, memories_);
    for (std::size_t t = 0; t < state.threads.size(); ++t) ids_[1 + t] = number_of(state.threads[t], threads_);
    if (options_.symmetry && !spawns_) sort_equal_threads();
  }

  template <class Component>
  std::uint32_t number_of(Component& component, Sequences& known) {
    if (component.number == unnumbered) {
      encode(component, words_);
      component.number = known.intern(words_.words());
    }
    return component.number;
  }

  void sort_equal_threads() {
    for (std::size_t first = 0; first < program_.alike.size(); ++first) {
      if (program_.alike[first] != static_cast<std::int32_t>(first)) continue;
      group_.clear();
      for (std::size_t t = first; t < program_.alike.size(); ++t)
        if (program_.alike[t] == static_cast<std::int32_t>(first)) group_.push_back(ids_[1 + t]);
      if (group_.size() == 1) continue;
      std::ranges::sort(group_);
      for (std::size_t t = first, k = 0; t < program_.alike.size(); ++t)
        if (program_.alike[t] == static_cast<std::int32_t>(first)) ids_[1 + t] = group_[k++];
    }
  }

  void decode_state(std::span<const std::uint32_t> ids) {
    if (current_.memory.number != ids[0]) {
      decode(memories_[ids[0]], machine_.map().n_chunks(), current_.memory);
      current_.memory.number = ids[0];
    }
    current_.threads.resize(ids.size() - 1);
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) {
      ThreadState& thread = current_.threads[t];
      if (thread.number == ids[1 + t]) continue;
      decode(threads_[ids[1 + t]], thread);
      thread.number = ids[1 + t];
    }
  }

  // ---- Ends of runs ---------------------------------------------------------------------------------------------------

  bool is_final() const {
    return std::ranges::all_of(current_.threads, [](const ThreadState& thread) {
      return thread.status <= ThreadStatus::ended_program && thread.status != ThreadStatus::running;
    });
  }

  void record_final(std::uint32_t number) {
    ++outcome_.statistics.final_states;
    if (!observes_memory() && !options_.leaks) {
      known_outcomes_.try_emplace(observe(current_), number);
      return;
    }
    solo_.drained(current_, [&](State& end) {
      known_outcomes_.try_emplace(observe(end), number);
      if (options_.leaks) note_leaks(end, number);
    });
  }

  void note_leaks(State& end, std::uint32_t number) {
    for (const HeapObject& object : lost_objects(end.memory, machine_.contents()))
      note_violation({ViolationKind::leak, {0, object.block, object.pc}, object.size}, number, visited_.parent(number));
  }

  bool observes_memory() const {
    return std::ranges::any_of(program_.observed, [](const Observable& item) { return item.thread == none; });
  }

  std::vector<Value> observe(State& state) {
    std::vector<Value> values;
    for (const Observable& item : program_.observed)
      values.push_back(item.thread == none ? machine_.read_memory(state, item.address, item.size)
                                           : state.threads[at(item.thread)].registers[at(item.register_number)]);
    return values;
  }

  // Every thread has ended, waits for another to end, or is in a loop that waits.
  bool may_be_deadlock() {
    return std::ranges::all_of(current_.threads, [&](const ThreadState& thread) {
      if (thread.status != ThreadStatus::running) return thread.status <= ThreadStatus::ended_program;
      const Frame& frame = thread.frames.back();
      if (in_await_[at(frame.block)][at(frame.pc)]) return true;
      const Instruction* i = machine_.current(thread);
      return i != nullptr && i->operation == Operation::join;
    });
  }

  // Threads that wait when the program ends do not wait for ever.
  static bool is_end(const ThreadState& thread) { return thread.status == ThreadStatus::ended_program; }

  bool ends_waiting() const {
    return std::ranges::any_of(current_.threads, is_end) && std::ranges::none_of(current_.threads, [&](const ThreadState& thread) {
      return thread.status == ThreadStatus::running && !thread.has_waited && machine_.current(thread)->operation != Operation::join;
    });
  }

  // Stores that are on their way arrive; do all threads wait then for what never comes?
  void look_for_deadlock(std::uint32_t number) {
    bool found = false;
    deadlock_steps_.drained(current_, [&](State& end) { found = found || is_deadlock(end); });
    if (!found) return;
    if (std::ranges::any_of(current_.threads, is_end)) {
      record_final(number);
      return;
    }
    ++outcome_.statistics.deadlocks;
    note_violation({ViolationKind::deadlock, {}, 0}, number, visited_.parent(number));
  }

  bool is_deadlock(State& state) {
    machine_.contents().settle(state.memory);
    for (std::int32_t t = 0; at(t) < state.threads.size(); ++t)
      if (state.threads[at(t)].status == ThreadStatus::running && !waits_for_ever(state, t)) return false;
    return true;
  }

  // Does the thread, alone in a memory that nobody else changes, come back to where it was without a write, and without
  // starting others? If it gets to where it waits for another to end, that is a state of its own.
  bool waits_for_ever(const State& state, std::int32_t t) {
    State alone = state;
    const std::uint32_t memory = number_of(alone.memory, memories_);
    std::set<std::uint32_t> seen;
    for (int n = 0; n < most_rounds; ++n) {
      const Readiness readiness = machine_.readiness(alone, t);
      if (readiness == Readiness::nothing) return n == 0;
      if (readiness == Readiness::choice) return false;
      if (!seen.insert(number_of(alone.threads[at(t)], threads_)).second) return true;
      int n_next = 0;
      State after;
      solo_.each(alone, t, [&](State& next) {
        ++n_next;
        machine_.contents().settle(next.memory);
        after = next;
      });
      const bool writes = number_of(after.memory, memories_) != memory || !after.threads[at(t)].buffer.empty();
      machine_.violations().clear();
      if (n_next != 1 || writes || after.threads.size() != alone.threads.size() || starts_others(alone, after)) return false;
      alone = after;
    }
    return false;
  }

  static bool starts_others(const State& before, const State& after) {
    for (std::size_t t = 0; t < before.threads.size(); ++t)
      if (before.threads[t].status == ThreadStatus::unborn && after.threads[t].status != ThreadStatus::unborn) return true;
    return false;
  }

  // A state with empty buffers that no run under SC comes to.
  void check_robustness(State& state, std::uint32_t number) {
    if (has_violation_ && known_violations_.contains({ViolationKind::not_robust, {}, 0})) return;
    for (std::int32_t t = 0; at(t) < state.threads.size(); ++t)
      if (machine_.readiness(state, t) == Readiness::local) return;
    State from = state;
    solo_.drained(from, [&](State& end) {
      if (!is_sequential(end)) note_violation({ViolationKind::not_robust, {}, 0}, number, visited_.parent(number));
    });
  }

  bool is_sequential(State& state) {
    const std::vector<std::uint32_t> saved = ids_;
    machine_.contents().settle(state.memory);  // drafts must not be shared with the copy
    State canonical = state;
    number_components(canonical);
    const bool found = sequential_.contains(ids_);
    ids_ = saved;
    return found;
  }

  // ---- Schedules ------------------------------------------------------------------------------------------------------

  void finish() {
    outcome_.renames = machine_.renames();
    for (const auto& [violation, edge] : known_violations_)
      outcome_.violations.emplace_back(violation, schedule(edge, [&](State& end) { return shows(violation, end); }, violation));
    for (const auto& [values, number] : known_outcomes_) {
      Schedule& example = outcome_.states[values];
      if (options_.wants_examples)
        example = schedule({visited_.parent(number), number}, [&](State& end) { return observe(end) == values; }, {});
    }
  }

  bool shows(const Violation& violation, State& end) {
    if (violation.kind == ViolationKind::deadlock) return is_deadlock(end);
    if (violation.kind == ViolationKind::leak)
      return std::ranges::any_of(lost_objects(end.memory, machine_.contents()), [&](const HeapObject& object) {
        return object.block == violation.place.block && object.pc == violation.place.pc;
      });
    return !is_sequential(end);
  }

  // A run from the start to the state. Where it matters what is left in the buffers, all is written in an order such that
  // `is_end` holds.
  template <class IsEnd>
  Schedule schedule(Edge edge, const IsEnd& is_end, const std::optional<Violation>& violation) {
    std::vector<std::uint64_t> path{visited_.hash(edge.to)};
    for (std::uint32_t n = edge.from; n != no_state; n = visited_.parent(n)) path.push_back(visited_.hash(n));
    std::ranges::reverse(path);
    Schedule result, part;
    machine_.contents().forget_drafts();
    machine_.log = &part;
    State state = machine_.initial();
    machine_.contents().settle(state.memory);
    result = part;
    const bool drains = !violation || violation->kind >= ViolationKind::deadlock;
    for (std::size_t k = 1; k < path.size(); ++k)
      follow(state, path[k], drains || k + 1 < path.size() ? std::nullopt : violation, part, result);
    if (drains) {
      bool is_done = false;
      const State from = state;
      deadlock_steps_.drained(state, [&](State& end) {
        if (is_done) return;
        const Schedule commits = part;
        machine_.log = nullptr;
        State copy = end;
        is_done = is_end(copy);
        machine_.log = &part;
        if (!is_done) return;
        result.insert(result.end(), commits.begin(), commits.end());
        if (violation && violation->kind == ViolationKind::deadlock) append_rounds(copy, part, result);
      });
    }
    machine_.log = nullptr;
    machine_.violations().clear();
    return result;
  }

  // Each thread that waits goes round once more, and finds that there is nothing new.
  void append_rounds(State& end, Schedule& part, Schedule& result) {
    for (std::int32_t t = 0; at(t) < end.threads.size(); ++t) {
      State alone = end;
      int n_rounds = 0;
      while (n_rounds < 2 && machine_.readiness(alone, t) != Readiness::nothing) {
        const std::uint64_t before = machine_.n_failed_awaits;
        State after;
        part.clear();
        solo_.each(alone, t, [&](State& next) {
          machine_.contents().settle(next.memory);
          after = next;
        });
        if (machine_.n_failed_awaits != before && ++n_rounds == 2) part.resize(machine_.log_at_await);
        result.insert(result.end(), part.begin(), part.end());
        alone = after;
      }
    }
  }

  // One step to a state whose canonical form has this hash, and in which the violation is met if there is one.
  void follow(State& state, std::uint64_t hash, const std::optional<Violation>& violation, Schedule& part, Schedule& result) {
    State found;
    bool is_found = false;
    for (std::int32_t t = 0; at(t) < state.threads.size() && !is_found; ++t) {
      part.clear();
      steps_.each(state, t, [&](State& next) {
        const bool is_wanted = !violation || std::ranges::any_of(machine_.violations(), [&](const Violation& met) {
          return is_same(met, *violation);
        });
        machine_.violations().clear();
        if (!is_found && is_wanted) {
          machine_.contents().settle(next.memory);  // drafts must not be shared with the copy
          State canonical = next;
          number_components(canonical);
          if (Visited::hash_of(ids_) == hash) {
            is_found = true;
            found = next;
            result.insert(result.end(), part.begin(), part.end());
          }
        }
        part.clear();
      });
    }
    if (!is_found) throw std::logic_error("a state cannot be reached again");
    state = std::move(found);
  }

  // Equal threads may have changed places.
  static bool is_same(const Violation& met, const Violation& wanted) {
    return met.kind == wanted.kind && met.place.block == wanted.place.block && met.place.pc == wanted.place.pc;
  }

  void update_statistics() {
    Statistics& s = outcome_.statistics;
    s.states = visited_.size() + sequential_.size();
    s.transitions = n_successors_;
    s.components = threads_.size() + memories_.size() + machine_.contents().size();
    s.visited_bytes = visited_.bytes() + sequential_.bytes() + threads_.bytes() + memories_.bytes() + machine_.contents().bytes();
    s.largest_buffer = machine_.largest_buffer;
    s.overflows = steps_.overflows;
    s.limits = machine_.n_limits;
    s.is_compact = visited_.is_compact();
  }

  static constexpr int most_rounds = 1000;

  const Program& program_;
  Options options_;
  const Progress& progress_;
  Machine machine_;
  Steps steps_;
  Steps solo_;  // inside of what `steps_` or `deadlock_steps_` give
  Steps deadlock_steps_{machine_, program_};
  std::chrono::steady_clock::time_point started_;
  Sequences threads_;
  Sequences memories_;
  Renumbering renumbering_;
  Words words_;
  std::vector<std::vector<bool>> in_await_;  // by block and position
  bool spawns_ = false;
  Visited visited_;
  Visited sequential_;  // what SC reaches, if robustness is asked for
  bool is_second_phase_ = false;
  std::vector<std::uint32_t> stack_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> group_;
  State current_;  // what steps start from; its components are numbered
  std::vector<Readiness> readiness_;  // of the threads of `current_`
  std::uint64_t n_expanded_ = 0;
  std::uint64_t n_successors_ = 0;
  bool has_violation_ = false;
  std::map<Violation, Edge> known_violations_;
  std::map<std::vector<Value>, std::uint32_t> known_outcomes_;
  Outcome outcome_;
};

}  // namespace dekker::states
