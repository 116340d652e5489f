// Where bytes are: the chunks of global objects, and the addresses of allocated ones.
#pragma once

#include "states/components.hpp"

namespace dekker::states {

// Where objects are numbered anew (heap.hpp), allocated ones have slots of 4 GB each.
inline constexpr Address heap_start = 0x5A3C'0000'0000;
inline constexpr unsigned slot_bits = 32;
inline constexpr Address most_slots = 4096;
inline constexpr Address offset_in_slot = 4096;
inline constexpr Address largest_object = Address{1} << 28;

// Elsewhere every thread has addresses of its own, so that they are the same in every run; none is used twice.
inline constexpr Address fixed_start = Address{1} << 40;
inline constexpr Address fixed_per_thread = Address{1} << 32;
inline constexpr Address fixed_gap = 64;

// Behind them are numbers of threads, where it matters that the program does nothing with these but join and detach.
inline constexpr Address handle_start = heap_start + (most_slots << slot_bits);
inline constexpr Address most_handles = 64;

inline bool is_handle(Value value) { return value - handle_start < (most_handles << slot_bits); }
inline Value handle_of(std::int32_t thread) { return handle_start + (static_cast<Value>(thread) << slot_bits); }
inline std::int32_t thread_of(Value handle) { return static_cast<std::int32_t>((handle - handle_start) >> slot_bits); }

// What threads are known by is shown as the number that it stands for.
inline Value shown(Value value) { return is_handle(value) ? static_cast<Value>(thread_of(value)) + 1 : value; }

inline bool is_heap_address(Address address) { return address - heap_start < (most_slots << slot_bits); }
inline std::uint32_t slot_of(Address address) { return static_cast<std::uint32_t>((address - heap_start) >> slot_bits); }
inline Address start_of_slot(std::uint32_t slot) { return heap_start + (Address{slot} << slot_bits) + offset_in_slot; }

// The object that the address points into, or to its end.
inline HeapObject* find_object(Memory& memory, Address address) {
  auto found = std::ranges::upper_bound(memory.heap, address, {}, &HeapObject::start);
  if (found == memory.heap.begin()) return nullptr;
  --found;
  return address - found->start <= found->size ? &*found : nullptr;
}

struct GlobalObject {
  Address start;
  Address size;
  std::uint32_t chunk;
  std::uint32_t offset;  // in its chunk
  std::uint64_t bit;
};

// Bytes of one object: where they are, and whom they belong to.
struct Location {
  std::uint32_t* content = nullptr;  // the number of the chunk; null: no such bytes
  std::uint32_t offset = 0;
  std::uint64_t bit = 0;
  bool is_private = false;  // no other thread can reach them
  bool was_freed = false;
  HeapObject* object = nullptr;  // null: a global one
  std::uint32_t n_words = 0;     // of the chunk of a global one, without those that say which bits are indeterminate
};

// Contents of chunks. A chunk that is changed is a draft until `settle`.
class Contents {
 public:
  explicit Contents(Sequences& chunks) : chunks_(chunks) {}

  const std::uint8_t* read(std::uint32_t id) const {
    if ((id & draft_flag) != 0) return reinterpret_cast<const std::uint8_t*>(drafts_[id & ~draft_flag].data());
    return reinterpret_cast<const std::uint8_t*>(chunks_[id].data());
  }

  std::uint8_t* edit(std::uint32_t& id) {
    if ((id & draft_flag) == 0) {
      const std::span<const std::uint32_t> words = chunks_[id];
      new_draft().assign(words.begin(), words.end());
      id = static_cast<std::uint32_t>(n_drafts_ - 1) | draft_flag;
    }
    return reinterpret_cast<std::uint8_t*>(drafts_[id & ~draft_flag].data());
  }

  std::size_t n_words(std::uint32_t id) const {
    return (id & draft_flag) != 0 ? drafts_[id & ~draft_flag].size() : chunks_[id].size();
  }

  std::uint32_t zeroes(std::size_t n_bytes) {
    zero_.assign((n_bytes + 3) / 4, 0);
    return chunks_.intern(zero_);
  }

  // With as many bytes behind, of which the bits of the first are set: nothing is known of these.
  std::uint32_t unset(std::size_t n_bytes, std::size_t n_unset) {
    std::vector<std::uint32_t> words((n_bytes + 3) / 4 * 2, 0);
    auto* bytes = reinterpret_cast<std::uint8_t*>(words.data());
    std::fill(bytes + 4 * words.size() / 2, bytes + 4 * words.size() / 2 + n_unset, std::uint8_t{0xFF});
    return chunks_.intern(words);
  }

  void resize(std::uint32_t& id, std::size_t n_words) {
    edit(id);
    drafts_[id & ~draft_flag].resize(n_words, 0);
  }

  std::uint32_t intern(std::span<const std::uint32_t> words) { return chunks_.intern(words); }

  void settle(Memory& memory) {
    for (std::uint32_t& id : memory.chunks) settle(id);
    for (HeapObject& object : memory.heap)
      if (object.has_content()) settle(object.content);
  }

