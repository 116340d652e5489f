// What loads may take for the value of a store of their thread before it is known: guesses.
//
// Where a selection orders only writes, a load has the value of such a store before what chooses that value is read, and
// before it is known whether a compare-exchange writes at all. The value is then guessed: of the alternatives that the
// selections leave, each is another value with other sources. Which there are must not depend on what is known already, so
// that the value is kept once more with these selections in it: nodes that are not folded, `alternative` where they end.
// Those and selections say by `Node::value` what they were computed from. A guess has a bit for each selection on its way.
#pragma once

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
NodeId Machine<W>::add_open(Node node, const Sources<W>& sources) {
  if (node.kind == Node::Kind::alternative || node.kind == Node::Kind::select) {
    node.value = deferred_.size();
    deferred_.push_back({std::nullopt, sources, {}});
  }
  const auto count = [&](NodeId id) { return n_selections(nodes_[id]); };
  switch (node.kind) {
    case Node::Kind::alternative: break;
    case Node::Kind::select:
      node.width = static_cast<std::uint8_t>(std::min(most_selections + 1, 1 + std::max(count(node.b), count(node.c))));
      break;
    case Node::Kind::unary: node.c = count(node.a); break;
    default: node.c = std::min(most_selections + 1, count(node.a) + count(node.b));
  }
  nodes_.push_back(node);
  return static_cast<NodeId>(nodes_.size() - 1);
}

// At most so many on the way to a value, and no more than are told apart and one.
template <std::size_t W>
unsigned Machine<W>::n_selections(const Node& node) {
  if (node.kind == Node::Kind::alternative) return 0;
  return node.kind == Node::Kind::select ? node.width : node.c;
}

template <std::size_t W>
void Machine<W>::set_alternatives(Event<W>& store, NodeId alternatives) const {
  store.is_too_open = alternatives != 0 && n_selections(nodes_[alternatives]) > most_selections;
  store.alternatives = store.is_too_open ? 0 : alternatives;
}

template <std::size_t W>
NodeId Machine<W>::alternatives_of(const RegisterContent<W>& content) {
  if (content.alternatives != 0) return content.alternatives;
  return add_open({.kind = Node::Kind::alternative, .a = content.node}, content.sources);
}

// Is the selection made by what is read, and does what comes later not wait for that anyway?
template <std::size_t W>
bool Machine<W>::is_left_open(const ThreadState<W>& state, const Sources<W>& condition) const {
  bool found = false;
  (condition.direct | condition.picked).for_each([&](std::size_t id) {
    found = found || !(state.control.direct.test(id) || state.control.picked.test(id));
  });
  return found;
}

// With the selections as guessed, or as they are if there is no guess.
template <std::size_t W>
GuessedValue<W> Machine<W>::guessed_value(NodeId alternatives, std::optional<std::uint16_t> guess) const {
  GuessedValue<W> result;
  if (guess) result.guess = *guess;
  const KnownBits found = follow(alternatives, guess.has_value(), result);
  result.value = found.value;
  result.undefined = found.undefined;
  return result;
}

template <std::size_t W>
KnownBits Machine<W>::follow(NodeId id, bool is_guess, GuessedValue<W>& way) const {
  const Node& node = nodes_[id];
  if (node.kind == Node::Kind::alternative) {
    const Sources<W> sources = resolved(deferred_[node.value].first);
    way.sources |= sources.direct;
    add_choices(sources, way.sources);
    way.is_known = way.is_known && value(node.a);
    return known(node.a);
  }
  if (node.kind == Node::Kind::select) {
    const unsigned number = way.n_selections++;
    if (!is_guess) {
      const std::optional<Value> condition = value(node.a);
      way.is_known = way.is_known && condition;
      if (condition.value_or(0) != 0) way.guess |= static_cast<std::uint16_t>(1u << number);
    }
    KnownBits found = follow((way.guess >> number & 1) != 0 ? node.b : node.c, is_guess, way);
    if (value(node.a) && is_undecided(known(node.a))) found.undefined = ~Value{0};
    return found;
  }
  const KnownBits a = follow(node.a, is_guess, way);
  if (node.kind == Node::Kind::unary) {
    const auto operation = static_cast<UnaryOperator>(node.operation);
    return {apply(operation, node.width, a.value), undefined_bits(operation, node.width, a)};
  }
  const KnownBits b = follow(node.b, is_guess, way);
  if (node.kind == Node::Kind::update) {
    const auto operation = static_cast<UpdateOperator>(node.operation);
    return {apply(operation, node.width, a.value, b.value), undefined_bits(operation, node.width, a, b)};
  }
  const auto operation = static_cast<BinaryOperator>(node.operation);
  return {apply(operation, node.width, a.value, b.value), undefined_bits(operation, node.width, a, b)};
}

