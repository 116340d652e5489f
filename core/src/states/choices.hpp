// Threads that are enough to go on with from a state (futures.hpp), and whether they still are when more is known.
#pragma once

#include <deque>

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
    if (look_up_conflicts(enabled)) return;
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
          futures_.future(future_of(u)).conflicts(step_cells_))
        found |= bit(u);
    return found;
  }

  // ---- Conflicts that are known ---------------------------------------------------------------------------------------
  //
  // Where no store is in a buffer, a step that accesses global objects touches what its thread alone decides. There are few such
  // sets of cells, and few futures.

  bool look_up_conflicts(std::uint64_t enabled) {
    const std::size_t n = readiness_.size();
    if (all_.have_stores) return false;
    for (std::size_t t = 0; t < n; ++t)
      if ((enabled >> t & 1) != 0 && touched_cells(t) == not_known) return false;
    conflicts_.assign(n, 0);
    running_.clear();
    for (std::int32_t u = 0; at(u) < n; ++u)
      if (facts(from_[1 + at(u)]).status == ThreadStatus::running) running_.push_back({u, &meetings_with(future_of(u))});
    for (std::size_t t = 0; t < n; ++t)
      conflicts_[t] = (enabled >> t & 1) != 0 ? known_conflicts(t) : awaited_by(t);
    return true;
  }

  std::uint64_t known_conflicts(std::size_t t) {
    const std::uint32_t cells = touched_cells(t);
    if (cells == no_cells) return 0;
    std::uint64_t found = 0;
    for (const auto& [u, meetings] : running_)
      if (at(u) != t && meets(*meetings, cells)) found |= bit(u);
    return found;
  }

  std::uint64_t awaited_by(std::size_t t) {
    std::uint64_t found = ties(from_[1 + t]).joined;
    for (std::size_t u = 0; found != 0 && u < readiness_.size(); ++u)
      if (facts(from_[1 + u]).status == ThreadStatus::finished) found &= ~bit(static_cast<std::int32_t>(u));
    return found;
  }

  // The number of the set of cells that the next step of the thread touches.
  std::uint32_t touched_cells(std::size_t t) {
    if (readiness_[t] != Readiness::visible) return no_cells;
    const std::uint32_t thread = from_[1 + t];
    if (thread >= touched_by_.size()) touched_by_.resize(thread + std::size_t{1}, not_asked);
    if (touched_by_[thread] == not_asked) touched_by_[thread] = find_touched_cells(t);
    return touched_by_[thread];
  }

  std::uint32_t find_touched_cells(std::size_t t) {
    const std::optional<Touch> touch = steps_.global_touch(current(), static_cast<std::int32_t>(t));
    if (!touch) return not_known;
    step_cells_.clear();
    cells_.add_to(step_cells_, *touch);
    const auto number = static_cast<std::uint32_t>(std::ranges::find(cell_sets_, step_cells_) - cell_sets_.begin());
    if (number == most_cell_sets) return not_known;
    if (number == cell_sets_.size()) cell_sets_.push_back(step_cells_);
    return number;
  }

  // Which of these sets a future meets, as far as that was asked for since a future grew.
  struct Meetings {
    std::uint64_t version = ~std::uint64_t{0};
    std::uint32_t future = Futures::unknown;
    std::array<std::uint64_t, 4> is_known{};
    std::array<std::uint64_t, 4> conflicts{};
  };

  Meetings& meetings_with(std::uint32_t future) {
    if (future == Futures::unknown) return nothing_met_ = {};
    while (future >= meetings_.size()) meetings_.emplace_back();
    Meetings& known = meetings_[future];
    if (known.version != futures_.version()) known = {futures_.version(), future, {}, {}};
    return known;
  }

  bool meets(Meetings& meetings, std::uint32_t cells) {
    const std::uint64_t its_bit = std::uint64_t{1} << cells % 64;
    std::uint64_t& is_known = meetings.is_known[cells / 64];
    if ((is_known & its_bit) == 0) {
      is_known |= its_bit;
      if (futures_.future(meetings.future).conflicts(cell_sets_[cells])) meetings.conflicts[cells / 64] |= its_bit;
    }
    return (meetings.conflicts[cells / 64] & its_bit) != 0;
  }

  // The number of what the thread may do from where it is on.
  std::uint32_t future_of(std::int32_t u) {
    if (at(u) >= future_numbers_.size()) future_numbers_.resize(at(u) + 1);
    std::vector<std::pair<std::uint32_t, std::uint32_t>>& numbers = future_numbers_[at(u)];
    if (numbers.empty()) numbers.assign(256, {0, Futures::unknown});
    auto& [thread, future] = numbers[from_[1 + at(u)] % numbers.size()];
    if (thread != from_[1 + at(u)] || future == Futures::unknown) {
      thread = from_[1 + at(u)];
      future = futures_.find(point(u, thread));
    }
    return future;
  }

  static constexpr std::uint32_t not_asked = ~std::uint32_t{0}, not_known = not_asked - 1, no_cells = not_asked - 2;
  static constexpr std::uint32_t most_cell_sets = 256;

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

  std::vector<Reduced> reduced_;
  std::uint64_t n_tried_ = 0;  // choices of some threads

 private:
  std::vector<Touch> own_touches_;
  std::vector<std::uint64_t> conflicts_;
  std::vector<CellSets> buffers_;
  CellSets step_cells_;
  std::vector<std::uint32_t> touched_by_;  // by number of a thread
  std::vector<CellSets> cell_sets_;
  std::deque<Meetings> meetings_;  // by number of a future
  Meetings nothing_met_;
  std::vector<std::pair<std::int32_t, Meetings*>> running_;
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> future_numbers_;  // by thread, of its numbers some
};

}  // namespace dekker::states
