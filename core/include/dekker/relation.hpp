// Binary relations over events as bit matrices, and the operations of the cat language on them.
//
// Operations write into `out`, which must already range over as many events as the arguments; none of them allocates.
// Unless noted, `out` may be one of the arguments.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "dekker/bits.hpp"
#include "dekker/event_set.hpp"

namespace dekker {

// Keeps the number of words far from overflow; memory runs out long before.
inline constexpr std::size_t max_events = std::size_t{1} << 24;

// Bit j of row i is the pair (i, j). Bits beyond the last event are always zero.
class Relation {
 public:
  explicit Relation(std::size_t n_events = 0) { reset(n_events); }

  // Becomes the empty relation over n_events; allocates only beyond the largest size so far.
  void reset(std::size_t n_events) {
    if (n_events > max_events) throw std::length_error("too many events");
    n_events_ = n_events;
    words_per_row_ = words_for(n_events);
    words_.assign(n_events * words_per_row_, 0);
  }

  std::size_t n_events() const { return n_events_; }
  bool is_narrow() const { return words_per_row_ == 1; }
  std::span<Word> words() { return words_; }
  std::span<const Word> words() const { return words_; }
  std::span<Word> row(std::size_t event) { return words().subspan(event * words_per_row_, words_per_row_); }
  std::span<const Word> row(std::size_t event) const { return words().subspan(event * words_per_row_, words_per_row_); }

  bool contains(std::size_t from, std::size_t to) const { return test_bit(row(from), to); }
  void insert(std::size_t from, std::size_t to) { set_bit(row(from), to); }
  void erase(std::size_t from, std::size_t to) { clear_bit(row(from), to); }
  void clear() { std::ranges::fill(words_, Word{0}); }
  void fill();
  void insert_diagonal();

  friend bool operator==(const Relation&, const Relation&) = default;

 private:
  std::size_t n_events_ = 0;
  std::size_t words_per_row_ = 0;
  std::vector<Word> words_;
};

// On two sets or on two relations.
template <class Bits>
void unite(Bits& out, const Bits& left, const Bits& right) {
  combine(out.words(), left.words(), right.words(), [](Word l, Word r) { return l | r; });
}

template <class Bits>
void intersect(Bits& out, const Bits& left, const Bits& right) {
  combine(out.words(), left.words(), right.words(), [](Word l, Word r) { return l & r; });
}

template <class Bits>
void subtract(Bits& out, const Bits& left, const Bits& right) {
  combine(out.words(), left.words(), right.words(), [](Word l, Word r) { return l & ~r; });
}

template <class Bits>
bool is_empty(const Bits& bits) {
  return !any_bit(bits.words());
}

void complement(EventSet& out, const EventSet& set);
void complement(Relation& out, const Relation& relation);

// out must be neither argument.
void compose(Relation& out, const Relation& first, const Relation& second);

// out must not be the argument.
void invert(Relation& out, const Relation& relation);

void reflexive_closure(Relation& out, const Relation& relation);
void transitive_closure(Relation& out, const Relation& relation);
void reflexive_transitive_closure(Relation& out, const Relation& relation);

// {(e, e) | e in set}
void identity_on(Relation& out, const EventSet& set);

// from × to
void cross(Relation& out, const EventSet& from, const EventSet& to);

void domain(EventSet& out, const Relation& relation);
void range(EventSet& out, const Relation& relation);

bool is_irreflexive(const Relation& relation);

// Memory for the search of is_acyclic, kept by callers that must not allocate.
struct PathScratch {
  std::vector<std::size_t> path;
  EventSet unvisited;
  EventSet on_path;
};

bool is_acyclic(const Relation& relation, PathScratch& scratch);
bool is_acyclic(const Relation& relation);

}  // namespace dekker
