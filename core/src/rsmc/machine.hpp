// The threads of a program, run over values that may not be known yet, and the events they fetch.
//
// A register holds a node: a constant, or an expression over loads that are not committed. Everything a step changes can
// be taken back: nodes and events are stacks, threads are saved before they change.
#pragma once

#include <cstddef>
#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <stdexcept>
#include <vector>

#include "dekker/arithmetic.hpp"
#include "dekker/rsmc/explore.hpp"
#include "dekker/rsmc/program.hpp"
#include "rsmc/fixed_bits.hpp"
#include "rsmc/knowledge.hpp"
#include "rsmc/loops.hpp"

namespace dekker::rsmc {

// More events or run items than the words at hand can number; the exploration starts again with more.
struct CapacityNeeded {};

using EventId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr EventId no_event = ~EventId{0};
inline constexpr std::uint32_t not_in_matrix = ~std::uint32_t{0};

enum class EventState : std::uint8_t {
  pending,
  committed,
  failed,  // the model allows no parameter: the run does not count
  asleep,  // a read whose thread would only wait for ever: it was left out
  absent,  // the write of a compare-exchange or store-conditional that fails
};

enum class Role : std::uint8_t { plain, linked_load, conditional_store, update_read, update_write, synchronised };

// The events that a value was computed from. Those in `picked` only chose between alternatives. While a choice is open,
// `deferred` says where the sources of the alternatives are.
template <std::size_t W>
struct Sources {
  FixedBits<W> direct;
  FixedBits<W> picked;
  std::int32_t deferred = none;

  bool empty() const { return deferred == none && direct.empty() && picked.empty(); }
};

template <std::size_t W>
struct Event {
  std::int32_t thread = 0;
  std::int32_t index = 0;  // in its thread
  std::int32_t block = 0;
  std::int32_t pc = 0;
  EventKind kind = EventKind::read;
  Role role = Role::plain;
  EventState state = EventState::pending;
  std::uint8_t size = 0;
  std::int32_t event_class = 0;
  std::int32_t failed_class = none;
  EventId chosen_by = no_event;  // conditional stores: the choice that says whether it succeeds
  bool is_release = false;     // a write that releases memory
  bool is_piece = false;
  EventId partner = no_event;  // the other half of an update; the load of a conditional store
  std::int32_t waits_for = none;  // reads that begin a thread or join one: the thread that is spawned or has to end
  NodeId address_node = 0;
  NodeId value_node = 0;  // writes
  NodeId expected_node = 0;
  bool is_compare = false;
  bool is_quiet = false;  // a comparison that succeeds if the values differ
  bool is_weak = false;
  bool has_failed = false;    // the committed read of a compare-exchange that failed
  bool must_fail = false;     // the read of a compare-exchange whose failure was decided in advance
  bool must_succeed = false;  // or whose success was
  bool failed_early = false;  // and its write
  Address address = 0;  // once known
  Value value = 0;      // once committed
  Sources<W> address_sources;
  Sources<W> data_sources;
  Sources<W> control;
  FixedBits<W> ordered_after;  // earlier events of the thread that classes and fences keep before this one
  FixedBits<W> fenced_after;   // those that fences keep before it
  EventId read_from = no_event;  // reads; no_event is the initial write
  std::uint32_t run_index = 0;
  std::uint64_t stamp = 0;  // when it was first explored, while it is in the run
  std::uint32_t matrix_index = not_in_matrix;
  // An access that the model must know of before it is committed has a shadow in the matrix: an event like it that takes no
  // part in communication.
  std::int32_t shadow_index = none;
  FixedBits<W> readers;  // writes: matrix indices of the reads that took this value
};

// `ended` threads have ended the program; those that wait for them wait in vain.
enum class ThreadStatus : std::uint8_t { unborn, running, finished, ended, blocked, waiting, cut, failed };

template <std::size_t W>
struct RegisterContent {
  NodeId node = 0;
  Sources<W> sources;
};

// A call that is not finished: where to go on.
struct Caller {
  std::int32_t block;
  std::int32_t pc;
  std::uint32_t base;
  std::int32_t destination;
};

// A check whose condition was not known when the thread came to it.
struct OpenCheck {
  NodeId condition;
  std::int32_t block;
  std::int32_t pc;
};

// When control last came to where an await goes back to: how many events the thread had then.
struct AwaitStart {
  std::size_t depth;
  std::int32_t pc;
  std::size_t n_events;
};

template <std::size_t W>
struct ThreadState {
  std::int32_t number = 0;
  ThreadStatus status = ThreadStatus::unborn;
  std::int32_t block = 0;
  std::int32_t pc = 0;
  std::uint32_t base = 0;  // where the registers of the current call begin
  std::vector<Caller> callers;
  std::vector<RegisterContent<W>> registers;
  std::vector<EventId> events;
  LoopHistory loops;
  std::vector<AwaitStart> await_starts;
  std::vector<OpenCheck> open_checks;
  Sources<W> control;
  EventId linked = no_event;
  EventId started_by = no_event;  // spawned threads: the write that lets them begin
  EventId begin = no_event;       // and the read that waits for it
  EventId end = no_event;         // the write that lets others join
  EventId joining = no_event;     // the last read with which it joins another
  bool owes_end = false;          // it has ended, but there is no such write yet
  RegisterContent<W> result;
  std::int32_t n_spawned = 0;
  Address allocated = 0;  // bytes
  ViolationKind failure = ViolationKind::assertion;
  Address failure_address = 0;
};

struct AllocatedObject {
  Address start;
  Address size;
  bool is_own;  // not of the heap
  Place place;
  bool is_released = false;  // before other threads existed; later releases are events
};

// Two deferred parts, or (if `condition` is set) the alternatives of an open choice.
template <std::size_t W>
struct DeferredSources {
  std::optional<NodeId> condition;
  Sources<W> first;
  Sources<W> second;
};

struct Node {
  enum class Kind : std::uint8_t { constant, loaded, status, chosen, unary, binary, select, update } kind;
  std::uint8_t operation = 0;
  std::uint8_t width = 0;
  bool is_signed = false;
  NodeId a = 0, b = 0, c = 0;
  Value value = 0;  // a constant, or the event whose value it is
};

template <std::size_t W>
class Machine {
 public:
  Machine(const Program& program, const CommitOrder& order, const Limits& limits, Knowledge& knowledge)
      : program_(program), order_(order), limits_(limits), knowledge_(knowledge) {
    nodes_.push_back({Node::Kind::constant});
    is_alone_ = program.threads.size() == 1 && !program.functions.empty();
    for (std::size_t b = 0; b < program.threads.size() + program.functions.size(); ++b) {
      await_targets_.push_back(await_targets(program.block(static_cast<std::int32_t>(b))));
      awaited_.push_back(awaited(program.block(static_cast<std::int32_t>(b))));
    }
    for (std::size_t t = 0; t < program.threads.size(); ++t) threads_.push_back(start(static_cast<std::int32_t>(t)));
    for (std::size_t t = 0; t < program.threads.size(); ++t) advance(static_cast<std::int32_t>(t));
    is_alone_ = false;
  }

