// Which of the runs in which a continuation of a read is found is the one to explore it.
//
// A continuation keeps what was there before the read, and the past of the store that the read is to read from; it takes
// back the read and all that came later. The same continuation is found in many runs, which differ in what it takes back.
// It belongs to the one in which everything that is taken back came last in coherence when it came: there is exactly one
// such run, because the model always allows an event to come last, and the order in which events are picked depends on
// what is committed alone. So nothing about continuations need be remembered.
//
// The rule is that of TruSt (Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022) with commit-before for program
// order and reads-from. What came before an event is told by stamps: a read that was taken back and now reads from a later
// store keeps the stamp of its first time. Where commit-before allows more than that paper does, "last" is qualified:
//  - an access that is committed after later ones of its thread comes last among what coherence with those allows;
//  - a store whose value was forwarded is read from before it is committed;
//  - the second half of an update that is committed in one step with the first stands with the first, whether the store
//    needs it or not, that of a store-conditional if the store needs that it succeeds; where it waits for a store of its
//    thread that is taken back, it counts only for what came behind that; elsewhere its place is given by what the first
//    half read;
//  - of the outcomes of a compare-exchange that are told apart before it reads, failure is the one; of a
//    store-conditional failure, unless that only means another attempt; of a choice the lowest value;
//  - a guess stands only for loads that came before, or that the store needs, and took it so; a store that there will not be
//    for another guess has the first of its values;
//  - a read sleeps if what it would read last made its thread wait, or try a store-conditional again that goes elsewhere;
//  - it is displaced if that was on the way to what it would read last;
//  - where nobody sees in which order writes come, each access comes last.
#pragma once

#include "rsmc/active_reads.hpp"
#include "rsmc/run.hpp"

namespace dekker::rsmc {

inline constexpr std::int64_t status_succeeded = 0;
inline constexpr std::int64_t status_failed = 1;

// Is it of a round that is left out, and nothing depends on it?
template <std::size_t W>
bool may_be_missing(const Run<W>& run, const Event<W>& e) {
  const ThreadState<W>& thread = run.machine().threads()[static_cast<std::size_t>(e.thread)];
  return thread.is_left_out && static_cast<std::size_t>(e.index) >= thread.left_out.rest;
}

// Does the thread wait or fail an assumption now that the read is committed, and does nothing else of it depend on the
// read? There were `n_events` events in the thread before.
template <std::size_t W>
bool ends_waiting(const Run<W>& run, EventId read, std::size_t n_events) {
  const ThreadStatus status = run.status_of(read);
  if (status != ThreadStatus::waiting && status != ThreadStatus::blocked) return false;
  const std::vector<EventId>& events = run.events_of(run.event(read).thread);
  for (std::size_t i = static_cast<std::size_t>(run.event(read).index) + 1; i < events.size(); ++i) {
    const Event<W>& later = run.event(events[i]);
    const bool is_done = i < n_events && (later.state == EventState::committed || later.state == EventState::absent);
    if (later.kind != EventKind::fence && !is_done && !may_be_missing(run, later)) return false;
  }
  return true;
}

// Are there updates that displace this read, instead of leaving it asleep?
template <std::size_t W>
bool displaces(const CommitOrder& order, const Run<W>& run, EventId read) {
  const Event<W>& e = run.event(read);
  const bool is_of_update = e.role == Role::update_read || e.role == Role::linked_load;
  return is_of_update && order.in_order && !run.may_end_unjoined() && run.machine().is_awaited(e);
}

// Commits that the store-conditional fails, whose load was just committed. Does its thread then only try again?
template <std::size_t W>
bool fails_to_try_again(Run<W>& run, EventId conditional) {
  const EventId read = run.event(conditional).partner;
  const std::size_t n_events = run.events_of(run.event(read).thread).size();
  run.commit_choice(run.event(conditional).chosen_by, status_failed);
  return ends_waiting(run, read, n_events);
}

// An access of no object, or of one that was released, is reported even if it makes its thread wait.
template <std::size_t W>
bool is_violation(const Run<W>& run, EventId read) {
  const Event<W>& e = run.event(read);
  const bool reads_freed = e.read_from == no_event ? run.machine().starts_free(e.address) : run.event(e.read_from).is_release;
  return reads_freed || run.location(run.find_location(e.address)).is_outside;
}

// The thread before it has read.
struct BeforeRead {
  std::size_t n_events;
  bool is_running;
};

template <std::size_t W>
BeforeRead before_read(const Run<W>& run, EventId read) {
  return {run.events_of(run.event(read).thread).size(), run.status_of(read) == ThreadStatus::running};
}

// Does the thread only wait now that the read is committed, or try again, where its store-conditional goes elsewhere? Then
// the run is left where that is seen.
template <std::size_t W>
bool waits_behind(Run<W>& run, EventId read, const BeforeRead& before) {
  if (!before.is_running || is_violation(run, read)) return false;
  if (ends_waiting(run, read, before.n_events) || run.comes_back_by_stores(read)) return true;
  const EventId write = run.event(read).role == Role::linked_load ? run.write_at_once(read) : no_event;
  if (write == no_event || run.can_succeed(run.event(write))) return false;
  const auto mark = run.mark();
  if (fails_to_try_again(run, write)) return true;
  run.undo(mark);
  return false;
}

// Would the thread only wait with this source?
template <std::size_t W>
bool would_wait(Run<W>& run, EventId read, std::uint32_t place, std::size_t source) {
  if (!run.is_open(read, place, source)) return true;
  const auto mark = run.mark();
  const BeforeRead before = before_read(run, read);
  run.suppose_read(read, place, source);
  const bool result = waits_behind(run, read, before);
  run.undo(mark);
  return result;
}

template <std::size_t W>
class Maximality {
 public:
  using Bits = FixedBits<W>;

