// What a run shows when nothing more can be committed: a state, a violation, a deadlock, flags of the model.
#pragma once

#include <atomic>
#include <set>
#include <span>

#include "rsmc/claims.hpp"
#include "rsmc/leaks.hpp"
#include "rsmc/pieces.hpp"
#include "rsmc/run.hpp"
#include "rsmc/seen_endings.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class RunEnd {
 public:
  // `n_complete` counts the complete runs of all who explore.
  RunEnd(const Program& program, const Limits& limits, const std::vector<std::string>& check_names,
         std::atomic<std::uint64_t>& n_complete, Run<W>& run, Outcome& outcome)
      : program_(program), limits_(limits), check_names_(check_names), n_complete_(n_complete), run_(run), outcome_(outcome), claims_(run), endings_(run) {}

  // Ends of threads become events when nothing else is left to do. Where nothing comes behind joins, or nothing new, a run is
  // complete when all other threads have ended; then they become events only if someone is to see the run.
  bool needs_ends() {
    if (!run_.machine().owes_ends()) return false;
    const auto is_over = [&](const ThreadState<W>& thread) {
      return thread.status == ThreadStatus::finished || thread.status == ThreadStatus::unborn ||
             (thread.status == ThreadStatus::running && run_.machine().is_joining(thread));
    };
    if (!std::ranges::all_of(run_.machine().threads(), is_over)) return true;
    if (!program_.synchronisation.joins_are_last && !(may_come_again() && endings_.comes_again())) return true;
    return limits_.wants_examples && !is_like_others();
  }

  // `stands_for_others`: or else what waits here is counted in another run.
  void note(bool stands_for_others) {
    Statistics& statistics = outcome_.statistics;
    stands_for_others_ = stands_for_others;
    require_ordered_pieces(run_);
    run_.refute_reliances();
    run_.look_for_unseen();
    require_alike_joined(false);
    note_rounds_left_out();
    if (any_thread(ThreadStatus::ended) && leaves_threads_unjoined()) run_.note_unjoined_end();
    if (note_violations()) {
      ++statistics.failed;
    } else if (run_.machine().owes_ends()) {
      complete();
    } else if (any_thread(ThreadStatus::cut)) {
      require_alike_joined(true);
      ++statistics.cut;
      note_cuts();
    } else if (!all_blocked([&](const ThreadState<W>& thread) { return run_.machine().waits(thread); })) {
      require_alike_joined(true);
      ++statistics.blocked;
      if (all_blocked([](const ThreadState<W>& thread) { return thread.is_left_out; })) count_flags();
    } else if (any_thread(ThreadStatus::ended)) {
      require_alike_joined(true);
      finish_ended();
    } else if (any_thread(ThreadStatus::waiting) || any_thread(ThreadStatus::running) || any_thread(ThreadStatus::blocked)) {
      ++statistics.blocked;
      if (run_.sleepers().empty()) finish_waiting();
      else finish_asleep();
    } else {
      complete();
    }
    stop_if_violated();
  }

  // The rest of the run makes no difference, and is left out (rounds_in_vain.hpp).
  void note_in_vain() {
    require_ordered_pieces(run_);
    run_.refute_reliances();
    ++(note_violations() ? outcome_.statistics.failed : outcome_.statistics.blocked);
    count_flags_of_sleepers();
    stop_if_violated();
  }

 private:
  using Mark = typename Run<W>::Mark;

  const Event<W>& event(EventId id) const { return run_.event(id); }
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  // Not if the end shows more than that nothing goes wrong.
  bool may_come_again() const {
    const auto shows_end = [](const Observable& observable) { return observable.thread == first_thread; };
    return !limits_.finds_leaks && std::ranges::none_of(program_.observed, shows_end);
  }

  // Is there nothing about the run of which an example is missing?
  bool is_like_others() {
    const auto is_harmless = [&](const Location<W>& location) {
      return !location.is_outside && std::ranges::none_of(location.order, [&](EventId id) { return event(id).is_release; });
    };
    if (limits_.finds_leaks) return false;
    find_state();
    return outcome_.states.contains(state_) && run_.raised_flags() == 0 && std::ranges::all_of(run_.locations(), is_harmless);
  }

  void stop_if_violated() {
    if (limits_.stops_at_violation && !stopped() && has_violation()) outcome_.stop = Stop::violation;
  }

  bool stopped() const { return outcome_.stop != Stop::not_stopped; }

  bool has_violation() const {
    const bool is_deadlock = limits_.stops_at_deadlock && outcome_.statistics.deadlocks != 0;
    return is_deadlock || !outcome_.violations.empty() || !outcome_.flags.empty();
  }

  void note_rounds_left_out() {
    for (const ThreadState<W>& thread : run_.machine().threads()) outcome_.statistics.left_out += thread.is_left_out;
  }

  template <class Test>
  bool all_blocked(const Test& test) const {
    return std::ranges::all_of(run_.machine().threads(), [&](const ThreadState<W>& thread) {
      return thread.status != ThreadStatus::blocked || test(thread);
    });
  }

  void note_cuts() {
    for (const ThreadState<W>& thread : run_.machine().threads())
      if (thread.status == ThreadStatus::cut) outcome_.cut_at.insert({thread.number, thread.block, thread.pc});
  }

  void note_deadlock() {
    if (outcome_.statistics.deadlocks++ == 0 && limits_.wants_examples) outcome_.deadlock_example = trace();
  }

  void require_alike_joined(bool for_ever) { run_.require_alike_joined(program_.synchronisation.joins_are_last, for_ever); }

  void finish_waiting() {
    const bool is_violation = is_deadlock();
    if (stands_for_others_ && is_violation) note_deadlock();
    const bool is_enough = is_violation && limits_.stops_at_violation && limits_.stops_at_deadlock;
    if (!is_enough) require_alike_joined(true);
    count_flags();
  }

  // What was left out is asked for at the end: whether all wait for ever that see the last word on each location, and
  // whether what one of them sees meanwhile raises a flag.
  void finish_asleep() {
    const std::vector<EventId> sleepers = run_.sleepers();
    const Mark before = run_.mark();
    const auto waits_for_last = [&](EventId id) { return waits_with(id, run_.n_sources(id) - 1); };
    if (std::ranges::all_of(sleepers, waits_for_last)) finish_waiting();
    run_.undo(before);
    count_flags_of_sleepers();
  }

  // Threads may still wait when the program ends, but an execution in which an assumption fails does not count.
  void finish_ended() {
    const std::vector<EventId> sleepers = run_.sleepers();
    if (std::ranges::all_of(sleepers, [&](EventId id) { return may_wait(id); })) {
      complete();
      if (stopped()) return;
      count_flags_of_sleepers();
      if (limits_.finds_leaks) note_leaks_of_sleepers();
    } else {
      ++outcome_.statistics.blocked;
    }
  }

  bool leaves_threads_unjoined() const {
    return std::ranges::any_of(run_.machine().threads(), [&](const ThreadState<W>& thread) {
      return thread.status != ThreadStatus::unborn && thread.status != ThreadStatus::ended && !run_.has_joined(thread.number);
    });
  }

  bool may_wait(EventId sleeper) {
    const Mark before = run_.mark();
    bool found = false;
    for (std::size_t source = run_.n_sources(sleeper); source-- > 0 && !found;) {
      found = waits_with(sleeper, source);
      run_.undo(before);
    }
    run_.undo(before);
    return found;
  }

  void count_flags_of_sleepers() {
    if (!check_names_.empty()) for_each_wait([&] { count_flags(); });
  }

  // What a thread allocates before it waits.
  void note_leaks_of_sleepers() {
    for_each_wait([&] { note_leaks(); });
  }

  template <class Look>
  void for_each_wait(const Look& look) {
    const std::vector<EventId> sleepers = run_.sleepers();
    const Mark before = run_.mark();
    for (EventId id : sleepers)
      for (std::size_t source = 0; source < run_.n_sources(id); ++source) {
        if (waits_with(id, source) || run_.thread_of(id).is_left_out) look();
        run_.undo(before);
      }
  }

  // Perhaps its round ends with stores.
  bool waits_with(EventId sleeper, std::size_t source) {
    if (!run_.wake(sleeper, source)) return false;
    const ThreadState<W>& thread = run_.thread_of(sleeper);
    return run_.machine().waits(thread) || (run_.go_round_by_stores(sleeper) && run_.machine().waits(thread));
  }

  bool any_thread(ThreadStatus status) const {
    const auto& threads = run_.machine().threads();
    return std::ranges::any_of(threads, [&](const ThreadState<W>& thread) { return thread.status == status; });
  }

  // Does every waiting thread wait for ever? It does if all that it read in its last round is the last word on its location.
  // A thread that is still running waits for another to end. A loop that reads nothing does not wait for anything.
  bool is_deadlock() const {
    return std::ranges::all_of(run_.machine().threads(), [&](const ThreadState<W>& thread) {
      if (!run_.machine().waits(thread)) return true;
      if (!waits_for_memory(thread)) return false;
      for (std::size_t i = run_.machine().round_start(thread); i < thread.events.size(); ++i) {
        const Event<W>& e = event(thread.events[i]);
        if (e.kind == EventKind::read && !run_.reads_last_write(e)) return false;
      }
      return true;
    });
  }

  bool waits_for_memory(const ThreadState<W>& thread) const {
    if (thread.is_left_out) return true;
    const std::vector<Instruction>& code = program_.block(thread.block).code;
    const std::int32_t first = code[at(thread.pc)].target;
    std::set<std::int32_t> called;
    return reads_memory(std::span(code).subspan(at(first), at(thread.pc - first)), called);
  }

  // Also in a call.
  bool reads_memory(std::span<const Instruction> code, std::set<std::int32_t>& called) const {
    return std::ranges::any_of(code, [&](const Instruction& instruction) {
      switch (instruction.operation) {
        case Operation::load:
        case Operation::read_modify_write:
        case Operation::compare_exchange: return true;
        case Operation::call:
          if (instruction.target == none) return true;
          return called.insert(instruction.target).second && reads_memory(program_.block(instruction.target).code, called);
        default: return false;
      }
    });
  }

  // Returns whether the run does not count, because it comes to a violation that ends it. An access outside of all objects
  // does not, it finds zeros. Nor does a thread stop that reads memory after it was freed, or an indeterminate value, but
  // then what it does is not the program's: nothing more is noted of it, nor of threads that hear of what it does. So it is
  // behind the second of two that join or detach a thread.
  bool note_violations() {
    misled_at_.assign(run_.machine().threads().size(), last_index);
    wrong_.clear();
    if (run_.machine().claims_threads()) claims_.find();
    if (run_.machine().has_lifetimes()) find_reads_after_release();
    if (run_.machine().has_seen_undefined()) find_undefined_uses();
    find_checks_left_open();
    if (!wrong_.empty()) note_what_misleads();
    const auto is_misled = [&](const Event<W>& e) { return e.index > misled_at_[at(e.thread)] || claims_.is_behind(e); };
    bool ends = note_failed_checks();
    note_claimed_twice();
    ends = claims_.any() || any_thread(ThreadStatus::failed) || ends;
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const bool reads_released = misled_at_[at(thread.number)] != last_index;
      ends = ends || reads_released;
      if (thread.status == ThreadStatus::failed && !reads_released && !claims_.is_behind(thread.number, {}))
        note_violation({thread.failure, {thread.number, thread.block, thread.pc}, thread.failure_address});
    }
    for (const Location<W>& location : run_.locations()) {
      if (run_.machine().has_lifetimes()) ends = note_writes_after_release(location, is_misled) || ends;
      if (!location.is_outside) continue;
      for (const RunItem<W>& item : run_.items()) {
        const Event<W>& e = event(item.event);
        const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
        const bool is_undefined = is_access && run_.machine().has_seen_undefined() && run_.machine().uses_undefined(e);
        if (is_access && e.address == location.address && !is_misled(e) && !is_undefined)
          note_violation({run_.machine().kind_outside(e.address), run_.machine().place_of(e), e.address});
      }
    }
    return ends;
  }

  bool note_failed_checks() {
    bool any = false;
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      for (const OpenGuess& guess : thread.obligations->open_guesses) any = any || is_left_open(guess.condition);  // and noted
      for (std::size_t i = 0; i < thread.open_checks.size(); ++i) {
        const OpenCheck& check = thread.open_checks[i];
        if (check.n_events > misled_at_[at(thread.number)]) continue;
        if (claims_.is_behind(thread.number, {check.n_events, static_cast<std::int32_t>(i)})) continue;
        if (is_left_open(check.condition)) {
          any = true;  // and noted
        } else if (run_.machine().value(check.condition) == Value{0}) {
          note_violation({ViolationKind::assertion, {thread.number, check.block, check.pc}, 0});
          any = true;
        }
      }
    }
    return any;
  }

  // Does it depend on indeterminate bits?
  bool is_left_open(NodeId condition) const {
    return run_.machine().value(condition).has_value() && is_undecided(run_.machine().known(condition));
  }

  static constexpr std::int32_t last_index = std::numeric_limits<std::int32_t>::max();

  // What a thread does there misleads it. Nobody hears of it in a run that counts, because the thread does not go on.
  struct Wrong {
    std::int32_t thread;
    std::int32_t index;  // of the event
    std::int32_t n_events;  // that the thread had before
    Violation violation;
  };

  void note_what_misleads() {
    for (const Wrong& wrong : wrong_) mislead(wrong.thread, wrong.index);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (const RunItem<W>& item : run_.items()) is_new = hears(event(item.event)) || is_new;
    }
    for (const Wrong& wrong : wrong_)
      if (wrong.index == misled_at_[at(wrong.thread)] && !claims_.is_behind(wrong.thread, {wrong.n_events, Moment::last}))
        note_violation(wrong.violation);
  }

  bool hears(const Event<W>& e) {
    if (e.kind != EventKind::read || e.state != EventState::committed || e.read_from == no_event) return false;
    const Event<W>& source = event(e.read_from);
    return source.thread != e.thread && misled_at_[at(source.thread)] <= source.index && mislead(e.thread, e.index);
  }

  bool mislead(std::int32_t thread, std::int32_t index) {
    if (index >= misled_at_[at(thread)]) return false;
    misled_at_[at(thread)] = index;
    return true;
  }

  // By thread, the first event that reads what a release wrote.
  void find_reads_after_release() {
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const auto reads_released = [&](EventId id) {
        const Event<W>& e = event(id);
        if (e.kind != EventKind::read || e.state != EventState::committed) return false;
        return e.read_from == no_event ? run_.machine().starts_free(e.address) : event(e.read_from).is_release;
      };
      const auto found = std::ranges::find_if(thread.events, reads_released);
      if (found == thread.events.end()) continue;
      const Event<W>& e = event(*found);
      wrong_.push_back({e.thread, e.index, e.index, {ViolationKind::use_after_free, run_.machine().place_of(e), e.address}});
    }
  }

  void note_claimed_twice() {
    claims_.for_each_second([&](std::int32_t thread, const Claim& claim) {
      if (claim.first_event <= misled_at_[at(thread)])
        note_violation({ViolationKind::join, {thread, claim.block, claim.pc}, static_cast<Address>(claim.thread) + 1});
    });
  }

  void find_checks_left_open() {
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const auto add = [&](const auto& open) {
        if (is_left_open(open.condition))
          wrong_.push_back({thread.number, open.n_events - 1, open.n_events,
                            {ViolationKind::uninitialised, {thread.number, open.block, open.pc}, 0}});
      };
      std::ranges::for_each(thread.open_checks, add);
      std::ranges::for_each(thread.obligations->open_guesses, add);
    }
  }

  // By thread, the first access that depends on an indeterminate value.
  void find_undefined_uses() {
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const auto is_wrong = [&](EventId id) {
        const Event<W>& e = event(id);
        const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
        return is_access && e.state == EventState::committed && run_.machine().uses_undefined(e);
      };
      const auto found = std::ranges::find_if(thread.events, is_wrong);
      if (found != thread.events.end())
        wrong_.push_back({thread.number, event(*found).index, event(*found).index,
                          {ViolationKind::uninitialised, run_.machine().place_of(event(*found)), 0}});
    }
  }

  template <class IsMisled>
  bool note_writes_after_release(const Location<W>& location, const IsMisled& is_misled) {
    bool found = false, is_free = !location.order.empty() && run_.machine().starts_free(location.address);
    for (const EventId id : location.order) {
      const Event<W>& e = event(id);
      const bool was_free = is_free;
      is_free = (is_free || e.is_release) && !e.is_renewal;
      if (!was_free || e.is_renewal) continue;
      const ViolationKind kind = e.is_release ? ViolationKind::double_free : ViolationKind::use_after_free;
      if (e.is_release && !run_.machine().is_header(e.address)) continue;
      found = true;
      if (!is_misled(e)) note_violation({kind, run_.machine().place_of(e), e.address});
    }
    return found;
  }

  void note_violation(const Violation& violation) {
    const auto is_same = [&](const auto& known) { return known.first == violation; };
    if (std::ranges::any_of(outcome_.violations, is_same)) return;
    outcome_.violations.emplace_back(violation, limits_.wants_examples ? trace() : Trace{});
  }

  void complete() {
    if (limits_.max_traces != 0 && n_complete_.fetch_add(1) >= limits_.max_traces) {
      outcome_.stop = Stop::traces;
      return;
    }
    ++outcome_.statistics.complete;
    find_state();
    const auto [entry, is_new] = outcome_.states.try_emplace(state_);
    ++entry->second.count;
    if (is_new) {
      if (limits_.wants_examples) entry->second.example = trace();
      outcome_.statistics.report_bytes += report_bytes(entry->first, entry->second);
    }
    count_flags();
    if (limits_.finds_leaks) note_leaks();
    if (run_.has_settled() && may_come_again()) endings_.add();
  }

  void note_leaks() {
    const LeakFinder<W> finder(program_, run_);
    for (const AllocatedObject& object : finder.lost())
      note_violation({ViolationKind::leak, object.place, object.size});
  }

  void find_state() {
    state_.clear();
    for (const Observable& observable : program_.observed) state_.push_back(observed_value(observable));
  }

  void count_flags() {
    const Word flags = run_.raised_flags();
    for (std::size_t i = 0; i < check_names_.size() && flags != 0; ++i)
      if ((flags & bit(i)) != 0 && outcome_.flags[check_names_[i]]++ == 0 && limits_.wants_examples)
        outcome_.flag_examples[check_names_[i]] = trace();
  }

  Value observed_value(const Observable& observable) const {
    if (observable.thread != none) return run_.machine().final_register(observable.thread, observable.register_number);
    Value result = run_.initial_value(observable.address, observable.size);
    const auto apply = [&](const auto& location) {
      if (location.order.empty()) return;
      const Value last = event(location.order.back()).value;
      for (unsigned i = 0; i < location.size; ++i) {
        const Address byte = location.address + i;
        if (byte < observable.address || byte >= observable.address + observable.size) continue;
        const unsigned shift = 8 * static_cast<unsigned>(byte - observable.address);
        result = (result & ~(Value{0xFF} << shift)) | (((last >> (8 * i)) & 0xFF) << shift);
      }
    };
    std::ranges::for_each(run_.early_locations(), apply);
    std::ranges::for_each(run_.locations(), apply);
    return result;
  }

  // The committed events, thread by thread. What stands behind an event that is still pending (a thread that waits for
  // another to end) did not happen, though its fences are there already.
  Trace trace() const {
    return run_.in_some_order([&] { return trace_as_it_is(); });
  }

  Trace trace_as_it_is() const {
    std::vector<std::int32_t> number(run_.machine().n_events(), none);
    Trace result;
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (EventId id : thread.events) {
        if (event(id).state == EventState::pending || event(id).state == EventState::asleep) break;
        if (event(id).state != EventState::committed || run_.conditional_of(id) != no_event || event(id).is_guess) continue;
        number[id] = static_cast<std::int32_t>(result.size());
        result.push_back(trace_event(id));
      }
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (EventId id : thread.events)
        if (number[id] != none && event(id).kind == EventKind::read && event(id).read_from != no_event)
          result[at(number[id])].link = number[event(id).read_from];
    return result;
  }

  TraceEvent trace_event(EventId id) const {
    const Event<W>& e = event(id);
    TraceEvent result{run_.machine().place_of(e), e.kind, e.address, e.size, e.value, none};
    if (e.kind == EventKind::write) result.link = rank(id);
    return result;
  }

  // In coherence. Stores that are only outlined are the last ones, in program order: nobody else writes there.
  std::int32_t rank(EventId id) const {
    const Event<W>& e = event(id);
    const std::vector<EventId>& order = run_.writes_at(e.address);
    const auto found = std::ranges::find(order, id);
    if (found != order.end()) return static_cast<std::int32_t>(found - order.begin()) + 1;
    const std::vector<EventId>& events = run_.machine().threads()[at(e.thread)].events;
    const auto is_outlined = [&](EventId other) {
      const Event<W>& before = event(other);
      return before.kind == EventKind::write && before.state == EventState::committed && before.address == e.address &&
             std::ranges::find(order, other) == order.end();
    };
    return static_cast<std::int32_t>(order.size() + 1) +
           static_cast<std::int32_t>(std::count_if(events.begin(), events.begin() + e.index, is_outlined));
  }

  const Program& program_;
  const Limits& limits_;
  const std::vector<std::string>& check_names_;
  std::atomic<std::uint64_t>& n_complete_;
  Run<W>& run_;
  Outcome& outcome_;
  bool stands_for_others_ = true;
  Claims<W> claims_;
  SeenEndings<W> endings_;
  std::vector<Value> state_;
  std::vector<Wrong> wrong_;
  std::vector<std::int32_t> misled_at_;  // by thread: behind this event, what it does is not the program's
};

}  // namespace dekker::rsmc
