// Does a computation make of an address something that depends on where the memory of a thread lies, other than an address in
// it? Every thread has four gigabytes of heap, so that the lower half of an address there is the same for all.
#pragma once

#include "dekker/arithmetic.hpp"
#include "rsmc/own_places.hpp"

namespace dekker::rsmc {

class ToldAddresses {
 public:
  explicit ToldAddresses(const OwnPlaces& places) : places_(places) {}

  // An address comes from what is none: it is of one thread, whoever computes it.
  bool by_making(Value left, Value right, Value result) const { return is_named(result) && !is_named(left) && !is_named(right); }

  bool by(UnaryOperator operation, unsigned width, Value operand) const {
    if (!is_named(operand)) return false;
    const bool extends = operation == UnaryOperator::zext || operation == UnaryOperator::sext;
    if (operation == UnaryOperator::freeze || (extends && width >= 64)) return false;
    return places_.is_on_heap(operand) ? width > half : !extends || (operand >> (width - 1)) != 0;
  }

  bool by(BinaryOperator operation, unsigned width, Value left, Value right) const {
    if (!is_named(left) && !is_named(right)) return false;
    if (!is_in_array(left) && !is_in_array(right)) {
      if (width <= half) return false;
      if (width < 64) return true;
    }
    if (operation == BinaryOperator::bit_and && (left == 0 || right == 0)) return false;  // for the sake of a dependency
    if (operation == BinaryOperator::bit_xor && left == right) return false;              // this, too
    switch (operation) {
      case BinaryOperator::eq:
      case BinaryOperator::ne: return false;
      case BinaryOperator::add: return !stays(is_named(left) ? left : right, left + right);
      case BinaryOperator::sub: return is_named(right) ? owner(left) != owner(right) : !stays(left, left - right);
      case BinaryOperator::bit_and: return both_named(left, right) || !is_mask(left, right, true);
      case BinaryOperator::bit_or:
      case BinaryOperator::bit_xor: return both_named(left, right) || !is_mask(left, right, false);
      case BinaryOperator::ult:
      case BinaryOperator::ule:
      case BinaryOperator::ugt:
      case BinaryOperator::uge:
      case BinaryOperator::slt:
      case BinaryOperator::sle:
      case BinaryOperator::sgt:
      case BinaryOperator::sge: return both_named(left, right) && owner(left) != owner(right);
      default: return true;
    }
  }

  bool by(UpdateOperator operation, unsigned width, Value old_value, Value operand) const {
    switch (operation) {
      case UpdateOperator::exchange: return false;
      case UpdateOperator::add: return by(BinaryOperator::add, width, old_value, operand);
      case UpdateOperator::sub: return by(BinaryOperator::sub, width, old_value, operand);
      case UpdateOperator::bit_and: return by(BinaryOperator::bit_and, width, old_value, operand);
      case UpdateOperator::bit_or: return by(BinaryOperator::bit_or, width, old_value, operand);
      case UpdateOperator::bit_xor: return by(BinaryOperator::bit_xor, width, old_value, operand);
      default: return is_named(old_value) || is_named(operand);
    }
  }

 private:
  static constexpr unsigned half = 32;

  bool is_named(Value value) const { return places_.is_named(value); }
  bool is_in_array(Value value) const { return is_named(value) && !places_.is_on_heap(value); }
  bool both_named(Value left, Value right) const { return is_named(left) && is_named(right); }
  Value owner(Value value) const { return places_.owner(value); }
  bool stays(Value address, Value result) const { return is_named(result) && owner(address) == owner(result); }

  // Does the one that is no address leave the upper half of the other alone, or clear it?
  bool is_mask(Value left, Value right, bool may_keep) const {
    if (is_in_array(left) || is_in_array(right)) return false;
    const Value upper = (is_named(left) ? right : left) >> half;
    return upper == 0 || (may_keep && upper == ~Value{0} >> half);
  }

  const OwnPlaces& places_;
};

}  // namespace dekker::rsmc
