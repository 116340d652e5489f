#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dekker/bits.hpp"

namespace dekker {

// A subset of the events 0 .. n_events-1. Bits beyond the last event are always zero.
class EventSet {
 public:
  explicit EventSet(std::size_t n_events = 0) { reset(n_events); }

  // Becomes the empty set over n_events; allocates only beyond the largest size so far.
  void reset(std::size_t n_events) {
    n_events_ = n_events;
    words_.assign(words_for(n_events), 0);
  }

  std::size_t n_events() const { return n_events_; }
  std::span<Word> words() { return words_; }
  std::span<const Word> words() const { return words_; }

  bool contains(std::size_t event) const { return test_bit(words_, event); }
  void insert(std::size_t event) { set_bit(words_, event); }
  void erase(std::size_t event) { clear_bit(words_, event); }
  void clear() { std::ranges::fill(words_, Word{0}); }
  void fill() { fill_bits(words_, n_events_); }

  friend bool operator==(const EventSet&, const EventSet&) = default;

 private:
  std::size_t n_events_ = 0;
  std::vector<Word> words_;
};

}  // namespace dekker
