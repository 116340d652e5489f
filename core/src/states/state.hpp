// A state as steps change it, and as the numbers that stand for it.
//
// Threads and memories are components: each distinct one is stored once, and a state is the numbers of its components. A
// memory is itself made of chunks: global objects, small ones several in one, and allocated objects.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "dekker/states/program.hpp"
#include "states/sequences.hpp"

namespace dekker::states {

inline std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
inline std::uint64_t bit_of(std::int32_t number) { return std::uint64_t{1} << number; }

// A store in a buffer.
struct Entry {
  Address address;
  Value value;
  std::uint8_t size;
  std::uint8_t group = 0;       // PSO: stores of a later group are written after those of earlier ones
  bool before_loads = false;  // PSO: it is written before the next load of its thread
  std::int32_t block = 0;     // of the store, if it is to an allocated object: should that be released first
  std::int32_t pc = 0;
  Value undefined = 0;  // indeterminate bits

  bool overlaps(Address start, Address length) const { return address < start + length && start < address + size; }
  bool overlaps(const Entry& other) const { return overlaps(other.address, other.size); }
};

struct Frame {
  std::int32_t block;
  std::int32_t pc;
  std::int32_t destination;  // of the call, in the frame below
  std::uint32_t base;        // of its registers
};

// An object that ends with a call, or (at depth 0) with its thread.
struct Owned {
  std::uint32_t depth;
  Address address;
  bool is_confined;  // no pointer outlives it
  bool is_local;     // no other thread ever knows its address
};

// Of a component that has changed.
inline constexpr std::uint32_t unnumbered = ~std::uint32_t{0};

enum class ThreadStatus : std::uint8_t { unborn, running, finished, ended_program, blocked, failed };

struct ThreadState {
  ThreadStatus status = ThreadStatus::unborn;
  bool in_section = false;
  bool opens_group = false;  // PSO: the next store begins a new group
  bool has_waited = false;   // the last await failed; known only where `Options::tells_waiting`
  std::uint8_t link_size = 0;  // 0: no load-linked is open
  std::uint32_t n_spawned = 0;
  std::uint32_t allocated = 0;  // bytes, where addresses do not change
  std::uint32_t kind = 0;       // spawned threads of one kind run the same function with the same arguments; 0: not asked
  std::uint64_t awaited = 0;    // threads that it joins in a row, as bits, where that is one step
  Address link = 0;
  Value result = 0;
  std::vector<Frame> frames;
  std::vector<Value> registers;
  std::vector<Entry> buffer;
  std::vector<Owned> owned;
  std::vector<Value> undefined;  // indeterminate bits of registers; empty if there are none
  Value result_undefined = 0;
  bool is_claimed = false;  // it was joined or detached
  std::uint32_t number = unnumbered;

  // To be written to: what is written is determinate.
  Value& in(std::int32_t name) {
    if (!undefined.empty()) undefined[frames.back().base + at(name)] = 0;
    return registers[frames.back().base + at(name)];
  }

  void set(std::int32_t name, Value value, Value bits) {
    in(name) = value;
    if (bits == 0) return;
    undefined.resize(registers.size());
    undefined[frames.back().base + at(name)] = bits;
  }

  void resize_registers(std::size_t size) {
    registers.resize(size, 0);
    if (!undefined.empty()) undefined.resize(size, 0);
  }

  void forget_defined() {
    if (std::ranges::all_of(undefined, [](Value bits) { return bits == 0; })) undefined.clear();
  }
};

// An allocated object. Once it is freed it has no content, except, where it may be allocated again, the word that says so.
struct HeapObject {
  Address start;
  std::uint32_t content;  // a chunk
  std::uint32_t size;
  bool is_live;
  bool is_shared;  // another thread may know its address
  bool is_stack;
  bool is_local;  // no other thread ever will
  std::int32_t block = none;  // where it was allocated, if it has to be released
  std::int32_t pc = none;
  bool is_partly = false;  // behind its bytes, the content has as many with the bits of them that are indeterminate
  bool has_word = false;  // freed, and the content is that word

