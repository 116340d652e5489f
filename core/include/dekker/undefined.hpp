// Which bits of a result are indeterminate, by those of the operands: never too few; too many only where operators mix bits
// in ways that are not followed here.
#pragma once

#include "dekker/arithmetic.hpp"

namespace dekker {

// A bit pattern and which of its bits nobody has set. Those are 0 in `value`, as far as they come from memory.
struct KnownBits {
  Value value;
  Value undefined;

  bool operator==(const KnownBits&) const = default;
};

// Is it open whether the value is 0?
constexpr bool is_undecided(KnownBits known) { return known.undefined != 0 && (known.value & ~known.undefined) == 0; }

Value undefined_bits(UnaryOperator operation, unsigned width, KnownBits operand);
Value undefined_bits(BinaryOperator operation, unsigned width, KnownBits left, KnownBits right);
Value undefined_bits(UpdateOperator operation, unsigned width, KnownBits old_value, KnownBits operand);

}  // namespace dekker
