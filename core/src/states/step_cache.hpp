// Steps that were computed before.
//
// What a step of a thread does depends on the thread, on memory, and on little of the other threads: what is in their
// buffers, what they may still access, and whether they have ended. Where that little is the same (it has a number, too), the
// step is the same, and in the other threads it only takes stores out of buffers. States have many times fewer of these
// combinations than there are states.
#pragma once

#include "states/machine.hpp"

namespace dekker::states {

// What the search asks of a thread time and again, by its number.
struct ThreadFacts {
  bool is_known = false;
  ThreadStatus status = ThreadStatus::unborn;
  bool in_section = false;
  bool has_waited = false;
  bool is_waiting = false;  // it has ended, waits for another to end, or is in a loop that waits
  bool is_joining = false;
  bool has_stores = false;  // in its buffer
  bool has_link = false;
  std::uint32_t face = 0;     // what steps of others depend on
  std::uint32_t control = 0;  // where it is in its code
};

// What it asks less often.
struct ThreadTies {
  std::uint64_t joined = 0;   // threads that it joins next, as bits
  std::uint64_t awaited = 0;  // those that it joins in a row, where that is one step
  std::uint32_t kind = 0;     // of a spawned thread
  std::uint32_t shape = 0;    // of one that may change its place, but for which allocated objects it leads to; 0: it may not
  bool is_claimed = false;
};

// What is known of a step. A successor is its memory, its thread, the number of other threads that change, and for each of
// these the thread and the positions in its buffer from which stores are gone, as bits.
struct CachedStep {
  Readiness readiness = Readiness::nothing;
  bool has_successors = false;
  bool is_opaque = false;  // it has to be computed each time
  std::uint32_t n_successors = 0;
  const std::uint32_t* successors = nullptr;
};

// What a step depends on: the thread by its place and its number, memory, and the faces of all threads, as one number.
struct StepKey {
  std::uint32_t place = 0;
  std::uint32_t thread = 0;
  std::uint32_t memory = 0;
  std::uint32_t faces = 0;

  bool operator==(const StepKey&) const = default;
  std::uint64_t hash() const { return hash(hash_of_others(memory, faces)); }

  // Of what the steps of all threads from a state depend on.
  static std::uint64_t hash_of_others(std::uint32_t memory, std::uint32_t faces) {
    return mixed(std::uint64_t{memory} << 32 | faces, 1);
  }
  std::uint64_t hash(std::uint64_t of_others) const { return mixed(std::uint64_t{place} << 32 | thread, of_others); }
};

class StepCache {
 public:
  // It is one of so many, which together take no more room than one.
  void share_room(std::size_t n_caches) { most_words_ = std::max(most_words_ / n_caches, fewest_words); }

  // Null if nothing is known. What it points to is good until `put`.
  std::optional<CachedStep> find(const StepKey& key, std::uint64_t hash) const {
    if (slots_.empty()) return {};
    const std::uint64_t slot = slots_[hash & (slots_.size() - 1)];
    if (((slot ^ hash) & upper_half) != 0 || static_cast<std::uint32_t>(slot) == 0) return {};
    const std::uint32_t* record = words_.data() + static_cast<std::uint32_t>(slot);
    if (std::memcmp(record, &key, sizeof key) != 0) return {};
    record += key_words;
    return CachedStep{static_cast<Readiness>(record[0] & 0xFF), (record[0] >> 8 & 1) != 0, (record[0] >> 9 & 1) != 0, record[1],
                      record + 2};
  }

  // That a step with this hash will be asked for: first its slot is fetched, then its record.
  [[gnu::always_inline]] void announce(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  [[gnu::always_inline]] void announce_record(std::uint64_t hash) const {
    if (slots_.empty()) return;
    const std::uint32_t* record = words_.data() + static_cast<std::uint32_t>(slots_[hash & (slots_.size() - 1)]);
    __builtin_prefetch(record);
    __builtin_prefetch(record + 12);
  }

  // Overwrites whatever has the place.
  void put(const StepKey& key, std::uint64_t hash, const CachedStep& step, std::span<const std::uint32_t> successors) {
    ++n_changes_;
    if (words_.size() > most_words_) forget();
    if (slots_.empty() || (++n_put_ > slots_.size() && slots_.size() < most_slots)) grow();
    slots_[hash & (slots_.size() - 1)] = slot_for(words_.size(), hash);
    words_.insert(words_.end(), {key.place, key.thread, key.memory, key.faces});
    words_.push_back(static_cast<std::uint32_t>(step.readiness) | (step.has_successors ? 1u << 8 : 0u) |
                     (step.is_opaque ? 1u << 9 : 0u));
    words_.push_back(step.n_successors);
    words_.insert(words_.end(), successors.begin(), successors.end());
  }

  // What `find` gave is good as long as this is the same.
  std::uint64_t n_changes() const { return n_changes_; }

  void clear() {
    forget();
    ++n_changes_;
  }

 private:
  static constexpr std::size_t key_words = sizeof(StepKey) / sizeof(std::uint32_t);
  static constexpr std::size_t fewest_slots = 1024;
  static constexpr std::size_t most_slots = std::size_t{1} << 20;
  static constexpr std::size_t fewest_words = std::size_t{1} << 20;
  static constexpr std::uint64_t upper_half = ~std::uint64_t{0} << 32;

  static std::uint64_t slot_for(std::size_t record, std::uint64_t hash) { return (hash & upper_half) | record; }

  void forget() {
    std::ranges::fill(slots_, 0);
    words_.assign(1, 0);
    n_put_ = 0;
  }

  void grow() {
    const std::vector<std::uint64_t> old = std::move(slots_);
    slots_.assign(old.empty() ? fewest_slots : 4 * old.size(), 0);
    if (old.empty()) words_.assign(1, 0);
    n_put_ = 0;
    for (const std::uint64_t slot : old) {
      if (slot == 0) continue;
      const std::uint32_t* record = words_.data() + static_cast<std::uint32_t>(slot);
      const std::uint64_t hash = StepKey{record[0], record[1], record[2], record[3]}.hash();
      slots_[hash & (slots_.size() - 1)] = slot_for(static_cast<std::uint32_t>(slot), hash);
      ++n_put_;
    }
  }

  std::vector<std::uint64_t> slots_;  // half of the hash, and where the record begins
  std::vector<std::uint32_t> words_;
  std::size_t n_put_ = 0;
  std::uint64_t n_changes_ = 0;
  std::size_t most_words_ = std::size_t{1} << 23;
};

}  // namespace dekker::states
