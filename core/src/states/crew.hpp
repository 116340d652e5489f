// Finds all states, final values and violations with several workers.
//
// The search goes in phases: all states that are as far from the start are expanded, by whoever takes them, and the states
// that are found then are the next phase. Workers wait for each other in between, so that nothing that they decide depends on
// who is how far:
//
// - *Cycles.* Threads may go first from a state if their steps lead to states that were not known when the phase began
//   (expansion.hpp). Such a step leads from one phase into the next, so that no cycle has only such steps: it would have to come back from
//   a phase to an earlier one. The same holds for choices that are corrected: what they add leads to a later phase than all before.
// - *Futures* do not change in a phase. What is new is put together when it is over, in whatever order: it is a union. The
//   last word is that of the check at the end, for which all is known that any worker has seen.
// - *Numbers* of states, threads, memories and objects are names. What a worker is given for the same contents is what all the others are.
//
// So the states that are visited are the same with any number of workers but one, which knows more about what it has expanded,
// and may therefore visit fewer.
#pragma once

#include "big_thread.hpp"
#include "dekker/process_memory.hpp"
#include "states/searcher.hpp"
#include "states/worker.hpp"

namespace dekker::states {

class Crew {
 public:
  Crew(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress)
      : options_(options), progress_(progress), shared_(options.jobs, [this] { rearrange(); }), started_(Clock::now()) {
    shared_.visited = new_visited();
    for (std::size_t number = 0; number < options.jobs; ++number) {
      workers_.push_back(std::make_unique<Worker>(program, options, assumptions, shared_, number));
      shared_.workers.push_back(workers_.back().get());
    }
  }

