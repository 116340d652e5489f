#include "floating.hpp"

#include <bit>
#include <cmath>

namespace dekker {

namespace {

constexpr std::uint32_t float_nan = 0x7FC0'0000;
constexpr std::uint64_t double_nan = 0x7FF8'0000'0000'0000;

double number(unsigned width, Value pattern) {
  if (width == 32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  return std::bit_cast<double>(pattern);
}

Value pattern_of(float value) { return std::isnan(value) ? float_nan : std::bit_cast<std::uint32_t>(value); }
Value pattern_of(double value) { return std::isnan(value) ? double_nan : std::bit_cast<std::uint64_t>(value); }

// A double has more than twice the digits of a float, so that rounding twice rounds right.
Value pattern(unsigned width, double value) {
  return width == 32 ? pattern_of(static_cast<float>(value)) : pattern_of(value);
}

constexpr double two_to_63 = 9223372036854775808.0;
constexpr double two_to_64 = 2 * two_to_63;

Value to_signed(double value) {
  if (!(value >= -two_to_63 && value < two_to_63)) return Value{1} << 63;
  return static_cast<Value>(static_cast<std::int64_t>(value));
}

Value to_unsigned(double value) {
  if (!(value > -1 && value < two_to_64)) return ~Value{0};
  return value < 0 ? 0 : static_cast<Value>(value);
}

}  // namespace

Value floating(UnaryOperator operation, unsigned width, Value operand) {
  switch (operation) {
    case UnaryOperator::fpext: return pattern_of(number(width, operand));
    case UnaryOperator::fptrunc: return pattern_of(static_cast<float>(number(width, operand)));
    case UnaryOperator::fptosi: return to_signed(number(width, operand));
    case UnaryOperator::fptoui: return to_unsigned(number(width, operand));
    case UnaryOperator::fsqrt: return pattern(width, std::sqrt(number(width, operand)));
    // These round once, from all digits of the integer.
    case UnaryOperator::sitofp32: return pattern_of(static_cast<float>(as_signed(width, operand)));
    case UnaryOperator::sitofp64: return pattern_of(static_cast<double>(as_signed(width, operand)));
    case UnaryOperator::uitofp32: return pattern_of(static_cast<float>(operand));
    case UnaryOperator::uitofp64: return pattern_of(static_cast<double>(operand));
    default: return 0;
  }
}

Value floating(BinaryOperator operation, unsigned width, Value left, Value right) {
  const double a = number(width, left);
  const double b = number(width, right);
  switch (operation) {
    case BinaryOperator::fadd: return pattern(width, a + b);
    case BinaryOperator::fsub: return pattern(width, a - b);
    case BinaryOperator::fmul: return pattern(width, a * b);
    case BinaryOperator::fdiv: return pattern(width, a / b);
    case BinaryOperator::frem: return pattern(width, std::fmod(a, b));
    case BinaryOperator::feq: return a == b;
    case BinaryOperator::flt: return a < b;
    case BinaryOperator::fle: return a <= b;
    case BinaryOperator::funo: return std::isnan(a) || std::isnan(b);
    default: return 0;
  }
}

}  // namespace dekker