  Maximality(const Program& program, const CommitOrder& order, Run<W>& run)
      : program_(program), order_(order), run_(run) {}

  // Does the continuation with this past belong to this run? One that keeps an event that failed leads nowhere.
  bool holds(const Activation<W>& activation, Bits past) {
    for (std::size_t i = activation.run_size; i < run_.items().size(); ++i)
      if (past.test(i) && (run_.items()[i].kind == ItemKind::failure || run_.items()[i].kind == ItemKind::guess)) return false;
    const Bits kept_alone = order_.in_order ? past : kept(activation, past);
    add_second_halves(past, activation.run_size);
    const bool are_kept = order_.in_order || past.is_subset_of(kept_alone);
    for (std::size_t i = activation.run_size; i < run_.items().size(); ++i)
      if (!past.test(i) && !came_last(i, are_kept ? past : past_for(i, past, kept_alone, activation.run_size))) return false;
    return true;
  }

  // Of runs without some reads, which differ only in whether these sleep or what displaced them: is this the one to count?
  bool stands_for_others() {
    const auto was_on_the_way = [&](const Displacement& displacement) {
      return event(displacement.read).state != EventState::asleep || leads_behind(displacement, Bits::all());
    };
    return std::ranges::all_of(run_.displacements(), was_on_the_way) &&
           std::ranges::none_of(run_.sleepers(), [&](EventId id) { return is_displaced_before(id, last_for(id, Bits::all())); });
  }

  // Is the read put off, instead of left asleep, if an update with this write takes the place behind what would have been
  // last? It is if its thread would have gone on, and now waits. That hangs on the values and on the threads alone, so that
  // the answer is the same in each run.
  bool is_displaced(EventId read, EventId by, EventId last) {
    return displaces(order_, run_, read) && takes(by, last) && would_wait(read, by) && !would_wait(read, last);
  }

  // What a continuation with this past keeps of the run. The second half of an update goes with the first if the past
  // has all that it waits for: otherwise a read could come last on either side of it, in two runs.
  Bits kept(const Activation<W>& activation, Bits past) const {
    for (std::size_t i = activation.run_size; i < run_.items().size(); ++i) {
      const std::size_t end = past.test(i) ? end_of_step(i, past) : i;
      if (end != i && waits_only_for(end, i, activation.run_size, past))
        for (std::size_t k = i + 1; k <= end; ++k) past.set(k);
    }
    return past;
  }

  // The place in coherence, or the source, with which an access that is not committed yet would come last.
  std::size_t last_place(EventId id, std::uint32_t place) const {
    const bool reads_count = event(id).kind == EventKind::write || order_.same_location_reads;
    return ceiling(event(id), run_.location(place), reads_count, Bits::all());
  }

 private:
  const Event<W>& event(EventId id) const { return run_.event(id); }

  void add_second_halves(Bits& past, std::size_t from) const {
    for (std::size_t i = from; i < run_.items().size(); ++i)
      if (past.test(i))
        for (std::size_t k = i + 1, end = end_of_step(i, past); k <= end; ++k) past.set(k);
  }

  // What counts as there when an item came that is taken back. A second half that stands with a first one without being
  // kept is there if all was that it waits for.
  Bits past_for(std::size_t item, const Bits& past, Bits kept_alone, std::size_t from) const {
    const Event<W>& e = event(run_.items()[item].event);
    for (std::size_t i = from; i < run_.items().size(); ++i)
      if (past.test(i) && !kept_alone.test(i) && waits_only_for_earlier(i, past, from, e)) kept_alone.set(i);
    return kept_alone;
  }

