// What threads do step by step: registers, waiting, checks.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
ThreadState<W> Machine<W>::start(std::int32_t block) {
  ThreadState<W> state;
  state.number = block;
  state.status = ThreadStatus::running;
  state.block = block;
  enter_block(state);
  return state;
}

// Makes room for the registers of the block; those not mentioned are 0.
template <std::size_t W>
void Machine<W>::enter_block(ThreadState<W>& state) {
  const Block& block = program_.block(state.block);
  state.registers.resize(state.base + static_cast<std::size_t>(block.n_registers));
  std::fill(state.registers.begin() + state.base, state.registers.end(), RegisterContent<W>{});
  for (const auto& [number, initial] : block.initial_registers) in_register(state, number).node = constant(initial);
}

template <std::size_t W>
RegisterContent<W>& Machine<W>::in_register(ThreadState<W>& state, std::int32_t number) {
  return state.registers[state.base + at(number)];
}

template <std::size_t W>
void Machine<W>::save(std::int32_t thread) {
  if (n_saved_ == saved_.size()) saved_.emplace_back();
  SavedThread& saved = saved_[n_saved_++];
  ThreadState<W>& state = threads_[at(thread)];
  std::vector<EventId> events;
  events.swap(state.events);
  saved.state = state;
  state.events.swap(events);
  saved.thread = thread;
  saved.n_events = state.events.size();
}

template <std::size_t W>
bool Machine<W>::can_continue(const ThreadState<W>& state) const {
  // What comes behind a join is not reached if the other thread never ends.
  for (const EventId gate : {state.begin, state.joining})
    if (gate != no_event && events_[gate].state != EventState::committed) return false;
  if (order_.in_order && !state.events.empty()) {
    for (auto it = state.events.rbegin(); it != state.events.rend() && it - state.events.rbegin() < 3; ++it)
      if (events_[*it].state == EventState::pending) return false;
  }
  const std::vector<Instruction>& code = code_of(state);
  if (static_cast<std::size_t>(state.pc) >= code.size()) return true;
  const Instruction& instruction = code[static_cast<std::size_t>(state.pc)];
  switch (instruction.operation) {
    case Operation::check: return instruction.is_loose || known(state, instruction.value);
    case Operation::await: return known(state, instruction.value) && wrote_in_round(state);
    case Operation::branch:
    case Operation::assume:
      if (!is_guessed(state, instruction)) return known(state, instruction.value);
      return state.guess == no_event || events_[state.guess].state == EventState::committed;
    case Operation::join:
    case Operation::detach:
    case Operation::allocate:
    case Operation::release:
    case Operation::measure:
    case Operation::end_scope:
    case Operation::recycle:
    case Operation::renew:
      return known(state, instruction.value);
    case Operation::call:
    case Operation::spawn:
      return instruction.target != none || known(state, instruction.value);
    default:
      return true;
  }
}

// Known for commit-before: every source is decided, even if the value does not depend on it.
template <std::size_t W>
bool Machine<W>::known(const ThreadState<W>& state, std::int32_t expression) const {
  bool all = true;
  for (const ExpressionStep& step : program_.expressions[static_cast<std::size_t>(expression)])
    if (step.code == ExpressionCode::register_value) {
      all = all && are_decided(state.registers[state.base + step.operand].sources);
    }
  return all;
}

