// Runs a plan event by event.
//
// Borders live only while their event is being added. What must be known later is stored as a matrix by rows and by
// columns, in which bit j of row i and bit i of column j always agree, even for events that have been popped: popping
// leaves borders behind, and adding the next event at their place replaces them. So only changes of interiors need a
// log to be undone. Bits beyond the newest event are meaningless and must be masked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "dekker/bits.hpp"
#include "dekker/incremental_model.hpp"
#include "incremental/plan.hpp"
#include "incremental/rows.hpp"

namespace dekker::incremental {

enum class Outcome : std::uint8_t { holds, fails, surprise };

template <std::size_t W>
class Propagation {
 public:
  explicit Propagation(const ExecutionInputs& inputs) : inputs_(inputs), marks_(capacity + 1, 0), scratch_(capacity) {
    path_.resize(capacity);
  }

  // Starts again, without events. The plan must outlive its use.
  void adopt(const Plan& plan);

  std::size_t n_events() const { return n_events_; }

  // Adds the next event of the inputs and decides the checks that are not skipped. `known` are those that hold without
  // it; afterwards, with it. Unless `is_last`, only a check that can never hold again fails. If the outcome is not
  // `holds`, the event has not been added.
  Outcome add_event(bool is_last, Word skipped, Word& known);

  void undo_to(std::size_t n_events);

  // Whether some node was other than what the plan assumes, after a surprise.
  NodeId surprising_node() const { return surprise_; }

  // Whether the newest event changed the node.
  bool has_changed(PlanSlot slot, Kind kind) const {
    if (dirty_[slot].any()) return true;
    return kind == Kind::set ? sets_[slot].any() : borders_[slot].any();
  }

  // Of what has been added so far.
  bool holds(const PlannedCheck& check) const { return holds_in_full(check, Row<W>::below(n_events_)); }

 private:
  using Bits = Row<W>;
  static constexpr std::size_t capacity = W * word_bits;
  // Keeps the same row of different matrices apart in the cache.
  static constexpr std::size_t padding = 8;

  struct Border {
    Bits down;  // successors of the newest event, itself included
    Bits up;    // predecessors among older events

    bool any() const { return (down | up).any(); }
    friend bool operator==(const Border&, const Border&) = default;
  };

  struct Undo {
    Word* where;
    Word delta;
  };

  void load_inputs();
  Outcome run_plan(bool is_last, Word skipped, Word& known);
  bool decide(const Instruction& instruction);
  void run(const Instruction& i);
  void run_group(const Group& group);

  void store(PlanSlot slot, std::uint8_t duties);
  void assign_set(const Instruction& i, const Bits& value);

  void compose(const Instruction& i);
  void spread_composition(const Instruction& i);
  void close(const Instruction& i);
  void close_again(const Instruction& i);
  void project_domain(const Instruction& i);
  void project_range(const Instruction& i);
  void spread_operation(const Instruction& i);
  void spread_union(const Instruction& i);
  void spread_inverse(const Instruction& i);
  std::pair<const PlanSlot*, const PlanSlot*> members_of(const Instruction& i) const;

  // ---- Interiors -----------------------------------------------------------------------------------------------------

  // Rows of older events that may differ from before, or members that do.
  Bits changed(PlanSlot slot) const { return is_restarting_ ? below_ : dirty_[slot]; }

  template <class Value>
  void set_rows(PlanSlot slot, const Bits& which, Value value) {
    (which & below_).for_each([&](std::size_t i) { set_row(slot, i, value(i) & below_); });
  }

  void set_row(PlanSlot slot, std::size_t i, const Bits& value) {
    const Bits old = rows_[slot][i] & below_;
    if (old == value) return;
    if ((old - value).any()) shrunk_[slot] = 1;
    change_row(slot, i, old ^ value);
  }

  void grow_row(PlanSlot slot, std::size_t i, const Bits& more) {
    const Bits delta = more - rows_[slot][i];
    if (delta.any()) change_row(slot, i, delta);
  }

