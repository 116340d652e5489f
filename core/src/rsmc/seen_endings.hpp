// Ends of runs that were seen before, so that they need not be done again.
//
// When nothing is left to do, the first thread goes on behind its joins; nobody hears of it, and the model is not asked.
// What it does there hangs on what it has done before and on what it reads now. Let it have read nothing before its joins but
// what was there from the start: up to there it does the same in every run. If behind its joins it only joins, reads and
// passes fences, then it does in another run what it did in this one
//  - if the same threads have ended, with the same results, and have detached nobody, not even themselves,
//  - and each place that it has read, and others access, has the same last word, the others being accessed by nobody else now.
// So if this run was complete, the other one is, too, and memory is the same in the end. What else a run may show (flags,
// errors of other threads, what was relied on) is asked for in each run.
//
// That threads are alike, and that joins and ends are noticed by nobody, may be refuted by what the first thread reads before
// it has joined all threads, and others access. Ends with such reads are done again. So are those of programs that release memory,
// where it matters what the last access was, and those that leave the order of writes open.
#pragma once

#include <algorithm>
#include <vector>

#include "rsmc/run.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class SeenEndings {
 public:
  explicit SeenEndings(const Run<W>& run) : run_(run) {}

  // Nothing is left to do but for the first thread, which joins: will it do what it did before?
  bool comes_again() {
    if (run_.machine().has_lifetimes() || !std::ranges::all_of(run_.machine().threads(), is_out_of_the_way)) return false;
    const std::size_t n_ended = count_ended();
    const auto found = std::ranges::find_if(endings_, [&](const Ending& ending) {
      return ending.n_joined == n_ended && std::ranges::all_of(ending.looks, [&](const Look& look) { return is_same(look); });
    });
    if (found == endings_.end()) return false;
    std::iter_swap(found, endings_.begin());
    return true;
  }

  // The run is complete, and what the first thread did behind its joins is there.
  void add() {
    if (endings_.size() == most_endings || run_.machine().has_lifetimes() || !is_determined()) return;
    Ending ending;
    const std::vector<EventId>& events = run_.events_of(first_thread);
    for (std::size_t i = run_.first_settled(); i < events.size(); ++i)
      if (!add_look(run_.event(events[i]), ending)) return;
    if (ending.n_joined != count_ended()) return;
    // Those that tell endings apart come first.
    std::ranges::stable_partition(ending.looks, [](const Look& look) { return look.is_shared; });
    endings_.push_back(std::move(ending));
  }

 private:
  // At the end of a thread, or at a place.
  struct Look {
    std::int32_t joined;
    Address address;
    std::uint8_t size;
    bool is_shared;  // do other threads access it?
    Value value;
    Value undefined;
  };

  struct Ending {
    std::vector<Look> looks;
    std::size_t n_joined = 0;
  };

  static constexpr std::size_t most_endings = 16;

  // Has the first thread come to its joins in the only way there is?
  bool is_determined() const {
    const std::vector<EventId>& events = run_.events_of(first_thread);
    const std::size_t n_before = std::min(run_.first_settled(), events.size());
    return std::all_of(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(n_before), [&](EventId id) {
      const Event<W>& e = run_.event(id);
      return e.kind == EventKind::fence || e.kind == EventKind::write || (e.kind == EventKind::read && e.is_early);
    });
  }

  // Returns false if this is nothing that may be left out another time.
  bool add_look(const Event<W>& e, Ending& ending) const {
    if (e.kind == EventKind::fence) return true;
    if (e.kind != EventKind::read || e.state != EventState::committed || e.is_piece) return false;
    if (e.role == Role::synchronised) {
      if (std::ranges::any_of(ending.looks, &Look::is_shared)) return false;
      ++ending.n_joined;
    } else if (e.role != Role::plain) {
      return false;
    }
    const bool is_join = e.role == Role::synchronised;
    ending.looks.push_back({is_join ? e.waits_for : none, e.address, e.size, !is_join && run_.is_noticed(e), e.value, e.undefined});
    return true;
  }

  // Has it ended, if it began, and has it joined and detached nobody, so that the first thread may do that?
  static bool is_out_of_the_way(const ThreadState<W>& thread) {
    if (thread.number == first_thread) return true;
    const bool is_over = thread.status == ThreadStatus::finished || thread.status == ThreadStatus::unborn;
    return is_over && thread.obligations->claimed.empty();
  }

  std::size_t count_ended() const {
    const auto has_ended = [](const ThreadState<W>& thread) {
      return thread.number != first_thread && thread.status == ThreadStatus::finished;
    };
    return static_cast<std::size_t>(std::ranges::count_if(run_.machine().threads(), has_ended));
  }

  bool is_same(const Look& look) const {
    if (look.joined != none) return has_same_result(look);
    const Location<W>* found = nullptr;
    for (const Location<W>& location : run_.locations()) {
      if (location.address >= look.address + look.size || look.address >= location.address + location.size) continue;
      if (location.address != look.address || location.size != look.size) return false;
      found = &location;
    }
    return found == nullptr ? !look.is_shared : look.is_shared && has_same_last(*found, look);
  }

  bool has_same_result(const Look& look) const {
    const ThreadState<W>& thread = run_.machine().threads()[static_cast<std::size_t>(look.joined)];
    const NodeId result = thread.result.node;
    return thread.status == ThreadStatus::finished && run_.machine().value(result) == look.value &&
           run_.machine().undefined(result) == look.undefined;
  }

  bool has_same_last(const Location<W>& location, const Look& look) const {
    if (location.is_outside || location.is_unseen) return false;
    if (location.order.empty()) return location.initial_value == look.value && location.initial_undefined == look.undefined;
    const Event<W>& last = run_.event(location.order.back());
    return last.value == look.value && last.undefined == look.undefined;
  }

  const Run<W>& run_;
  std::vector<Ending> endings_;  // the last that came again is the first
};

}  // namespace dekker::rsmc