template <std::size_t W>
void Machine<W>::step(std::int32_t thread, ThreadState<W>& state) {
  const std::vector<Instruction>& code = code_of(state);
  if (static_cast<std::size_t>(state.pc) >= code.size()) {
    give_back(thread, state, {});
    return;
  }
  if (await_targets_[at(state.block)][at(state.pc)]) note_await_start(state);
  if (!limits_.counts_known_rounds && state.guess == no_event && loops_of(state.block).is_head(state.pc)) {
    if (looks_at_rounds() && leaves_round_out(state, false)) return;
    state.is_behind_head = !reads(code[at(state.pc)]);
    state.loops.arrive(state.callers.size(), state.pc, state.events.size());
  } else if (state.is_behind_head && looks_at_rounds() && reads(code[at(state.pc)])) {
    if (leaves_round_out(state, true)) return;
    state.is_behind_head = false;
  }
  const std::int32_t pc = state.pc++;
  const Instruction& instruction = code[static_cast<std::size_t>(pc)];
  if (has_seen_undefined_) {
    const std::size_t n_nodes = nodes_.size();
    const bool is_wrong = decides_on_undefined(state, instruction);
    nodes_.resize(n_nodes);  // how many there are must depend on the run alone
    if (is_wrong) {
      fail(state, pc, ViolationKind::uninitialised, 0);
      return;
    }
  }
  if (is_alone_ && step_alone(state, pc, instruction)) {
    ++n_alone_;
    return;
  }
  switch (instruction.operation) {
    case Operation::assign: in_register(state, instruction.destination) = evaluate(state, instruction.value); break;
    case Operation::load: fetch_load(thread, state, pc, instruction); break;
    case Operation::store: fetch_store(thread, state, pc, instruction); break;
    case Operation::store_conditional: fetch_conditional(thread, state, pc, instruction); break;
    case Operation::read_modify_write:
    case Operation::compare_exchange: fetch_update(thread, state, pc, instruction); break;
    case Operation::fence: fetch_fence(thread, state, pc, instruction.read_class); break;
    case Operation::jump: jump(state, pc, instruction.target); break;
    case Operation::branch: branch(thread, state, pc, instruction); break;
    case Operation::assume: assume(thread, state, pc, instruction); break;
    case Operation::await: wait(state, pc, instruction); break;
    case Operation::check: check(state, pc, instruction); break;
    case Operation::refuse: fail(state, pc, ViolationKind::unsupported, 0); break;
    case Operation::choose: fetch_choice(thread, state, pc, instruction); break;
    case Operation::exit: exit(thread, state, instruction); break;
    case Operation::call: call(state, pc, instruction); break;
    case Operation::give_back:
      give_back(thread, state, instruction.value == none ? RegisterContent<W>{} : evaluate(state, instruction.value));
      break;
    case Operation::spawn: spawn(thread, state, pc, instruction); break;
    case Operation::join: join(thread, state, pc, instruction); break;
    case Operation::allocate: allocate(state, pc, instruction); break;
    case Operation::release: release(thread, state, pc, instruction); break;
    case Operation::measure: measure(state, pc, instruction); break;
    case Operation::recycle: recycle(thread, state, pc, instruction); break;
    case Operation::renew: renew(thread, state, pc, instruction); break;
    case Operation::end_scope: end_scope(thread, state, pc, instruction); break;
    case Operation::detach: detach(thread, state, pc, instruction); break;
  }
}

// Does what the thread does next depend on an indeterminate value?
template <std::size_t W>
bool Machine<W>::decides_on_undefined(const ThreadState<W>& state, const Instruction& instruction) {
  switch (instruction.operation) {
    case Operation::check:
    case Operation::branch:
    case Operation::assume:
    case Operation::await:
      return known(state, instruction.value) && is_undecided(known(evaluate(state, instruction.value).node));
    case Operation::call:
    case Operation::spawn: return instruction.target == none && is_undefined(state, instruction.value);
    case Operation::join:
    case Operation::detach:
    case Operation::allocate:
    case Operation::release:
    case Operation::measure: return is_undefined(state, instruction.value);
    default: return false;
  }
}

template <std::size_t W>
void Machine<W>::assume(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const std::optional<bool> holds = decision(thread, state, pc, instruction, sources_of(state, instruction.value));
  if (holds && !*holds) state.status = ThreadStatus::blocked;
}

// A thread with an update that wrote something since it began to read goes back as by a jump.
template <std::size_t W>
void Machine<W>::wait(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on(state, sources_of(state, instruction.value));
  if (truth(state, instruction.value)) return;
  state.pc = pc;
  if (wrote_in_round(state).value_or(false)) jump(state, pc, instruction.target);
  else state.status = ThreadStatus::waiting;
}

