// Sequences of words, each stored once and known by its number.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace dekker::states {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_words(const std::uint32_t* words, std::size_t n) {
  std::uint64_t result = n;
  std::size_t i = 0;
  for (; i + 1 < n; i += 2) {
    std::uint64_t pair;
    std::memcpy(&pair, words + i, sizeof pair);
    result = mixed(result, pair);
  }
  if (i < n) result = mixed(result, words[i]);
  return mixed(result, n);
}

// Several threads may share one: then it is made of parts, each with a lock for whoever adds something. What a number stands for
// never moves, so that all others need none.
class Sequences {
 public:
  explicit Sequences(bool is_shared = false) : part_bits_(is_shared ? shared_part_bits : 0), parts_(std::size_t{1} << part_bits_) {}

  // Before anything else: this one is number 0.
  void intern_first(std::span<const std::uint32_t> words) {
    first_part_ = part_of(hash_words(words.data(), words.size()));
    intern(words);
  }

  std::uint32_t intern(std::span<const std::uint32_t> words) {
    const std::uint64_t hash = hash_words(words.data(), words.size());
    if (part_bits_ == 0) return intern_alone(words, hash);
    const std::uint32_t number = part_of(hash) ^ first_part_;
    Part& part = parts_[number];
    std::uint32_t found = part.find(words, hash);
    if (found == unknown) {
      const std::lock_guard hold(part.mutex);
      found = part.intern(words, hash);
    }
    return found << part_bits_ | number;
  }

  // While nobody looks for anything.
  void forget_old_tables() {
    for (Part& part : parts_)
      if (part.tables.size() > 1) part.tables.erase(part.tables.begin(), part.tables.end() - 1);
  }

  std::span<const std::uint32_t> operator[](std::uint32_t id) const {
    return parts_[id & (parts_.size() - 1)].sequence(id >> part_bits_);
  }

