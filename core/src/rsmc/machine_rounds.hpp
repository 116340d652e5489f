// Rounds of loops that need not be explored, because the rest of the execution is the same without them.
//
// A thread comes to a *point*: the head of a loop, or the first read behind it. Let it have been there before, in the same
// calls. In between, and nowhere else in what is left out, are reads, fences, compare-exchanges and store-conditionals that
// failed, and stores to places to which nobody else writes.
//
// *It is back*: with the values that it had. Then the round can be taken out of any execution in which the thread goes on:
// it does the same from the point on. Stores of the round stand in front of its reads, so that it will repeat them. The
// thread waits, unless something failed in the round by chance.
//
// *It tries again*: with values that it would have had as well if the last read in front of the point (the *first look*)
// had found what the last read of the round (the *last look*) has found. Then the first look can be taken out with all that
// is between the two; the last look takes its place. Stores behind the first look are repeated behind the last one.
//
// What is left of the execution has the same events with no more relations between them than before, and models allow that
// (`CommitOrder::forgets_reads`). In program order it is enough that values are the same. Elsewhere what they were computed
// from counts, too: whatever depended on it must depend on it still. There it must not make a difference what is known already,
// so that a value counts as known only if control has depended on it.
//
// Nothing that goes wrong is lost. What goes wrong in the round is seen by runs that end with it, because nothing in the past
// of a read comes behind it. But for these, what is relied on until it is refuted at the end of some run (`Reliance`):
//  - What a thread races with in a round may depend on what it does later, where communication does not order it. A write to
//    where the round reads is in its past if it is the only one, and the round reads from it.
//  - Stores that are left out could be read late. Whoever could read one could as well read what was there before it,
//    although the store that stays is there.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// Notes that the thread is at a point, or stops it if what it did since it was there last is to be left out.
template <std::size_t W>
bool Machine<W>::leaves_round_out(ThreadState<W>& state, bool is_at_read) {
  std::shared_ptr<Arrival<W>> now = arrival(state, is_at_read);
  for (const Arrival<W>* before = state.arrivals.get(); before != nullptr; before = before->previous.get()) {
    if (!before->is_same_point(*now)) continue;
    if (is_back(state, *before, *now) || tries_again(state, *before, *now)) return true;
  }
  note_arrival(state, std::move(now));
  return false;
}

// What was before something that cannot be left out need not be known any more.
template <std::size_t W>
void Machine<W>::note_arrival(ThreadState<W>& state, std::shared_ptr<Arrival<W>> now) const {
  const Arrival<W>* const last = state.arrivals.get();
  bool is_recent = last != nullptr && last->length < longest_history;
  for (std::size_t i = is_recent ? last->n_events : state.events.size(); i < state.events.size(); ++i)
    is_recent = is_recent && is_harmless(events_[state.events[i]]);
  if (is_recent) {
    now->length = last->length + 1;
    now->previous = std::move(state.arrivals);
  }
  state.arrivals = std::move(now);
}

template <std::size_t W>
bool Machine<W>::reads(const Instruction& instruction) {
  return instruction.operation == Operation::load || instruction.operation == Operation::read_modify_write ||
         instruction.operation == Operation::compare_exchange;
}

template <std::size_t W>
std::shared_ptr<Arrival<W>> Machine<W>::arrival(const ThreadState<W>& state, bool is_at_read) {
  auto found = std::make_shared<Arrival<W>>();
  const Obligations& owed = *state.obligations.operator->();
  found->block = state.block;
  found->pc = state.pc;
  found->is_at_read = is_at_read;
  found->n_events = state.events.size();
  found->fixed = {state.allocated, static_cast<Value>(state.n_spawned), owed.scoped.size(), owed.claimed.size(),
                  owed.open_guesses.size(), state.open_checks.size(), state.base};
  for (const Caller& caller : state.callers)
    found->fixed.insert(found->fixed.end(), {static_cast<Value>(caller.block), static_cast<Value>(caller.pc)});
  const Liveness& liveness = liveness_of(state.block);
  if (link_crosses_calls() || liveness.keeps_link(state.pc)) found->fixed.push_back(state.linked);
  const std::vector<bool>& live = liveness.at(state.pc);
  for (std::size_t i = 0; i < state.registers.size(); ++i)
    if (i < state.base || (i - state.base < live.size() && live[i - state.base])) found->registers.push_back(state.registers[i]);
  found->control = are_decided(state.control) ? resolved(state.control) : state.control;
  found->idle_control = state.idle_control;
  return found;
}

