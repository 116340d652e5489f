// Finds all states, final values and violations.
#pragma once

#include <chrono>
#include <set>

#include "process_memory.hpp"
#include "states/expansion.hpp"

namespace dekker::states {

class Searcher : Expansion {
 public:
  Searcher(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress)
      : Expansion(program, options, assumptions),
        progress_(progress),
        solo_(machine_, program),
        started_(std::chrono::steady_clock::now()) {
    if (options_.robust) options_.reduce = options_.dynamic_local = false;
    options_.tells_waiting = !options_.robust && (options_.leaks || !program.observed.empty()) && has(Operation::exit);
    uses_futures_ = options_.reduce && !options_.compact && !options_.tells_waiting && !has(Operation::atomic_begin) &&
                    (spawns_ || !machine_.renames());  // else locals of equal threads change places
  }

  Outcome run() {
    if (!options_.robust || explore_sequentially()) explore();
    finish();
    return std::move(outcome_);
  }

 private:
  // What SC reaches. Returns whether there is anything left to find: what goes wrong there does so under the model, too.
  bool explore_sequentially() {
    const Model model = options_.model;
    options_.model = Model::sc;
    explore();
    if (outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation)) return false;
    options_.model = model;
    sequential_ = std::move(visited_);
    is_second_phase_ = true;
    return true;
  }

  // ---- The search -----------------------------------------------------------------------------------------------------

  void explore() {
    begin();
    expand_all();
    for (int n_restarts = 0; !is_stopped() && has_wrong_choices(); ++n_restarts) {
      if (n_restarts < most_restarts && visited_.size() < largest_restart)
        begin();  // with the futures that are known now choices are better
      else
        correct_choices();
      if (!is_stopped()) expand_all();
    }
    stack_.clear();
    add_postponed();
    update_statistics();
  }

  void begin() {
    visited_ = {};
    stack_.clear();
    is_expanded_.clear();
    reduced_.clear();
    known_violations_.clear();
    known_outcomes_.clear();
    outcome_.statistics = {};
    has_violation_ = false;
    next_ = level_end_ = 0;
    n_postponed_ = n_tried_ = n_successors_ = 0;
    machine_.contents().forget_drafts();
    State start = machine_.initial();
    add(start, no_state);
  }

  void expand_all() {
    while (const std::optional<std::uint32_t> number = take_next()) {
      if (should_stop(*number)) return;
      if (!options_.depth_first) look_ahead(*number);
      expand(*number);
    }
  }

  std::optional<std::uint32_t> take_next() {
    if (options_.depth_first) {
      if (stack_.empty()) return {};
      const std::uint32_t number = stack_.back();
      stack_.pop_back();
      is_expanded_[number] = true;
      return number;
    }
    if (next_ == level_end_) {  // states of a larger distance begin
      add_postponed();
      if (next_ == visited_.size()) return {};
      level_end_ = static_cast<std::uint32_t>(visited_.size());
    }
    return next_++;
  }

