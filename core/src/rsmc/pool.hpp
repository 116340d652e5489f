// The units that wait to be explored, and what was found in those that were.
//
// A unit counts when it is done: what was found in it, and the units that it left, are added at once. One that fails for
// want of words is put back as it was. Whoever has nothing to do makes the others hungry for handing over: the next time
// they look, they leave all that is left of their unit, which keeps nobody waiting, because the part nearest to the root
// is large.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>

#include "rsmc/unit.hpp"

namespace dekker::rsmc {

// Why nobody explores any more.
enum class PoolEnd : std::uint8_t { done, stopped, capacity, new_knowledge, error };

class Pool {
 public:
  explicit Pool(const Work& work);

  // Waits for a unit; nothing if there will be none.
  std::optional<Unit> take();

  void add(Outcome&& found, std::vector<Unit>&& left, bool stops_at_violation);
  // One that became too long at this place.
  void put_back(Unit&& unit, const Statistics& discarded, const Place& too_long_at);

  void put_back(Unit&& unit);

  // Everybody leaves what is left of their units. `reason` is not_stopped if only the slice is over.
  void stop(Stop reason);
  void fail(PoolEnd end, std::exception_ptr error);

  // The rest of a unit, now that so many steps of it are done?
  bool wants_units(std::uint64_t steps) const {
    const Demand demand = demand_.load(std::memory_order_relaxed);
    return demand != Demand::none && (demand == Demand::rest || steps >= least_steps);
  }

  // Of everybody.
  bool wants_rest() const { return demand_.load(std::memory_order_relaxed) == Demand::rest; }

  // To be given up, whatever is left?
  Stop abort_reason() const { return abort_.load(std::memory_order_relaxed); }

  bool keeps_rest() const { return keeps_rest_; }
  std::uint64_t new_id() { return next_id_.fetch_add(1, std::memory_order_relaxed); }
  std::atomic<std::uint64_t>& n_complete() { return n_complete_; }
  void publish(std::size_t worker, const Statistics& statistics);

  // Called by each worker when it leaves.
  void leave();

  // Waits until all have left, or for a moment. What was done so far is in `so_far`.
  bool wait_for_all(std::chrono::milliseconds longest, Statistics& so_far);

  // When all have left.
  PoolEnd end() const { return end_; }
  std::exception_ptr error() const { return error_; }
  Outcome& outcome() { return outcome_; }
  const Place& too_long_at() const { return too_long_at_; }
  void give_rest(Work& work) const;

 private:
  enum class Demand : std::uint8_t { none, some, rest };

  bool is_over() const { return end_ != PoolEnd::done || is_done_ || is_stopping_; }
  void insert(Unit&& unit);
  void set_demand();

  // Fewer are not worth replaying the run for.
  static constexpr std::uint64_t least_steps = 500;
  // Beyond that many for each worker the deepest units come first, so that they do not become more and more.
  static constexpr std::size_t many_units = 64;

  const std::size_t n_workers_;
  const bool keeps_rest_;
  mutable std::mutex mutex_;
  std::condition_variable has_units_;
  std::condition_variable has_left_;
  std::multimap<std::size_t, Unit> units_;  // by depth
  std::set<std::uint64_t> slept_;
  const std::uint64_t first_own_id_;
  std::map<std::uint64_t, Unit> asking_;  // whether the read of another exploration may sleep
  std::size_t n_idle_ = 0;
  std::size_t n_left_ = 0;
  bool is_done_ = false;
  bool is_stopping_ = false;
  PoolEnd end_ = PoolEnd::done;
  std::exception_ptr error_;
  Outcome outcome_;
  Place too_long_at_;
  std::vector<Statistics> published_;  // of the unit that each worker is at
  std::atomic<Demand> demand_ = Demand::none;
  std::atomic<Stop> abort_ = Stop::not_stopped;
  std::atomic<std::uint64_t> next_id_;
  std::atomic<std::uint64_t> n_complete_ = 0;
};

}  // namespace dekker::rsmc
