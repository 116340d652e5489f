// Which threads do the same, although they were not given the same arguments? Found from the code alone: every value that
// depends on an argument is followed. Where it is used, it must be the same for both threads, or be the address of the same in
// their parts of an array of which each thread has one.
#pragma once

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "dekker/arithmetic.hpp"
#include "dekker/rsmc/program.hpp"
#include "rsmc/own_places.hpp"

namespace dekker::rsmc {

// With what a thread begins; an argument that is not known is not there.
struct ThreadStart {
  std::int32_t block = none;
  std::vector<std::optional<Value>> arguments;

  bool operator==(const ThreadStart&) const = default;
  bool is_known() const {
    return block != none && std::ranges::all_of(arguments, [](const auto& argument) { return argument.has_value(); });
  }
};

// What is known of a value in two threads: nothing, these two, that it is the same but for the names of the threads, or
// perhaps not.
struct PairOfValues {
  enum class Kind : std::uint8_t { nothing, known, same, unlike };
  Kind kind = Kind::nothing;
  Value left = 0, right = 0;

  bool operator==(const PairOfValues&) const = default;
  bool is_known() const { return kind == Kind::known; }
};

// Follows the code of two threads, or of one beside itself.
class AlikeStarts {
 public:
  // Addresses in one array.
  struct InArray {
    std::size_t array;
    Value left, right;
  };

  AlikeStarts(const Program& program, const std::vector<ObjectRange>& arrays) : program_(program), arrays_(arrays) {
    results_matter_ = program.has([](const Instruction& i) { return i.operation == Operation::join && i.destination != none; });
  }

  bool are_alike(const ThreadStart& left, const ThreadStart& right) {
    if (left.block != right.block || left.arguments.size() != right.arguments.size()) return false;
    if (!left.is_known() || !right.is_known()) return false;
    begin(left, right);
    do {
      has_changed_ = false;
      for (std::size_t i = 0; i < found_.size() && is_alike_; ++i) follow(found_[i].block);
    } while (has_changed_ && is_alike_);
    return is_alike_ && gives_same_result(left.block);
  }

  // Of two that are alike: may they come there?
  bool is_reached(std::int32_t block, std::size_t pc) const {
    const auto found = std::ranges::find(found_, block, &Followed::block);
    return found != found_.end() && found->reached[pc];
  }

  // Of what was followed last: which arrays were used, where; in which of them other things were done; the expressions that
  // add to an address in an array what is known only when the thread runs; these and those whose values are known; and those
  // that also have others.
  const std::vector<InArray>& in_arrays() const { return in_arrays_; }
  const std::set<std::size_t>& misused() const { return misused_; }
  const std::set<std::int32_t>& open_expressions() const { return open_; }
  const std::set<std::int32_t>& followed_expressions() const { return known_; }
  const std::set<std::int32_t>& other_expressions() const { return unknown_; }

 private:
  using Pair = PairOfValues;
  static constexpr Pair same{Pair::Kind::same};
  static constexpr Pair unlike{Pair::Kind::unlike};
  static constexpr Pair zero{Pair::Kind::known};

  struct Followed {
    std::int32_t block = none;
    std::vector<Pair> registers{};
    std::vector<bool> reached{};
    Pair result{};
  };

  void begin(const ThreadStart& left, const ThreadStart& right) {
    is_alike_ = true;
    found_.clear();
    in_arrays_.clear();
    misused_.clear();
    open_.clear();
    known_.clear();
    unknown_.clear();
    Followed& first = followed(left.block);
    for (std::size_t i = 0; i < left.arguments.size(); ++i)
      give(first, i, {Pair::Kind::known, *left.arguments[i], *right.arguments[i]});
  }

  // What a thread gives to those who join it must not depend on what it does, if they look.
  bool gives_same_result(std::int32_t block) {
    const Pair result = followed(block).result;
    if (results_matter_) return result.kind == Pair::Kind::nothing || (result.is_known() && result.left == result.right);
    return renamed(result).kind != Pair::Kind::unlike;
  }