  Outcome run() {
    std::exception_ptr interruption;
    {
      const BigThread leader([this] { lead(); });
      try {
        supervise();
      } catch (...) {
        interruption = std::current_exception();
        shared_.stop(Stop::interrupt);
      }
    }
    if (interruption) std::rethrow_exception(interruption);
    if (failure_) std::rethrow_exception(failure_);
    return std::move(outcome_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Part = void (Worker::*)();

  // ---- The thread that leads ------------------------------------------------------------------------------------------

  void lead() {
    try {
      search();
      if (!failure_) finish();
    } catch (...) {
      fail();
    }
    shared_.meeting.close();
    helpers_.clear();
    const std::lock_guard hold(mutex_);
    is_done_ = true;
    done_.notify_all();
  }

  void search() {
    if (!options_.robust) {
      explore();
      return;
    }
    for (Worker* worker : shared_.workers) worker->search_under(Model::sc, false);
    explore();
    if (is_stopped()) return;
    n_sequential_ = shared_.n_states.load();
    shared_.sequential = std::exchange(shared_.visited, new_visited());
    for (Worker* worker : shared_.workers) worker->search_under(options_.model, true);
    explore();
  }

  void explore() {
    begin();
    expand_levels();
    for (int n_restarts = 0; !is_stopped() && has_wrong_choices(); ++n_restarts) {
      const auto [n_tried, n_choices] = count_choices();
      if (should_restart(n_restarts, shared_.n_states, n_tried, n_choices))
        begin();
      else
        correct_choices();
      if (!is_stopped()) expand_levels();
    }
  }

  void begin() {
    shared_.visited->clear();
    shared_.n_states = 0;
    shared_.tries_choices = true;
    n_phases_ = 0;
    for (Worker* worker : shared_.workers) worker->begin();
    together(1, &Worker::add_initial);
  }

  void expand_levels() {
    for (end_phase(); shared_.batches.total() != 0 && !is_stopped(); end_phase())
      together(shared_.batches.total(), &Worker::expand_level);
  }

  bool has_wrong_choices() {
    shared_.has_wrong_choice = false;
    together(offer_choices(), &Worker::check_choices);
    return shared_.has_wrong_choice;
  }

  void correct_choices() {
    together(offer_choices(), &Worker::correct_choices);
    for (Worker* worker : shared_.workers) worker->forget_corrected();
  }

  std::size_t offer_choices() {
    for (std::size_t number = 0; number < shared_.workers.size(); ++number)
      shared_.batches.set(number, shared_.workers[number]->n_choices());
    return shared_.batches.total();
  }

  // How many were tried, and how many were good.
  std::pair<std::uint64_t, std::uint64_t> count_choices() const {
    std::pair<std::uint64_t, std::uint64_t> sum;
    for (const Worker* worker : shared_.workers) {
      sum.first += worker->n_tried();
      sum.second += worker->n_choices();
    }
    return sum;
  }

  void end_phase() {
    for (std::size_t number = 0; number < shared_.workers.size(); ++number) {
      Worker& worker = *shared_.workers[number];
      worker.hand_over();
      shared_.visited->give_back(worker.numbers());
      shared_.batches.set(number, shared_.levels[number].size());
    }
    const auto [n_tried, n_choices] = count_choices();
    shared_.visited->begin_phase();
    shared_.components.forget_old_tables();
    const Statistics all = statistics();
    if (!is_stopped() && has_failed(options_, all.overflows, all.largest_buffer, shared_.n_states)) shared_.stop(Stop::buffers);
    shared_.tries_choices = !is_seldom_good(n_tried, n_choices) || ++n_phases_ % 32 == 0;
  }

  bool is_stopped() const {
    return shared_.is_stopped || (options_.stop_at_violation && std::ranges::any_of(shared_.workers, &Worker::has_violation));
  }

  // ---- All of them ----------------------------------------------------------------------------------------------------

  // What little there is to do, one does alone.
  void together(std::size_t amount, Part part) {
    const bool is_little = amount < (options_.delay_seed != 0 ? 2 : fewest_shared);
    if (!is_little) start_helpers();
    part_ = part;
    if (is_little)
      shared_.meeting.begin_alone();
    else
      shared_.meeting.begin_phase(shared_.workers.size());
    do_part(0);
    shared_.meeting.await_end_of_phase();
    if (failure_) shared_.is_stopped = true;
  }

  void start_helpers() {
    if (!helpers_.empty()) return;
    helpers_.reserve(shared_.workers.size() - 1);
    for (std::size_t number = 1; number < shared_.workers.size(); ++number) helpers_.emplace_back([this, number] { help(number); });
  }

  void help(std::size_t number) {
    std::uint64_t seen = 0;
    while (shared_.meeting.await_phase(seen)) do_part(number);
  }

  void do_part(std::size_t number) {
    try {
      (shared_.workers[number]->*part_)();
    } catch (const Abandoned&) {
    } catch (...) {
      fail();
    }
    shared_.workers[number]->publish();
    shared_.meeting.end_part();
  }

  void fail() {
    const std::lock_guard hold(mutex_);
    if (!failure_) failure_ = std::current_exception();
    shared_.is_stopped = true;
  }

  // While all wait.
  void rearrange() {
    try {
      if (wants_compact_.exchange(false)) become_compact();
      shared_.visited->rearrange([this](std::size_t more_bytes) { return may_grow(more_bytes); });
    } catch (...) {
      fail();
    }
  }

  bool may_grow(std::size_t more_bytes) {
    if (options_.memory_bytes == 0) return true;
    if (process_memory() + more_bytes > memory_limit() && may_compact()) become_compact();
    if (process_memory() + more_bytes <= memory_limit()) return true;
    shared_.stop(Stop::memory);
    return false;
  }

  void become_compact() {
    if (is_compact_) return;
    shared_.visited->become_compact();
    is_compact_ = true;
  }

  bool may_compact() const { return options_.compact && !options_.robust && !is_compact_; }
  std::uint64_t memory_limit() const { return is_compact_ ? 2 * options_.memory_bytes : options_.memory_bytes; }

  // ---- The thread that watches ----------------------------------------------------------------------------------------

  void supervise() {
    std::unique_lock hold(mutex_);
    Clock::time_point next_report = started_ + report_interval;
    while (!done_.wait_for(hold, watch_interval, [&] { return is_done_; })) {
      hold.unlock();
      const Clock::time_point now = Clock::now();
      if (options_.timeout_s > 0 && std::chrono::duration<double>(now - started_).count() > options_.timeout_s)
        shared_.stop(Stop::time);
      if (options_.memory_bytes != 0 && process_memory() > memory_limit()) at_memory_limit();
      if (now >= next_report) {
        if (progress_ && !progress_(statistics())) shared_.stop(Stop::interrupt);
        next_report = now + report_interval;
      }
      hold.lock();
    }
  }

  void at_memory_limit() {
    if (!may_compact()) {
      shared_.stop(Stop::memory);
      return;
    }
    wants_compact_ = true;
    shared_.meeting.ask_for_pause();
  }

  // ---- What was found -------------------------------------------------------------------------------------------------

  Statistics statistics() const {
    Statistics sum;
    for (const Worker* worker : shared_.workers) {
      const Statistics part = worker->published();
      sum.states += part.states;
      sum.transitions += part.transitions;
      sum.final_states += part.final_states;
      sum.blocked += part.blocked;
      sum.deadlocks += part.deadlocks;
      sum.overflows += part.overflows;
      sum.limits += part.limits;
      sum.merges_spawned = sum.merges_spawned || part.merges_spawned;
      sum.largest_buffer = std::max(sum.largest_buffer, part.largest_buffer);
    }
    sum.states += n_sequential_;
    sum.components = shared_.components.size();
    sum.is_compact = is_compact_;
    return sum;
  }

  void finish() {
    Worker& first = *shared_.workers[0];
    for (Worker* worker : shared_.workers)
      if (worker != &first) first.add_findings(*worker);
    outcome_.stop = shared_.reason;
    outcome_.statistics = statistics();
    outcome_.statistics.visited_bytes = shared_.visited->bytes() + shared_.components.bytes();
    if (shared_.sequential) outcome_.statistics.visited_bytes += shared_.sequential->bytes();
    if (options_.stop_at_violation) {
      first.keep_one_violation();
      if (!first.has_deadlock()) outcome_.statistics.deadlocks = 0;
    }
    first.describe(outcome_);
  }

  std::unique_ptr<SharedVisited> new_visited() {
    return std::make_unique<SharedVisited>(shared_.meeting, shared_.is_stopped, options_.delay_seed != 0);
  }

  static constexpr std::size_t fewest_shared = 128;
  static constexpr std::chrono::milliseconds watch_interval{10}, report_interval{50};

  Options options_;
  const Progress& progress_;
  Shared shared_;
  Clock::time_point started_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<BigThread> helpers_;
  Part part_ = nullptr;
  std::uint64_t n_phases_ = 0;
  std::atomic<std::uint64_t> n_sequential_ = 0;  // states that SC reaches
  std::atomic<bool> wants_compact_ = false, is_compact_ = false;
  Outcome outcome_;

  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::exception_ptr failure_;
};

}  // namespace dekker::states
