// Does a computation make of an address something that depends on where the objects of a thread are, other than an address
// in them? Every thread has four gigabytes, so that the lower half of an address is the same for all.
#pragma once

#include <optional>

#include "dekker/arithmetic.hpp"

namespace dekker::rsmc {

class ToldAddresses {
 public:
  // The objects that change with the name of a thread.
  ToldAddresses(Address start, Address end) : start_(start), end_(end) {}

  bool by(UnaryOperator operation, unsigned width, Value operand) const {
    if (!is_named(operand) || width <= half) return false;
    return operation != UnaryOperator::freeze && (width < 64 || (operation != UnaryOperator::zext && operation != UnaryOperator::sext));
  }

  bool by(BinaryOperator operation, unsigned width, Value left, Value right) const {
    if ((!is_named(left) && !is_named(right)) || width <= half) return false;
    if (width < 64) return true;
    switch (operation) {
      case BinaryOperator::eq:
      case BinaryOperator::ne: return false;
      case BinaryOperator::add: return !stays(is_named(left) ? left : right, left + right);
      case BinaryOperator::sub: return is_named(right) ? owner(left) != owner(right) : !stays(left, left - right);
      case BinaryOperator::bit_and: return both_named(left, right) || !is_mask(other(left, right), true);
      case BinaryOperator::bit_or:
      case BinaryOperator::bit_xor: return both_named(left, right) || !is_mask(other(left, right), false);
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

  bool is_named(Value value) const { return value >= start_ && value < end_; }
  bool both_named(Value left, Value right) const { return is_named(left) && is_named(right); }
  Value other(Value left, Value right) const { return is_named(left) ? right : left; }
  static Value owner(Value value) { return value >> half; }
  bool stays(Value address, Value result) const { return owner(address) == owner(result); }

  static bool is_mask(Value value, bool may_keep) {
    return owner(value) == 0 || (may_keep && owner(value) == owner(~Value{0}));
  }

  Address start_;
  Address end_;
};

}  // namespace dekker::rsmc
