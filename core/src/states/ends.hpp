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

  // Stores that are on their way arrive; do all threads wait then for what never comes?
  void look_for_deadlock(std::uint32_t number) {
    if (goes_on()) return;
    bool found = false;
    deadlock_steps_.drained(current(), [&](State& end) { found = found || is_deadlock(end); });
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
      const std::optional<CachedStep> known = readiness_[at(t)] != Readiness::nothing && make_key(t)
                                                  ? cache_.find(key_, keys_.hashes[at(t)])
                                                  : std::nullopt;
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
      if (state.threads[at(t)].status == ThreadStatus::running && !is_known_to_wait(state, t)) return false;
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

  // Does the thread, alone in a memory that nobody else changes, come back to where it was without a write, and without
  // starting others? If it gets to where it waits for another to end, that is a state of its own. A loop that reads nothing
  // does not wait for anything, and one without an await that fails does not wait: it runs for ever.
  bool waits_for_ever(const State& state, std::int32_t t) {
    State alone = state;
    const std::uint32_t memory = number_of(alone.memory, memories_);
    std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> seen;  // how many reads and failed awaits there were before
    for (int n = 0; n < most_rounds; ++n) {
      const Readiness readiness = machine_.readiness(alone, t);
      if (readiness == Readiness::nothing) return n == 0;
      if (readiness == Readiness::choice) return false;
      const std::pair so_far{machine_.n_reads, machine_.n_failed_awaits};
      const auto [entry, is_new] = seen.try_emplace(number_of(alone.threads[at(t)], threads_), so_far);
      if (!is_new) return so_far.first != entry->second.first && so_far.second != entry->second.second;
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

  static constexpr int most_rounds = 1000;

  Statistics statistics_;
  bool is_second_phase_ = false;  // of a search for states that SC does not have
  std::map<std::vector<Value>, std::uint32_t> known_outcomes_;
  Steps solo_;  // inside of what `steps_` or `deadlock_steps_` give
  Steps deadlock_steps_;
  std::vector<std::uint32_t> end_ids_;  // of a state in which all stores have been written
  Keys end_keys_;
  std::vector<Wait> waits_ = std::vector<Wait>(std::size_t{1} << 14);
};

}  // namespace dekker::states
