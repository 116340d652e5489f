// What threads were seen to access from each point of their code on, and which of them may therefore go first.
//
// A set P of threads is enough to go on with from a state if no thread outside of P ever conflicts with the next step of one
// inside (a persistent set): what the others do commutes with it. On every cycle of states some state must let all threads
// go on. Here the future of a thread is not known beforehand. It is what was seen so far, by thread and point of code:
// future(a) contains the accesses of every step seen from a, and future(b) if a step was seen from a to b. A choice that
// turns out wrong because a future has grown is corrected; the search ends when all choices hold.
//
// Why nothing is missed. Suppose that some run t1 ... tn from a state s that was visited ends in an access of a thread u
// which is not in future(u at s), and let n be the least for which there is such a state. All earlier steps are then in
// the futures of their threads. If no thread of P moves in the run, there is a step of P to another state; it commutes with
// all but the last step of the run, so that the same run can be made from there. That cannot go on for ever, since there is
// no cycle of such states. So some ti is the next step of a thread of P, say the first. What comes before it does not
// conflict with it, so it can be made at once, and was, since all next steps of P are made. If it is the last of the run, its
// accesses were seen. Otherwise the rest of the run from there is shorter, and its last access is not in future(u) there,
// which is part of future(u at s): a contradiction. So futures hold for all runs, not only for those that were followed, and
// all P are persistent.
//
// Stores that wait in a buffer are accesses that their thread has yet to make. A step touches what it reads or writes
// itself, the stores that have to leave its own buffer, and all that may leave other buffers with them (commits.hpp); it
// conflicts with whoever owns such a store. A store that goes into a buffer touches nothing: when it is written, it is by a
// step. Whether a buffer has room matters to a step that finds it full, so that one touches all that is in it.
#pragma once

#include <unordered_map>

#include "states/commits.hpp"

namespace dekker::states {

// Where addresses of allocated objects change with their numbers, these have cells by whom they belong to: those of the
// heap one for all, locals one for each thread.
namespace heap_cells {
inline constexpr std::uint32_t heap = 0;
inline constexpr std::uint32_t first_thread = 1;
inline constexpr std::uint32_t end = 65;
inline constexpr std::uint32_t any = ~std::uint32_t{0};   // perhaps of a thread whose call is over
inline constexpr std::uint32_t none = ~std::uint32_t{1};  // not such an object
}  // namespace heap_cells

struct Touch {
  Address address;
  Address size;
  bool writes;
  std::uint32_t heap_cell = heap_cells::none;
};

// A set of numbers that grows.
class NumberSet {
 public:
  bool add(std::size_t number) {
    if (number / 64 >= words_.size()) words_.resize(number / 64 + 1, 0);
    std::uint64_t& word = words_[number / 64];
    const std::uint64_t bit = std::uint64_t{1} << number % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  // Whether anything was added.
  bool add(const NumberSet& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size(), 0);
    bool grows = false;
    for (std::size_t i = 0; i < other.words_.size(); ++i) {
      grows = grows || (other.words_[i] & ~words_[i]) != 0;
      words_[i] |= other.words_[i];
    }
    return grows;
  }

  bool meets(const NumberSet& other) const {
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
      if ((words_[i] & other.words_[i]) != 0) return true;
    return false;
  }

  void clear() { words_.clear(); }

 private:
  std::vector<std::uint64_t> words_;
};

struct CellSets {
  NumberSet reads;
  NumberSet writes;

  bool conflicts(const CellSets& other) const {
    return writes.meets(other.writes) || writes.meets(other.reads) || reads.meets(other.writes);
  }
  bool add(const CellSets& other) {
    const bool grows = reads.add(other.reads);
    return writes.add(other.writes) || grows;
  }
  void clear() {
    reads.clear();
    writes.clear();
  }
};

class Futures {
 public:
  std::uint32_t point(std::int32_t thread, std::uint32_t control) {
    const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(thread)} << 32 | control;
    const auto [found, is_new] = numbers_.try_emplace(key, static_cast<std::uint32_t>(points_.size()));
    if (is_new) points_.emplace_back();
    return found->second;
  }

  const CellSets& future(std::uint32_t point) const { return points_[point].future; }

  // How often a future has grown.
  std::uint64_t version() const { return version_; }

  void add_to(CellSets& sets, const Touch& touch) {
    NumberSet& set = touch.writes ? sets.writes : sets.reads;
    if (touch.heap_cell == heap_cells::any)
      for (std::uint32_t cell = 0; cell < heap_cells::end; ++cell) set.add(cell);
    else if (touch.heap_cell != heap_cells::none)
      set.add(touch.heap_cell);
    if (touch.heap_cell != heap_cells::none) return;
    for (Address cell = touch.address / cell_size; cell * cell_size < touch.address + touch.size; ++cell)
      set.add(cell_number(cell));
  }

  void add_step(std::uint32_t from, std::uint32_t to, const std::vector<Touch>& touches) {
    CellSets accessed;
    for (const Touch& touch : touches) add_to(accessed, touch);
    std::vector<std::uint32_t>& before = points_[to].before;
    if (std::ranges::find(before, from) == before.end()) before.push_back(from);
    accessed.add(points_[to].future);
    grow(from, accessed);
  }

 private:
  static constexpr Address cell_size = 4;
  static constexpr std::uint32_t most_cells = 8192;  // then they are shared

  struct Point {
    CellSets future;
    std::vector<std::uint32_t> before;  // points from which steps lead here
  };

  std::uint32_t cell_number(Address cell) {
    const auto next = static_cast<std::uint32_t>(heap_cells::end + cells_.size());
    if (next < most_cells) return cells_.try_emplace(cell, next).first->second;
    const auto found = cells_.find(cell);
    if (found != cells_.end()) return found->second;
    return heap_cells::end + static_cast<std::uint32_t>(cell % (most_cells - heap_cells::end));
  }

  void grow(std::uint32_t first, const CellSets& more) {
    if (!points_[first].future.add(more)) return;
    ++version_;
    std::vector<std::uint32_t> pending{first};
    while (!pending.empty()) {
      const std::uint32_t number = pending.back();
      pending.pop_back();
      for (const std::uint32_t earlier : points_[number].before)
        if (earlier != number && points_[earlier].future.add(points_[number].future)) pending.push_back(earlier);
    }
  }

  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::unordered_map<Address, std::uint32_t> cells_;
  std::vector<Point> points_;
  std::uint64_t version_ = 0;
};

}  // namespace dekker::states
