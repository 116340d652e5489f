// What instructions compute, and their accesses to buffers and memory.
#pragma once

#include <map>

#include "dekker/states/search.hpp"
#include "dekker/undefined.hpp"
#include "states/futures.hpp"
#include "states/heap.hpp"

namespace dekker::states {

// An access that the program's footprints do not foresee.
struct UnforeseenAccess {};

// What the search found out about the program while it ran, and then starts again with.
struct Assumptions {
  bool renames = true;     // addresses of allocated objects may be changed
  bool footprints = true;  // accesses stay inside the objects that the code names
  bool handles = true;     // what threads are known by is only joined or detached
};

class Accesses {
 public:
  Accesses(const Program& program, const Options& options, Assumptions assumptions, Components& components)
      : program_(program),
        options_(options),
        assumptions_(assumptions),
        map_(program),
        contents_(components.chunks),
        spawned_(components.spawned),
        kinds_(components.kinds) {
    std::size_t deepest = 1;
    for (const Expression& expression : program.expressions) deepest = std::max(deepest, expression.size());
    stack_.resize(deepest + 1);
    known_stack_.resize(deepest + 1);
    for (const Expression& expression : program.expressions)
      is_unset_.push_back(std::ranges::any_of(
          expression, [](const ExpressionStep& step) { return step.code == ExpressionCode::constant && step.operation != 0; }));
    has_unset_ = std::ranges::find(is_unset_, true) != is_unset_.end();
    may_be_undefined_ = has_unset_;
    for (std::size_t b = 0; b < program.threads.size() + program.functions.size(); ++b)
      for (const Instruction& i : program.block(static_cast<std::int32_t>(b)).code) {
        allocates_ = allocates_ || i.operation == Operation::allocate;
        may_be_undefined_ = may_be_undefined_ || i.is_unset;
        spawns_ = spawns_ || i.operation == Operation::spawn;
      }
  }

  Contents& contents() { return contents_; }
  const MemoryMap& map() const { return map_; }
  std::vector<Violation>& violations() { return violations_; }
  std::uint64_t largest_buffer = 0;
  Schedule* log = nullptr;
  std::vector<Touch>* touched = nullptr;  // what steps access that others may access, too

  bool renames() const { return assumptions_.renames && allocates_; }
  // Threads that were spawned may change places (`Numbering::sort_spawned`).
  bool merges_spawned() const {
    return options_.merges_spawned && spawns_ && !options_.robust && assumptions_.handles && assumptions_.renames;
  }
  bool watches() const { return renames() || merges_spawned(); }
  bool has_buffers() const { return options_.model != Model::sc; }
  bool in_order() const { return options_.model == Model::tso; }

  std::uint64_t n_reads = 0;
  std::uint64_t n_changes = 0;  // of memory, but for locals that nobody else can reach

  const Instruction* current(const ThreadState& thread) const {
    const Frame& frame = thread.frames.back();
    const std::vector<Instruction>& code = program_.block(frame.block).code;
    return at(frame.pc) < code.size() ? &code[at(frame.pc)] : nullptr;
  }

  void choose(State& state, std::int32_t t, Value value) {
    ThreadState& thread = state.threads[at(t)];
    if (current(thread)->operation == Operation::recycle) touch_frees(false);
    note({ActionKind::choice, place(thread, t), 0, 0, value});
    thread.in(current(thread)->destination) = value;
    ++thread.frames.back().pc;
  }

  // What may be chosen where an object may be allocated again.
  std::vector<Value> recyclable(const State& state, std::int32_t t) {
    const ThreadState& thread = state.threads[at(t)];
    const Value size = evaluate(thread, current(thread)->value);
    std::vector<Value> found{0};
    for (const HeapObject& object : state.memory.heap)
      if (object.has_word && object.size == size) found.push_back(object.start);
    return found;
  }

  // Whichever object is freed, it matters to all that may allocate it again.
  static Touch frees(bool writes) { return {0, 0, writes, heap_cells::heap}; }

  void touch_frees(bool writes) {
    if (touched != nullptr) touched->push_back(frees(writes));
  }

