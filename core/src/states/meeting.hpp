// Where workers wait for each other: between the phases of a search, and within one while what they share is rearranged.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

namespace dekker::states {

class Meeting {
 public:
  // `rearrange` is called while all workers of a phase wait in `pause`, or are done with their parts.
  explicit Meeting(std::function<void()> rearrange) : rearrange_(std::move(rearrange)) {}

  // ---- The one who leads ----------------------------------------------------------------------------------------------

  void begin_phase(std::size_t n_workers) {
    const std::lock_guard hold(mutex_);
    n_working_ = n_workers;
    phase_.store(phase_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    changed_.notify_all();
  }

  // A phase of which the others learn nothing.
  void begin_alone() {
    const std::lock_guard hold(mutex_);
    n_working_ = 1;
  }

  void await_end_of_phase() {
    for (int n = 0; n < n_spins && n_working_.load(std::memory_order_relaxed) != 0; ++n) relax();
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return n_working_ == 0; });
  }

  // No phase comes after this.
  void close() {
    const std::lock_guard hold(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }

  // ---- The others -----------------------------------------------------------------------------------------------------

  // Whether there is a phase after the one that was `seen` last.
  bool await_phase(std::uint64_t& seen) {
    for (int n = 0; n < n_spins && phase_.load(std::memory_order_relaxed) == seen; ++n) relax();
    std::unique_lock hold(mutex_);
    changed_.wait(hold, [&] { return phase_.load(std::memory_order_relaxed) != seen || is_closed_; });
    if (phase_.load(std::memory_order_relaxed) == seen) return false;
    seen = phase_.load(std::memory_order_relaxed);
    return true;
  }

  // ---- Every worker, in a phase ---------------------------------------------------------------------------------------

  void end_part() {
    const std::lock_guard hold(mutex_);
    n_working_.store(n_working_ - 1, std::memory_order_relaxed);
    rearrange_if_all_wait();
    if (n_working_ == 0) changed_.notify_all();
  }

  bool wants_pause() const { return wants_pause_.load(std::memory_order_relaxed); }

  // All are asked to pause as soon as they can.
  void ask_for_pause() { wants_pause_.store(true, std::memory_order_relaxed); }

  void pause() {
    std::unique_lock hold(mutex_);
    ask_for_pause();
    ++n_paused_;
    const std::uint64_t pause = n_pauses_;
    rearrange_if_all_wait();
    changed_.wait(hold, [&] { return n_pauses_ != pause; });
  }

 private:
  static constexpr int n_spins = 200;

  static void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  void rearrange_if_all_wait() {
    if (n_paused_ == 0 || n_paused_ != n_working_) return;
    wants_pause_.store(false, std::memory_order_relaxed);
    rearrange_();
    n_paused_ = 0;
    ++n_pauses_;
    changed_.notify_all();
  }

  std::function<void()> rearrange_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<std::uint64_t> phase_ = 0;
  std::atomic<std::size_t> n_working_ = 0;  // changed with the lock held
  std::size_t n_paused_ = 0;
  std::uint64_t n_pauses_ = 0;
  bool is_closed_ = false;
  std::atomic<bool> wants_pause_ = false;
};

}  // namespace dekker::states
