#include "dekker/undefined.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace dekker {

namespace {

// A carry may reach all bits from the lowest undefined one upwards.
Value carried(unsigned width, Value undefined) { return (undefined | (0 - undefined)) & low_bits(width); }

Value all_if(bool any, unsigned width) { return any ? low_bits(width) : 0; }

KnownBits cut(unsigned width, KnownBits known) { return {known.value & low_bits(width), known.undefined & low_bits(width)}; }

Value undefined_and(KnownBits a, KnownBits b) {
  return (a.undefined & b.undefined) | (a.undefined & b.value) | (a.value & b.undefined);
}

Value undefined_or(KnownBits a, KnownBits b) {
  return (a.undefined & b.undefined) | (a.undefined & ~b.value) | (~a.value & b.undefined);
}

// Equality is known if bits differ that are.
Value undefined_equality(KnownBits a, KnownBits b) {
  const Value undefined = a.undefined | b.undefined;
  return undefined != 0 && ((a.value ^ b.value) & ~undefined) == 0 ? 1 : 0;
}

Value undefined_shift(BinaryOperator operation, unsigned width, KnownBits a, KnownBits b) {
  return b.undefined != 0 ? low_bits(width) : apply(operation, width, a.undefined, b.value);
}

Value from_bit(int lowest, unsigned width) {
  return lowest < static_cast<int>(width) ? low_bits(width) & (~Value{0} << lowest) : 0;
}

// A product with a number that is known is a sum of shifted copies. If no two of them meet there is no carry, and their
// undefined bits stay where they are. Otherwise all bits are undefined from the lowest on to which an undefined bit of a
// factor may contribute.
Value undefined_product(unsigned width, KnownBits a, KnownBits b) {
  if (a.undefined == 0) std::swap(a, b);
  const int lowest = std::countr_zero(a.undefined) + std::countr_zero(b.value | b.undefined);
  if (b.undefined != 0) {
    return from_bit(std::min(lowest, std::countr_zero(b.undefined) + std::countr_zero(a.value | a.undefined)), width);
  }
  Value total = 0, undefined = 0;
  for (Value rest = b.value; rest != 0; rest &= rest - 1) {
    const int shift = std::countr_zero(rest);
    const Value copy = ((a.value | a.undefined) << shift) & low_bits(width);
    if ((total & copy) != 0) return from_bit(lowest, width);
    total |= copy;
    undefined |= (a.undefined << shift) & low_bits(width);
  }
  return undefined;
}

}  // namespace

Value undefined_bits(UnaryOperator operation, unsigned width, KnownBits operand) {
  const Value undefined = operand.undefined & low_bits(width);
  switch (operation) {
    case UnaryOperator::neg: return carried(width, undefined);
    case UnaryOperator::bit_not:
    case UnaryOperator::zext: return undefined;
    case UnaryOperator::sext: return apply(UnaryOperator::sext, width, undefined);
    case UnaryOperator::freeze: return 0;
    default: return undefined != 0 ? ~Value{0} : 0;
  }
}

Value undefined_bits(BinaryOperator operation, unsigned width, KnownBits left, KnownBits right) {
  const KnownBits a = cut(width, left), b = cut(width, right);
  const Value either = a.undefined | b.undefined;
  if (either == 0) return 0;
  switch (operation) {
    case BinaryOperator::add:
    case BinaryOperator::sub: return carried(width, either);
    case BinaryOperator::mul: return undefined_product(width, a, b);
    case BinaryOperator::bit_and: return undefined_and(a, b);
    case BinaryOperator::bit_or: return undefined_or(a, b) & low_bits(width);
    case BinaryOperator::bit_xor: return either;
    case BinaryOperator::shl:
    case BinaryOperator::lshr:
    case BinaryOperator::ashr: return undefined_shift(operation, width, a, b);
    case BinaryOperator::eq:
    case BinaryOperator::ne: return undefined_equality(a, b);
    case BinaryOperator::ult:
    case BinaryOperator::ule:
    case BinaryOperator::ugt:
    case BinaryOperator::uge:
    case BinaryOperator::slt:
    case BinaryOperator::sle:
    case BinaryOperator::sgt:
    case BinaryOperator::sge:
    case BinaryOperator::feq:
    case BinaryOperator::flt:
    case BinaryOperator::fle:
    case BinaryOperator::funo: return 1;
    default: return low_bits(width);
  }
}

Value undefined_bits(UpdateOperator operation, unsigned width, KnownBits old_value, KnownBits operand) {
  const KnownBits a = cut(width, old_value), b = cut(width, operand);
  const Value either = a.undefined | b.undefined;
  switch (operation) {
    case UpdateOperator::exchange: return b.undefined;
    case UpdateOperator::add:
    case UpdateOperator::sub: return carried(width, either);
    case UpdateOperator::bit_and:
    case UpdateOperator::nand: return undefined_and(a, b);
    case UpdateOperator::bit_or: return undefined_or(a, b) & low_bits(width);
    case UpdateOperator::bit_xor: return either;
    default: return all_if(either != 0, width);
  }
}

}  // namespace dekker
