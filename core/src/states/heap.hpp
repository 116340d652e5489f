// Allocated objects: numbering by reachability, and who knows their addresses.
//
// A value in the range of allocated addresses is an address. Numbering objects anew changes the slot in all such values and
// nothing else, so it is exact as long as the program does nothing with addresses that depends on where objects are. `watch` sees all that
// it computes; where it cannot be sure, the search starts again with addresses that never change.
#pragma once

#include <tuple>

#include "dekker/arithmetic.hpp"
#include "states/memory_map.hpp"

namespace dekker::states {

// The program computes with the address of an allocated object in a way that depends on where the object is.
struct OpaqueAddress {};

// The program does more with what a thread is known by than to join or detach the thread, once.
struct HandlesMatter {};

namespace pointers {

// Neither a number like others nor to be looked into.
inline bool is_name(Value value) { return value - heap_start < ((most_slots + most_handles) << slot_bits); }

[[noreturn]] inline void refuse(Value name) {
  if (is_handle(name)) throw HandlesMatter{};
  throw OpaqueAddress{};
}

// All objects are aligned so; what these bits are is no secret.
inline constexpr Value known_bits = 63;

inline bool stays(Value pointer, Value result) { return is_heap_address(result) && slot_of(pointer) == slot_of(result); }

inline bool is_high_mask(Value mask) { return (mask | known_bits) == ~Value{0}; }

// A pointer and a number that is none.
inline bool is_harmless_with_number(BinaryOperator operation, Value pointer, Value number, bool pointer_is_left, Value result) {
  switch (operation) {
    case BinaryOperator::add: return stays(pointer, result);
    case BinaryOperator::bit_or:
    case BinaryOperator::bit_xor: return number <= known_bits;
    case BinaryOperator::sub: return pointer_is_left && stays(pointer, result);
    case BinaryOperator::bit_and: return number <= known_bits || is_high_mask(number);
    case BinaryOperator::eq:
    case BinaryOperator::ne:
    case BinaryOperator::ult:
    case BinaryOperator::ule:
    case BinaryOperator::ugt:
    case BinaryOperator::uge:
    case BinaryOperator::slt:
    case BinaryOperator::sle:
    case BinaryOperator::sgt:
    case BinaryOperator::sge: return true;
    default: return false;
  }
}

inline bool is_comparison(BinaryOperator operation) {
  return operation >= BinaryOperator::eq && operation <= BinaryOperator::sge;
}

inline bool is_harmless_with_pointer(BinaryOperator operation, Value left, Value right) {
  if (operation == BinaryOperator::eq || operation == BinaryOperator::ne) return true;
  const bool same = slot_of(left) == slot_of(right);
  return same && (operation == BinaryOperator::sub || operation == BinaryOperator::bit_xor || is_comparison(operation));
}

// No thread is known by 0.
inline void watch_handles(BinaryOperator operation, Value left, Value right) {
  const bool asks_whether = operation == BinaryOperator::eq || operation == BinaryOperator::ne;
  if (!asks_whether || (left != 0 && right != 0)) throw HandlesMatter{};
}

inline void watch(BinaryOperator operation, unsigned width, Value left, Value right, Value result) {
  if (!is_name(left) && !is_name(right) && !is_name(result)) return;
  if (is_handle(left) || is_handle(right) || is_handle(result)) {
    watch_handles(operation, left, right);
    return;
  }
  const bool left_is = is_heap_address(left), right_is = is_heap_address(right);
  if (width < 64) throw OpaqueAddress{};
  bool harmless = false;
  if (left_is && right_is)
    harmless = is_harmless_with_pointer(operation, left, right);
  else if (left_is)
    harmless = is_harmless_with_number(operation, left, right, true, result);
  else if (right_is)
    harmless = is_harmless_with_number(operation, right, left, false, result);
  if (!harmless) throw OpaqueAddress{};
}

inline void watch(UnaryOperator operation, unsigned width, Value operand, Value result) {
  if (!is_name(operand) && !is_name(result)) return;
  const bool keeps =
      operation == UnaryOperator::zext || operation == UnaryOperator::sext || operation == UnaryOperator::freeze;
  if (width < 64 || !keeps || operand != result) refuse(is_name(operand) ? operand : result);
}

}  // namespace pointers

// Of the content, without those that say which bits are indeterminate.
inline std::size_t n_bytes(const Contents& contents, const HeapObject& object) {
  return 4 * contents.n_words(object.content) / (object.is_partly ? 2 : 1);
}

// The addresses that a thread holds, in the order in which they lead to objects.
template <class Visit>
void each_value(const ThreadState& thread, const Visit& visit) {
  for (const Value value : thread.registers) visit(value);
  for (const Entry& entry : thread.buffer) {
    visit(entry.address);
    visit(entry.value);
  }
  for (const Owned& object : thread.owned) visit(object.address);
  if (thread.link_size != 0) visit(thread.link);
  visit(thread.result);
}

// The same, to be changed.
template <class Change>
void change_values(ThreadState& thread, const Change& changed) {
  for (Value& value : thread.registers) value = changed(value);
  for (Entry& entry : thread.buffer) {
    entry.address = changed(entry.address);
    entry.value = changed(entry.value);
  }
  for (Owned& object : thread.owned) object.address = changed(object.address);
  thread.link = changed(thread.link);
  thread.result = changed(thread.result);
}

template <class Visit>
void each_value(const Contents& contents, std::uint32_t chunk, std::size_t n_bytes, const Visit& visit) {
  const std::uint8_t* bytes = contents.read(chunk);
  for (std::size_t i = 0; i + 8 <= n_bytes; i += 8) {
    Value value;
    std::memcpy(&value, bytes + i, sizeof value);
    visit(value);
  }
}

// Numbers the objects of a state by the order in which threads and memory lead to them. Objects that nothing leads to go;
// of those that should have been released, one for each place and size stays behind the others.
class Renumbering {
 public:
  void apply(State& state, const MemoryMap& map, Contents& contents) {
    if (state.memory.heap.empty()) return;
    order_.clear();
    new_slot_.assign(slot_of(state.memory.heap.back().start) + std::size_t{1}, unknown);
    for (const ThreadState& thread : state.threads) visit(thread);
    for (std::size_t c = 0; c < map.n_chunks(); ++c) visit(contents, state.memory.chunks[c], 4 * map.n_words(c));
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (const HeapObject* object = find_object(state.memory, start_of_slot(order_[i])); object != nullptr && object->is_live)
        visit(contents, object->content, n_bytes(contents, *object));
    if (is_identity(state.memory)) return;
    for (ThreadState& thread : state.threads) rename(thread);
    state.memory.number = unnumbered;
    for (std::size_t c = 0; c < map.n_chunks(); ++c) rename(contents, state.memory.chunks[c], 4 * map.n_words(c));
    rename(state.memory, contents);
  }

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};

