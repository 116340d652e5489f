// Runs a plan event by event.
//
// Borders live only while their event is being added. What must be known later is stored as a matrix by rows and by
// columns, in which bit j of row i and bit i of column j always agree, even for events that have been popped: popping
// leaves borders behind, and adding the next event at their place replaces them. So only changes of interiors need a
// log to be undone. Bits beyond the newest event are meaningless and must be masked.
//
// Changes of interiors are passed on within one event: `dirty` has the older events whose rows change (or the members
// of a set that do), and for relations that only grow, `news` has at least the new pairs of such a row and at most all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dekker/bits.hpp"
#include "dekker/incremental_model.hpp"
#include "incremental/plan.hpp"
#include "incremental/rows.hpp"
#include "incremental/zeroed_array.hpp"

namespace dekker::incremental {

enum class Outcome : std::uint8_t { holds, fails, surprise };

template <std::size_t W>
class Propagation {
 public:
  explicit Propagation(const ExecutionInputs& inputs)
      : inputs_(inputs), marks_(capacity + 1, 0), path_(capacity, 0) {}

  // Starts again, without events. The plan must outlive its use.
  void adopt(const Plan& plan);

  std::size_t n_events() const { return n_events_; }

  // Adds the next event of the inputs and decides the checks that are not skipped. `known` are those that hold without
  // it; afterwards, with it. Unless `is_last`, only a check that can never hold again fails. If the outcome is not
  // `holds`, the event has not been added.
  Outcome add_event(bool is_last, Word skipped, Word& known);

  void undo_to(std::size_t n_events);

  // What the plan assumed to be empty, after a surprise.
  NodeId surprising_node() const { return surprise_; }

  // Whether the newest event changed the relation, or the set is not empty.
  bool has_changed(PlanSlot slot, Kind kind) const {
    if (dirty_[slot].any()) return true;
    return kind == Kind::set ? sets_[slot].any() : borders_[slot].any();
  }

  // Of what has been added so far.
  bool holds(const PlannedCheck& check) const { return holds_in_full(check, Bits::below(n_events_)); }

 private:
  using Bits = Row<W>;
  static constexpr std::size_t capacity = W * word_bits;
  // Keeps the same row of different matrices apart in the cache.
  static constexpr std::size_t padding = 4;

  struct Border {
    Bits down;  // successors of the newest event, itself included
    Bits up;    // predecessors among older events

    bool any() const { return (down | up).any(); }

    Border& operator|=(const Border& other) {
      down |= other.down;
      up |= other.up;
      return *this;
    }

    friend bool operator==(const Border& left, const Border& right) {
      return !((left.down ^ right.down) | (left.up ^ right.up)).any();
    }
  };

  // Of an event in a relation that is stored.
  struct Cell {
    Bits row;
    Bits column;
  };

  // The rows and columns of a matrix that have ever had a pair: the others need not be looked at.
  struct Occupied {
    Bits rows;
    Bits columns;
  };

  struct Undo {
    Word* where;
    Word delta;
  };

  void clear_rows();
  void load_inputs();
  Outcome run_plan(bool is_last, Word skipped, Word& known);
  [[gnu::always_inline]] inline void run(const Instruction& i);
  void run_group(const Group& group);
  void run_changing_group(const Group& group);
  Word affected(const Group& group) const;
  void store(PlanSlot slot, std::uint8_t duties);
  void assign_set(const Instruction& i, const Bits& value);

  [[gnu::always_inline]] inline Border composed(const Instruction& i);
  void close(const Instruction& i);
  void close_again(const Instruction& i);
  void project_domain(const Instruction& i);
  void project_range(const Instruction& i);

  void grow_interior(const Instruction& i);
  void grow_composition(const Instruction& i);
  void grow_restriction(const Instruction& i);
  void grow_product(PlanSlot slot, const Bits& from, const Bits& to);

  void compare_interior(const Instruction& i);
  void compare_composition(const Instruction& i);
  void compare_union(const Instruction& i, std::span<const PlanSlot> members);
  void compare_inverse(const Instruction& i);

  bool decide(const Instruction& i) const;
  bool holds_in_full(const PlannedCheck& check, const Bits& events) const;
  bool closes_no_cycle(PlanSlot slot) const;
  bool has_cycle(const Cell* cells, const Bits& starts, const Bits& events) const;
  bool has_no_loop(PlanSlot slot) const;
  bool has_no_return(PlanSlot a, PlanSlot b) const;
  bool has_no_pair(PlanSlot slot) const;

