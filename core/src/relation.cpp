#include "dekker/relation.hpp"

#include <array>
#include <cassert>

namespace dekker {

namespace {

// "Narrow" functions handle relations over at most 64 events: one word per row, kept in a machine register.

void compose_narrow(std::span<Word> out, std::span<const Word> first, std::span<const Word> second) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    Word reached = 0;
    for (Word rest = first[i]; rest != 0; rest &= rest - 1) reached |= second[lowest_bit(rest)];
    out[i] = reached;
  }
}

// Warshall's algorithm; the mask instead of a branch lets the compiler use vector instructions.
void close_narrow(std::span<Word> rows) {
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Word through = rows[k];
    for (Word& row : rows) row |= through & (Word{0} - ((row >> k) & 1));
  }
}

void close_wide(Relation& relation) {
  for (std::size_t k = 0; k < relation.n_events(); ++k)
    for (std::size_t i = 0; i < relation.n_events(); ++i)
      if (relation.contains(i, k)) or_into(relation.row(i), relation.row(k));
}

// Both acyclicity tests are depth-first searches. A pair that leads back to the current path is seen on entering its
// first event, because the path up to an event does not change while the search is beyond it.

bool is_acyclic_narrow(std::span<const Word> rows) {
  std::array<std::size_t, word_bits> path;
  Word unvisited = last_word_mask(rows.size());
  while (unvisited != 0) {
    std::size_t depth = 0;
    Word on_path = 0;
    Word next = unvisited;
    while (true) {
      if (next != 0) {
        const std::size_t event = lowest_bit(next);
        unvisited &= ~bit(event);
        on_path |= bit(event);
        if ((rows[event] & on_path) != 0) return false;
        path[depth++] = event;
      } else {
        on_path &= ~bit(path[--depth]);
        if (depth == 0) break;
      }
      next = rows[path[depth - 1]] & unvisited;
    }
  }
  return true;
}

constexpr std::size_t none = static_cast<std::size_t>(-1);

std::size_t lowest_common_bit(std::span<const Word> left, std::span<const Word> right) {
  for (std::size_t i = 0; i < left.size(); ++i)
    if (const Word common = left[i] & right[i]; common != 0) return i * word_bits + lowest_bit(common);
  return none;
}

bool is_acyclic_wide(const Relation& relation, PathScratch& scratch) {
  auto& [path, unvisited, on_path] = scratch;
  path.clear();
  path.reserve(relation.n_events());
  unvisited.reset(relation.n_events());
  unvisited.fill();
  on_path.reset(relation.n_events());
  while (true) {
    const std::span<const Word> candidates = path.empty() ? unvisited.words() : relation.row(path.back());
    const std::size_t event = lowest_common_bit(candidates, unvisited.words());
    if (event != none) {
      unvisited.erase(event);
      on_path.insert(event);
      if (have_common_bit(relation.row(event), on_path.words())) return false;
      path.push_back(event);
    } else {
      if (path.empty()) return true;
      on_path.erase(path.back());
      path.pop_back();
    }
  }
}

void copy(Relation& out, const Relation& relation) {
  if (&out != &relation) std::ranges::copy(relation.words(), out.words().begin());
}

}  // namespace

void Relation::fill() {
  for (std::size_t i = 0; i < n_events_; ++i) fill_bits(row(i), n_events_);
}

void Relation::insert_diagonal() {
  for (std::size_t i = 0; i < n_events_; ++i) insert(i, i);
}

void complement(EventSet& out, const EventSet& set) {
  std::ranges::transform(set.words(), out.words().begin(), [](Word word) { return ~word; });
  if (!out.words().empty()) out.words().back() &= last_word_mask(set.n_events());
}

void complement(Relation& out, const Relation& relation) {
  std::ranges::transform(relation.words(), out.words().begin(), [](Word word) { return ~word; });
  for (std::size_t i = 0; i < out.n_events(); ++i) out.row(i).back() &= last_word_mask(out.n_events());
}

void compose(Relation& out, const Relation& first, const Relation& second) {
  assert(&out != &first && &out != &second);
  if (first.is_narrow()) return compose_narrow(out.words(), first.words(), second.words());
  out.clear();
  for (std::size_t i = 0; i < first.n_events(); ++i)
    for_each_bit(first.row(i), [&](std::size_t middle) { or_into(out.row(i), second.row(middle)); });
}

void invert(Relation& out, const Relation& relation) {
  assert(&out != &relation);
  out.clear();
  for (std::size_t i = 0; i < relation.n_events(); ++i)
    for_each_bit(relation.row(i), [&](std::size_t j) { out.insert(j, i); });
}

void reflexive_closure(Relation& out, const Relation& relation) {
  copy(out, relation);
  out.insert_diagonal();
}

void transitive_closure(Relation& out, const Relation& relation) {
  copy(out, relation);
  if (out.is_narrow())
    close_narrow(out.words());
  else
    close_wide(out);
}

void reflexive_transitive_closure(Relation& out, const Relation& relation) {
  transitive_closure(out, relation);
  out.insert_diagonal();
}

void identity_on(Relation& out, const EventSet& set) {
  out.clear();
  for_each_bit(set.words(), [&](std::size_t event) { out.insert(event, event); });
}

void cross(Relation& out, const EventSet& from, const EventSet& to) {
  out.clear();
  for_each_bit(from.words(), [&](std::size_t event) { std::ranges::copy(to.words(), out.row(event).begin()); });
}

void domain(EventSet& out, const Relation& relation) {
  out.clear();
  for (std::size_t i = 0; i < relation.n_events(); ++i)
    if (any_bit(relation.row(i))) out.insert(i);
}

void range(EventSet& out, const Relation& relation) {
  out.clear();
  for (std::size_t i = 0; i < relation.n_events(); ++i) or_into(out.words(), relation.row(i));
}

bool is_irreflexive(const Relation& relation) {
  for (std::size_t i = 0; i < relation.n_events(); ++i)
    if (relation.contains(i, i)) return false;
  return true;
}

bool is_acyclic(const Relation& relation, PathScratch& scratch) {
  return relation.is_narrow() ? is_acyclic_narrow(relation.words()) : is_acyclic_wide(relation, scratch);
}

bool is_acyclic(const Relation& relation) {
  PathScratch scratch;
  return is_acyclic(relation, scratch);
}

}  // namespace dekker