  // No draft is in use any more.
  void forget_drafts() { n_drafts_ = 0; }

 private:
  static constexpr std::uint32_t draft_flag = 1u << 31;

  std::vector<std::uint32_t>& new_draft() {
    if (n_drafts_ == drafts_.size()) drafts_.emplace_back();
    return drafts_[n_drafts_++];
  }

  void settle(std::uint32_t& id) {
    if ((id & draft_flag) != 0) id = chunks_.intern(drafts_[id & ~draft_flag]);
  }

  Sequences& chunks_;
  std::vector<std::vector<std::uint32_t>> drafts_;
  std::size_t n_drafts_ = 0;
  std::vector<std::uint32_t> zero_;
};

class MemoryMap {
 public:
  explicit MemoryMap(const Program& program) : reuses_(program.has(Operation::recycle)) {
    for (const ObjectRange& object : program.objects) add(object);
  }

  Memory initial(const Program& program, Contents& contents) const {
    Memory memory;
    std::vector<std::vector<std::uint32_t>> words;
    for (std::size_t c = 0; c < n_chunks(); ++c) words.emplace_back(n_words(c), 0);
    for (const auto& [address, byte] : program.initial_bytes)
      if (const GlobalObject* object = global(address)) {
        auto* bytes = reinterpret_cast<std::uint8_t*>(words[object->chunk].data());
        bytes[object->offset + (address - object->start)] = byte;
      }
    for (const auto& chunk : words) memory.chunks.push_back(contents.intern(chunk));
    return memory;
  }

  std::size_t n_chunks() const { return chunk_sizes_.size(); }

  // Without those that say which bits are indeterminate.
  std::uint32_t n_words(std::size_t chunk) const { return chunk_sizes_[chunk] / 4; }

  const GlobalObject* global(Address address) const {
    auto found = std::ranges::upper_bound(objects_, address, {}, &GlobalObject::start);
    if (found == objects_.begin()) return nullptr;
    --found;
    return address - found->start < found->size ? &*found : nullptr;
  }

  // May objects be allocated again after they were freed (ir/passes/reuse.py)? Then each has a word that says so, in front
  // of it as far as addresses go, and behind its bytes in its content.
  bool reuses() const { return reuses_; }

  Address content_size(Address object_size) const { return padded(object_size) + (reuses_ ? word_size : 0); }

  Location locate(Memory& memory, Address address, Address size) const {
    if (address >= fixed_start) {
      HeapObject* object = reuses_ && size == word_size ? find_object(memory, address + word_distance) : nullptr;
      const bool is_word = object != nullptr && object->start == address + word_distance && !object->is_stack;
      return is_word ? word_of(*object) : locate_in_heap(memory, address, size);
    }
    const GlobalObject* object = global(address);
    if (object == nullptr || size > object->size - (address - object->start)) return {};
    Location found{&memory.chunks[object->chunk], object->offset + static_cast<std::uint32_t>(address - object->start), object->bit};
    found.n_words = n_words(object->chunk);
    return found;
  }

  static constexpr Address word_size = 8;
  static constexpr Address word_distance = 24;

 private:
  static Address padded(Address size) { return (size + 7) / 8 * 8; }

  static Location word_of(HeapObject& object) {
    Location found;
    if (!object.has_content()) return found;
    found.content = &object.content;
    found.offset = object.is_live ? static_cast<std::uint32_t>(padded(object.size)) : 0;
    found.bit = std::uint64_t{1} << heap_bit;
    found.is_private = !object.is_shared;
    return found;
  }

  static Location locate_in_heap(Memory& memory, Address address, Address size) {
    HeapObject* object = find_object(memory, address);
    if (object == nullptr) return {};
    const Address offset = address - object->start;
    if (offset >= object->size || size > object->size - offset) return {};
    Location found;
    found.was_freed = !object->is_live;
    if (!object->is_live) return found;
    found.content = &object->content;
    found.object = object;
    found.offset = static_cast<std::uint32_t>(offset);
    found.bit = std::uint64_t{1} << heap_bit;
    found.is_private = object->is_local || !object->is_shared;
    return found;
  }

  void add(const ObjectRange& object) {
    constexpr Address chunk_size = 64;
    const auto number = static_cast<unsigned>(objects_.size());
    const std::uint32_t size = static_cast<std::uint32_t>((object.size + 7) / 8 * 8);
    if (chunk_sizes_.empty() || chunk_sizes_.back() + size > chunk_size) chunk_sizes_.push_back(0);
    const std::uint32_t offset = chunk_sizes_.back();
    chunk_sizes_.back() += size;
    objects_.push_back({object.start, object.size, static_cast<std::uint32_t>(chunk_sizes_.size() - 1), offset,
                        std::uint64_t{1} << std::min(number, last_global_bit)});
  }

  bool reuses_;
  std::vector<GlobalObject> objects_;
  std::vector<std::uint32_t> chunk_sizes_;
};

}  // namespace dekker::states
