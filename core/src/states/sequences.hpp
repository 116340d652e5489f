// Sequences of words, each stored once and known by its number.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace dekker::states {

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_words(const std::uint32_t* words, std::size_t n) {
  std::uint64_t result = n;
  std::size_t i = 0;
  for (; i + 1 < n; i += 2) {
    std::uint64_t pair;
    std::memcpy(&pair, words + i, sizeof pair);
    result = mixed(result, pair);
  }
  if (i < n) result = mixed(result, words[i]);
  return mixed(result, n);
}

class Sequences {
 public:
  std::uint32_t intern(std::span<const std::uint32_t> words) {
    if (2 * (starts_.size() + 1) > slots_.size()) grow();
    const std::uint64_t hash = hash_words(words.data(), words.size());
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      if (slots_[i] == 0) {
        slots_[i] = static_cast<std::uint32_t>(starts_.size() + 1);
        return append(words);
      }
      const std::uint32_t id = slots_[i] - 1;
      const std::span<const std::uint32_t> known = (*this)[id];
      if (known.size() == words.size() && std::memcmp(known.data(), words.data(), words.size_bytes()) == 0) return id;
    }
  }

  std::span<const std::uint32_t> operator[](std::uint32_t id) const {
    const std::uint64_t start = starts_[id];
    const std::uint64_t end = id + 1 < starts_.size() ? starts_[id + 1] : words_.size();
    return {words_.data() + start, static_cast<std::size_t>(end - start)};
  }

  std::size_t size() const { return starts_.size(); }

  std::size_t bytes() const { return words_.capacity() * 4 + starts_.capacity() * 8 + slots_.capacity() * 4; }

 private:
  std::uint32_t append(std::span<const std::uint32_t> words) {
    starts_.push_back(words_.size());
    words_.insert(words_.end(), words.begin(), words.end());
    return static_cast<std::uint32_t>(starts_.size() - 1);
  }

  void grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), 0);
    mask_ = slots_.size() - 1;
    for (std::uint32_t id = 0; id < starts_.size(); ++id) {
      const std::span<const std::uint32_t> words = (*this)[id];
      std::size_t i = hash_words(words.data(), words.size()) & mask_;
      while (slots_[i] != 0) i = (i + 1) & mask_;
      slots_[i] = id + 1;
    }
  }

  std::vector<std::uint32_t> words_;
  std::vector<std::uint64_t> starts_;
  std::vector<std::uint32_t> slots_;
  std::size_t mask_ = 0;
};

}  // namespace dekker::states
