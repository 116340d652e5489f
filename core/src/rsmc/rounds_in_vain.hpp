// Rounds of loops (machine_rounds.hpp) behind which a run is over, because nobody can make a difference any more.
//
// No thread can come to a store any more, and one sleeps at the last read of a round that is left out. The round is in vain
// if one of its reads has not found the last word on its location: then all that is left of the run can be left out.
//  - No continuation is found there, and the thread sleeps in all of its ends: only stores make a difference to reads.
//  - What goes wrong in the other threads is found elsewhere. Let such an end be given. The round consists of reads, so that
//    what the others do is the same without it. In place of it the thread can do what it does if it reads the last word
//    everywhere: it then waits for ever, goes wrong or goes on, and nobody has heard of it before it does. Such a run has
//    more events that stay, or one round less that is in vain, and so the argument ends at a run that is explored.
//  - What goes wrong in the round is noted here; there is nothing to come that it could race with.
// A round that reads the last word everywhere stays, so that threads which wait for ever are found. The rule asks for
// program order, where each read of the round is there before the last one; and for a program that does not end while
// threads wait, because then each way to wait counts.
//
// So that this is known early, threads that wait but will not store any more are explored last (`Run::is_late`).
#pragma once

#include "rsmc/run.hpp"

namespace dekker::rsmc {

template <std::size_t W>
bool may_store(const Run<W>& run) {
  return std::ranges::any_of(run.machine().threads(), [&](const ThreadState<W>& thread) { return run.machine().may_store(thread); });
}

// Before its last read; a round with anything else than reads in it is not looked at.
template <std::size_t W>
bool has_stale_read(Run<W>& run, const ThreadState<W>& thread, std::size_t from, EventId last) {
  bool found = false;
  for (std::size_t i = from; i < static_cast<std::size_t>(run.event(last).index); ++i) {
    const Event<W>& e = run.event(thread.events[i]);
    const bool is_absent = e.kind == EventKind::write && e.state == EventState::absent;
    if (e.kind == EventKind::fence || is_absent) continue;
    if (e.kind != EventKind::read || e.state != EventState::committed) return false;
    found = found || !run.reads_last_write(e);
  }
  return found;
}

// Nobody will store.
template <std::size_t W>
bool is_in_vain(Run<W>& run, EventId sleeper) {
  const Machine<W>& machine = run.machine();
  if (run.may_end_unjoined() || run.is_abandoned() || machine.has_guesses()) return false;
  const std::uint32_t place = run.location_of(sleeper);
  const std::size_t last = run.location(place).order.size();
  if (!run.is_open(sleeper, place, last)) return false;
  const auto before = run.mark();
  bool result = run.wake(sleeper, last);
  if (result) {
    const ThreadState<W>& thread = run.thread_of(sleeper);
    const bool waits = thread.is_left_out || thread.status == ThreadStatus::waiting;
    const std::size_t from = thread.is_left_out ? thread.left_out.from : machine.round_start(thread);
    result = waits && has_stale_read(run, thread, from, sleeper);
  }
  run.undo(before);
  return result;
}

}  // namespace dekker::rsmc
