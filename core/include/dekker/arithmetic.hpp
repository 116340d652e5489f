// The operators of expressions and updates, on bit patterns of a given width. Numbered as in the Python tables.
//
// Those on floating-point numbers take IEEE 754 patterns of 32 or 64 bits and round to the nearest. Every NaN that they make
// is the one without sign and payload. Conversions to integers round towards zero; what does not fit becomes the smallest
// number (fptosi) or the largest (fptoui).
#pragma once

#include <cstdint>

#include "dekker/code.hpp"

namespace dekker {

enum class UnaryOperator : std::uint8_t {
  neg, bit_not, zext, sext, freeze,
  fpext, fptrunc, fptosi, fptoui, fsqrt, sitofp32, sitofp64, uitofp32, uitofp64,
};

enum class BinaryOperator : std::uint8_t {
  add, sub, mul, udiv, sdiv, urem, srem, bit_and, bit_or, bit_xor, shl, lshr, ashr,
  eq, ne, ult, ule, ugt, uge, slt, sle, sgt, sge,
  fadd, fsub, fmul, fdiv, frem, feq, flt, fle, funo,
};

enum class UpdateOperator : std::uint8_t {
  exchange, add, sub, bit_and, nand, bit_or, bit_xor, max, min, umax, umin,
};

constexpr Value low_bits(unsigned width) { return width >= 64 ? ~Value{0} : (Value{1} << width) - 1; }

constexpr std::int64_t as_signed(unsigned width, Value value) {
  if (width >= 64) return static_cast<std::int64_t>(value);
  const Value sign = Value{1} << (width - 1);
  return static_cast<std::int64_t>(((value & low_bits(width)) ^ sign) - sign);
}

Value apply(UnaryOperator operation, unsigned width, Value operand);
Value apply(BinaryOperator operation, unsigned width, Value left, Value right);
Value apply(UpdateOperator operation, unsigned width, Value old_value, Value operand);

}  // namespace dekker