  bool has_content() const { return is_live || has_word; }
};

struct Memory {
  std::vector<std::uint32_t> chunks;  // of global objects
  std::vector<HeapObject> heap;       // sorted by start
  std::uint32_t number = unnumbered;
};

struct State {
  std::vector<ThreadState> threads;
  Memory memory;
};

// Writes numbers as words, and reads them back.
class Words {
 public:
  // Room for so many words.
  void begin(std::size_t most) {
    if (words_.size() < most) words_.resize(most);
    size_ = 0;
  }
  void put(std::uint32_t word) { words_[size_++] = word; }
  void put_long(std::uint64_t value) {
    put(static_cast<std::uint32_t>(value));
    put(static_cast<std::uint32_t>(value >> 32));
  }
  std::span<const std::uint32_t> words() const { return {words_.data(), size_}; }

 private:
  std::vector<std::uint32_t> words_;
  std::size_t size_ = 0;
};

class WordReader {
 public:
  explicit WordReader(std::span<const std::uint32_t> words) : next_(words.data()) {}
  std::uint32_t get() { return *next_++; }
  const std::uint32_t* position() const { return next_; }
  std::uint64_t get_long() {
    const std::uint64_t low = get();
    return low | std::uint64_t{get()} << 32;
  }

 private:
  const std::uint32_t* next_;
};

inline void encode(const ThreadState& thread, Words& out) {
  out.begin(19 + 4 * thread.frames.size() + 2 * thread.registers.size() + 9 * thread.buffer.size() + 3 * thread.owned.size() + 2 * thread.undefined.size() + 2);
  out.put(static_cast<std::uint32_t>(thread.status) | (thread.in_section ? 1u << 8 : 0u) |
          (thread.opens_group ? 1u << 9 : 0u) | (thread.has_waited ? 1u << 10 : 0u) | (thread.is_claimed ? 1u << 11 : 0u) |
          (thread.kind != 0 ? 1u << 12 : 0u) | (thread.awaited != 0 ? 1u << 13 : 0u) |
          (thread.undefined.empty() ? 0u : 1u << 25) | (thread.result_undefined != 0 ? 1u << 26 : 0u) |
          static_cast<std::uint32_t>(thread.link_size) << 16 | (thread.result != 0 ? 1u << 24 : 0u));
  out.put(static_cast<std::uint32_t>(thread.frames.size()) | static_cast<std::uint32_t>(thread.registers.size()) << 16);
  out.put(static_cast<std::uint32_t>(thread.buffer.size()) | static_cast<std::uint32_t>(thread.owned.size()) << 16);
  out.put(thread.n_spawned);
  out.put(thread.allocated);
  if (thread.kind != 0) out.put(thread.kind);
  if (thread.awaited != 0) out.put_long(thread.awaited);
  if (thread.link_size != 0) out.put_long(thread.link);
  if (thread.result != 0) out.put_long(thread.result);
  for (const Frame& frame : thread.frames) {
    out.put(static_cast<std::uint32_t>(frame.block));
    out.put(static_cast<std::uint32_t>(frame.pc));
    out.put(static_cast<std::uint32_t>(frame.destination));
    out.put(frame.base);
  }
  for (const Value value : thread.registers) out.put_long(value);
  for (const Value bits : thread.undefined) out.put_long(bits);
  if (thread.result_undefined != 0) out.put_long(thread.result_undefined);
  for (const Entry& entry : thread.buffer) {
    out.put_long(entry.address);
    out.put_long(entry.value);
    const bool has_place = entry.block != 0 || entry.pc != 0;
    out.put(entry.size | static_cast<std::uint32_t>(entry.group) << 8 | (entry.before_loads ? 1u << 16 : 0u) |
            (has_place ? 1u << 17 : 0u) | (entry.undefined != 0 ? 1u << 18 : 0u));
    if (entry.undefined != 0) out.put_long(entry.undefined);
    if (!has_place) continue;
    out.put(static_cast<std::uint32_t>(entry.block));
    out.put(static_cast<std::uint32_t>(entry.pc));
  }
  for (const Owned& object : thread.owned) {
    out.put(object.depth | (object.is_confined ? 1u << 31 : 0u) | (object.is_local ? 1u << 30 : 0u));
    out.put_long(object.address);
  }
}

inline void decode(std::span<const std::uint32_t> words, ThreadState& thread) {
  WordReader in(words);
  const std::uint32_t head = in.get();
  thread.status = static_cast<ThreadStatus>(head & 0xFF);
  thread.in_section = (head >> 8 & 1) != 0;
  thread.opens_group = (head >> 9 & 1) != 0;
  thread.has_waited = (head >> 10 & 1) != 0;
  thread.link_size = static_cast<std::uint8_t>(head >> 16);
  const std::uint32_t sizes = in.get();
  const std::uint32_t more_sizes = in.get();
  thread.frames.resize(sizes & 0xFFFF);
  thread.registers.resize(sizes >> 16);
  thread.buffer.resize(more_sizes & 0xFFFF);
  thread.owned.resize(more_sizes >> 16);
  thread.n_spawned = in.get();
  thread.allocated = in.get();
  thread.kind = (head >> 12 & 1) != 0 ? in.get() : 0;
  thread.awaited = (head >> 13 & 1) != 0 ? in.get_long() : 0;
  thread.link = thread.link_size != 0 ? in.get_long() : 0;
  thread.result = (head >> 24 & 1) != 0 ? in.get_long() : 0;
  for (Frame& frame : thread.frames) {
    frame.block = static_cast<std::int32_t>(in.get());
    frame.pc = static_cast<std::int32_t>(in.get());
    frame.destination = static_cast<std::int32_t>(in.get());
    frame.base = in.get();
  }
  for (Value& value : thread.registers) value = in.get_long();
  thread.is_claimed = (head >> 11 & 1) != 0;
  thread.undefined.resize((head >> 25 & 1) != 0 ? thread.registers.size() : 0);
  for (Value& bits : thread.undefined) bits = in.get_long();
  thread.result_undefined = (head >> 26 & 1) != 0 ? in.get_long() : 0;
  for (Entry& entry : thread.buffer) {
    entry.address = in.get_long();
    entry.value = in.get_long();
    const std::uint32_t rest = in.get();
    entry.size = static_cast<std::uint8_t>(rest);
    entry.group = static_cast<std::uint8_t>(rest >> 8);
    entry.before_loads = (rest >> 16 & 1) != 0;
    const bool has_place = (rest >> 17 & 1) != 0;
    entry.undefined = (rest >> 18 & 1) != 0 ? in.get_long() : 0;
    entry.block = has_place ? static_cast<std::int32_t>(in.get()) : 0;
    entry.pc = has_place ? static_cast<std::int32_t>(in.get()) : 0;
  }
  for (Owned& object : thread.owned) {
    const std::uint32_t depth = in.get();
    object.depth = depth & ~(3u << 30);
    object.is_confined = depth >> 31 != 0;
    object.is_local = (depth >> 30 & 1) != 0;
    object.address = in.get_long();
  }
}

inline void encode(const Memory& memory, Words& out) {
  out.begin(memory.chunks.size() + 7 * memory.heap.size());
  for (const std::uint32_t chunk : memory.chunks) out.put(chunk);
  for (const HeapObject& object : memory.heap) {
    out.put_long(object.start);
    out.put(object.content);
    out.put(object.size);
    out.put((object.is_live ? 1u : 0u) | (object.is_shared ? 2u : 0u) | (object.is_stack ? 4u : 0u) |
            (object.is_local ? 8u : 0u) | (object.block != none ? 16u : 0u) | (object.has_word ? 32u : 0u) |
            (object.is_partly ? 64u : 0u));
    if (object.block == none) continue;
    out.put(static_cast<std::uint32_t>(object.block));
    out.put(static_cast<std::uint32_t>(object.pc));
  }
}

inline void decode(std::span<const std::uint32_t> words, std::size_t n_chunks, Memory& memory) {
  memory.chunks.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n_chunks));
  memory.heap.clear();
  WordReader in(words.subspan(n_chunks));
  while (in.position() != words.data() + words.size()) {
    HeapObject& object = memory.heap.emplace_back();
    object.start = in.get_long();
    object.content = in.get();
    object.size = in.get();
    const std::uint32_t flags = in.get();
    object.is_live = (flags & 1) != 0;
    object.is_shared = (flags & 2) != 0;
    object.is_stack = (flags & 4) != 0;
    object.is_local = (flags & 8) != 0;
    object.has_word = (flags & 32) != 0;
    object.is_partly = (flags & 64) != 0;
    if ((flags & 16) == 0) continue;
    object.block = static_cast<std::int32_t>(in.get());
    object.pc = static_cast<std::int32_t>(in.get());
  }
}

}  // namespace dekker::states
