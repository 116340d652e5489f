// Jumps, loops and branches, and what a thread may rely on alone.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
void Machine<W>::jump(ThreadState<W>& state, std::int32_t pc, std::int32_t target) {
  if (target <= pc && !go_round(state, target)) {
    state.status = ThreadStatus::cut;
    state.pc = pc;
    return;
  }
  state.pc = target;
}

template <std::size_t W>
bool Machine<W>::go_round(ThreadState<W>& state, std::int32_t head) {
  const std::size_t depth = state.callers.size();
  if (limits_.counts_known_rounds) return state.loops.go_round(depth, head) <= limits_.unroll;
  const auto rounds = state.loops.go_round(depth, head, loops_of(state.block), state.events.size());
  if (is_alone_) return !goes_round_for_ever(state, head);
  const bool is_known = rounds.n_known < most_known_rounds ||
                        (rounds.n_known < most_known_rounds_alone && alone_since(state.number).has_value());
  return rounds.count <= limits_.unroll && rounds.n_reading < most_reading_rounds && is_known;
}

template <std::size_t W>
const BlockLoops& Machine<W>::loops_of(std::int32_t block) {
  if (loops_.empty()) loops_.resize(program_.threads.size() + program_.functions.size());
  std::optional<BlockLoops>& loops = loops_[at(block)];
  if (!loops) loops.emplace(program_, program_.block(block).code, failing(block));
  return *loops;
}

// Where all ways lead to a failed assertion.
template <std::size_t W>
const std::vector<bool>& Machine<W>::failing(std::int32_t block) {
  if (failing_.empty()) failing_.resize(program_.threads.size() + program_.functions.size());
  std::vector<bool>& fails = failing_[at(block)];
  const std::vector<Instruction>& code = program_.block(block).code;
  if (!fails.empty()) return fails;
  fails.resize(code.size() + 1, false);  // also what a call of the block in itself finds
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (std::size_t pc = code.size(); pc-- > 0;)
      if (!fails[pc] && fails_at(code, pc, fails)) is_new = fails[pc] = true;
  }
  return fails;
}

template <std::size_t W>
bool Machine<W>::fails_at(const std::vector<Instruction>& code, std::size_t pc, const std::vector<bool>& fails) {
  const Instruction& instruction = code[pc];
  if (instruction.operation == Operation::check) {
    const Expression& condition = program_.expressions[at(instruction.value)];
    const bool is_false = condition.size() == 1 && condition[0].code == ExpressionCode::constant && condition[0].operand == 0;
    if (is_false) return true;
  }
  const bool calls = instruction.operation == Operation::call && instruction.target != none;
  if (calls && failing(instruction.target)[0]) return true;
  const std::vector<std::size_t> next = BlockLoops::successors(code, pc);
  return !next.empty() && std::ranges::all_of(next, [&](std::size_t i) { return fails[i]; });
}

// Nothing depends on a loose condition, so the thread does not wait for it: it is guessed in advance, and a run in which a
// guess turns out wrong does not count. Whether there is a guess must not depend on what is committed. What all that comes
// later waits for anyway, because of an earlier branch, is not guessed.
template <std::size_t W>
bool Machine<W>::is_guessed(const ThreadState<W>& state, const Instruction& instruction) const {
  if (!instruction.is_loose) return false;
  const auto is_read = [&](std::size_t id) { return events_[id].kind != EventKind::choice; };
  bool found = false;
  for (const ExpressionStep& step : program_.expressions[at(instruction.value)]) {
    if (step.code != ExpressionCode::register_value) continue;
    const Sources<W>& sources = state.registers[state.base + step.operand].sources;
    found = found || sources.deferred != none;
    sources.direct.for_each([&](std::size_t id) { found = found || (is_read(id) && !state.control.direct.test(id)); });
    sources.picked.for_each([&](std::size_t id) { found = found || is_read(id); });
  }
  return found;
}