  void grow_product(PlanSlot slot, const Bits& from, const Bits& to) {
    from.for_each([&](std::size_t i) { grow_row(slot, i, to); });
  }

  void change_row(PlanSlot slot, std::size_t i, const Bits& delta) {
    change(rows_[slot][i], delta);
    if ((plan_->duties[slot] & keep_columns) != 0)
      delta.for_each([&](std::size_t j) { change(columns_[slot][j].words[i / word_bits], bit(i)); });
    note_change(slot, Bits::single(i));
  }

  void note_change(PlanSlot slot, const Bits& which) {
    if (!dirty_[slot].any()) touched_.push_back(slot);
    dirty_[slot] |= which;
    ++n_changes_;
  }

  void change(Bits& row, const Bits& delta) {
    for (std::size_t k = 0; k < W; ++k)
      if (W == 1 || delta.words[k] != 0) change(row.words[k], delta.words[k]);
  }

  void change(Word& word, Word delta) {
    word ^= delta;
    log_.push_back({&word, delta});
  }

  // ---- Checks --------------------------------------------------------------------------------------------------------

  bool holds_in_full(const PlannedCheck& check, const Bits& events) const;
  bool closes_no_cycle(PlanSlot slot);
  bool has_no_loop(PlanSlot slot) const;
  bool has_no_return(PlanSlot a, PlanSlot b) const;
  bool has_nothing_new(PlanSlot slot) const;
  bool has_cycle(const Bits* rows, const Bits& starts, const Bits& events) const;

  const ExecutionInputs& inputs_;
  const Plan* plan_ = nullptr;
  std::size_t n_events_ = 0;

  // The event being added, and masks.
  std::size_t event_ = 0;
  Bits below_{};
  Bits self_{};
  Bits up_to_{};

  // By slot.
  std::vector<Border> borders_;
  std::vector<Bits> sets_;
  std::vector<Bits*> rows_;
  std::vector<Bits*> columns_;
  std::vector<Bits> dirty_;
  std::vector<unsigned char> shrunk_;

  std::vector<Bits> matrices_;
  std::vector<PlanSlot> touched_;  // slots that are dirty
  std::size_t n_changes_ = 0;
  bool is_restarting_ = false;
  NodeId surprise_ = 0;

