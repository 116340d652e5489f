// Random probes of the exploration, after Knuth ("Estimating the efficiency of backtrack programs", 1975).
//
// What the explorer does at an event is to call Explore once for each way to go on: each parameter that the model allows,
// and each continuation that a store opens for an earlier load. Which ways these are depends on the run alone, so that runs
// form a tree. A probe goes down one branch: at each event all ways are counted, and one of them is taken at random. The
// weight of the end that it comes to is one by the product of the chances, and the mean of the weights over many probes
// estimates how many ends there are. What the chances are is learnt (probe_guide.hpp).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "dekker/rsmc/probe_guide.hpp"

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
  Sampler(std::uint64_t seed, ProbeGuide& learnt) : random(seed), guide(learnt) {}

  void begin() {
    weight = 1;
    leaf_weight = 0;
    ways.clear();
  }

  // The number of the way that the probe takes, whose weight it has from here on.
  std::uint64_t take(std::uint64_t node, std::uint64_t n_ways) {
    if (n_ways == 1) return 0;
    const std::vector<double> chances = guide.chances(node, n_ways);
    const std::uint64_t taken = std::discrete_distribution<std::uint64_t>(chances.begin(), chances.end())(random);
    weight /= chances[taken];
    ways.push_back({node, n_ways, taken, weight});
    return taken;
  }

  std::mt19937_64 random;
  ProbeGuide& guide;
  std::vector<Way> ways;      // that the probe took
  double weight = 1;          // of where the probe is
  double put_off_weight = 1;  // of the continuation that it will go on with
  double leaf_weight = 0;     // of the end that it came to
};

}  // namespace dekker::rsmc
