// Memory that is allocated and released.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// Every thread has addresses of its own, so that they are the same in every run; none is used twice.
template <std::size_t W>
void Machine<W>::allocate(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  const Value size = *value(evaluate(state, instruction.value).node);
  if (size > heap_per_thread || state.allocated + size + 2 * allocation_gap > heap_per_thread) {
    fail(state, pc, ViolationKind::allocation, size);
    return;
  }
  const Address start = heap_start + static_cast<Address>(state.number) * heap_per_thread + state.allocated + allocation_gap;
  state.allocated += (size / allocation_gap + 2) * allocation_gap;
  objects_.push_back({start, size, instruction.is_own, {state.number, state.block, pc}, birth_now(state), instruction.is_unset});
  if (instruction.is_scoped) state.obligations.get().scoped.push_back({state.callers.size(), start, instruction.is_lasting});
  in_register(state, instruction.destination) = {constant(start), {}};
}

template <std::size_t W>
Birth Machine<W>::birth_now(const ThreadState<W>& state) const {
  return is_alone_ ? Birth{} : Birth{state.number, state.events.size()};
}

// Of the object that the address or header belongs to; if it is in use again, of the first.
template <std::size_t W>
Birth Machine<W>::birth_at(Address address) const {
  if (address < heap_start || address >= synchronisation_start) return {};
  const auto found = std::ranges::find_if(objects_, [&](const AllocatedObject& object) {
    return address == header_of(object.start) || (address >= object.start && address - object.start < object.size);
  });
  return found == objects_.end() ? Birth{} : found->birth;
}

template <std::size_t W>
void Machine<W>::release(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  const Value address = now(state, instruction.value);
  if (address == 0) return;
  if (can_release(state, pc, address)) release_object(thread, state, pc, address);
}

// Variables that live in a block end with it.
template <std::size_t W>
void Machine<W>::end_scope(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Value address = now(state, instruction.value);
  in_register(state, instruction.destination) = {};
  std::vector<Scoped>& scoped = state.obligations.get().scoped;
  const auto found = std::ranges::find_if(scoped, [&](const Scoped& item) { return item.start == address; });
  if (found == scoped.end()) return;
  scoped.erase(found);
  end_object(thread, state, pc, address);
}

template <std::size_t W>
template <class IsOver>
void Machine<W>::end_scopes(std::int32_t thread, ThreadState<W>& state, const IsOver& is_over) {
  const std::int32_t pc = std::max(0, state.pc - 1);
  if (state.obligations->scoped.empty()) return;
  std::vector<Scoped>& scoped = state.obligations.get().scoped;
  for (std::size_t i = scoped.size(); i-- > 0;) {
    if (!is_over(scoped[i])) continue;
    const Address start = scoped[i].start;
    scoped.erase(scoped.begin() + static_cast<std::ptrdiff_t>(i));
    end_object(thread, state, pc, start);
  }
}

template <std::size_t W>
void Machine<W>::end_object(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address) {
  if (is_alone_) object_at(address)->is_released = true;
  else release_object(thread, state, pc, address);
}

template <std::size_t W>
void Machine<W>::release_object(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address) {
  if (!releases_) knowledge_.note_release();
  releases_ = true;
  if (reuses_ && !object_at(address)->is_own) note_freed(address);
  write_to_parts(thread, state, pc, address, &Event<W>::is_release, false);
}

template <std::size_t W>
bool Machine<W>::can_release(ThreadState<W>& state, std::int32_t pc, Address address) {
  const AllocatedObject* const object = object_at(address);
  const bool is_there = object != nullptr && !object->is_own;
  const bool may_be_used_again = reuses_ && !is_alone_;
  if (is_there && (!object->is_released || may_be_used_again)) return true;
  fail(state, pc, is_there ? ViolationKind::double_free : ViolationKind::release, address);
  return false;
}

// Memory that other threads may access: of global objects and of the heap.
template <std::size_t W>
bool Machine<W>::is_shared(Address address) const {
  const auto is_around = [&](const AllocatedObject& object) { return address >= object.start && address - object.start < object.size; };
  const auto found = std::ranges::find_if(objects_, is_around);
  return found == objects_.end() || !found->is_own;
}