  // How many accesses and fences the only thread did before others existed.
  std::uint64_t n_alone() const { return n_alone_; }

  struct Mark {
    std::size_t nodes, events, saved, deferred, objects;

    bool operator==(const Mark&) const = default;
  };

  Mark mark() const { return {nodes_.size(), events_.size(), saved_.size(), deferred_.size(), objects_.size()}; }

  void undo(const Mark& mark) {
    while (saved_.size() > mark.saved) {
      std::swap(threads_[static_cast<std::size_t>(saved_.back().first)], saved_.back().second);
      spare_.push_back(std::move(saved_.back().second));
      saved_.pop_back();
    }
    nodes_.resize(mark.nodes);
    events_.resize(mark.events);
    deferred_.resize(mark.deferred);
    objects_.resize(mark.objects);
  }

  // A read that failed never has a value.
  static bool is_decided(const Event<W>& e) {
    if (e.state == EventState::pending || e.state == EventState::asleep) return false;
    return e.state != EventState::failed || e.kind != EventKind::read;
  }

  // Has every event that the value was computed from been decided, other than `exempt`?
  bool are_decided(const Sources<W>& sources, EventId exempt = no_event) const {
    bool all = true;
    (sources.direct | sources.picked).for_each([&](std::size_t source) {
      all = all && (source == exempt || is_decided(events_[source]));
    });
    if (!all || sources.deferred == none) return all;
    const DeferredSources<W>& parts = deferred_[at(sources.deferred)];
    if (!parts.condition) return are_decided(parts.first, exempt) && are_decided(parts.second, exempt);
    const std::optional<Value> choice = value(*parts.condition);
    return choice && are_decided(*choice != 0 ? parts.first : parts.second, exempt);
  }

  // With choices made; all sources must be decided.
  Sources<W> resolved(const Sources<W>& sources) const {
    if (sources.deferred == none) return sources;
    Sources<W> result = sources;
    result.deferred = none;
    const DeferredSources<W>& parts = deferred_[at(sources.deferred)];
    const auto include = [&](const Sources<W>& part) {
      const Sources<W> inner = resolved(part);
      result.direct |= inner.direct;
      result.picked |= inner.picked;
    };
    const bool both = !parts.condition;
    const bool first = both || value(*parts.condition).value_or(1) != 0;
    if (first) include(parts.first);
    if (both || !first) include(parts.second);
    return result;
  }

  Event<W>& event(EventId id) { return events_[id]; }
  const Event<W>& event(EventId id) const { return events_[id]; }
  std::size_t n_events() const { return events_.size(); }
  const std::deque<ThreadState<W>>& threads() const { return threads_; }
  const std::vector<AllocatedObject>& objects() const { return objects_; }
  const EventClass& class_of(const Event<W>& e) const { return program_.classes[static_cast<std::size_t>(e.event_class)]; }

  // Fences and settled writes found since the last call, to be taken by the explorer in this order.
  std::vector<EventId>& local_events() { return local_; }

  // Fetches as far as known values allow.
  void advance(std::int32_t thread) {
    ThreadState<W>& state = threads_[static_cast<std::size_t>(thread)];
    if (state.status != ThreadStatus::running || !can_continue(state)) return;
    save(thread);
    std::uint64_t n_steps = 0;
    while (state.status == ThreadStatus::running && can_continue(state)) {
      step(thread, state);
      if (++n_steps > most_steps) state.status = ThreadStatus::cut;
    }
  }

  // Where joins are last, threads end without an event until someone asks for it.
  bool owes_ends() const {
    return std::ranges::any_of(threads_, [](const ThreadState<W>& thread) { return thread.owes_end; });
  }

  void write_owed_ends() {
    for (std::size_t t = 0; t < threads_.size(); ++t) {
      if (!threads_[t].owes_end) continue;
      save(static_cast<std::int32_t>(t));
      write_end(static_cast<std::int32_t>(t), threads_[t]);
    }
  }

  bool is_joining(const ThreadState<W>& state) const {
    return state.joining != no_event && events_[state.joining].state == EventState::pending;
  }

  // Does what stopped the fetch of its thread depend on the event?
  bool is_held_by(const ThreadState<W>& state, EventId id) const {
    const std::vector<Instruction>& code = code_of(state);
    if (static_cast<std::size_t>(state.pc) >= code.size()) return false;
    const std::int32_t expression = code[at(state.pc)].value;
    if (expression == none) return false;
    return std::ranges::any_of(program_.expressions[at(expression)], [&](const ExpressionStep& step) {
      if (step.code != ExpressionCode::register_value) return false;
      const Sources<W>& sources = state.registers[state.base + step.operand].sources;
      return sources.direct.test(id) || sources.picked.test(id);
    });
  }

