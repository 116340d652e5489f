// Jumps, loops and branches, and what a thread may rely on alone.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
void Machine<W>::jump(ThreadState<W>& state, std::int32_t pc, std::int32_t target) {
  if (target <= pc && !go_round(state, pc, target)) {
    state.status = ThreadStatus::cut;
    state.pc = pc;
    return;
  }
  state.pc = target;
}

template <std::size_t W>
bool Machine<W>::go_round(ThreadState<W>& state, std::int32_t pc, std::int32_t target) {
  const std::size_t depth = state.callers.size();
  if (limits_.counts_known_rounds) return state.loops.go_round(depth, pc) <= limits_.unroll;
  const auto rounds = state.loops.go_round(depth, pc, target, loops_of(state.block).exits(target));
  return rounds.count <= limits_.unroll && rounds.n_reading < most_reading_rounds && rounds.n_known < most_known_rounds;
}

template <std::size_t W>
const BlockLoops& Machine<W>::loops_of(std::int32_t block) {
  if (loops_.empty()) loops_.resize(program_.threads.size() + program_.functions.size());
  std::optional<BlockLoops>& loops = loops_[at(block)];
  if (!loops) loops.emplace(program_.block(block).code);
  return *loops;
}

// Nothing depends on a loose condition, so the thread does not wait for it: it is guessed in advance, and a run in which a
// guess turns out wrong does not count. Whether there is a guess must not depend on what is committed.
template <std::size_t W>
bool Machine<W>::is_guessed(const ThreadState<W>& state, const Instruction& instruction) const {
  if (!instruction.is_loose) return false;
  const auto is_read = [&](std::size_t id) { return events_[id].kind != EventKind::choice; };
  bool found = false;
  for (const ExpressionStep& step : program_.expressions[at(instruction.value)]) {
    if (step.code != ExpressionCode::register_value) continue;
    const Sources<W>& sources = state.registers[state.base + step.operand].sources;
    found = found || sources.deferred != none;
    (sources.direct | sources.picked).for_each([&](std::size_t id) { found = found || is_read(id); });
  }
  return found;
}

// Whether the condition holds; nothing as long as that is to be guessed.
template <std::size_t W>
std::optional<bool> Machine<W>::decision(std::int32_t thread, ThreadState<W>& state, std::int32_t pc,
                                         const Instruction& instruction) {
  if (!is_guessed(state, instruction)) {
    merge(state.control, sources_of(state, instruction.value));
    return truth(state, instruction.value);
  }
  if (state.guess == no_event) {
    state.guess = create(thread, state, pc, EventKind::choice, 0);
    events_[state.guess].is_guess = true;
    state.pc = pc;
    return std::nullopt;
  }
  const bool is_true = events_[state.guess].value != 0;
  state.open_guesses.push_back({evaluate(state, instruction.value).node, is_true, state.block, pc});
  state.control.direct.set(state.guess);
  state.guess = no_event;
  return is_true;
}

template <std::size_t W>
bool Machine<W>::guesses_hold() const {
  return std::ranges::all_of(threads_, [&](const ThreadState<W>& thread) {
    return std::ranges::all_of(thread.open_guesses, [&](const OpenGuess& guess) {
      const std::optional<Value> found = value(guess.condition);
      return !found || (*found != 0) == guess.is_true;
    });
  });
}

template <std::size_t W>
void Machine<W>::branch(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Sources<W> sources = sources_of(state, instruction.value);
  const std::optional<bool> is_taken = decision(thread, state, pc, instruction);
  if (!is_taken) return;
  if (!limits_.counts_known_rounds) pass_branch(state, pc, instruction, sources);
  if (*is_taken) jump(state, pc, instruction.target);
}

template <std::size_t W>
void Machine<W>::pass_branch(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction,
                             const Sources<W>& sources) {
  state.loops.pass_branch(!sources.empty());
  if (!loops_of(state.block).is_exit(pc)) return;
  std::uint64_t values = fingerprint(state, instruction.value);
  const bool is_open = !sources.empty() && !is_own(state.number, sources, values);
  state.loops.pass_exit(state.callers.size(), pc, is_open, values);
}

// Was the value computed from nothing but what no other thread writes, in no run? This is assumed as long as no such
// write was seen. Adds to the fingerprint from where.
template <std::size_t W>
bool Machine<W>::is_own(std::int32_t thread, const Sources<W>& sources, std::uint64_t& values) {
  std::vector<EventId> reads;
  FixedBits<W> seen;
  if (!collect_own_reads(thread, sources, seen, reads)) return false;
  for (const EventId id : reads) {
    if (!trusts(events_[id].address, thread)) return false;
    values = mixed(values, events_[id].address);
  }
  return true;
}

template <std::size_t W>
bool Machine<W>::collect_own_reads(std::int32_t thread, const Sources<W>& sources, FixedBits<W>& seen,
                                   std::vector<EventId>& reads) const {
  if (!are_decided(sources)) return false;
  const Sources<W> exact = resolved(sources);
  std::vector<EventId> pending;
  (exact.direct | exact.picked).for_each([&](std::size_t id) {
    if (!seen.test(id)) pending.push_back(static_cast<EventId>(id));
    seen.set(id);
  });
  return std::ranges::all_of(pending, [&](EventId id) {
    const Event<W>& e = events_[id];
    if (e.kind != EventKind::read || e.state != EventState::committed || e.role == Role::synchronised) return false;
    const auto writer = writers_.find(e.address);
    if (writer != writers_.end() && writer->second != thread) return false;
    reads.push_back(id);
    if (e.read_from == no_event) return true;
    const Event<W>& source = events_[e.read_from];
    return !source.is_release && source.role != Role::conditional_store &&
           collect_own_reads(thread, source.data_sources, seen, reads);
  });
}

template <std::size_t W>
bool Machine<W>::trusts(Address address, std::int32_t thread) {
  const auto [entry, is_new] = trusted_.try_emplace(address, thread);
  if (!is_new && (entry->second == thread || entry->second == Knowledge::several)) return true;
  const std::optional<std::int32_t> other = knowledge_.trust(address, thread);
  if (other) {
    if (is_new) trusted_.erase(entry);
    writers_[address] = *other;
    return false;
  }
  if (!is_new) entry->second = Knowledge::several;
  return true;
}

template <std::size_t W>
void Machine<W>::note_writer(Address address, std::int32_t thread) {
  const auto [entry, is_new] = writers_.try_emplace(address, thread);
  if (!is_new && (entry->second == Knowledge::several || entry->second == thread)) return;
  entry->second = knowledge_.note_writer(address, thread);
}

template <std::size_t W>
std::uint64_t Machine<W>::fingerprint(const ThreadState<W>& state, std::int32_t expression) const {
  std::uint64_t result = 0;
  for (const ExpressionStep& step : program_.expressions[at(expression)])
    if (step.code == ExpressionCode::register_value)
      result = mixed(result, value(state.registers[state.base + step.operand].node).value_or(0));
  return result;
}

}  // namespace dekker::rsmc