// What global objects hold at the start is set.
template <std::size_t W>
Value Machine<W>::undefined_initially(Address address, std::uint8_t size) const {
  if (!program_.has_undefined || address >= synchronisation_start || (address < heap_start && undefined_alone_.empty())) return 0;
  const auto is_around = [&](const AllocatedObject& object) { return address >= object.start && address - object.start < object.size; };
  const auto object = std::ranges::find_if(objects_, is_around);
  const bool is_unset = object != objects_.end() && object->is_unset;
  Value result = 0;
  for (unsigned i = 0; i < size; ++i) {
    const auto found = undefined_alone_.find(address + i);
    const bool was_never_written = is_unset && !written_alone_.contains(address + i);
    const Value byte = found != undefined_alone_.end() ? found->second : was_never_written ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// One that is in use, if there is one.
template <std::size_t W>
AllocatedObject* Machine<W>::object_at(Address start) {
  AllocatedObject* found = nullptr;
  for (AllocatedObject& object : objects_)
    if (object.start == start && (found == nullptr || found->is_released)) found = &object;
  return found;
}

template <std::size_t W>
void Machine<W>::note_freed(Address object) {
  const Address size = object_at(object)->size;
  if (!knowledge_.reusable().contains({object, size})) knowledge_.note_freed(object, size);
}

template <std::size_t W>
bool Machine<W>::was_released_alone(Value size) const {
  return std::ranges::any_of(objects_, [&](const AllocatedObject& object) { return object.is_released && object.size == size; });
}

// There is no choice before other threads exist, unless something was released then.
template <std::size_t W>
void Machine<W>::recycle(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  if (is_alone_) {
    in_register(state, instruction.destination) = {constant(0), {}};
    return;
  }
  fetch_choice(thread, state, pc, instruction);
  events_.back().value_node = constant(now(state, instruction.value));
}

// The object may have another size than in the run in which it was found.
template <std::size_t W>
void Machine<W>::renew(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  const AllocatedObject* const found = object_at(now(state, instruction.value));
  if (found == nullptr || found->is_own || found->size != now(state, instruction.expected)) {
    state.status = ThreadStatus::blocked;
    return;
  }
  const AllocatedObject old = *found;
  if (!releases_) knowledge_.note_release();
  releases_ = true;
  objects_.push_back({old.start, old.size, false, {state.number, state.block, pc}, birth_now(state)});
  write_to_parts(thread, state, pc, old.start, &Event<W>::is_renewal, instruction.is_unset);
}

template <std::size_t W>
void Machine<W>::measure(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Value address = now(state, instruction.value);
  if (!can_release(state, pc, address)) return;
  in_register(state, instruction.destination) = {constant(object_at(address)->size), {}};
}

// To the header, and to all parts that are ever accessed; what those hold then may be indeterminate.
template <std::size_t W>
void Machine<W>::write_to_parts(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address object,
                                bool Event<W>::*mark, bool is_unset) {
  lifetime_write(thread, state, pc, header_of(object), header_size).*mark = true;
  const auto parts = knowledge_.released_parts().find(allocation_at(object));
  if (parts == knowledge_.released_parts().end()) return;
  has_seen_undefined_ = has_seen_undefined_ || is_unset;
  const NodeId content = is_unset ? constant(0, ~Value{0}) : 0;
  for (const auto& [offset, size] : parts->second) {
    Event<W>& e = lifetime_write(thread, state, pc, object + offset, size);
    e.*mark = true;
    e.value_node = content;
    e.is_copy = is_unset;
  }
}

template <std::size_t W>
Event<W>& Machine<W>::lifetime_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
                                     std::uint8_t size) {
  const NodeId where = constant(address);
  const EventId id = create(thread, state, pc, EventKind::write, program_.release_class);
  Event<W>& e = events_[id];
  e.size = size;
  e.address_node = where;
  e.value_node = 0;
  if (!order_.in_order) find_order(state, e);
  return e;
}

}  // namespace dekker::rsmc
