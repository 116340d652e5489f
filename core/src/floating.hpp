// The operators on floating-point numbers; operands are cut to their width.
#pragma once

#include "dekker/arithmetic.hpp"

namespace dekker {

Value floating(UnaryOperator operation, unsigned width, Value operand);
Value floating(BinaryOperator operation, unsigned width, Value left, Value right);

}  // namespace dekker