template <std::size_t W>
const Liveness& Machine<W>::liveness_of(std::int32_t block) {
  return liveness_.try_emplace(block, program_, block).first->second;
}

// May a store-conditional have its load in another function?
template <std::size_t W>
bool Machine<W>::link_crosses_calls() {
  if (!link_crosses_calls_) {
    link_crosses_calls_ = false;
    for (std::size_t b = 0; b < program_.threads.size() + program_.functions.size(); ++b)
      if (liveness_of(static_cast<std::int32_t>(b)).keeps_link(0)) link_crosses_calls_ = true;
  }
  return *link_crosses_calls_;
}

// ---- It is back

template <std::size_t W>
bool Machine<W>::is_back(ThreadState<W>& state, const Arrival<W>& before, const Arrival<W>& now) {
  for (std::size_t i = 0; i < now.registers.size(); ++i)
    if (!is_unchanged(before.registers[i], now.registers[i], now.control)) return false;
  if (!is_round(state, before.n_events, now.control) || !relies_on_accesses(state, before.n_events)) return false;
  leave_out(state, {before.n_events, before.n_events, state.events.size(), failed_by_chance(state, before.n_events)});
  if (!state.left_out.failed_by_chance) state.status = ThreadStatus::waiting;
  return true;
}

// Reads, and stores in front of them, each to another place: what the next round stores is there already then.
template <std::size_t W>
bool Machine<W>::is_round(const ThreadState<W>& state, std::size_t from, const Sources<W>& control) const {
  bool has_read = false;
  for (std::size_t i = from; i < state.events.size(); ++i) {
    const Event<W>& e = events_[state.events[i]];
    if (!is_harmless(e) || !is_settled_enough(e, control)) return false;
    if (is_store(e) && (has_read || !order_.in_order || is_stored_again(state, i))) return false;
    has_read = has_read || e.kind == EventKind::read;
  }
  return has_read;
}

template <std::size_t W>
void Machine<W>::leave_out(ThreadState<W>& state, const LeftOut& left_out) {
  state.status = ThreadStatus::blocked;
  state.is_left_out = true;
  state.left_out = left_out;
}

// Will it do the same for ever, if nobody changes anything? So it will if both looks have found the same.
template <std::size_t W>
bool Machine<W>::waits(const ThreadState<W>& state) const {
  if (state.status != ThreadStatus::blocked || !state.is_left_out) return state.status == ThreadStatus::waiting;
  const LeftOut& found = state.left_out;
  if (found.failed_by_chance || found.rest >= state.events.size()) return false;
  return found_the_same(events_[state.events[found.from]], events_[state.events[found.rest]]) && changes_nothing(state, found.from);
}

// Does it store one value to each place? Who changes memory and changes it back does not wait.
template <std::size_t W>
bool Machine<W>::changes_nothing(const ThreadState<W>& state, std::size_t from) const {
  for (std::size_t i = from; i < state.events.size(); ++i)
    for (std::size_t later = i + 1; later < state.events.size(); ++later)
      if (overwrites(events_[state.events[later]], events_[state.events[i]])) return false;
  return true;
}

template <std::size_t W>
bool Machine<W>::overwrites(const Event<W>& later, const Event<W>& store) const {
  if (!is_store(store) || !is_store(later)) return false;
  const Value first = *value(store.address_node), second = *value(later.address_node);
  const bool is_apart = first + store.size <= second || second + later.size <= first;
  const bool is_same_place = first == second && store.size == later.size;
  return !is_apart && !(is_same_place && have_same_value(store.value_node, later.value_node));
}

// ---- It tries again

template <std::size_t W>
bool Machine<W>::tries_again(ThreadState<W>& state, const Arrival<W>& before, const Arrival<W>& now) {
  if (!order_.forgets_dependencies) return false;
  const std::optional<std::size_t> first = last_look(state, 0, before.n_events);
  const std::optional<std::size_t> last = last_look(state, before.n_events, state.events.size());
  if (!first || !last) return false;
  const Looks looks{state.events[*first], state.events[*last]};
  if (!is_as_good(looks, now.control) || is_steered(before, now, looks)) return false;
  for (std::size_t i = 0; i < now.registers.size(); ++i)
    if (!is_replaced(before.registers[i], now.registers[i], looks, now.control)) return false;
  if (!repeats_stores(state, {*first, before.n_events, *last}, looks, now.control)) return false;
  if (!relies_on_accesses(state, *first)) return false;
  leave_out(state, {*first, before.n_events, *last, failed_by_chance(state, before.n_events)});
  return true;
}

