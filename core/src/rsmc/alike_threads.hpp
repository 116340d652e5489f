// Alike threads are explored up to renaming, where only the verdict is asked for.
//
// Threads are alike if one thread starts them, with nothing that others could notice between, and they do the same with
// what they are given (alike_starts.hpp). Renaming them makes an execution of an execution. Of all that renaming makes of
// one, at least one has the following properties, and only those that have them are explored. Let two alike threads have
// the same history before their events e and e', where e is that of the thread with the smaller number: all before e and
// e' are reads with the same sources, choices with the same outcome, accesses of what is the thread's own (own_places.hpp), and
// writes whose order is left open (unseen_writes.hpp), which belongs to no execution that is explored.
// Then
//  1. e comes before e'; that is: commit-before together with these pairs has no cycle;
//  2. if both are writes to a location, e comes first in coherence;
//  3. if both are reads of a location, e' has no earlier source than e; unless e comes before that source, so that the
//     threads cannot change roles.
//
// Why there is one: take any order of all events that respects commit-before. Let, of threads with the same history, the
// one be first that goes first where they differ. Threads with the same history have the same before them, so that the pairs
// of equal steps close no cycle, and the others agree with the order. If a pair does not have 2 or 3, let the second thread
// change places with the first: nothing that comes before its event comes behind the first, so again there is no cycle;
// and coherence leaves ever fewer such pairs.
//
// Why that one is found: what is explored is a model with more axioms (2, 3) and a commit-before with more pairs (1). The
// argument for continuations needs two things of a model. What is closed under commit-before must be allowed if the whole
// is: the properties speak of pairs of events and of what comes before them. And an event must be allowed to come last in
// coherence once all is there that comes before it: then e is, so it has an earlier place than e', and 2 and 3 hold.
//
// Where accesses overtake, threads have a history only as far as each read comes before the next one; beyond that nothing is
// said of them. Writes to what is a thread's own may come late there: nobody hears of them but through what comes later, so
// that they part no threads and need no order. Addresses of what is a thread's own change with its name. It is noticed if a program computes
// from them what does not (told_addresses.hpp), or in other ways tells threads apart; then the exploration starts again,
// without renaming.
#pragma once

#include <vector>

