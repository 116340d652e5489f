// The states that were found: each is the numbers of its components, and knows the state it was first reached from.
#pragma once

#include "states/sequences.hpp"

namespace dekker::states {

class Visited {
 public:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  struct Found {
    std::uint32_t number;
    bool is_new;
  };

  Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent) { return insert(ids, parent, hash_of(ids)); }

  Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent, std::uint64_t hash) {
    if (ids.size() > stride_) widen(ids.size());
    if (4 * (parents_.size() + 1) > 3 * slots_.size()) grow();
    std::size_t i = hash & mask_;
    for (; slots_[i] != 0; i = (i + 1) & mask_)
      if (may_be(slots_[i], hash) && is_equal(number_in(slots_[i]), ids, hash)) return {number_in(slots_[i]), false};
    const auto number = static_cast<std::uint32_t>(parents_.size());
    slots_[i] = slot_for(number, hash);
    parents_.push_back(parent);
    if (is_compact_) {
      hashes_.push_back(hash);
      pending_.insert(pending_.end(), ids.begin(), ids.end());
      pending_.resize(pending_.size() + stride_ - ids.size(), 0);
    } else {
      ids_.insert(ids_.end(), ids.begin(), ids.end());
      ids_.resize(parents_.size() * stride_, 0);
    }
    return {number, true};
  }

  // That a state with this hash will be inserted: first its slot is fetched, then what the slot leads to.
  [[gnu::always_inline]] void announce(std::uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask_]);
  }
  [[gnu::always_inline]] void announce_row(std::uint64_t hash) const {
    const std::uint64_t slot = slots_.empty() ? 0 : slots_[hash & mask_];
    if (slot != 0 && may_be(slot, hash) && !is_compact_) __builtin_prefetch(ids_.data() + std::size_t{number_in(slot)} * stride_);
  }

  bool contains(std::span<const std::uint32_t> ids) const {
    if (parents_.empty()) return false;
    const std::uint64_t hash = hash_of(ids);
    for (std::size_t i = hash & mask_; slots_[i] != 0; i = (i + 1) & mask_)
      if (may_be(slots_[i], hash) && is_equal(number_in(slots_[i]), ids, hash)) return true;
    return false;
  }

  // The components of a state; once compact, only of those from `first_kept` on.
  std::span<const std::uint32_t> operator[](std::uint32_t number) const {
    return is_compact_ ? std::span(pending_.data() + (number - first_pending_) * stride_, stride_)
                       : std::span(ids_.data() + std::size_t{number} * stride_, stride_);
  }

  std::uint64_t hash(std::uint32_t number) const { return is_compact_ ? hashes_[number] : hash_of((*this)[number]); }

  // Trailing components that are 0 make no difference.
  static std::uint64_t hash_of(std::span<const std::uint32_t> ids) {
    std::size_t n = ids.size();
    while (n > 0 && ids[n - 1] == 0) --n;
    return hash_words(ids.data(), n);
  }

  std::uint32_t parent(std::uint32_t number) const { return parents_[number]; }
  std::size_t size() const { return parents_.size(); }
  std::size_t bytes() const {
    return 4 * (ids_.capacity() + parents_.capacity() + pending_.capacity()) + 8 * (hashes_.capacity() + slots_.capacity());
  }
  bool is_compact() const { return is_compact_; }

  // From now on states are known by their hashes. Components are kept for those from `first` on, which are not expanded yet.
  void become_compact(std::uint32_t first) {
    hashes_.reserve(parents_.size());
    for (std::uint32_t i = 0; i < parents_.size(); ++i) hashes_.push_back(hash_of((*this)[i]));
    pending_.assign(ids_.begin() + static_cast<std::ptrdiff_t>(std::size_t{first} * stride_), ids_.end());
    first_pending_ = first;
    ids_ = {};
    is_compact_ = true;
  }

  // The states before this one have been expanded.
  void forget(std::uint32_t first) {
    const std::size_t n = first - first_pending_;
    if (!is_compact_ || 2 * n * stride_ < pending_.size() || n < 1024) return;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(n * stride_));
    first_pending_ = first;
  }

 private:
  // A slot holds the number of a state plus 1, and half of its hash, so that others need not be looked at.
  static std::uint64_t slot_for(std::uint32_t number, std::uint64_t hash) { return (hash & upper_half) | (number + 1); }
  static std::uint32_t number_in(std::uint64_t slot) { return static_cast<std::uint32_t>(slot) - 1; }
  static bool may_be(std::uint64_t slot, std::uint64_t hash) { return ((slot ^ hash) & upper_half) == 0; }
  static constexpr std::uint64_t upper_half = ~std::uint64_t{0} << 32;

  bool is_equal(std::uint32_t number, std::span<const std::uint32_t> ids, std::uint64_t hash) const {
    if (is_compact_) return hashes_[number] == hash;
    const std::uint32_t* known = ids_.data() + std::size_t{number} * stride_;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (i < stride_ ? known[i] != ids[i] : ids[i] != 0) return false;
    for (std::size_t i = ids.size(); i < stride_; ++i)
      if (known[i] != 0) return false;
    return true;
  }

  void grow() {
    slots_.assign(slots_.empty() ? 1024 : 2 * slots_.size(), 0);
    mask_ = slots_.size() - 1;
    for (std::uint32_t number = 0; number < parents_.size(); ++number) {
      const std::uint64_t its_hash = hash(number);
      std::size_t i = its_hash & mask_;
      while (slots_[i] != 0) i = (i + 1) & mask_;
      slots_[i] = slot_for(number, its_hash);
    }
  }

  // More threads than before.
  void widen(std::size_t stride) {
    for (std::vector<std::uint32_t>* ids : {&ids_, &pending_}) {
      std::vector<std::uint32_t> wider;
      if (stride_ != 0)
        for (std::size_t i = 0; i < ids->size(); i += stride_) {
          wider.insert(wider.end(), ids->begin() + static_cast<std::ptrdiff_t>(i),
                       ids->begin() + static_cast<std::ptrdiff_t>(i + stride_));
          wider.resize(wider.size() + stride - stride_, 0);
        }
      *ids = std::move(wider);
    }
    stride_ = stride;
  }

  std::size_t stride_ = 0;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> parents_;
  std::vector<std::uint64_t> slots_;
  std::size_t mask_ = 0;
  bool is_compact_ = false;
  std::vector<std::uint64_t> hashes_;
  std::vector<std::uint32_t> pending_;
  std::uint32_t first_pending_ = 0;
};

}  // namespace dekker::states