// Choices come before what they choose.
template <std::size_t W>
void Machine<W>::add_choices(const Sources<W>& sources, FixedBits<W>& into) const {
  sources.picked.for_each([&](std::size_t id) {
    if (events_[id].kind == EventKind::choice) into.set(id);
  });
}

// All that a load could take for the value of the store, each once.
template <std::size_t W>
std::vector<GuessedValue<W>> Machine<W>::guessable_values(const Event<W>& store) const {
  if (store.alternatives == 0) return {value_of_store(store)};
  std::vector<GuessedValue<W>> found;
  for (std::optional<std::uint16_t> guess = 0; guess;) {
    GuessedValue<W> next = guessed_value(store.alternatives, guess);
    guess = next.next_guess();
    const auto is_same = [&](const GuessedValue<W>& other) { return other.is_like(next); };
    if (next.is_known && std::ranges::none_of(found, is_same)) found.push_back(next);
  }
  return found;
}

// What a load takes for the value of the store: as guessed, if it was.
template <std::size_t W>
GuessedValue<W> Machine<W>::value_of_store(const Event<W>& store) const {
  if (store.alternatives != 0) return guessed_value(store.alternatives, store.is_guessed ? std::optional(store.guess) : std::nullopt);
  GuessedValue<W> result;
  const Sources<W> sources = resolved(store.data_sources);
  result.sources = sources.direct;
  add_choices(sources, result.sources);
  result.is_known = value(store.value_node).has_value();
  result.value = value(store.value_node).value_or(0);
  result.undefined = undefined(store.value_node);
  return result;
}

// Will there be no such store as was guessed: a compare-exchange that was taken to succeed fails, or has no source at all, or
// what chooses the value was left out of the run?
template <std::size_t W>
bool Machine<W>::is_doomed(const Event<W>& store) const {
  if (store.alternatives != 0 && !are_decided(store.data_sources)) {
    bool is_over = nothing_pending(store.alternatives);
    for_each_selection(store.alternatives, [&](const Sources<W>& sources) {
      is_over = is_over && are_over({sources.direct, sources.picked, none});
    });
    if (is_over) return true;
  }
  if (store.role != Role::update_write || !store.is_compare) return false;
  const Event<W>& read = events_[store.partner];
  if (read.state == EventState::failed) return store.state != EventState::absent;
  return read.state == EventState::committed && read.must_succeed && !compare_succeeds(read, read.value).value_or(true);
}

// Is the store as loads have taken it to be?
template <std::size_t W>
bool Machine<W>::is_guessed_right(const Event<W>& store) const {
  if (is_doomed(store)) return false;
  if (!store.is_guessed || store.alternatives == 0) return true;
  return guessed_value(store.alternatives, store.guess).is_like(guessed_value(store.alternatives, std::nullopt));
}

// Is all decided that loads may take for its value?
template <std::size_t W>
bool Machine<W>::alternatives_are_decided(const Event<W>& store) const {
  if (store.alternatives != 0) return nothing_pending(store.alternatives);
  Sources<W> operand = store.data_sources;
  operand.picked = {};
  return are_decided(operand);
}

template <std::size_t W>
bool Machine<W>::nothing_pending(NodeId id) const {
  const Node& node = nodes_[id];
  switch (node.kind) {
    case Node::Kind::alternative: return are_over(deferred_[node.value].first);
    case Node::Kind::select: return nothing_pending(node.b) && nothing_pending(node.c);
    case Node::Kind::unary: return nothing_pending(node.a);
    default: return nothing_pending(node.a) && nothing_pending(node.b);
  }
}

// What decides which value the store writes, or whether it writes at all. Nothing if that is not known completely.
template <std::size_t W>
std::optional<FixedBits<W>> Machine<W>::choosers(const Event<W>& store) const {
  FixedBits<W> result;
  bool is_complete = true;
  const auto add_all = [&](const Sources<W>& sources) {
    result |= sources.direct;
    result |= sources.picked;
    is_complete = is_complete && sources.deferred == none;
  };
  if (store.is_compare) {
    result.set(store.partner);
    add_all(events_[store.partner].data_sources);
  }
  if (store.alternatives != 0) for_each_selection(store.alternatives, add_all);
  if (store.is_too_open) return std::nullopt;
  return is_complete ? std::optional(result) : std::nullopt;
}

template <std::size_t W>
template <class Visit>
void Machine<W>::for_each_selection(NodeId id, const Visit& visit) const {
  const Node& node = nodes_[id];
  if (node.kind == Node::Kind::alternative) return;
  if (node.kind == Node::Kind::select) {
    visit(deferred_[node.value].first);
    for_each_selection(node.c, visit);
  } else {
    for_each_selection(node.a, visit);
  }
  if (node.kind != Node::Kind::unary) for_each_selection(node.b, visit);
}

}  // namespace dekker::rsmc