  std::span<const PlanSlot> members_of(const Instruction& i) const { return {plan_->members.data() + i.a, i.b}; }

  // ---- Interiors ----------------------------------------------------------------------------------------------------

  bool has_duty(PlanSlot slot, Duty duty) const { return (plan_->duties[slot] & duty) != 0; }

  Bits old_row(PlanSlot slot, std::size_t k) const { return cells_[slot][k].row & below_; }

  // Of a row that is dirty.
  Bits new_pairs(PlanSlot slot, std::size_t k) const {
    return has_duty(slot, grow) ? news_[slot][k] : old_row(slot, k);
  }

  // What may differ from before.
  Bits changed(PlanSlot slot) const { return is_restarting_ ? below_ : dirty_[slot]; }

  template <class Value>
  void set_rows(PlanSlot slot, const Bits& which, Value value) {
    (which & below_).for_each([&](std::size_t k) { set_row(slot, k, value(k) & below_); });
  }

  void set_row(PlanSlot slot, std::size_t k, const Bits& value) {
    const Bits old = old_row(slot, k);
    if (old == value) return;
    if ((old - value).any()) shrunk_[slot] = 1;
    change_row(slot, k, old ^ value);
    mark_dirty(slot, Bits::single(k));
  }

  void grow_row(PlanSlot slot, std::size_t k, const Bits& pairs) {
    const bool is_stored = has_duty(slot, keep_rows);
    const bool is_first = !dirty_[slot].test(k);
    Bits fresh = pairs;
    if (is_stored)
      fresh -= cells_[slot][k].row;
    else if (!is_first)
      fresh -= news_[slot][k];
    if (!fresh.any()) return;
    if (is_stored) change_row(slot, k, fresh);
    if (has_duty(slot, grow)) news_[slot][k] = is_first ? fresh : news_[slot][k] | fresh;
    mark_dirty(slot, Bits::single(k));
  }

  void change_row(PlanSlot slot, std::size_t k, const Bits& delta) {
    occupied_[slot].rows.set(k);
    occupied_[slot].columns |= delta;
    change(cells_[slot][k].row, delta);
    if (has_duty(slot, keep_columns))
      delta.for_each([&](std::size_t j) { change(cells_[slot][j].column.words[k / word_bits], bit(k)); });
  }

  void mark_dirty(PlanSlot slot, const Bits& which) {
    if (!dirty_[slot].any()) touched_.push_back(slot);
    dirty_[slot] |= which;
    ++n_changes_;
  }

  void change(Bits& row, const Bits& delta) {
    for (std::size_t w = 0; w < W; ++w)
      if (W == 1 || delta.words[w] != 0) change(row.words[w], delta.words[w]);
  }

  void change(Word& word, Word delta) {
    word ^= delta;
    log_.push_back({&word, delta});
  }

  const ExecutionInputs& inputs_;
  const Plan* plan_ = nullptr;
  std::size_t n_events_ = 0;
  std::size_t most_events_ = 0;  // since rows were cleared

  // The event being added, and masks.
  std::size_t event_ = 0;
  Bits below_{};
  Bits self_{};
  Bits up_to_{};

  // By slot.
  std::vector<Border> borders_;
  std::vector<Bits> sets_;
  std::vector<Bits> dirty_;
  std::vector<unsigned char> shrunk_;
  std::vector<Cell*> cells_;
  std::vector<Occupied> occupied_;
  std::vector<Bits*> news_;

  ZeroedArray<Cell> all_cells_;
  ZeroedArray<Bits> all_news_;
  std::vector<PlanSlot> touched_;  // slots that are dirty
  std::size_t n_changes_ = 0;
  bool is_restarting_ = false;
  NodeId surprise_ = 0;

