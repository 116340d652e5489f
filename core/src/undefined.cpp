#include "dekker/undefined.hpp"

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
    case BinaryOperator::sub:
    case BinaryOperator::mul: return carried(width, either);
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
