// Values that may not be known yet, and what they were computed from.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
NodeId Machine<W>::constant(Value value, Value undefined) {
  if (value == 0 && undefined == 0) return 0;
  note_undefined(undefined);
  nodes_.push_back(Node::of_constant(value, undefined));
  return static_cast<NodeId>(nodes_.size() - 1);
}

template <std::size_t W>
NodeId Machine<W>::add(const Node& node) {
  nodes_.push_back(node);
  const NodeId id = static_cast<NodeId>(nodes_.size() - 1);
  if (const std::optional<Value> known_value = value(id)) {
    const Value bits = has_seen_undefined_ ? undefined(id) : 0;
    nodes_.pop_back();
    return constant(*known_value, bits);
  }
  return id;
}

template <std::size_t W>
RegisterContent<W> Machine<W>::evaluate(const ThreadState<W>& state, std::int32_t expression) {
  std::vector<RegisterContent<W>>& stack = stack_;
  stack.clear();
  for (const ExpressionStep& step : program_.expressions[at(expression)]) evaluate_step(state, step, stack);
  return stack.back();
}

template <std::size_t W>
void Machine<W>::evaluate_step(const ThreadState<W>& state, const ExpressionStep& step,
                               std::vector<RegisterContent<W>>& stack) {
  const auto pop = [&] {
    RegisterContent<W> top = stack.back();
    stack.pop_back();
    return top;
  };
  switch (step.code) {
    case ExpressionCode::constant:
      stack.push_back({constant(step.operand, step.operation != 0 ? ~Value{0} : 0), {}});
      break;
    case ExpressionCode::register_value: stack.push_back(state.registers[state.base + step.operand]); break;
    case ExpressionCode::unary: {
      RegisterContent<W> operand = pop();
      operand.node = add({.kind = Node::Kind::unary, .operation = step.operation, .width = step.width, .a = operand.node});
      stack.push_back(operand);
      break;
    }
    case ExpressionCode::binary: {
      const RegisterContent<W> right = pop();
      RegisterContent<W> left = pop();
      left.node = add({.kind = Node::Kind::binary, .operation = step.operation, .width = step.width, .a = left.node, .b = right.node});
      merge(left.sources, right.sources);
      stack.push_back(left);
      break;
    }
    case ExpressionCode::select: {
      const RegisterContent<W> other = pop();
      const RegisterContent<W> then = pop();
      const RegisterContent<W> condition = pop();
      stack.push_back(selected(condition, then, other));
      break;
    }
  }
}

// Only the chosen alternative's sources flow on if the choice is known already.
template <std::size_t W>
RegisterContent<W> Machine<W>::selected(const RegisterContent<W>& condition, const RegisterContent<W>& then,
                                        const RegisterContent<W>& other) {
  RegisterContent<W> result;
  const std::optional<Value> choice = value(condition.node);
  if (choice) {
    result = *choice != 0 ? then : other;
    if (has_seen_undefined_ && is_undecided(known(condition.node)))
      result.node = add({.kind = Node::Kind::tainted, .a = result.node});
  } else {
    result.node = add({.kind = Node::Kind::select, .a = condition.node, .b = then.node, .c = other.node});
    deferred_.push_back({condition.node, then.sources, other.sources});
    result.sources.deferred = static_cast<std::int32_t>(deferred_.size() - 1);
  }
  merge(result.sources, as_picked(condition.sources));
  return result;
}

template <std::size_t W>
Sources<W> Machine<W>::as_picked(const Sources<W>& sources) const {
  Sources<W> result;
  const Sources<W> exact = resolved(sources);
  result.picked = exact.direct | exact.picked;
  return result;
}

template <std::size_t W>
void Machine<W>::merge(Sources<W>& into, const Sources<W>& other) {
  into.direct |= other.direct;
  into.picked |= other.picked;
  if (other.deferred == none) return;
  if (into.deferred == none) {
    into.deferred = other.deferred;
    return;
  }
  Sources<W> first, second;
  first.deferred = into.deferred;
  second.deferred = other.deferred;
  deferred_.push_back({std::nullopt, first, second});
  into.deferred = static_cast<std::int32_t>(deferred_.size() - 1);
}

template <std::size_t W>
bool Machine<W>::depends_on_more(const Sources<W>& own, const Sources<W>& other) {
  if (own.deferred != none && own.deferred != other.deferred) return true;
  return !(own.direct | own.picked).is_subset_of(other.direct | other.picked);
}

template <std::size_t W>
Sources<W> Machine<W>::sources_of(const ThreadState<W>& state, std::int32_t expression) {
  Sources<W> sources;
  for (const ExpressionStep& step : program_.expressions[at(expression)])
    if (step.code == ExpressionCode::register_value) merge(sources, state.registers[state.base + step.operand].sources);
  return sources;
}

template <std::size_t W>
std::optional<Value> Machine<W>::loaded_value(const Node& node) const {
  const Event<W>& e = events_[node.value];
  if (e.state != EventState::committed) return std::nullopt;
  return node.is_signed ? apply(UnaryOperator::sext, node.width, e.value) : e.value;
}

// Whether a compare-exchange succeeded.
template <std::size_t W>
std::optional<Value> Machine<W>::status_value(const Event<W>& write) const {
  if (write.state == EventState::absent) return 0;
  const Event<W>& read = events_[write.partner];
  if (read.state != EventState::committed) return std::nullopt;
  const std::optional<bool> succeeds = compare_succeeds(read, read.value);
  if (!succeeds) return std::nullopt;
  return *succeeds ? 1 : 0;
}

template <std::size_t W>
std::optional<Value> Machine<W>::chosen_value(const Event<W>& e) {
  if (e.state != EventState::committed) return std::nullopt;
  return e.value;
}

template <std::size_t W>
std::optional<Value> Machine<W>::operation_value(const Node& node) const {
  const std::optional<Value> a = value(node.a);
  if (!a || node.kind == Node::Kind::tainted) return a;
  if (node.kind == Node::Kind::select) return value(*a != 0 ? node.b : node.c);
  if (node.kind == Node::Kind::unary) return applied<UnaryOperator>(node, *a);
  const std::optional<Value> b = value(node.b);
  if (!b) return std::nullopt;
  if (node.kind == Node::Kind::update) return applied<UpdateOperator>(node, *a, *b);
  return applied<BinaryOperator>(node, *a, *b);
}

template <std::size_t W>
template <class Operator, class... Operands>
Value Machine<W>::applied(const Node& node, Operands... operands) const {
  const auto operation = static_cast<Operator>(node.operation);
  if (renames_ && told_addresses_.by(operation, node.width, operands...)) note_told_apart();
  return apply(operation, node.width, operands...);
}

}  // namespace dekker::rsmc
