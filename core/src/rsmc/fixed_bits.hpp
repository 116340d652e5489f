// Sets of small numbers in a fixed number of words.
#pragma once

#include <array>
#include <cstddef>

#include "dekker/bits.hpp"

namespace dekker::rsmc {

template <std::size_t W>
struct FixedBits {
  static constexpr std::size_t capacity = W * word_bits;

  std::array<Word, W> words{};

  static FixedBits all() {
    FixedBits result;
    for (Word& word : result.words) word = ~Word{0};
    return result;
  }

  bool test(std::size_t i) const { return (words[i / word_bits] & bit(i)) != 0; }
  void set(std::size_t i) { words[i / word_bits] |= bit(i); }
  void clear(std::size_t i) { words[i / word_bits] &= ~bit(i); }

  bool empty() const {
    Word any = 0;
    for (Word word : words) any |= word;
    return any == 0;
  }

  FixedBits& operator|=(const FixedBits& other) {
    for (std::size_t i = 0; i < W; ++i) words[i] |= other.words[i];
    return *this;
  }

  friend FixedBits operator|(FixedBits left, const FixedBits& right) { return left |= right; }

  bool is_subset_of(const FixedBits& other) const {
    Word outside = 0;
    for (std::size_t i = 0; i < W; ++i) outside |= words[i] & ~other.words[i];
    return outside == 0;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < W; ++i)
      for (Word rest = words[i]; rest != 0; rest &= rest - 1) visit(i * word_bits + lowest_bit(rest));
  }
};

}  // namespace dekker::rsmc
