// A compiled model over an execution that grows and shrinks at its end, for engines that commit one event after another
// and backtrack.
//
// Usage: push an event, insert the base sets and relations it takes part in, ask; pop to go back. What a push does not
// change is not computed again. Nothing is allocated once every base name that occurs has been seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dekker/bits.hpp"
#include "dekker/model_program.hpp"

namespace dekker {

class CapacityExceeded : public std::length_error {
 public:
  using std::length_error::length_error;
};

// The base sets and relations of an execution, event by event: event e adds pairs between e and events up to e.
class ExecutionInputs {
 public:
  ExecutionInputs(const std::vector<Input>& inputs, std::size_t words_per_row);

  std::size_t n_events() const { return n_events_; }
  std::size_t stride() const { return stride_; }
  std::size_t capacity() const { return words_ * word_bits; }

  void push_event();
  void pop_to(std::size_t n_events);

  void insert_member(std::size_t input) {
    note_use(input);
    const std::size_t newest = n_events_ - 1;
    sets_[places_[input] + newest / word_bits] |= bit(newest);
  }

  void insert_pair(std::size_t input, std::size_t from, std::size_t to) {
    note_use(input);
    Word* const border = newest_border(input);
    if (from == n_events_ - 1)
      border[to / word_bits] |= bit(to);
    else
      border[newest_words_ + from / word_bits] |= bit(from);
  }

  void insert_successors(std::size_t input, std::span<const Word> targets) {
    Word* const successors = newest_border(input);
    if (insert_words(successors, targets)) note_use(input);
  }

  void insert_predecessors(std::size_t input, std::span<const Word> sources) {
    const std::size_t newest = n_events_ - 1;
    Word* const successors = newest_border(input);
    Word* const predecessors = successors + newest_words_;
    if (!insert_words(predecessors, sources)) return;
    note_use(input);
    // The pair of the newest event with itself is kept with the successors.
    const Word self = predecessors[newest / word_bits] & bit(newest);
    successors[newest / word_bits] |= self;
    predecessors[newest / word_bits] ^= self;
  }

  // The event's successors up to itself, followed by its predecessors before itself; border_words() each.
  const Word* border(std::size_t input, std::size_t event) const {
    return borders(event) + place(input) * border_words(event);
  }
  const Word* borders(std::size_t event) const { return borders_.get() + borders_before(event); }
  std::size_t place(std::size_t input) const { return places_[input]; }
  std::size_t border_words(std::size_t event) const { return is_tight_ ? event / word_bits + 1 : stride_; }

  // stride() words; bits from n_events() on are meaningless.
  const Word* members(std::size_t input) const { return sets_.data() + places_[input]; }

  // Whether something was ever inserted, popped executions included.
  bool was_used(std::size_t input) const { return used_[input] != 0; }

  // Whether some input was used for the first time since the last call.
  bool take_first_use() {
    const bool taken = has_first_use_;
    has_first_use_ = false;
    return taken;
  }

 private:
  Word* newest_border(std::size_t input) { return newest_ + places_[input] * newest_words_; }

  // Returns whether there were any. No event is newer than the newest.
  bool insert_words(Word* row, std::span<const Word> events) const {
    if (events.size() == 1) [[likely]] {
      row[0] |= events[0];
      return events[0] != 0;
    }
    Word any = 0;
    const std::size_t n_words = std::min(events.size(), newest_words_);
    for (std::size_t i = 0; i < n_words; ++i) {
      row[i] |= events[i];
      any |= events[i];
    }
    return any != 0;
  }

  // The words of all events before this one.
  std::size_t borders_before(std::size_t event) const {
    if (!is_tight_) return event * n_borders_ * stride_;
    const std::size_t full = event / word_bits;
    return n_borders_ * (word_bits * full * (full + 1) / 2 + event % word_bits * (full + 1));
  }

  void note_use(std::size_t input) {
    if (used_[input] == 0) has_first_use_ = true;
    used_[input] = 1;
  }

  struct Free {
    void operator()(Word* words) const { std::free(words); }
  };

  std::size_t words_;   // in the rows that callers pass
  std::size_t stride_;  // words of a stored row
  bool is_tight_;       // rows of events have no more words than they need
  std::size_t n_events_ = 0;
  std::size_t n_borders_ = 0;        // two for each relation
  std::vector<std::size_t> places_;  // where the input begins: in sets_, or which border of an event it is
  std::unique_ptr<Word[], Free> borders_;  // which takes memory as it is used
  Word* newest_ = nullptr;  // in borders_
  std::size_t newest_words_ = 0;
  std::vector<Word> sets_;
  std::vector<unsigned char> used_;
  bool has_first_use_ = false;
};

class IncrementalModel {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  // For up to 64 * words_per_row events; at most 512 words and 64 checks, else std::invalid_argument is thrown. The
  // program must be valid and outlive the object. The first `n_trials` events show what is used; the rest goes faster.
  IncrementalModel(const ModelProgram& program, std::size_t words_per_row, std::size_t n_trials = 64);
  IncrementalModel(IncrementalModel&&) noexcept;
  IncrementalModel& operator=(IncrementalModel&&) noexcept;
  ~IncrementalModel();

  std::size_t n_events() const { return inputs_->n_events(); }
  std::size_t capacity() const { return inputs_->capacity(); }

  // npos if the model does not use this base name.
  std::size_t input_index(std::string_view name) const;

  // Adds the event n_events(); every insertion until the next push must involve it. Throws CapacityExceeded.
  void push_event() { inputs_->push_event(); }

  // `event` must be the newest.
  void insert_member(std::size_t input, [[maybe_unused]] std::size_t event) { inputs_->insert_member(input); }
  void insert_pair(std::size_t input, std::size_t from, std::size_t to) { inputs_->insert_pair(input, from, to); }

  // From and to the newest event, with no bit beyond it; words that are not there are 0.
  void insert_successors(std::size_t input, std::span<const Word> targets) { inputs_->insert_successors(input, targets); }
  void insert_predecessors(std::size_t input, std::span<const Word> sources) { inputs_->insert_predecessors(input, sources); }

  // Do all checks hold that are neither flags nor in `skipped`, a mask over ModelProgram::checks? After false, pop.
  bool is_allowed(Word skipped = 0);

  // The flags that hold, as a mask over ModelProgram::checks.
  Word raised_flags();

  // Removes all but the first n_events events.
  void pop_to(std::size_t n_events);

 private:
  class Core;
  template <std::size_t W>
  class Engine;

  std::vector<std::string> names_;
  std::unique_ptr<ExecutionInputs> inputs_;
  std::unique_ptr<Core> core_;
};

}  // namespace dekker
