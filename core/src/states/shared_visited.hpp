// The states that several workers have found: as visited.hpp, for many threads at once.
//
// A state is looked for and added without a lock. Its row is written where only this worker writes; then its slot is taken
// from `empty` to the number of the row in one step. If another was faster, what is in the slot now is looked at as if it had
// been there before: so of equal states only one gets a slot. Slots never change after that. More slots, wider rows, and hashes in the place of
// rows come about while all workers wait (meeting.hpp).
//
// States are added in phases. The numbers of a phase are larger than all before, so that a number tells whether its state
// was known when the phase began.
#pragma once

#include <atomic>
#include <memory>
#include <stdexcept>
#include <vector>

#include "states/meeting.hpp"
#include "states/visited.hpp"

namespace dekker::states {

// The search has been stopped, and what was to be added is not.
struct Abandoned {};

class SharedVisited {
 public:
  // Numbers that a worker may give to states that it adds.
  struct Numbers {
    std::uint32_t next = 0;
    std::uint32_t end = 0;
  };

  SharedVisited(Meeting& meeting, const std::atomic<bool>& is_stopped, bool starts_small)
      : meeting_(meeting), is_stopped_(is_stopped), fewest_slots_(starts_small ? 32 : 1 << 14) {
    clear();
  }

  // ---- Any worker, in a phase -----------------------------------------------------------------------------------------

