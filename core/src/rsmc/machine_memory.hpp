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
  objects_.push_back({start, size, instruction.is_own, {state.number, state.block, pc}, instruction.is_unset});
  if (instruction.is_scoped) state.scoped.push_back({state.callers.size(), start, instruction.is_lasting});
  in_register(state, instruction.destination) = {constant(start), {}};
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
  const auto found = std::ranges::find_if(state.scoped, [&](const Scoped& item) { return item.start == address; });
  if (found == state.scoped.end()) return;
  state.scoped.erase(found);
  end_object(thread, state, pc, address);
}

template <std::size_t W>
template <class IsOver>
void Machine<W>::end_scopes(std::int32_t thread, ThreadState<W>& state, const IsOver& is_over) {
  const std::int32_t pc = std::max(0, state.pc - 1);
  for (std::size_t i = state.scoped.size(); i-- > 0;) {
    if (!is_over(state.scoped[i])) continue;
    const Address start = state.scoped[i].start;
    state.scoped.erase(state.scoped.begin() + static_cast<std::ptrdiff_t>(i));
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
  release_write(thread, state, pc, header_of(address), header_size);
  const auto parts = knowledge_.released_parts().find(address);
  if (parts == knowledge_.released_parts().end()) return;
  for (const auto& [offset, size] : parts->second) release_write(thread, state, pc, address + offset, size);
}

template <std::size_t W>
bool Machine<W>::can_release(ThreadState<W>& state, std::int32_t pc, Address address) {
  const AllocatedObject* const object = object_at(address);
  const bool is_there = object != nullptr && !object->is_own;
  if (is_there && !object->is_released) return true;
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

// What global objects hold always counts as set.
template <std::size_t W>
Value Machine<W>::undefined_initially(Address address, std::uint8_t size) const {
  if (!program_.has_undefined || address < heap_start || address >= synchronisation_start) return 0;
  const auto is_around = [&](const AllocatedObject& object) { return address >= object.start && address - object.start < object.size; };
  const auto object = std::ranges::find_if(objects_, is_around);
  const bool is_unset = object != objects_.end() && object->is_unset;
  Value result = 0;
  for (unsigned i = 0; i < size; ++i) {
    const auto found = undefined_alone_.find(address + i);
    const bool was_written = written_alone_.contains(address + i);
    const Value byte = was_written ? (found == undefined_alone_.end() ? 0 : found->second) : is_unset ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}

template <std::size_t W>
AllocatedObject* Machine<W>::object_at(Address start) {
  const auto found = std::ranges::find_if(objects_, [&](const AllocatedObject& object) { return object.start == start; });
  return found == objects_.end() ? nullptr : &*found;
}

template <std::size_t W>
void Machine<W>::measure(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Value address = now(state, instruction.value);
  if (!can_release(state, pc, address)) return;
  in_register(state, instruction.destination) = {constant(object_at(address)->size), {}};
}

template <std::size_t W>
void Machine<W>::release_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
                               std::uint8_t size) {
  const NodeId where = constant(address);
  const EventId id = create(thread, state, pc, EventKind::write, program_.release_class);
  Event<W>& e = events_[id];
  e.size = size;
  e.address_node = where;
  e.value_node = 0;
  e.is_release = true;
  if (!order_.in_order) find_order(state, e);
}

}  // namespace dekker::rsmc
