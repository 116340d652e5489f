// Threads that are enough to go on with from a state (futures.hpp), and whether they still are when more is known.
#pragma once

#include "states/expansion.hpp"

namespace dekker::states {

// Of so many choices so few were good that trying takes more time than it saves.
inline bool is_seldom_good(std::uint64_t n_tried, std::uint64_t n_reduced) { return n_tried > 1000 && 4 * n_reduced < n_tried; }

class Choices : protected Expansion {
 protected:
  using Expansion::Expansion;

  // A state from which only some threads went on, as bits; and when futures last allowed that.
  struct Reduced {
    std::uint32_t number;
    std::uint64_t threads;
    std::uint64_t version;
  };

  // Where it hardly ever helps it is hardly ever tried.
  virtual bool tries_choices() const = 0;

  // As bits; 0 if there is no choice.
  std::uint64_t persistent_threads() {
    if (!uses_futures_ || !tries_choices()) return 0;
    const std::uint64_t enabled = enabled_threads();
    if (std::popcount(enabled) < 2) return 0;
    ++n_tried_;
    find_conflicts(enabled);
    std::uint64_t best = enabled;
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t) {
      if ((enabled & bit(t)) == 0) continue;
      const std::uint64_t found = closed(bit(t));
      if (std::popcount(found & enabled) < std::popcount(best & enabled)) best = found;
    }
    return (best & enabled) == enabled ? 0 : best;
  }

  std::uint64_t closed(std::uint64_t threads) const {
    for (std::uint64_t done = 0; done != threads;) {
      const std::int32_t t = std::countr_zero(threads & ~done);
      done |= bit(t);
      threads |= conflicts_[at(t)];
    }
    return threads;
  }

  // For each of these threads those that its next step conflicts with; for one that waits for another, that one.
  void find_conflicts(std::uint64_t enabled) {
    State& state = current();
    const std::size_t n = state.threads.size();
    conflicts_.assign(n, 0);
    buffers_.resize(n);
    for (std::size_t u = 0; u < n; ++u) {
      buffers_[u].clear();
      own_touches_.clear();
      steps_.add_buffer(state, state.threads[u], own_touches_);
      for (const Touch& touch : own_touches_) cells_.add_to(buffers_[u], touch);
    }
    for (std::int32_t t = 0; at(t) < n; ++t) {
      conflicts_[at(t)] =
          (enabled & bit(t)) != 0 ? conflicts_of(state, t) : machine_.awaited_threads(state, state.threads[at(t)]);
    }
  }

  std::uint64_t conflicts_of(State& state, std::int32_t t) {
    const std::size_t n = state.threads.size();
    std::vector<Touch>& own = own_touches_;
    own.clear();
    steps_.touches(state, t, readiness_[at(t)], own);
    step_cells_.clear();
    for (const Touch& touch : own) cells_.add_to(step_cells_, touch);
    if (own.empty()) return 0;
    std::uint64_t found = 0;
    // Stores that may leave other buffers with this step, and all that these may take with them, also of its own buffer.
    for (bool grows = true; grows;) {
      grows = false;
      for (std::int32_t u = 0; at(u) < n; ++u)
        if (u != t && (found & bit(u)) == 0 && buffers_[at(u)].conflicts(step_cells_)) {
          if (found == 0) step_cells_.add(buffers_[at(t)]);
          found |= bit(u);
          step_cells_.add(buffers_[at(u)]);
          grows = true;
        }
    }
    for (std::int32_t u = 0; at(u) < n; ++u)
      if (u != t && state.threads[at(u)].status == ThreadStatus::running &&
          futures_.future(point(u, from_[1 + at(u)])).conflicts(step_cells_))
        found |= bit(u);
    return found;
  }

  // Those that can go on and should have been chosen. `from_` is the state then.
  std::uint64_t missing_threads(const Reduced& choice) {
    set_from(choice.number);
    find_readiness();
    const std::uint64_t enabled = enabled_threads();
    find_conflicts(enabled);
    return closed(choice.threads) & enabled & ~choice.threads;
  }

  std::uint64_t enabled_threads() const {
    std::uint64_t enabled = 0;
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t)
      if (readiness_[at(t)] != Readiness::nothing) enabled |= bit(t);
    return enabled;
  }

  std::int32_t unnoticed_thread() const {
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t)
      if (readiness_[at(t)] == Readiness::local || readiness_[at(t)] == Readiness::choice) return t;
    return none;
  }

  std::int32_t section_holder() {
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t)
      if (facts(from_[1 + at(t)]).in_section) return t;
    return none;
  }

  std::vector<Reduced> reduced_;
  std::uint64_t n_tried_ = 0;  // choices of some threads

 private:
  std::vector<Touch> own_touches_;
  std::vector<std::uint64_t> conflicts_;
  std::vector<CellSets> buffers_;
  CellSets step_cells_;
};

}  // namespace dekker::states
