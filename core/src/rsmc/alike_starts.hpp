// Do two threads do the same, although they were not given the same arguments? Found from the code alone: every value that
// depends on an argument is followed, and must be the same for both wherever it is used.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "dekker/arithmetic.hpp"
#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// With what a thread begins; an argument that is not known is not there.
struct ThreadStart {
  std::int32_t block = none;
  std::vector<std::optional<Value>> arguments;

  bool operator==(const ThreadStart&) const = default;
};

// What is known of a register in both threads: nothing is put there, these two values, the same that is not known, or
// perhaps not the same.
struct PairOfValues {
  enum class Kind : std::uint8_t { nothing, known, same, unlike };
  Kind kind = Kind::nothing;
  Value left = 0, right = 0;

  bool operator==(const PairOfValues&) const = default;
  bool is_known() const { return kind == Kind::known; }
  bool is_same() const { return kind == Kind::nothing || kind == Kind::same || (is_known() && left == right); }
};

class AlikeStarts {
 public:
  explicit AlikeStarts(const Program& program) : program_(program) {
    results_matter_ = program.has([](const Instruction& i) { return i.operation == Operation::join && i.destination != none; });
  }

  bool are_alike(const ThreadStart& left, const ThreadStart& right) {
    const auto are_known = [](const ThreadStart& start) {
      return std::ranges::all_of(start.arguments, [](const auto& argument) { return argument.has_value(); });
    };
    if (left.block != right.block || left.arguments.size() != right.arguments.size() || left.block == none) return false;
    if (!are_known(left) || !are_known(right)) return false;
    begin(left, right);
    do {
      has_changed_ = false;
      for (std::size_t i = 0; i < found_.size() && is_alike_; ++i) follow(found_[i]);
    } while (has_changed_ && is_alike_);
    return is_alike_ && give_same_results(left.block);
  }

 private:
  using Pair = PairOfValues;
  static constexpr Pair same{Pair::Kind::same};
  static constexpr Pair unlike{Pair::Kind::unlike};

  struct Followed {
    std::int32_t block = none;
    std::vector<Pair> registers{};
    std::vector<bool> reached{};
    Pair result{};
  };

  void begin(const ThreadStart& left, const ThreadStart& right) {
    is_alike_ = true;
    found_.clear();
    Followed& first = followed(left.block);
    for (std::size_t i = 0; i < left.arguments.size(); ++i)
      give(first, i, {Pair::Kind::known, *left.arguments[i], *right.arguments[i]});
  }

  // What others put into the result of a thread that is asked for is known only if nothing but constants are.
  bool give_same_results(std::int32_t block) {
    const Pair result = followed(block).result;
    return result.is_same() && (!results_matter_ || result.is_known() || result.kind == Pair::Kind::nothing);
  }

  static Pair joined(const Pair& left, const Pair& right) {
    if (left.kind == Pair::Kind::nothing || left == right) return right;
    if (right.kind == Pair::Kind::nothing) return left;
    return left.is_same() && right.is_same() ? same : unlike;
  }

  void put(Pair& place, const Pair& value) {
    const Pair result = joined(place, value);
    has_changed_ = has_changed_ || result != place;
    place = result;
  }

  void give(Followed& callee, std::size_t argument, const Pair& value) {
    const std::vector<std::int32_t>& parameters = program_.block(callee.block).parameters;
    if (argument < parameters.size()) put(callee.registers[at(parameters[argument])], value);
  }

  // Its address lasts until the next block is found.
  Followed& followed(std::int32_t block) {
    for (Followed& item : found_)
      if (item.block == block) return item;
    const Block& code = program_.block(block);
    Followed& added = found_.emplace_back(Followed{block});
    added.registers.resize(static_cast<std::size_t>(code.n_registers));
    added.reached.resize(code.code.size() + 1, false);
    added.reached[0] = true;
    for (const auto& [number, value] : code.initial_registers) added.registers[at(number)] = {Pair::Kind::known, value, value};
    has_changed_ = true;
    return added;
  }

  void follow(const Followed& of) {
    const std::int32_t block = of.block;
    const std::vector<Instruction>& code = program_.block(block).code;
    for (std::size_t pc = 0; pc < code.size() && is_alike_; ++pc)
      if (followed(block).reached[pc]) follow(block, pc, code[pc]);
  }

  void follow(std::int32_t block, std::size_t pc, const Instruction& i) {
    switch (i.operation) {
      case Operation::assign: put(followed(block).registers[at(i.destination)], value(block, i.value)); break;
      case Operation::jump: reach(block, at(i.target)); return;
      case Operation::branch: branch(block, i); break;
      case Operation::call: call(block, i); break;
      case Operation::give_back:
        if (i.value != none) put(followed(block).result, value(block, i.value));
        return;
      default: use(block, i);
    }
    if (i.operation == Operation::exit) return;
    if (i.operation != Operation::branch) reach(block, pc + 1);
    else if (!always(block, i)) reach(block, pc + 1);
  }