  std::vector<Undo> log_;
  std::vector<std::size_t> marks_;  // length of the log before each event
  std::vector<Bits> scratch_;
  mutable std::vector<std::size_t> path_;
};

// ---- Events ---------------------------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::adopt(const Plan& plan) {
  clear_rows();
  plan_ = &plan;
  n_events_ = 0;
  log_.clear();
  touched_.clear();
  touched_.reserve(plan.n_slots);
  borders_.assign(plan.n_slots, Border{});
  sets_.assign(plan.n_slots, Bits::none());
  dirty_.assign(plan.n_slots, Bits::none());
  shrunk_.assign(plan.n_slots, 0);
  cells_.assign(plan.n_slots, nullptr);
  occupied_.assign(plan.n_slots, Occupied{});
  news_.assign(plan.n_slots, nullptr);
  std::size_t n_cells = 0;
  std::size_t n_news = 0;
  for (PlanSlot slot = 0; slot < plan.n_slots; ++slot) {
    if (has_duty(slot, keep_rows) || has_duty(slot, keep_columns)) n_cells += capacity + padding;
    if (has_duty(slot, grow)) n_news += capacity + padding;
  }
  Cell* cells = all_cells_.assign(n_cells);
  Bits* news = all_news_.assign(n_news);
  for (PlanSlot slot = 0; slot < plan.n_slots; ++slot) {
    if (has_duty(slot, keep_rows) || has_duty(slot, keep_columns)) {
      cells_[slot] = cells;
      cells += capacity + padding;
    }
    if (has_duty(slot, grow)) {
      news_[slot] = news;
      news += capacity + padding;
    }
  }
}

// Those of events that there never were are zero.
template <std::size_t W>
void Propagation<W>::clear_rows() {
  for (Cell* const cells : cells_)
    if (cells != nullptr) std::fill_n(cells, most_events_, Cell{});
  for (Bits* const news : news_)
    if (news != nullptr) std::fill_n(news, most_events_, Bits::none());
  most_events_ = 0;
}

template <std::size_t W>
Outcome Propagation<W>::add_event(bool is_last, Word skipped, Word& known) {
  event_ = n_events_;
  below_ = Bits::below(event_);
  self_ = Bits::single(event_);
  up_to_ = below_ | self_;
  marks_[event_] = log_.size();
  for (const PlanSlot slot : touched_) {
    dirty_[slot] = Bits::none();
    shrunk_[slot] = 0;
  }
  touched_.clear();
  load_inputs();
  const Outcome outcome = run_plan(is_last, skipped, known);
  ++n_events_;
  most_events_ = std::max(most_events_, n_events_);
  if (outcome != Outcome::holds) undo_to(event_);
  return outcome;
}

template <std::size_t W>
void Propagation<W>::undo_to(std::size_t n_events) {
  if (n_events >= n_events_) return;
  n_events_ = n_events;
  for (std::size_t i = log_.size(); i > marks_[n_events]; --i) *log_[i - 1].where ^= log_[i - 1].delta;
  log_.resize(marks_[n_events]);
}

template <std::size_t W>
void Propagation<W>::load_inputs() {
  for (const Load& load : plan_->set_loads) sets_[load.slot] = Bits::read(inputs_.members(load.input), W) & up_to_;
  const std::size_t n_words = W <= 16 ? W : inputs_.border_words(event_);
  const Word* const borders = inputs_.borders(event_);
  for (const Load& load : plan_->relation_loads) {
    const Word* const words = borders + inputs_.place(load.input) * n_words;
    borders_[load.slot] = {Bits::read(words, n_words), Bits::read(words + n_words, n_words)};
    if (load.duties != 0) store(load.slot, load.duties);
  }
}

template <std::size_t W>
Outcome Propagation<W>::run_plan(bool is_last, Word skipped, Word& known) {
  const Word known_before = known;
  known = plan_->settled;
  for (const Instruction& i : plan_->instructions) {
    if (i.code < Code::group) {
      run(i);
      const Kind kind = i.code >= Code::set_unite ? Kind::set : Kind::relation;
      if ((i.duties & watch) == 0 || !has_changed(i.out, kind)) continue;
      surprise_ = plan_->nodes[i.out];
      return Outcome::surprise;
    }
    if (i.code == Code::group) {
      run_group(plan_->groups[i.a]);
      continue;
    }
    if ((skipped & bit(i.out)) != 0) continue;
    const PlannedCheck& check = plan_->checks[i.out];
    const bool is_known = (known_before & bit(i.out)) != 0 && i.code != Code::check_in_full;
    if (!is_known && !(check.can_look && (is_last || check.is_persistent))) continue;
    if (is_known ? decide(i) : holds_in_full(check, up_to_))
      known |= check.settles;
    else if (is_last || check.is_persistent)
      return Outcome::fails;
  }
  return Outcome::holds;
}

