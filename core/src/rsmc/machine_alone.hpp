// What the only thread does before others exist.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// What the only thread does before it spawns another is seen by all as if it had been there from the start, so it is no
// event. Returns whether the instruction was executed; the first with a choice, or that starts a thread, ends this.
template <std::size_t W>
bool Machine<W>::step_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::fence: return true;
    case Operation::load:
      if (instruction.is_exclusive) break;
      return load_alone(state, pc, instruction);
    case Operation::store: return store_alone(state, pc, instruction, known_now(state, instruction.value));
    case Operation::read_modify_write:
    case Operation::compare_exchange:
      if (instruction.is_weak) break;
      return update_alone(state, pc, instruction);
    case Operation::release: return release_alone(state, pc, instruction);
    case Operation::recycle:
      if (!was_released_alone(now(state, instruction.value))) return false;
      break;
    case Operation::store_conditional:
    case Operation::choose:
    case Operation::spawn: break;
    default: return false;
  }
  is_alone_ = false;
  return false;
}

template <std::size_t W>
bool Machine<W>::load_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const std::optional<KnownBits> found = read_alone(state, pc, instruction);
  if (!found) return true;
  const unsigned width = 8u * instruction.size;
  const auto extended = [&](Value bits) { return instruction.is_signed ? apply(UnaryOperator::sext, width, bits) : bits; };
  in_register(state, instruction.destination) = {constant(extended(found->value), extended(found->undefined)), {}};
  return true;
}

template <std::size_t W>
std::optional<KnownBits> Machine<W>::read_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  if (is_undefined(state, instruction.address)) {
    fail(state, pc, ViolationKind::uninitialised, 0);
    return std::nullopt;
  }
  const Address address = now(state, instruction.address);
  if (!is_in_object(address, instruction.size)) {
    fail(state, pc, kind_outside(address), address);
    return std::nullopt;
  }
  Value result = 0;
  for (unsigned i = 0; i < instruction.size; ++i) result |= Value{initial_byte(address + i)} << (8 * i);
  return KnownBits{result, undefined_initially(address, instruction.size)};
}

template <std::size_t W>
bool Machine<W>::store_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction, KnownBits stored) {
  const Address address = now(state, instruction.address);
  const Value all = low_bits(8u * instruction.size);
  const bool shows = !instruction.is_copy && (stored.undefined & all) == all && is_shared(address);
  if (is_undefined(state, instruction.address) || shows) {
    fail(state, pc, ViolationKind::uninitialised, 0);
    return true;
  }
  if (!is_in_object(address, instruction.size)) {
    fail(state, pc, kind_outside(address), address);
    return true;
  }
  for (unsigned i = 0; i < instruction.size; ++i) {
    written_alone_[address + i] = static_cast<std::uint8_t>(stored.value >> (8 * i));
    if (has_seen_undefined_) undefined_alone_[address + i] = static_cast<std::uint8_t>(stored.undefined >> (8 * i));
  }
  return true;
}

template <std::size_t W>
bool Machine<W>::update_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const std::optional<KnownBits> old_value = read_alone(state, pc, instruction);
  if (!old_value) return true;
  const KnownBits operand = known_now(state, instruction.value);
  const unsigned width = 8u * instruction.size;
  if (instruction.operation == Operation::compare_exchange) {
    const KnownBits expected = known_now(state, instruction.expected);
    if (undefined_bits(BinaryOperator::eq, width, *old_value, expected) != 0) {
      fail(state, pc, ViolationKind::uninitialised, 0);
      return true;
    }
    const bool succeeds = ((expected.value ^ old_value->value) & low_bits(width)) == 0;
    if (succeeds) store_alone(state, pc, instruction, operand);
    if (instruction.success != none) in_register(state, instruction.success) = {constant(succeeds ? 1 : 0), {}};
  } else {
    const auto update = static_cast<UpdateOperator>(instruction.update);
    const bool exchanges = update == UpdateOperator::exchange;
    const Value result = exchanges ? operand.value : apply(update, width, old_value->value, operand.value);
    store_alone(state, pc, instruction, {result, undefined_bits(update, width, *old_value, operand)});
  }
  if (state.status == ThreadStatus::running && instruction.destination != none)
    in_register(state, instruction.destination) = {constant(old_value->value, old_value->undefined), {}};
  return true;
}

template <std::size_t W>
bool Machine<W>::release_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Value address = now(state, instruction.value);
  if (address == 0 || !can_release(state, pc, address)) return true;
  if (reuses_) note_freed(address);
  object_at(address)->is_released = true;
  return true;
}

}  // namespace dekker::rsmc
