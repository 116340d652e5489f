// How states come about: runs, step by step, that are made again from what is known of the states on the way.
#pragma once

#include <set>

#include "states/ends.hpp"

namespace dekker::states {

class Schedules : protected Ends {
 protected:
  using Ends::Ends;

  // Adds all violations and final states that are known.
  void describe(Outcome& outcome) {
    outcome.renames = machine_.renames();
    for (const auto& [violation, edge] : known_violations_)
      outcome.violations.emplace_back(violation, schedule(edge, [&](State& end) { return shows(violation, end); }, violation));
    for (const auto& [values, number] : known_outcomes_) {
      Schedule& example = outcome.states[values];
      if (options_.wants_examples)
        example = schedule({found_.parent(number), number}, [&](State& end) { return observe(end) == values; }, {});
    }
  }

 private:
  bool shows(const Violation& violation, State& end) {
    if (violation.kind == ViolationKind::deadlock) return is_deadlock(end);
    if (violation.kind == ViolationKind::leak)
      return std::ranges::any_of(lost_objects(end.memory, machine_.map(), machine_.contents()), [&](const HeapObject& object) {
        return object.block == violation.place.block && object.pc == violation.place.pc;
      });
    return !is_sequential(end);
  }

  // A run from the start to the state. Where it matters what is left in the buffers, all is written in an order such that
  // `is_end` holds.
  template <class IsEnd>
  Schedule schedule(Edge edge, const IsEnd& is_end, const std::optional<Violation>& violation) {
    std::vector<std::uint64_t> path{found_.hash(edge.to)};
    for (std::uint32_t n = edge.from; n != no_state; n = found_.parent(n)) path.push_back(found_.hash(n));
    std::ranges::reverse(path);
    Schedule result, part;
    machine_.contents().forget_drafts();
    machine_.touched = nullptr;  // a search that was stopped may have left these
    machine_.violations().clear();
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
        if (!violation || violation->kind != ViolationKind::deadlock) return;
        append_joins(copy, part, result);
        append_rounds(copy, part, result);
      });
    }
    machine_.log = nullptr;
    machine_.violations().clear();
    return result;
  }

  // Where joins in a row are one step, a thread that waits joins those that have ended.
  void append_joins(State& end, Schedule& part, Schedule& result) {
    for (std::int32_t t = 0; at(t) < end.threads.size(); ++t)
      while (end.threads[at(t)].awaited != 0) {
        end.threads[at(t)].awaited = 0;
        end.threads[at(t)].number = unnumbered;
        State after = end;
        part.clear();
        solo_.each(end, t, [&](State& next) {
          machine_.contents().settle(next.memory);
          after = next;
        });
        result.insert(result.end(), part.begin(), part.end());
        end = after;
      }
  }

  // Each thread that waits goes round once more, and finds that there is nothing new. Where its loop is no await, it goes on
  // until it has been there before. What threads allocate in their rounds goes to different places.
  void append_rounds(State& alone, Schedule& part, Schedule& result) {
    machine_.goes_slowly = true;
    for (std::int32_t t = 0; at(t) < alone.threads.size(); ++t) {
      int n_rounds = 0;
      std::set<std::vector<std::uint32_t>> seen;
      while (n_rounds < 2 && machine_.readiness(alone, t) != Readiness::nothing) {
        State copy = alone;
        const bool was_there = !seen.insert(numbers_of(copy)).second;
        if (was_there && n_rounds == 0) break;
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
    machine_.goes_slowly = false;
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
    if (!is_found && machine_.merges_spawned()) throw HandlesMatter{};  // threads that differ were taken for the same
    if (!is_found) throw std::logic_error("a state cannot be reached again");
    state = std::move(found);
  }

  // Equal threads may have changed places.
  static bool is_same(const Violation& met, const Violation& wanted) {
    return met.kind == wanted.kind && met.place.block == wanted.place.block && met.place.pc == wanted.place.pc;
  }
};

}  // namespace dekker::states