  // A store-conditional can only succeed where the last load-linked went.
  static bool is_linked(const ThreadState& thread, Address address, std::uint8_t size) {
    return thread.link == address && thread.link_size == size;
  }

  void conditional_store(State& state, std::int32_t t, bool succeeds) {
    ThreadState& thread = state.threads[at(t)];
    const Instruction& i = *current(thread);
    const Address address = evaluate(thread, i.address);
    const KnownBits stored = known(thread, i.value);
    thread.link_size = 0;
    touch(state, address, i.size, true);
    if (succeeds && !update_memory(state, t, i, address, stored.value, stored.undefined)) return;
    thread.in(i.destination) = succeeds ? 0 : 1;
    ++thread.frames.back().pc;
  }

  // Reads and writes memory at once. A weak compare-exchange may fail for no reason; a quiet exchange only reads if what it
  // would write is there.
  void update(State& state, std::int32_t t, const Instruction& i, bool fails) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.address);
    if (!is_accessible(state, t, address, i)) return;
    const unsigned width = 8u * i.size;
    const KnownBits old = read_known(state, address, i.size);
    const Value old_value = old.value;
    ++n_reads;
    note({ActionKind::read, place(thread, t), address, i.size, old_value});
    const Value operand = evaluate(thread, i.value);
    const KnownBits given{operand, undefined(thread, i.value)};
    if (i.operation == Operation::compare_exchange) {
      const KnownBits expected = known(thread, i.expected);
      if (undefined_bits(BinaryOperator::eq, width, old, expected) != 0) {
        fail(state, t, ViolationKind::uninitialised, address);
        return;
      }
      const Value wanted = evaluate(thread, i.expected);
      watch_compared(wanted, old_value);
      const bool succeeds = !fails && ((wanted ^ old_value) & low_bits(width)) == 0;
      if (succeeds && !update_memory(state, t, i, address, operand, given.undefined)) return;
      if (i.destination != none) thread.set(i.destination, old_value, old.undefined);
      if (i.success != none) thread.in(i.success) = succeeds ? 1 : 0;
    } else {
      if (i.is_quiet) watch_compared(operand, old_value);
      const Value result = updated(i, old_value, operand);
      const Value bits = undefined_bits(static_cast<UpdateOperator>(i.update), width, old, given);
      const bool writes = !i.is_quiet || bits != 0 || ((result ^ old_value) & low_bits(width)) != 0;
      if (writes && !update_memory(state, t, i, address, result, bits)) return;
      if (i.destination != none) thread.set(i.destination, old_value, old.undefined);
    }
    ++thread.frames.back().pc;
  }

  // Takes the entries out of their buffers and writes them, in this order.
  void commit(State& state, const std::vector<EntryPlace>& sequence) {
    if (sequence.empty()) return;
    for (std::size_t k = 0; k < sequence.size(); ++k) {
      const EntryPlace& e = sequence[k];
      const Entry entry = state.threads[at(e.thread)].buffer[e.index];
      if (log != nullptr) {
        const auto before = std::ranges::count_if(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(k),
                                                  [&](const EntryPlace& p) { return p.thread == e.thread && p.index < e.index; });
        note({ActionKind::commit, {e.thread, 0, 0}, entry.address, entry.size, e.index - static_cast<Value>(before)});
      }
      write(state, e.thread, entry.address, entry.size, entry.value, entry.undefined);
    }
    for (const EntryPlace& e : sequence) {
      state.threads[at(e.thread)].buffer[e.index].size = 0;
      state.threads[at(e.thread)].number = unnumbered;
    }
    for (ThreadState& thread : state.threads) {
      if (std::erase_if(thread.buffer, [](const Entry& entry) { return entry.size == 0; }) != 0) normalise(thread);
    }
  }

  Value read_memory(State& state, Address address, std::uint8_t size) { return read_known(state, address, size).value; }

  KnownBits read_known(State& state, Address address, std::uint8_t size) {
    const Location place = map_.locate(state.memory, address, size);
    Value value = 0;
    std::memcpy(&value, contents_.read(*place.content) + place.offset, size);
    return {value, undefined_at(place, size)};
  }

  // Is anything in the object indeterminate, or in what shares its chunk? Then there are, behind the bytes of the content,
  // as many that say which bits are.
  bool is_partly(const Location& place) const {
    if (place.object != nullptr) return place.object->is_partly;
    return may_be_undefined_ && place.n_words != 0 && contents_.n_words(*place.content) != place.n_words;
  }

  Value undefined_at(const Location& place, std::uint8_t size) const {
    if (!is_partly(place)) return 0;
    Value bits = 0;
    std::memcpy(&bits, contents_.read(*place.content) + 2 * contents_.n_words(*place.content) + place.offset, size);
    return bits;
  }

  // Memory that other threads may access: of global objects and of the heap.
  bool is_for_others(State& state, Address address) const {
    const HeapObject* object = address >= fixed_start ? find_object(state.memory, address) : nullptr;
    return object == nullptr || !object->is_stack;
  }

  bool shows_undefined(State& state, const Instruction& i, Address address, Value bits) const {
    const Value all = low_bits(8u * i.size);
    return (bits & all) == all && !i.is_copy && is_for_others(state, address);
  }

  KnownByte read_byte(State& state, Address address) {
    const Location place = map_.locate(state.memory, address, 1);
    if (place.content == nullptr) return {};
    return {contents_.read(*place.content)[place.offset], static_cast<std::uint8_t>(undefined_at(place, 1))};
  }

  void fail(State& state, std::int32_t t, ViolationKind kind, Address address) {
    ThreadState& thread = state.threads[at(t)];
    blame(kind, place(thread, t), address);
    stop(thread, ThreadStatus::failed);
  }

  void blame(ViolationKind kind, Place culprit, Address address) {
    violations_.push_back({kind, culprit, merges_spawned() ? shown(address) : address});
    note({ActionKind::failure, culprit, address, 0, static_cast<Value>(kind)});
  }

  Place place(const ThreadState& thread, std::int32_t t) const {
    return {t, thread.frames.back().block, thread.frames.back().pc};
  }

  Value evaluate(const ThreadState& thread, std::int32_t number) {
    const Expression& expression = program_.expressions[at(number)];
    const Value* registers = thread.registers.data() + thread.frames.back().base;
    Value* top = stack_.data();
    const bool watched = watches();
    for (const ExpressionStep& step : expression) {
      switch (step.code) {
        case ExpressionCode::constant: *top++ = step.operand; break;
        case ExpressionCode::register_value: *top++ = registers[step.operand]; break;
        case ExpressionCode::unary: {
          const auto operation = static_cast<UnaryOperator>(step.operation);
          const Value operand = top[-1];
          top[-1] = apply(operation, step.width, operand);
          if (watched) pointers::watch(operation, step.width, operand, top[-1]);
          break;
        }
        case ExpressionCode::binary: {
          const auto operation = static_cast<BinaryOperator>(step.operation);
          const Value left = top[-2], right = top[-1];
          --top;
          top[-1] = apply(operation, step.width, left, right);
          if (watched) pointers::watch(operation, step.width, left, right, top[-1]);
          break;
        }
        case ExpressionCode::select:
          top -= 2;
          top[-1] = top[-1] != 0 ? top[0] : top[1];
          break;
      }
    }
    return top[-1];
  }

  // Is there anything indeterminate in the expression?
  bool may_be_undefined(const ThreadState& thread, std::int32_t number) const {
    if (has_unset_ && is_unset_[at(number)]) return true;
    if (thread.undefined.empty()) return false;
    const Value* undefined = thread.undefined.data() + thread.frames.back().base;
    return std::ranges::any_of(program_.expressions[at(number)], [&](const ExpressionStep& step) {
      return step.code == ExpressionCode::register_value && undefined[step.operand] != 0;
    });
  }

  // Of the value of an expression, the bits that are indeterminate.
  Value undefined(const ThreadState& thread, std::int32_t number) {
    if (!may_be_undefined(thread, number)) return 0;
    const std::size_t base = thread.frames.back().base;
    KnownBits* top = known_stack_.data();
    for (const ExpressionStep& step : program_.expressions[at(number)]) {
      switch (step.code) {
        case ExpressionCode::constant: *top++ = {step.operand, step.operation != 0 ? ~Value{0} : 0}; break;
        case ExpressionCode::register_value:
          *top++ = {thread.registers[base + step.operand], thread.undefined.empty() ? 0 : thread.undefined[base + step.operand]};
          break;
        case ExpressionCode::unary: {
          const auto operation = static_cast<UnaryOperator>(step.operation);
          top[-1] = {apply(operation, step.width, top[-1].value), undefined_bits(operation, step.width, top[-1])};
          break;
        }
        case ExpressionCode::binary: {
          const auto operation = static_cast<BinaryOperator>(step.operation);
          --top;
          top[-1] = {apply(operation, step.width, top[-1].value, top[0].value),
                     undefined_bits(operation, step.width, top[-1], top[0])};
          break;
        }
        case ExpressionCode::select: {
          top -= 2;
          const bool is_open = is_undecided(top[-1]);
          top[-1] = top[-1].value != 0 ? top[0] : top[1];
          if (is_open) top[-1].undefined = ~Value{0};
          break;
        }
      }
    }
    return top[-1].undefined;
  }

  KnownBits known(const ThreadState& thread, std::int32_t number) { return {evaluate(thread, number), undefined(thread, number)}; }

  // Does what the thread does next, other than an access, depend on an indeterminate value?
  bool decides_on_undefined(const ThreadState& thread, const Instruction& i) {
    if (thread.undefined.empty() && !has_unset_) return false;
    switch (i.operation) {
      case Operation::branch:
      case Operation::assume:
      case Operation::await:
      case Operation::check: return may_be_undefined(thread, i.value) && is_undecided(known(thread, i.value));
      case Operation::call:
      case Operation::spawn: return i.target == none && undefined(thread, i.value) != 0;
      case Operation::join:
      case Operation::detach:
      case Operation::allocate:
      case Operation::release:
      case Operation::measure: return undefined(thread, i.value) != 0;
      default: return false;
    }
  }

  Touch touch_of(State& state, Address address, Address size, bool writes) const {
    Touch found{address, size, writes};
    if (!renames() || !is_heap_address(address)) return found;
    const HeapObject* object = find_object(state.memory, address);
    found.heap_cell = object != nullptr && !object->is_stack ? heap_cells::heap : heap_cells::any;
    for (std::uint32_t t = 0; t < state.threads.size() && found.heap_cell == heap_cells::any; ++t)
      for (const Owned& owned : state.threads[t].owned)
        if (object != nullptr && owned.address == object->start) found.heap_cell = locals_of(t);
    return found;
  }

  // Threads that may change places have one cell for all that they own.
  std::uint32_t locals_of(std::size_t t) const {
    const std::size_t first_spawned = program_.threads.size();
    return heap_cells::first_thread + static_cast<std::uint32_t>(merges_spawned() ? std::min(t, first_spawned) : t);
  }

  // What the thread may access from now on, as far as anybody asks.
  Footprint future(const ThreadState& thread) const {
    Footprint found{0, 0};
    if (!options_.reduce || !assumptions_.footprints) return found;
    for (const Frame& frame : thread.frames) {
      const Footprint& part = program_.block(frame.block).future[at(frame.pc)];
      found.reads |= part.reads;
      found.writes |= part.writes;
    }
    return found;
  }

  // Groups are counted from the oldest entry.
  static void normalise(ThreadState& thread) {
    std::uint8_t group = 0;
    std::uint8_t last = thread.buffer.empty() ? 0 : thread.buffer.front().group;
    for (Entry& entry : thread.buffer) {
      if (entry.group != last) ++group;
      last = entry.group;
      entry.group = group;
    }
    if (thread.buffer.empty()) thread.opens_group = false;
  }

  // May other threads notice an access to these bytes, now or later?
  bool is_unnoticed(const State& state, std::int32_t t, const Location& place, Address address, Address size, bool writes) const {
    if (!options_.reduce || !assumptions_.footprints) return false;
    for (std::size_t u = 0; u < state.threads.size(); ++u) {
      if (u == at(t)) continue;
      const ThreadState& other = state.threads[u];
      for (const Entry& entry : other.buffer)
        if (entry.overlaps(address, size)) return false;
      if (other.status != ThreadStatus::running) continue;
      for (const Frame& frame : other.frames) {
        const Footprint& future = program_.block(frame.block).future[at(frame.pc)];
        if (((future.writes | (writes ? future.reads : 0)) & place.bit) != 0) return false;
      }
    }
    return true;
  }

 protected:
  void note(const Action& action) {
    if (log == nullptr) return;
    log->push_back(action);
    if (!merges_spawned()) return;
    log->back().value = shown(action.value);
    log->back().address = shown(action.address);
  }

  void touch(State& state, Address address, Address size, bool writes) {
    if (touched != nullptr) touched->push_back(touch_of(state, address, size, writes));
  }

  // What the thread holds is never asked for again. If it is blocked in a section, it stays there, and so does everybody.
  static void stop(ThreadState& thread, ThreadStatus status) {
    thread.status = status;
    std::ranges::fill(thread.registers, 0);
    thread.undefined.clear();
    thread.link_size = 0;
    thread.in_section = thread.in_section && status == ThreadStatus::blocked;
  }

  bool has_room(const ThreadState& thread) const {
    return options_.buffer_bound == 0 || thread.buffer.size() < options_.buffer_bound;
  }

  static bool has_own_entry(const ThreadState& thread, Address address, Address size) {
    return std::ranges::any_of(thread.buffer, [&](const Entry& entry) { return entry.overlaps(address, size); });
  }

  static bool has_urgent_entry(const ThreadState& thread) {
    return std::ranges::any_of(thread.buffer, &Entry::before_loads);
  }

  // ---- Accesses -----------------------------------------------------------------------------------------------------

  bool is_accessible(State& state, std::int32_t t, Address address, const Instruction& i) {
    const Location place = map_.locate(state.memory, address, i.size);
    if (!place.is_private) touch(state, address, i.size, i.operation != Operation::load);
    if (undefined(state.threads[at(t)], i.address) != 0) {
      if (log != nullptr) note_wrong_access(state.threads[at(t)], t, address, i);
      fail(state, t, ViolationKind::uninitialised, address);
      return false;
    }
    if (place.content != nullptr) {
      if (assumptions_.footprints && (i.touches & place.bit) == 0) throw UnforeseenAccess{};
      return true;
    }
    if (log != nullptr) note_wrong_access(state.threads[at(t)], t, address, i);
    if (place.was_freed && has_own_entry(state.threads[at(t)], address, i.size)) {
      // It reads what its own buffer holds. That this comes too late was said when the object was released.
      stop(state.threads[at(t)], ThreadStatus::failed);
      return false;
    }
    fail(state, t, place.was_freed ? ViolationKind::use_after_free : ViolationKind::memory, address);
    return false;
  }

  // Nobody reads what is written where nothing is, so that may as well stay in the buffer, even if there is none.
  void note_wrong_access(const ThreadState& thread, std::int32_t t, Address address, const Instruction& i) {
    const bool writes = i.operation == Operation::store;
    const Value value = writes ? evaluate(thread, i.value) & low_bits(8u * i.size) : 0;
    note({writes ? ActionKind::buffered : ActionKind::read, place(thread, t), address, i.size, value});
  }

  void load(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.address);
    if (!is_accessible(state, t, address, i)) return;
    auto [value, bits] = read_known(state, address, i.size);
    for (const Entry& entry : thread.buffer)
      if (entry.overlaps(address, i.size)) {
        value = forwarded(value, address, i.size, entry, entry.value);
        bits = forwarded(bits, address, i.size, entry, entry.undefined);
      }
    watch_loaded(state, address, i.size, value);
    ++n_reads;
    note({ActionKind::read, place(thread, t), address, i.size, value});
    if (i.is_exclusive) {
      thread.link = address;
      thread.link_size = thread.buffer.empty() ? i.size : 0;
    }
    const auto extended = [&](Value loaded) { return i.is_signed ? apply(UnaryOperator::sext, 8u * i.size, loaded) : loaded; };
    thread.set(i.destination, extended(value), extended(bits));
  }

  static Value forwarded(Value value, Address address, std::uint8_t size, const Entry& entry, Value stored) {
    for (unsigned b = 0; b < size; ++b) {
      const Address offset = address + b - entry.address;
      if (offset >= entry.size) continue;
      const Value mask = Value{0xFF} << (8 * b);
      value = (value & ~mask) | ((stored >> (8 * offset) & 0xFF) << (8 * b));
    }
    return value;
  }

  // No part of an address in memory is to be read alone.
  void watch_loaded(State& state, Address address, std::uint8_t size, Value value) {
    if (!watches() || (size == 8 && address % 8 == 0)) return;
    if (pointers::is_name(value)) pointers::refuse(value);
    for (Address word = address / 8 * 8; word < address + size; word += 8) {
      Value whole = 0;
      for (unsigned b = 0; b < 8; ++b) whole |= Value{read_byte(state, word + b).value} << (8 * b);
      if (pointers::is_name(whole)) pointers::refuse(whole);
    }
    for (const ThreadState& thread : state.threads)
      for (const Entry& entry : thread.buffer)
        if (entry.overlaps(address, size) && pointers::is_name(entry.value)) pointers::refuse(entry.value);
  }

  void watch_stored(Address address, std::uint8_t size, Value value) const {
    if (watches() && pointers::is_name(value) && (size != 8 || address % 8 != 0)) pointers::refuse(value);
  }

  void store(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.address);
    if (!is_accessible(state, t, address, i)) return;
    const Value whole = evaluate(thread, i.value);
    watch_stored(address, i.size, whole);
    const Value value = whole & low_bits(8u * i.size);
    const Value bits = undefined(thread, i.value) & low_bits(8u * i.size);
    if (shows_undefined(state, i, address, bits)) {
      note({ActionKind::buffered, place(thread, t), address, i.size, value});
      fail(state, t, ViolationKind::uninitialised, address);
      return;
    }
    const Location where = map_.locate(state.memory, address, i.size);
    if (!where.is_private) share(state.memory, contents_, value);
    if (goes_straight(state, t, where, address, i.size)) {
      note({ActionKind::write, place(thread, t), address, i.size, value});
      write(state, t, address, i.size, value, bits);
      return;
    }
    note({ActionKind::buffered, place(thread, t), address, i.size, value});
    const std::uint8_t group = thread.buffer.empty() ? 0 : next_group(thread);
    Entry entry{address, value, i.size, group};
    entry.undefined = bits;
    if (address >= fixed_start) {
      entry.block = thread.frames.back().block;
      entry.pc = thread.frames.back().pc;
    }
    thread.buffer.push_back(entry);
    thread.opens_group = false;
    largest_buffer = std::max<std::uint64_t>(largest_buffer, thread.buffer.size());
  }

  // A store that nobody else can notice might as well leave its buffer at once. If it would have to wait there behind others,
  // it takes room that the bound counts.
  bool goes_straight(const State& state, std::int32_t t, const Location& where, Address address, std::uint8_t size) const {
    if (!has_buffers() || where.is_private) return true;
    const ThreadState& thread = state.threads[at(t)];
    if (!thread.buffer.empty() && (options_.buffer_bound != 0 || has_own_entry(thread, address, size))) return false;
    return is_unnoticed(state, t, where, address, size, true);
  }

  static std::uint8_t next_group(const ThreadState& thread) {
    if (thread.buffer.back().group == 255) throw TooManyStores{};
    return static_cast<std::uint8_t>(thread.buffer.back().group + (thread.opens_group ? 1 : 0));
  }

  void fence(ThreadState& thread, std::int32_t t, const Instruction& i) {
    note({ActionKind::fence, place(thread, t)});
    if (thread.buffer.empty()) return;
    if (i.fence == FenceAction::before_stores) thread.opens_group = true;
    if (i.fence == FenceAction::before_loads)
      for (Entry& entry : thread.buffer) entry.before_loads = true;
  }

  Value updated(const Instruction& i, Value old_value, Value operand) const {
    const auto operation = static_cast<UpdateOperator>(i.update);
    if (operation == UpdateOperator::exchange) return operand;
    const Value result = apply(operation, 8u * i.size, old_value, operand);
    const bool involved =
        watches() && i.size == 8 && (pointers::is_name(old_value) || pointers::is_name(operand) || pointers::is_name(result));
    if (involved) watch_update(operation, old_value, operand, result);
    return result;
  }

  void watch_compared(Value wanted, Value found) const {
    if (merges_spawned() && (is_handle(wanted) || is_handle(found))) pointers::watch_handles(BinaryOperator::eq, wanted, found);
  }

  static void watch_update(UpdateOperator operation, Value old_value, Value operand, Value result) {
    static const std::map<UpdateOperator, BinaryOperator> known{{UpdateOperator::add, BinaryOperator::add},
                                                                {UpdateOperator::sub, BinaryOperator::sub},
                                                                {UpdateOperator::bit_and, BinaryOperator::bit_and},
                                                                {UpdateOperator::bit_or, BinaryOperator::bit_or},
                                                                {UpdateOperator::bit_xor, BinaryOperator::bit_xor}};
    const auto found = known.find(operation);
    if (found == known.end() || is_handle(old_value) || is_handle(operand)) pointers::refuse(is_handle(old_value) ? old_value : operand);
    pointers::watch(found->second, 64, old_value, operand, result);
  }

  // Whether what is written is fit for others to see.
  bool update_memory(State& state, std::int32_t t, const Instruction& i, Address address, Value value, Value bits) {
    watch_stored(address, i.size, value);
    value &= low_bits(8u * i.size);
    const bool shows = shows_undefined(state, i, address, bits);
    const Location where = map_.locate(state.memory, address, i.size);
    if (!where.is_private) share(state.memory, contents_, value);
    write(state, t, address, i.size, value, bits);
    note({ActionKind::write, place(state.threads[at(t)], t), address, i.size, value});
    if (shows) fail(state, t, ViolationKind::uninitialised, address);
    return !shows;
  }

  void write_undefined(const Location& place, std::uint8_t size, Value bits) {
    const bool was_partly = is_partly(place);
    const std::size_t n_words = contents_.n_words(*place.content) / (was_partly ? 2 : 1);
    if (!was_partly) contents_.resize(*place.content, 2 * n_words);
    std::uint8_t* undefined_bytes = contents_.edit(*place.content) + 4 * n_words;
    std::memcpy(undefined_bytes + place.offset, &bits, size);
    const bool remains = std::any_of(undefined_bytes, undefined_bytes + 4 * n_words, [](std::uint8_t byte) { return byte != 0; });
    if (!remains) contents_.resize(*place.content, n_words);
    if (place.object != nullptr) place.object->is_partly = remains;
  }

  // Breaks the links of other threads.
  void write(State& state, std::int32_t t, Address address, std::uint8_t size, Value value, Value bits = 0) {
    const Location place = map_.locate(state.memory, address, size);
    if (place.content == nullptr) return;
    state.memory.number = unnumbered;
    std::uint8_t* const there = contents_.edit(*place.content) + place.offset;
    const bool is_own = place.object != nullptr && place.is_private;
    n_changes += !is_own && std::memcmp(there, &value, size) != 0;
    std::memcpy(there, &value, size);
    const bool remembers = place.object != nullptr || place.n_words != 0;
    if (remembers && (bits != 0 || is_partly(place))) write_undefined(place, size, bits);
    for (std::size_t u = 0; u < state.threads.size(); ++u) {
      ThreadState& other = state.threads[u];
      const bool breaks = u != at(t) && other.link_size != 0 && address < other.link + other.link_size && other.link < address + size;
      if (!breaks) continue;
      other.link_size = 0;
      other.number = unnumbered;
    }
  }

  const Program& program_;
  const Options& options_;
  Assumptions assumptions_;
  MemoryMap map_;
  Contents contents_;
  SpawnedThreads& spawned_;
  Sequences& kinds_;
  std::vector<Value> stack_;
  std::vector<KnownBits> known_stack_;
  std::vector<bool> is_unset_;  // by expression: is something in it indeterminate?
  bool has_unset_ = false;
  bool may_be_undefined_ = false;  // are there expressions or allocated objects that are?
  bool allocates_ = false;
  bool spawns_ = false;
  std::vector<Violation> violations_;
};

}  // namespace dekker::states
