// Commit-before: which pending event may be committed next, and what was committed before an event because it had to be.
//
// In program order nothing is committed before its predecessors. Otherwise an access waits for what it depends on (addr,
// data, ctrl), for the addresses of all earlier accesses (addr;po; if the model does not ask for that, or the access is one
// of the specification, nobody else may have a reason to, see `access_waited_for`), for earlier accesses of its location as far as the
// model keeps them in order, for what fences and classes keep before it, and a read for the write it reads from.
//
// A store-conditional that fails is no access: its address orders nothing. Where that address depends on more than the
// address of its load does, whether it fails is chosen before the address is known, and all that comes later waits for the
// choice.
#pragma once

#include <span>

#include "rsmc/alike_threads.hpp"
#include "rsmc/machine.hpp"
#include "rsmc/run_item.hpp"
#include "rsmc/templates.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class CommitBefore {
 public:
  using Bits = FixedBits<W>;

  CommitBefore(const CommitOrder& order, Machine<W>& machine) : order_(order), machine_(machine), alike_(machine) {}

  AlikeThreads<W>& alike() { return alike_; }
  const AlikeThreads<W>& alike() const { return alike_; }

  // The same step of an alike thread, which comes first.
  EventId step_before(const std::vector<RunItem<W>>& run, EventId id) const {
    if (!alike_.has_alike(machine_.event(id).thread)) return no_event;
    const Bits past = order_.in_order ? Bits{} : past_but_value<&RunItem<W>::past>(run, id, no_event, false);
    return alike_.before(run, machine_.event(id), past, order_.in_order);
  }

  bool is_enabled(const ThreadState<W>& thread, Event<W>& e) {
    if (e.kind == EventKind::choice) return order_.in_order || is_decidable(e);
    if (e.role == Role::synchronised && !machine_.is_released(e)) return false;
    if (order_.in_order) return machine_.resolve_address(e);
    if (!sources_decided(e) || !machine_.resolve_address(e)) return false;
    for (EventId id : thread.events) {
      Event<W>& earlier = machine_.event(id);
      if (earlier.index == e.index) return true;
      if (earlier.state == EventState::committed) continue;
      if (is_no_access(earlier)) {
        if (may_become_access(earlier)) return false;
        continue;
      }
      if (!machine_.are_decided(earlier.address_sources)) return false;
      if (earlier.state != EventState::pending) continue;
      if (e.ordered_after.test(id) || e.waits_with_write) return false;
      machine_.resolve_address(earlier);
      if (same_place(earlier, e) && is_kept(earlier, e)) return false;
    }
    return true;
  }

  // Could the second half of an update be committed if the first were? For a store-conditional: if it were to succeed.
  bool is_ready(const ThreadState<W>& thread, const Event<W>& write) const {
    if (order_.in_order) return true;
    const auto decided = [&](const Sources<W>& sources) { return machine_.are_decided(sources, write.partner); };
    if (!decided(write.address_sources) || !decided(write.control) || !decided(write.data_sources)) return false;
    const Address address = machine_.value(write.address_node).value_or(0);
    for (EventId id : thread.events) {
      const Event<W>& earlier = machine_.event(id);
      if (earlier.index == write.index) return true;
      if (earlier.state == EventState::committed) continue;
      if (is_no_access(earlier)) {
        if (may_become_access(earlier) && id != write.chosen_by) return false;
        continue;
      }
      if (id == write.partner) continue;
      if (!decided(earlier.address_sources)) return false;
      if (earlier.state != EventState::pending) continue;
      if (write.ordered_after.test(id)) return false;
      const Address other = machine_.value(earlier.address_node).value_or(0);
      if (address < other + earlier.size && other < address + write.size && is_kept(earlier, write)) return false;
    }
    return true;
  }

  using Past = Bits RunItem<W>::*;

  // What commit-before puts before the event, in run indices. `source` is the write that a read takes its value from.
  template <Past past_kind = &RunItem<W>::past>
  Bits past_of(const std::vector<RunItem<W>>& run, EventId id, EventId source) const {
    const bool forwards = source != no_event && may_forward(machine_.event(id), machine_.event(source));
    Bits past = past_but_value<past_kind>(run, id, source, forwards);
    const EventId step = step_before(run, id);
    if (step != no_event) include<past_kind>(run, past, step);
    if (!forwards) return past;
    sources_of_forwarded(machine_.event(id), machine_.event(source)).for_each([&](std::size_t s) {
      include<past_kind>(run, past, static_cast<EventId>(s));
    });
    return past;
  }

  // May a load take its value before it is known what the store writes, or whether it writes at all? Not if all loads that
  // could wait for that anyway. No more than that need be known: if in doubt, yes.
  bool may_be_guessed(EventId store) const {
    const Event<W>& e = machine_.event(store);
    if (!machine_.is_guessable(e)) return false;
    if (e.is_guessed) return true;
    const std::optional<Bits> choosers = machine_.choosers(e);
    const ThreadState<W>& thread = machine_.threads()[static_cast<std::size_t>(e.thread)];
    for (auto i = static_cast<std::size_t>(e.index) + 1; i < thread.events.size(); ++i) {
      const Event<W>& later = machine_.event(thread.events[i]);
      const bool is_access = later.kind == EventKind::read || later.kind == EventKind::write;
      const std::optional<Value> address = machine_.value(later.address_node);
      if (!is_access || (address && (*address >= e.address + e.size || e.address >= *address + later.size))) continue;
      if (later.kind == EventKind::read && !(choosers && waits_for_all(e, later, *choosers))) return true;
      if (later.kind == EventKind::write && later.role == Role::plain && address) return false;
    }
    if (thread.status != ThreadStatus::running) return false;
    bool is_held = choosers.has_value();
    if (choosers) choosers->for_each([&](std::size_t id) { is_held = is_held && machine_.is_held_by(thread, static_cast<EventId>(id)); });
    return !is_held;
  }

  // The earlier access, if there is one, whose address the write waits for without any other reason to do so.
  EventId access_waited_for(const std::vector<RunItem<W>>& run, EventId write) const {
    const auto n_earlier = static_cast<std::size_t>(machine_.event(write).index);
    const std::vector<EventId>& events = machine_.threads()[static_cast<std::size_t>(machine_.event(write).thread)].events;
    const auto is_open = [&](EventId id) {
      return !machine_.event(id).address_sources.empty() && may_be_overtaken(machine_.event(id));
    };
    if (std::ranges::none_of(std::span(events).first(n_earlier), is_open)) return no_event;
    Bits before;
    add_before(run, write, before);
    for (std::size_t i = 0; i < n_earlier; ++i) {
      if (is_no_access(machine_.event(events[i])) || !is_open(events[i])) continue;
      const Sources<W> exact = machine_.resolved(machine_.event(events[i]).address_sources);
      Bits sources = exact.direct | exact.picked;
      if (!sources.is_subset_of(before)) return events[i];
    }
    return no_event;
  }

  template <Past past_kind>
  Bits past_but_value(const std::vector<RunItem<W>>& run, EventId id, EventId source, bool forwards) const {
    Bits past;
    const Bits before = order_.in_order ? before_in_order(id, source) : before_but_value<past_kind>(id, source, forwards);
    before.for_each([&](std::size_t other) { include<past_kind>(run, past, static_cast<EventId>(other)); });
    return past;
  }

  // What decides that a compare-exchange fails before its read is committed: only that control came there.
  template <Past past_kind = &RunItem<W>::past>
  Bits past_of_early_failure(const std::vector<RunItem<W>>& run, EventId write) const {
    Bits past;
    const Sources<W> control = machine_.resolved(machine_.event(write).control);
    (control.direct | control.picked).for_each([&](std::size_t s) {
      const Event<W>& source = machine_.event(static_cast<EventId>(s));
      if (source.state == EventState::pending || source.state == EventState::absent) return;
      past |= run[source.run_index].*past_kind;
      past.set(source.run_index);
    });
    return past;
  }

  // May the read take this value before the write is committed?
  bool may_forward(const Event<W>& read, const Event<W>& write) const {
    if (!order_.forwarding || read.thread != write.thread || read.role == Role::synchronised) return false;
    if (order_.forwarding_of_updates) return true;
    return write.role == Role::plain && (read.role != Role::update_read || read.has_failed);
  }

  static bool same_place(const Event<W>& left, const Event<W>& right) {
    return left.address < right.address + right.size && right.address < left.address + left.size;
  }

 private:
  // The events that make up the past, each with its own.
  Bits before_in_order(EventId id, EventId source) const {
    Bits before;
    if (source != no_event) before.set(source);
    const Event<W>& e = machine_.event(id);
    const std::vector<EventId>& events = machine_.threads()[static_cast<std::size_t>(e.thread)].events;
    // The last one has the others in its past.
    for (auto i = static_cast<std::size_t>(e.index); i-- > 0;) {
      const Event<W>& earlier = machine_.event(events[i]);
      if (earlier.kind == EventKind::fence || earlier.state == EventState::pending) continue;
      before.set(events[i]);
      break;
    }
    return before;
  }

  template <Past past_kind>
  Bits before_but_value(EventId id, EventId source, bool forwards) const {
    Bits before;
    const Event<W>& e = machine_.event(id);
    if (source != no_event && !forwards) before.set(source);
    if (forwards && machine_.event(source).chosen_by != no_event) before.set(machine_.event(source).chosen_by);
    if (e.chosen_by != no_event) before.set(e.chosen_by);
    set_sources(e.address_sources, before);
    set_sources(e.control, before);
    if (e.kind == EventKind::choice) {
      if (const Event<W>* const conditional = conditional_of(e); conditional != nullptr && !e.has_own_address) {
        set_sources(conditional->address_sources, before);
        set_sources(machine_.event(conditional->partner).address_sources, before);
      }
      return before;
    }
    if (e.must_fail) before.set(e.partner);
    else if (e.kind == EventKind::write || e.failed_class != e.event_class) set_sources(e.data_sources, before);
    for (EventId other : machine_.threads()[static_cast<std::size_t>(e.thread)].events) {
      const Event<W>& earlier = machine_.event(other);
      if (earlier.index >= e.index) break;
      if (is_no_access(earlier)) {
        if (earlier.kind == EventKind::choice && earlier.has_own_address) before.set(other);
        continue;
      }
      set_sources(earlier.address_sources, before);
      const bool is_between = forwards && earlier.index > machine_.event(source).index && earlier.state == EventState::absent;
      const bool kept = (!forwards || is_between) && same_place(earlier, e) && is_kept(earlier, e);
      if (kept || e.ordered_after.test(other) || (e.waits_with_write && past_kind == &RunItem<W>::past)) before.set(other);
    }
    return before;
  }

  void set_sources(const Sources<W>& sources, Bits& before) const {
    if (sources.deferred != none) {
      const Sources<W> exact = machine_.resolved(sources);
      before |= exact.direct | exact.picked;
    } else {
      before |= sources.direct;
      before |= sources.picked;
    }
  }

  template <Past past_kind>
  static void include_item(const std::vector<RunItem<W>>& run, Bits& past, std::uint32_t run_index) {
    if (past.test(run_index)) return;  // with all that comes before it
    past |= run[run_index].*past_kind;
    past.set(run_index);
  }

  template <Past past_kind>
  void include(const std::vector<RunItem<W>>& run, Bits& past, EventId id) const {
    const Event<W>& e = machine_.event(id);
    if (e.kind == EventKind::fence || e.state == EventState::pending) return;
    if (e.state != EventState::absent || e.failed_early) {
      include_item<past_kind>(run, past, e.run_index);
      return;
    }
    // What decided that the write of a store-conditional or compare-exchange is absent.
    if (e.chosen_by != no_event) {
      include_item<past_kind>(run, past, machine_.event(e.chosen_by).run_index);
      return;
    }
    const Event<W>& read = machine_.event(e.partner);
    if (read.state != EventState::pending) include_item<past_kind>(run, past, read.run_index);
    const Sources<W> expected = machine_.resolved(read.data_sources);
    (expected.direct | expected.picked).for_each([&](std::size_t s) {
      const Event<W>& compared = machine_.event(static_cast<EventId>(s));
      if (compared.state == EventState::committed) include_item<past_kind>(run, past, compared.run_index);
    });
  }

  // What comes before the event for other reasons than addresses that it may overtake, as events. Writes of other threads
  // were asked about when they were committed.
  void add_before(const std::vector<RunItem<W>>& run, EventId id, Bits& before) const {
    const Event<W>& e = machine_.event(id);
    const auto add = [&](EventId other) {
      if (machine_.event(other).kind == EventKind::fence || before.test(other)) return;
      before.set(other);
      add_before(run, other, before);
    };
    const auto add_sources = [&](const Sources<W>& sources) {
      const Sources<W> exact = machine_.resolved(sources);
      (exact.direct | exact.picked).for_each([&](std::size_t s) { add(static_cast<EventId>(s)); });
    };
    add_sources(e.address_sources);
    add_sources(e.control);
    add_sources(e.data_sources);
    const bool has_source = e.kind == EventKind::read && e.state == EventState::committed && e.read_from != no_event;
    const bool forwards = has_source && may_forward(e, machine_.event(e.read_from));
    if (forwards) {
      add_sources(machine_.event(e.read_from).address_sources);
      sources_of_forwarded(e, machine_.event(e.read_from)).for_each([&](std::size_t s) { add(static_cast<EventId>(s)); });
    } else if (has_source) {
      const std::uint32_t source = machine_.event(e.read_from).run_index;
      before.set(e.read_from);
      const Bits& past = machine_.joins_halves() ? run[source].least_past : run[source].past;
      past.for_each([&](std::size_t item) { before.set(run[item].event); });
    }
    for (EventId other : machine_.threads()[static_cast<std::size_t>(e.thread)].events) {
      const Event<W>& earlier = machine_.event(other);
      if (earlier.index >= e.index) break;
      if (is_no_access(earlier)) continue;
      if (e.kind == EventKind::write && !may_be_overtaken(earlier)) add_sources(earlier.address_sources);
      const bool kept = !forwards && same_place(earlier, e) && is_kept(earlier, e);
      if (kept || e.ordered_after.test(other)) add(other);
    }
  }

  // What a load waits for that takes the value of the store before it is committed.
  Bits sources_of_forwarded(const Event<W>& load, const Event<W>& store) const {
    if (!order_.forwarding_of_updates) {
      const Sources<W> value = machine_.resolved(store.data_sources);
      return value.direct | value.picked;
    }
    Bits sources = machine_.value_of_store(store).sources;
    if (is_behind_update(load, store)) sources.set(store.partner);
    return sources;
  }

  // May a later write be seen before the address is known?
  bool may_be_overtaken(const Event<W>& access) const { return access.is_loose || !order_.address_order; }

  // Whatever it reads from? That the load must come behind all these, for one reason that meets the eye.
  bool waits_for_all(const Event<W>& store, const Event<W>& load, const Bits& choosers) const {
    bool all = true;
    choosers.for_each([&](std::size_t id) {
      const bool depends = load.control.direct.test(id) || load.control.picked.test(id) || load.address_sources.direct.test(id) ||
                           load.address_sources.picked.test(id);
      all = all && (depends || load.ordered_after.test(id) || (id == store.partner && is_behind_update(load, store)));
    });
    return all;
  }

  // A load that acquires comes behind the update that it takes its value from as a whole.
  bool is_behind_update(const Event<W>& read, const Event<W>& write) const {
    return write.role != Role::plain && machine_.class_of(read).before_later;
  }

  bool sources_decided(const Event<W>& e) const {
    if (e.chosen_by != no_event && machine_.event(e.chosen_by).state == EventState::pending) return false;
    if (!machine_.are_decided(e.address_sources) || !machine_.are_decided(e.control)) return false;
    if (e.kind == EventKind::write) {
      if (machine_.is_doomed(e)) return machine_.alternatives_are_decided(e);
      return machine_.are_decided(e.data_sources) && (e.alternatives == 0 || machine_.alternatives_are_decided(e));
    }
    // The class of the read half depends on whether it succeeds.
    const bool is_open = e.is_compare && e.failed_class != e.event_class && !e.must_fail;
    if (!is_open || machine_.are_decided(e.data_sources)) return true;
    // What a guess has left out is never read: that the compare-exchange fails is decided without it.
    return order_.forwarding_of_updates && machine_.are_over(e.data_sources);
  }

  // Whether a store-conditional succeeds is asked when it is known where its load went, and so where it goes unless it has
  // an address of its own.
  bool is_decidable(const Event<W>& choice) const {
    const Event<W>* const conditional = conditional_of(choice);
    return conditional == nullptr || choice.has_own_address ||
           (machine_.are_decided(conditional->address_sources) &&
            machine_.are_decided(machine_.event(conditional->partner).address_sources));
  }

  static bool is_no_access(const Event<W>& e) {
    if (e.kind == EventKind::fence || e.kind == EventKind::choice) return true;
    return e.has_own_address && e.state == EventState::absent;
  }

  // Is it the choice, not yet made, whether there is an access whose address orders others?
  static bool may_become_access(const Event<W>& choice) {
    return choice.has_own_address && choice.state == EventState::pending;
  }

  // The write that a choice decides on comes right behind it.
  const Event<W>* conditional_of(const Event<W>& choice) const {
    const std::vector<EventId>& events = machine_.threads()[static_cast<std::size_t>(choice.thread)].events;
    const auto next = static_cast<std::size_t>(choice.index) + 1;
    if (next >= events.size() || machine_.event(events[next]).role != Role::conditional_store) return nullptr;
    return &machine_.event(events[next]);
  }

  bool is_kept(const Event<W>& earlier, const Event<W>& later) const {
    if (later.kind == EventKind::write)
      return order_.same_location_writes || later.role != Role::plain || earlier.role != Role::plain;
    return order_.same_location_reads || earlier.kind == EventKind::write;
  }

  const CommitOrder& order_;
  Machine<W>& machine_;
  AlikeThreads<W> alike_;
};

}  // namespace dekker::rsmc