  bool is_known(Value value) const { return is_heap_address(value) && slot_of(value) < new_slot_.size(); }

  void visit(Value value) {
    if (!is_known(value)) return;
    std::uint32_t& slot = new_slot_[slot_of(value)];
    if (slot != unknown) return;
    slot = static_cast<std::uint32_t>(order_.size());
    order_.push_back(slot_of(value));
  }

  void visit(const ThreadState& thread) {
    each_value(thread, [&](Value value) { visit(value); });
  }

  void visit(const Contents& contents, std::uint32_t chunk, std::size_t n_bytes) {
    each_value(contents, chunk, n_bytes, [&](Value value) { visit(value); });
  }

  bool is_identity(const Memory& memory) const {
    if (order_.size() != memory.heap.size()) return false;
    for (std::size_t i = 0; i < order_.size(); ++i)
      if (order_[i] != i) return false;
    return true;
  }

  Value renamed(Value value) const {
    if (!is_known(value) || new_slot_[slot_of(value)] == unknown) return value;
    return value - (Address{slot_of(value)} << slot_bits) + (Address{new_slot_[slot_of(value)]} << slot_bits);
  }

  void rename(ThreadState& thread) const {
    thread.number = unnumbered;
    change_values(thread, [&](Value value) { return renamed(value); });
  }

