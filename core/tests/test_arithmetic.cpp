#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "dekker/arithmetic.hpp"
#include "harness.hpp"

using namespace dekker;

namespace {

constexpr Value most_negative = Value{1} << 63;
constexpr Value minus_one = ~Value{0};

int as_int(int byte) { return byte < 128 ? byte : byte - 256; }

// On bytes, in the arithmetic of int.
int expected(BinaryOperator operation, int left, int right) {
  const int sleft = as_int(left), sright = as_int(right);
  switch (operation) {
    case BinaryOperator::add: return left + right;
    case BinaryOperator::sub: return left - right;
    case BinaryOperator::mul: return left * right;
    case BinaryOperator::udiv: return right == 0 ? 0 : left / right;
    case BinaryOperator::sdiv: return right == 0 ? 0 : sleft / sright;
    case BinaryOperator::urem: return right == 0 ? 0 : left % right;
    case BinaryOperator::srem: return right == 0 ? 0 : sleft % sright;
    case BinaryOperator::bit_and: return left & right;
    case BinaryOperator::bit_or: return left | right;
    case BinaryOperator::bit_xor: return left ^ right;
    case BinaryOperator::shl: return right < 8 ? left << right : 0;
    case BinaryOperator::lshr: return right < 8 ? left >> right : 0;
    case BinaryOperator::ashr: return sleft >> std::min(right, 7);
    case BinaryOperator::eq: return left == right;
    case BinaryOperator::ne: return left != right;
    case BinaryOperator::ult: return left < right;
    case BinaryOperator::ule: return left <= right;
    case BinaryOperator::ugt: return left > right;
    case BinaryOperator::uge: return left >= right;
    case BinaryOperator::slt: return sleft < sright;
    case BinaryOperator::sle: return sleft <= sright;
    case BinaryOperator::sgt: return sleft > sright;
    case BinaryOperator::sge: return sleft >= sright;
    default: return -1;
  }
  return -1;
}

int expected(UpdateOperator operation, int left, int right) {
  switch (operation) {
    case UpdateOperator::exchange: return right;
    case UpdateOperator::add: return left + right;
    case UpdateOperator::sub: return left - right;
    case UpdateOperator::bit_and: return left & right;
    case UpdateOperator::nand: return ~(left & right);
    case UpdateOperator::bit_or: return left | right;
    case UpdateOperator::bit_xor: return left ^ right;
    case UpdateOperator::max: return std::max(as_int(left), as_int(right));
    case UpdateOperator::min: return std::min(as_int(left), as_int(right));
    case UpdateOperator::umax: return std::max(left, right);
    case UpdateOperator::umin: return std::min(left, right);
  }
  return -1;
}

// Bits above the width must not matter, nor be set in the result.
template <class Operator>
void check_on_all_bytes(Operator operation) {
  constexpr Value above = 0xABCDEF0123456700;
  int wrong = 0;
  for (int left = 0; left < 256; ++left)
    for (int right = 0; right < 256; ++right) {
      const Value wanted = static_cast<Value>(expected(operation, left, right)) & 0xFF;
      const Value found = apply(operation, 8, above | static_cast<Value>(left), above | static_cast<Value>(right));
      if (found != wanted) ++wrong;
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST(binary_operators_on_bytes) {
  for (int code = 0; code <= static_cast<int>(BinaryOperator::sge); ++code) check_on_all_bytes(static_cast<BinaryOperator>(code));
}

TEST(updates_on_bytes) {
  for (int code = 0; code <= static_cast<int>(UpdateOperator::umin); ++code) check_on_all_bytes(static_cast<UpdateOperator>(code));
}

TEST(unary_operators_on_bytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const Value operand = 0xFF00 | static_cast<Value>(byte);
    CHECK(apply(UnaryOperator::neg, 8, operand) == (static_cast<Value>(-byte) & 0xFF));
    CHECK(apply(UnaryOperator::bit_not, 8, operand) == static_cast<Value>(255 - byte));
    CHECK(apply(UnaryOperator::zext, 8, operand) == static_cast<Value>(byte));
    CHECK(apply(UnaryOperator::sext, 8, operand) == static_cast<Value>(static_cast<std::int64_t>(as_int(byte))));
  }
}

TEST(widths_of_64_bits_and_their_extremes) {
  const auto binary = [](BinaryOperator operation, Value left, Value right) { return apply(operation, 64, left, right); };
  CHECK(binary(BinaryOperator::sdiv, most_negative, minus_one) == most_negative);
  CHECK(binary(BinaryOperator::srem, most_negative, minus_one) == 0);
  CHECK(binary(BinaryOperator::sdiv, most_negative, 2) == Value{0} - (Value{1} << 62));
  CHECK(binary(BinaryOperator::srem, minus_one - 6, 4) == minus_one - 2);
  CHECK(binary(BinaryOperator::shl, 1, 63) == most_negative);
  CHECK(binary(BinaryOperator::shl, 1, 64) == 0);
  CHECK(binary(BinaryOperator::lshr, minus_one, minus_one) == 0);
  CHECK(binary(BinaryOperator::ashr, most_negative, minus_one) == minus_one);
  CHECK(binary(BinaryOperator::add, minus_one, 1) == 0);
  CHECK(binary(BinaryOperator::slt, most_negative, 0) == 1);
  CHECK(binary(BinaryOperator::ult, most_negative, 0) == 0);
  CHECK(apply(UnaryOperator::neg, 64, most_negative) == most_negative);
  CHECK(apply(UnaryOperator::sext, 64, minus_one) == minus_one);
  CHECK(apply(UnaryOperator::sext, 32, 0x80000000) == 0xFFFFFFFF80000000);
  CHECK(apply(UpdateOperator::max, 64, most_negative, 1) == 1);
  CHECK(apply(UpdateOperator::umax, 64, most_negative, 1) == most_negative);
  CHECK(apply(UpdateOperator::nand, 64, minus_one, minus_one) == 0);
  CHECK(low_bits(64) == minus_one);
  CHECK(low_bits(1) == 1);
  CHECK(as_signed(1, 1) == -1);
  CHECK(as_signed(64, most_negative) == std::numeric_limits<std::int64_t>::min());
}

namespace {

Value bits(double value) { return std::bit_cast<Value>(value); }
Value bits(float value) { return std::bit_cast<std::uint32_t>(value); }

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Value nan_pattern = 0x7FF8000000000000;
constexpr Value float_nan_pattern = 0x7FC00000;

}  // namespace

TEST(floating_point_is_that_of_ieee_754) {
  const auto binary = [](BinaryOperator operation, double left, double right) {
    return apply(operation, 64, bits(left), bits(right));
  };
  CHECK(binary(BinaryOperator::fadd, 0.1, 0.2) == bits(0.30000000000000004));
  CHECK(binary(BinaryOperator::fsub, infinity, infinity) == nan_pattern);
  CHECK(binary(BinaryOperator::fdiv, -1.0, 0.0) == bits(-infinity));
  CHECK(binary(BinaryOperator::fdiv, 0.0, 0.0) == nan_pattern);
  CHECK(binary(BinaryOperator::frem, -5.5, 2.0) == bits(-1.5));
  CHECK(binary(BinaryOperator::frem, 1.0, 0.0) == nan_pattern);
  CHECK(binary(BinaryOperator::feq, 0.0, -0.0) == 1);
  CHECK(binary(BinaryOperator::fle, std::nan(""), 1.0) == 0);
  CHECK(binary(BinaryOperator::funo, std::nan(""), 1.0) == 1);
  CHECK(apply(BinaryOperator::fadd, 32, bits(16777216.0f), bits(1.0f)) == bits(16777216.0f));
  CHECK(apply(BinaryOperator::fmul, 32, bits(1e30f), bits(1e30f)) == bits(std::numeric_limits<float>::infinity()));
  // A NaN with sign and payload.
  CHECK(apply(BinaryOperator::fadd, 32, 0xFFC12345, bits(1.0f)) == float_nan_pattern);
}

TEST(conversions_of_floating_point_numbers) {
  const auto unary = [](UnaryOperator operation, double operand) { return apply(operation, 64, bits(operand)); };
  CHECK(unary(UnaryOperator::fptosi, -3.9) == minus_one - 2);
  CHECK(unary(UnaryOperator::fptosi, 9223372036854775808.0) == most_negative);
  CHECK(unary(UnaryOperator::fptosi, std::nan("")) == most_negative);
  CHECK(unary(UnaryOperator::fptoui, -0.5) == 0);
  CHECK(unary(UnaryOperator::fptoui, -1.0) == minus_one);
  CHECK(unary(UnaryOperator::fptoui, infinity) == minus_one);
  CHECK(unary(UnaryOperator::fptoui, 9223372036854775808.0) == most_negative);
  CHECK(unary(UnaryOperator::fptrunc, 1e300) == bits(std::numeric_limits<float>::infinity()));
  CHECK(unary(UnaryOperator::fsqrt, -1.0) == nan_pattern);
  CHECK(unary(UnaryOperator::fsqrt, -0.0) == bits(-0.0));
  CHECK(apply(UnaryOperator::fpext, 32, 0xFFC12345) == nan_pattern);
  CHECK(apply(UnaryOperator::fpext, 32, bits(0.5f)) == bits(0.5));
  CHECK(apply(UnaryOperator::sitofp64, 32, 0xFFFFFFFF) == bits(-1.0));
  CHECK(apply(UnaryOperator::uitofp64, 32, 0xFFFFFFFF) == bits(4294967295.0));
  // Rounded once: by way of a double it would be 2^63.
  CHECK(apply(UnaryOperator::uitofp32, 64, 0x8000008000000001) == bits(9223373136366403584.0f));
}
