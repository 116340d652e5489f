// The events of instructions.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
EventId Machine<W>::create(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, EventKind kind,
                           std::int32_t event_class) {
  if (events_.size() >= FixedBits<W>::capacity) throw CapacityNeeded{{thread, state.block, pc}};
  const EventId id = static_cast<EventId>(events_.size());
  Event<W>& e = events_.emplace_back();
  e.thread = thread;
  e.index = static_cast<std::int32_t>(state.events.size());
  e.block = state.block;
  e.pc = pc;
  e.kind = kind;
  e.event_class = event_class;
  e.control = state.control;
  state.events.push_back(id);
  return id;
}

template <std::size_t W>
EventId Machine<W>::create_access(std::int32_t thread, ThreadState<W>& state, std::int32_t pc,
                                  const Instruction& instruction, EventKind kind, std::int32_t event_class,
                                  const RegisterContent<W>& address) {
  const EventId id = create(thread, state, pc, kind, event_class);
  Event<W>& e = events_[id];
  e.size = instruction.size;
  e.is_piece = instruction.is_piece;
  e.address_node = address.node;
  e.address_sources = address.sources;
  if (!order_.in_order) find_order(state, e);
  e.waits_with_write = kind == EventKind::read && joins_halves() && waiting_reads_[at(e.block)][at(pc)];
  return id;
}

// What fences and classes keep before the new access.
template <std::size_t W>
void Machine<W>::find_order(const ThreadState<W>& state, Event<W>& e) const {
  const EventClass& own = class_of(e);
  std::uint8_t fenced = 0;       // pairs that some fence between orders
  bool is_behind_full = false;  // does some fence between order all pairs?
  for (std::size_t i = state.events.size() - 1; i-- > 0;) {
    const EventId id = state.events[i];
    const Event<W>& earlier = events_[id];
    const EventClass& other = class_of(earlier);
    if (earlier.kind == EventKind::fence) {
      fenced |= other.fence_pairs;
      is_behind_full = is_behind_full || other.fence_pairs == all_pairs;
    } else if (earlier.kind != EventKind::choice) {
      const bool is_fenced = other.only_full_fences ? is_behind_full : (fenced & pair_of(earlier, e)) != 0;
      if (is_fenced) e.fenced_after.set(id);
      if (is_fenced || other.before_later || own.after_earlier || (other.strong_release && own.strong_acquire))
        e.ordered_after.set(id);
    }
  }
}

template <std::size_t W>
std::uint8_t Machine<W>::pair_of(const Event<W>& first, const Event<W>& second) {
  if (first.kind == EventKind::read) return second.kind == EventKind::read ? read_read : read_write;
  return second.kind == EventKind::read ? write_read : write_write;
}

template <std::size_t W>
RegisterContent<W> Machine<W>::loaded(EventId id, bool is_signed) {
  RegisterContent<W> content;
  content.node = add({.kind = Node::Kind::loaded, .width = static_cast<std::uint8_t>(8 * events_[id].size), .is_signed = is_signed, .value = id});
  content.sources.direct.set(id);
  return content;
}

template <std::size_t W>
void Machine<W>::fetch_load(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const RegisterContent<W> address = evaluate(state, instruction.address);
  const EventId id = create_access(thread, state, pc, instruction, EventKind::read, instruction.read_class, address);
  events_[id].is_loose = instruction.is_loose;
  if (instruction.is_exclusive) {
    events_[id].role = Role::linked_load;
    state.linked = id;
  }
  in_register(state, instruction.destination) = loaded(id, instruction.is_signed);
}

template <std::size_t W>
void Machine<W>::fetch_store(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const RegisterContent<W> address = evaluate(state, instruction.address);
  const RegisterContent<W> stored = evaluate(state, instruction.value);
  const EventId id = create_access(thread, state, pc, instruction, EventKind::write, instruction.write_class, address);
  events_[id].value_node = stored.node;
  events_[id].data_sources = stored.sources;
  set_alternatives(events_[id], stored.alternatives);
  events_[id].is_copy = instruction.is_copy;
}