  std::vector<Undo> log_;
  std::vector<std::size_t> marks_;  // length of the log before each event
  std::vector<Bits> scratch_;
  mutable std::vector<std::size_t> path_;
};

// ---- Events ------------------------------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::adopt(const Plan& plan) {
  plan_ = &plan;
  n_events_ = 0;
  log_.clear();
  touched_.clear();
  borders_.assign(plan.n_slots, Border{});
  sets_.assign(plan.n_slots, Bits::none());
  dirty_.assign(plan.n_slots, Bits::none());
  shrunk_.assign(plan.n_slots, 0);
  rows_.assign(plan.n_slots, nullptr);
  columns_.assign(plan.n_slots, nullptr);
  touched_.reserve(plan.n_slots);
  const auto is_kept = [&](std::size_t slot) { return (plan.duties[slot] & (keep_rows | keep_columns)) != 0; };
  constexpr std::size_t stride = capacity + padding;
  std::size_t n_kept = 0;
  for (std::size_t slot = 0; slot < plan.n_slots; ++slot) n_kept += is_kept(slot) ? 1 : 0;
  matrices_.assign(2 * n_kept * stride, Bits::none());
  Bits* next = matrices_.data();
  for (std::size_t slot = 0; slot < plan.n_slots; ++slot) {
    if (!is_kept(slot)) continue;
    rows_[slot] = next;
    columns_[slot] = next + stride;
    next += 2 * stride;
  }
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
  for (const Load& load : plan_->set_loads) sets_[load.slot] = Bits::read(inputs_.members(load.input)) & up_to_;
  for (const Load& load : plan_->relation_loads) {
    const Word* const words = inputs_.border(load.input, event_);
    borders_[load.slot] = {Bits::read(words), Bits::read(words + W)};
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
      if ((i.duties & watch) == 0 || !has_changed(i.out, i.code >= Code::set_unite ? Kind::set : Kind::relation)) continue;
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
    const bool can_look = check.slot_kind == Kind::set || (plan_->duties[check.slot] & keep_rows) != 0;
    if (!is_known && (i.code == Code::check_no_return || !can_look || !(is_last || check.is_persistent))) continue;
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
  Bits* const rows = rows_[slot];
  Bits* const columns = columns_[slot];
  const auto flip = [&](Bits& row) { row.words[W == 1 ? 0 : event_ / word_bits] ^= bit(event_); };
  if ((duties & keep_rows) != 0)
    ((columns[event_] & below_) ^ border.up).for_each([&](std::size_t i) { flip(rows[i]); });
  if ((duties & keep_columns) != 0)
    ((rows[event_] ^ border.down) & below_).for_each([&](std::size_t j) { flip(columns[j]); });
  rows[event_] = (rows[event_] - up_to_) | border.down;
  columns[event_] = (columns[event_] - up_to_) | border.up | (border.down & self_);
}

template <std::size_t W>
void Propagation<W>::assign_set(const Instruction& i, const Bits& value) {
  Bits& set = sets_[i.out];
  if ((i.duties & spread) != 0) {
    const Bits delta = (set ^ value) & below_;
    if (delta.any()) {
      if ((delta & set).any()) shrunk_[i.out] = 1;
      change(set, delta);
      note_change(i.out, delta);
    }
  }
  set = value;
}

// ---- Operations --------------------------------------------------------------------------------------------------------

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
      for (auto [member, end] = members_of(i); member != end; ++member) {
        sum.down |= border(*member).down;
        sum.up |= border(*member).up;
      }
      out = sum;
      break;
    }
    case Code::intersect: out = {border(i.a).down & border(i.b).down, border(i.a).up & border(i.b).up}; break;
    case Code::subtract: out = {border(i.a).down - border(i.b).down, border(i.a).up - border(i.b).up}; break;
    case Code::restrict:
      out = {if_in(i.b, border(i.a).down & set(i.c)), if_in(i.c, border(i.a).up & set(i.b))};
      break;
    case Code::complement: out = {up_to_ - border(i.a).down, below_ - border(i.a).up}; break;
    case Code::reflexive: out = {border(i.a).down | self_, border(i.a).up}; break;
    case Code::invert: out = {border(i.a).up | (border(i.a).down & self_), border(i.a).down & below_}; break;
    case Code::full: out = {up_to_, below_}; break;
    case Code::identity: out = {self_, Bits::none()}; break;
    case Code::identity_on: out = {if_in(i.a, self_), Bits::none()}; break;
    case Code::cross: out = {if_in(i.a, set(i.b)), if_in(i.b, set(i.a) & below_)}; break;
    case Code::compose: compose(i); break;
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
  if ((i.duties & (spread | keep_rows | keep_columns)) == 0) return;
  if ((i.duties & spread) != 0) spread_operation(i);
  if ((i.duties & (keep_rows | keep_columns)) != 0) store(i.out, i.duties);
}

template <std::size_t W>
std::pair<const PlanSlot*, const PlanSlot*> Propagation<W>::members_of(const Instruction& i) const {
  const PlanSlot* const first = plan_->members.data() + i.a;
  return {first, first + i.b};
}

template <std::size_t W>
void Propagation<W>::compose(const Instruction& i) {
  const Border& a = borders_[i.a];
  const Border& b = borders_[i.b];
  const Bits* const columns = columns_[i.a];
  const Bits* const rows = rows_[i.b];
  Border out{};
  a.down.for_each([&](std::size_t k) { out.down |= rows[k]; });
  b.up.for_each([&](std::size_t k) { out.up |= columns[k]; });
  if (b.down.test(event_)) out.up |= a.up;
  out.down &= up_to_;
  out.up &= below_;
  borders_[i.out] = out;
}