template <std::size_t W>
void Propagation<W>::store(PlanSlot slot, std::uint8_t duties) {
  const Border& border = borders_[slot];
  Cell* const cells = cells_[slot];
  Cell& own = cells[event_];
  const Bits from = (own.column & below_) ^ border.up;
  const Bits to = (own.row & up_to_) ^ border.down;
  if (!(from | to).any()) return;
  const std::size_t word = W == 1 ? 0 : event_ / word_bits;
  if ((duties & keep_rows) != 0) from.for_each([&](std::size_t k) { cells[k].row.words[word] ^= bit(event_); });
  if ((duties & keep_columns) != 0)
    (to & below_).for_each([&](std::size_t k) { cells[k].column.words[word] ^= bit(event_); });
  own.row ^= to;
  own.column ^= from | (to & self_);
  Occupied& occupied = occupied_[slot];
  occupied.rows |= border.up;
  occupied.columns |= border.down;
  if (border.down.any()) occupied.rows |= self_;
  if (border.up.any()) occupied.columns |= self_;
}

template <std::size_t W>
void Propagation<W>::assign_set(const Instruction& i, const Bits& value) {
  Bits& set = sets_[i.out];
  if (set == value) return;
  ++n_changes_;
  if ((i.duties & (grow | compare)) != 0) {
    const Bits delta = (set ^ value) & below_;
    if (delta.any()) {
      if ((delta & set).any()) shrunk_[i.out] = 1;
      change(set, delta);
      mark_dirty(i.out, delta);
    }
  }
  set = value;
}

// ---- Operations -----------------------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::run(const Instruction& i) {
  Border& out = borders_[i.out];
  const auto border = [&](PlanSlot slot) -> const Border& { return borders_[slot]; };
  const auto set = [&](PlanSlot slot) -> const Bits& { return sets_[slot]; };
  const auto if_in = [&](PlanSlot slot, const Bits& value) { return sets_[slot].test(event_) ? value : Bits::none(); };
  switch (i.code) {
    case Code::unite: out = {border(i.a).down | border(i.b).down, border(i.a).up | border(i.b).up}; break;
    case Code::unite_all: {
      Border sum{};
      for (const PlanSlot member : members_of(i)) sum |= border(member);
      out = sum;
      break;
    }
    case Code::intersect: out = {border(i.a).down & border(i.b).down, border(i.a).up & border(i.b).up}; break;
    case Code::subtract: out = {border(i.a).down - border(i.b).down, border(i.a).up - border(i.b).up}; break;
    case Code::restrict:
      out = {if_in(i.b, border(i.a).down & set(i.c)), if_in(i.c, border(i.a).up & set(i.b))};
      break;
    case Code::complement: out = {up_to_ - border(i.a).down, below_ - border(i.a).up}; break;
    case Code::invert: out = {border(i.a).up | (border(i.a).down & self_), border(i.a).down & below_}; break;
    case Code::full: out = {up_to_, below_}; break;
    case Code::identity: out = {self_, Bits::none()}; break;
    case Code::identity_on: out = {if_in(i.a, self_), Bits::none()}; break;
    case Code::cross: out = {if_in(i.a, set(i.b)), if_in(i.b, set(i.a) & below_)}; break;
    case Code::compose: out = composed(i); break;
    case Code::absorb:
      for (const PlanSlot member : members_of(i)) out |= border(member);
      break;
    case Code::absorb_composition: out |= composed(i); break;
    case Code::closure:
    case Code::reflexive_closure: close(i); break;
    case Code::set_unite: return assign_set(i, set(i.a) | set(i.b));
    case Code::set_intersect: return assign_set(i, set(i.a) & set(i.b));
    case Code::set_subtract: return assign_set(i, set(i.a) - set(i.b));
    case Code::set_complement: return assign_set(i, up_to_ - set(i.a));
    case Code::full_set: return assign_set(i, up_to_);
    case Code::domain: return project_domain(i);
    case Code::range: return project_range(i);
    default: return;
  }
  // Interiors change only with others, apart from the new pairs of compositions and closures that are seen to there.
  if ((i.duties & grow) != 0 && !touched_.empty()) grow_interior(i);
  if ((i.duties & compare) != 0) compare_interior(i);
  if ((i.duties & (keep_rows | keep_columns)) != 0) store(i.out, i.duties);
}