  Visited::Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent, std::uint64_t hash, Numbers& own) {
    if (meeting_.wants_pause()) pause();
    while (ids.size() > width_ && !is_compact_) ask_for_width(ids.size());
    while (own.next == own.end) own = reserve();
    bool is_written = false;
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      std::uint64_t slot = slots_[i].load(std::memory_order_acquire);
      if (slot == 0) {
        if (!is_written) write(own.next, ids, hash);
        is_written = true;
        if (slots_[i].compare_exchange_strong(slot, slot_for(own.next, hash), std::memory_order_acq_rel,
                                              std::memory_order_acquire)) {
          row(own.next)[0] = parent;
          return {own.next++, true};
        }
      }
      if (may_be(slot, hash) && is_equal(number_in(slot), ids, hash)) return {number_in(slot), false};
    }
  }

  [[gnu::always_inline]] void announce(std::uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask_]); }
  [[gnu::always_inline]] void announce_row(std::uint64_t hash) const {
    const std::uint64_t slot = slots_[hash & mask_].load(std::memory_order_relaxed);
    if (slot != 0 && may_be(slot, hash)) __builtin_prefetch(row(number_in(slot)));
  }

  bool contains(std::span<const std::uint32_t> ids) const {
    const std::uint64_t hash = Visited::hash_of(ids);
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      const std::uint64_t slot = slots_[i].load(std::memory_order_acquire);
      if (slot == 0) return false;
      if (may_be(slot, hash) && is_equal(number_in(slot), ids, hash)) return true;
    }
  }

  bool is_of_this_phase(std::uint32_t number) const { return number >= phase_start_; }

  std::span<const std::uint32_t> operator[](std::uint32_t number) const { return {row(number) + 1, width_}; }

  // ---- While no worker adds anything ----------------------------------------------------------------------------------

  void begin_phase() { phase_start_ = next_.load(std::memory_order_relaxed); }

  // What a worker did not use in the phase. Those that were reserved last can be used again.
  void give_back(Numbers& own) {
    if (own.end == next_.load(std::memory_order_relaxed)) next_.store(own.next, std::memory_order_relaxed);
    own = {};
  }

  bool is_compact() const { return is_compact_; }
  std::uint32_t parent(std::uint32_t number) const { return row(number)[0]; }
  std::uint64_t hash(std::uint32_t number) const {
    if (!is_compact_) return Visited::hash_of((*this)[number]);
    return row(number)[1] | std::uint64_t{row(number)[2]} << 32;
  }

  void clear() {
    next_ = 0;
    phase_start_ = 0;
    set_width(fewest_ids);
    is_compact_ = false;
    blocks_.clear();
    allocate_slots(fewest_slots_);
    ensure_rows();
  }

  // What a pause is for. `may_grow(bytes)`: may the table become larger by so much?
  template <class MayGrow>
  void rearrange(const MayGrow& may_grow) {
    if (wanted_width_ > width_) widen(wanted_width_);
    if (!needs_slots()) return;
    if (limit_ == most_numbers) throw std::length_error("too many states to be numbered");
    if (!may_grow(8 * (mask_ + 1))) return;
    allocate_slots(2 * (mask_ + 1));
    ensure_rows();
    fill_slots();
  }

  // From now on states are known by their hashes.
  void become_compact() {
    const std::size_t old_width = width_;
    change_rows(2, [&](const std::uint32_t* before, std::uint32_t* after) {
      put_hash(after, Visited::hash_of({before + 1, old_width}));
    });
    is_compact_ = true;
  }

  // ---- At any time ----------------------------------------------------------------------------------------------------

  std::size_t bytes() const {
    return next_.load(std::memory_order_relaxed) * row_bytes_.load(std::memory_order_relaxed) +
           slot_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t numbers_at_once = 16;
  static constexpr std::uint32_t rows_per_block = 1 << 14;
  static constexpr std::uint32_t most_numbers = ~std::uint32_t{0} - 64;
  static constexpr std::uint32_t unused = ~std::uint32_t{1};  // the parent of a number without a state
  static constexpr std::size_t fewest_ids = 2;
  static constexpr std::uint64_t upper_half = ~std::uint64_t{0} << 32;

  static std::uint64_t slot_for(std::uint32_t number, std::uint64_t hash) { return (hash & upper_half) | (number + 1); }
  static std::uint32_t number_in(std::uint64_t slot) { return static_cast<std::uint32_t>(slot) - 1; }
  static bool may_be(std::uint64_t slot, std::uint64_t hash) { return ((slot ^ hash) & upper_half) == 0; }

  // A row is the number of the state it was first reached from, and what the state is known by.
  std::uint32_t* row(std::uint32_t number) const {
    return blocks_[number / rows_per_block].get() + std::size_t{number % rows_per_block} * (1 + width_);
  }

  static void put_hash(std::uint32_t* to, std::uint64_t hash) {
    to[1] = static_cast<std::uint32_t>(hash);
    to[2] = static_cast<std::uint32_t>(hash >> 32);
  }

  void write(std::uint32_t number, std::span<const std::uint32_t> ids, std::uint64_t hash) {
    std::uint32_t* words = row(number);
    if (is_compact_) {
      put_hash(words, hash);
      return;
    }
    std::ranges::copy(ids, words + 1);
    std::fill(words + 1 + ids.size(), words + 1 + width_, 0);
  }

  bool is_equal(std::uint32_t number, std::span<const std::uint32_t> ids, std::uint64_t hash) const {
    const std::uint32_t* known = row(number) + 1;
    if (is_compact_) return known[0] == static_cast<std::uint32_t>(hash) && known[1] == static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (i < width_ ? known[i] != ids[i] : ids[i] != 0) return false;
    for (std::size_t i = ids.size(); i < width_; ++i)
      if (known[i] != 0) return false;
    return true;
  }

  void pause() {
    meeting_.pause();
    if (is_stopped_.load(std::memory_order_relaxed)) throw Abandoned{};
  }

  void ask_for_width(std::size_t width) {
    std::size_t known = wanted_width_.load(std::memory_order_relaxed);
    while (known < width && !wanted_width_.compare_exchange_weak(known, width, std::memory_order_relaxed)) {
    }
    pause();
  }

  // None if there is no room yet.
  Numbers reserve() {
    if (needs_slots()) {
      pause();
      return {};
    }
    const std::uint32_t first = next_.fetch_add(numbers_at_once, std::memory_order_relaxed);
    if (first + numbers_at_once > limit_) {  // others were faster
      next_.fetch_sub(numbers_at_once, std::memory_order_relaxed);
      pause();
      return {};
    }
    for (std::uint32_t number = first; number < first + numbers_at_once; ++number) row(number)[0] = unused;
    return {first, first + numbers_at_once};
  }

  bool needs_slots() const { return next_.load(std::memory_order_relaxed) + numbers_at_once > limit_; }

  std::unique_ptr<std::uint32_t[]> new_block() const {
    return std::make_unique_for_overwrite<std::uint32_t[]>(rows_per_block * (1 + width_));
  }

  void allocate_slots(std::size_t n) {
    slots_.reset();  // before the others, so that there are never both
    slots_ = std::make_unique<std::atomic<std::uint64_t>[]>(n);
    slot_bytes_ = 8 * n;
    mask_ = n - 1;
    limit_ = static_cast<std::uint32_t>(std::min<std::size_t>(n / 4 * 3, most_numbers));
  }

  void ensure_rows() {
    while (blocks_.size() * rows_per_block < limit_) blocks_.push_back(new_block());
  }

  void fill_slots() {
    for (std::uint32_t number = 0; number < next_.load(std::memory_order_relaxed); ++number) {
      if (row(number)[0] == unused) continue;
      const std::uint64_t its_hash = hash(number);
      std::size_t i = its_hash & mask_;
      while (slots_[i].load(std::memory_order_relaxed) != 0) i = (i + 1) & mask_;
      slots_[i].store(slot_for(number, its_hash), std::memory_order_relaxed);
    }
  }

  // More threads than before.
  void widen(std::size_t width) {
    const std::size_t old_width = width_;
    change_rows(width, [&](const std::uint32_t* before, std::uint32_t* after) {
      std::copy_n(before + 1, old_width, after + 1);
      std::fill(after + 1 + old_width, after + 1 + width_, 0);
    });
  }

  template <class Convert>
  void change_rows(std::size_t width, const Convert& convert) {
    const std::size_t old_width = width_, n_used = next_.load(std::memory_order_relaxed);
    set_width(width);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const std::unique_ptr<std::uint32_t[]> old = std::exchange(blocks_[b], new_block());
      for (std::size_t k = 0; k < rows_per_block && b * rows_per_block + k < n_used; ++k) {
        const std::uint32_t* before = old.get() + k * (1 + old_width);
        std::uint32_t* after = blocks_[b].get() + k * (1 + width_);
        after[0] = before[0];
        if (before[0] != unused) convert(before, after);
      }
    }
  }

  void set_width(std::size_t width) {
    width_ = width;
    wanted_width_ = width;
    row_bytes_ = 4 * (1 + width);
  }

  Meeting& meeting_;
  const std::atomic<bool>& is_stopped_;
  std::size_t fewest_slots_;
  std::size_t width_ = 0;  // of what a state is known by
  std::atomic<std::size_t> wanted_width_ = 0;
  std::unique_ptr<std::atomic<std::uint64_t>[]> slots_;
  std::atomic<std::size_t> slot_bytes_ = 0;
  std::atomic<std::size_t> row_bytes_ = 0;
  std::size_t mask_ = 0;
  std::uint32_t limit_ = 0;  // of numbers
  std::uint32_t phase_start_ = 0;
  std::vector<std::unique_ptr<std::uint32_t[]>> blocks_;
  bool is_compact_ = false;
  alignas(64) std::atomic<std::uint32_t> next_ = 0;  // far from what is read all the time
};

}  // namespace dekker::states