#include "rsmc/alike_classes.hpp"
#include "rsmc/machine.hpp"
#include "rsmc/run_item.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class AlikeThreads {
 public:
  using Bits = FixedBits<W>;

  explicit AlikeThreads(const Machine<W>& machine) : machine_(machine) {}

  // Once, when the first thread has started what it starts before others could notice.
  void find(const Program& program, Machine<W>& machine) {
    std::vector<std::optional<ThreadStart>> starts(machine.threads().size());
    for (std::size_t t = 0; t < starts.size(); ++t)
      if (is_early(machine.threads()[t])) starts[t] = machine.start_of(t);
    const AlikeClasses classes(program, starts);
    earlier_ = classes.earlier();
    if (std::ranges::all_of(earlier_, [](const auto& found) { return found.empty(); })) machine.stop_renaming();
    else machine.share_out(classes.arrays(), classes.open_expressions(), classes.followed_expressions());
  }

  // Those with smaller numbers.
  const std::vector<std::int32_t>& to(std::int32_t thread) const {
    static const std::vector<std::int32_t> nobody;
    return at(thread) < earlier_.size() ? earlier_[at(thread)] : nobody;
  }

  // The first of those that the thread is alike to, or itself.
  std::int32_t first(std::int32_t thread) const { return to(thread).empty() ? thread : to(thread).back(); }

  bool has_alike(std::int32_t thread) const { return !to(thread).empty(); }

  // The same step of the alike thread with the next smaller number, if both have the same history. `past` is what else
  // comes before the event.
  EventId before(const std::vector<RunItem<W>>& run, const Event<W>& e, const Bits& past, bool in_order) const {
    if (e.kind == EventKind::fence || e.role == Role::synchronised) return no_event;
    if (e.kind == EventKind::write && (e.role != Role::plain || (!in_order && is_own(e, e)))) return no_event;
    for (const std::int32_t thread : earlier_[at(e.thread)]) {
      const std::vector<EventId>& others = machine_.threads()[at(thread)].events;
      if (at(e.index) >= others.size() || !is_same_step(e, event(others[at(e.index)]))) continue;
      if (is_same_history(run, e, thread, past, in_order)) return others[at(e.index)];
    }
    return no_event;
  }

 private:
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  const Event<W>& event(EventId id) const { return machine_.event(id); }

  bool is_early(const ThreadState<W>& thread) const {
    return thread.begin != no_event && event(thread.begin).is_early;
  }

  static bool is_same_step(const Event<W>& left, const Event<W>& right) {
    return left.kind == right.kind && left.block == right.block && left.pc == right.pc;
  }

  bool is_same_history(const std::vector<RunItem<W>>& run, const Event<W>& e, std::int32_t thread, const Bits& past,
                       bool in_order) const {
    const std::vector<EventId>& own = machine_.threads()[at(e.thread)].events;
    const std::vector<EventId>& others = machine_.threads()[at(thread)].events;
    for (std::size_t i = 0; i < at(e.index); ++i)
      if (!is_same(event(own[i]), event(others[i]), in_order)) return false;
    return in_order || is_chain(run, e, past);
  }

  // Out of order, whether a compare-exchange fails may be known for one of them first.
  bool is_same(const Event<W>& left, const Event<W>& right, bool in_order) const {
    if (!is_same_step(left, right)) return false;
    if (left.kind == EventKind::fence || left.role == Role::synchronised) return true;
    if (left.is_guessed || right.is_guessed) return false;
    if (left.must_fail || left.must_succeed || left.failed_early || right.must_fail || right.must_succeed || right.failed_early)
      return false;
    if (!in_order && left.kind == EventKind::write && left.role == Role::plain) return right.role == Role::plain && is_own(left, right);
    if (left.state != right.state) return false;
    if (left.state == EventState::absent) return in_order || event(left.partner).data_sources.empty();
    if (left.state != EventState::committed) return false;
    switch (left.kind) {
      case EventKind::read: return left.has_failed == right.has_failed && has_same_source(left, right);
      case EventKind::write: return (left.role == Role::plain && is_own(left, right)) || is_unseen(left, right);
      case EventKind::choice: return left.value == right.value;
      case EventKind::fence: return true;
    }
    return false;
  }

  bool has_same_source(const Event<W>& left, const Event<W>& right) const {
    if (left.read_from == right.read_from) return left.address == right.address || (left.read_from == no_event && is_own(left, right));
    if (left.read_from == no_event || right.read_from == no_event) return false;
    const Event<W>&of_left = event(left.read_from), &of_right = event(right.read_from);
    return of_left.thread == left.thread && of_right.thread == right.thread && of_left.index == of_right.index;
  }

  // Are they at a place where nobody sees the order of writes? Reads are there without a source.
  bool is_unseen(const Event<W>& left, const Event<W>& right) const {
    return left.address == right.address && machine_.unseen().contains(left.address);
  }

  // Do both access the same of what is their thread's own?
  bool is_own(const Event<W>& left, const Event<W>& right) const {
    const auto place = own_place(left);
    return place && place == own_place(right);
  }

  std::optional<OwnPlaces::Place> own_place(const Event<W>& e) const {
    const std::optional<Value> address = machine_.value(e.address_node);
    return address ? machine_.own_places().find(e.thread, *address) : std::nullopt;
  }

  // Does each read and choice of the thread come before the next, up to this event?
  bool is_chain(const std::vector<RunItem<W>>& run, const Event<W>& e, const Bits& past) const {
    const Bits* next = &past;
    for (std::size_t i = at(e.index); i-- > 0;) {
      const Event<W>& earlier = event(machine_.threads()[at(e.thread)].events[i]);
      if (earlier.kind == EventKind::fence || earlier.kind == EventKind::write) continue;
      if (!next->test(earlier.run_index)) return false;
      next = &run[earlier.run_index].past;
    }
    return true;
  }

  const Machine<W>& machine_;
  std::vector<std::vector<std::int32_t>> earlier_;  // by thread: those alike with smaller numbers, the last first
};

}  // namespace dekker::rsmc