// The border; also connects older events through the newest.
template <std::size_t W>
typename Propagation<W>::Border Propagation<W>::composed(const Instruction& i) {
  const Border& a = borders_[i.a];
  const Border& b = borders_[i.b];
  const Cell* const first = cells_[i.a];
  const Cell* const second = cells_[i.b];
  Border out{};
  (a.down & below_ & occupied_[i.b].rows).for_each([&](std::size_t k) { out.down |= second[k].row; });
  (b.up & occupied_[i.a].columns).for_each([&](std::size_t k) { out.up |= first[k].column; });
  out.down &= below_;
  out.up &= below_;
  if ((a.down & b.up).any()) out.down |= self_;
  if (a.down.test(event_)) out.down |= b.down;
  if (b.down.test(event_)) out.up |= a.up;
  if ((i.duties & grow) != 0 && a.up.any() && (b.down & below_).any()) grow_product(i.out, a.up, b.down & below_);
  return out;
}

// r+ or r*: paths that end in the newest event, paths that start there, and both in a row.
template <std::size_t W>
void Propagation<W>::close(const Instruction& i) {
  if (shrunk_[i.a] != 0 || is_restarting_) return close_again(i);
  const Cell* const cells = cells_[i.out];
  // What is on a path already followed need not be followed again. Later events tend to be later on paths.
  const auto follow = [&](Bits Cell::*next, const Bits& start) {
    Bits reached = start;
    for (Bits rest = start; rest.any();) {
      const std::size_t k = rest.highest();
      reached |= cells[k].*next;
      rest -= cells[k].*next;
      rest.clear(k);
    }
    return reached & below_;
  };
  changed(i.a).for_each([&](std::size_t from) {
    const Bits reached = follow(&Cell::row, new_pairs(i.a, from));
    if (!(reached - cells[from].row).any()) return;
    grow_product(i.out, (cells[from].column & below_) | Bits::single(from), reached);
  });
  const Border& a = borders_[i.a];
  const Bits after = follow(&Cell::row, a.down & below_);
  const Bits before = follow(&Cell::column, a.up);
  const bool has_loop = i.code == Code::reflexive_closure || a.down.test(event_) || (after & a.up).any();
  borders_[i.out] = {has_loop ? after | self_ : after, before};
  if (after.any()) grow_product(i.out, before, after);
}

template <std::size_t W>
void Propagation<W>::close_again(const Instruction& i) {
  scratch_.resize(std::max(scratch_.size(), event_ + 1));
  for (std::size_t from = 0; from <= event_; ++from) scratch_[from] = cells_[i.a][from].row & up_to_;
  for (std::size_t k = 0; k <= event_; ++k)
    for (std::size_t from = 0; from <= event_; ++from)
      if (scratch_[from].test(k)) scratch_[from] |= scratch_[k];
  if (i.code == Code::reflexive_closure)
    for (std::size_t k = 0; k <= event_; ++k) scratch_[k].set(k);
  Border out{scratch_[event_], Bits::none()};
  for (std::size_t from = 0; from < event_; ++from)
    if (scratch_[from].test(event_)) out.up.set(from);
  borders_[i.out] = out;
  set_rows(i.out, below_, [&](std::size_t from) { return scratch_[from]; });
}

template <std::size_t W>
void Propagation<W>::project_domain(const Instruction& i) {
  const Border& a = borders_[i.a];
  Bits value = (sets_[i.out] & below_) | a.up;
  if ((i.duties & compare) == 0)
    value |= dirty_[i.a];
  else
    changed(i.a).for_each([&](std::size_t from) {
      value.clear(from);
      if ((cells_[i.a][from].row & up_to_).any()) value.set(from);
    });
  if (a.down.any()) value |= self_;
  assign_set(i, value);
}

template <std::size_t W>
void Propagation<W>::project_range(const Instruction& i) {
  const Border& a = borders_[i.a];
  Bits value = (sets_[i.out] & below_) | a.down;
  if ((i.duties & compare) == 0) {
    dirty_[i.a].for_each([&](std::size_t from) { value |= new_pairs(i.a, from); });
  } else if (changed(i.a).any()) {
    value = a.down;
    for (std::size_t from = 0; from < event_; ++from) value |= old_row(i.a, from);
  }
  if (a.up.any()) value |= self_;
  assign_set(i, value);
}

