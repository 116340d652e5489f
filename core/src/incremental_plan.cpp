#include "incremental/plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace dekker::incremental {

namespace {

constexpr NodeId no_node = static_cast<NodeId>(-1);

// ---- Which nodes can be other than empty ----------------------------------------------------------------------------

// Given which of its arguments can be.
bool follows_possible(const Node& node, const std::vector<bool>& possible) {
  const auto argument = [&](std::size_t i) -> bool { return possible[node.arguments[i]]; };
  switch (node.code) {
    case Opcode::unite:
    case Opcode::set_unite: return argument(0) || argument(1);
    case Opcode::intersect:
    case Opcode::set_intersect:
    case Opcode::compose:
    case Opcode::cross: return argument(0) && argument(1);
    case Opcode::subtract:
    case Opcode::set_subtract:
    case Opcode::invert:
    case Opcode::transitive_closure:
    case Opcode::identity_on:
    case Opcode::domain:
    case Opcode::range: return argument(0);
    case Opcode::empty_relation:
    case Opcode::empty_set: return false;
    default: return true;
  }
}

std::vector<bool> possible_nodes(const Graph& graph, const std::vector<bool>& seen) {
  std::vector<bool> possible(graph.nodes.size(), false);
  for (const NodeId input : graph.inputs) possible[input] = seen[input];
  bool any_new = true;
  while (any_new) {
    any_new = false;
    for (const NodeId id : graph.order) {
      if (possible[id] || (is_worth_watching(graph.nodes[id]) && !seen[id])) continue;
      if (!follows_possible(graph.nodes[id], possible)) continue;
      possible[id] = true;
      any_new = true;
    }
  }
  return possible;
}

// ---- Simpler definitions --------------------------------------------------------------------------------------------

class Simplifier {
 public:
  Simplifier(const Graph& graph, const std::vector<bool>& possible)
      : nodes(graph.nodes), possible_(possible), identity_(graph.identity) {
    same_.resize(nodes.size());
    std::iota(same_.begin(), same_.end(), NodeId{0});
    bool any_new = true;
    while (any_new) {
      any_new = false;
      for (const NodeId id : graph.order)
        if (possible_[id] && same_[id] == id && simplify(id)) any_new = true;
    }
  }

  // The node to use instead.
  NodeId find(NodeId id) const {
    while (same_[id] != id) id = same_[id];
    return id;
  }

  NodeId argument(NodeId id, std::size_t i) const { return find(nodes[id].arguments[i]); }

  bool is_code(NodeId id, Opcode code) const { return nodes[id].form == Form::operation && nodes[id].code == code; }

  std::vector<Node> nodes;  // as in the graph, some rewritten

 private:
  bool simplify(NodeId id) {
    switch (nodes[id].code) {
      case Opcode::unite:
      case Opcode::set_unite: return simplify_union(id);
      case Opcode::subtract:
      case Opcode::set_subtract: return !possible_[argument(id, 1)] && replace(id, argument(id, 0));
      case Opcode::intersect:
      case Opcode::set_intersect: return argument(id, 0) == argument(id, 1) && replace(id, argument(id, 0));
      case Opcode::compose:
        if (argument(id, 0) == identity_) return replace(id, argument(id, 1));
        return argument(id, 1) == identity_ && replace(id, argument(id, 0));
      case Opcode::transitive_closure:
        return is_code(argument(id, 0), Opcode::transitive_closure) && replace(id, argument(id, 0));
      case Opcode::reflexive_transitive_closure: return !possible_[argument(id, 0)] && replace(id, identity_);
      case Opcode::reflexive_closure:
        rewrite(id, Opcode::unite, {nodes[id].arguments[0], identity_}, 2);
        return true;
      case Opcode::identity: return replace(id, identity_);
      default: return false;
    }
  }

  bool simplify_union(NodeId id) {
    const NodeId left = argument(id, 0);
    const NodeId right = argument(id, 1);
    const auto counts = [&](NodeId member) { return possible_[member] && member != id; };
    if (!counts(left)) return replace(id, right);
    if (!counts(right) || left == right) return replace(id, left);
    return nodes[id].kind == Kind::relation && (make_closure(id, left, right) || make_closure(id, right, left));
  }

