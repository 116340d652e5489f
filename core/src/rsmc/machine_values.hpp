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
  if (renames_) evaluating_ = expression;
  for (const ExpressionStep& step : program_.expressions[at(expression)]) evaluate_step(state, step, stack);
  evaluating_ = none;
  if (renames_) note_evaluated(state.number, expression, stack.back().node);
  return stack.back();
}

// Until it is known which arrays are shared out, it is only remembered.
template <std::size_t W>
void Machine<W>::note_evaluated(std::int32_t thread, std::int32_t expression, NodeId node) {
  if (at(thread) < program_.threads.size()) return;
  if (!are_shared_out_) evaluated_.push_back({thread, expression, value(node)});
  else if (!open_expressions_.empty() && open_expressions_[at(expression)]) require_own({thread, expression, value(node)});
}

template <std::size_t W>
void Machine<W>::share_out(const std::vector<SharedOut>& arrays, const std::set<std::int32_t>& open,
                           const std::set<std::int32_t>& followed) {
  own_places_.share_out(arrays);
  are_shared_out_ = true;
  if (!arrays.empty()) {
    open_expressions_.resize(program_.expressions.size());
    followed_expressions_.resize(program_.expressions.size());
    for (const std::int32_t expression : open) open_expressions_[at(expression)] = true;
    for (const std::int32_t expression : followed) followed_expressions_[at(expression)] = true;
  }
  for (const Evaluated& evaluated : evaluated_)
    if (open.contains(evaluated.expression)) require_own(evaluated);
  for (const Applied& applied : applied_)
    if (tells_address(applied)) note_told_apart();
  if (std::ranges::any_of(made_alone_, [&](Value address) { return own_places_.is_named(address); })) note_told_apart();
  evaluated_.clear();
  applied_.clear();
  made_alone_.clear();
}

template <std::size_t W>
void Machine<W>::require_own(const Evaluated& evaluated) const {
  if (!evaluated.value || !own_places_.is_in_array_of(evaluated.thread, *evaluated.value)) note_told_apart();
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
      if (operand.alternatives != 0)
        operand.alternatives = add_open({.kind = Node::Kind::unary, .operation = step.operation, .width = step.width, .a = operand.alternatives});
      stack.push_back(operand);
      break;
    }
    case ExpressionCode::binary: {
      const RegisterContent<W> right = pop();
      RegisterContent<W> left = pop();
      if (left.alternatives != 0 || right.alternatives != 0) {
        const NodeId a = alternatives_of(left), b = alternatives_of(right);
        left.alternatives = add_open({.kind = Node::Kind::binary, .operation = step.operation, .width = step.width, .a = a, .b = b});
      }
      left.node = add({.kind = Node::Kind::binary, .operation = step.operation, .width = step.width, .a = left.node, .b = right.node});
      merge(left.sources, right.sources);
      stack.push_back(left);
      break;
    }
    case ExpressionCode::select: {
      const RegisterContent<W> other = pop();
      const RegisterContent<W> then = pop();
      const RegisterContent<W> condition = pop();
      stack.push_back(selected(state, condition, then, other));
      break;
    }
  }
}

// Only the chosen alternative's sources flow on if the choice is known already.
template <std::size_t W>
RegisterContent<W> Machine<W>::selected(const ThreadState<W>& state, const RegisterContent<W>& condition,
                                        const RegisterContent<W>& then, const RegisterContent<W>& other) {
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
  if (order_.forwarding_of_updates && is_left_open(state, condition.sources)) {
    const NodeId b = alternatives_of(then), c = alternatives_of(other);
    result.alternatives = add_open({.kind = Node::Kind::select, .a = condition.node, .b = b, .c = c}, condition.sources);
  }
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

// What the thread does next is decided by what has these sources.
template <std::size_t W>
void Machine<W>::depend_on(ThreadState<W>& state, const Sources<W>& sources) {
  merge(state.control, sources);
  if (sources.deferred != none) state.idle_control = {};
  (sources.direct | sources.picked).for_each([&](std::size_t id) { state.idle_control.clear(id); });
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
  if (!a || node.kind == Node::Kind::tainted || node.kind == Node::Kind::alternative) return a;
  if (node.kind == Node::Kind::select) return value(*a != 0 ? node.b : node.c);
  if (node.kind == Node::Kind::unary) {
    const Value result = apply(static_cast<UnaryOperator>(node.operation), node.width, *a);
    if (renames_) note_applied({node, *a, 0, result, evaluating_});
    return result;
  }
  const std::optional<Value> b = value(node.b);
  if (!b) return std::nullopt;
  const Value result = node.kind == Node::Kind::update
                           ? apply(static_cast<UpdateOperator>(node.operation), node.width, *a, *b)
                           : apply(static_cast<BinaryOperator>(node.operation), node.width, *a, *b);
  if (renames_) note_applied({node, *a, *b, result, evaluating_});
  return result;
}

template <std::size_t W>
void Machine<W>::note_applied(const Applied& applied) const {
  if (tells_address(applied)) note_told_apart();
  if (is_alone_) note_made(applied);
  else if (!are_shared_out_) applied_.push_back(applied);
}

// The only thread computes the address of an object from what is none. Which arrays are shared out is found from the
// addresses in its code, and this is none of them.
template <std::size_t W>
void Machine<W>::note_made(const Applied& applied) const {
  const auto behind = std::ranges::upper_bound(program_.objects, applied.result, {}, &ObjectRange::start);
  if (behind == program_.objects.begin()) return;
  const ObjectRange& object = *std::prev(behind);
  const auto is_of_object = [&](Value value) { return value >= object.start && value - object.start <= object.size; };
  if (is_of_object(applied.result) && !is_of_object(applied.a) && !is_of_object(applied.b)) made_alone_.insert(applied.result);
}

template <std::size_t W>
bool Machine<W>::tells_address(const Applied& applied) const {
  const auto& [node, a, b, result, expression] = applied;
  const bool is_followed = own_places_.has_arrays() && expression != none && followed_expressions_[at(expression)];
  if (is_followed && !own_places_.is_on_heap(a) && !own_places_.is_on_heap(b)) return false;
  if (told_addresses_.by_making(a, b, result)) return true;
  switch (node.kind) {
    case Node::Kind::unary: return told_addresses_.by(static_cast<UnaryOperator>(node.operation), node.width, a);
    case Node::Kind::update: return told_addresses_.by(static_cast<UpdateOperator>(node.operation), node.width, a, b);
    default: return told_addresses_.by(static_cast<BinaryOperator>(node.operation), node.width, a, b);
  }
}

}  // namespace dekker::rsmc
