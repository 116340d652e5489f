// Finds all states, final values and violations: one worker alone.
#pragma once

#include <chrono>

#include "dekker/process_memory.hpp"
#include "dekker/stop_request.hpp"
#include "states/schedules.hpp"

namespace dekker::states {

// When choices turn out wrong, is it better to begin again, with the futures that are known now, than to correct choices where
// they were made? Not once that has not helped so often, nor if there are so many states. Where most states let some threads go
// first, states that should not have been reached are many, and lead to more; where few do, hardly any are saved.
inline bool should_restart(int n_restarts, std::size_t n_states, std::uint64_t n_tried, std::uint64_t n_reduced) {
  constexpr int most_restarts = 12;
  constexpr std::size_t largest = 1'000'000, largest_hardly_reduced = 30'000;
  return n_restarts < most_restarts && n_states < (2 * n_reduced < n_tried ? largest_hardly_reduced : largest);
}

inline Stop requested_stop() { return stop_request.load() == StopRequest::memory ? Stop::memory : Stop::time; }

// Is it known by now that a search with large buffers was only a trial?
inline bool has_failed(const Options& trial, std::uint64_t overflows, std::uint64_t largest_buffer, std::uint64_t n_states) {
  if (trial.trial_entries == 0) return false;
  return overflows != 0 || (largest_buffer > trial.trial_entries && n_states > trial.trial_states);
}

class Searcher : Schedules {
 public:
  Searcher(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress)
      : Searcher(program, options, assumptions, progress, std::make_unique<Components>(false)) {}

  Outcome run() {
    try {
      if (!options_.robust || explore_sequentially()) explore();
    } catch (const StopRequested&) {
      stop(requested_stop());
      update_statistics();
    }
    const Patience patience;
    outcome_.statistics = statistics_;
    describe(outcome_);
    return std::move(outcome_);
  }

 private:
  Searcher(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress,
           std::unique_ptr<Components> components)
      : Schedules(program, options, assumptions, *components, FoundStates(options.depth_first), nullptr, nullptr),
        components_(std::move(components)),
        progress_(progress),
        started_(std::chrono::steady_clock::now()) {}

  // What SC reaches. Returns whether there is anything left to find: what goes wrong there does so under the model, too.
  bool explore_sequentially() {
    const Model model = options_.model;
    options_.model = Model::sc;
    explore();
    if (outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation)) return false;
    options_.model = model;
    sequential_ = std::move(found_.visited);
    is_second_phase_ = true;
    return true;
  }

  // ---- The search -----------------------------------------------------------------------------------------------------

  void explore() {
    begin();
    expand_all();
    for (int n_restarts = 0; !is_stopped() && has_wrong_choices(); ++n_restarts) {
      if (should_restart(n_restarts, found_.visited.size(), n_tried_, reduced_.size()))
        begin();
      else
        correct_choices();
      if (!is_stopped()) expand_all();
    }
    found_.stack.clear();
    add_postponed();
    if (!is_stopped()) look_at_returns();
    update_statistics();
  }

  void begin() {
    found_.visited = {};
    found_.stack.clear();
    found_.is_expanded.clear();
    reduced_.clear();
    returns_.clear();
    known_violations_.clear();
    known_outcomes_.clear();
    statistics_ = {};
    has_violation_ = false;
    found_.next = level_end_ = 0;
    n_postponed_ = n_tried_ = n_successors_ = 0;
    machine_.contents().forget_drafts();
    State start = machine_.initial();
    add(start, no_state);
  }

  void expand_all() {
    while (const std::optional<std::uint32_t> number = take_next()) {
      if (should_stop(*number)) return;
      take(*number);
      expand(*number);
    }
  }

  void take(std::uint32_t number) {
    set_from(number);
    if (found_.depth_first) return;
    const std::uint32_t ahead = number + far_ahead;
    look_ahead(number, ahead < found_.visited.size() ? found_.visited[ahead] : std::span<const std::uint32_t>{}, from_.size() - 1);
  }

  std::optional<std::uint32_t> take_next() {
    if (options_.depth_first) {
      if (found_.stack.empty()) return {};
      const std::uint32_t number = found_.stack.back();
      found_.stack.pop_back();
      found_.is_expanded[number] = true;
      return number;
    }
    if (found_.next == level_end_) {  // states of a larger distance begin
      add_postponed();
      if (found_.next == found_.visited.size()) return {};
      level_end_ = static_cast<std::uint32_t>(found_.visited.size());
    }
    return found_.next++;
  }

  bool is_stopped() const { return outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation); }

  // `next` is to be expanded now.
  bool should_stop(std::uint32_t next) {
    if (has_violation_ && options_.stop_at_violation) return true;
    if (is_asked_to_stop() && !options_.compact) return stop(requested_stop());
    if (options_.max_states != 0 && found_.visited.size() >= options_.max_states) return stop(Stop::states);
    if (has_failed(options_, steps_.overflows, machine_.largest_buffer, found_.visited.size())) return stop(Stop::buffers);
    if (++n_expanded_ % 1024 != 0) return false;
    if (found_.visited.is_compact()) add_postponed();
    look_at_returns();
    if (!options_.depth_first) found_.visited.forget(next);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    if (options_.timeout_s > 0 && elapsed.count() > options_.timeout_s) return stop(Stop::time);
    if (n_expanded_ % 16384 != 0) return false;
    update_statistics();
    if (progress_ && !progress_(statistics_)) return stop(Stop::interrupt);
    if (options_.memory_bytes != 0 && process_memory() > options_.memory_bytes) return at_memory_limit(next);
    return false;
  }

  bool at_memory_limit(std::uint32_t next) {
    const bool may_compact = options_.compact && !options_.depth_first && !options_.robust;
    if (!may_compact) return stop(Stop::memory);
    add_postponed();
    if (!found_.visited.is_compact()) {
      look_at_returns();
      found_.visited.become_compact(next);
      return false;
    }
    return process_memory() > 2 * options_.memory_bytes ? stop(Stop::memory) : false;
  }

  bool stop(Stop reason) {
    outcome_.stop = reason;
    return true;
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
      if (is_stopped() || should_stop(found_.next)) return;
      if (correct(reduced_[k])) {
        ++k;
        continue;
      }
      reduced_[k] = reduced_.back();
      reduced_.pop_back();
    }
  }

  bool tries_choices() const override { return !is_seldom_good(n_tried_, reduced_.size()) || n_expanded_ % 32 == 0; }

  bool is_known_sequentially(std::span<const std::uint32_t> ids) const override { return sequential_.contains(ids); }

  void update_statistics() {
    Statistics& s = statistics_;
    s.states = found_.visited.size() + sequential_.size();
    s.transitions = n_successors_;
    s.components = components_->size();
    s.visited_bytes = found_.visited.bytes() + sequential_.bytes() + components_->bytes();
    s.largest_buffer = machine_.largest_buffer;
    s.overflows = steps_.overflows;
    s.limits = machine_.n_limits;
    s.is_compact = found_.visited.is_compact();
    s.merges_spawned = merges_;
  }

  std::unique_ptr<Components> components_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point started_;
  Visited sequential_;  // what SC reaches, if robustness is asked for
  std::uint32_t level_end_ = 0;  // of a breadth-first search
  Outcome outcome_;
};

}  // namespace dekker::states