// The last read among these events, with nothing but fences and stores behind it that may be left out.
template <std::size_t W>
std::optional<std::size_t> Machine<W>::last_look(const ThreadState<W>& state, std::size_t from, std::size_t end) const {
  for (std::size_t i = end; i-- > from;) {
    const Event<W>& e = events_[state.events[i]];
    if (!is_harmless(e)) return std::nullopt;
    if (e.kind == EventKind::read) return i;
  }
  return std::nullopt;
}

// Could the last look be the first one?
template <std::size_t W>
bool Machine<W>::is_as_good(const Looks& looks, const Sources<W>& control) const {
  const Event<W>& first = events_[looks.first];
  const Event<W>& last = events_[looks.last];
  if (first.role != Role::plain || first.is_loose || last.is_loose || first.is_piece || last.is_piece) return false;
  if (first.size != last.size || !is_settled_enough(last, control)) return false;
  if (!is_unchanged({first.address_node, first.address_sources}, {last.address_node, last.address_sources}, control)) return false;
  const bool has_failed = last.role == Role::update_read;
  const std::int32_t event_class = has_failed && last.failed_class != none ? last.failed_class : last.event_class;
  const std::uint8_t strength = program_.classes[at(event_class)].strength;
  const std::uint8_t needed = class_of(first).strength;
  return strength >= needed && (!order_.has_flags || (strength == 0) == (needed == 0));
}

template <std::size_t W>
bool Machine<W>::depends_on(const Sources<W>& sources, EventId id) const {
  if (sources.deferred != none && !are_decided(sources)) return true;
  const Sources<W> exact = resolved(sources);
  return exact.direct.test(id) || exact.picked.test(id);
}

// Has the thread come to the point because of what the first look found, and not the last one? Branches that go on alike
// make control depend on it; then control must depend on the last look.
template <std::size_t W>
bool Machine<W>::is_steered(const Arrival<W>& before, const Arrival<W>& now, const Looks& looks) const {
  if (!depends_on(before.control, looks.first)) return false;
  const bool leads_there_too = before.idle_control.test(looks.first) || found_the_same(events_[looks.first], events_[looks.last]);
  return !leads_there_too || !now.control.direct.test(looks.last);
}

template <std::size_t W>
bool Machine<W>::found_the_same(const Event<W>& first, const Event<W>& last) {
  const bool are_known = first.state == EventState::committed && last.state == EventState::committed;
  return are_known && first.value == last.value && first.undefined == last.undefined;
}

// Is it now what it would have been then, if the first look had found what the last one did?
template <std::size_t W>
bool Machine<W>::is_replaced(const RegisterContent<W>& before, const RegisterContent<W>& now, const Looks& looks,
                             const Sources<W>& control) const {
  if (!depends_on(before.sources, looks.first)) return is_unchanged(before, now, control);
  const Node& old_node = nodes_[before.node];
  const Node& new_node = nodes_[now.node];
  if (old_node.kind != Node::Kind::loaded || old_node.value != looks.first) return false;
  if (new_node.kind != Node::Kind::loaded || new_node.value != looks.last) return false;
  if (old_node.is_signed != new_node.is_signed || old_node.width != new_node.width) return false;
  return order_.in_order || (before.sources.deferred == none && now.sources.direct.test(looks.last) &&
                             without(before.sources.direct, looks.first).is_subset_of(now.sources.direct) &&
                             before.sources.picked.is_subset_of(now.sources.picked | now.sources.direct));
}

template <std::size_t W>
FixedBits<W> Machine<W>::without(FixedBits<W> bits, EventId id) {
  bits.clear(id);
  return bits;
}

