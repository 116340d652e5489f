// A memory model as a relational program: plain data, not yet validated.
//
// Slots hold event sets or relations and are defined in one place each: as an input, by an operation, or as a variable
// of a fixpoint. A fixpoint starts with its variables empty, runs its body, and as long as some result differs from its
// variable, copies all results into the variables and runs the body again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dekker {

using Slot = std::uint32_t;

enum class Kind : std::uint8_t { set, relation };

enum class Opcode : std::uint8_t {
  unite,
  intersect,
  subtract,
  compose,
  invert,
  transitive_closure,
  reflexive_transitive_closure,
  reflexive_closure,
  complement,
  set_unite,
  set_intersect,
  set_subtract,
  set_complement,
  identity_on,
  cross,
  domain,
  range,
  empty_relation,
  empty_set,
  full_relation,
  full_set,
  identity,
};

struct Signature {
  std::string_view name;
  Kind result;
  std::vector<Kind> arguments;
};

const Signature& signature(Opcode code);

struct Input {
  Slot slot;
  std::string name;
  Kind kind;
};

struct Operation {
  Opcode code;
  Slot destination;
  std::vector<Slot> arguments;
};

struct Fixpoint;
using Step = std::variant<Operation, Fixpoint>;

struct Fixpoint {
  std::vector<Slot> variables;
  std::vector<Step> body;
  std::vector<Slot> results;
};

enum class CheckKind : std::uint8_t { acyclic, irreflexive, empty };

// A check that is a flag marks executions without forbidding them.
struct Check {
  CheckKind kind;
  Slot slot;
  bool negated;
  bool is_flag;
};

struct ModelProgram {
  std::vector<Kind> kinds;
  std::vector<Input> inputs;
  std::vector<Step> steps;
  std::vector<Check> checks;
};

// Throws std::invalid_argument if the number cannot be that of a slot.
Slot slot_numbered(std::int64_t number);

// Names as in the Python form of the program; unknown ones throw std::invalid_argument.
Kind kind_named(std::string_view name);
Opcode opcode_named(std::string_view name);
CheckKind check_kind_named(std::string_view name);

// Steps as a flat sequence of numbers:
//   operation:  opcode destination #arguments arguments…
//   fixpoint:   fixpoint_marker #variables variables… #results results… #steps body…
inline constexpr std::int64_t fixpoint_marker = -1;
std::vector<Step> decode_steps(std::span<const std::int64_t> code);

// Throws std::invalid_argument, with the place and the reason, unless slots exist, are defined once and before their
// use, and fit the operations and checks they are used in.
void validate(const ModelProgram& program);

}  // namespace dekker
