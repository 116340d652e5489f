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

#include <mutex>
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

  bool contains(const NumberSet& other) const {
    for (std::size_t i = 0; i < other.words_.size(); ++i)
      if ((other.words_[i] & ~(i < words_.size() ? words_[i] : 0)) != 0) return false;
    return true;
  }

  bool meets(const NumberSet& other) const {
    for (std::size_t i = 0; i < std::min(words_.size(), other.words_.size()); ++i)
      if ((words_[i] & other.words_[i]) != 0) return true;
    return false;
  }

  void clear() { words_.clear(); }
  bool operator==(const NumberSet&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

struct CellSets {
  NumberSet reads;
  NumberSet writes;

  bool conflicts(const CellSets& other) const {
    return writes.meets(other.writes) || writes.meets(other.reads) || reads.meets(other.writes);
  }
  bool contains(const CellSets& other) const { return reads.contains(other.reads) && writes.contains(other.writes); }
  bool add(const CellSets& other) {
    const bool grows = reads.add(other.reads);
    return writes.add(other.writes) || grows;
  }
  void clear() {
    reads.clear();
    writes.clear();
  }
  bool operator==(const CellSets&) const = default;
};

// Bytes are told apart in cells, which are numbered in the order in which they are met. A worker of several knows some of the
// numbers that all share.
class Cells {
 public:
  explicit Cells(Cells* shared = nullptr) : shared_(shared) {}

  void add_to(CellSets& sets, const Touch& touch) {
    NumberSet& set = touch.writes ? sets.writes : sets.reads;
    if (touch.heap_cell == heap_cells::any)
      for (std::uint32_t cell = 0; cell < heap_cells::end; ++cell) set.add(cell);
    else if (touch.heap_cell != heap_cells::none)
      set.add(touch.heap_cell);
    if (touch.heap_cell != heap_cells::none) return;
    for (Address cell = touch.address / cell_size; cell * cell_size < touch.address + touch.size; ++cell)
      set.add(number(cell));
  }

 private:
  static constexpr Address cell_size = 4;
  static constexpr std::uint32_t most_cells = 8192;  // then they are shared

  std::uint32_t number(Address cell) {
    Recent& recent = recent_[cell % recent_.size()];
    if (recent.cell != cell) recent = {cell, find_number(cell)};
    return recent.number;
  }

  std::uint32_t find_number(Address cell) {
    if (shared_ == nullptr) return own_number(cell);
    const auto found = numbers_.find(cell);
    if (found != numbers_.end()) return found->second;
    const std::lock_guard hold(shared_->mutex_);
    return numbers_.try_emplace(cell, shared_->own_number(cell)).first->second;
  }

  std::uint32_t own_number(Address cell) {
    const auto next = static_cast<std::uint32_t>(heap_cells::end + numbers_.size());
    if (next < most_cells) return numbers_.try_emplace(cell, next).first->second;
    const auto found = numbers_.find(cell);
    if (found != numbers_.end()) return found->second;
    return heap_cells::end + static_cast<std::uint32_t>(cell % (most_cells - heap_cells::end));
  }

  struct Recent {
    Address cell = ~Address{0};
    std::uint32_t number = 0;
  };

  Cells* shared_;
  std::array<Recent, 64> recent_;
  std::mutex mutex_;
  std::unordered_map<Address, std::uint32_t> numbers_;
};

class Futures {
 public:
  // A thread, and where it is in its code.
  using Point = std::uint64_t;
  static Point point(std::int32_t thread, std::uint32_t control) {
    return std::uint64_t{static_cast<std::uint32_t>(thread)} << 32 | control;
  }

  static constexpr std::uint32_t unknown = ~std::uint32_t{0};

  // By this number a point is known from now on.
  std::uint32_t find(Point point) const {
    const auto found = numbers_.find(point);
    return found == numbers_.end() ? unknown : found->second;
  }

  const CellSets& future(std::uint32_t number) const {
    static const CellSets nothing;
    return number == unknown ? nothing : known_[number].future;
  }

  // How often a future has grown.
  std::uint64_t version() const { return version_; }

  void add_step(Point from, Point to, const CellSets& accessed) {
    const std::uint32_t before = number(from), after = number(to);
    add_edge(before, after);
    grow(before, accessed);
    if (before != after) grow(before, known_[after].future);
  }

  bool knows_step(Point from, Point to, const CellSets& accessed) const {
    const auto before = numbers_.find(from), after = numbers_.find(to);
    if (before == numbers_.end() || after == numbers_.end()) return false;
    return std::ranges::find(known_[after->second].before, before->second) != known_[after->second].before.end() &&
           known_[before->second].future.contains(accessed);
  }

  void add(const Futures& others) {
    for (const auto& [point, number_there] : others.numbers_) grow(number(point), others.known_[number_there].future);
    for (const auto& [point, number_there] : others.numbers_)
      for (const std::uint32_t before : others.known_[number_there].before) {
        const std::uint32_t from = number(others.points_[before]), to = number(point);
        add_edge(from, to);
        if (from != to) grow(from, known_[to].future);
      }
  }

  bool empty() const { return known_.empty(); }

 private:
  struct Known {
    CellSets future;
    std::vector<std::uint32_t> before;  // points from which steps lead here
  };

  std::uint32_t number(Point point) {
    const auto [found, is_new] = numbers_.try_emplace(point, static_cast<std::uint32_t>(known_.size()));
    if (is_new) {
      known_.emplace_back();
      points_.push_back(point);
    }
    return found->second;
  }

  void add_edge(std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t>& before = known_[to].before;
    if (std::ranges::find(before, from) == before.end()) before.push_back(from);
  }

  void grow(std::uint32_t first, const CellSets& more) {
    if (!known_[first].future.add(more)) return;
    ++version_;
    std::vector<std::uint32_t> pending{first};
    while (!pending.empty()) {
      const std::uint32_t number = pending.back();
      pending.pop_back();
      for (const std::uint32_t earlier : known_[number].before)
        if (earlier != number && known_[earlier].future.add(known_[number].future)) pending.push_back(earlier);
    }
  }

  std::unordered_map<Point, std::uint32_t> numbers_;
  std::vector<Point> points_;  // by number
  std::vector<Known> known_;
  std::uint64_t version_ = 0;
};

}  // namespace dekker::states