// Are the stores and fences between the first look and the point there again behind the last look, and does one of
// those stores go to where each store goes that is left out?
template <std::size_t W>
bool Machine<W>::repeats_stores(const ThreadState<W>& state, const LooksAndPoint& span, const Looks& looks, const Sources<W>& control) {
  for (std::size_t i = span.first + 1; i < state.events.size(); ++i)
    if (const Event<W>& e = events_[state.events[i]]; !is_harmless(e) || !is_settled_enough(e, control)) return false;
  std::size_t next = span.last + 1;
  for (std::size_t i = span.first + 1; i < span.last; ++i) {
    const Event<W>& e = events_[state.events[i]];
    const bool is_to_repeat = i < span.point && (is_store(e) || e.kind == EventKind::fence);
    if (is_to_repeat && !finds_again(state, e, next, looks, control)) return false;
    if (!is_to_repeat && is_store(e) && !is_overwritten(state, e, span.last + 1)) return false;
  }
  for (; next < state.events.size(); ++next)
    if (is_store(events_[state.events[next]])) return false;
  return true;
}

template <std::size_t W>
bool Machine<W>::finds_again(const ThreadState<W>& state, const Event<W>& e, std::size_t& next, const Looks& looks,
                             const Sources<W>& control) {
  while (next < state.events.size()) {
    const Event<W>& other = events_[state.events[next++]];
    const bool is_alike = other.kind == e.kind && other.event_class == e.event_class;
    const bool is_controlled = !depends_on(e.control, looks.first) || depends_on(other.control, looks.last);
    if (is_alike && is_controlled && (e.kind == EventKind::fence || is_repeated(e, other, looks, control)))
      return e.kind == EventKind::fence || relies_on(*value(e.address_node), Reliance::last_is_read);
    if (is_store(other)) return false;
  }
  return false;
}

template <std::size_t W>
bool Machine<W>::is_repeated(const Event<W>& store, const Event<W>& other, const Looks& looks, const Sources<W>& control) const {
  const RegisterContent<W> address{store.address_node, store.address_sources}, other_address{other.address_node, other.address_sources};
  return store.size == other.size && !depends_on(store.address_sources, looks.first) && is_unchanged(address, other_address, control) &&
         is_replaced({store.value_node, store.data_sources}, {other.value_node, other.data_sources}, looks, control);
}

template <std::size_t W>
bool Machine<W>::is_overwritten(const ThreadState<W>& state, const Event<W>& store, std::size_t from) const {
  for (std::size_t i = from; i < state.events.size(); ++i) {
    const Event<W>& e = events_[state.events[i]];
    if (is_store(e) && e.size == store.size && value(e.address_node) == value(store.address_node)) return true;
  }
  return false;
}

template <std::size_t W>
bool Machine<W>::is_stored_again(const ThreadState<W>& state, std::size_t store) const {
  const Event<W>& e = events_[state.events[store]];
  const Address start = *value(e.address_node);
  return std::any_of(state.events.begin() + static_cast<std::ptrdiff_t>(store) + 1, state.events.end(), [&](EventId id) {
    const Event<W>& other = events_[id];
    if (!is_store(other)) return false;
    const std::optional<Value> address = value(other.address_node);
    return !address || (*address < start + e.size && start < *address + other.size);
  });
}

// ---- What a round may consist of

template <std::size_t W>
bool Machine<W>::is_store(const Event<W>& e) {
  return e.kind == EventKind::write && e.state != EventState::absent;
}

// Of stores it is only known that nobody else was seen to write there.
template <std::size_t W>
bool Machine<W>::is_harmless(const Event<W>& e) const {
  switch (e.kind) {
    case EventKind::fence: return true;
    case EventKind::read: return e.role != Role::synchronised && e.state != EventState::failed;
    case EventKind::choice: return fails_as_chosen(e);
    case EventKind::write: return e.state == EventState::absent || is_harmless_store(e);
  }
  return false;
}

// The choice that a store-conditional fails.
template <std::size_t W>
bool Machine<W>::fails_as_chosen(const Event<W>& e) const {
  const bool is_of_store = program_.block(e.block).code[at(e.pc)].operation == Operation::store_conditional;
  return is_of_store && !e.is_guess && e.state == EventState::committed && e.value != 0;
}

template <std::size_t W>
bool Machine<W>::is_harmless_store(const Event<W>& e) const {
  const bool is_weak = e.kind == EventKind::write && e.role == Role::plain && class_of(e).strength <= relaxed_strength;
  if (!is_weak || e.is_release || e.is_renewal || e.is_piece || e.state == EventState::failed) return false;
  const std::optional<Value> address = value(e.address_node);
  if (!address) return false;
  const auto writer = writers_.find(*address);
  return writer == writers_.end() || writer->second == e.thread;
}

