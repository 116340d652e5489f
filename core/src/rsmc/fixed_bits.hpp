// Sets of small numbers. Small ones are a fixed number of words; of large ones, which many may hold at once, copies share
// their words until one of them changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "dekker/bits.hpp"

namespace dekker::rsmc {

inline constexpr std::size_t most_words_in_place = 16;

template <std::size_t W>
struct FixedBits {
  static constexpr std::size_t capacity = W * word_bits;

  std::array<Word, W> words{};

  static FixedBits all() {
    FixedBits result;
    for (Word& word : result.words) word = ~Word{0};
    return result;
  }

  // All below n.
  static FixedBits first(std::size_t n) {
    FixedBits result;
    if (n != 0) fill_bits(std::span(result.words).first(words_for(n)), n);
    return result;
  }

  bool test(std::size_t i) const { return (words[i / word_bits] & bit(i)) != 0; }
  void set(std::size_t i) { words[i / word_bits] |= bit(i); }
  void clear(std::size_t i) { words[i / word_bits] &= ~bit(i); }
  std::span<const Word> span() const { return words; }

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

  FixedBits& remove(const FixedBits& other) {
    for (std::size_t i = 0; i < W; ++i) words[i] &= ~other.words[i];
    return *this;
  }

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

template <std::size_t W>
  requires(W > most_words_in_place)
struct FixedBits<W> {
  static constexpr std::size_t capacity = W * word_bits;

  static FixedBits all() {
    FixedBits result;
    result.words_ = std::make_shared<std::vector<Word>>(W, ~Word{0});
    return result;
  }

  static FixedBits first(std::size_t n) {
    FixedBits result;
    if (n == 0) return result;
    result.words_ = std::make_shared<std::vector<Word>>(words_for(n));
    fill_bits(*result.words_, n);
    return result;
  }

  bool test(std::size_t i) const { return i / word_bits < span().size() && (span()[i / word_bits] & bit(i)) != 0; }
  void set(std::size_t i) { own(i / word_bits + 1)[i / word_bits] |= bit(i); }
  void clear(std::size_t i) {
    if (test(i)) own(0)[i / word_bits] &= ~bit(i);
  }
  // Words that are not there are 0.
  std::span<const Word> span() const { return words_ ? std::span<const Word>(*words_) : std::span<const Word>(); }

  bool empty() const { return !any_bit(span()); }

  FixedBits& operator|=(const FixedBits& other) {
    if (!words_) {
      words_ = other.words_;
    } else if (other.words_ && other.words_ != words_ && !other.is_subset_of(*this)) {
      std::vector<Word>& words = own(other.words_->size());
      for (std::size_t i = 0; i < other.words_->size(); ++i) words[i] |= (*other.words_)[i];
    }
    return *this;
  }

  friend FixedBits operator|(FixedBits left, const FixedBits& right) { return left |= right; }

  FixedBits& remove(const FixedBits& other) {
    if (empty() || other.empty()) return *this;
    std::vector<Word>& words = own(0);
    const std::span<const Word> theirs = other.span();
    for (std::size_t i = 0; i < std::min(words.size(), theirs.size()); ++i) words[i] &= ~theirs[i];
    return *this;
  }

  bool is_subset_of(const FixedBits& other) const {
    const std::span<const Word> mine = span(), theirs = other.span();
    for (std::size_t i = 0; i < mine.size(); ++i)
      if ((mine[i] & ~(i < theirs.size() ? theirs[i] : 0)) != 0) return false;
    return true;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    const std::shared_ptr<const std::vector<Word>> kept = words_;  // whatever `visit` changes
    for (std::size_t i = 0; kept && i < kept->size(); ++i)
      for (Word rest = (*kept)[i]; rest != 0; rest &= rest - 1) visit(i * word_bits + lowest_bit(rest));
  }

 private:
  // At least so many words that nobody else has.
  std::vector<Word>& own(std::size_t n_words) {
    if (!words_) words_ = std::make_shared<std::vector<Word>>();
    else if (words_.use_count() > 1) words_ = std::make_shared<std::vector<Word>>(*words_);
    if (words_->size() < n_words) words_->resize(n_words);
    return *words_;
  }

  std::shared_ptr<std::vector<Word>> words_;
};

}  // namespace dekker::rsmc
