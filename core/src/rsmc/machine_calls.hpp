// Calls, and threads that are started and waited for.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// `none` if the value is no function.
template <std::size_t W>
std::int32_t Machine<W>::called_block(const ThreadState<W>& state, const Instruction& instruction) {
  if (instruction.target != none) return instruction.target;
  const auto found = program_.function_at.find(*value(evaluate(state, instruction.value).node));
  return found == program_.function_at.end() ? none : found->second;
}

template <std::size_t W>
std::vector<RegisterContent<W>> Machine<W>::arguments(const ThreadState<W>& state, const Instruction& instruction) {
  std::vector<RegisterContent<W>> found;
  for (std::int32_t i = 0; i < instruction.n_arguments; ++i)
    found.push_back(evaluate(state, program_.arguments[at(instruction.first_argument + i)]));
  return found;
}

// What decides how to go on (what is called, joined, freed) is a control dependency of what follows.
template <std::size_t W>
void Machine<W>::depend_on_value(ThreadState<W>& state, const Instruction& instruction) {
  depend_on(state, sources_of(state, instruction.value));
}

template <std::size_t W>
void Machine<W>::call(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  if (instruction.target == none) depend_on_value(state, instruction);
  const std::int32_t block = called_block(state, instruction);
  if (block == none || state.callers.size() >= deepest_call) {
    fail(state, pc, ViolationKind::call, block == none ? *value(evaluate(state, instruction.value).node) : too_deep);
    return;
  }
  const std::vector<RegisterContent<W>> given = arguments(state, instruction);
  state.callers.push_back({state.block, state.pc, state.base, instruction.destination});
  state.base = static_cast<std::uint32_t>(state.registers.size());
  state.block = block;
  state.pc = 0;
  enter_block(state);
  pass_arguments(state, given);
}

// Those that the block does not expect are dropped.
template <std::size_t W>
void Machine<W>::pass_arguments(ThreadState<W>& state, const std::vector<RegisterContent<W>>& given) {
  const std::vector<std::int32_t>& parameters = program_.block(state.block).parameters;
  for (std::size_t i = 0; i < std::min(parameters.size(), given.size()); ++i) in_register(state, parameters[i]) = given[i];
}

template <std::size_t W>
void Machine<W>::give_back(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result) {
  end_scopes(thread, state, [&](const Scoped& item) { return item.depth == state.callers.size() && !item.is_lasting; });
  if (state.callers.empty()) {
    end_thread(thread, state, result);
    return;
  }
  const auto is_of_call = [&](const auto& item) { return item.depth == state.callers.size(); };
  state.loops.leave_call(state.callers.size());
  std::erase_if(state.await_starts, is_of_call);
  const Caller caller = state.callers.back();
  state.callers.pop_back();
  state.registers.resize(state.base);
  state.block = caller.block;
  state.pc = caller.pc;
  state.base = caller.base;
  if (caller.destination != none) in_register(state, caller.destination) = result;
}

template <std::size_t W>
void Machine<W>::spawn(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  if (instruction.target == none) depend_on_value(state, instruction);
  const std::int32_t block = called_block(state, instruction);
  if (block == none) {
    fail(state, pc, ViolationKind::call, *value(evaluate(state, instruction.value).node));
    return;
  }
  const std::vector<RegisterContent<W>> given = arguments(state, instruction);
  if (ends_are_owed_ && state.joining != no_event) note_that_ends_matter();
  if (thread != first_thread) note_told_apart();
  const std::int32_t child = spawned_thread(thread, state.n_spawned++);
  synchronisation_fence(thread, state, pc);
  const EventId write = synchronisation_write(thread, state, pc, start_address(child), constant(1), {});
  if (instruction.destination != none)
    in_register(state, instruction.destination) = {constant(static_cast<Value>(child) + 1), {}};
  begin_thread(child, block, given, write);
}

// The same number in every run.
template <std::size_t W>
std::int32_t Machine<W>::spawned_thread(std::int32_t parent, std::int32_t nth) {
  const auto known = spawned_.find({parent, nth});
  if (known != spawned_.end()) return known->second;
  const std::int32_t number = knowledge_.number_of_thread(parent, nth, program_.threads.size());
  spawned_.emplace(std::pair(parent, nth), number);
  while (threads_.size() <= at(number)) {
    threads_.emplace_back();
    threads_.back().number = static_cast<std::int32_t>(threads_.size() - 1);
  }
  return number;
}

template <std::size_t W>
void Machine<W>::begin_thread(std::int32_t child, std::int32_t block, std::vector<RegisterContent<W>> given,
                              EventId started_by) {
  save(child);
  ThreadState<W>& state = threads_[at(child)];
  state.status = ThreadStatus::running;
  state.block = block;
  enter_block(state);
  ThreadStart start = start_with(block, given);
  state.start = ahead_->of(start);
  note_start(child, std::move(start));
  // Dependencies do not reach from one thread into another; when it begins, all these values are known.
  for (RegisterContent<W>& argument : given) argument.sources = {};
  pass_arguments(state, given);
  state.started_by = started_by;
  state.begin = synchronisation_read(child, state, 0, start_address(child), child);
  synchronisation_fence(child, state, 0);
}