// Whether a store-conditional succeeds is chosen in advance, because its status is no dependency on most machines; a
// write that is to succeed and cannot makes the run one that does not count.
template <std::size_t W>
void Machine<W>::fetch_conditional(std::int32_t thread, ThreadState<W>& state, std::int32_t pc,
                                   const Instruction& instruction) {
  const EventId linked = state.linked;
  state.linked = no_event;
  RegisterContent<W> status;
  if (linked == no_event) {
    status.node = constant(1);
  } else {
    const RegisterContent<W> address = evaluate(state, instruction.address);
    const RegisterContent<W> stored = evaluate(state, instruction.value);
    const EventId choice = create(thread, state, pc, EventKind::choice, 0);
    const EventId id = create_access(thread, state, pc, instruction, EventKind::write, instruction.write_class, address);
    Event<W>& e = events_[id];
    e.value_node = stored.node;
    e.data_sources = stored.sources;
    set_alternatives(e, stored.alternatives);
    e.role = Role::conditional_store;
    e.partner = linked;
    e.chosen_by = choice;
    e.has_own_address = events_[choice].has_own_address = depends_on_more(e.address_sources, events_[linked].address_sources);
    status.node = add({.kind = Node::Kind::chosen, .value = choice});
    status.sources.direct.set(choice);
    if (order_.status_is_dependency) status.sources.direct.set(id);
  }
  in_register(state, instruction.destination) = status;
}

template <std::size_t W>
void Machine<W>::fetch_update(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const bool compares = instruction.operation == Operation::compare_exchange;
  const RegisterContent<W> address = evaluate(state, instruction.address);
  const RegisterContent<W> operand = evaluate(state, instruction.value);
  RegisterContent<W> expected = operand;
  if (compares) expected = evaluate(state, instruction.expected);
  const EventId read = create_access(thread, state, pc, instruction, EventKind::read, instruction.read_class, address);
  const RegisterContent<W> old_value = loaded(read, false);
  const EventId write = create_access(thread, state, pc, instruction, EventKind::write, instruction.write_class, address);
  Event<W>& first = events_[read];
  Event<W>& second = events_[write];
  first.role = Role::update_read;
  first.partner = write;
  first.failed_class = instruction.failed_class;
  first.is_compare = compares || instruction.is_quiet;
  first.is_quiet = instruction.is_quiet;
  first.is_weak = instruction.is_weak;
  first.expected_node = expected.node;
  second.role = Role::update_write;
  second.partner = read;
  second.is_compare = compares || instruction.is_quiet;
  second.expected_node = expected.node;
  set_update_value(second, instruction, old_value, operand, expected, compares);
  if (compares || instruction.is_quiet) first.data_sources = expected.sources;
  if (instruction.destination != none) in_register(state, instruction.destination) = old_value;
  if (compares && instruction.success != none) set_success(state, instruction, write, old_value, expected);
}

template <std::size_t W>
void Machine<W>::set_update_value(Event<W>& write, const Instruction& instruction, const RegisterContent<W>& old_value,
                                  const RegisterContent<W>& operand, const RegisterContent<W>& expected, bool compares) {
  write.data_sources = operand.sources;
  set_alternatives(write, operand.alternatives);
  if (compares) {
    write.value_node = operand.node;
    merge(write.data_sources, as_picked(expected.sources));
    merge(write.data_sources, as_picked(old_value.sources));
    return;
  }
  const auto update = static_cast<UpdateOperator>(instruction.update);
  if (update == UpdateOperator::exchange) {
    write.value_node = operand.node;
    return;
  }
  const auto width = static_cast<std::uint8_t>(8 * instruction.size);
  write.value_node = add({.kind = Node::Kind::update, .operation = instruction.update, .width = width, .a = old_value.node, .b = operand.node});
  merge(write.data_sources, old_value.sources);
  if (operand.alternatives != 0) {
    const NodeId a = alternatives_of(old_value);
    set_alternatives(write, add_open({.kind = Node::Kind::update, .operation = instruction.update, .width = width, .a = a, .b = operand.alternatives}));
  }
}

template <std::size_t W>
void Machine<W>::set_success(ThreadState<W>& state, const Instruction& instruction, EventId write,
                             const RegisterContent<W>& old_value, const RegisterContent<W>& expected) {
  RegisterContent<W> success;
  success.node = add({.kind = Node::Kind::status, .is_signed = true, .value = write});
  success.sources = old_value.sources;
  merge(success.sources, expected.sources);
  in_register(state, instruction.success) = success;
}

template <std::size_t W>
void Machine<W>::fetch_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, std::int32_t event_class) {
  const EventId id = create(thread, state, pc, EventKind::fence, event_class);
  events_[id].state = EventState::committed;
  local_.push_back(id);
}

template <std::size_t W>
void Machine<W>::fetch_choice(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const EventId id = create(thread, state, pc, EventKind::choice, 0);
  RegisterContent<W> chosen;
  chosen.node = add({.kind = Node::Kind::chosen, .value = id});
  chosen.sources.direct.set(id);
  in_register(state, instruction.destination) = chosen;
}

}  // namespace dekker::rsmc
