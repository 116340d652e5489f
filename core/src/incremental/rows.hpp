// Sets of events in a fixed number of words, kept in machine registers where that is one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "dekker/bits.hpp"

namespace dekker::incremental {

template <std::size_t W>
struct Row {
  std::array<Word, W> words;

  static Row none() { return Row{}; }

  static Row single(std::size_t event) {
    Row row{};
    row.words[W == 1 ? 0 : event / word_bits] = bit(event);
    return row;
  }

  // The events before this one.
  static Row below(std::size_t event) {
    if constexpr (W == 1) return Row{{event < word_bits ? bit(event) - 1 : ~Word{0}}};
    Row row{};
    for (std::size_t i = 0; i < W; ++i)
      if (event >= (i + 1) * word_bits)
        row.words[i] = ~Word{0};
      else if (event > i * word_bits)
        row.words[i] = bit(event) - 1;
    return row;
  }

  // Words that are not there are 0.
  static Row read(const Word* source, std::size_t n_words) {
    Row row{};
    for (std::size_t i = 0; i < n_words; ++i) row.words[i] = source[i];
    return row;
  }

  bool any() const {
    Word all = 0;
    for (std::size_t i = 0; i < W; ++i) all |= words[i];
    return all != 0;
  }

  bool test(std::size_t event) const { return (words[W == 1 ? 0 : event / word_bits] >> (event % word_bits) & 1) != 0; }
  void set(std::size_t event) { words[W == 1 ? 0 : event / word_bits] |= bit(event); }
  void clear(std::size_t event) { words[W == 1 ? 0 : event / word_bits] &= ~bit(event); }

  std::size_t highest() const {
    for (std::size_t i = W; i-- > 0;)
      if (words[i] != 0) return i * word_bits + (word_bits - 1 - static_cast<std::size_t>(std::countl_zero(words[i])));
    return 0;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < W; ++i)
      for (Word rest = words[i]; rest != 0; rest &= rest - 1) visit(i * word_bits + lowest_bit(rest));
  }

  Row& operator|=(const Row& other) { return combine(other, [](Word a, Word b) { return a | b; }); }
  Row& operator&=(const Row& other) { return combine(other, [](Word a, Word b) { return a & b; }); }
  Row& operator^=(const Row& other) { return combine(other, [](Word a, Word b) { return a ^ b; }); }
  // Without the events of the other.
  Row& operator-=(const Row& other) { return combine(other, [](Word a, Word b) { return a & ~b; }); }

  friend Row operator|(Row left, const Row& right) { return left |= right; }
  friend Row operator&(Row left, const Row& right) { return left &= right; }
  friend Row operator^(Row left, const Row& right) { return left ^= right; }
  friend Row operator-(Row left, const Row& right) { return left -= right; }
  friend bool operator==(const Row& left, const Row& right) { return !(left ^ right).any(); }

 private:
  template <class Combine>
  Row& combine(const Row& other, Combine combine_words) {
    for (std::size_t i = 0; i < W; ++i) words[i] = combine_words(words[i], other.words[i]);
    return *this;
  }
};

}  // namespace dekker::incremental