  bool waits_only_for_earlier(std::size_t second, const Bits& past, std::size_t from, const Event<W>& e) const {
    bool result = true;
    run_.items()[second].past.for_each([&](std::size_t k) {
      result &= k < from || k >= second || past.test(k) || event(run_.items()[k].event).stamp < e.stamp;
    });
    return result;
  }

  // Does the second half of an update wait for nothing but the first, what was there before `from`, and this past?
  bool waits_only_for(std::size_t second, std::size_t first, std::size_t from, const Bits& past) const {
    bool result = true;
    run_.items()[second].past.for_each([&](std::size_t k) { result &= k < from || k >= first || past.test(k); });
    return result;
  }

  // The last item that was committed in one step with this one, and comes with it whatever the past.
  std::size_t end_of_step(std::size_t i, const Bits& past) const {
    const EventId read = run_.items()[i].event;
    if (event(read).kind != EventKind::read) return i;
    for (std::size_t k = i + 1; k < std::min(i + 3, run_.items().size()); ++k) {
      const Event<W>& next = event(run_.items()[k].event);
      if (next.kind == EventKind::choice && next.thread == event(read).thread) continue;
      if (run_.items()[k].kind != ItemKind::write || next.role == Role::plain || next.partner != read) return i;
      if (!run_.is_one_step(read, run_.items()[k].event, run_.items()[k].past)) return i;
      return next.role == Role::update_write || is_to_succeed(run_.items()[k].event, past) ? k : i;
    }
    return i;
  }

  // Of a store-conditional: always, or because the past chose so.
  bool is_to_succeed(EventId conditional, const Bits& past) const {
    const EventId choice = event(conditional).chosen_by;
    return always_succeeds(conditional) || (choice != no_event && past.test(event(choice).run_index));
  }

  // Is this a store-conditional that, in the same step as its load, is not seen to fail? The stamps tell it also where the
  // step is replayed and its load is not active.
  bool always_succeeds(EventId conditional) const {
    const Event<W>& e = event(conditional);
    return e.chosen_by != no_event && event(e.chosen_by).stamp == event(e.partner).stamp;
  }

  bool came_last(std::size_t i, const Bits& past) {
    const RunItem<W>& item = run_.items()[i];
    switch (item.kind) {
      case ItemKind::displaced: return leads_behind(run_.displacement_at(i), past);
      case ItemKind::read: return read_came_last(event(item.event), past);
      case ItemKind::write: return write_came_last(item.event, past);
      case ItemKind::choice: return is_default(item.event);
      case ItemKind::sleep: return may_sleep(item.event, past);
      case ItemKind::failure: return true;
      case ItemKind::guess: return is_guess_needed(item.event, past);
      case ItemKind::failed_read:
      case ItemKind::successful_read: return false;
    }
    return false;
  }

  // Is the event one that came before `e`, or that the store needs?
  bool is_previous(EventId id, const Event<W>& e, const Bits& past) const {
    const Event<W>& other = event(id);
    return other.stamp <= e.stamp || past.test(other.run_index);
  }

  bool read_came_last(const Event<W>& e, const Bits& past) const {
    if (e.read_from != no_event && event(e.read_from).state == EventState::failed) return run_.is_left_to_guess(e.read_from);
    if (e.read_from != no_event && event(e.read_from).state == EventState::pending) return true;
    if (e.read_from != no_event && !is_previous(e.read_from, e, past)) return false;
    const Location<W>& location = run_.location(run_.find_location(e.address));
    if (location.is_unseen) return true;
    const std::size_t source = e.read_from == no_event ? 0 : location.position_of(e.read_from);
    return none_between(location, source, ceiling(e, location, order_.same_location_reads, past), e, past);
  }

  bool write_came_last(EventId id, const Bits& past) const {
    const Event<W>& e = event(id);
    if (is_read_before(id, past)) return false;
    if (e.role != Role::plain) return true;
    const Location<W>& location = run_.location(run_.find_location(e.address));
    if (location.is_unseen) return true;
    return none_between(location, location.position_of(id), ceiling(e, location, true, past), e, past);
  }

  bool is_guess_needed(EventId id, const Bits& past) const {
    const Event<W>& e = event(id);
    const EventId store = e.kind == EventKind::write ? id : e.partner;
    const bool is_taken = std::ranges::any_of(run_.items(), [&](const RunItem<W>& item) {
      const Event<W>& read = event(item.event);
      return read.kind == EventKind::read && read.state == EventState::committed && read.read_from == store &&
             is_previous(item.event, e, past);
    });
    return is_taken || (store == id && run_.is_doomed(store) && e.guess == run_.default_guess(store));
  }

