// A model program as a graph of definitions, without the nesting of fixpoints.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dekker/model_program.hpp"

namespace dekker::incremental {

using NodeId = std::uint32_t;

enum class Form : std::uint8_t { undefined, input, operation };

struct Node {
  Form form = Form::undefined;
  Kind kind = Kind::relation;
  // In a fixpoint that is not monotone: its value depends on how it is iterated.
  bool is_opaque = false;
  std::uint8_t n_arguments = 0;
  Opcode code = Opcode::empty_relation;
  std::uint32_t input = 0;
  std::array<NodeId, 2> arguments{};

  std::span<const NodeId> uses() const { return {arguments.data(), n_arguments}; }
};

// Nodes have the numbers of the program's slots. The variables of a fixpoint are replaced by its results, so that uses
// form cycles; what stands for such a cycle is its least solution. For monotone bodies that is also what nested
// fixpoints compute, one inside the other.
struct Graph {
  std::vector<Node> nodes;  // one more than slots, the identity
  NodeId identity = 0;
  std::vector<NodeId> order;  // operations as in the program
  std::vector<Check> checks;
  std::vector<NodeId> inputs;
};

// The program must be valid.
Graph make_graph(const ModelProgram& program);

// The nodes that some check needs.
std::vector<bool> needed_nodes(const Graph& graph);

}  // namespace dekker::incremental
