// What the arguments of all engines have in common: instructions and expressions as flat numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "dekker/code.hpp"

namespace dekker {

using Numbers = std::vector<std::int64_t>;

inline std::int32_t small(std::int64_t number) { return static_cast<std::int32_t>(number); }
inline std::uint8_t tiny(std::int64_t number) { return static_cast<std::uint8_t>(number); }

enum CommonFlag : std::int64_t { flag_signed = 1, flag_exclusive = 2, flag_weak = 4, flag_program = 8 };

// operation destination success address value expected size update flags target low high first_argument n_arguments, and then
// what one engine alone needs
inline constexpr std::size_t common_fields = 14;

template <class Instruction, class Operation>
Instruction read_common_fields(std::span<const std::int64_t> n) {
  Instruction i{.operation = static_cast<Operation>(n[0])};
  i.destination = small(n[1]);
  i.success = small(n[2]);
  i.address = small(n[3]);
  i.value = small(n[4]);
  i.expected = small(n[5]);
  i.size = tiny(n[6]);
  i.update = tiny(n[7]);
  i.is_signed = (n[8] & flag_signed) != 0;
  i.is_exclusive = (n[8] & flag_exclusive) != 0;
  i.is_weak = (n[8] & flag_weak) != 0;
  i.ends_program = (n[8] & flag_program) != 0;
  i.target = small(n[9]);
  i.low = n[10];
  i.high = n[11];
  i.first_argument = small(n[12]);
  i.n_arguments = small(n[13]);
  return i;
}

template <class Read>
auto read_code(const Numbers& code, std::size_t fields, Read read) {
  if (code.size() % fields != 0) throw std::invalid_argument("the code of a block has a broken instruction");
  std::vector<decltype(read(std::span(code)))> result;
  for (std::size_t i = 0; i < code.size(); i += fields) result.push_back(read(std::span(code).subspan(i, fields)));
  return result;
}

// code operation width operand, repeated
using ExpressionArgument = std::vector<Value>;

inline Expression read_expression(const ExpressionArgument& numbers) {
  Expression expression;
  for (std::size_t i = 0; i + 3 < numbers.size(); i += 4)
    expression.push_back({static_cast<ExpressionCode>(numbers[i]), static_cast<std::uint8_t>(numbers[i + 1]),
                          static_cast<std::uint8_t>(numbers[i + 2]), numbers[i + 3]});
  return expression;
}

// Does any code make an indeterminate value?
template <class Program>
bool may_be_undefined(const Program& program) {
  const auto is_unset = [](const ExpressionStep& step) { return step.code == ExpressionCode::constant && step.operation != 0; };
  const auto has_unset = [&](const Expression& expression) { return std::ranges::any_of(expression, is_unset); };
  const auto makes = [](const auto& instruction) { return instruction.is_unset; };
  const auto any = [&](const auto& block) { return std::ranges::any_of(block.code, makes); };
  return std::ranges::any_of(program.expressions, has_unset) || std::ranges::any_of(program.threads, any) ||
         std::ranges::any_of(program.functions, any);
}

using ObservableArgument = std::tuple<std::int32_t, std::int32_t, Address, std::int64_t>;

// What memory holds at the start, and what is looked at in the end.
template <class Program>
void read_memory(Program& program, const std::vector<std::pair<Address, std::int64_t>>& bytes,
                 const std::vector<std::pair<Address, Address>>& objects, const std::vector<ObservableArgument>& observed) {
  for (const auto& [address, byte] : bytes) program.initial_bytes[address] = tiny(byte);
  for (const auto& [start, size] : objects) program.objects.push_back({start, size});
  for (const auto& [thread, number, address, size] : observed)
    program.observed.push_back({thread, number, address, tiny(size)});
}

}  // namespace dekker