  std::optional<Value> value(NodeId id) const {
    const Node& node = nodes_[id];
    switch (node.kind) {
      case Node::Kind::constant: return node.value;
      case Node::Kind::loaded: return loaded_value(node);
      case Node::Kind::status: return status_value(events_[node.value]);
      case Node::Kind::chosen: return chosen_value(events_[node.value]);
      default: return operation_value(node);
    }
  }

  Value final_register(std::int32_t thread, std::int32_t number) const {
    const auto& content = threads_[static_cast<std::size_t>(thread)].registers[static_cast<std::size_t>(number)];
    return value(content.node).value_or(0);
  }

  // Before anything was written that is an event.
  std::uint8_t initial_byte(Address address) const {
    const auto written = written_alone_.find(address);
    if (written != written_alone_.end()) return written->second;
    const auto found = program_.initial_bytes.find(address);
    return found == program_.initial_bytes.end() ? 0 : found->second;
  }

  // Every byte that is not 0 at the start, and some that are.
  template <class Visit>
  void for_each_initial_byte(Visit visit) const {
    for (const auto& entry : program_.initial_bytes) visit(entry.first);
    for (const auto& entry : written_alone_) visit(entry.first);
  }

  // In the gap before the object: written by all that release it, and by nothing else.
  static Address header_of(Address object) { return object - 16; }
  // Does the thread go on only if it likes what is read?
  bool is_awaited(const Event<W>& e) const { return awaited_[at(e.block)][at(e.pc)]; }

  // The first event of the round in which a thread waits.
  std::size_t round_start(const ThreadState<W>& state) const {
    const std::int32_t target = code_of(state)[at(state.pc)].target;
    for (const AwaitStart& start : state.await_starts)
      if (start.depth == state.callers.size() && start.pc == target) return start.n_events;
    return state.events.size();
  }

  // Reads that begin or join a thread: has it been spawned, or has it ended?
  bool is_released(const Event<W>& e) const {
    const ThreadState<W>& other = threads_[at(e.waits_for)];
    const EventId write = other.begin != no_event && &events_[other.begin] == &e ? other.started_by : other.end;
    return write != no_event && events_[write].state == EventState::committed;
  }

  // Called for every location that is accessed.
  void note_field(Address address, std::uint8_t size) {
    for (const AllocatedObject& object : objects_)
      if (address >= object.start && address - object.start < object.size) {
        const bool is_new = parts_[object.start].insert({address - object.start, size}).second;
        if (is_new) knowledge_.note_part(object.start, address - object.start, size);
      }
  }

  bool is_header(Address address) const {
    return std::ranges::any_of(objects_, [&](const AllocatedObject& object) { return header_of(object.start) == address; });
  }

  bool is_in_object(Address address, std::uint8_t size) const {
    const auto contains = [&](const auto& object) {
      return address >= object.start && address - object.start + size <= object.size;
    };
    const auto is_there = [&](const AllocatedObject& object) { return !object.is_released && contains(object); };
    return std::ranges::any_of(program_.objects, contains) || std::ranges::any_of(objects_, is_there);
  }

  // Why there is nothing to access.
  ViolationKind kind_outside(Address address) const {
    const bool was_there = std::ranges::any_of(objects_, [&](const AllocatedObject& object) {
      return object.is_released && address >= object.start && address - object.start < object.size;
    });
    return was_there ? ViolationKind::use_after_free : ViolationKind::memory;
  }

  bool is_synchronisation(const Event<W>& e) const {
    return e.address >= synchronisation_start && e.address < start_address(static_cast<std::int32_t>(threads_.size()));
  }

  Place place_of(const Event<W>& e) const { return {e.thread, e.block, e.pc}; }

  bool resolve_address(Event<W>& e) {
    const std::optional<Value> found = value(e.address_node);
    if (found && e.address != *found) {
      e.address = *found;
      if (e.kind == EventKind::write && !e.is_release && !limits_.counts_known_rounds) note_writer(e.address, e.thread);
    }
    return found.has_value();
  }

  // Does the compare-exchange that reads `old_value` write? Unknown while the expected value is.
  std::optional<bool> compare_succeeds(const Event<W>& read, Value old_value) const {
    const std::optional<Value> expected = value(read.expected_node);
    if (!expected) return std::nullopt;
    const bool are_equal = ((*expected ^ old_value) & low_bits(8u * read.size)) == 0;
    return are_equal != read.is_quiet;
  }

 private:
  ThreadState<W> start(std::int32_t block) {
    ThreadState<W> state;
    state.number = block;
    state.status = ThreadStatus::running;
    state.block = block;
    enter_block(state);
    return state;
  }

  // Makes room for the registers of the block; those not mentioned are 0.
  void enter_block(ThreadState<W>& state) {
    const Block& block = program_.block(state.block);
    state.registers.resize(state.base + static_cast<std::size_t>(block.n_registers));
    std::fill(state.registers.begin() + state.base, state.registers.end(), RegisterContent<W>{});
    for (const auto& [number, initial] : block.initial_registers) in_register(state, number).node = constant(initial);
  }

  static RegisterContent<W>& in_register(ThreadState<W>& state, std::int32_t number) {
    return state.registers[state.base + at(number)];
  }

  void save(std::int32_t thread) {
    ThreadState<W> copy;
    if (!spare_.empty()) {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
    copy = threads_[static_cast<std::size_t>(thread)];
    saved_.emplace_back(thread, std::move(copy));
  }

  bool can_continue(const ThreadState<W>& state) const {
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
      case Operation::join:
      case Operation::allocate:
      case Operation::release:
      case Operation::measure:
        return known(state, instruction.value);
      case Operation::call:
      case Operation::spawn:
        return instruction.target != none || known(state, instruction.value);
      default:
        return true;
    }
  }