// ---- Interiors that only grow ---------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::grow_interior(const Instruction& i) {
  // What is new in a relation, after a cut.
  const auto pass_on = [&](PlanSlot from, auto cut) {
    dirty_[from].for_each([&](std::size_t k) { grow_row(i.out, k, cut(k, news_[from][k])); });
  };
  const auto uncut = [](std::size_t, const Bits& pairs) { return pairs; };
  switch (i.code) {
    case Code::unite:
      pass_on(i.a, uncut);
      return pass_on(i.b, uncut);
    case Code::unite_all:
    case Code::absorb:
      for (const PlanSlot member : members_of(i)) pass_on(member, uncut);
      return;
    case Code::intersect:
      pass_on(i.a, [&](std::size_t k, const Bits& pairs) { return pairs & cells_[i.b][k].row; });
      return pass_on(i.b, [&](std::size_t k, const Bits& pairs) { return pairs & cells_[i.a][k].row; });
    case Code::subtract:
      return pass_on(i.a, [&](std::size_t k, const Bits& pairs) { return pairs - cells_[i.b][k].row; });
    case Code::restrict: return grow_restriction(i);
    case Code::invert:
      return dirty_[i.a].for_each([&](std::size_t k) { grow_product(i.out, news_[i.a][k], Bits::single(k)); });
    case Code::identity_on:
      return dirty_[i.a].for_each([&](std::size_t k) { grow_row(i.out, k, Bits::single(k)); });
    case Code::cross:
      grow_product(i.out, dirty_[i.a], sets_[i.b] & below_);
      if (dirty_[i.b].any()) grow_product(i.out, sets_[i.a] & below_, dirty_[i.b]);
      return;
    case Code::compose:
    case Code::absorb_composition: return grow_composition(i);
    default: return;
  }
}

template <std::size_t W>
void Propagation<W>::grow_composition(const Instruction& i) {
  dirty_[i.a].for_each([&](std::size_t k) {
    Bits reached = Bits::none();
    news_[i.a][k].for_each([&](std::size_t middle) { reached |= cells_[i.b][middle].row; });
    grow_row(i.out, k, reached & below_);
  });
  dirty_[i.b].for_each([&](std::size_t k) { grow_product(i.out, cells_[i.a][k].column & below_, news_[i.b][k]); });
}

template <std::size_t W>
void Propagation<W>::grow_restriction(const Instruction& i) {
  const Bits& from = sets_[i.b];
  const Bits& to = sets_[i.c];
  (dirty_[i.a] & from).for_each([&](std::size_t k) { grow_row(i.out, k, news_[i.a][k] & to); });
  dirty_[i.b].for_each([&](std::size_t k) { grow_row(i.out, k, old_row(i.a, k) & to); });
  if (dirty_[i.c].any())
    (from & below_).for_each([&](std::size_t k) { grow_row(i.out, k, old_row(i.a, k) & dirty_[i.c]); });
}

template <std::size_t W>
void Propagation<W>::grow_product(PlanSlot slot, const Bits& from, const Bits& to) {
  from.for_each([&](std::size_t k) { grow_row(slot, k, to); });
}

// ---- Interiors that may shrink --------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::compare_interior(const Instruction& i) {
  const auto row = [&](PlanSlot slot, std::size_t k) { return cells_[slot][k].row; };
  const auto set = [&](PlanSlot slot) -> const Bits& { return sets_[slot]; };
  // Rows of a product that change with its factors.
  const auto product_changes = [&](PlanSlot from, PlanSlot to) {
    return changed(to).any() ? changed(from) | set(from) : changed(from);
  };
  const auto if_in = [&](PlanSlot slot, std::size_t k, const Bits& value) {
    return sets_[slot].test(k) ? value : Bits::none();
  };
  switch (i.code) {
    case Code::unite: {
      const PlanSlot members[] = {i.a, i.b};
      return compare_union(i, members);
    }
    case Code::unite_all: return compare_union(i, members_of(i));
    case Code::intersect:
      return set_rows(i.out, changed(i.a) | changed(i.b), [&](std::size_t k) { return row(i.a, k) & row(i.b, k); });
    case Code::subtract:
      return set_rows(i.out, changed(i.a) | changed(i.b), [&](std::size_t k) { return row(i.a, k) - row(i.b, k); });
    case Code::restrict:
      return set_rows(i.out, changed(i.a) | product_changes(i.b, i.c),
                      [&](std::size_t k) { return if_in(i.b, k, row(i.a, k) & set(i.c)); });
    case Code::complement: return set_rows(i.out, changed(i.a), [&](std::size_t k) { return below_ - row(i.a, k); });
    case Code::invert: return compare_inverse(i);
    case Code::identity_on:
      return set_rows(i.out, changed(i.a), [&](std::size_t k) { return if_in(i.a, k, Bits::single(k)); });
    case Code::cross:
      return set_rows(i.out, product_changes(i.a, i.b), [&](std::size_t k) { return if_in(i.a, k, set(i.b)); });
    case Code::compose: return compare_composition(i);
    default: return;
  }
}