  std::optional<std::size_t> array_at(Value value) const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (value >= arrays_[i].start && value - arrays_[i].start <= arrays_[i].size) return i;
    return std::nullopt;
  }

  // The same but for the names of the threads, if it is.
  Pair renamed(const Pair& pair) {
    if (!pair.is_known()) return pair;
    const std::optional<std::size_t> of_left = array_at(pair.left), of_right = array_at(pair.right);
    if (of_left && of_left == of_right) {
      in_arrays_.push_back({*of_left, pair.left, pair.right});
      return same;
    }
    return pair.left == pair.right ? pair : unlike;
  }

  Pair joined(const Pair& left, const Pair& right) {
    if (left.kind == Pair::Kind::nothing || left == right) return right;
    if (right.kind == Pair::Kind::nothing) return left;
    const Pair a = renamed(left), b = renamed(right);
    return a == unlike || b == unlike ? unlike : same;
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

  void follow(std::int32_t block) {
    const std::vector<Instruction>& code = program_.block(block).code;
    for (std::size_t pc = 0; pc < code.size() && is_alike_; ++pc)
      if (followed(block).reached[pc]) follow(block, pc, code[pc]);
    if (followed(block).reached[code.size()]) put(followed(block).result, zero);
  }

  void follow(std::int32_t block, std::size_t pc, const Instruction& i) {
    switch (i.operation) {
      case Operation::assign: put_in(block, i.destination, value(block, i.value)); break;
      case Operation::jump: reach(block, at(i.target)); return;
      case Operation::branch:
        if (branches(block, i)) return;
        break;
      case Operation::call:
        if (!call(block, i)) return;
        break;
      case Operation::give_back: give_back(block, i); return;
      case Operation::exit: return;
      default: use(block, i);
    }
    reach(block, pc + 1);
  }

  // Always?
  bool branches(std::int32_t block, const Instruction& i) {
    const Pair condition = value(block, i.value);
    require(condition);
    if (!condition.is_known() || condition.left != 0) reach(block, at(i.target));
    return condition.is_known() && condition.left != 0;
  }

  void give_back(std::int32_t block, const Instruction& i) {
    const Pair result = i.value == none ? zero : value(block, i.value);
    put(followed(block).result, result);
  }

  static bool may_use_addresses(Operation operation) {
    switch (operation) {
      case Operation::load:
      case Operation::store:
      case Operation::store_conditional:
      case Operation::read_modify_write:
      case Operation::compare_exchange:
      case Operation::assume:
      case Operation::check:
      case Operation::await: return true;
      default: return false;
    }
  }

  void use(std::int32_t block, const Instruction& i) {
    const std::size_t n_before = in_arrays_.size();
    for (const std::int32_t expression : {i.address, i.value, i.expected})
      if (expression != none) require(value(block, expression));
    for (std::int32_t n = 0; n < i.n_arguments; ++n) require(argument(block, i, n));
    if (!may_use_addresses(i.operation)) misuse(n_before);
    for (const std::int32_t written : {i.destination, i.success})
      if (written != none) put_in(block, written, same);
    if (i.operation == Operation::await) reach(block, at(i.target));
  }

  void misuse(std::size_t from) {
    for (std::size_t n = from; n < in_arrays_.size(); ++n) misused_.insert(in_arrays_[n].array);
  }

  // Is it known what comes back, if anybody looks?
  bool call(std::int32_t block, const Instruction& i) {
    if (i.target != none) return call_block(block, i, i.target);
    const Pair target = value(block, i.value);
    require(target);
    const auto function = target.is_known() ? program_.function_at.find(target.left) : program_.function_at.end();
    if (function != program_.function_at.end()) return call_block(block, i, function->second);
    for (const auto& [address, any] : program_.function_at) call_block(block, i, any);
    if (i.destination != none) put_in(block, i.destination, same);
    return true;
  }

  bool call_block(std::int32_t block, const Instruction& i, std::int32_t callee) {
    for (std::int32_t n = 0; n < i.n_arguments; ++n) {
      const Pair given = argument(block, i, n);
      give(followed(callee), static_cast<std::size_t>(n), given);
    }
    const Pair result = followed(callee).result;
    if (i.destination != none) put_in(block, i.destination, result);
    return i.destination == none || result.kind != Pair::Kind::nothing;
  }

  void put_in(std::int32_t block, std::int32_t number, const Pair& value) { put(followed(block).registers[at(number)], value); }

  void reach(std::int32_t block, std::size_t pc) {
    std::vector<bool>& reached = followed(block).reached;
    has_changed_ = has_changed_ || !reached[pc];
    reached[pc] = true;
  }

  void require(const Pair& used) { is_alike_ = renamed(used) != unlike && is_alike_; }

  Pair argument(std::int32_t block, const Instruction& i, std::int32_t n) {
    return value(block, program_.arguments[at(i.first_argument + n)]);
  }

  Pair value(std::int32_t block, std::int32_t expression) {
    const Pair result = evaluated(block, expression);
    (result.is_known() || open_.contains(expression) ? known_ : unknown_).insert(expression);
    return result;
  }

  Pair evaluated(std::int32_t block, std::int32_t expression) {
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
        case ExpressionCode::register_value: stack.push_back(content(block, step.operand)); break;
        case ExpressionCode::unary: stack.push_back(of_one(step, pop())); break;
        case ExpressionCode::binary: {
          const Pair right = pop(), left = pop();
          stack.push_back(of_two(expression, step, left, right));
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

  // Zero, if nothing was put there on some way to here.
  Pair content(std::int32_t block, Value number) {
    Pair& found = followed(block).registers[number];
    if (found.kind == Pair::Kind::nothing) put(found, zero);
    return found;
  }

  static Pair of_one(const ExpressionStep& step, const Pair& operand) {
    if (!operand.is_known()) return operand;
    const auto result = [&](Value v) { return apply(static_cast<UnaryOperator>(step.operation), step.width, v); };
    return {Pair::Kind::known, result(operand.left), result(operand.right)};
  }

  Pair of_two(std::int32_t expression, const ExpressionStep& step, const Pair& left, const Pair& right) {
    const auto operation = static_cast<BinaryOperator>(step.operation);
    if (left.is_known() && right.is_known()) {
      const auto result = [&](Value a, Value b) { return apply(operation, step.width, a, b); };
      return {Pair::Kind::known, result(left.left, right.left), result(left.right, right.right)};
    }
    const std::size_t n_before = in_arrays_.size();
    const Pair a = renamed(left), b = renamed(right);
    if (a == unlike || b == unlike) return unlike;
    if (in_arrays_.size() == n_before) return same;
    if (operation == BinaryOperator::add || operation == BinaryOperator::sub) open_.insert(expression);
    else if (operation != BinaryOperator::eq && operation != BinaryOperator::ne) misuse(n_before);
    return same;
  }

  Pair selected(const Pair& condition, const Pair& then, const Pair& other) {
    if (condition.is_known()) {
      const Pair &of_left = condition.left != 0 ? then : other, &of_right = condition.right != 0 ? then : other;
      if (&of_left == &of_right) return of_left;
      if (of_left.is_known() && of_right.is_known()) return {Pair::Kind::known, of_left.left, of_right.right};
      return unlike;
    }
    if (condition == unlike) return unlike;
    const Pair a = renamed(then), b = renamed(other);
    return a == unlike || b == unlike ? unlike : same;
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  const Program& program_;
  const std::vector<ObjectRange>& arrays_;
  bool results_matter_ = false;
  bool is_alike_ = true;
  bool has_changed_ = false;
  std::vector<Followed> found_;
  std::vector<InArray> in_arrays_;
  std::set<std::size_t> misused_;
  std::set<std::int32_t> open_, known_, unknown_;
};

}  // namespace dekker::rsmc