  const std::vector<Instruction>& code_of(const ThreadState<W>& state) const { return program_.block(state.block).code; }

  // Known for commit-before: every source is decided, even if the value does not depend on it.
  bool known(const ThreadState<W>& state, std::int32_t expression) const {
    bool all = true;
    for (const ExpressionStep& step : program_.expressions[static_cast<std::size_t>(expression)])
      if (step.code == ExpressionCode::register_value) {
        all = all && are_decided(state.registers[state.base + step.operand].sources);
      }
    return all;
  }

  void step(std::int32_t thread, ThreadState<W>& state) {
    const std::vector<Instruction>& code = code_of(state);
    if (static_cast<std::size_t>(state.pc) >= code.size()) {
      give_back(thread, state, {});
      return;
    }
    if (await_targets_[at(state.block)][at(state.pc)]) note_await_start(state);
    const std::int32_t pc = state.pc++;
    const Instruction& instruction = code[static_cast<std::size_t>(pc)];
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
      case Operation::branch: branch(state, pc, instruction); break;
      case Operation::assume:
        merge(state.control, sources_of(state, instruction.value));
        if (!truth(state, instruction.value)) state.status = ThreadStatus::blocked;
        break;
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
    }
  }

  // A thread with an update that wrote something since it began to read goes back as by a jump.
  void wait(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    merge(state.control, sources_of(state, instruction.value));
    if (truth(state, instruction.value)) return;
    state.pc = pc;
    if (wrote_in_round(state).value_or(false)) jump(state, pc, instruction.target);
    else state.status = ThreadStatus::waiting;
  }

  // Nothing if it is not known yet whether an update writes.
  std::optional<bool> wrote_in_round(const ThreadState<W>& state) const {
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

  static std::vector<bool> await_targets(const Block& block) {
    std::vector<bool> targets(block.code.size(), false);
    for (const Instruction& instruction : block.code)
      if (instruction.operation == Operation::await) targets[at(instruction.target)] = true;
    return targets;
  }

  // Instructions that are followed by an await or assumption, with nothing but assignments between.
  static std::vector<bool> awaited(const Block& block) {
    std::vector<bool> result(block.code.size(), false);
    bool is_next = false;
    for (std::size_t pc = block.code.size(); pc-- > 0;) {
      const Operation operation = block.code[pc].operation;
      result[pc] = is_next;
      if (operation != Operation::assign) is_next = operation == Operation::await || operation == Operation::assume;
    }
    return result;
  }

  static void note_await_start(ThreadState<W>& state) {
    const std::size_t depth = state.callers.size();
    for (AwaitStart& start : state.await_starts)
      if (start.depth == depth && start.pc == state.pc) {
        start.n_events = state.events.size();
        return;
      }
    state.await_starts.push_back({depth, state.pc, state.events.size()});
  }

  // What a loose one says may be known only later; the thread does not wait for it.
  void check(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    if (instruction.is_loose && !known(state, instruction.value)) {
      state.open_checks.push_back({evaluate(state, instruction.value).node, state.block, pc});
      return;
    }
    if (!instruction.is_loose) merge(state.control, sources_of(state, instruction.value));
    if (!truth(state, instruction.value)) fail(state, pc, ViolationKind::assertion, 0);
  }

  static void fail(ThreadState<W>& state, std::int32_t pc, ViolationKind kind, Address address) {
    state.status = ThreadStatus::failed;
    state.pc = pc;
    state.failure = kind;
    state.failure_address = address;
  }

  // ---- Before other threads exist -----------------------------------------------------------------------------------

  // What the only thread does before it spawns another is seen by all as if it had been there from the start, so it is no
  // event. Returns whether the instruction was executed; the first with a choice, or that starts a thread, ends this.
  bool step_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    switch (instruction.operation) {
      case Operation::fence: return true;
      case Operation::load:
        if (instruction.is_exclusive) break;
        return load_alone(state, pc, instruction);
      case Operation::store: return store_alone(state, pc, instruction, now(state, instruction.value));
      case Operation::read_modify_write:
      case Operation::compare_exchange:
        if (instruction.is_weak) break;
        return update_alone(state, pc, instruction);
      case Operation::release: return release_alone(state, pc, instruction);
      case Operation::store_conditional:
      case Operation::choose:
      case Operation::spawn: break;
      default: return false;
    }
    is_alone_ = false;
    return false;
  }

  Value now(const ThreadState<W>& state, std::int32_t expression) { return *value(evaluate(state, expression).node); }

