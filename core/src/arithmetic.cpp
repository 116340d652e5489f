#include "dekker/arithmetic.hpp"

#include <algorithm>

#include "floating.hpp"

namespace dekker {

namespace {

Value magnitude(std::int64_t number) { return number < 0 ? Value{0} - static_cast<Value>(number) : static_cast<Value>(number); }

// Through magnitudes: the most negative number divided by -1 must not overflow.
Value signed_quotient(unsigned width, Value left, Value right) {
  if (right == 0) return 0;
  const std::int64_t dividend = as_signed(width, left);
  const std::int64_t divisor = as_signed(width, right);
  const Value quotient = magnitude(dividend) / magnitude(divisor);
  return (dividend < 0) == (divisor < 0) ? quotient : Value{0} - quotient;
}

Value signed_remainder(unsigned width, Value left, Value right) {
  if (right == 0) return 0;
  const std::int64_t dividend = as_signed(width, left);
  const Value remainder = magnitude(dividend) % magnitude(as_signed(width, right));
  return dividend < 0 ? Value{0} - remainder : remainder;
}

Value arithmetic_shift(unsigned width, Value left, Value right) {
  return static_cast<Value>(as_signed(width, left) >> std::min<Value>(right, width - 1));
}

Value binary(BinaryOperator operation, unsigned width, Value left, Value right) {
  const auto sleft = [&] { return as_signed(width, left); };
  const auto sright = [&] { return as_signed(width, right); };
  switch (operation) {
    case BinaryOperator::add: return left + right;
    case BinaryOperator::sub: return left - right;
    case BinaryOperator::mul: return left * right;
    case BinaryOperator::udiv: return right == 0 ? 0 : left / right;
    case BinaryOperator::sdiv: return signed_quotient(width, left, right);
    case BinaryOperator::urem: return right == 0 ? 0 : left % right;
    case BinaryOperator::srem: return signed_remainder(width, left, right);
    case BinaryOperator::bit_and: return left & right;
    case BinaryOperator::bit_or: return left | right;
    case BinaryOperator::bit_xor: return left ^ right;
    case BinaryOperator::shl: return right < width ? left << right : 0;
    case BinaryOperator::lshr: return right < width ? left >> right : 0;
    case BinaryOperator::ashr: return arithmetic_shift(width, left, right);
    case BinaryOperator::eq: return left == right;
    case BinaryOperator::ne: return left != right;
    case BinaryOperator::ult: return left < right;
    case BinaryOperator::ule: return left <= right;
    case BinaryOperator::ugt: return left > right;
    case BinaryOperator::uge: return left >= right;
    case BinaryOperator::slt: return sleft() < sright();
    case BinaryOperator::sle: return sleft() <= sright();
    case BinaryOperator::sgt: return sleft() > sright();
    case BinaryOperator::sge: return sleft() >= sright();
    default: return floating(operation, width, left, right);
  }
}

}  // namespace

Value apply(UnaryOperator operation, unsigned width, Value operand) {
  const Value cut = operand & low_bits(width);
  switch (operation) {
    case UnaryOperator::neg: return (Value{0} - cut) & low_bits(width);
    case UnaryOperator::bit_not: return ~cut & low_bits(width);
    case UnaryOperator::zext:
    case UnaryOperator::freeze: return cut;
    case UnaryOperator::sext: return static_cast<Value>(as_signed(width, cut));
    default: return floating(operation, width, cut);
  }
}

Value apply(BinaryOperator operation, unsigned width, Value left, Value right) {
  return binary(operation, width, left & low_bits(width), right & low_bits(width)) & low_bits(width);
}

Value apply(UpdateOperator operation, unsigned width, Value old_value, Value operand) {
  const Value left = old_value & low_bits(width);
  const Value right = operand & low_bits(width);
  switch (operation) {
    case UpdateOperator::exchange: return right;
    case UpdateOperator::add: return (left + right) & low_bits(width);
    case UpdateOperator::sub: return (left - right) & low_bits(width);
    case UpdateOperator::bit_and: return left & right;
    case UpdateOperator::nand: return ~(left & right) & low_bits(width);
    case UpdateOperator::bit_or: return left | right;
    case UpdateOperator::bit_xor: return left ^ right;
    case UpdateOperator::max: return as_signed(width, left) >= as_signed(width, right) ? left : right;
    case UpdateOperator::min: return as_signed(width, left) <= as_signed(width, right) ? left : right;
    case UpdateOperator::umax: return std::max(left, right);
    case UpdateOperator::umin: return std::min(left, right);
  }
  return 0;
}

}  // namespace dekker
