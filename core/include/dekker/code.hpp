// What the code of programs consists of, for all that runs it: values, expressions, objects, what is observed.
#pragma once

#include <cstdint>
#include <vector>

namespace dekker {

using Value = std::uint64_t;
using Address = std::uint64_t;

inline constexpr std::int32_t none = -1;

// Expressions are postfix code. Operations take their operands from the stack and push their result.
enum class ExpressionCode : std::uint8_t { constant, register_value, unary, binary, select };

struct ExpressionStep {
  ExpressionCode code;
  std::uint8_t operation;  // a UnaryOperator or BinaryOperator
  std::uint8_t width;
  Value operand;  // a constant or the number of a register; a constant with an operation is indeterminate
};

using Expression = std::vector<ExpressionStep>;

struct ObjectRange {
  Address start;
  Address size;
};

// A register of a thread, or `size` bytes of memory (then thread is `none`).
struct Observable {
  std::int32_t thread;
  std::int32_t register_number;
  Address address;
  std::uint8_t size;
};

}  // namespace dekker