  bool load_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const std::optional<Value> found = read_alone(state, pc, instruction);
    if (!found) return true;
    const unsigned width = 8u * instruction.size;
    const Value extended = instruction.is_signed ? apply(UnaryOperator::sext, static_cast<std::uint8_t>(width), *found) : *found;
    in_register(state, instruction.destination) = {constant(extended), {}};
    return true;
  }

  std::optional<Value> read_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const Address address = now(state, instruction.address);
    if (!is_in_object(address, instruction.size)) {
      fail(state, pc, kind_outside(address), address);
      return std::nullopt;
    }
    Value result = 0;
    for (unsigned i = 0; i < instruction.size; ++i) result |= Value{initial_byte(address + i)} << (8 * i);
    return result;
  }

  bool store_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction, Value stored) {
    const Address address = now(state, instruction.address);
    if (!is_in_object(address, instruction.size)) {
      fail(state, pc, kind_outside(address), address);
      return true;
    }
    for (unsigned i = 0; i < instruction.size; ++i)
      written_alone_[address + i] = static_cast<std::uint8_t>(stored >> (8 * i));
    return true;
  }

  bool update_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const std::optional<Value> old_value = read_alone(state, pc, instruction);
    if (!old_value) return true;
    const Value operand = now(state, instruction.value);
    const unsigned width = 8u * instruction.size;
    if (instruction.operation == Operation::compare_exchange) {
      const bool succeeds = ((now(state, instruction.expected) ^ *old_value) & low_bits(width)) == 0;
      if (succeeds) store_alone(state, pc, instruction, operand);
      if (instruction.success != none) in_register(state, instruction.success) = {constant(succeeds ? 1 : 0), {}};
    } else {
      const auto update = static_cast<UpdateOperator>(instruction.update);
      const bool exchanges = update == UpdateOperator::exchange;
      store_alone(state, pc, instruction,
                  exchanges ? operand : apply(update, static_cast<std::uint8_t>(width), *old_value, operand));
    }
    if (instruction.destination != none) in_register(state, instruction.destination) = {constant(*old_value), {}};
    return true;
  }

  bool release_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const Value address = now(state, instruction.value);
    if (address != 0 && can_release(state, pc, address)) object_at(address)->is_released = true;
    return true;
  }

  // ---- Calls ------------------------------------------------------------------------------------------------------

  // `none` if the value is no function.
  std::int32_t called_block(const ThreadState<W>& state, const Instruction& instruction) {
    if (instruction.target != none) return instruction.target;
    const auto found = program_.function_at.find(*value(evaluate(state, instruction.value).node));
    return found == program_.function_at.end() ? none : found->second;
  }

  std::vector<RegisterContent<W>> arguments(const ThreadState<W>& state, const Instruction& instruction) {
    std::vector<RegisterContent<W>> found;
    for (std::int32_t i = 0; i < instruction.n_arguments; ++i)
      found.push_back(evaluate(state, program_.arguments[at(instruction.first_argument + i)]));
    return found;
  }

  // What decides how to go on (what is called, joined, freed) is a control dependency of what follows.
  void depend_on_value(ThreadState<W>& state, const Instruction& instruction) {
    merge(state.control, sources_of(state, instruction.value));
  }

  void call(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
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
  void pass_arguments(ThreadState<W>& state, const std::vector<RegisterContent<W>>& given) {
    const std::vector<std::int32_t>& parameters = program_.block(state.block).parameters;
    for (std::size_t i = 0; i < std::min(parameters.size(), given.size()); ++i) in_register(state, parameters[i]) = given[i];
  }

  void give_back(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result) {
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

  // ---- Threads ----------------------------------------------------------------------------------------------------

  static constexpr Address synchronisation_start = Address{1} << 48;
  static Address start_address(std::int32_t thread) { return synchronisation_start + 16 * static_cast<Address>(thread); }
  static Address end_address(std::int32_t thread) { return start_address(thread) + 8; }

  void spawn(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    if (instruction.target == none) depend_on_value(state, instruction);
    const std::int32_t block = called_block(state, instruction);
    if (block == none) {
      fail(state, pc, ViolationKind::call, *value(evaluate(state, instruction.value).node));
      return;
    }
    const std::vector<RegisterContent<W>> given = arguments(state, instruction);
    const std::int32_t child = spawned_thread(thread, state.n_spawned++);
    synchronisation_fence(thread, state, pc);
    const EventId write = synchronisation_write(thread, state, pc, start_address(child), constant(1), {});
    if (instruction.destination != none)
      in_register(state, instruction.destination) = {constant(static_cast<Value>(child) + 1), {}};
    begin_thread(child, block, given, write);
  }

  // The same number in every run.
  std::int32_t spawned_thread(std::int32_t parent, std::int32_t nth) {
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

  void begin_thread(std::int32_t child, std::int32_t block, std::vector<RegisterContent<W>> given, EventId started_by) {
    save(child);
    ThreadState<W>& state = threads_[at(child)];
    state.status = ThreadStatus::running;
    state.block = block;
    enter_block(state);
    // Dependencies do not reach from one thread into another; when it begins, all these values are known.
    for (RegisterContent<W>& argument : given) argument.sources = {};
    pass_arguments(state, given);
    state.started_by = started_by;
    state.begin = synchronisation_read(child, state, 0, start_address(child), child);
    synchronisation_fence(child, state, 0);
  }

  // Others go on after the program has ended: they could have done the same before, because the end can come late. But
  // nobody sees this thread end.
  void exit(std::int32_t thread, ThreadState<W>& state, const Instruction& instruction) {
    if (instruction.ends_program) {
      state.status = ThreadStatus::ended;
      return;
    }
    state.callers.clear();
    give_back(thread, state, {});
  }

  void end_thread(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result) {
    state.status = ThreadStatus::finished;
    if (state.begin == no_event) return;
    state.result = result;
    state.owes_end = true;
    if (!program_.synchronisation.joins_are_last) write_end(thread, state);
  }

  void write_end(std::int32_t thread, ThreadState<W>& state) {
    state.owes_end = false;
    const std::int32_t last = std::max(0, state.pc - 1);
    synchronisation_fence(thread, state, last);
    state.end = synchronisation_write(thread, state, last, end_address(thread), state.result.node, state.result.sources);
  }

  void join(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    depend_on_value(state, instruction);
    const Value handle = *value(evaluate(state, instruction.value).node);
    const bool is_thread = handle > program_.threads.size() && handle <= threads_.size() &&
                           threads_[handle - 1].status != ThreadStatus::unborn;
    if (!is_thread) {
      fail(state, pc, ViolationKind::join, handle);
      return;
    }
    const auto other = static_cast<std::int32_t>(handle - 1);
    const EventId id = synchronisation_read(thread, state, pc, end_address(other), other);
    state.joining = id;
    synchronisation_fence(thread, state, pc);
    if (instruction.destination != none) in_register(state, instruction.destination) = loaded(id, false);
  }

  void synchronisation_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc) {
    if (program_.synchronisation.fence_class == none) return;
    fetch_fence(thread, state, pc, program_.synchronisation.fence_class);
  }

  EventId synchronisation_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address, NodeId stored,
                                const Sources<W>& sources) {
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

  EventId synchronisation_read(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
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

  // ---- Memory -----------------------------------------------------------------------------------------------------

  static constexpr Address heap_start = Address{1} << 40;
  static constexpr Address heap_per_thread = Address{1} << 32;

  // Every thread has addresses of its own, so that they are the same in every run; none is used twice.
  void allocate(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    depend_on_value(state, instruction);
    const Value size = *value(evaluate(state, instruction.value).node);
    if (size > heap_per_thread || state.allocated + size + 2 * allocation_gap > heap_per_thread) {
      fail(state, pc, ViolationKind::allocation, size);
      return;
    }
    const Address start = heap_start + static_cast<Address>(state.number) * heap_per_thread + state.allocated + allocation_gap;
    state.allocated += (size / allocation_gap + 2) * allocation_gap;
    objects_.push_back({start, size, instruction.is_own, {state.number, state.block, pc}});
    in_register(state, instruction.destination) = {constant(start), {}};
  }

  void release(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    depend_on_value(state, instruction);
    const Value address = now(state, instruction.value);
    if (address == 0) return;
    if (!can_release(state, pc, address)) return;
    if (!releases_) knowledge_.note_release();
    releases_ = true;
    release_write(thread, state, pc, header_of(address), header_size);
    const auto parts = knowledge_.released_parts().find(address);
    if (parts == knowledge_.released_parts().end()) return;
    for (const auto& [offset, size] : parts->second) release_write(thread, state, pc, address + offset, size);
  }

  bool can_release(ThreadState<W>& state, std::int32_t pc, Address address) {
    const AllocatedObject* const object = object_at(address);
    const bool is_there = object != nullptr && !object->is_own;
    if (is_there && !object->is_released) return true;
    fail(state, pc, is_there ? ViolationKind::double_free : ViolationKind::release, address);
    return false;
  }

  AllocatedObject* object_at(Address start) {
    const auto found = std::ranges::find_if(objects_, [&](const AllocatedObject& object) { return object.start == start; });
    return found == objects_.end() ? nullptr : &*found;
  }

  void measure(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const Value address = now(state, instruction.value);
    if (!can_release(state, pc, address)) return;
    in_register(state, instruction.destination) = {constant(object_at(address)->size), {}};
  }

  void release_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address, std::uint8_t size) {
    const NodeId where = constant(address);
    const EventId id = create(thread, state, pc, EventKind::write, program_.release_class);
    Event<W>& e = events_[id];
    e.size = size;
    e.address_node = where;
    e.value_node = 0;
    e.is_release = true;
    if (!order_.in_order) find_order(state, e);
  }

  static constexpr std::uint8_t header_size = 8;

  static constexpr Address allocation_gap = 64;
  static constexpr std::size_t deepest_call = 1000;
  static constexpr Address too_deep = ~Address{0};

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  NodeId constant(Value value) {
    if (value == 0) return 0;
    nodes_.push_back({.kind = Node::Kind::constant, .value = value});
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  NodeId add(const Node& node) {
    nodes_.push_back(node);
    const NodeId id = static_cast<NodeId>(nodes_.size() - 1);
    if (const std::optional<Value> known_value = value(id)) {
      nodes_.pop_back();
      return constant(*known_value);
    }
    return id;
  }

  RegisterContent<W> evaluate(const ThreadState<W>& state, std::int32_t expression) {
    std::vector<RegisterContent<W>>& stack = stack_;
    stack.clear();
    for (const ExpressionStep& step : program_.expressions[at(expression)]) evaluate_step(state, step, stack);
    return stack.back();
  }

  void evaluate_step(const ThreadState<W>& state, const ExpressionStep& step, std::vector<RegisterContent<W>>& stack) {
    const auto pop = [&] {
      RegisterContent<W> top = stack.back();
      stack.pop_back();
      return top;
    };
    switch (step.code) {
      case ExpressionCode::constant: stack.push_back({constant(step.operand), {}}); break;
      case ExpressionCode::register_value: stack.push_back(state.registers[state.base + step.operand]); break;
      case ExpressionCode::unary: {
        RegisterContent<W> operand = pop();
        operand.node = add({.kind = Node::Kind::unary, .operation = step.operation, .width = step.width, .a = operand.node});
        stack.push_back(operand);
        break;
      }
      case ExpressionCode::binary: {
        const RegisterContent<W> right = pop();
        RegisterContent<W> left = pop();
        left.node = add({.kind = Node::Kind::binary, .operation = step.operation, .width = step.width, .a = left.node, .b = right.node});
        merge(left.sources, right.sources);
        stack.push_back(left);
        break;
      }
      case ExpressionCode::select: {
        const RegisterContent<W> other = pop();
        const RegisterContent<W> then = pop();
        const RegisterContent<W> condition = pop();
        stack.push_back(selected(condition, then, other));
        break;
      }
    }
  }

  // Only the chosen alternative's sources flow on if the choice is known already.
  RegisterContent<W> selected(const RegisterContent<W>& condition, const RegisterContent<W>& then,
                              const RegisterContent<W>& other) {
    RegisterContent<W> result;
    const std::optional<Value> choice = value(condition.node);
    if (choice) {
      result = *choice != 0 ? then : other;
    } else {
      result.node = add({.kind = Node::Kind::select, .a = condition.node, .b = then.node, .c = other.node});
      deferred_.push_back({condition.node, then.sources, other.sources});
      result.sources.deferred = static_cast<std::int32_t>(deferred_.size() - 1);
    }
    merge(result.sources, as_picked(condition.sources));
    return result;
  }

  Sources<W> as_picked(const Sources<W>& sources) const {
    Sources<W> result;
    const Sources<W> exact = resolved(sources);
    result.picked = exact.direct | exact.picked;
    return result;
  }

  void merge(Sources<W>& into, const Sources<W>& other) {
    into.direct |= other.direct;
    into.picked |= other.picked;
    if (other.deferred == none) return;
    if (into.deferred == none) {
      into.deferred = other.deferred;
      return;
    }
    Sources<W> first, second;
    first.deferred = into.deferred;
    second.deferred = other.deferred;
    deferred_.push_back({std::nullopt, first, second});
    into.deferred = static_cast<std::int32_t>(deferred_.size() - 1);
  }

  Sources<W> sources_of(const ThreadState<W>& state, std::int32_t expression) {
    Sources<W> sources;
    for (const ExpressionStep& step : program_.expressions[at(expression)])
      if (step.code == ExpressionCode::register_value) merge(sources, state.registers[state.base + step.operand].sources);
    return sources;
  }

  bool truth(const ThreadState<W>& state, std::int32_t expression) { return *value(evaluate(state, expression).node) != 0; }

  void jump(ThreadState<W>& state, std::int32_t pc, std::int32_t target) {
    if (target <= pc && !go_round(state, pc, target)) {
      state.status = ThreadStatus::cut;
      state.pc = pc;
      return;
    }
    state.pc = target;
  }

  bool go_round(ThreadState<W>& state, std::int32_t pc, std::int32_t target) {
    const std::size_t depth = state.callers.size();
    if (limits_.counts_known_rounds) return state.loops.go_round(depth, pc) <= limits_.unroll;
    const auto rounds = state.loops.go_round(depth, pc, target, loops_of(state.block).exits(target));
    return rounds.count <= limits_.unroll && rounds.n_reading < most_reading_rounds && rounds.n_known < most_known_rounds;
  }

  const BlockLoops& loops_of(std::int32_t block) {
    if (loops_.empty()) loops_.resize(program_.threads.size() + program_.functions.size());
    std::optional<BlockLoops>& loops = loops_[at(block)];
    if (!loops) loops.emplace(program_.block(block).code);
    return *loops;
  }

  static constexpr std::int32_t most_known_rounds = 100'000;
  static constexpr std::int32_t most_reading_rounds = 250;
  static constexpr std::uint64_t most_steps = 10'000'000;  // without a memory access that has to wait

  void branch(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const Sources<W> sources = sources_of(state, instruction.value);
    if (!limits_.counts_known_rounds) pass_branch(state, pc, instruction, sources);
    merge(state.control, sources);
    if (truth(state, instruction.value)) jump(state, pc, instruction.target);
  }

  void pass_branch(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction, const Sources<W>& sources) {
    state.loops.pass_branch(!sources.empty());
    if (!loops_of(state.block).is_exit(pc)) return;
    std::uint64_t values = fingerprint(state, instruction.value);
    const bool is_open = !sources.empty() && !is_own(state.number, sources, values);
    state.loops.pass_exit(state.callers.size(), pc, is_open, values);
  }

  // Was the value computed from nothing but what no other thread writes, in no run? This is assumed as long as no such
  // write was seen. Adds to the fingerprint from where.
  bool is_own(std::int32_t thread, const Sources<W>& sources, std::uint64_t& values) {
    std::vector<EventId> reads;
    FixedBits<W> seen;
    if (!collect_own_reads(thread, sources, seen, reads)) return false;
    for (const EventId id : reads) {
      if (!trusts(events_[id].address, thread)) return false;
      values = mixed(values, events_[id].address);
    }
    return true;
  }

  bool collect_own_reads(std::int32_t thread, const Sources<W>& sources, FixedBits<W>& seen, std::vector<EventId>& reads) const {
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

  bool trusts(Address address, std::int32_t thread) {
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

  void note_writer(Address address, std::int32_t thread) {
    const auto [entry, is_new] = writers_.try_emplace(address, thread);
    if (!is_new && (entry->second == Knowledge::several || entry->second == thread)) return;
    entry->second = knowledge_.note_writer(address, thread);
  }

  std::uint64_t fingerprint(const ThreadState<W>& state, std::int32_t expression) const {
    std::uint64_t result = 0;
    for (const ExpressionStep& step : program_.expressions[at(expression)])
      if (step.code == ExpressionCode::register_value)
        result = mixed(result, value(state.registers[state.base + step.operand].node).value_or(0));
    return result;
  }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) { return (hash + more + 1) * 0x9e3779b97f4a7c15u; }

  EventId create(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, EventKind kind, std::int32_t event_class) {
    if (events_.size() >= FixedBits<W>::capacity) throw CapacityNeeded{};
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

  EventId create_access(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction,
                        EventKind kind, std::int32_t event_class, const RegisterContent<W>& address) {
    const EventId id = create(thread, state, pc, kind, event_class);
    Event<W>& e = events_[id];
    e.size = instruction.size;
    e.is_piece = instruction.is_piece;
    e.address_node = address.node;
    e.address_sources = address.sources;
    if (!order_.in_order) find_order(state, e);
    return id;
  }

  // What fences and classes keep before the new access.
  void find_order(const ThreadState<W>& state, Event<W>& e) const {
    const EventClass& own = class_of(e);
    std::uint8_t fenced = 0;  // pairs that some fence between orders
    for (std::size_t i = state.events.size() - 1; i-- > 0;) {
      const EventId id = state.events[i];
      const Event<W>& earlier = events_[id];
      const EventClass& other = class_of(earlier);
      if (earlier.kind == EventKind::fence) {
        fenced |= other.fence_pairs;
      } else if (earlier.kind != EventKind::choice) {
        const bool is_fenced = (fenced & pair_of(earlier, e)) != 0;
        if (is_fenced) e.fenced_after.set(id);
        if (is_fenced || other.before_later || own.after_earlier || (other.strong_release && own.strong_acquire))
          e.ordered_after.set(id);
      }
    }
  }

  static std::uint8_t pair_of(const Event<W>& first, const Event<W>& second) {
    if (first.kind == EventKind::read) return second.kind == EventKind::read ? read_read : read_write;
    return second.kind == EventKind::read ? write_read : write_write;
  }

  RegisterContent<W> loaded(EventId id, bool is_signed) {
    RegisterContent<W> content;
    content.node = add({.kind = Node::Kind::loaded, .width = static_cast<std::uint8_t>(8 * events_[id].size), .is_signed = is_signed, .value = id});
    content.sources.direct.set(id);
    return content;
  }

  void fetch_load(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const RegisterContent<W> address = evaluate(state, instruction.address);
    const EventId id = create_access(thread, state, pc, instruction, EventKind::read, instruction.read_class, address);
    if (instruction.is_exclusive) {
      events_[id].role = Role::linked_load;
      state.linked = id;
    }
    in_register(state, instruction.destination) = loaded(id, instruction.is_signed);
  }

  void fetch_store(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const RegisterContent<W> address = evaluate(state, instruction.address);
    const RegisterContent<W> stored = evaluate(state, instruction.value);
    const EventId id = create_access(thread, state, pc, instruction, EventKind::write, instruction.write_class, address);
    events_[id].value_node = stored.node;
    events_[id].data_sources = stored.sources;
  }

  // Whether a store-conditional succeeds is chosen in advance, because its status is no dependency on most machines; a
  // write that is to succeed and cannot makes the run one that does not count.
  void fetch_conditional(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
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
      e.role = Role::conditional_store;
      e.partner = linked;
      e.chosen_by = choice;
      status.node = add({.kind = Node::Kind::chosen, .value = choice});
      status.sources.direct.set(choice);
      if (order_.status_is_dependency) status.sources.direct.set(id);
    }
    in_register(state, instruction.destination) = status;
  }

  void fetch_update(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
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

  void set_update_value(Event<W>& write, const Instruction& instruction, const RegisterContent<W>& old_value,
                        const RegisterContent<W>& operand, const RegisterContent<W>& expected, bool compares) {
    write.data_sources = operand.sources;
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
  }

  void set_success(ThreadState<W>& state, const Instruction& instruction, EventId write,
                   const RegisterContent<W>& old_value, const RegisterContent<W>& expected) {
    RegisterContent<W> success;
    success.node = add({.kind = Node::Kind::status, .is_signed = true, .value = write});
    success.sources = old_value.sources;
    merge(success.sources, expected.sources);
    in_register(state, instruction.success) = success;
  }

  void fetch_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, std::int32_t event_class) {
    const EventId id = create(thread, state, pc, EventKind::fence, event_class);
    events_[id].state = EventState::committed;
    local_.push_back(id);
  }

  void fetch_choice(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction) {
    const EventId id = create(thread, state, pc, EventKind::choice, 0);
    RegisterContent<W> chosen;
    chosen.node = add({.kind = Node::Kind::chosen, .value = id});
    chosen.sources.direct.set(id);
    in_register(state, instruction.destination) = chosen;
  }

  std::optional<Value> loaded_value(const Node& node) const {
    const Event<W>& e = events_[node.value];
    if (e.state != EventState::committed) return std::nullopt;
    return node.is_signed ? apply(UnaryOperator::sext, node.width, e.value) : e.value;
  }

  // Whether a compare-exchange succeeded.
  std::optional<Value> status_value(const Event<W>& write) const {
    if (write.state == EventState::absent) return 0;
    const Event<W>& read = events_[write.partner];
    if (read.state != EventState::committed) return std::nullopt;
    const std::optional<bool> succeeds = compare_succeeds(read, read.value);
    if (!succeeds) return std::nullopt;
    return *succeeds ? 1 : 0;
  }

  static std::optional<Value> chosen_value(const Event<W>& e) {
    if (e.state != EventState::committed) return std::nullopt;
    return e.value;
  }

  std::optional<Value> operation_value(const Node& node) const {
    const std::optional<Value> a = value(node.a);
    if (!a) return std::nullopt;
    if (node.kind == Node::Kind::select) return value(*a != 0 ? node.b : node.c);
    if (node.kind == Node::Kind::unary) return apply(static_cast<UnaryOperator>(node.operation), node.width, *a);
    const std::optional<Value> b = value(node.b);
    if (!b) return std::nullopt;
    if (node.kind == Node::Kind::update) return apply(static_cast<UpdateOperator>(node.operation), node.width, *a, *b);
    return apply(static_cast<BinaryOperator>(node.operation), node.width, *a, *b);
  }

  const Program& program_;
  const CommitOrder& order_;
  const Limits& limits_;
  std::vector<Node> nodes_;
  std::vector<Event<W>> events_;
  std::deque<ThreadState<W>> threads_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> spawned_;  // by parent and number; outlives undo
  std::vector<AllocatedObject> objects_;
  Knowledge& knowledge_;
  // What of it was asked for, or told, here.
  Parts parts_;
  std::unordered_map<Address, std::int32_t> writers_;
  std::unordered_map<Address, std::int32_t> trusted_;  // who relies on being the only one that writes there
  std::vector<std::optional<BlockLoops>> loops_;       // by block
  bool releases_ = false;  // in any run
  std::vector<std::vector<bool>> await_targets_;  // by block
  std::vector<std::vector<bool>> awaited_;        // by block
  bool is_alone_ = false;
  std::uint64_t n_alone_ = 0;
  std::unordered_map<Address, std::uint8_t> written_alone_;
  std::vector<std::pair<std::int32_t, ThreadState<W>>> saved_;
  std::vector<ThreadState<W>> spare_;
  std::vector<RegisterContent<W>> stack_;
  std::vector<DeferredSources<W>> deferred_;
  std::vector<EventId> local_;
};

}  // namespace dekker::rsmc
