// Random probes of the exploration, after Knuth ("Estimating the efficiency of backtrack programs", 1975).
//
// What the explorer does at an event is to call Explore once for each way to go on: each parameter that the model allows,
// and each continuation that a store opens for an earlier load. Which ways these are depends on the run alone, so that runs
// form a tree. A probe goes down one branch: at each event all ways are counted, and one of them is taken at random. The
// product of the counts is the weight of the end that it comes to, and the mean of the weights over many probes estimates
// how many ends there are.
#pragma once

#include <cstdint>
#include <random>

namespace dekker::rsmc {

// Whether a call of Explore goes on. Explored is every one; counted is every one, and none goes on; taken is one.
class Turn {
 public:
  static Turn count() { return {Mode::count, 0}; }
  static Turn take(std::uint64_t number) { return {Mode::take, number}; }
  Turn() = default;

  bool is_taken() {
    if (mode_ == Mode::all) return true;
    return n_asked_++ == number_ && mode_ == Mode::take;
  }

  std::uint64_t n_asked() const { return n_asked_; }

 private:
  enum class Mode : std::uint8_t { all, count, take };
  Turn(Mode mode, std::uint64_t number) : mode_(mode), number_(number) {}

  Mode mode_ = Mode::all;
  std::uint64_t number_ = 0;
  std::uint64_t n_asked_ = 0;
};

struct Sampler {
  explicit Sampler(std::uint64_t seed) : random(seed) {}

  std::uint64_t below(std::uint64_t bound) { return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(random); }

  std::mt19937_64 random;
  double weight = 1;          // of where the probe is
  double put_off_weight = 1;  // of the continuation that it will go on with
  double leaf_weight = 0;     // of the end that it came to
};

}  // namespace dekker::rsmc
