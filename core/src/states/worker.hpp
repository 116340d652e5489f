// One of several workers that search together: its part of each phase (crew.hpp).
#pragma once

#include <chrono>
#include <random>
#include <thread>

#include "states/schedules.hpp"

namespace dekker::states {

// What is done in a phase, in lists that workers made in the one before. Each takes some of its own list, and then of others.
class Batches {
 public:
  struct Batch {
    std::size_t list;
    std::size_t begin;
    std::size_t end;
  };

  explicit Batches(std::size_t n_lists) : lists_(n_lists) {}

  void set(std::size_t list, std::size_t size) {
    lists_[list].size = size;
    lists_[list].next.store(0, std::memory_order_relaxed);
  }

  std::size_t total() const {
    std::size_t sum = 0;
    for (const List& list : lists_) sum += list.size;
    return sum;
  }

  std::optional<Batch> take(std::size_t worker, std::size_t most) {
    for (std::size_t k = 0; k < lists_.size(); ++k) {
      const std::size_t number = (worker + k) % lists_.size();
      List& list = lists_[number];
      if (list.next.load(std::memory_order_relaxed) >= list.size) continue;
      const std::size_t begin = list.next.fetch_add(most, std::memory_order_relaxed);
      if (begin < list.size) return Batch{number, begin, std::min(begin + most, list.size)};
    }
    return {};
  }

 private:
  struct alignas(64) List {
    std::size_t size = 0;
    std::atomic<std::size_t> next = 0;
  };

  std::vector<List> lists_;
};

class Worker;

// What workers share.
struct Shared {
  explicit Shared(std::size_t n_workers, std::function<void()> rearrange)
      : meeting(std::move(rearrange)), levels(n_workers), batches(n_workers) {}

  // The first reason counts.
  void stop(Stop why) {
    Stop nothing = Stop::not_stopped;
    reason.compare_exchange_strong(nothing, why);
    is_stopped.store(true, std::memory_order_relaxed);
  }

  std::atomic<bool> is_stopped = false;
  std::atomic<Stop> reason = Stop::not_stopped;
  Meeting meeting;
  Components components{true};
  std::unique_ptr<SharedVisited> visited, sequential;  // the latter is what SC reaches, if robustness is asked for
  std::vector<Worker*> workers;

  // These change between phases only.
  std::vector<Level> levels;  // what is expanded, by the worker who found it
  Cells cells;
  Futures futures;
  bool tries_choices = true;

  Batches batches;
  std::atomic<bool> has_wrong_choice = false;
  alignas(64) std::atomic<std::uint64_t> n_states = 0;  // in `visited`, but for what workers have not told yet
};

class Worker : Schedules {
 public:
  Worker(const Program& program, const Options& options, Assumptions assumptions, Shared& shared, std::size_t number)
      : Schedules(program, options, assumptions, shared.components, FoundStates(*shared.visited), &shared.cells, &shared.futures),
        shared_(shared),
        number_(number),
        random_(options.delay_seed + number) {
    cache_.share_room(options.jobs);
  }

  // ---- Parts of phases ------------------------------------------------------------------------------------------------

  void add_initial() {
    machine_.contents().forget_drafts();
    State start = machine_.initial();
    add(start, no_state);
  }

  void expand_level() {
    n_postponed_ = 0;  // those of a phase that was abandoned
    while (const std::optional<Batches::Batch> batch = take_batch()) {
      const Level& level = shared_.levels[batch->list];
      forget_ahead();
      for (std::size_t k = batch->begin; k < batch->end; ++k) {
        if (should_stop()) return;
        set_from(level.ids(k));
        const bool is_last = k + far_ahead >= batch->end;
        look_ahead(k, is_last ? std::span<const std::uint32_t>{} : level.ids(k + far_ahead), from_.size() - 1);
        expand(level.number(k));
      }
      publish();
    }
    add_postponed();
    look_at_known_returns();
  }

  // Has a future grown since threads were chosen, so that these are not enough?
  void check_choices() {
    while (const std::optional<Batches::Batch> batch = take_batch())
      for (std::size_t k = batch->begin; k < batch->end; ++k) {
        if (shared_.has_wrong_choice.load(std::memory_order_relaxed) || shared_.is_stopped.load(std::memory_order_relaxed)) return;
        Reduced& choice = shared_.workers[batch->list]->reduced_[k];
        if (choice.version == futures_.version()) continue;
        if (missing_threads(choice) != 0) {
          shared_.has_wrong_choice.store(true, std::memory_order_relaxed);
          return;
        }
        choice.version = futures_.version();
      }
  }

