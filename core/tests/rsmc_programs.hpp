// Programs for the explorer, written down as threads of lines: `{load(0, x), store(y, reg(0) + 1)}`.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dekker/arithmetic.hpp"
#include "dekker/rsmc/explore.hpp"

namespace rsmc_tests {

using dekker::ModelProgram;
using dekker::Address;
using dekker::rsmc::CommitOrder;
using dekker::rsmc::Instruction;
using dekker::rsmc::Limits;
using dekker::none;
using dekker::rsmc::Operation;
using dekker::rsmc::Outcome;
using dekker::rsmc::Program;
using dekker::Value;

// ---- Expressions -----------------------------------------------------------------------------------------------------

struct Expr {
  dekker::Expression steps;

  Expr() = default;
  template <std::integral Number>
  Expr(Number number) : steps{{dekker::ExpressionCode::constant, 0, 0, static_cast<Value>(number)}} {}
};

inline Expr reg(int number) {
  Expr result;
  result.steps.push_back({dekker::ExpressionCode::register_value, 0, 0, static_cast<Value>(number)});
  return result;
}

inline Expr binary(dekker::BinaryOperator operation, Expr left, const Expr& right) {
  left.steps.insert(left.steps.end(), right.steps.begin(), right.steps.end());
  left.steps.push_back({dekker::ExpressionCode::binary, static_cast<std::uint8_t>(operation), 64, 0});
  return left;
}

inline Expr operator+(Expr left, const Expr& right) { return binary(dekker::BinaryOperator::add, std::move(left), right); }
inline Expr operator*(Expr left, const Expr& right) { return binary(dekker::BinaryOperator::mul, std::move(left), right); }
inline Expr operator&(Expr left, const Expr& right) { return binary(dekker::BinaryOperator::bit_and, std::move(left), right); }
inline Expr operator==(Expr left, const Expr& right) { return binary(dekker::BinaryOperator::eq, std::move(left), right); }
inline Expr operator!=(Expr left, const Expr& right) { return binary(dekker::BinaryOperator::ne, std::move(left), right); }

inline Expr select(Expr condition, const Expr& then, const Expr& other) {
  for (const Expr* part : {&then, &other}) condition.steps.insert(condition.steps.end(), part->steps.begin(), part->steps.end());
  condition.steps.push_back({dekker::ExpressionCode::select, 0, 0, 0});
  return condition;
}

// The address, with a dependency on the register.
inline Expr depending(Address address, int number) { return Expr(address) + (reg(number) & 0); }

// ---- Lines -----------------------------------------------------------------------------------------------------------

// Classes of events, in the order of Program::classes.
enum class Class : std::int32_t { initial, read, write, update_read, update_write, linked_read, conditional_write, fence, store_fence };
inline constexpr int n_classes = 9;

struct Line {
  Instruction instruction;
  Expr address{}, value{}, expected{};
};

inline std::int32_t number(Class event_class) { return static_cast<std::int32_t>(event_class); }

inline Line assign(int destination, Expr value) {
  return {{.operation = Operation::assign, .destination = destination}, {}, std::move(value)};
}

inline Line load(int destination, Expr address, std::uint8_t size = 8, bool is_signed = false) {
  return {{.operation = Operation::load, .destination = destination, .size = size, .is_signed = is_signed,
           .read_class = number(Class::read)},
          std::move(address)};
}

inline Line store(Expr address, Expr value, std::uint8_t size = 8) {
  return {{.operation = Operation::store, .size = size, .write_class = number(Class::write)}, std::move(address), std::move(value)};
}

inline Line load_linked(int destination, Expr address) {
  return {{.operation = Operation::load, .destination = destination, .size = 8, .is_exclusive = true,
           .read_class = number(Class::linked_read)},
          std::move(address)};
}

// The status is 0 for success and 1 for failure.
inline Line store_conditional(int status, Expr address, Expr value) {
  return {{.operation = Operation::store_conditional, .destination = status, .size = 8,
           .write_class = number(Class::conditional_write)},
          std::move(address), std::move(value)};
}

inline Line update(dekker::UpdateOperator operation, int destination, Expr address, Expr operand) {
  return {{.operation = Operation::read_modify_write, .destination = destination, .size = 8,
           .update = static_cast<std::uint8_t>(operation), .read_class = number(Class::update_read),
           .write_class = number(Class::update_write), .failed_class = number(Class::update_read)},
          std::move(address), std::move(operand)};
}

inline Line fetch_add(int destination, Expr address, Expr operand) {
  return update(dekker::UpdateOperator::add, destination, std::move(address), std::move(operand));
}

inline Line exchange(int destination, Expr address, Expr operand) {
  return update(dekker::UpdateOperator::exchange, destination, std::move(address), std::move(operand));
}

inline Line compare_exchange(int destination, int success, Expr address, Expr expected, Expr desired, bool is_weak = false) {
  return {{.operation = Operation::compare_exchange, .destination = destination, .success = success, .size = 8,
           .is_weak = is_weak, .read_class = number(Class::update_read), .write_class = number(Class::update_write),
           .failed_class = number(Class::read)},
          std::move(address), std::move(desired), std::move(expected)};
}

inline Line fence() { return {{.operation = Operation::fence, .read_class = number(Class::fence)}}; }
inline Line store_fence() { return {{.operation = Operation::fence, .read_class = number(Class::store_fence)}}; }
inline Line jump(std::int32_t target) { return {{.operation = Operation::jump, .target = target}}; }
inline Line branch(Expr condition, std::int32_t target) {
  return {{.operation = Operation::branch, .target = target}, {}, std::move(condition)};
}
inline Line assume(Expr condition) { return {{.operation = Operation::assume}, {}, std::move(condition)}; }
inline Line check_that(Expr condition) { return {{.operation = Operation::check}, {}, std::move(condition)}; }
// Waits until the condition holds; what it reads begins at `target`.
inline Line await_that(Expr condition, std::int32_t target) {
  return {{.operation = Operation::await, .target = target}, {}, std::move(condition)};
}
inline Line choose(int destination, std::int64_t low, std::int64_t high) {
  return {{.operation = Operation::choose, .destination = destination, .low = low, .high = high}};
}
inline Line leave() { return {{.operation = Operation::exit}}; }

using Threads = std::vector<std::vector<Line>>;

// ---- Models ----------------------------------------------------------------------------------------------------------

// A model with the order that its events can be committed in.
struct Model {
  std::string name;
  ModelProgram program;
  std::vector<std::string> check_names;
  CommitOrder order;
};

// ---- Memory and compilation ------------------------------------------------------------------------------------------

// The shared objects, of 8 bytes each, and a large one for what no other thread is to see.
inline constexpr Address x = 0x1000, y = 0x1010, z = 0x1020, w = 0x1030, private_area = 0x100000;
inline constexpr Address private_size = 0x100000;
inline constexpr int n_registers = 6;

struct MemoryCell {
  Address address;
  std::uint8_t byte;
};

// Everything is observed: all registers of all threads, then x, y, z and w.
Program compile(const Threads& threads, const Model& model, const std::vector<MemoryCell>& initial = {});

std::size_t observed_register(int thread, int number);
std::size_t observed_location(const Threads& threads, Address address);

// Is an event of the class in the base set with this name?
bool is_member(Class event_class, std::string_view set);

Outcome explored(const Threads& threads, const Model& model, const Limits& limits = {});

}  // namespace rsmc_tests