  bool is_read_before(EventId write, const Bits& past) const {
    const Event<W>& e = event(write);
    return std::ranges::any_of(run_.items(), [&](const RunItem<W>& item) {
      const Event<W>& read = event(item.event);
      const bool reads_it = read.kind == EventKind::read && read.state == EventState::committed && read.read_from == write;
      if (!reads_it || !is_previous(item.event, e, past)) return false;
      const bool is_forwarded = read.thread == e.thread && e.index < read.index;
      return !is_forwarded || (read.run_index > e.run_index && !past.test(read.run_index));
    });
  }

  bool none_between(const Location<W>& location, std::size_t from, std::size_t to, const Event<W>& e, const Bits& past) const {
    for (std::size_t i = from; i < to; ++i)
      if (is_previous(location.order[i], e, past)) return false;
    return true;
  }

  // The highest position in coherence that later accesses of the thread leave.
  std::size_t ceiling(const Event<W>& e, const Location<W>& location, bool reads_count, const Bits& past) const {
    std::size_t result = location.order.size();
    if (order_.in_order) return result;
    for (EventId id : run_.events_of(e.thread)) {
      const Event<W>& later = event(id);
      if (later.index <= e.index || later.state != EventState::committed || later.kind == EventKind::fence) continue;
      if (later.address != e.address || !is_previous(id, e, past)) continue;
      if (later.kind == EventKind::write) {
        result = std::min(result, location.position_of(id) - 1);
      } else if (reads_count && !is_forwarded_from_later(later, e, past)) {
        result = std::min(result, later.read_from == no_event ? 0 : location.position_of(later.read_from));
      }
    }
    return result;
  }

  // Does the read have its value from a store that came after `e` did, or comes then, or is `e`?
  bool is_forwarded_from_later(const Event<W>& read, const Event<W>& e, const Bits& past) const {
    if (read.read_from == no_event) return false;
    const Event<W>& source = event(read.read_from);
    return &source == &e || source.state != EventState::committed || !is_previous(read.read_from, e, past);
  }

  bool is_default(EventId choice) const {
    const Event<W>& e = event(choice);
    if (e.kind == EventKind::write) return true;  // a compare-exchange that fails
    const std::int64_t chosen = static_cast<std::int64_t>(e.value);
    const EventId conditional = run_.conditional_of(choice);
    if (conditional == no_event) return chosen == program_.block(e.block).code[static_cast<std::size_t>(e.pc)].low;
    return chosen == (always_succeeds(conditional) ? status_succeeded : status_failed);
  }

  bool leads_behind(const Displacement& displacement, const Bits& past) const {
    return run_.leads_behind(displacement, run_.predecessor(location_of(displacement.by), displacement.stamp, past));
  }

  bool may_sleep(EventId sleeper, const Bits& past) {
    const EventId last = last_for(sleeper, past);
    return waits_with(sleeper, last) && !is_displaced_before(sleeper, last);
  }

  const Location<W>& location_of(EventId access) const { return run_.location(run_.find_location(event(access).address)); }

  EventId last_for(EventId read, const Bits& past) const {
    return run_.predecessor(location_of(read), event(read).stamp, past);
  }

  bool waits_with(EventId sleeper, EventId write) {
    const std::uint32_t place = run_.find_location(event(sleeper).address);
    const std::size_t source = write == no_event ? 0 : run_.location(place).position_of(write);
    if (!run_.is_open(sleeper, place, source)) return true;
    const auto mark = run_.mark();
    const BeforeRead before{run_.events_of(event(sleeper).thread).size(), true};
    const bool result = run_.wake(sleeper, source) && waits_behind(run_, sleeper, before);
    run_.undo(mark);
    return result;
  }

  bool would_wait(EventId read, EventId write) {
    const std::uint32_t place = run_.find_location(event(read).address);
    return rsmc::would_wait(run_, read, place, write == no_event ? 0 : run_.location(place).position_of(write));
  }

  // Was it displaced on the way to where this came last?
  bool is_displaced_before(EventId sleeper, EventId last) {
    if (!displaces(order_, run_, sleeper)) return false;
    for (EventId write = last; write != no_event && event(write).stamp > event(sleeper).stamp;) {
      const EventId earlier = run_.predecessor(location_of(sleeper), event(sleeper).stamp, write);
      if (is_displaced(sleeper, write, earlier)) return true;
      write = earlier;
    }
    return false;
  }

  // Is it the write of an update that reads from the other, and was committed with its read?
  bool takes(EventId write, EventId other) const {
    return event(write).role != Role::plain && event(event(write).partner).read_from == other && run_.comes_at_once(write);
  }

  const Program& program_;
  const CommitOrder& order_;
  Run<W>& run_;
};

}  // namespace dekker::rsmc
