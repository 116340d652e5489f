#include "dekker/rsmc/probe_guide.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dekker::rsmc {

namespace {

constexpr double curiosity = 0.03;             // the part of the chances that does not depend on what was learnt
constexpr std::uint32_t enough = 3;            // probes, to know something of ways
constexpr double newest = 0.02;                // what a probe counts at least, so that older ones are forgotten
constexpr std::size_t most_known = 1'000'000;  // entries of a table

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15 + (hash << 6) + (hash >> 2);
  hash ^= hash >> 31;
  return hash * 0xD6E8FEB86659FD93;
}

constexpr double unknown = -std::numeric_limits<double>::infinity();

double log_of_sum(const std::vector<double>& logs) {
  const double largest = std::ranges::max(logs);
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return largest + std::log(sum);
}

std::uint64_t alike(const Way& way) { return mixed(mixed(mixed(0, way.node), way.n_ways), way.number); }
std::uint64_t similar(const Way& way) { return mixed(mixed(1, way.node), way.number); }

}  // namespace

const ProbeGuide::Ends* ProbeGuide::known(const Way& way) const {
  if (const auto found = alike_.find(alike(way)); found != alike_.end() && found->second.n_probes >= enough) return &found->second;
  if (const auto found = similar_.find(similar(way)); found != similar_.end()) return &found->second;
  return nullptr;
}

// Logarithms, with the mean of the others for those of which nothing is known. Empty if nothing is known of any.
std::vector<double> ProbeGuide::ends_behind(std::uint64_t node, std::uint64_t n_ways) const {
  std::vector<double> found(n_ways, unknown);
  double sum = 0;
  std::size_t n_known = 0;
  for (std::uint64_t i = 0; i < n_ways; ++i) {
    const Ends* const ends = known({node, n_ways, i});
    if (ends == nullptr || ends->n_counting == 0) continue;
    found[i] = ends->log + std::log(static_cast<double>(ends->n_counting) / ends->n_probes);
    sum += found[i];
    ++n_known;
  }
  if (n_known == 0) return {};
  std::ranges::replace(found, unknown, sum / static_cast<double>(n_known));
  return found;
}

std::vector<double> ProbeGuide::chances(std::uint64_t node, std::uint64_t n_ways) const {
  std::vector<double> found = ends_behind(node, n_ways);
  const double even = 1.0 / static_cast<double>(n_ways);
  if (found.empty()) return std::vector<double>(n_ways, even);
  const double total = log_of_sum(found);
  for (double& chance : found) chance = (1 - curiosity) * std::exp(chance - total) + curiosity * even;
  return found;
}

void ProbeGuide::learn(const std::vector<Way>& ways, double end_weight) {
  for (const Way& way : ways) {
    std::optional<double> behind;
    if (end_weight != 0) behind = std::log(end_weight / way.weight);
    note(alike_, alike(way), behind);
    note(similar_, similar(way), behind);
  }
}

void ProbeGuide::note(Table& table, std::uint64_t key, std::optional<double> behind) {
  if (table.size() >= most_known && !table.contains(key)) return;
  Ends& ends = table[key];
  ++ends.n_probes;
  if (behind) ends.log += (*behind - ends.log) * std::max(1.0 / ++ends.n_counting, newest);
}

}  // namespace dekker::rsmc
