// What to compute when an event has been added, for one model and one guess at what stays empty.
//
// Terms: the border of a relation is what the newest event adds to it: its row (pairs from it, to itself included) and
// its column (pairs to it). The interior is the rest, pairs between older events. A node is local if its interior never
// changes. All base sets and relations are local, and so is what set operations make of local nodes; composition and
// closure are not, because the newest event connects older ones. Of those that are not local, most can only grow: they
// pass on what is new. The others, behind a difference or a complement, are compared with what they were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dekker/bits.hpp"
#include "incremental/graph.hpp"

namespace dekker::incremental {

// A node that is computed; counted from zero in each plan.
using PlanSlot = std::uint16_t;

enum class Code : std::uint8_t {
  unite,      // of two
  unite_all,  // of `b` members from `a` on in Plan::members
  intersect,
  subtract,
  restrict,  // of a to b × c
  complement,
  invert,
  full,
  identity,
  identity_on,
  cross,
  compose,
  absorb,  // in a group: add `b` members from `a` on in Plan::members
  absorb_composition,
  closure,
  reflexive_closure,
  set_unite,
  set_intersect,
  set_subtract,
  set_complement,
  full_set,
  domain,
  range,
  group,          // the group number `a`
  check_acyclic,  // checks have the number `out`
  check_irreflexive,
  check_no_return,  // the composition of a and b is irreflexive
  check_empty,
  check_empty_set,
  check_in_full,
};

// What else to do with the result of an instruction.
enum Duty : std::uint8_t {
  keep_rows = 1,     // store it by rows
  keep_columns = 2,  // store it by columns
  grow = 4,          // not local: pass on what is new in its interior
  compare = 8,       // not local, and it may shrink: compare its interior with what it was
  watch = 16         // the plan assumes that it is empty
};

struct Instruction {
  Code code;
  std::uint8_t duties = 0;
  PlanSlot out = 0;
  PlanSlot a = 0;
  PlanSlot b = 0;
  PlanSlot c = 0;
};

// A base set or relation that is used.
struct Load {
  PlanSlot slot;
  std::uint8_t duties = 0;
  std::size_t input;
};

// Nodes that depend on each other: run until nothing changes. At most 64 of them. Unless the group may shrink, several
// instructions can add to one result, and results are stored at the end.
struct Group {
  struct External {
    PlanSlot slot;
    Kind kind;
    bool is_reversed;  // its growth can make the group shrink
    Word users;        // instructions of the group
  };
  std::size_t first = 0;  // in Plan::group_instructions
  std::size_t size = 0;
  std::vector<Word> users;  // of each instruction's result
  std::vector<PlanSlot> slots;
  std::vector<External> externals;
  Word starters = 0;  // instructions whose result need not be empty when all arguments are
  bool may_shrink = false;
};

struct PlannedCheck {
  CheckKind kind = CheckKind::acyclic;
  Kind slot_kind = Kind::relation;
  bool is_negated = false;
  bool is_persistent = false;  // once it fails it fails for all larger executions
  bool can_look = false;       // without knowing that it held before
  PlanSlot slot = 0;
  Word settles = 0;  // checks that hold if it does
};

struct Plan {
  // Everything must be evaluated anew each time; the rest is meaningless then.
  bool needs_evaluator = false;
  std::size_t n_slots = 0;
  std::vector<NodeId> nodes;         // of slots
  std::vector<std::uint8_t> duties;  // of slots
  std::vector<Load> set_loads;
  std::vector<Load> relation_loads;
  std::vector<Instruction> instructions;
  std::vector<Instruction> group_instructions;
  std::vector<PlanSlot> members;
  std::vector<Group> groups;
  std::vector<PlannedCheck> checks;  // as in the program; those settled otherwise are not used
  std::vector<std::size_t> flags;    // to be looked at
  Word settled = 0;                  // hold in every execution
  Word refuted = 0;                  // hold in none
  Word raised = 0;                   // flags that hold in every execution
};

// `seen[node]`: the node is not taken to be empty. Those taken to be empty are watched where it matters, except inputs.
Plan make_plan(const Graph& graph, const std::vector<bool>& seen);

// Can the node be empty although its arguments are not?
bool is_worth_watching(const Node& node);

}  // namespace dekker::incremental