  // Where threads that were chosen are not enough, more go on.
  void correct_choices() {
    n_postponed_ = 0;
    while (const std::optional<Batches::Batch> batch = take_batch()) {
      for (std::size_t k = batch->begin; k < batch->end; ++k) {
        if (should_stop()) return;
        Reduced& choice = shared_.workers[batch->list]->reduced_[k];
        if (!correct(choice)) choice.threads = 0;
      }
      publish();
    }
    add_postponed();
    look_at_known_returns();
  }

  // States are not there any more once only their hashes are.
  void look_at_known_returns() {
    if (shared_.visited->is_compact()) returns_.clear();
    else look_at_returns();
  }

  // ---- While no worker works ------------------------------------------------------------------------------------------

  // All is forgotten but futures and known steps.
  void begin() {
    found_.level.clear();
    found_.numbers = {};
    found_.n_new = n_told_ = 0;
    found_.share(*shared_.visited);
    reduced_.clear();
    returns_.clear();
    known_violations_.clear();
    known_outcomes_.clear();
    statistics_ = {};
    has_violation_ = false;
    n_postponed_ = n_tried_ = n_successors_ = 0;
    publish();
  }

  void search_under(Model model, bool is_second_phase) {
    options_.model = model;
    is_second_phase_ = is_second_phase;
  }

  SharedVisited::Numbers& numbers() { return found_.numbers; }
  bool has_violation() const { return has_violation_; }
  std::uint64_t n_tried() const { return n_tried_; }
  std::size_t n_choices() const { return reduced_.size(); }
  void forget_corrected() {
    std::erase_if(reduced_, [](const Reduced& choice) { return choice.threads == 0; });
  }

  // What was found in this phase is expanded in the next.
  void hand_over() {
    std::swap(shared_.levels[number_], found_.level);
    found_.level.clear();
    if (own_futures_.empty()) return;
    shared_.futures.add(own_futures_);
    own_futures_ = {};
  }

  // What others found. The first finder of something counts.
  void add_findings(Worker& other) {
    known_violations_.merge(other.known_violations_);
    known_outcomes_.merge(other.known_outcomes_);
  }

  // One violation is enough: the first by kind and place, which does not depend on who found what first.
  void keep_one_violation() {
    if (known_violations_.empty()) return;
    known_violations_.erase(std::next(known_violations_.begin()), known_violations_.end());
  }
  bool has_deadlock() const {
    return std::ranges::any_of(known_violations_, [](const auto& item) { return item.first.kind == ViolationKind::deadlock; });
  }

  using Schedules::describe;

  // ---- At any time ----------------------------------------------------------------------------------------------------

  // The worker itself says how far it is.
  void publish() {
    shared_.n_states.fetch_add(found_.n_new - n_told_, std::memory_order_relaxed);
    n_told_ = found_.n_new;
    statistics_.states = found_.n_new;
    statistics_.transitions = n_successors_;
    statistics_.largest_buffer = machine_.largest_buffer;
    statistics_.overflows = steps_.overflows;
    statistics_.limits = machine_.n_limits;
    statistics_.merges_spawned = merges_;
    const std::lock_guard hold(mutex_);
    published_ = statistics_;
  }

  // As they were a moment ago.
  Statistics published() const {
    const std::lock_guard hold(mutex_);
    return published_;
  }

 private:
  static constexpr std::size_t largest_batch = 32;

  std::optional<Batches::Batch> take_batch() {
    if (options_.delay_seed == 0) {
      const std::size_t share = shared_.batches.total() / (8 * shared_.workers.size());
      return shared_.batches.take(number_, std::clamp<std::size_t>(share, 1, largest_batch));
    }
    if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
    return shared_.batches.take(number_, 1 + random_() % 4);
  }

  bool should_stop() {
    if (shared_.is_stopped.load(std::memory_order_relaxed)) return true;
    if (options_.max_states == 0) return false;
    if (shared_.n_states.load(std::memory_order_relaxed) + found_.n_new - n_told_ < options_.max_states) return false;
    shared_.stop(Stop::states);
    return true;
  }

  bool tries_choices() const override { return shared_.tries_choices; }
  bool is_known_sequentially(std::span<const std::uint32_t> ids) const override { return shared_.sequential->contains(ids); }

  Shared& shared_;
  std::size_t number_;
  std::mt19937_64 random_;
  std::uint64_t n_told_ = 0;
  mutable std::mutex mutex_;
  Statistics published_;
};

}  // namespace dekker::states