template <std::size_t W>
void Propagation<W>::compare_composition(const Instruction& i) {
  Bits which = changed(i.a);
  changed(i.b).for_each([&](std::size_t k) { which |= cells_[i.a][k].column; });
  if ((borders_[i.b].down & below_).any()) which |= borders_[i.a].up;
  set_rows(i.out, which, [&](std::size_t k) {
    Bits reached = Bits::none();
    (cells_[i.a][k].row & up_to_).for_each([&](std::size_t middle) { reached |= cells_[i.b][middle].row; });
    return reached;
  });
}

template <std::size_t W>
void Propagation<W>::compare_union(const Instruction& i, std::span<const PlanSlot> members) {
  Bits which = Bits::none();
  for (const PlanSlot member : members) which |= changed(member);
  set_rows(i.out, which, [&](std::size_t k) {
    Bits sum = Bits::none();
    for (const PlanSlot member : members) sum |= cells_[member][k].row;
    return sum;
  });
}

template <std::size_t W>
void Propagation<W>::compare_inverse(const Instruction& i) {
  changed(i.a).for_each([&](std::size_t k) {
    const Bits old = cells_[i.out][k].column & below_;
    const Bits value = old_row(i.a, k);
    if ((old - value).any()) shrunk_[i.out] = 1;
    (old ^ value).for_each([&](std::size_t j) {
      change_row(i.out, j, Bits::single(k));
      mark_dirty(i.out, Bits::single(j));
    });
  });
}

// ---- Recursion ------------------------------------------------------------------------------------------------------

// The instructions that something outside the group, or the newest event by itself, sets going.
template <std::size_t W>
Word Propagation<W>::affected(const Group& group) const {
  Word result = group.starters;
  for (const Group::External& external : group.externals)
    if (has_changed(external.slot, external.kind)) result |= external.users;
  return result;
}

// All but the newest event's part is the least solution so far. If nothing outside shrinks, it is part of the new one.
template <std::size_t W>
void Propagation<W>::run_group(const Group& group) {
  if (group.may_shrink) return run_changing_group(group);
  const Instruction* const instructions = plan_->group_instructions.data() + group.first;
  for (const PlanSlot slot : group.slots) {
    borders_[slot] = Border{};
    sets_[slot] &= below_;
  }
  for (Word todo = affected(group); todo != 0;) {
    const std::size_t next = lowest_bit(todo);
    todo &= todo - 1;
    const Instruction& i = instructions[next];
    const Border border = borders_[i.out];
    const std::size_t n_changes = n_changes_;
    run(i);
    if (border != borders_[i.out] || n_changes != n_changes_) todo |= group.users[next];
  }
  for (const PlanSlot slot : group.slots)
    if (cells_[slot] != nullptr) store(slot, plan_->duties[slot]);
}

template <std::size_t W>
void Propagation<W>::run_changing_group(const Group& group) {
  const Instruction* const instructions = plan_->group_instructions.data() + group.first;
  for (const Group::External& external : group.externals)
    if (external.is_reversed ? dirty_[external.slot].any() : shrunk_[external.slot] != 0) is_restarting_ = true;
  Word todo = is_restarting_ ? ~Word{0} >> (word_bits - group.size) : affected(group);
  for (std::size_t k = 0; k < group.size; ++k) {
    const Instruction& i = instructions[k];
    if (i.code >= Code::set_unite) {
      assign_set(i, is_restarting_ ? Bits::none() : sets_[i.out] & below_);
      continue;
    }
    borders_[i.out] = Border{};
    store(i.out, i.duties);
    if (is_restarting_) set_rows(i.out, below_, [](std::size_t) { return Bits::none(); });
  }
  while (todo != 0) {
    const std::size_t next = lowest_bit(todo);
    todo &= todo - 1;
    const Instruction& i = instructions[next];
    const Border border = borders_[i.out];
    const std::size_t n_changes = n_changes_;
    run(i);
    if (border != borders_[i.out] || n_changes != n_changes_) todo |= group.users[next];
  }
  is_restarting_ = false;
}

