// What one worker does with a state: goes on from it, or sees that a run has ended there, well or not.
#pragma once

#include <map>

#include "states/choices.hpp"

namespace dekker::states {

class Ends : protected Choices {
 protected:
  template <class... Arguments>
  explicit Ends(const Program& program, const Options& options, Arguments&&... arguments)
      : Choices(program, options, std::forward<Arguments>(arguments)...), solo_(machine_, program), deadlock_steps_(machine_, program) {
    if (options_.robust) options_.reduce = options_.dynamic_local = false;
    options_.tells_waiting = !options_.robust && (options_.leaks || !program.observed.empty()) && has(Operation::exit);
    uses_futures_ = options_.reduce && !options_.compact && !options_.tells_waiting && !has(Operation::atomic_begin) &&
                    (spawns_ || !machine_.renames());  // else locals of equal threads change places
  }

  // Does SC come to the state with these components?
  virtual bool is_known_sequentially(std::span<const std::uint32_t> ids) const = 0;

  // The state `from_`.
  void expand(std::uint32_t number) {
    if (all_.have_ended) {
      record_final(number);
      return;
    }
    if (known_outcomes_.empty() && has_outcome_at_end() && all_.have_ended_program) known_outcomes_.try_emplace({}, number);
    find_readiness();
    const std::uint64_t before = n_successors_;
    if (all_.in_section != none) {
      step(number, all_.in_section, false);
      finish_expansion(number, before);
      return;
    }
    std::uint64_t done = 0;
    if (options_.reduce) {
      const std::uint64_t version = futures_.version();  // the steps may show what others that are alike will do
      const std::int32_t unnoticed = unnoticed_thread();
      done = unnoticed != none ? bit(unnoticed) : persistent_threads();
      if (done != 0 && step_some(number, done, true) == Progressed::ahead) {
        if (unnoticed == none) reduced_.push_back({number, done, version});
        return;
      }
    }
    step_some(number, ~done, false);
    finish_expansion(number, before);
  }

  void finish_expansion(std::uint32_t number, std::uint64_t before) {
    if (n_successors_ == before) ++statistics_.blocked;
    if (!all_.wait) return;
    if (options_.tells_waiting && ends_waiting())
      record_final(number);
    else
      look_for_deadlock(number);
  }

  // More threads go on where those that were chosen are not enough. Whether the state still has not let all of them.
  bool correct(Reduced& choice) {
    const std::uint64_t missing = choice.version == futures_.version() ? 0 : missing_threads(choice);
    choice.version = futures_.version();
    choice.threads |= missing;
    const std::uint64_t before = n_successors_;
    if (missing == 0 || step_some(choice.number, missing, true) != Progressed::back) return true;
    step_some(choice.number, ~choice.threads, false);
    finish_expansion(choice.number, before);
    return false;
  }

  // ---- Ends of runs ---------------------------------------------------------------------------------------------------

  void record_final(std::uint32_t number) {
    ++statistics_.final_states;
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
    for (const HeapObject& object : lost_objects(end.memory, machine_.map(), machine_.contents()))
      note_violation({ViolationKind::leak, {0, object.block, object.pc}, object.size}, number, found_.parent(number));
  }

  // Where nothing is asked of final states, a program may end well while its threads go on for ever.
  bool has_outcome_at_end() const { return program_.observed.empty() && !options_.leaks; }

  bool observes_memory() const {
    return std::ranges::any_of(program_.observed, [](const Observable& item) { return item.thread == none; });
  }

  std::vector<Value> observe(State& state) {
    std::vector<Value> values;
    for (const Observable& item : program_.observed)
      values.push_back(item.thread == none ? machine_.read_memory(state, item.address, item.size)
                                           : state.threads[at(item.thread)].registers[at(item.register_number)]);
    if (machine_.merges_spawned()) std::ranges::transform(values, values.begin(), shown);
    return values;
  }

  bool ends_waiting() {
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadFacts& thread = facts(from_[t]);
      if (thread.status == ThreadStatus::running && !thread.has_waited && !thread.is_joining) return false;
    }
    return all_.have_ended_program;
  }