// Whether the condition holds; nothing as long as that is to be guessed.
template <std::size_t W>
std::optional<bool> Machine<W>::decision(std::int32_t thread, ThreadState<W>& state, std::int32_t pc,
                                         const Instruction& instruction, const Sources<W>& sources) {
  if (!is_guessed(state, instruction)) {
    depend_on(state, sources);
    return truth(state, instruction.value);
  }
  if (state.guess == no_event) {
    state.guess = create(thread, state, pc, EventKind::choice, 0);
    events_[state.guess].is_guess = true;
    state.pc = pc;
    return std::nullopt;
  }
  const bool is_true = events_[state.guess].value != 0;
  state.obligations.get().open_guesses.push_back(
      {evaluate(state, instruction.value).node, is_true, state.block, pc, static_cast<std::int32_t>(state.events.size())});
  state.control.direct.set(state.guess);
  state.guess = no_event;
  return is_true;
}

template <std::size_t W>
bool Machine<W>::guesses_hold() const {
  return !guesses_ || std::ranges::all_of(threads_, [&](const ThreadState<W>& thread) {
    return std::ranges::all_of(thread.obligations->open_guesses, [&](const OpenGuess& guess) {
      const std::optional<Value> found = value(guess.condition);
      return !found || (*found != 0) == guess.is_true;
    });
  });
}

template <std::size_t W>
void Machine<W>::branch(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
  const Sources<W> sources = sources_of(state, instruction.value);
  const FixedBits<W> steering = state.control.direct;
  const FixedBits<W> idle = state.idle_control;
  const std::optional<bool> is_taken = decision(thread, state, pc, instruction, sources);
  if (!is_taken) return;
  if (instruction.target == pc + 1) {
    state.idle_control = idle;
    sources.direct.for_each([&](std::size_t id) {
      if (!steering.test(id)) state.idle_control.set(id);
    });
  }
  if (!limits_.counts_known_rounds) pass_branch(state, pc, instruction, sources);
  if (*is_taken) jump(state, pc, instruction.target);
}

template <std::size_t W>
void Machine<W>::pass_branch(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction,
                             const Sources<W>& sources) {
  state.loops.pass_branch(!sources.empty());
  const std::size_t depth = state.callers.size();
  for (const LeftLoop& left : loops_of(state.block).left_by(pc)) {
    std::uint64_t values = fingerprint(state, instruction.value);
    const std::size_t entered = state.loops.entered(depth, left.head, state.events.size());
    const bool is_open = !sources.empty() && !is_own(state.number, sources, entered, values);
    if (!is_open || !left.fails) state.loops.pass_exit(depth, pc, left.head, is_open, values);
    if (!is_open && is_chosen_in_memory(state, {left.head, pc}, sources, entered)) state.loops.choose_exit_late(depth, {left.head, pc});
  }
  for (const std::int32_t head : loops_of(state.block).goes_on_by(pc)) {
    std::uint64_t values = fingerprint(state, instruction.value);
    const std::size_t entered = state.loops.entered(depth, head, state.events.size());
    const bool is_open = !sources.empty() && !is_own(state.number, sources, entered, values);
    state.loops.go_on(depth, pc, head, is_open, values);
    if (!is_open && is_chosen_in_memory(state, {head, pc}, sources, entered)) state.loops.choose_exit_late(depth, {head, pc});
  }
  if (sources.empty()) return;
  for (const LoopExit& steered : loops_of(state.block).steered_by(pc))
    if (is_chosen(sources, state.loops.entered(depth, steered.head, state.events.size()))) state.loops.choose_exit(depth, steered);
  for (const std::int32_t head : loops_of(state.block).around(pc))
    if (is_chosen(sources, state.loops.entered(depth, head, state.events.size()))) state.loops.choose_branch(depth, {head, pc});
}

// Was something that the condition of the exit was computed from written in the loop, where a choice decides whether it is? The
// sources must be the thread's own.
template <std::size_t W>
bool Machine<W>::is_chosen_in_memory(const ThreadState<W>& state, const LoopExit& exit, const Sources<W>& sources,
                                     std::size_t entered) {
  const std::size_t depth = state.callers.size();
  if (sources.empty() || !state.loops.any_chosen_branch(depth, exit.head, [](std::int32_t) { return true; })) return false;
  std::vector<EventId> reads;
  FixedBits<W> seen;
  collect_own_reads(state.number, sources, entered, seen, reads);
  return std::ranges::any_of(reads, [&](EventId id) {
    const EventId source = events_[id].read_from;
    if (source == no_event || events_[source].thread != state.number || at(events_[source].index) < entered) return false;
    const std::int32_t place = events_[source].block == state.block ? events_[source].pc : none;
    return state.loops.any_chosen_branch(
        depth, exit.head, [&](std::int32_t branch) { return loops_of(state.block).decides_write(exit.head, branch, place); });
  });
}

