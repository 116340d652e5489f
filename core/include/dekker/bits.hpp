// Words of bits, the common ground of event sets and relations.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace dekker {

using Word = std::uint64_t;

inline constexpr std::size_t word_bits = 64;

constexpr std::size_t words_for(std::size_t n_bits) { return (n_bits + word_bits - 1) / word_bits; }

constexpr Word bit(std::size_t position) { return Word{1} << (position % word_bits); }

constexpr std::size_t lowest_bit(Word word) { return static_cast<std::size_t>(std::countr_zero(word)); }

// The bits in use of the last of the words that hold n_bits.
constexpr Word last_word_mask(std::size_t n_bits) {
  const std::size_t rest = n_bits % word_bits;
  return rest == 0 ? ~Word{0} : bit(rest) - 1;
}

inline bool test_bit(std::span<const Word> words, std::size_t position) {
  return (words[position / word_bits] & bit(position)) != 0;
}

inline void set_bit(std::span<Word> words, std::size_t position) { words[position / word_bits] |= bit(position); }

inline void clear_bit(std::span<Word> words, std::size_t position) { words[position / word_bits] &= ~bit(position); }

inline void fill_bits(std::span<Word> words, std::size_t n_bits) {
  std::ranges::fill(words, ~Word{0});
  if (!words.empty()) words.back() = last_word_mask(n_bits);
}

inline bool any_bit(std::span<const Word> words) {
  return std::ranges::any_of(words, [](Word word) { return word != 0; });
}

inline bool have_common_bit(std::span<const Word> left, std::span<const Word> right) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if ((left[i] & right[i]) != 0) return true;
  return false;
}

inline void or_into(std::span<Word> target, std::span<const Word> source) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] |= source[i];
}

// The counted loop, unlike std::ranges::transform, compiles to vector instructions.
template <class Combine>
void combine(std::span<Word> out, std::span<const Word> left, std::span<const Word> right, Combine combine_words) {
  const std::size_t n_words = out.size();
  for (std::size_t i = 0; i < n_words; ++i) out[i] = combine_words(left[i], right[i]);
}

template <class Visit>
void for_each_bit(std::span<const Word> words, Visit visit) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (Word rest = words[i]; rest != 0; rest &= rest - 1) visit(i * word_bits + lowest_bit(rest));
}

}  // namespace dekker
