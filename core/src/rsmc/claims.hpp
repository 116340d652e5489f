// Threads that several others join or detach: which of them comes second, and what is behind that and no longer the
// program's. Where neither of two hears of the other, each may come second.
#pragma once

#include <algorithm>
#include <compare>
#include <limits>
#include <vector>

#include "rsmc/run.hpp"

namespace dekker::rsmc {

// In a thread: before it are so many events, and so many of the open checks.
struct Moment {
  static constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
  std::int32_t n_events = last;
  std::int32_t n_checks = last;
  auto operator<=>(const Moment&) const = default;
};

template <std::size_t W>
class Claims {
 public:
  explicit Claims(const Run<W>& run) : run_(run) {}

  void find() {
    made_.clear();
    const auto claims = [](const ThreadState<W>& thread) { return !thread.obligations->claimed.empty(); };
    if (std::ranges::count_if(run_.machine().threads(), claims) < 2) return;
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (const Claim& claim : thread.obligations->claimed) made_.push_back({thread.number, claim, {}});
    drop_single();
    for (Made& made : made_) hear(made);
    over_.assign(made_.empty() ? 0 : run_.machine().threads().size(), {});
    for (const Made& one : made_)
      for (const Made& other : made_)
        if (&one < &other && one.claim.thread == other.claim.thread)
          for (std::size_t t = 0; t < over_.size(); ++t)
            over_[t] = std::min(over_[t], std::max(one.heard[t], other.heard[t]));
  }

  bool any() const { return !made_.empty(); }

  // Behind the second of two?
  bool is_behind(std::int32_t thread, const Moment& moment) const {
    return any() && over_[at(thread)] != Moment{} && moment >= over_[at(thread)];
  }

  bool is_behind(const Event<W>& e) const { return is_behind(e.thread, {e.index, Moment::last}); }

  // For each that may be a second one, and is behind no other: the thread that makes it, and what it is.
  template <class Note>
  void for_each_second(const Note& note) const {
    for (const Made& made : made_) {
      const auto may_come_before = [&](const Made& other) {
        return other.thread != made.thread && other.claim.thread == made.claim.thread && made.heard[at(other.thread)] > moment(other);
      };
      if (over_[at(made.thread)] >= moment(made) && std::ranges::any_of(made_, may_come_before)) note(made.thread, made.claim);
    }
  }

 private:
  struct Made {
    std::int32_t thread;
    Claim claim;
    std::vector<Moment> heard;  // by thread: from where on it has happened
  };

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  static Moment moment(const Made& made) { return {made.claim.first_event, made.claim.first_check}; }

  void drop_single() {
    std::vector<std::int32_t> numbers;
    for (const Made& made : made_) numbers.push_back(made.claim.thread);
    std::erase_if(made_, [&](const Made& made) { return std::ranges::count(numbers, made.claim.thread) < 2; });
  }

  // Who joins a thread hears of all that it has done, or will, if that has not ended yet.
  void hear(Made& made) const {
    made.heard.assign(run_.machine().threads().size(), {});
    made.heard[at(made.thread)] = moment(made);
    const auto hear_from = [&](std::int32_t thread, const Moment& from) {
      if (made.heard[at(thread)] <= from) return false;
      made.heard[at(thread)] = from;
      return true;
    };
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const Made& other : made_)
        if (other.claim.is_join && made.heard[at(other.claim.thread)] != Moment{})
          is_new = hear_from(other.thread, moment(other)) || is_new;
      for (const RunItem<W>& item : run_.items()) {
        const Event<W>& e = run_.event(item.event);
        if (e.kind != EventKind::read || e.state != EventState::committed || e.read_from == no_event) continue;
        const Event<W>& source = run_.event(e.read_from);
        if (Moment{source.index, Moment::last} >= made.heard[at(source.thread)])
          is_new = hear_from(e.thread, {e.index + 1, 0}) || is_new;
      }
    }
  }

  const Run<W>& run_;
  std::vector<Made> made_;
  std::vector<Moment> over_;  // by thread
};

}  // namespace dekker::rsmc