  // x = r | x;x and x = r | x;r and x = r | r;x are all r+.
  bool make_closure(NodeId id, NodeId rest, NodeId step) {
    if (!is_code(step, Opcode::compose)) return false;
    const NodeId first = argument(step, 0);
    const NodeId second = argument(step, 1);
    const auto fits = [&](NodeId other) { return other == id || other == rest; };
    if (!fits(first) || !fits(second) || (first == rest && second == rest)) return false;
    rewrite(id, Opcode::transitive_closure, {rest, 0}, 1);
    return true;
  }

  void rewrite(NodeId id, Opcode code, std::array<NodeId, 2> arguments, std::uint8_t n_arguments) {
    nodes[id].code = code;
    nodes[id].arguments = arguments;
    nodes[id].n_arguments = n_arguments;
  }

  bool replace(NodeId id, NodeId other) {
    if (id == other) return false;
    same_[id] = other;
    return true;
  }

  const std::vector<bool>& possible_;
  NodeId identity_;
  std::vector<NodeId> same_;
};

// ---- The plan -------------------------------------------------------------------------------------------------------

Code code_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::unite: return Code::unite;
    case Opcode::intersect: return Code::intersect;
    case Opcode::subtract: return Code::subtract;
    case Opcode::compose: return Code::compose;
    case Opcode::invert: return Code::invert;
    case Opcode::transitive_closure: return Code::closure;
    case Opcode::reflexive_transitive_closure: return Code::reflexive_closure;
    case Opcode::complement: return Code::complement;
    case Opcode::set_unite: return Code::set_unite;
    case Opcode::set_intersect: return Code::set_intersect;
    case Opcode::set_subtract: return Code::set_subtract;
    case Opcode::set_complement: return Code::set_complement;
    case Opcode::identity_on: return Code::identity_on;
    case Opcode::cross: return Code::cross;
    case Opcode::domain: return Code::domain;
    case Opcode::range: return Code::range;
    case Opcode::full_relation: return Code::full;
    case Opcode::full_set: return Code::full_set;
    case Opcode::identity: return Code::identity;
    case Opcode::reflexive_closure:
    case Opcode::empty_relation:
    case Opcode::empty_set: break;
  }
  throw std::logic_error("an operation that should have been simplified is planned");
}

