// What the only thread does before others exist.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// Rounds of loops are not counted here. A thread that would run for ever is cut after `most_steps_alone`.
template <std::size_t W>
template <class Look>
void Machine<W>::run_alone(Look look) {
  ThreadState<W>& state = threads_[0];
  for (std::uint64_t n_steps = 1; is_alone_ && state.status == ThreadStatus::running && can_continue(state); ++n_steps) {
    step(0, state);
    if (n_steps >= most_steps_alone) state.status = ThreadStatus::cut;
    if (n_steps % steps_between_looks != 0) continue;
    look();
    drop_old_nodes(state);
  }
  is_alone_ = false;
}

// Has the only thread come back to a state that it was in? Looked for among rounds that change no memory, by Brent's rule.
template <std::size_t W>
bool Machine<W>::goes_round_for_ever(const ThreadState<W>& state, std::int32_t head) {
  const auto now = [&] {
    RoundAlone round{state.block, head, state.callers.size(), n_changes_alone_, objects_.size(), {}};
    for (const RegisterContent<W>& content : state.registers)
      for (const KnownBits bits = known(content.node); const Value part : {bits.value, bits.undefined})
        round.registers.push_back(part);
    return round;
  };
  const RoundAlone& kept = kept_round_;
  const bool may_be_same = kept.block == state.block && kept.head == head && kept.depth == state.callers.size() &&
                           kept.n_changes == n_changes_alone_ && kept.n_objects == objects_.size();
  if (may_be_same && kept == now()) return true;
  if (++n_rounds_alone_ != next_kept_round_) return false;
  next_kept_round_ *= 2;
  kept_round_ = now();
  return false;
}

// All values are known, so that those in registers are all that is needed.
template <std::size_t W>
void Machine<W>::drop_old_nodes(ThreadState<W>& state) {
  if (!events_.empty() || !state.open_checks.empty()) return;
  std::vector<KnownBits> values;
  for (const RegisterContent<W>& content : state.registers) values.push_back(known(content.node));
  nodes_.resize(1);
  for (std::size_t i = 0; i < values.size(); ++i) state.registers[i].node = constant(values[i].value, values[i].undefined);
}

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
    const auto byte = static_cast<std::uint8_t>(stored.value >> (8 * i));
    n_changes_alone_ += has_seen_undefined_ || initial_byte(address + i) != byte;
    written_alone_[address + i] = byte;
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
  ++n_changes_alone_;
  return true;
}

}  // namespace dekker::rsmc
