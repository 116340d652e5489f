#include <algorithm>
#include <utility>

#include "incremental/graph.hpp"

namespace dekker::incremental {

namespace {

constexpr NodeId no_node = static_cast<NodeId>(-1);

class GraphMaker {
 public:
  explicit GraphMaker(const ModelProgram& program) : program_(program), stands_for_(program.kinds.size(), no_node) {
    graph_.nodes.resize(program.kinds.size());
    graph_.checks = program.checks;
  }

  Graph run() {
    for (std::size_t slot = 0; slot < program_.kinds.size(); ++slot) graph_.nodes[slot].kind = program_.kinds[slot];
    for (const Input& input : program_.inputs) add_input(input);
    add_steps(program_.steps, false);
    for (NodeId slot = 0; slot < stands_for_.size(); ++slot) break_empty_cycle(slot);
    for (Node& node : graph_.nodes)
      for (NodeId& argument : node.arguments) argument = resolved(argument);
    for (Check& check : graph_.checks) check.slot = resolved(check.slot);
    add_identity();
    return std::move(graph_);
  }

 private:
  void add_identity() {
    graph_.identity = static_cast<NodeId>(graph_.nodes.size());
    graph_.nodes.emplace_back();
    graph_.nodes.back().form = Form::operation;
    graph_.nodes.back().code = Opcode::identity;
    graph_.order.push_back(graph_.identity);
  }

  void add_input(const Input& input) {
    Node& node = graph_.nodes[input.slot];
    node.form = Form::input;
    node.input = static_cast<std::uint32_t>(graph_.inputs.size());
    graph_.inputs.push_back(input.slot);
  }

  void add_steps(const std::vector<Step>& steps, bool is_opaque) {
    for (const Step& step : steps) {
      if (const auto* operation = std::get_if<Operation>(&step))
        add_operation(*operation, is_opaque);
      else
        add_fixpoint(std::get<Fixpoint>(step), is_opaque);
    }
  }

  void add_operation(const Operation& operation, bool is_opaque) {
    Node& node = graph_.nodes[operation.destination];
    node.form = Form::operation;
    node.is_opaque = is_opaque;
    node.code = operation.code;
    node.n_arguments = static_cast<std::uint8_t>(operation.arguments.size());
    std::ranges::copy(operation.arguments, node.arguments.begin());
    graph_.order.push_back(operation.destination);
  }

  void add_fixpoint(const Fixpoint& fixpoint, bool is_opaque) {
    for (std::size_t i = 0; i < fixpoint.variables.size(); ++i)
      stands_for_[fixpoint.variables[i]] = fixpoint.results[i];
    add_steps(fixpoint.body, is_opaque || !is_monotone(fixpoint));
  }

  // In its own variables. Fixpoints inside need not be monotone in theirs: what they define is opaque then, whatever
  // uses it is evaluated in full, and the rest does not depend on how they are iterated.
  bool is_monotone(const Fixpoint& fixpoint) const {
    std::vector<bool> varies(program_.kinds.size(), false);
    for (const Slot variable : fixpoint.variables) varies[variable] = true;
    // Variables of fixpoints inside come before what they depend on.
    while (mark_varying(fixpoint.body, varies)) continue;
    return is_monotone_in(fixpoint.body, varies);
  }

  // Returns whether anything was new.
  static bool mark_varying(const std::vector<Step>& steps, std::vector<bool>& varies) {
    bool any_new = false;
    const auto mark = [&](Slot slot, Slot because) {
      if (!varies[because] || varies[slot]) return;
      varies[slot] = true;
      any_new = true;
    };
    for (const Step& step : steps) {
      if (const auto* operation = std::get_if<Operation>(&step)) {
        for (const Slot argument : operation->arguments) mark(operation->destination, argument);
        continue;
      }
      const auto& inner = std::get<Fixpoint>(step);
      if (mark_varying(inner.body, varies)) any_new = true;
      for (std::size_t i = 0; i < inner.variables.size(); ++i) mark(inner.variables[i], inner.results[i]);
    }
    return any_new;
  }

  static bool is_monotone_in(const std::vector<Step>& steps, const std::vector<bool>& varies) {
    return std::ranges::all_of(steps, [&](const Step& step) {
      if (const auto* operation = std::get_if<Operation>(&step)) return !reverses(*operation, varies);
      return is_monotone_in(std::get<Fixpoint>(step).body, varies);
    });
  }

  // Does the result shrink when a varying argument grows?
  static bool reverses(const Operation& operation, const std::vector<bool>& varies) {
    switch (operation.code) {
      case Opcode::complement:
      case Opcode::set_complement: return varies[operation.arguments[0]];
      case Opcode::subtract:
      case Opcode::set_subtract: return varies[operation.arguments[1]];
      default: return false;
    }
  }

  NodeId resolved(NodeId slot) const {
    while (stands_for_[slot] != no_node) slot = stands_for_[slot];
    return slot;
  }

  // let rec x = y and y = x: both are empty.
  void break_empty_cycle(NodeId start) {
    NodeId slot = start;
    for (std::size_t i = 0; i <= stands_for_.size(); ++i) {
      if (stands_for_[slot] == no_node) return;
      slot = stands_for_[slot];
    }
    Node& node = graph_.nodes[start];
    node.form = Form::operation;
    node.code = node.kind == Kind::set ? Opcode::empty_set : Opcode::empty_relation;
    stands_for_[start] = no_node;
    graph_.order.push_back(start);
  }

  const ModelProgram& program_;
  std::vector<NodeId> stands_for_;  // of variables
  Graph graph_;
};

void mark_needed(const Graph& graph, NodeId id, std::vector<bool>& needed) {
  if (needed[id]) return;
  needed[id] = true;
  for (const NodeId argument : graph.nodes[id].uses()) mark_needed(graph, argument, needed);
}

}  // namespace

Graph make_graph(const ModelProgram& program) { return GraphMaker(program).run(); }

std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.nodes.size(), false);
  for (const Check& check : graph.checks) mark_needed(graph, check.slot, needed);
  return needed;
}

}  // namespace dekker::incremental