// r+ or r*: paths that end in the newest event, paths that start there, and both in a row.
template <std::size_t W>
void Propagation<W>::close(const Instruction& i) {
  if (shrunk_[i.a] != 0) return close_again(i);
  const Bits* const rows = rows_[i.out];
  const Bits* const columns = columns_[i.out];
  // What is on a path already followed need not be followed again. Later events tend to be later on paths.
  const auto follow = [&](const Bits* from, const Bits& start) {
    Bits reached = start;
    for (Bits rest = start; rest.any();) {
      const std::size_t k = rest.highest();
      reached |= from[k];
      rest -= from[k];
      rest.clear(k);
    }
    return reached & below_;
  };
  changed(i.a).for_each([&](std::size_t from) {
    const Bits reached = follow(rows, rows_[i.a][from] & below_);
    if (!(reached - rows[from]).any()) return;
    grow_product(i.out, (columns[from] & below_) | Bits::single(from), reached);
  });
  const Border& a = borders_[i.a];
  const Bits after = follow(rows, a.down & below_);
  const Bits before = follow(columns, a.up);
  const bool has_loop = i.code == Code::reflexive_closure || a.down.test(event_) || (after & a.up).any();
  borders_[i.out] = {has_loop ? after | self_ : after, before};
  if (after.any()) grow_product(i.out, before, after);
}

template <std::size_t W>
void Propagation<W>::close_again(const Instruction& i) {
  for (std::size_t from = 0; from <= event_; ++from) scratch_[from] = rows_[i.a][from] & up_to_;
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
  changed(i.a).for_each([&](std::size_t from) {
    if ((rows_[i.a][from] & up_to_).any())
      value.set(from);
    else
      value.clear(from);
  });
  if (a.down.any()) value |= self_;
  assign_set(i, value);
}

template <std::size_t W>
void Propagation<W>::project_range(const Instruction& i) {
  const Border& a = borders_[i.a];
  Bits value = (sets_[i.out] & below_) | a.down;
  if (changed(i.a).any()) {
    value = a.down;
    for (std::size_t from = 0; from < event_; ++from) value |= rows_[i.a][from];
    value &= below_;
    value |= a.down & self_;
  }
  if (a.up.any()) value |= self_;
  assign_set(i, value);
}

// ---- Interiors of results ----------------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::spread_operation(const Instruction& i) {
  const auto rows = [&](PlanSlot slot) { return rows_[slot]; };
  const auto set = [&](PlanSlot slot) -> const Bits& { return sets_[slot]; };
  // Rows of a product that change with its factors.
  const auto product_changes = [&](PlanSlot from, PlanSlot to) {
    return changed(to).any() ? changed(from) | set(from) : changed(from);
  };
  switch (i.code) {
    case Code::unite:
    case Code::unite_all: return spread_union(i);
    case Code::intersect:
      return set_rows(i.out, changed(i.a) | changed(i.b), [&](std::size_t k) { return rows(i.a)[k] & rows(i.b)[k]; });
    case Code::subtract:
      return set_rows(i.out, changed(i.a) | changed(i.b), [&](std::size_t k) { return rows(i.a)[k] - rows(i.b)[k]; });
    case Code::restrict:
      return set_rows(i.out, changed(i.a) | product_changes(i.b, i.c), [&](std::size_t k) {
        return set(i.b).test(k) ? rows(i.a)[k] & set(i.c) : Bits::none();
      });
    case Code::complement: return set_rows(i.out, changed(i.a), [&](std::size_t k) { return below_ - rows(i.a)[k]; });
    case Code::reflexive:
      return set_rows(i.out, changed(i.a), [&](std::size_t k) { return rows(i.a)[k] | Bits::single(k); });
    case Code::invert: return spread_inverse(i);
    case Code::identity_on:
      return set_rows(i.out, changed(i.a), [&](std::size_t k) { return set(i.a).test(k) ? Bits::single(k) : Bits::none(); });
    case Code::cross:
      return set_rows(i.out, product_changes(i.a, i.b), [&](std::size_t k) {
        return set(i.a).test(k) ? set(i.b) : Bits::none();
      });
    case Code::compose: return spread_composition(i);
    default: return;
  }
}