  void rename(Contents& contents, std::uint32_t& chunk, std::size_t n_bytes) const {
    for (std::size_t i = 0; i + 8 <= n_bytes; i += 8) {
      Value value;
      std::memcpy(&value, contents.read(chunk) + i, sizeof value);
      const Value changed = renamed(value);
      if (changed != value) std::memcpy(contents.edit(chunk) + i, &changed, sizeof changed);
    }
  }

  void rename(Memory& memory, Contents& contents) {
    kept_.clear();
    for (std::uint32_t slot = 0; slot < order_.size(); ++slot) {
      const HeapObject* object = find_object(memory, start_of_slot(order_[slot]));
      HeapObject copy = object != nullptr ? *object : HeapObject{};
      copy.start = start_of_slot(slot);
      if (copy.is_live) rename(contents, copy.content, n_bytes(contents, copy));
      kept_.push_back(copy);
    }
    keep_lost(memory);
    memory.heap = kept_;
  }

  void keep_lost(const Memory& memory) {
    const auto first = static_cast<std::ptrdiff_t>(kept_.size());
    for (const HeapObject& object : memory.heap)
      if (object.is_live && object.block != none && new_slot_[slot_of(object.start)] == unknown)
        kept_.push_back({0, 0, object.size, true, true, false, false, object.block, object.pc});
    const auto key = [](const HeapObject& object) { return std::tuple(object.block, object.pc, object.size); };
    std::ranges::sort(kept_.begin() + first, kept_.end(), {}, key);
    const auto same = [&](const HeapObject& a, const HeapObject& b) { return key(a) == key(b); };
    kept_.erase(std::unique(kept_.begin() + first, kept_.end(), same), kept_.end());
    for (std::size_t i = static_cast<std::size_t>(first); i < kept_.size(); ++i)
      kept_[i].start = start_of_slot(static_cast<std::uint32_t>(i));
  }

  std::vector<std::uint32_t> order_;     // old slots
  std::vector<std::uint32_t> new_slot_;  // by old slot
  std::vector<HeapObject> kept_;
};

// Whether a step of a thread from a state whose objects are numbered leaves them numbered, whatever the registers of other
// threads hold. The order in which objects are met is that of the first pointers to them: it does not change if the thread holds
// pointers to the same objects in the same order as before, and so does every part of memory, apart from pointers to objects that
// the thread itself leads to, and therefore are met before memory.
class PointerOrder {
 public:
  bool is_kept(const State& before, const State& after, std::size_t t, const MemoryMap& map, const Contents& contents) {
    if (!has_same_objects(before.memory, after.memory)) return false;
    met_.assign(before.memory.heap.empty() ? 0 : slot_of(before.memory.heap.back().start) + std::size_t{1}, never);
    round_ = never;
    collect(before.threads[t], before_);
    collect(after.threads[t], after_);
    if (before_ != after_) return false;
    if (after.memory.number != unnumbered) return true;
    for (const std::uint32_t slot : before_) met_[slot] = always;
    for (std::size_t c = 0; c < map.n_chunks(); ++c)
      if (!is_kept(contents, before.memory.chunks[c], after.memory.chunks[c], 4 * map.n_words(c))) return false;
    for (std::size_t i = 0; i < before.memory.heap.size(); ++i) {
      const HeapObject &old = before.memory.heap[i], &now = after.memory.heap[i];
      if (!old.is_live || old.content == now.content) continue;  // lost objects have no content
      if (!is_kept(contents, old.content, now.content, n_bytes(contents, now))) return false;
    }
    return true;
  }

 private:
  static bool has_same_objects(const Memory& before, const Memory& after) {
    return std::ranges::equal(before.heap, after.heap, [](const HeapObject& a, const HeapObject& b) {
      return a.start == b.start && a.size == b.size && a.is_live == b.is_live;
    });
  }

  bool is_kept(const Contents& contents, std::uint32_t before, std::uint32_t after, std::size_t n_bytes) {
    if (before == after) return true;
    collect(contents, before, n_bytes, before_);
    collect(contents, after, n_bytes, after_);
    return before_ == after_;
  }