// ---- Checks ---------------------------------------------------------------------------------------------------------

// The check held before the event.
template <std::size_t W>
bool Propagation<W>::decide(const Instruction& i) const {
  switch (i.code) {
    case Code::check_acyclic: return closes_no_cycle(i.a);
    case Code::check_irreflexive: return has_no_loop(i.a);
    case Code::check_no_return: return has_no_return(i.a, i.b);
    case Code::check_empty: return has_no_pair(i.a);
    default: return !sets_[i.a].any();
  }
}

// A new cycle has a new pair: it goes through the newest event or starts in a row that changed.
template <std::size_t W>
bool Propagation<W>::closes_no_cycle(PlanSlot slot) const {
  const Border& border = borders_[slot];
  const Cell* const cells = cells_[slot];
  if (dirty_[slot].any()) return !has_cycle(cells, dirty_[slot] | self_, up_to_);
  if (border.down.test(event_) || (border.down & border.up).any()) return false;
  if (!border.up.any()) return true;
  Bits reached = border.down;
  for (Bits rest = border.down; rest.any();) {
    const std::size_t k = rest.highest();
    rest.clear(k);
    const Bits next = (cells[k].row & below_) - reached;
    if ((next & border.up).any()) return false;
    reached |= next;
    rest |= next;
  }
  return true;
}

// By depth-first search: a pair back to the current path is seen on entering its first event.
template <std::size_t W>
bool Propagation<W>::has_cycle(const Cell* cells, const Bits& starts, const Bits& events) const {
  Bits unvisited = events;
  Bits on_path = Bits::none();
  for (Bits rest = starts & unvisited; rest.any(); rest = starts & unvisited) {
    std::size_t depth = 0;
    Bits next = rest;
    while (true) {
      if (next.any()) {
        const std::size_t event = next.highest();
        unvisited.clear(event);
        on_path.set(event);
        if ((cells[event].row & on_path).any()) return true;
        path_[depth++] = event;
      } else {
        on_path.clear(path_[--depth]);
        if (depth == 0) break;
      }
      next = cells[path_[depth - 1]].row & unvisited;
    }
  }
  return false;
}

template <std::size_t W>
bool Propagation<W>::has_no_loop(PlanSlot slot) const {
  bool found = borders_[slot].down.test(event_);
  dirty_[slot].for_each([&](std::size_t k) { found = found || new_pairs(slot, k).test(k); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::has_no_return(PlanSlot a, PlanSlot b) const {
  const Border& first = borders_[a];
  const Border& second = borders_[b];
  if ((first.down & second.up).any() || (first.up & second.down).any() || (first.down & second.down & self_).any())
    return false;
  bool found = false;
  dirty_[a].for_each([&](std::size_t k) { found = found || (new_pairs(a, k) & cells_[b][k].column).any(); });
  dirty_[b].for_each([&](std::size_t k) { found = found || (new_pairs(b, k) & cells_[a][k].column).any(); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::has_no_pair(PlanSlot slot) const {
  bool found = borders_[slot].any();
  dirty_[slot].for_each([&](std::size_t k) { found = found || new_pairs(slot, k).any(); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::holds_in_full(const PlannedCheck& check, const Bits& events) const {
  if (check.slot_kind == Kind::set) return (sets_[check.slot] & events).any() == check.is_negated;
  const Cell* const cells = cells_[check.slot];
  bool found = false;
  switch (check.kind) {
    case CheckKind::acyclic: found = has_cycle(cells, events, events); break;
    case CheckKind::irreflexive:
      events.for_each([&](std::size_t k) { found = found || cells[k].row.test(k); });
      break;
    case CheckKind::empty:
      events.for_each([&](std::size_t k) { found = found || (cells[k].row & events).any(); });
      break;
  }
  return found == check.is_negated;
}

}  // namespace dekker::incremental