template <std::size_t W>
void Propagation<W>::spread_union(const Instruction& i) {
  const PlanSlot pair[] = {i.a, i.b};
  const auto [first, end] = i.code == Code::unite ? std::pair<const PlanSlot*, const PlanSlot*>(pair, pair + 2) : members_of(i);
  if ((i.duties & from_scratch) == 0) {
    for (auto member = first; member != end; ++member)
      dirty_[*member].for_each([&](std::size_t k) { grow_row(i.out, k, rows_[*member][k] & below_); });
    return;
  }
  Bits which = Bits::none();
  for (auto member = first; member != end; ++member) which |= changed(*member);
  set_rows(i.out, which, [&](std::size_t k) {
    Bits sum = Bits::none();
    for (auto member = first; member != end; ++member) sum |= rows_[*member][k];
    return sum;
  });
}

template <std::size_t W>
void Propagation<W>::spread_inverse(const Instruction& i) {
  changed(i.a).for_each([&](std::size_t k) {
    const Bits old = columns_[i.out][k] & below_;
    const Bits value = rows_[i.a][k] & below_;
    if ((old - value).any()) shrunk_[i.out] = 1;
    (old ^ value).for_each([&](std::size_t j) { change_row(i.out, j, Bits::single(k)); });
  });
}

template <std::size_t W>
void Propagation<W>::spread_composition(const Instruction& i) {
  const Bits from = borders_[i.a].up;
  const Bits to = borders_[i.b].down & below_;
  Bits which = changed(i.a);
  const Bits middle = changed(i.b);
  if (!which.any() && !middle.any()) {
    if (to.any()) grow_product(i.out, from, to);
    return;
  }
  middle.for_each([&](std::size_t k) { which |= columns_[i.a][k]; });
  if (to.any()) which |= from;
  set_rows(i.out, which, [&](std::size_t k) {
    Bits sum = Bits::none();
    (rows_[i.a][k] & up_to_).for_each([&](std::size_t m) { sum |= rows_[i.b][m]; });
    return sum;
  });
}

// ---- Recursion ---------------------------------------------------------------------------------------------------------

template <std::size_t W>
void Propagation<W>::run_group(const Group& group) {
  const Instruction* const instructions = plan_->group_instructions.data() + group.first;
  // All but the newest event's part is the least solution so far. If nothing outside shrank, it is part of the new one.
  is_restarting_ = false;
  if (group.may_shrink)
    for (const Group::External& external : group.externals)
      if (external.is_reversed ? dirty_[external.slot].any() : shrunk_[external.slot] != 0) is_restarting_ = true;
  Word todo = group.starters;
  for (std::size_t i = 0; i < group.size; ++i) {
    const Instruction& instruction = instructions[i];
    if (instruction.code >= Code::set_unite) {
      const Bits kept = is_restarting_ ? Bits::none() : below_;
      assign_set(instruction, sets_[instruction.out] & kept);
      continue;
    }
    borders_[instruction.out] = Border{};
    store(instruction.out, instruction.duties);
    if (is_restarting_) set_rows(instruction.out, below_, [](std::size_t) { return Bits::none(); });
  }
  if (is_restarting_) todo = ~Word{0} >> (word_bits - group.size);
  for (const Group::External& external : group.externals)
    if (has_changed(external.slot, external.kind)) todo |= external.users;
  while (todo != 0) {
    const std::size_t next = lowest_bit(todo);
    todo &= todo - 1;
    const Instruction& instruction = instructions[next];
    const Border border = borders_[instruction.out];
    const Bits set = sets_[instruction.out];
    const std::size_t n_changes = n_changes_;
    run(instruction);
    if (border != borders_[instruction.out] || set != sets_[instruction.out] || n_changes != n_changes_)
      todo |= group.users[next];
  }
  is_restarting_ = false;
}