  void collect(const ThreadState& thread, std::vector<std::uint32_t>& slots) {
    begin(slots);
    each_value(thread, [&](Value value) { add(value, slots); });
  }

  void collect(const Contents& contents, std::uint32_t chunk, std::size_t n_bytes, std::vector<std::uint32_t>& slots) {
    begin(slots);
    each_value(contents, chunk, n_bytes, [&](Value value) { add(value, slots); });
  }

  void begin(std::vector<std::uint32_t>& slots) {
    slots.clear();
    ++round_;
  }

  void add(Value value, std::vector<std::uint32_t>& slots) {
    if (!is_heap_address(value) || slot_of(value) >= met_.size()) return;
    std::uint32_t& met = met_[slot_of(value)];
    if (met == round_ || met == always) return;
    met = round_;
    slots.push_back(slot_of(value));
  }

  static constexpr std::uint32_t never = 0, always = ~std::uint32_t{0};

  std::vector<std::uint32_t> before_, after_;  // slots
  std::vector<std::uint32_t> met_;             // by slot, the round in which it was met last
  std::uint32_t round_ = never;
};

// Objects in the order in which global ones lead to them: by slot, when each is met, from 1; 0 if it is not.
inline std::vector<std::uint32_t> ranks_from_globals(Memory& memory, const MemoryMap& map, const Contents& contents) {
  std::vector<std::uint32_t> ranks(memory.heap.empty() ? 0 : slot_of(memory.heap.back().start) + std::size_t{1}, 0), order;
  const auto meet = [&](Value value) {
    if (!is_heap_address(value) || slot_of(value) >= ranks.size() || ranks[slot_of(value)] != 0) return;
    order.push_back(slot_of(value));
    ranks[slot_of(value)] = static_cast<std::uint32_t>(order.size());
  };
  for (std::size_t c = 0; c < map.n_chunks(); ++c) each_value(contents, memory.chunks[c], 4 * map.n_words(c), meet);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const HeapObject* object = find_object(memory, start_of_slot(order[i])); object != nullptr && object->is_live)
      each_value(contents, object->content, n_bytes(contents, *object), meet);
  return ranks;
}

// Objects that should have been released and that no pointer leads to which begins in a global object.
inline std::vector<HeapObject> lost_objects(Memory& memory, const MemoryMap& map, const Contents& contents) {
  std::vector<bool> is_reached(memory.heap.size(), false);
  std::vector<std::pair<std::uint32_t, std::size_t>> pending;
  for (std::size_t c = 0; c < map.n_chunks(); ++c) pending.emplace_back(memory.chunks[c], 4 * map.n_words(c));
  while (!pending.empty()) {
    const auto [chunk, size] = pending.back();
    pending.pop_back();
    for (std::size_t i = 0; i + 8 <= size; i += 8) {
      Value value;
      std::memcpy(&value, contents.read(chunk) + i, sizeof value);
      const HeapObject* object = value >= fixed_start ? find_object(memory, value) : nullptr;
      if (object == nullptr || value - object->start >= std::max<Address>(object->size, 1)) continue;
      const auto number = static_cast<std::size_t>(object - memory.heap.data());
      if (object->is_live && !is_reached[number]) pending.emplace_back(object->content, n_bytes(contents, *object));
      is_reached[number] = true;
    }
  }
  std::vector<HeapObject> lost;
  for (std::size_t i = 0; i < is_reached.size(); ++i)
    if (!is_reached[i] && memory.heap[i].is_live && memory.heap[i].block != none) lost.push_back(memory.heap[i]);
  return lost;
}

// Another thread may learn the address: so it may those of all that the object leads to.
inline void share(Memory& memory, const Contents& contents, Value value) {
  if (!is_heap_address(value)) return;
  HeapObject* object = find_object(memory, value);
  if (object == nullptr || object->is_shared) return;
  object->is_shared = true;
  memory.number = unnumbered;
  if (!object->is_live) return;
  for (std::size_t i = 0; i + 8 <= n_bytes(contents, *object); i += 8) {
    Value inner;
    std::memcpy(&inner, contents.read(object->content) + i, sizeof inner);
    share(memory, contents, inner);
  }
}

}  // namespace dekker::states