  void branch(std::int32_t block, const Instruction& i) {
    const Pair condition = value(block, i.value);
    require(condition);
    if (!condition.is_known() || condition.left != 0) reach(block, at(i.target));
  }

  bool always(std::int32_t block, const Instruction& i) {
    const Pair condition = value(block, i.value);
    return condition.is_known() && condition.left != 0;
  }

  void use(std::int32_t block, const Instruction& i) {
    for (const std::int32_t expression : {i.address, i.value, i.expected})
      if (expression != none) require(value(block, expression));
    for (std::int32_t n = 0; n < i.n_arguments; ++n) require(argument(block, i, n));
    for (const std::int32_t written : {i.destination, i.success})
      if (written != none) put(followed(block).registers[at(written)], same);
    if (i.operation == Operation::await) reach(block, at(i.target));
  }

  void call(std::int32_t block, const Instruction& i) {
    std::optional<std::int32_t> callee;
    if (i.target != none) {
      callee = i.target;
    } else {
      const Pair target = value(block, i.value);
      require(target);
      const auto function = target.is_known() ? program_.function_at.find(target.left) : program_.function_at.end();
      if (function != program_.function_at.end()) callee = function->second;
    }
    if (callee) {
      call_block(block, i, *callee);
      return;
    }
    for (const auto& [address, any] : program_.function_at) call_block(block, i, any);
    if (i.destination != none) put(followed(block).registers[at(i.destination)], same);
  }

  void call_block(std::int32_t block, const Instruction& i, std::int32_t callee) {
    for (std::int32_t n = 0; n < i.n_arguments; ++n) {
      const Pair given = argument(block, i, n);
      give(followed(callee), static_cast<std::size_t>(n), given);
    }
    const Pair result = followed(callee).result;
    if (i.destination != none) put(followed(block).registers[at(i.destination)], result);
  }

  void reach(std::int32_t block, std::size_t pc) {
    std::vector<bool>& reached = followed(block).reached;
    has_changed_ = has_changed_ || !reached[pc];
    reached[pc] = true;
  }

  void require(const Pair& used) { is_alike_ = is_alike_ && used.is_same(); }

  Pair argument(std::int32_t block, const Instruction& i, std::int32_t n) {
    return value(block, program_.arguments[at(i.first_argument + n)]);
  }

  Pair value(std::int32_t block, std::int32_t expression) {
    const std::vector<Pair>& registers = followed(block).registers;
    std::vector<Pair> stack;
    const auto pop = [&] {
      const Pair top = stack.back();
      stack.pop_back();
      return top;
    };
    for (const ExpressionStep& step : program_.expressions[at(expression)]) {
      switch (step.code) {
        case ExpressionCode::constant:
          stack.push_back(step.operation != 0 ? same : Pair{Pair::Kind::known, step.operand, step.operand});
          break;
        case ExpressionCode::register_value: stack.push_back(registers[step.operand]); break;
        case ExpressionCode::unary: stack.push_back(of_one(step, pop())); break;
        case ExpressionCode::binary: {
          const Pair right = pop(), left = pop();
          stack.push_back(of_two(step, left, right));
          break;
        }
        case ExpressionCode::select: {
          const Pair other = pop(), then = pop(), condition = pop();
          stack.push_back(selected(condition, then, other));
          break;
        }
      }
    }
    return stack.back();
  }

  static Pair of_one(const ExpressionStep& step, const Pair& operand) {
    if (!operand.is_known()) return operand;
    const auto result = [&](Value v) { return apply(static_cast<UnaryOperator>(step.operation), step.width, v); };
    return {Pair::Kind::known, result(operand.left), result(operand.right)};
  }

  static Pair of_two(const ExpressionStep& step, const Pair& left, const Pair& right) {
    if (left.is_known() && right.is_known()) {
      const auto result = [&](Value a, Value b) { return apply(static_cast<BinaryOperator>(step.operation), step.width, a, b); };
      return {Pair::Kind::known, result(left.left, right.left), result(left.right, right.right)};
    }
    return left.is_same() && right.is_same() ? same : unlike;
  }

  static Pair selected(const Pair& condition, const Pair& then, const Pair& other) {
    if (condition.is_known()) {
      const Pair &of_left = condition.left != 0 ? then : other, &of_right = condition.right != 0 ? then : other;
      if (&of_left == &of_right) return of_left;
      if (of_left.is_known() && of_right.is_known()) return {Pair::Kind::known, of_left.left, of_right.right};
      return unlike;
    }
    return condition.is_same() && then.is_same() && other.is_same() ? same : unlike;
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  const Program& program_;
  bool results_matter_ = false;
  bool is_alike_ = true;
  bool has_changed_ = false;
  std::vector<Followed> found_;
};

}  // namespace dekker::rsmc