  // Of the states from which a step led back: may some thread go on for ever, but nothing ever change? Loops that wait need
  // not be awaits.
  void look_at_returns() {
    const std::vector<std::uint32_t> numbers = std::exchange(returns_, {});
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (k != 0 && numbers[k] == numbers[k - 1]) continue;
      set_from(numbers[k]);
      if (all_.wait || all_.have_ended_program || all_.in_section != none || !has_only_running()) continue;
      find_readiness();
      if (!writes_next() && !is_any_known_to_go_on()) look_for_waits(numbers[k]);
      if (restless_ != none && make_key(restless_)) goes_on_[key_.hash() % goes_on_.size()] = {key_, n_forgotten_};
    }
  }

  // What it does when all stores have arrived depends on what its steps depend on, which includes those stores.
  bool is_any_known_to_go_on() {
    restless_ = none;
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t) {
      if (facts(from_[1 + at(t)]).is_waiting || !make_key(t)) continue;
      const GoesOn& known = goes_on_[key_.hash() % goes_on_.size()];
      if (known.key == key_ && known.n_forgotten == n_forgotten_) return true;
    }
    return false;
  }

  // Of threads that have not ended.
  bool has_only_running() {
    return std::ranges::all_of(from_.begin() + 1, from_.end(), [&](std::uint32_t thread) {
      return facts(thread).status <= ThreadStatus::ended_program || facts(thread).status == ThreadStatus::running;
    });
  }

  // Where no store is on its way, does the next step of a thread change memory?
  bool writes_next() {
    if (all_.have_stores) return false;
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t) {
      const std::optional<CachedStep> known = known_step(t);
      if (known && known->has_successors && known->n_successors == 1 && known->successors[0] != from_[0]) return true;
    }
    return false;
  }

  std::optional<CachedStep> known_step(std::int32_t t) {
    if (readiness_[at(t)] == Readiness::nothing || !make_key(t)) return std::nullopt;
    return cache_.find(key_, keys_.hashes[at(t)]);
  }

  void look_for_deadlock(std::uint32_t number) {
    if (!goes_on()) look_for_waits(number);
  }

  // Stores that are on their way arrive; do all threads wait then for what never comes?
  void look_for_waits(std::uint32_t number) {
    bool found = false;
    int n_ends = 0;
    deadlock_steps_.drained(current(), [&](State& end) {
      found = found || is_deadlock(end);
      if (++n_ends > 1) restless_ = none;
    });
    if (!found) return;
    if (all_.have_ended_program) {  // threads that wait then do not wait for ever
      record_final(number);
      return;
    }
    if (!options_.finds_deadlocks) return;
    ++statistics_.deadlocks;
    note_violation({ViolationKind::deadlock, {}, 0}, number, found_.parent(number));
  }

  // Where no store is on its way, does a thread that waits get out of its loop by its next step? Then it is only there that all
  // may wait.
  bool goes_on() {
    if (all_.have_stores) return false;
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t) {
      const std::optional<CachedStep> known = known_step(t);
      if (!known || !known->has_successors || known->n_successors != 1) continue;
      if (known->successors[0] != from_[0] || !facts(known->successors[1]).is_waiting) return true;
    }
    return false;
  }

  bool is_deadlock(State& state) {
    machine_.contents().settle(state.memory);
    end_ids_.assign(1, number_of(state.memory, memories_));
    for (ThreadState& thread : state.threads) end_ids_.push_back(number_of(thread, threads_));
    find_faces(end_ids_, end_keys_);
    for (std::int32_t t = 0; at(t) < state.threads.size(); ++t)
      if (state.threads[at(t)].status == ThreadStatus::running && !is_known_to_wait(state, t)) {
        restless_ = t;
        return false;
      }
    return true;
  }

  // Whether a thread waits for ever depends on what its steps depend on.
  bool is_known_to_wait(const State& state, std::int32_t t) {
    if (!has_key(end_keys_, at(t))) return waits_for_ever(state, t);
    const StepKey key = key_of(end_ids_, end_keys_, at(t));
    const Wait& known = waits_[key.hash() % waits_.size()];
    if (known.key == key && known.n_forgotten == n_forgotten_) return known.is_for_ever;
    const Wait found{key, n_forgotten_, waits_for_ever(state, t)};
    waits_[key.hash() % waits_.size()] = found;
    return found.is_for_ever;
  }

  // Does the thread, alone, go round for ever and change nothing that others may see, whatever it chooses? Then all stay
  // where they are if this is so of all: what one of them stores, at once or later, is what is there. If it gets to where it
  // waits for another to end, that is a state of its own. A loop that reads nothing does not wait for anything.
  bool waits_for_ever(const State& state, std::int32_t t) {
    std::vector<State> alone{state};
    if (machine_.readiness(alone[0], t) == Readiness::nothing) return true;
    const std::vector<std::uint32_t> saved = ids_;
    const std::uint64_t n_failed_awaits = machine_.n_failed_awaits;
    const bool result = only_goes_round(alone, t);
    ids_ = saved;
    // What the only thread does is no event, so that no run could show where a round begins.
    return result && (state.threads.size() > 1 || machine_.n_failed_awaits != n_failed_awaits);
  }

  // `alone` are the states that it gets to; others have the place and the values that they had.
  bool only_goes_round(std::vector<State>& alone, std::int32_t t) {
    std::map<std::vector<std::uint32_t>, std::size_t> seen{{numbers_of(alone[0]), 0}};
    std::vector<std::pair<std::size_t, std::size_t>> silent;  // steps that read nothing
    for (std::size_t k = 0; k < alone.size(); ++k) {
      if (k == most_rounds || machine_.readiness(alone[k], t) == Readiness::nothing) return false;
      const std::uint64_t n_reads = machine_.n_reads, n_changes = machine_.n_changes;
      std::vector<State> next = steps_alone(alone[k], t);
      const bool reads = machine_.n_reads != n_reads;
      if (next.empty() || machine_.n_changes != n_changes) return false;
      for (State& after : next) {
        if (after.threads.size() != alone[0].threads.size() || starts_others(alone[0], after)) return false;
        const auto [entry, is_new] = seen.try_emplace(numbers_of(after), alone.size());
        if (is_new) alone.push_back(after);
        if (!reads) silent.emplace_back(k, entry->second);
      }
    }
    return has_no_cycle(std::move(silent));
  }

  std::vector<std::uint32_t> numbers_of(State& state) {
    number_components(state);
    return ids_;
  }

  // What it stores arrives at once.
  std::vector<State> steps_alone(State& from, std::int32_t t) {
    std::vector<State> stepped, result;
    solo_.each(from, t, [&](State& next) {
      machine_.contents().settle(next.memory);
      stepped.push_back(next);
    });
    for (State& next : stepped) {
      if (next.threads[at(t)].buffer.empty()) {
        result.push_back(next);
        continue;
      }
      solo_.drained(next, [&](State& end) {
        machine_.contents().settle(end.memory);
        result.push_back(end);
      });
    }
    machine_.violations().clear();
    return result;
  }

  // Edges from which others lead on are taken away until none is left.
  static bool has_no_cycle(std::vector<std::pair<std::size_t, std::size_t>> edges) {
    for (std::size_t before = edges.size() + 1; edges.size() < before;) {
      before = edges.size();
      const auto leads_on = [&](const auto& edge) {
        return std::ranges::any_of(edges, [&](const auto& next) { return next.first == edge.second; });
      };
      std::vector<std::pair<std::size_t, std::size_t>> kept;
      std::ranges::copy_if(edges, std::back_inserter(kept), leads_on);
      edges = std::move(kept);
    }
    return edges.empty();
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
      if (!is_sequential(end)) note_violation({ViolationKind::not_robust, {}, 0}, number, found_.parent(number));
    });
  }

  bool is_sequential(State& state) {
    const std::vector<std::uint32_t> saved = ids_;
    machine_.contents().settle(state.memory);  // drafts must not be shared with the copy
    State canonical = state;
    number_components(canonical);
    const bool found = is_known_sequentially(ids_);
    ids_ = saved;
    return found;
  }

  struct Wait {
    StepKey key;
    std::uint64_t n_forgotten = ~std::uint64_t{0};
    bool is_for_ever = false;
  };

  struct GoesOn {
    StepKey key;
    std::uint64_t n_forgotten = ~std::uint64_t{0};
  };

  static constexpr std::size_t most_rounds = 1000;

  Statistics statistics_;
  bool is_second_phase_ = false;  // of a search for states that SC does not have
  std::map<std::vector<Value>, std::uint32_t> known_outcomes_;
  Steps solo_;  // inside of what `steps_` or `deadlock_steps_` give
  Steps deadlock_steps_;
  std::vector<std::uint32_t> end_ids_;  // of a state in which all stores have been written
  Keys end_keys_;
  std::int32_t restless_ = none;  // the thread for which the last state that was asked about is no deadlock
  std::vector<GoesOn> goes_on_ = std::vector<GoesOn>(std::size_t{1} << 14);
  std::vector<Wait> waits_ = std::vector<Wait>(std::size_t{1} << 14);
};

}  // namespace dekker::states