// Nothing if it is not known yet whether an update writes.
template <std::size_t W>
std::optional<bool> Machine<W>::wrote_in_round(const ThreadState<W>& state) const {
  bool is_known = true;
  for (std::size_t i = round_start(state); i < state.events.size(); ++i) {
    const Event<W>& e = events_[state.events[i]];
    // Stores of a round that waits are to variables of calls that have ended.
    if (e.kind != EventKind::write || !e.is_compare || e.state == EventState::absent) continue;
    const std::optional<Value> writes = status_value(e);
    if (writes && *writes != 0) return true;
    is_known = is_known && writes;
  }
  return is_known ? std::optional(false) : std::nullopt;
}

template <std::size_t W>
std::vector<bool> Machine<W>::await_targets(const Block& block) {
  std::vector<bool> targets(block.code.size(), false);
  for (const Instruction& instruction : block.code)
    if (instruction.operation == Operation::await) targets[at(instruction.target)] = true;
  return targets;
}

// Instructions that are followed by an await or assumption, with nothing but assignments between.
// From where it may come to waiting, with no event on the way but one at that place.
template <std::size_t W>
std::vector<bool> Machine<W>::awaited(const Block& block) {
  std::vector<bool> waits(block.code.size() + 1, false), result = waits;  // a thread that does nothing begins and ends, too
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (std::size_t pc = block.code.size(); pc-- > 0;) {
      const Instruction& instruction = block.code[pc];
      result[pc] = std::ranges::any_of(BlockLoops::successors(block.code, pc), [&](std::size_t next) { return waits[next]; });
      const bool found = may_wait(instruction) || (is_local(instruction) && result[pc]);
      is_new = is_new || found != waits[pc];
      waits[pc] = found;
    }
  }
  return result;
}

template <std::size_t W>
bool Machine<W>::may_wait(const Instruction& instruction) {
  return instruction.operation == Operation::await || (instruction.operation == Operation::assume && !instruction.is_loose);
}

template <std::size_t W>
bool Machine<W>::is_local(const Instruction& instruction) {
  const Operation operation = instruction.operation;
  return operation == Operation::assign || operation == Operation::branch || operation == Operation::jump;
}

template <std::size_t W>
void Machine<W>::note_await_start(ThreadState<W>& state) {
  const std::size_t depth = state.callers.size();
  for (AwaitStart& start : state.await_starts)
    if (start.depth == depth && start.pc == state.pc) {
      start.n_events = state.events.size();
      return;
    }
  state.await_starts.push_back({depth, state.pc, state.events.size()});
}

// A thread does not wait for what a loose one says, and goes on behind one that fails because of what it has read, known
// or not: what it does then may be the reason. In a loop without events nothing new would come of that.
template <std::size_t W>
void Machine<W>::check(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const bool is_known = known(state, instruction.value);
  if (is_known && truth(state, instruction.value)) {
    if (!instruction.is_loose) depend_on(state, sources_of(state, instruction.value));
    return;
  }
  const auto n_events = static_cast<std::int32_t>(state.events.size());
  const auto is_again = [&](const OpenCheck& open) { return open.block == state.block && open.pc == pc && open.n_events == n_events; };
  const bool ends = !instruction.is_loose || sources_of(state, instruction.value).empty() || std::ranges::any_of(state.open_checks, is_again);
  if (is_known && ends)
    fail(state, pc, ViolationKind::assertion, 0);
  else
    state.open_checks.push_back({evaluate(state, instruction.value).node, state.block, pc, n_events});
}

template <std::size_t W>
void Machine<W>::fail(ThreadState<W>& state, std::int32_t pc, ViolationKind kind, Address address) {
  state.status = ThreadStatus::failed;
  state.pc = pc;
  state.failure = kind;
  state.failure_address = address;
}

}  // namespace dekker::rsmc