  bool is_stopped() const { return outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation); }

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
    add_postponed();
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
    set_from(number);
    if (options_.depth_first) hashes_.assign(from_.size() - 1, 0);
    if (is_final()) {
      record_final(number);
      return;
    }
    find_readiness();
    const std::uint64_t before = n_successors_;
    const std::int32_t holder = section_holder();
    if (holder != none) {
      step(number, holder, false);
      finish_expansion(number, before);
      return;
    }
    std::uint64_t done = 0;
    if (options_.reduce) {
      const std::int32_t unnoticed = unnoticed_thread();
      done = unnoticed != none ? bit(unnoticed) : persistent_threads();
      if (done != 0 && step_some(number, done, true) == Progressed::ahead) {
        if (unnoticed == none) reduced_.push_back({number, done, futures_.version()});
        return;
      }
    }
    step_some(number, ~done, false);
    finish_expansion(number, before);
  }

  void finish_expansion(std::uint32_t number, std::uint64_t before) {
    if (n_successors_ == before) ++outcome_.statistics.blocked;
    if (!may_be_deadlock()) return;
    if (options_.tells_waiting && ends_waiting())
      record_final(number);
    else
      look_for_deadlock(number);
  }

  // Has a future grown since threads were chosen, so that these are not enough?
  bool has_wrong_choices() {
    bool any = false;
    for (Reduced& choice : reduced_) {
      if (choice.version == futures_.version()) continue;
      any = missing_threads(choice) != 0;
      if (any) break;
      choice.version = futures_.version();
    }
    return any;
  }

  // Where threads that were chosen are not enough, more go on.
  void correct_choices() {
    for (std::size_t k = 0; k < reduced_.size();) {
      if (is_stopped() || should_stop(next_)) return;
      Reduced& choice = reduced_[k];
      const std::uint64_t missing = choice.version == futures_.version() ? 0 : missing_threads(choice);
      choice.version = futures_.version();
      choice.threads |= missing;
      const std::uint64_t before = n_successors_;
      if (missing == 0 || step_some(choice.number, missing, true) != Progressed::back) {
        ++k;
        continue;
      }
      step_some(choice.number, ~choice.threads, false);
      finish_expansion(choice.number, before);
      choice = reduced_.back();
      reduced_.pop_back();
    }
  }

  // ---- Ends of runs ---------------------------------------------------------------------------------------------------

  bool is_final() {
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadStatus status = facts(from_[t]).status;
      if (status > ThreadStatus::ended_program || status == ThreadStatus::running) return false;
    }
    return true;
  }

  void record_final(std::uint32_t number) {
    ++outcome_.statistics.final_states;
    if (!observes_memory() && !options_.leaks) {
      known_outcomes_.try_emplace(observe(current()), number);
      return;
    }
    solo_.drained(current(), [&](State& end) {
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

  bool may_be_deadlock() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (!facts(from_[t]).is_waiting) return false;
    return true;
  }

  // Threads that wait when the program ends do not wait for ever.
  bool has_program_ended() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (facts(from_[t]).status == ThreadStatus::ended_program) return true;
    return false;
  }

  bool ends_waiting() {
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadFacts& thread = facts(from_[t]);
      if (thread.status == ThreadStatus::running && !thread.has_waited && !thread.is_joining) return false;
    }
    return has_program_ended();
  }

  // Stores that are on their way arrive; do all threads wait then for what never comes?
  void look_for_deadlock(std::uint32_t number) {
    if (goes_on()) return;
    bool found = false;
    deadlock_steps_.drained(current(), [&](State& end) { found = found || is_deadlock(end); });
    if (!found) return;
    if (has_program_ended()) {
      record_final(number);
      return;
    }
    ++outcome_.statistics.deadlocks;
    note_violation({ViolationKind::deadlock, {}, 0}, number, visited_.parent(number));
  }

  // Where no store is on its way, does a thread that waits get out of its loop by its next step? Then it is only there that all
  // may wait.
  bool goes_on() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (facts(from_[t]).has_stores) return false;
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t) {
      const std::optional<CachedStep> known = readiness_[at(t)] != Readiness::nothing && make_key(t)
                                                  ? cache_.find(key_, hashes_[at(t)])
                                                  : std::nullopt;
      if (!known || !known->has_successors || known->n_successors != 1) continue;
      if (known->successors[0] != from_[0] || !facts(known->successors[1]).is_waiting) return true;
    }
    return false;
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

  void visit(State& state, std::uint32_t number) override {
    if (is_second_phase_) check_robustness(state, number);
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

  static constexpr int most_restarts = 12;
  static constexpr std::size_t largest_restart = 1'000'000;

  const Progress& progress_;
  Steps solo_;  // inside of what `steps_` or `deadlock_steps_` give
  Steps deadlock_steps_{machine_, program_};
  std::chrono::steady_clock::time_point started_;
  Visited sequential_;  // what SC reaches, if robustness is asked for
  bool is_second_phase_ = false;
  std::uint32_t level_end_ = 0;  // of a breadth-first search
  std::map<std::vector<Value>, std::uint32_t> known_outcomes_;
  Outcome outcome_;
};

}  // namespace dekker::states
