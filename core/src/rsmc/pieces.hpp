// Accesses that were split into pieces, because others access parts of the same bytes, must not race: the pieces could be
// torn apart, which the whole access never is.
//
// Two accesses of one location by different threads are in order if one comes before the other both in program order and
// reads-from, and in communication. If that holds in every run for all pairs that a piece takes part in, all pieces of an
// access stand in the same order to those of another, so that nothing is torn.
#pragma once

#include "rsmc/run.hpp"

namespace dekker::rsmc {

// By event, what comes before it in the closure of program order and reads-from.
template <std::size_t W>
std::vector<FixedBits<W>> causal_past(const Run<W>& run) {
  std::vector<FixedBits<W>> past(run.machine().n_events());
  bool changed = true;
  while (changed) {
    changed = false;
    for (const ThreadState<W>& thread : run.machine().threads()) {
      FixedBits<W> earlier;
      for (EventId id : thread.events) {
        const Event<W>& e = run.event(id);
        FixedBits<W> all = past[id] | earlier;
        if (e.kind == EventKind::read && e.state == EventState::committed && e.read_from != no_event) {
          all |= past[e.read_from];
          all.set(e.read_from);
        }
        changed = changed || !all.is_subset_of(past[id]);
        past[id] = all;
        earlier |= all;
        earlier.set(id);
      }
    }
  }
  return past;
}

// Does the first of two accesses come before the second in communication?
template <std::size_t W>
bool is_before(const Location<W>& location, const Event<W>& first, EventId first_id, const Event<W>& second, EventId second_id) {
  const auto rank = [&](const Event<W>& e, EventId id) {
    if (e.kind == EventKind::write) return location.position_of(id);
    return e.read_from == no_event ? std::size_t{0} : location.position_of(e.read_from);
  };
  const std::size_t left = rank(first, first_id), right = rank(second, second_id);
  return first.kind == EventKind::write && second.kind == EventKind::read ? left <= right : left < right;
}

// Throws MixedSizes.
template <std::size_t W>
void require_ordered_pieces(const Run<W>& run) {
  const auto is_piece = [&](const RunItem<W>& item) { return run.event(item.event).is_piece; };
  if (std::ranges::none_of(run.items(), is_piece)) return;
  const std::vector<FixedBits<W>> past = causal_past(run);
  for (const RunItem<W>& piece : run.items()) {
    const Event<W>& a = run.event(piece.event);
    if (!a.is_piece || a.state != EventState::committed) continue;
    const Location<W>& location = run.location(run.find_location(a.address));
    for (const RunItem<W>& item : run.items()) {
      const Event<W>& b = run.event(item.event);
      const bool is_access = (b.kind == EventKind::read || b.kind == EventKind::write) && b.state == EventState::committed;
      const bool conflicts = a.kind == EventKind::write || b.kind == EventKind::write;
      // What frees memory, or uses it again, is reported by itself.
      if (!is_access || !conflicts || b.is_release || b.is_renewal || b.thread == a.thread || b.address != a.address) continue;
      const bool ordered = (past[item.event].test(piece.event) && is_before(location, a, piece.event, b, item.event)) ||
                           (past[piece.event].test(item.event) && is_before(location, b, item.event, a, piece.event));
      if (!ordered)
        throw MixedSizes{run.machine().place_of(a), a.address, a.size, run.machine().place_of(b), b.address, b.size};
    }
  }
}

}  // namespace dekker::rsmc