// ---- Checks ------------------------------------------------------------------------------------------------------------

// The check held before the event.
template <std::size_t W>
bool Propagation<W>::decide(const Instruction& i) {
  switch (i.code) {
    case Code::check_acyclic: return closes_no_cycle(i.a);
    case Code::check_irreflexive: return has_no_loop(i.a);
    case Code::check_no_return: return has_no_return(i.a, i.b);
    case Code::check_empty: return has_nothing_new(i.a);
    default: return !sets_[i.a].any();
  }
}

// A new cycle has a new pair: it goes through the newest event or starts in a row that changed.
template <std::size_t W>
bool Propagation<W>::closes_no_cycle(PlanSlot slot) {
  const Border& border = borders_[slot];
  const Bits* const rows = rows_[slot];
  if (dirty_[slot].any()) return !has_cycle(rows, dirty_[slot] | self_, up_to_);
  if (border.down.test(event_) || (border.down & border.up).any()) return false;
  if (!border.up.any()) return true;
  Bits reached = border.down;
  for (Bits rest = border.down; rest.any();) {
    const std::size_t k = rest.highest();
    rest.clear(k);
    const Bits next = (rows[k] & below_) - reached;
    if ((next & border.up).any()) return false;
    reached |= next;
    rest |= next;
  }
  return true;
}

// By depth-first search: a pair back to the current path is seen on entering its first event.
template <std::size_t W>
bool Propagation<W>::has_cycle(const Bits* rows, const Bits& starts, const Bits& events) const {
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
        if ((rows[event] & on_path).any()) return true;
        path_[depth++] = event;
      } else {
        on_path.clear(path_[--depth]);
        if (depth == 0) break;
      }
      next = rows[path_[depth - 1]] & unvisited;
    }
  }
  return false;
}

template <std::size_t W>
bool Propagation<W>::has_no_loop(PlanSlot slot) const {
  bool found = borders_[slot].down.test(event_);
  dirty_[slot].for_each([&](std::size_t k) { found = found || rows_[slot][k].test(k); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::has_no_return(PlanSlot a, PlanSlot b) const {
  const Border& first = borders_[a];
  const Border& second = borders_[b];
  if ((first.down & second.up).any() || (first.up & second.down).any() || (first.down & second.down & self_).any())
    return false;
  bool found = false;
  dirty_[a].for_each([&](std::size_t k) { found = found || (rows_[a][k] & columns_[b][k] & up_to_).any(); });
  dirty_[b].for_each([&](std::size_t k) { found = found || (rows_[b][k] & columns_[a][k] & up_to_).any(); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::has_nothing_new(PlanSlot slot) const {
  bool found = borders_[slot].any();
  dirty_[slot].for_each([&](std::size_t k) { found = found || (rows_[slot][k] & below_).any(); });
  return !found;
}

template <std::size_t W>
bool Propagation<W>::holds_in_full(const PlannedCheck& check, const Bits& events) const {
  if (check.slot_kind == Kind::set) return !(sets_[check.slot] & events).any() != check.is_negated;
  const Bits* const rows = rows_[check.slot];
  bool found = false;
  switch (check.kind) {
    case CheckKind::acyclic: found = has_cycle(rows, events, events); break;
    case CheckKind::irreflexive: events.for_each([&](std::size_t k) { found = found || rows[k].test(k); }); break;
    case CheckKind::empty: events.for_each([&](std::size_t k) { found = found || (rows[k] & events).any(); }); break;
  }
  return found == check.is_negated;
}

}  // namespace dekker::incremental
