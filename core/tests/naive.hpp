// Sets and relations as plain sets of numbers and pairs: slow and obviously right, to compare the core with.
#pragma once

#include <cstddef>
#include <random>
#include <set>
#include <utility>

#include "dekker/event_set.hpp"
#include "dekker/relation.hpp"

namespace naive {

using Event = std::size_t;
using Set = std::set<Event>;
using Pairs = std::set<std::pair<Event, Event>>;

inline const std::size_t sizes[] = {0, 1, 5, 63, 64, 65, 130};

inline Set events_of(const dekker::EventSet& set) {
  Set out;
  for (Event e = 0; e < set.n_events(); ++e)
    if (set.contains(e)) out.insert(e);
  return out;
}

inline Pairs pairs_of(const dekker::Relation& relation) {
  Pairs out;
  for (Event i = 0; i < relation.n_events(); ++i)
    for (Event j = 0; j < relation.n_events(); ++j)
      if (relation.contains(i, j)) out.emplace(i, j);
  return out;
}

inline dekker::EventSet random_set(std::size_t n_events, std::mt19937& random) {
  dekker::EventSet set(n_events);
  for (Event e = 0; e < n_events; ++e)
    if (random() % 2 == 0) set.insert(e);
  return set;
}

// About `degree` pairs per event; with `upwards`, from lower to higher events only, hence acyclic.
inline dekker::Relation random_relation(std::size_t n_events, double degree, std::mt19937& random,
                                        bool upwards = false) {
  dekker::Relation relation(n_events);
  std::bernoulli_distribution is_pair(n_events == 0 ? 0.0 : std::min(1.0, degree / static_cast<double>(n_events)));
  for (Event i = 0; i < n_events; ++i)
    for (Event j = upwards ? i + 1 : 0; j < n_events; ++j)
      if (is_pair(random)) relation.insert(i, j);
  return relation;
}

inline Pairs composed(const Pairs& first, const Pairs& second) {
  Pairs out;
  for (const auto& [from, middle] : first)
    for (auto it = second.lower_bound({middle, 0}); it != second.end() && it->first == middle; ++it)
      out.emplace(from, it->second);
  return out;
}

inline Pairs closed(const Pairs& pairs) {
  Pairs out = pairs;
  while (true) {
    Pairs longer = composed(out, pairs);
    longer.insert(out.begin(), out.end());
    if (longer == out) return out;
    out = std::move(longer);
  }
}

inline Pairs diagonal(std::size_t n_events) {
  Pairs out;
  for (Event e = 0; e < n_events; ++e) out.emplace(e, e);
  return out;
}

inline Pairs united(Pairs left, const Pairs& right) {
  left.insert(right.begin(), right.end());
  return left;
}

inline bool is_irreflexive(const Pairs& pairs) {
  for (const auto& [from, to] : pairs)
    if (from == to) return false;
  return true;
}

}  // namespace naive
