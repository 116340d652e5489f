// Who tells an explorer when to stop, and where what is left goes: for one that explores everything, or for one of those
// that share a pool.
#pragma once

#include <random>
#include <thread>

#include "dekker/process_memory.hpp"
#include "dekker/stop_request.hpp"
#include "rsmc/machine_state.hpp"
#include "rsmc/pool.hpp"

namespace dekker::rsmc {

// A hundred megabytes are filled in a tenth of a second.
inline std::chrono::milliseconds between_looks(const Limits& limits) {
  return std::chrono::milliseconds(limits.memory_bytes != 0 ? 5 : 50);
}

class Supervisor {
 public:
  using Clock = std::chrono::steady_clock;

  Supervisor(const Limits& limits, const Progress& progress) : limits_(limits), progress_(&progress) {
    if (limits.timeout_s > 0 && limits.timeout_s < longest_timeout_s)
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.timeout_s));
  }

  Supervisor(const Limits& limits, Pool& pool, std::size_t worker, std::uint64_t split_seed)
      : limits_(limits), pool_(&pool), worker_(worker), splits_at_random_(split_seed != 0), random_(split_seed + worker) {}

  void begin_unit() {
    if (!splits_at_random_) return;
    split_after_ = 1 + (std::uint64_t{1} << (random_() % 12)) * (random_() % 16) / 16;
    if (random_() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 500));
  }

  bool wants_units(std::uint64_t steps) const {
    if (pool_ == nullptr) return false;
    return pool_->wants_units(steps) || (splits_at_random_ && steps >= split_after_);
  }

  // Now and then. `statistics()` are those so far.
  template <class GetStatistics>
  Stop look(GetStatistics statistics) {
    if (pool_ != nullptr && pool_->abort_reason() != Stop::not_stopped) return pool_->abort_reason();
    if (pool_ == nullptr && is_asked_to_stop()) return stop_request.load() == StopRequest::memory ? Stop::memory : Stop::time;
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return Stop::not_stopped;
    next_look_ = now + between_looks(limits_);
    if (pool_ != nullptr) {
      pool_->publish(worker_, statistics());
      return Stop::not_stopped;
    }
    if (deadline_ && now > *deadline_) return Stop::time;
    const Statistics so_far = statistics();
    if (limits_.memory_bytes != 0 && process_memory() + so_far.report_bytes > limits_.memory_bytes) return Stop::memory;
    if (*progress_ && !(*progress_)(so_far)) return Stop::interrupt;
    return Stop::not_stopped;
  }

  // While there is only one thread, and nothing to be given away. Throws StoppedAlone.
  void look_alone() {
    static const Statistics nothing;
    const Stop reason = look([]() -> const Statistics& { return nothing; });
    if (reason != Stop::not_stopped || (pool_ != nullptr && pool_->wants_rest())) throw StoppedAlone{reason};
  }

  bool keeps_rest() const { return pool_ != nullptr && pool_->keeps_rest(); }
  void stop(Stop reason) { pool_->stop(reason); }
  std::uint64_t new_id() { return pool_->new_id(); }
  void add(Unit&& unit) { left_.push_back(std::move(unit)); }
  std::vector<Unit> take_left() { return std::exchange(left_, {}); }
  std::atomic<std::uint64_t>& n_complete() { return pool_ != nullptr ? pool_->n_complete() : own_n_complete_; }

 private:
  static constexpr double longest_timeout_s = 1e9;

  const Limits& limits_;
  const Progress* progress_ = nullptr;
  Pool* pool_ = nullptr;
  std::size_t worker_ = 0;
  bool splits_at_random_ = false;
  std::mt19937_64 random_;
  std::uint64_t split_after_ = 0;
  std::vector<Unit> left_;
  std::atomic<std::uint64_t> own_n_complete_ = 0;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point next_look_{};
};

}  // namespace dekker::rsmc