  std::size_t size() const {
    std::size_t total = 0;
    for (const Part& part : parts_) {
      const std::lock_guard hold(part.mutex);
      total += part.n_known;
    }
    return total;
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const Part& part : parts_) {
      const std::lock_guard hold(part.mutex);
      total += part.bytes();
    }
    return total;
  }

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  static constexpr unsigned shared_part_bits = 6;
  static constexpr unsigned first_block_bits = 6;
  static constexpr std::size_t smallest_words = 1024, largest_words = std::size_t{1} << 16;

  struct Table {
    explicit Table(std::size_t n) : slots(std::make_unique<std::atomic<std::uint32_t>[]>(n)), mask(n - 1) {}

    std::unique_ptr<std::atomic<std::uint32_t>[]> slots;  // numbers plus 1
    std::size_t mask;
  };

  // Sequences begin with their lengths.
  struct Part {
    mutable std::mutex mutex;
    std::size_t n_known = 0;
    std::vector<std::unique_ptr<Table>> tables;  // the last one counts; somebody may still look into the others
    std::atomic<Table*> table = nullptr;
    // Where they are: each block has room for twice as many as the one before.
    std::array<std::unique_ptr<const std::uint32_t*[]>, 32 - first_block_bits + 1> blocks;
    std::vector<std::unique_ptr<std::uint32_t[]>> words;
    std::uint32_t* next_word = nullptr;
    std::size_t n_free = 0;
    std::size_t n_words = 0;  // in all of `words`

    // Perhaps not if it is being added.
    std::uint32_t find(std::span<const std::uint32_t> sought, std::uint64_t hash) const {
      const Table* known = table.load(std::memory_order_acquire);
      if (known == nullptr) return unknown;
      for (std::size_t i = hash & known->mask;; i = (i + 1) & known->mask) {
        const std::uint32_t slot = known->slots[i].load(std::memory_order_acquire);
        if (slot == 0) return unknown;
        if (is_same(slot - 1, sought)) return slot - 1;
      }
    }

    std::uint32_t intern(std::span<const std::uint32_t> sought, std::uint64_t hash) {
      Table* known = table.load(std::memory_order_relaxed);
      if (known == nullptr || 2 * (n_known + 1) > known->mask + 1) known = grow(known);
      for (std::size_t i = hash & known->mask;; i = (i + 1) & known->mask) {
        const std::uint32_t slot = known->slots[i].load(std::memory_order_relaxed);
        if (slot == 0) {
          append(sought);
          known->slots[i].store(static_cast<std::uint32_t>(n_known), std::memory_order_release);
          return static_cast<std::uint32_t>(n_known - 1);
        }
        if (is_same(slot - 1, sought)) return slot - 1;
      }
    }

    bool is_same(std::uint32_t number, std::span<const std::uint32_t> sought) const {
      const std::span<const std::uint32_t> known = sequence(number);
      return known.size() == sought.size() && std::memcmp(known.data(), sought.data(), sought.size_bytes()) == 0;
    }

    std::span<const std::uint32_t> sequence(std::uint32_t number) const {
      const auto [block, index] = place(number);
      const std::uint32_t* start = blocks[block][index];
      return {start + 1, *start};
    }

    static std::pair<std::size_t, std::size_t> place(std::size_t number) {
      const std::size_t shifted = number + (std::size_t{1} << first_block_bits);
      const auto block = static_cast<std::size_t>(std::bit_width(shifted)) - first_block_bits - 1;
      return {block, shifted - (std::size_t{1} << (block + first_block_bits))};
    }

    void append(std::span<const std::uint32_t> sequence) {
      const auto [block, index] = place(n_known++);
      if (blocks[block] == nullptr)
        blocks[block] = std::make_unique_for_overwrite<const std::uint32_t*[]>(std::size_t{1} << (block + first_block_bits));
      if (n_free < 1 + sequence.size()) add_words(1 + sequence.size());
      blocks[block][index] = next_word;
      *next_word++ = static_cast<std::uint32_t>(sequence.size());
      if (!sequence.empty()) std::memcpy(next_word, sequence.data(), sequence.size_bytes());
      next_word += sequence.size();
      n_free -= 1 + sequence.size();
    }

    void add_words(std::size_t fewest) {
      n_free = std::max(fewest, std::clamp(n_words, smallest_words, largest_words));
      n_words += n_free;
      next_word = words.emplace_back(std::make_unique_for_overwrite<std::uint32_t[]>(n_free)).get();
    }

    Table* grow(const Table* old) {
      auto larger = std::make_unique<Table>(old == nullptr ? 64 : 2 * (old->mask + 1));
      for (std::uint32_t number = 0; number < n_known; ++number) {
        const std::span<const std::uint32_t> known = sequence(number);
        std::size_t i = hash_words(known.data(), known.size()) & larger->mask;
        while (larger->slots[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & larger->mask;
        larger->slots[i].store(number + 1, std::memory_order_relaxed);
      }
      table.store(larger.get(), std::memory_order_release);
      tables.push_back(std::move(larger));
      return tables.back().get();
    }

    std::size_t bytes() const {
      std::size_t n_places = 0;
      for (std::size_t block = 0; block < blocks.size(); ++block)
        if (blocks[block] != nullptr) n_places += std::size_t{1} << (block + first_block_bits);
      std::size_t n_slots = 0;
      for (const auto& each : tables) n_slots += each->mask + 1;
      return n_words * 4 + n_places * sizeof(const std::uint32_t*) + n_slots * 4;
    }
  };

  std::uint32_t intern_alone(std::span<const std::uint32_t> words, std::uint64_t hash) {
    const std::uint32_t found = parts_[0].intern(words, hash);
    if (parts_[0].tables.size() > 1) forget_old_tables();
    return found;
  }

  std::uint32_t part_of(std::uint64_t hash) const {
    return part_bits_ == 0 ? 0 : static_cast<std::uint32_t>(hash >> (64 - part_bits_));
  }

  unsigned part_bits_;
  std::uint32_t first_part_ = 0;
  std::vector<Part> parts_;
};

}  // namespace dekker::states
