// The states that were found, and those that are left to expand: those of a search with one worker, or what one of several
// workers sees of what they share.
#pragma once

#include "states/shared_visited.hpp"

namespace dekker::states {

// States that were found in one phase by one worker, and are expanded in the next.
class Level {
 public:
  std::size_t size() const { return width_ == 0 ? 0 : words_.size() / (1 + width_); }
  std::uint32_t number(std::size_t k) const { return words_[k * (1 + width_)]; }
  std::span<const std::uint32_t> ids(std::size_t k) const { return {words_.data() + k * (1 + width_) + 1, width_}; }
  void clear() { words_.clear(); }

  void add(std::uint32_t number, std::span<const std::uint32_t> ids) {
    if (ids.size() > width_) widen(ids.size());
    const std::size_t start = words_.size();
    words_.resize(start + 1 + width_, 0);
    words_[start] = number;
    std::ranges::copy(ids, words_.begin() + static_cast<std::ptrdiff_t>(start + 1));
  }

 private:
  void widen(std::size_t width) {
    std::vector<std::uint32_t> wider;
    for (std::size_t k = 0; k < size(); ++k) {
      wider.push_back(number(k));
      wider.insert(wider.end(), ids(k).begin(), ids(k).end());
      wider.resize(wider.size() + width - width_, 0);
    }
    words_ = std::move(wider);
    width_ = width;
  }

  std::size_t width_ = 0;
  std::vector<std::uint32_t> words_;  // of each state its number and its components
};

class FoundStates {
 public:
  using Found = Visited::Found;

  explicit FoundStates(bool is_depth_first) : depth_first(is_depth_first) {}
  explicit FoundStates(SharedVisited& shared) : shared_(&shared) {}

  Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent) {
    return insert(ids, parent, Visited::hash_of(ids));
  }

  Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent, std::uint64_t hash) {
    if (shared_ != nullptr) return insert_shared(ids, parent, hash);
    const Found found = visited.insert(ids, parent, hash);
    if (found.is_new && depth_first) {
      stack.push_back(found.number);
      is_expanded.push_back(false);
    }
    return found;
  }

  // A call that does nothing but fetch would be left out by the compiler.
  [[gnu::always_inline]] void announce(std::uint64_t hash) const {
    shared_ != nullptr ? shared_->announce(hash) : visited.announce(hash);
  }
  [[gnu::always_inline]] void announce_row(std::uint64_t hash) const {
    shared_ != nullptr ? shared_->announce_row(hash) : visited.announce_row(hash);
  }

  // Whether a state may have been expanded before the one that is expanded now, or with it. Of several workers nobody
  // knows who is how far, so that all states count that were known when the phase began.
  bool may_be_expanded(std::uint32_t number) const {
    if (shared_ != nullptr) return !shared_->is_of_this_phase(number);
    return depth_first ? bool{is_expanded[number]} : number < next;
  }

  std::span<const std::uint32_t> ids(std::uint32_t number) const { return shared_ != nullptr ? (*shared_)[number] : visited[number]; }
  std::uint32_t parent(std::uint32_t number) const { return shared_ != nullptr ? shared_->parent(number) : visited.parent(number); }
  std::uint64_t hash(std::uint32_t number) const { return shared_ != nullptr ? shared_->hash(number) : visited.hash(number); }
  bool is_shared() const { return shared_ != nullptr; }
  void share(SharedVisited& shared) { shared_ = &shared; }

  // ---- Of one worker --------------------------------------------------------------------------------------------------
  Visited visited;
  bool depth_first = false;
  std::vector<std::uint32_t> stack;  // of a depth-first search
  std::vector<bool> is_expanded;     // the same
  std::uint32_t next = 0;            // of a breadth-first search

  // ---- Of one of several ----------------------------------------------------------------------------------------------
  Level level;  // new states of this phase
  SharedVisited::Numbers numbers;
  std::uint64_t n_new = 0;

 private:
  [[gnu::noinline]] Found insert_shared(std::span<const std::uint32_t> ids, std::uint32_t parent, std::uint64_t hash) {
    const Found found = shared_->insert(ids, parent, hash, numbers);
    if (found.is_new) {
      level.add(found.number, ids);
      ++n_new;
    }
    return found;
  }

  SharedVisited* shared_ = nullptr;
};

}  // namespace dekker::states