// Does the result shrink when this argument grows?
bool is_reversed(Code code, std::size_t argument) {
  switch (code) {
    case Code::complement:
    case Code::set_complement: return true;
    case Code::subtract:
    case Code::set_subtract: return argument == 1;
    default: return false;
  }
}

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<bool>& seen)
      : graph_(graph), possible_(possible_nodes(graph, seen)), simple_(graph, possible_), facts_(graph.nodes.size()) {}

  Plan run() {
    plan_.checks.resize(graph_.checks.size());
    choose_checks();
    for (Job& job : jobs_) need(graph_.checks[job.check].slot, job);
    for (const Job& job : jobs_) count_uses(job);
    for (Job& job : jobs_) order_nodes(job);
    if (plan_.needs_evaluator) return std::move(plan_);
    for (const Component& component : components_) find_traits(component);
    for (const NodeId id : placed_) find_duties(id);
    for (const Job& job : jobs_) find_duties(job);
    number_slots();
    emit();
    return std::move(plan_);
  }

 private:
  // A check to decide, with what must be known to be empty before.
  struct Job {
    std::size_t check;
    std::size_t cost = 0;
    std::vector<NodeId> watched;
    std::size_t end = 0;  // of its components
    bool is_dropped = false;
    bool is_no_return = false;
  };

  // Of a node.
  struct Facts {
    bool is_needed = false;
    bool is_assumed = false;
    bool is_counted = false;
    bool is_defined = false;
    bool is_placed = false;
    bool is_folded = false;  // into its only user
    bool is_local = true;
    bool may_shrink = false;
    std::uint8_t duties = 0;
    Code code = Code::full;
    PlanSlot slot = 0;
    std::uint32_t stamp = 0;  // of the last traversal
    std::uint32_t n_uses = 0;
    std::uint32_t index = 0;
    std::uint32_t low = 0;
    std::uint32_t component = 0;
    std::uint32_t first_argument = 0;
    std::uint32_t n_arguments = 0;
  };

  // Nodes that depend on each other.
  struct Component {
    std::size_t first;  // in placed_
    std::size_t size;
    bool is_recursive;
  };

  const Node& node(NodeId id) const { return simple_.nodes[id]; }
  bool is_relation(NodeId id) const { return node(id).kind == Kind::relation; }

  std::span<const NodeId> arguments(NodeId id) const {
    return {arguments_.data() + facts_[id].first_argument, facts_[id].n_arguments};
  }

  std::span<const NodeId> nodes_of(const Component& component) const {
    return {placed_.data() + component.first, component.size};
  }

  // Whether the node is met for the first time in this traversal.
  bool is_first_visit(NodeId id) { return std::exchange(facts_[id].stamp, stamp_) != stamp_; }

  // ---- Checks -------------------------------------------------------------------------------------------------------

  void choose_checks() {
    for (std::size_t i = 0; i < graph_.checks.size(); ++i) {
      plan_.checks[i].settles = bit(i);
      if (!possible_[graph_.checks[i].slot]) settle_empty(i);
      ++stamp_;
      Job& job = jobs_.emplace_back();
      job.check = i;
      job.cost = cost(graph_.checks[i].slot);
    }
    drop_implied();
    // Flags last, then what is cheap first.
    std::ranges::sort(jobs_, {}, [&](const Job& job) {
      return std::tuple(graph_.checks[job.check].is_flag, job.cost, job.check);
    });
  }

  void settle_empty(std::size_t i) {
    const Check& check = graph_.checks[i];
    if (check.is_flag)
      plan_.raised |= check.negated ? 0 : bit(i);
    else
      (check.negated ? plan_.refuted : plan_.settled) |= bit(i);
  }

  bool is_decided(const Job& job) const { return possible_[graph_.checks[job.check].slot] && !job.is_dropped; }

  NodeId checked_node(const Job& job) const { return simple_.find(graph_.checks[job.check].slot); }

  // A guess, by what is not local; what is empty at present may have to be watched.
  std::size_t cost(NodeId id) {
    if (!is_first_visit(id) || graph_.nodes[id].form != Form::operation) return 0;
    std::size_t sum = 0;
    for (const NodeId argument : graph_.nodes[id].uses()) sum += cost(argument);
    switch (graph_.nodes[id].code) {
      case Opcode::compose:
      case Opcode::transitive_closure:
      case Opcode::reflexive_transitive_closure:
      case Opcode::domain:
      case Opcode::range: return sum + 100;
      default: return sum + 1;
    }
  }

  // Acyclicity of a union settles acyclicity and irreflexivity of its parts.
  void drop_implied() {
    std::vector<std::vector<NodeId>> parts(jobs_.size());
    const auto takes_part = [&](std::size_t i) {
      const Check& check = graph_.checks[i];
      return check.kind != CheckKind::empty && !check.is_flag && !check.negated && is_decided(jobs_[i]);
    };
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      if (!takes_part(i)) continue;
      ++stamp_;
      collect_parts(graph_.checks[i].slot, parts[i]);
      std::ranges::sort(parts[i]);
    }
    for (std::size_t i = 0; i < jobs_.size(); ++i)
      for (std::size_t j = 0; j < jobs_.size() && takes_part(i); ++j) {
        if (i == j || !takes_part(j) || graph_.checks[j].kind != CheckKind::acyclic) continue;
        if (!std::ranges::includes(parts[j], parts[i])) continue;
        jobs_[i].is_dropped = true;
        plan_.checks[j].settles |= plan_.checks[i].settles;
      }
  }

  void collect_parts(NodeId id, std::vector<NodeId>& parts) {
    id = simple_.find(id);
    if (!possible_[id] || !is_first_visit(id)) return;
    if (!simple_.is_code(id, Opcode::unite)) return parts.push_back(id);
    for (const NodeId argument : node(id).uses()) collect_parts(argument, parts);
  }

  // ---- What must be watched -----------------------------------------------------------------------------------------

  // On the graph as it was: a simplification relies on the emptiness of what it left out.
  void need(NodeId id, Job& job) {
    if (!possible_[id]) return assume_empty(id, job);
    if (std::exchange(facts_[id].is_needed, true)) return;
    for (const NodeId argument : graph_.nodes[id].uses()) need(argument, job);
  }

  void assume_empty(NodeId id, Job& job) {
    if (std::exchange(facts_[id].is_assumed, true)) return;
    const Node& definition = graph_.nodes[id];
    if (definition.form != Form::operation) return;
    if (follows_possible(definition, possible_)) {
      job.watched.push_back(id);
      for (const NodeId argument : definition.uses()) need(argument, job);
      return;
    }
    switch (definition.code) {
      case Opcode::unite:
      case Opcode::set_unite:
        for (const NodeId argument : definition.uses()) assume_empty(argument, job);
        return;
      case Opcode::intersect:
      case Opcode::set_intersect:
      case Opcode::compose:
      case Opcode::cross: return assume_empty(cheapest_empty(definition), job);
      default:
        if (definition.n_arguments != 0) assume_empty(definition.arguments[0], job);
    }
  }

  // One empty argument is enough; inputs cost nothing to watch.
  NodeId cheapest_empty(const Node& definition) const {
    NodeId best = no_node;
    for (const NodeId argument : definition.uses())
      if (!possible_[argument] && (best == no_node || price(argument) < price(best))) best = argument;
    return best;
  }

  int price(NodeId id) const {
    if (graph_.nodes[id].form == Form::input) return 0;
    return facts_[id].is_assumed ? 1 : 2;
  }

  // ---- Definitions --------------------------------------------------------------------------------------------------

  void count_uses(const Job& job) {
    for (const NodeId id : job.watched) count_use(id);
    if (is_decided(job)) count_use(checked_node(job));
  }

  void count_use(NodeId id) {
    ++facts_[id].n_uses;
    if (std::exchange(facts_[id].is_counted, true)) return;
    for (std::size_t i = 0; i < node(id).n_arguments; ++i) {
      const NodeId argument = simple_.argument(id, i);
      if (possible_[argument]) count_use(argument);
    }
  }

  void define(NodeId id) {
    if (std::exchange(facts_[id].is_defined, true)) return;
    Facts& facts = facts_[id];
    facts.first_argument = static_cast<std::uint32_t>(arguments_.size());
    if (node(id).form == Form::operation) {
      facts.code = code_of(node(id).code);
      if (facts.code == Code::unite)
        collect_members(id, id);
      else
        for (std::size_t i = 0; i < node(id).n_arguments; ++i) arguments_.push_back(simple_.argument(id, i));
    }
    facts.n_arguments = static_cast<std::uint32_t>(arguments_.size()) - facts.first_argument;
    refine(id);
  }

  // Unions that have no other use are taken apart.
  void collect_members(NodeId root, NodeId id) {
    for (std::size_t i = 0; i < 2; ++i) {
      const NodeId member = simple_.argument(id, i);
      if (!possible_[member] || member == root) continue;
      const auto first = arguments_.begin() + facts_[root].first_argument;
      if (simple_.is_code(member, Opcode::unite) && facts_[member].n_uses == 1)
        collect_members(root, member);
      else if (std::find(first, arguments_.end(), member) == arguments_.end())
        arguments_.push_back(member);
    }
  }

  void refine(NodeId id) {
    Facts& facts = facts_[id];
    NodeId* const own = arguments_.data() + facts.first_argument;
    const auto keep = [&](Code code, std::size_t n_arguments) {
      facts.code = code;
      facts.n_arguments = static_cast<std::uint32_t>(n_arguments);
      arguments_.resize(facts.first_argument + n_arguments);
    };
    switch (facts.code) {
      case Code::unite:
        if (facts.n_arguments != 2) facts.code = Code::unite_all;
        break;
      case Code::intersect:
        if (!simple_.is_code(own[1], Opcode::cross)) std::swap(own[0], own[1]);
        if (simple_.is_code(own[1], Opcode::cross)) {
          const NodeId product = own[1];
          keep(Code::restrict, 3);
          arguments_[facts.first_argument + 1] = simple_.argument(product, 0);
          arguments_[facts.first_argument + 2] = simple_.argument(product, 1);
        }
        break;
      case Code::subtract:
        // What is watched has not been simplified.
        if (!possible_[own[1]]) keep(Code::unite_all, 1);
        break;
      case Code::set_subtract:
        if (!possible_[own[1]]) {
          facts.code = Code::set_unite;
          own[1] = own[0];
        }
        break;
      case Code::complement:
        if (!possible_[own[0]]) keep(Code::full, 0);
        break;
      case Code::set_complement:
        if (!possible_[own[0]]) keep(Code::full_set, 0);
        break;
      default: break;
    }
  }

  // ---- Order: strongly connected components, arguments first --------------------------------------------------------

  void order_nodes(Job& job) {
    for (const NodeId id : job.watched) visit(id);
    if (is_decided(job)) visit_check(job);
    job.end = components_.size();
  }

  void visit_check(Job& job) {
    const NodeId id = checked_node(job);
    job.is_no_return = is_no_return(job);
    if (!job.is_no_return) return visit(id);
    define(id);
    for (std::size_t i = 0; i < 2; ++i) visit(arguments(id)[i]);
  }

  // Is the checked node a composition that is needed for nothing else?
  bool is_no_return(const Job& job) {
    const Check& check = graph_.checks[job.check];
    const NodeId id = checked_node(job);
    if (check.kind != CheckKind::irreflexive || check.negated || check.is_flag) return false;
    if (facts_[id].n_uses != 1 || !simple_.is_code(id, Opcode::compose)) return false;
    ++stamp_;
    return !has_reversal(id);
  }

  // Some node below shrinks when others grow. Cautious: those others may be local.
  bool has_reversal(NodeId id) {
    id = simple_.find(id);
    if (!possible_[id] || node(id).form == Form::input || !is_first_visit(id)) return false;
    switch (node(id).code) {
      case Opcode::complement:
      case Opcode::set_complement:
      case Opcode::subtract:
      case Opcode::set_subtract: return true;
      default: break;
    }
    return std::ranges::any_of(node(id).uses(), [&](NodeId argument) { return has_reversal(argument); });
  }

  void visit(NodeId id) {
    if (facts_[id].index != 0) return;
    if (graph_.nodes[id].is_opaque) plan_.needs_evaluator = true;
    facts_[id].index = facts_[id].low = ++n_visited_;
    path_.push_back(id);
    define(id);
    for (std::size_t i = 0; i < facts_[id].n_arguments; ++i) {
      const NodeId argument = arguments(id)[i];
      visit(argument);
      if (!facts_[argument].is_placed) facts_[id].low = std::min(facts_[id].low, facts_[argument].low);
    }
    if (facts_[id].low == facts_[id].index) place_component(id);
  }

  void place_component(NodeId root) {
    const auto begin = std::ranges::find(path_, root);
    const auto size = static_cast<std::size_t>(path_.end() - begin);
    const auto own = arguments(root);
    const bool is_recursive = size > 1 || std::ranges::find(own, root) != own.end();
    for (auto id = begin; id != path_.end(); ++id) {
      facts_[*id].is_placed = true;
      facts_[*id].component = static_cast<std::uint32_t>(components_.size());
    }
    components_.push_back({placed_.size(), size, is_recursive});
    placed_.insert(placed_.end(), begin, path_.end());
    path_.erase(begin, path_.end());
    if (size > word_bits) plan_.needs_evaluator = true;
  }

  // ---- Traits and duties --------------------------------------------------------------------------------------------

  void find_traits(const Component& component) {
    bool may_shrink = false;
    for (const NodeId id : nodes_of(component)) {
      facts_[id].is_local = !component.is_recursive && is_local(id);
      may_shrink = may_shrink || shrinks(id);
    }
    for (const NodeId id : nodes_of(component)) facts_[id].may_shrink = may_shrink;
  }

  bool is_local(NodeId id) const {
    switch (facts_[id].code) {
      case Code::compose:
      case Code::closure:
      case Code::reflexive_closure:
      case Code::domain:
      case Code::range: return false;
      default: return std::ranges::all_of(arguments(id), [&](NodeId argument) { return facts_[argument].is_local; });
    }
  }

  bool shrinks(NodeId id) const {
    for (std::size_t i = 0; i < arguments(id).size(); ++i) {
      const Facts& argument = facts_[arguments(id)[i]];
      if (argument.may_shrink || (is_reversed(facts_[id].code, i) && !argument.is_local)) return true;
    }
    return false;
  }

  void add_duty(NodeId id, int duty) {
    // To tell what is new, the rows of a relation that is stored must be.
    if ((duty & keep_columns) != 0 && !facts_[id].is_local) duty |= keep_rows;
    facts_[id].duties = static_cast<std::uint8_t>(facts_[id].duties | duty);
  }

  void find_duties(NodeId id) {
    if (facts_[id].is_local) return;
    const auto own = arguments(id);
    const Code code = facts_[id].code;
    if (code == Code::compose) {
      add_duty(own[0], keep_columns);
      add_duty(own[1], keep_rows);
    }
    if (code == Code::closure || code == Code::reflexive_closure) add_duty(id, keep_columns);
    if (facts_[id].may_shrink) {
      add_duty(id, compare);
      if (is_relation(id)) add_duty(id, keep_rows);
      if (code == Code::invert) add_duty(id, keep_columns);
      for (const NodeId argument : own)
        if (is_relation(argument)) add_duty(argument, keep_rows);
      return;
    }
    add_duty(id, grow);
    // What is new in one argument is cut down by all there is in the others.
    if (code == Code::subtract) add_duty(own[1], keep_rows);
    if (code == Code::intersect)
      for (std::size_t i = 0; i < 2; ++i)
        if (!facts_[own[1 - i]].is_local) add_duty(own[i], keep_rows);
    if (code == Code::restrict && (!facts_[own[1]].is_local || !facts_[own[2]].is_local)) add_duty(own[0], keep_rows);
  }

  void find_duties(const Job& job) {
    for (const NodeId id : job.watched) add_duty(id, watch);
    if (!is_decided(job)) return;
    const Check& check = graph_.checks[job.check];
    const NodeId id = checked_node(job);
    if (job.is_no_return) {
      const auto own = arguments(id);
      for (std::size_t i = 0; i < 2; ++i)
        if (!facts_[own[1 - i]].is_local) add_duty(own[i], keep_columns);
    } else if (is_relation(id) && (check.is_flag || check.negated || check.kind == CheckKind::acyclic)) {
      add_duty(id, keep_rows);
    }
  }

  // ---- Emission -----------------------------------------------------------------------------------------------------

  void number_slots() {
    if (placed_.size() + arguments_.size() > std::numeric_limits<PlanSlot>::max())
      throw std::length_error("the model is too large");
    plan_.n_slots = placed_.size();
    plan_.nodes = placed_;
    plan_.duties.reserve(placed_.size());
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      facts_[placed_[i]].slot = static_cast<PlanSlot>(i);
      plan_.duties.push_back(facts_[placed_[i]].duties);
    }
  }

  PlanSlot slot(NodeId id) const { return facts_[id].slot; }

  void emit() {
    plan_.instructions.reserve(components_.size() + jobs_.size());
    std::size_t next = 0;
    for (const Job& job : jobs_) {
      for (; next < job.end; ++next) emit(components_[next]);
      if (is_decided(job)) emit_check(job);
    }
  }

  void emit(const Component& component) {
    if (component.is_recursive) return emit_group(component);
    const NodeId id = placed_[component.first];
    if (node(id).form == Form::operation) return plan_.instructions.push_back(instruction(id));
    auto& loads = is_relation(id) ? plan_.relation_loads : plan_.set_loads;
    loads.push_back({slot(id), facts_[id].duties, node(id).input});
  }

  Instruction instruction(NodeId id) {
    const auto own = arguments(id);
    Instruction out{facts_[id].code, facts_[id].duties, slot(id)};
    if (out.code == Code::unite_all) {
      out.a = static_cast<PlanSlot>(plan_.members.size());
      out.b = static_cast<PlanSlot>(own.size());
      for (const NodeId member : own) plan_.members.push_back(slot(member));
      return out;
    }
    if (own.size() > 0) out.a = slot(own[0]);
    if (own.size() > 1) out.b = slot(own[1]);
    if (own.size() > 2) out.c = slot(own[2]);
    return out;
  }

  void emit_group(const Component& component) {
    // Arguments tend to come first in the reverse of the order of visits.
    std::vector<NodeId> inside(nodes_of(component).rbegin(), nodes_of(component).rend());
    Group group;
    group.first = plan_.group_instructions.size();
    group.size = component.size;
    group.may_shrink = facts_[inside[0]].may_shrink;
    std::vector<NodeId> targets = inside;  // of instructions
    if (!group.may_shrink)
      for (const NodeId id : inside) fold_compositions(id, inside, targets);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      plan_.group_instructions.push_back(instruction(inside[i]));
      if (!group.may_shrink) make_growing(plan_.group_instructions.back(), inside[i], targets[i]);
      if (targets[i] == inside[i]) group.slots.push_back(slot(inside[i]));
      const Code code = facts_[inside[i]].code;
      if (code == Code::reflexive_closure || is_reversed(code, 0)) group.starters |= bit(i);
      add_externals(group, i, inside);
    }
    for (const NodeId target : targets) group.users.push_back(users(target, inside));
    plan_.instructions.push_back({Code::group, 0, 0, static_cast<PlanSlot>(plan_.groups.size())});
    plan_.groups.push_back(std::move(group));
  }

  // Compositions that are only part of a union are added to it at once.
  void fold_compositions(NodeId id, const std::vector<NodeId>& inside, std::vector<NodeId>& targets) {
    if (facts_[id].code != Code::unite && facts_[id].code != Code::unite_all) return;
    for (const NodeId member : arguments(id)) {
      const auto found = std::ranges::find(inside, member);
      if (found == inside.end() || facts_[member].n_uses != 1 || facts_[member].code != Code::compose) continue;
      targets[static_cast<std::size_t>(found - inside.begin())] = id;
      facts_[member].is_folded = true;
    }
  }

  void make_growing(Instruction& out, NodeId id, NodeId target) {
    out.duties = static_cast<std::uint8_t>(out.duties & ~(keep_rows | keep_columns));
    if (id != target) {
      out.out = slot(target);
      out.code = Code::absorb_composition;
    } else if (out.code == Code::unite || out.code == Code::unite_all) {
      out.code = Code::absorb;
      out.a = static_cast<PlanSlot>(plan_.members.size());
      for (const NodeId member : arguments(id))
        if (!facts_[member].is_folded) plan_.members.push_back(slot(member));
      out.b = static_cast<PlanSlot>(plan_.members.size() - out.a);
    }
  }

  void add_externals(Group& group, std::size_t i, const std::vector<NodeId>& inside) const {
    const auto own = arguments(inside[i]);
    for (std::size_t j = 0; j < own.size(); ++j)
      if (std::ranges::find(inside, own[j]) == inside.end())
        group.externals.push_back({slot(own[j]), node(own[j]).kind, is_reversed(facts_[inside[i]].code, j), bit(i)});
  }

  // The instructions of a group that use the node.
  Word users(NodeId id, const std::vector<NodeId>& inside) const {
    Word result = 0;
    for (std::size_t i = 0; i < inside.size(); ++i)
      if (std::ranges::find(arguments(inside[i]), id) != arguments(inside[i]).end()) result |= bit(i);
    return result;
  }

  void emit_check(const Job& job) {
    const Check& check = graph_.checks[job.check];
    const NodeId id = checked_node(job);
    PlannedCheck& planned = plan_.checks[job.check];
    planned.kind = check.kind;
    planned.slot_kind = node(id).kind;
    planned.slot = slot(id);
    planned.is_negated = check.negated;
    planned.is_persistent = !check.negated && !facts_[id].may_shrink;
    planned.can_look = !job.is_no_return && (!is_relation(id) || (facts_[id].duties & keep_rows) != 0);
    if (check.is_flag) return plan_.flags.push_back(job.check);
    Instruction out{check_code(job), 0, static_cast<PlanSlot>(job.check), slot(id)};
    if (job.is_no_return) {
      out.a = slot(arguments(id)[0]);
      out.b = slot(arguments(id)[1]);
    }
    plan_.instructions.push_back(out);
  }

  Code check_code(const Job& job) const {
    const Check& check = graph_.checks[job.check];
    if (check.negated) return Code::check_in_full;
    if (job.is_no_return) return Code::check_no_return;
    switch (check.kind) {
      case CheckKind::acyclic: return Code::check_acyclic;
      case CheckKind::irreflexive: return Code::check_irreflexive;
      case CheckKind::empty: break;
    }
    return is_relation(check.slot) ? Code::check_empty : Code::check_empty_set;
  }

  const Graph& graph_;
  std::vector<bool> possible_;
  Simplifier simple_;
  std::vector<Job> jobs_;
  std::vector<Facts> facts_;
  std::uint32_t stamp_ = 0;
  std::vector<NodeId> arguments_;
  std::vector<Component> components_;
  std::vector<NodeId> placed_;
  std::vector<NodeId> path_;
  std::uint32_t n_visited_ = 0;
  Plan plan_;
};

}  // namespace

bool is_worth_watching(const Node& node) {
  if (node.form != Form::operation) return false;
  switch (node.code) {
    case Opcode::intersect:
    case Opcode::subtract:
    case Opcode::compose:
    case Opcode::set_intersect:
    case Opcode::set_subtract: return true;
    default: return false;
  }
}

Plan make_plan(const Graph& graph, const std::vector<bool>& seen) { return Planner(graph, seen).run(); }

}  // namespace dekker::incremental