// Does nothing about it depend on what is committed already?
template <std::size_t W>
bool Machine<W>::is_settled_enough(const Event<W>& e, const Sources<W>& control) const {
  if (order_.in_order || e.kind == EventKind::fence) return true;
  if (e.kind == EventKind::write) return e.role != Role::plain || is_settled(e.address_sources, control);
  const bool is_seen = control.direct.test(threads_[at(e.thread)].events[at(e.index)]);
  if (e.kind == EventKind::choice) return is_seen;
  if (e.is_compare) return is_seen && is_settled(e.data_sources, control);
  return is_seen || !frees_;
}

template <std::size_t W>
bool Machine<W>::is_settled(const Sources<W>& sources, const Sources<W>& control) const {
  if (!are_decided(sources)) return false;
  const Sources<W> exact = resolved(sources);
  return (exact.direct | exact.picked).is_subset_of(control.direct | control.picked);
}

template <std::size_t W>
bool Machine<W>::is_unchanged(const RegisterContent<W>& before, const RegisterContent<W>& now, const Sources<W>& control) const {
  if (order_.in_order) return have_same_value(before.node, now.node);
  if (before.node == now.node && is_same(before.sources, now.sources)) return true;
  if (!order_.forgets_dependencies || !is_settled(before.sources, control) || !is_settled(now.sources, control)) return false;
  const Sources<W> old_sources = resolved(before.sources), new_sources = resolved(now.sources);
  return have_same_value(before.node, now.node) && old_sources.direct.is_subset_of(new_sources.direct) &&
         old_sources.picked.is_subset_of(new_sources.direct | new_sources.picked);
}

template <std::size_t W>
bool Machine<W>::have_same_value(NodeId left, NodeId right) const {
  const std::optional<Value> found = value(left);
  return found && found == value(right) && undefined(left) == undefined(right);
}

template <std::size_t W>
bool Machine<W>::is_same(const Sources<W>& left, const Sources<W>& right) {
  const auto are_same = [](const FixedBits<W>& a, const FixedBits<W>& b) { return a.is_subset_of(b) && b.is_subset_of(a); };
  return left.deferred == right.deferred && are_same(left.direct, right.direct) && are_same(left.picked, right.picked);
}

template <std::size_t W>
bool Machine<W>::failed_by_chance(const ThreadState<W>& state, std::size_t from) const {
  return std::any_of(state.events.begin() + static_cast<std::ptrdiff_t>(from), state.events.end(), [&](EventId id) {
    const Event<W>& e = events_[id];
    return e.kind == EventKind::choice || (e.is_weak && e.has_failed && compare_succeeds(e, e.value).value_or(false));
  });
}

// ---- What is relied on

// That nobody else writes where the thread has stored something from there on, and that no race is lost with its reads.
template <std::size_t W>
bool Machine<W>::relies_on_accesses(const ThreadState<W>& state, std::size_t from) {
  return std::all_of(state.events.begin() + static_cast<std::ptrdiff_t>(from), state.events.end(), [&](EventId id) {
    const Event<W>& e = events_[id];
    if (is_store(e)) return trusts(*value(e.address_node), e.thread);
    return e.kind != EventKind::read || !order_.has_flags || relies_on_read(e);
  });
}

// Either only the thread itself writes there, or what the read could race with is what it reads from.
template <std::size_t W>
bool Machine<W>::relies_on_read(const Event<W>& e) {
  if (e.state != EventState::committed) return false;
  if (class_of(e).strength != 0) return relies_on(e.address, Reliance::no_plain_write);
  if (e.read_from == no_event || events_[e.read_from].thread == e.thread) return trusts(e.address, e.thread);
  return relies_on(e.address, Reliance::one_write);
}

template <std::size_t W>
bool Machine<W>::relies_on(Address address, Reliance what) {
  const auto [entry, is_new] = relied_on_.try_emplace({address, what}, true);
  if (is_new) entry->second = knowledge_.rely(address, what);
  return entry->second;
}

template <std::size_t W>
void Machine<W>::refute(Address address, Reliance what) {
  if (refuted_.insert({address, what}).second) knowledge_.refute(address, what);
}

}  // namespace dekker::rsmc
