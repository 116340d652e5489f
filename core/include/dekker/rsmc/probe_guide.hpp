// What probes have learnt about the tree of runs: where there are many ends.
//
// Probes that take all ways with the same chance rarely come to where most ends are, because ways with few ends behind them are as
// likely as ways with many. So a probe takes a way with a chance that grows with the number of ends that earlier probes saw
// behind such ways. As its weight is divided by that chance, it is right on average whatever was learnt.
//
// Ways are alike if they have the same number among as many at the same event; if too little is known of them, if they have the
// same number there. Learnt are means of logarithms: weights have heavy tails as long as little is known, and as soon as
// much is known, all weights behind a way are alike.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace dekker::rsmc {

struct Way {
  std::uint64_t node = 0;  // which event, and in what role
  std::uint64_t n_ways = 0;
  std::uint64_t number = 0;
  double weight = 1;  // behind it
};

class ProbeGuide {
 public:
  // Of each way from a node; they sum up to 1.
  std::vector<double> chances(std::uint64_t node, std::uint64_t n_ways) const;

  // From a probe that has come to its end, which counts if it has a weight.
  void learn(const std::vector<Way>& ways, double end_weight);

 private:
  struct Ends {
    double log = 0;  // the mean of those probes that came to ends that count
    std::uint32_t n_counting = 0;
    std::uint32_t n_probes = 0;
  };
  using Table = std::unordered_map<std::uint64_t, Ends>;

  const Ends* known(const Way& way) const;
  std::vector<double> ends_behind(std::uint64_t node, std::uint64_t n_ways) const;
  static void note(Table& table, std::uint64_t key, std::optional<double> behind);

  Table alike_, similar_;
};

}  // namespace dekker::rsmc