// Did a choice have a part in it, after the thread had so many events?
template <std::size_t W>
bool Machine<W>::is_chosen(const Sources<W>& sources, std::size_t n_events) const {
  bool found = false;
  const Sources<W> exact = resolved(sources);
  (exact.direct | exact.picked).for_each([&](std::size_t id) {
    found = found || (is_chosen(events_[id]) && at(events_[id].index) >= n_events);
  });
  return found;
}

// Was the value computed from nothing but what was read or chosen before, when the thread had `entered` events, and what
// no other thread that is running writes, in any run? This is assumed as long as no such write was seen. Adds to the
// fingerprint from where.
template <std::size_t W>
bool Machine<W>::is_own(std::int32_t thread, const Sources<W>& sources, std::size_t entered, std::uint64_t& values) {
  std::vector<EventId> reads;
  FixedBits<W> seen;
  if (!collect_own_reads(thread, sources, entered, seen, reads)) return false;
  const std::optional<std::size_t> alone = reads.empty() ? std::nullopt : alone_since(thread);
  std::map<Address, bool> places;  // was it read while others were running?
  for (const EventId id : reads) places[events_[id].address] |= !alone || at(events_[id].index) < *alone;
  for (const auto& [place, was_contended] : places) {
    if (was_contended && !relies_on_writer(place, thread)) return false;
    values = mixed(values, place);
  }
  return true;
}

// The number of events after which no other thread was running: all that were started have ended, and it has joined them.
template <std::size_t W>
std::optional<std::size_t> Machine<W>::alone_since(std::int32_t thread) const {
  std::size_t since = 0;
  for (const ThreadState<W>& other : threads_) {
    if (other.number == thread || other.status == ThreadStatus::unborn) continue;
    const std::optional<std::size_t> joined = other.status == ThreadStatus::finished ? join_of(thread, other.number) : std::nullopt;
    if (!joined) return std::nullopt;
    since = std::max(since, *joined);
  }
  return since;
}

// Is it only the thread itself that writes there, or only one that it has joined?
template <std::size_t W>
bool Machine<W>::relies_on_writer(Address address, std::int32_t thread) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto known = writers_.find(address);
    const std::int32_t writer = known == writers_.end() ? thread : known->second;
    if (writer != thread && !join_of(thread, writer)) return false;
    if (trusts(address, writer)) return true;  // if not, another one is known now
  }
  return false;
}

template <std::size_t W>
bool Machine<W>::collect_own_reads(std::int32_t thread, const Sources<W>& sources, std::size_t entered,
                                   FixedBits<W>& seen, std::vector<EventId>& reads) const {
  if (!are_decided(sources)) return false;
  const Sources<W> exact = resolved(sources);
  std::vector<EventId> pending;
  (exact.direct | exact.picked).for_each([&](std::size_t id) {
    const bool is_earlier = at(events_[id].index) < entered;
    if (!seen.test(id) && !is_earlier) pending.push_back(static_cast<EventId>(id));
    seen.set(id);
  });
  return std::ranges::all_of(pending, [&](EventId id) {
    const Event<W>& e = events_[id];
    if (e.kind != EventKind::read || e.state != EventState::committed || e.role == Role::synchronised) return false;
    if (is_chosen(e)) return false;
    reads.push_back(id);
    if (e.read_from == no_event) return true;
    const Event<W>& source = events_[e.read_from];
    if (source.is_release || source.role == Role::conditional_store) return false;
    return source.thread != thread || collect_own_reads(thread, source.data_sources, entered, seen, reads);
  });
}

// Where in its events the thread has seen the other one end, by itself or through others that it has joined.
template <std::size_t W>
std::optional<std::size_t> Machine<W>::join_of(std::int32_t thread, std::int32_t other) const {
  if (other < 0) return std::nullopt;
  const ThreadState<W>& state = threads_[at(thread)];
  const auto found = std::ranges::find_if(state.events, [&](EventId id) {
    const Event<W>& e = events_[id];
    if (e.role != Role::synchronised || e.state != EventState::committed || id == state.begin) return false;
    return e.waits_for == other || join_of(e.waits_for, other).has_value();
  });
  if (found == state.events.end()) return std::nullopt;
  return static_cast<std::size_t>(found - state.events.begin());
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