template <std::size_t W>
ThreadStart Machine<W>::start_with(std::int32_t block, const std::vector<RegisterContent<W>>& given) const {
  ThreadStart start{block, {}};
  for (const RegisterContent<W>& argument : given)
    start.arguments.push_back(undefined(argument.node) == 0 ? value(argument.node) : std::nullopt);
  return start;
}

template <std::size_t W>
void Machine<W>::note_start(std::int32_t child, ThreadStart&& start) {
  if (!renames_) return;
  if (own_places_.has_arrays()) note_told_apart();
  if (starts_.size() <= at(child)) starts_.resize(at(child) + 1);
  starts_[at(child)] = std::move(start);
}

// Others go on after the program has ended: they could have done the same before, because the end can come late. But
// nobody sees this thread end.
template <std::size_t W>
void Machine<W>::exit(std::int32_t thread, ThreadState<W>& state, const Instruction& instruction) {
  if (instruction.ends_program) {
    state.status = ThreadStatus::ended;
    return;
  }
  end_scopes(thread, state, [](const Scoped&) { return true; });
  state.callers.clear();
  give_back(thread, state, {});
}

template <std::size_t W>
void Machine<W>::end_thread(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result) {
  state.status = ThreadStatus::finished;
  if (state.begin == no_event) return;
  state.result = result;
  state.owes_end = true;
  if (!ends_are_owed_) write_end(thread, state);
}

template <std::size_t W>
void Machine<W>::write_end(std::int32_t thread, ThreadState<W>& state) {
  state.owes_end = false;
  const std::int32_t last = std::max(0, state.pc - 1);
  synchronisation_fence(thread, state, last);
  state.end = synchronisation_write(thread, state, last, end_address(thread), state.result.node, state.result.sources);
}

template <std::size_t W>
void Machine<W>::join(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  const Value handle = *value(evaluate(state, instruction.value).node);
  if (!claim(state, pc, handle, true)) {
    fail(state, pc, ViolationKind::join, handle);
    return;
  }
  if (ends_are_owed_ && thread != first_thread) note_that_ends_matter();
  if (thread != first_thread) note_told_apart();
  const auto other = static_cast<std::int32_t>(handle - 1);
  const EventId id = synchronisation_read(thread, state, pc, end_address(other), other);
  state.joining = id;
  synchronisation_fence(thread, state, pc);
  if (instruction.destination != none) in_register(state, instruction.destination) = loaded(id, false);
}

// Joins, which is an event, or detaches a thread: that is done once, and by one. Whether others do it, too, is asked at the end of the run: who
// comes first is not decided by the run alone.
template <std::size_t W>
bool Machine<W>::claim(ThreadState<W>& state, std::int32_t pc, Value handle, bool is_join) {
  const bool is_thread = handle > program_.threads.size() && handle <= threads_.size() &&
                         threads_[handle - 1].status != ThreadStatus::unborn;
  const auto number = static_cast<std::int32_t>(handle - 1);
  std::vector<Claim>& claimed = state.obligations.get().claimed;
  if (!is_thread || std::ranges::find(claimed, number, &Claim::thread) != claimed.end()) return false;
  claimed.push_back({number, state.block, pc, static_cast<std::int32_t>(state.events.size()) + is_join,
                     static_cast<std::int32_t>(state.open_checks.size()), is_join});
  return true;
}

// 0 stands for the thread itself; the first thread, which nobody can join, may detach itself.
template <std::size_t W>
void Machine<W>::detach(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  depend_on_value(state, instruction);
  const Value handle = *value(evaluate(state, instruction.value).node);
  if (handle == 0 && at(thread) < program_.threads.size()) return;
  if (handle != 0 && thread != first_thread) note_told_apart();
  if (!claim(state, pc, handle == 0 ? static_cast<Value>(thread) + 1 : handle, false))
    fail(state, pc, ViolationKind::join, handle);
}

template <std::size_t W>
void Machine<W>::synchronisation_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc) {
  if (program_.synchronisation.fence_class == none) return;
  fetch_fence(thread, state, pc, program_.synchronisation.fence_class);
}

template <std::size_t W>
EventId Machine<W>::synchronisation_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
                                          NodeId stored, const Sources<W>& sources) {
  const NodeId where = constant(address);
  const EventId id = create(thread, state, pc, EventKind::write, program_.synchronisation.write_class);
  Event<W>& e = events_[id];
  e.size = 8;
  e.address_node = where;
  e.value_node = stored;
  e.data_sources = sources;
  if (!order_.in_order) find_order(state, e);
  return id;
}

template <std::size_t W>
EventId Machine<W>::synchronisation_read(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
                                         std::int32_t waits_for) {
  const NodeId where = constant(address);
  const EventId id = create(thread, state, pc, EventKind::read, program_.synchronisation.read_class);
  Event<W>& e = events_[id];
  e.size = 8;
  e.address_node = where;
  e.role = Role::synchronised;
  e.waits_for = waits_for;
  if (!order_.in_order) find_order(state, e);
  return id;
}

}  // namespace dekker::rsmc
