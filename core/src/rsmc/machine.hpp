// The threads of a program, run over values that may not be known yet, and the events they fetch.
//
// A register holds a node: a constant, or an expression over loads that are not committed. Everything a step changes can
// be taken back: nodes and events are stacks, threads are saved before they change.
#pragma once

#include <cstddef>
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <stdexcept>
#include <vector>

#include "dekker/arithmetic.hpp"
#include "dekker/undefined.hpp"
#include "dekker/rsmc/explore.hpp"
#include "dekker/rsmc/program.hpp"
#include "rsmc/alike_starts.hpp"
#include "rsmc/fixed_bits.hpp"
#include "rsmc/knowledge.hpp"
#include "rsmc/liveness.hpp"
#include "rsmc/loops.hpp"
#include "rsmc/machine_state.hpp"
#include "rsmc/stable_vector.hpp"
#include "rsmc/told_addresses.hpp"
#include "rsmc/waiting_reads.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class Machine {
 public:
  // `look()` is called now and then while there is only one thread, and throws StoppedAlone.
  template <class Look>
  Machine(const Program& program, const CommitOrder& order, const Limits& limits, Knowledge& knowledge, Look look)
      : program_(program), order_(order), limits_(limits), knowledge_(knowledge) {
    nodes_.push_back({Node::Kind::constant});
    is_alone_ = program.threads.size() == 1 && !program.functions.empty();
    reuses_ = program.has(Operation::recycle);
    guesses_ = program.has([](const Instruction& i) {
      return i.is_loose && i.operation != Operation::check && i.operation != Operation::load;
    });
    leaves_out_rounds_ = order.forgets_reads && !limits.counts_known_rounds;
    frees_ = program.has([](const Instruction& i) {
      return i.operation == Operation::release || i.operation == Operation::recycle || i.is_scoped;
    });
    if (!order.in_order && !knowledge.splits_updates()) waiting_reads_ = WaitingReads(program).take();
    claims_ = program.has(Operation::join) || program.has(Operation::detach);
    const Synchronisation& synchronisation = program.synchronisation;
    ends_are_owed_ = synchronisation.joins_are_last || (synchronisation.decides_alone && !knowledge.ends_are_events());
    renames_ = !limits.counts_executions && synchronisation.decides_alone && (ends_are_owed_ || !claims_) && !reuses_ &&
               !knowledge.tells_apart() && !program.has([](const Instruction& i) { return i.is_piece; });
    for (std::size_t b = 0; b < program.threads.size() + program.functions.size(); ++b) {
      await_targets_.push_back(await_targets(program.block(static_cast<std::int32_t>(b))));
      awaited_.push_back(awaited(program.block(static_cast<std::int32_t>(b))));
    }
    ahead_.emplace(program, awaited_, leaves_out_rounds_);
    for (std::size_t t = 0; t < program.threads.size(); ++t) threads_.push_back(start(static_cast<std::int32_t>(t)));
    if (is_alone_) run_alone(look);
    for (std::size_t t = 0; t < program.threads.size(); ++t) advance(static_cast<std::int32_t>(t));
  }

  // Do reads of updates wait for what only their writes have to wait for?
  bool joins_halves() const { return !waiting_reads_.empty(); }
  void note_split() const { knowledge_.note_split(); }

  // May threads wait when the program ends?
  bool may_end_unjoined() const { return knowledge_.may_end_unjoined(); }
  void note_unjoined_end() const { knowledge_.note_unjoined_end(); }

  // May threads be renamed that do the same?
  bool renames() const { return renames_; }
  void stop_renaming() {
    renames_ = false;
    evaluated_.clear();
    applied_.clear();
    made_alone_.clear();
  }
  void share_out(const std::vector<SharedOut>& arrays, const std::set<std::int32_t>& open, const std::set<std::int32_t>& followed);
  const OwnPlaces& own_places() const { return own_places_; }
  void note_told_apart() const {
    if (renames_) knowledge_.note_told_apart();
  }
  const ThreadStart& start_of(std::size_t thread) const { return starts_[thread]; }

  // Where nobody sees in which order writes come, is that left open?
  bool leaves_order_open() const { return !limits_.counts_executions && order_.leaves_order_open; }
  const std::set<Address>& unseen() const { return knowledge_.unseen(); }
  bool looks_for_unseen() const { return leaves_order_open() && !knowledge_.looked_at_run(); }
  void note_unseen(const std::set<Address>& found) { knowledge_.note_unseen(found); }
  void note_seen(Address address) { knowledge_.note_seen(address); }
  bool finds_leaks() const { return limits_.finds_leaks; }

  // Of an update.
  bool is_result_used(const Event<W>& read) {
    const Instruction& instruction = program_.block(read.block).code[at(read.pc)];
    return instruction.destination != none && liveness_of(read.block).is_read_behind(read.pc, instruction.destination);
  }

  // How many accesses and fences the only thread did before others existed.
  std::uint64_t n_alone() const { return n_alone_; }

  struct Mark {
    std::size_t nodes, events, saved, deferred, objects;

    bool operator==(const Mark&) const = default;
  };

  Mark mark() const { return {nodes_.size(), events_.size(), n_saved_, deferred_.size(), objects_.size()}; }

  void undo(const Mark& mark) {
    while (n_saved_ > mark.saved) {
      SavedThread& saved = saved_[--n_saved_];
      ThreadState<W>& state = threads_[static_cast<std::size_t>(saved.thread)];
      std::swap(state, saved.state);
      state.events.swap(saved.state.events);
      state.events.resize(saved.n_events);
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

  // Has every event that the value was computed from been decided, or been left out of the run?
  bool are_over(const Sources<W>& sources) const {
    bool all = sources.deferred == none || are_decided(sources);
    (sources.direct | sources.picked).for_each([&](std::size_t source) {
      all = all && events_[source].state != EventState::pending && events_[source].state != EventState::asleep;
    });
    return all;
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
  const StableVector<ThreadState<W>>& threads() const { return threads_; }
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

  // Where nobody else notices, threads end without an event until nothing else is left to do.
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

  bool decides_alone() const { return program_.synchronisation.decides_alone; }

  // Does a thread notice the access although it runs already, or one to the object?
  bool is_noticed(Address address, Address size) const {
    const auto found = knowledge_.noticed().lower_bound(address);
    return found != knowledge_.noticed().end() && *found - address < size;
  }
  void note_noticed(Address address) { knowledge_.note_noticed(address); }

  // After so many of its events the first thread started this one, or one that it descends from.
  std::size_t started_after(std::int32_t thread) const {
    while (true) {
      const Event<W>& start = events_[threads_[at(thread)].started_by];
      if (start.thread == first_thread) return at(start.index);
      thread = start.thread;
    }
  }

  // Somebody notices when threads end. Does not return if that is news.
  void note_that_ends_matter() { knowledge_.note_that_ends_matter(); }

  bool is_joining(const ThreadState<W>& state) const {
    return state.joining != no_event && events_[state.joining].state == EventState::pending;
  }

  // May the thread still do something that others can notice, before ends are written that nobody notices until then? Not
  // if it sleeps.
  bool may_store(const ThreadState<W>& state) const {
    if (state.status != ThreadStatus::running || (ends_are_owed_ && is_joining(state))) return false;
    bool has_store = false;
    for (std::size_t i = state.events.size(); i-- > 0;) {
      const Event<W>& e = events_[state.events[i]];
      if (e.state == EventState::asleep) return false;
      if (e.kind == EventKind::fence || e.state == EventState::absent) continue;
      if (e.state != EventState::pending) break;
      has_store = has_store || e.kind == EventKind::write;
    }
    if (has_store || !state.obligations->scoped.empty() || ahead_->stores(state.start, state.block, state.pc)) return true;
    return std::ranges::any_of(state.callers, [&](const Caller& caller) { return ahead_->stores(state.start, caller.block, caller.pc); });
  }

  // May the thread wait at a read, this or a later one?
  bool may_wait(const ThreadState<W>& state) const {
    for (std::size_t i = state.events.size(); i-- > 0;) {
      const Event<W>& e = events_[state.events[i]];
      if (e.kind == EventKind::read && e.state == EventState::pending && is_awaited(e)) return true;
    }
    if (ahead_->waits(state.start, state.block, state.pc)) return true;
    return std::ranges::any_of(state.callers, [&](const Caller& caller) { return ahead_->waits(state.start, caller.block, caller.pc); });
  }

  bool has_guesses() const { return guesses_; }
  // Did every condition turn out as it was guessed?
  bool guesses_hold() const;

  // Does what stopped the fetch of its thread depend on the event?
  bool is_held_by(const ThreadState<W>& state, EventId id) const {
    const std::vector<Instruction>& code = code_of(state);
    if (static_cast<std::size_t>(state.pc) >= code.size()) return false;
    const std::int32_t expression = code[at(state.pc)].value;
    if (expression == none || code[at(state.pc)].is_loose) return false;
    return std::ranges::any_of(program_.expressions[at(expression)], [&](const ExpressionStep& step) {
      if (step.code != ExpressionCode::register_value) return false;
      const Sources<W>& sources = state.registers[state.base + step.operand].sources;
      return sources.direct.test(id) || sources.picked.test(id);
    });
  }

  // Constants are most of what is asked for: inline, or each answer would stop the processor on its way through memory.
  [[gnu::always_inline]] std::optional<Value> value(NodeId id) const {
    const Node& node = nodes_[id];
    return node.kind == Node::Kind::constant ? std::optional<Value>(node.value) : computed_value(node);
  }

  std::optional<Value> computed_value(const Node& node) const {
    switch (node.kind) {
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

  // What a choice may be: for objects to be used again, none (0) or any of the size.
  std::vector<Value> recyclable(const Event<W>& choice) const {
    std::vector<Value> found{0};
    for (const auto& [object, size] : knowledge_.reusable())
      if (size == *value(choice.value_node)) found.push_back(object);
    return found;
  }

  // Does the thread go on only if it likes what is read?
  bool is_awaited(const Event<W>& e) const { return awaited_[at(e.block)][at(e.pc)]; }

  // The first event of the round in which a thread waits.
  std::size_t round_start(const ThreadState<W>& state) const {
    if (state.is_left_out) return state.left_out.round;
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
    const auto is_around = [&](const AllocatedObject& object) { return address >= object.start && address - object.start < object.size; };
    const auto object = std::ranges::find_if(objects_, is_around);
    if (object == objects_.end()) return;
    const Allocation allocation{object->start, object->size, object->place};
    const bool is_new = parts_[allocation].insert({address - object->start, size}).second;
    if (is_new) knowledge_.note_part(allocation, address - object->start, size);
  }

  // If it is in use again, it is the first one that counts.
  Allocation allocation_at(Address start) const {
    const auto object = std::ranges::find(objects_, start, &AllocatedObject::start);
    return {object->start, object->size, object->place};
  }

  // The indeterminate bits of a value that is known.
  Value undefined(NodeId id) const {
    if (!has_seen_undefined_) return 0;
    const Node& node = nodes_[id];
    switch (node.kind) {
      case Node::Kind::constant: return node.undefined();
      case Node::Kind::loaded: {
        const Value bits = events_[node.value].undefined;
        return node.is_signed ? apply(UnaryOperator::sext, node.width, bits) : bits;
      }
      case Node::Kind::status:
      case Node::Kind::chosen: return 0;
      case Node::Kind::tainted: return ~Value{0};
      case Node::Kind::alternative: return undefined(node.a);
      case Node::Kind::select:
        return is_undecided(known(node.a)) ? ~Value{0} : undefined(*value(node.a) != 0 ? node.b : node.c);
      case Node::Kind::unary: return undefined_bits(static_cast<UnaryOperator>(node.operation), node.width, known(node.a));
      case Node::Kind::binary:
        return undefined_bits(static_cast<BinaryOperator>(node.operation), node.width, known(node.a), known(node.b));
      case Node::Kind::update:
        return undefined_bits(static_cast<UpdateOperator>(node.operation), node.width, known(node.a), known(node.b));
    }
    return 0;
  }

  KnownBits known(NodeId id) const { return {value(id).value_or(0), undefined(id)}; }
  bool has_seen_undefined() const { return has_seen_undefined_; }
  void note_undefined(Value bits) { has_seen_undefined_ = has_seen_undefined_ || bits != 0; }
  bool is_shared(Address address) const;
  Value undefined_initially(Address address, std::uint8_t size) const;
  Birth birth_at(Address address) const;

  // Of what is written there.
  Value undefined_written(const Event<W>& write) const {
    return undefined(write.value_node) & low_bits(8u * write.size);
  }

  // Does the access depend on an indeterminate value: where it is, whether a comparison succeeds, what others are to see?
  bool uses_undefined(const Event<W>& e) const {
    if (undefined(e.address_node) != 0) return true;
    const Value all = low_bits(8u * e.size);
    if (e.kind == EventKind::read) {
      if (!e.is_compare || e.is_quiet || !value(e.expected_node)) return false;
      const KnownBits expected{*value(e.expected_node) & all, undefined(e.expected_node) & all};
      return undefined_bits(BinaryOperator::eq, 8u * e.size, {e.value, e.undefined}, expected) != 0;
    }
    const bool is_whole = (undefined(e.value_node) & all) == all;
    return is_whole && !e.is_copy && !is_synchronisation(e) && is_shared(e.address);
  }

  // May loads take for its value what it may turn out not to write?
  bool is_guessable(const Event<W>& store) const {
    return order_.forwarding_of_updates && (store.alternatives != 0 || store.is_too_open || store.is_compare);
  }
  std::vector<GuessedValue<W>> guessable_values(const Event<W>& store) const;
  GuessedValue<W> value_of_store(const Event<W>& store) const;
  bool is_doomed(const Event<W>& store) const;
  bool is_guessed_right(const Event<W>& store) const;
  bool alternatives_are_decided(const Event<W>& store) const;
  std::optional<FixedBits<W>> choosers(const Event<W>& store) const;

  // Are rounds of loops left out?
  bool leaves_out_rounds() const { return leaves_out_rounds_; }
  // Is the event in what was left out?
  bool is_left_out(const Event<W>& e) const {
    const ThreadState<W>& thread = threads_[at(e.thread)];
    return thread.is_left_out && at(e.index) >= thread.left_out.from;
  }
  bool is_harmless_store(const Event<W>& e) const;
  bool waits(const ThreadState<W>& state) const;
  void refute(Address address, Reliance what);

  bool is_header(Address address) const {
    return std::ranges::any_of(objects_, [&](const AllocatedObject& object) { return header_of(object.start) == address; });
  }

  // The word of an object that says whether it was freed (ir/passes/reuse.py).
  bool is_freed_word(Address address, std::uint8_t size) const {
    if (!reuses_ || size != 8) return false;
    const auto owns = [&](const auto& freed) { return freed.first - freed_word == address; };
    return std::ranges::any_of(knowledge_.reusable(), owns);
  }

  bool is_in_object(Address address, std::uint8_t size) const {
    const auto contains = [&](const auto& object) {
      return address >= object.start && address - object.start + size <= object.size;
    };
    const auto is_there = [&](const AllocatedObject& object) { return !object.is_released && contains(object); };
    return std::ranges::any_of(program_.objects, contains) || std::ranges::any_of(objects_, is_there) ||
           is_freed_word(address, size);
  }

  bool claims_threads() const { return claims_; }
  // Are there writes that begin or end the life of memory, or was some freed before?
  bool has_lifetimes() const { return releases_ || reuses_; }

  // Was the memory, or the object of the header, released before other threads existed, and may be in use again?
  bool starts_free(Address address) const {
    return reuses_ && std::ranges::any_of(objects_, [&](const AllocatedObject& object) {
      const bool is_inside = address >= object.start && address - object.start < object.size;
      return object.is_released && (is_inside || header_of(object.start) == address);
    });
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
    if (found) set_address(e, *found);
    return found.has_value();
  }

  void set_address(Event<W>& e, Address address) {
    if (e.address == address) return;
    e.address = address;
    if (e.kind == EventKind::write && !e.is_release && !limits_.counts_known_rounds) note_writer(address, e.thread);
  }

  // Does the compare-exchange that reads `old_value` write? Unknown while the expected value is.
  std::optional<bool> compare_succeeds(const Event<W>& read, Value old_value) const {
    const std::optional<Value> expected = value(read.expected_node);
    if (!expected) return std::nullopt;
    const bool are_equal = ((*expected ^ old_value) & low_bits(8u * read.size)) == 0;
    return are_equal != read.is_quiet;
  }

 private:
  struct Evaluated {
    std::int32_t thread;
    std::int32_t expression;
    std::optional<Value> value;
  };
  struct Applied {
    Node node;
    Value a, b, result;
    std::int32_t expression;  // that it is part of, or none
  };

  // --- machine_steps.hpp

  ThreadState<W> start(std::int32_t block);
  void enter_block(ThreadState<W>& state);
  static RegisterContent<W>& in_register(ThreadState<W>& state, std::int32_t number);
  void save(std::int32_t thread);
  bool can_continue(const ThreadState<W>& state) const;
  const std::vector<Instruction>& code_of(const ThreadState<W>& state) const { return program_.block(state.block).code; }
  bool known(const ThreadState<W>& state, std::int32_t expression) const;
  void step(std::int32_t thread, ThreadState<W>& state);
  bool decides_on_undefined(const ThreadState<W>& state, const Instruction& instruction);
  bool is_undefined(const ThreadState<W>& state, std::int32_t expression) {
    return has_seen_undefined_ && undefined(evaluate(state, expression).node) != 0;
  }
  void assume(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void wait(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  std::optional<bool> wrote_in_round(const ThreadState<W>& state) const;
  static std::vector<bool> await_targets(const Block& block);
  static std::vector<bool> awaited(const Block& block);
  static bool may_wait(const Instruction& instruction);
  static bool is_local(const Instruction& instruction);
  static void note_await_start(ThreadState<W>& state);
  void check(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  static void fail(ThreadState<W>& state, std::int32_t pc, ViolationKind kind, Address address);

  // --- machine_alone.hpp

  template <class Look>
  void run_alone(Look look);
  void drop_old_nodes(ThreadState<W>& state);
  bool goes_round_for_ever(const ThreadState<W>& state, std::int32_t head);
  static constexpr std::uint64_t steps_between_looks = 1 << 16;
  bool step_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  Value now(const ThreadState<W>& state, std::int32_t expression) { return *value(evaluate(state, expression).node); }
  bool load_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  KnownBits known_now(const ThreadState<W>& state, std::int32_t expression) { return known(evaluate(state, expression).node); }
  std::optional<KnownBits> read_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  bool store_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction, KnownBits stored);
  bool update_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  bool release_alone(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);

  // --- machine_calls.hpp

  std::int32_t called_block(const ThreadState<W>& state, const Instruction& instruction);
  std::vector<RegisterContent<W>> arguments(const ThreadState<W>& state, const Instruction& instruction);
  void depend_on_value(ThreadState<W>& state, const Instruction& instruction);
  void call(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void pass_arguments(ThreadState<W>& state, const std::vector<RegisterContent<W>>& given);
  void give_back(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result);
  static constexpr Address synchronisation_start = Address{1} << 48;
  static Address start_address(std::int32_t thread) { return synchronisation_start + 16 * static_cast<Address>(thread); }
  static Address end_address(std::int32_t thread) { return start_address(thread) + 8; }
  void spawn(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  std::int32_t spawned_thread(std::int32_t parent, std::int32_t nth);
  void begin_thread(std::int32_t child, std::int32_t block, std::vector<RegisterContent<W>> given, EventId started_by);
  ThreadStart start_with(std::int32_t block, const std::vector<RegisterContent<W>>& given) const;
  void note_start(std::int32_t child, ThreadStart&& start);
  void exit(std::int32_t thread, ThreadState<W>& state, const Instruction& instruction);
  void end_thread(std::int32_t thread, ThreadState<W>& state, const RegisterContent<W>& result);
  void write_end(std::int32_t thread, ThreadState<W>& state);
  void join(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  bool claim(ThreadState<W>& state, std::int32_t pc, Value handle, bool is_join);
  void detach(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void synchronisation_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc);
  EventId synchronisation_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address, NodeId stored,
                                const Sources<W>& sources);
  EventId synchronisation_read(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address,
                               std::int32_t waits_for);

  // --- machine_memory.hpp

  void end_scope(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  template <class IsOver>
  void end_scopes(std::int32_t thread, ThreadState<W>& state, const IsOver& is_over);
  void end_object(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address);
  void release_object(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address);
  static constexpr Address heap_start = Address{1} << 40;
  static constexpr Address heap_per_thread = Address{1} << 32;
  void allocate(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  Birth birth_now(const ThreadState<W>& state) const;
  void release(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  bool can_release(ThreadState<W>& state, std::int32_t pc, Address address);
  AllocatedObject* object_at(Address start);
  void note_freed(Address object);
  bool was_released_alone(Value size) const;
  void recycle(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void renew(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void measure(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void write_to_parts(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address object, bool Event<W>::*mark,
                      bool is_unset);
  Event<W>& lifetime_write(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, Address address, std::uint8_t size);
  static constexpr Address freed_word = 24;
  static constexpr std::uint8_t header_size = 8;
  static constexpr Address allocation_gap = 64;

  // --- machine_values.hpp

  static constexpr std::size_t deepest_call = 1000;
  static constexpr Address too_deep = ~Address{0};
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  NodeId constant(Value value, Value undefined = 0);
  NodeId add(const Node& node);
  static bool depends_on_more(const Sources<W>& own, const Sources<W>& other);
  RegisterContent<W> evaluate(const ThreadState<W>& state, std::int32_t expression);
  void note_evaluated(std::int32_t thread, std::int32_t expression, NodeId node);
  void require_own(const Evaluated& evaluated) const;
  void evaluate_step(const ThreadState<W>& state, const ExpressionStep& step, std::vector<RegisterContent<W>>& stack);
  RegisterContent<W> selected(const ThreadState<W>& state, const RegisterContent<W>& condition, const RegisterContent<W>& then,
                              const RegisterContent<W>& other);
  Sources<W> as_picked(const Sources<W>& sources) const;
  void merge(Sources<W>& into, const Sources<W>& other);
  void depend_on(ThreadState<W>& state, const Sources<W>& sources);
  Sources<W> sources_of(const ThreadState<W>& state, std::int32_t expression);
  bool truth(const ThreadState<W>& state, std::int32_t expression) { return *value(evaluate(state, expression).node) != 0; }

  // --- machine_guesses.hpp

  NodeId add_open(Node node, const Sources<W>& sources = {});
  static unsigned n_selections(const Node& node);
  void set_alternatives(Event<W>& store, NodeId alternatives) const;
  NodeId alternatives_of(const RegisterContent<W>& content);
  bool is_left_open(const ThreadState<W>& state, const Sources<W>& condition) const;
  GuessedValue<W> guessed_value(NodeId alternatives, std::optional<std::uint16_t> guess) const;
  KnownBits follow(NodeId id, bool is_guess, GuessedValue<W>& way) const;
  void add_choices(const Sources<W>& sources, FixedBits<W>& into) const;
  bool nothing_pending(NodeId id) const;
  template <class Visit>
  void for_each_selection(NodeId id, const Visit& visit) const;

  // --- machine_control.hpp

  void jump(ThreadState<W>& state, std::int32_t pc, std::int32_t target);
  bool go_round(ThreadState<W>& state, std::int32_t head);
  const BlockLoops& loops_of(std::int32_t block);
  const std::vector<bool>& failing(std::int32_t block);
  bool fails_at(const std::vector<Instruction>& code, std::size_t pc, const std::vector<bool>& fails);
  static constexpr std::int32_t most_known_rounds = 100'000;
  static constexpr std::int32_t most_known_rounds_alone = 2'000'000;
  static constexpr std::int32_t most_reading_rounds = 100'000;
  static constexpr std::uint64_t most_steps_alone = 20'000'000;
  static constexpr std::uint64_t most_steps = 10'000'000;  // without a memory access that has to wait
  void branch(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  bool is_guessed(const ThreadState<W>& state, const Instruction& instruction) const;
  std::optional<bool> decision(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction,
                               const Sources<W>& sources);
  void pass_branch(ThreadState<W>& state, std::int32_t pc, const Instruction& instruction, const Sources<W>& sources);
  bool is_own(std::int32_t thread, const Sources<W>& sources, std::size_t entered, std::uint64_t& values);
  bool collect_own_reads(std::int32_t thread, const Sources<W>& sources, std::size_t entered, FixedBits<W>& seen,
                         std::vector<EventId>& reads) const;
  // Whether a weak compare-exchange succeeds is a choice, too.
  static bool is_chosen(const Event<W>& e) { return e.kind == EventKind::choice || e.is_weak; }
  bool is_chosen(const Sources<W>& sources, std::size_t n_events) const;
  bool is_chosen_in_memory(const ThreadState<W>& state, const LoopExit& exit, const Sources<W>& sources, std::size_t entered);
  bool relies_on_writer(Address address, std::int32_t thread);
  std::optional<std::size_t> alone_since(std::int32_t thread) const;
  std::optional<std::size_t> join_of(std::int32_t thread, std::int32_t other) const;
  bool trusts(Address address, std::int32_t thread);
  void note_writer(Address address, std::int32_t thread);
  std::uint64_t fingerprint(const ThreadState<W>& state, std::int32_t expression) const;
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) { return (hash + more + 1) * 0x9e3779b97f4a7c15u; }

  // --- machine_rounds.hpp

  // Two reads of one location, of which the last may stand for the first.
  struct Looks {
    EventId first, last;
  };
  // By numbers in the thread: the two looks, and the point between them.
  struct LooksAndPoint {
    std::size_t first, point, last;
  };
  static constexpr std::size_t longest_history = 32;
  bool looks_at_rounds() const { return leaves_out_rounds_ && !is_alone_; }
  static bool reads(const Instruction& instruction);
  bool leaves_round_out(ThreadState<W>& state, bool is_at_read);
  void note_arrival(ThreadState<W>& state, std::shared_ptr<Arrival<W>> now) const;
  std::shared_ptr<Arrival<W>> arrival(const ThreadState<W>& state, bool is_at_read);
  const Liveness& liveness_of(std::int32_t block);
  bool link_crosses_calls();
  bool is_back(ThreadState<W>& state, const Arrival<W>& before, const Arrival<W>& now);
  bool is_round(const ThreadState<W>& state, std::size_t from, const Sources<W>& control) const;
  static void leave_out(ThreadState<W>& state, const LeftOut& left_out);
  bool tries_again(ThreadState<W>& state, const Arrival<W>& before, const Arrival<W>& now);
  std::optional<std::size_t> last_look(const ThreadState<W>& state, std::size_t from, std::size_t end) const;
  bool is_as_good(const Looks& looks, const Sources<W>& control) const;
  bool depends_on(const Sources<W>& sources, EventId id) const;
  bool is_steered(const Arrival<W>& before, const Arrival<W>& now, const Looks& looks) const;
  bool changes_nothing(const ThreadState<W>& state, std::size_t from) const;
  bool overwrites(const Event<W>& later, const Event<W>& store) const;
  static bool found_the_same(const Event<W>& first, const Event<W>& last);
  bool is_replaced(const RegisterContent<W>& before, const RegisterContent<W>& now, const Looks& looks, const Sources<W>& control) const;
  static FixedBits<W> without(FixedBits<W> bits, EventId id);
  bool repeats_stores(const ThreadState<W>& state, const LooksAndPoint& span, const Looks& looks, const Sources<W>& control);
  bool finds_again(const ThreadState<W>& state, const Event<W>& e, std::size_t& next, const Looks& looks, const Sources<W>& control);
  bool is_repeated(const Event<W>& store, const Event<W>& other, const Looks& looks, const Sources<W>& control) const;
  bool is_overwritten(const ThreadState<W>& state, const Event<W>& store, std::size_t from) const;
  bool is_stored_again(const ThreadState<W>& state, std::size_t store) const;
  static bool is_store(const Event<W>& e);
  bool is_harmless(const Event<W>& e) const;
  bool fails_as_chosen(const Event<W>& e) const;
  bool is_settled_enough(const Event<W>& e, const Sources<W>& control) const;
  bool is_settled(const Sources<W>& sources, const Sources<W>& control) const;
  bool is_unchanged(const RegisterContent<W>& before, const RegisterContent<W>& now, const Sources<W>& control) const;
  bool have_same_value(NodeId left, NodeId right) const;
  static bool is_same(const Sources<W>& left, const Sources<W>& right);
  bool failed_by_chance(const ThreadState<W>& state, std::size_t from) const;
  bool relies_on_accesses(const ThreadState<W>& state, std::size_t from);
  bool relies_on_read(const Event<W>& e);
  bool relies_on(Address address, Reliance what);

  // --- machine_fetch.hpp

  EventId create(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, EventKind kind, std::int32_t event_class);
  EventId create_access(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction,
                        EventKind kind, std::int32_t event_class, const RegisterContent<W>& address);
  void find_order(const ThreadState<W>& state, Event<W>& e) const;
  static std::uint8_t pair_of(const Event<W>& first, const Event<W>& second);
  RegisterContent<W> loaded(EventId id, bool is_signed);
  void fetch_load(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void fetch_store(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void fetch_conditional(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void fetch_update(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);
  void set_update_value(Event<W>& write, const Instruction& instruction, const RegisterContent<W>& old_value,
                        const RegisterContent<W>& operand, const RegisterContent<W>& expected, bool compares);
  void set_success(ThreadState<W>& state, const Instruction& instruction, EventId write,
                   const RegisterContent<W>& old_value, const RegisterContent<W>& expected);
  void fetch_fence(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, std::int32_t event_class);
  void fetch_choice(std::int32_t thread, ThreadState<W>& state, std::int32_t pc, const Instruction& instruction);

  // --- machine_values.hpp

  std::optional<Value> loaded_value(const Node& node) const;
  std::optional<Value> status_value(const Event<W>& write) const;
  static std::optional<Value> chosen_value(const Event<W>& e);
  std::optional<Value> operation_value(const Node& node) const;
  void note_applied(const Applied& applied) const;
  bool tells_address(const Applied& applied) const;
  void note_made(const Applied& applied) const;

  const Program& program_;
  const CommitOrder& order_;
  const Limits& limits_;
  std::vector<Node> nodes_;
  std::vector<Event<W>> events_;
  StableVector<ThreadState<W>> threads_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> spawned_;  // by parent and number; outlives undo
  std::vector<AllocatedObject> objects_;
  Knowledge& knowledge_;
  std::optional<CodeAhead> ahead_;
  // What of it was asked for, or told, here.
  Parts parts_;
  std::unordered_map<Address, std::int32_t> writers_;
  std::unordered_map<Address, std::int32_t> trusted_;  // who relies on being the only one that writes there
  std::vector<std::optional<BlockLoops>> loops_;       // by block
  std::vector<std::vector<bool>> failing_;             // by block
  std::unordered_map<std::int32_t, Liveness> liveness_;  // by block
  bool leaves_out_rounds_ = false;
  bool frees_ = false;  // does the program release memory?
  std::optional<bool> link_crosses_calls_;
  std::map<std::pair<Address, Reliance>, bool> relied_on_;  // that it is so: what the answer was
  std::set<std::pair<Address, Reliance>> refuted_;
  bool renames_ = false;  // threads that do the same
  std::vector<ThreadStart> starts_;  // by thread, of those that were started
  OwnPlaces own_places_{heap_start, heap_per_thread, synchronisation_start};
  const ToldAddresses told_addresses_{own_places_};
  // Until it is known which arrays are shared out: what was computed meanwhile.
  std::vector<Evaluated> evaluated_;
  mutable std::vector<Applied> applied_;
  mutable std::set<Value> made_alone_;
  // Whose values are to be addresses in the part of an array that is a thread's own, and who may begin with another part.
  std::vector<bool> open_expressions_, followed_expressions_;
  std::int32_t evaluating_ = none;
  bool are_shared_out_ = false;
  bool releases_ = false;  // in any run
  std::vector<std::vector<bool>> await_targets_;  // by block
  std::vector<std::vector<bool>> waiting_reads_;  // by block: reads that wait with the writes of their updates; empty if none
  std::vector<std::vector<bool>> awaited_;        // by block
  bool is_alone_ = false;
  bool reuses_ = false;   // may what was freed be in use again?
  bool guesses_ = false;  // are there loose conditions?
  bool claims_ = false;   // are threads joined or detached?
  bool ends_are_owed_ = false;  // are the ends of threads no events until nothing else is left to do?
  std::uint64_t n_alone_ = 0;
  struct RoundAlone {
    std::int32_t block = none;
    std::int32_t head = none;
    std::size_t depth = 0;
    std::uint64_t n_changes = 0;
    std::size_t n_objects = 0;
    std::vector<Value> registers;

    bool operator==(const RoundAlone&) const = default;
  };
  RoundAlone kept_round_;
  std::uint64_t n_rounds_alone_ = 0;
  std::uint64_t next_kept_round_ = 1;
  std::uint64_t n_changes_alone_ = 0;  // of memory
  std::unordered_map<Address, std::uint8_t> written_alone_;
  std::unordered_map<Address, std::uint8_t> undefined_alone_;  // bits that are indeterminate, of what was written
  bool has_seen_undefined_ = false;  // in any run
  // Events of a thread are only ever added: it is enough to know how many there were.
  struct SavedThread {
    std::int32_t thread = 0;
    std::size_t n_events = 0;
    ThreadState<W> state;
  };
  std::vector<SavedThread> saved_;  // those beyond n_saved_ keep their memory for others
  std::size_t n_saved_ = 0;
  std::vector<RegisterContent<W>> stack_;
  std::vector<DeferredSources<W>> deferred_;
  std::vector<EventId> local_;
};

}  // namespace dekker::rsmc

#include "rsmc/machine_steps.hpp"
#include "rsmc/machine_alone.hpp"
#include "rsmc/machine_calls.hpp"
#include "rsmc/machine_memory.hpp"
#include "rsmc/machine_values.hpp"
#include "rsmc/machine_guesses.hpp"
#include "rsmc/machine_control.hpp"
#include "rsmc/machine_rounds.hpp"
#include "rsmc/machine_fetch.hpp"
