#include "incremental/plan.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace dekker::incremental {

namespace {

constexpr NodeId no_node = static_cast<NodeId>(-1);

// ---- Which nodes can be other than empty ----------------------------------------------------------------------------

// Given which of its arguments can be.
bool follows_possible(const Node& node, const std::vector<bool>& possible) {
  const auto argument = [&](std::size_t i) { return possible[node.arguments[i]]; };
  switch (node.code) {
    case Opcode::unite:
    case Opcode::set_unite: return argument(0) || argument(1);
    case Opcode::intersect:
    case Opcode::set_intersect:
    case Opcode::compose:
    case Opcode::cross: return argument(0) && argument(1);
    case Opcode::empty_relation:
    case Opcode::empty_set: return false;
    case Opcode::reflexive_transitive_closure:
    case Opcode::reflexive_closure:
    case Opcode::complement:
    case Opcode::set_complement:
    case Opcode::full_relation:
    case Opcode::full_set:
    case Opcode::identity: return true;
    case Opcode::subtract:
    case Opcode::set_subtract:
    case Opcode::invert:
    case Opcode::transitive_closure:
    case Opcode::identity_on:
    case Opcode::domain:
    case Opcode::range: return argument(0);
  }
  return true;
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
  Simplifier(const Graph& graph, const std::vector<bool>& possible) : nodes(graph.nodes), possible_(possible) {
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

  bool is_identity(NodeId id) const {
    switch (nodes[id].form == Form::operation ? nodes[id].code : Opcode::unite) {
      case Opcode::identity: return true;
      case Opcode::reflexive_transitive_closure:
      case Opcode::reflexive_closure: return !possible_[nodes[id].arguments[0]];
      default: return false;
    }
  }

  bool is_code(NodeId id, Opcode code) const { return nodes[id].form == Form::operation && nodes[id].code == code; }

  std::vector<Node> nodes;  // as in the graph, some rewritten

 private:
  bool simplify(NodeId id) {
    const Opcode code = nodes[id].code;
    switch (code) {
      case Opcode::unite:
      case Opcode::set_unite: return simplify_union(id);
      case Opcode::subtract:
      case Opcode::set_subtract: return !possible_[argument(id, 1)] && replace(id, argument(id, 0));
      case Opcode::intersect:
      case Opcode::set_intersect: return argument(id, 0) == argument(id, 1) && replace(id, argument(id, 0));
      case Opcode::compose:
        if (is_identity(argument(id, 0))) return replace(id, argument(id, 1));
        return is_identity(argument(id, 1)) && replace(id, argument(id, 0));
      case Opcode::transitive_closure:
        return is_code(argument(id, 0), Opcode::transitive_closure) && replace(id, argument(id, 0));
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
    nodes[id].code = Opcode::transitive_closure;
    nodes[id].n_arguments = 1;
    nodes[id].arguments[0] = rest;
    return true;
  }

  bool replace(NodeId id, NodeId other) {
    if (id == other) return false;
    same_[id] = other;
    return true;
  }

  const std::vector<bool>& possible_;
  std::vector<NodeId> same_;
};

// ---- The plan -------------------------------------------------------------------------------------------------------

struct Definition {
  Code code = Code::full;
  std::vector<NodeId> arguments;
};

struct Traits {
  bool is_local = true;
  bool may_shrink = false;
  std::uint8_t duties = 0;
  bool is_numbered = false;
  PlanSlot slot = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::vector<bool>& seen)
      : graph_(graph), possible_(possible_nodes(graph, seen)), simple_(graph, possible_),
        is_needed_(graph.nodes.size(), false), is_assumed_(graph.nodes.size(), false), n_uses_(graph.nodes.size(), 0),
        is_counted_(graph.nodes.size(), false), definitions_(graph.nodes.size()), is_defined_(graph.nodes.size(), false),
        traits_(graph.nodes.size()), index_(graph.nodes.size(), 0), low_(graph.nodes.size(), 0),
        is_placed_(graph.nodes.size(), false) {}

  Plan run() {
    plan_.checks.resize(graph_.checks.size());
    choose_checks();
    for (Job& job : jobs_) find_watched(job);
    count_uses();
    for (Job& job : jobs_) order_nodes(job);
    if (plan_.needs_evaluator) return std::move(plan_);
    find_traits();
    find_duties();
    number_slots();
    emit();
    return std::move(plan_);
  }

 private:
  // A check to decide, with what must be known to be empty before.
  struct Job {
    std::size_t check;
    std::size_t cost;
    std::vector<NodeId> watched;
    std::size_t end = 0;  // of its components
  };

  const Node& node(NodeId id) const { return simple_.nodes[id]; }

  // ---- Checks --------------------------------------------------------------------------------------------------------

  void choose_checks() {
    for (std::size_t i = 0; i < graph_.checks.size(); ++i) {
      plan_.checks[i].settles = bit(i);
      if (!possible_[graph_.checks[i].slot]) settle_empty(i);
      jobs_.push_back({i, cost(i), {}, 0});
    }
    for (std::size_t i = 0; i < graph_.checks.size(); ++i) drop_if_implied(i);
    // Flags last, then what is cheap first.
    std::ranges::stable_sort(jobs_, {}, [&](const Job& job) {
      return std::pair(graph_.checks[job.check].is_flag, job.cost);
    });
  }

  void settle_empty(std::size_t i) {
    const Check& check = graph_.checks[i];
    if (check.is_flag)
      plan_.raised |= check.negated ? 0 : bit(i);
    else
      (check.negated ? plan_.refuted : plan_.settled) |= bit(i);
  }

  bool is_decided(std::size_t i) const { return possible_[graph_.checks[i].slot] && (dropped_ & bit(i)) == 0; }

  // What is not local, weighed by the work it makes.
  std::size_t cost(std::size_t i) const {
    std::vector<bool> visited(graph_.nodes.size(), false);
    return cost(graph_.checks[i].slot, visited);
  }

  std::size_t cost(NodeId id, std::vector<bool>& visited) const {
    id = simple_.find(id);
    if (visited[id] || !possible_[id]) return 0;
    visited[id] = true;
    std::size_t sum = 0;
    for (const NodeId argument : node(id).uses()) sum += cost(argument, visited);
    if (node(id).form == Form::input) return 0;
    switch (node(id).code) {
      case Opcode::compose:
      case Opcode::transitive_closure:
      case Opcode::reflexive_transitive_closure:
      case Opcode::domain:
      case Opcode::range: return sum + 100;
      default: return sum + 1;
    }
  }

  // Acyclicity of a union settles acyclicity and irreflexivity of its parts.
  void drop_if_implied(std::size_t i) {
    const Check& check = graph_.checks[i];
    if (check.kind == CheckKind::empty || check.is_flag || check.negated || !is_decided(i)) return;
    const std::vector<NodeId> parts = union_parts(check.slot);
    for (std::size_t j = 0; j < graph_.checks.size(); ++j) {
      const Check& other = graph_.checks[j];
      if (i == j || other.kind != CheckKind::acyclic || other.is_flag || other.negated || !is_decided(j)) continue;
      if (!std::ranges::includes(union_parts(other.slot), parts)) continue;
      dropped_ |= bit(i);
      plan_.checks[j].settles |= plan_.checks[i].settles;
      return;
    }
  }

  std::vector<NodeId> union_parts(NodeId id) const {
    std::vector<NodeId> parts;
    std::vector<bool> visited(graph_.nodes.size(), false);
    collect_parts(id, visited, parts);
    std::ranges::sort(parts);
    return parts;
  }

  void collect_parts(NodeId id, std::vector<bool>& visited, std::vector<NodeId>& parts) const {
    id = simple_.find(id);
    if (visited[id] || !possible_[id]) return;
    visited[id] = true;
    if (!simple_.is_code(id, Opcode::unite)) return parts.push_back(id);
    for (const NodeId argument : node(id).uses()) collect_parts(argument, visited, parts);
  }

  // ---- What must be watched ------------------------------------------------------------------------------------------

  void find_watched(Job& job) { need(graph_.checks[job.check].slot, job); }

  // On the graph as it was: a simplification relies on the emptiness of what it left out.
  void need(NodeId id, Job& job) {
    if (!possible_[id]) return assume_empty(id, job);
    if (is_needed_[id]) return;
    is_needed_[id] = true;
    for (const NodeId argument : graph_.nodes[id].uses()) need(argument, job);
  }

  void assume_empty(NodeId id, Job& job) {
    if (is_assumed_[id]) return;
    is_assumed_[id] = true;
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
    return is_assumed_[id] ? 1 : 2;
  }

  // ---- Definitions ---------------------------------------------------------------------------------------------------

  void count_uses() {
    for (const Job& job : jobs_) {
      for (const NodeId id : job.watched) count_use(id);
      if (is_decided(job.check)) count_use(simple_.find(graph_.checks[job.check].slot));
    }
  }

  void count_use(NodeId id) {
    ++n_uses_[id];
    if (is_counted_[id]) return;
    is_counted_[id] = true;
    for (std::size_t i = 0; i < node(id).n_arguments; ++i) {
      const NodeId argument = simple_.argument(id, i);
      if (possible_[argument]) count_use(argument);
    }
  }

  const Definition& define(NodeId id) {
    if (is_defined_[id]) return definitions_[id];
    is_defined_[id] = true;
    Definition& out = definitions_[id];
    if (node(id).form == Form::input) return out;
    const auto argument = [&](std::size_t i) { return simple_.argument(id, i); };
    const auto make = [&](Code code, std::initializer_list<NodeId> arguments) -> const Definition& {
      out.code = code;
      out.arguments = arguments;
      return out;
    };
    switch (node(id).code) {
      case Opcode::unite:
        out.code = Code::unite_all;
        collect_members(id, id, out.arguments);
        if (out.arguments.size() == 2) out.code = Code::unite;
        return out;
      case Opcode::intersect: {
        const bool is_first = simple_.is_code(argument(0), Opcode::cross) && !simple_.is_code(argument(1), Opcode::cross);
        const NodeId product = argument(is_first ? 0 : 1);
        if (!simple_.is_code(product, Opcode::cross)) return make(Code::intersect, {argument(0), argument(1)});
        return make(Code::restrict, {argument(is_first ? 1 : 0), simple_.argument(product, 0), simple_.argument(product, 1)});
      }
      case Opcode::subtract:
        // Only what is watched was not simplified.
        if (!possible_[argument(1)]) return make(Code::unite, {argument(0), argument(0)});
        return make(Code::subtract, {argument(0), argument(1)});
      case Opcode::compose: return make(Code::compose, {argument(0), argument(1)});
      case Opcode::invert: return make(Code::invert, {argument(0)});
      case Opcode::transitive_closure: return make(Code::closure, {argument(0)});
      case Opcode::reflexive_transitive_closure:
        if (!possible_[argument(0)]) return make(Code::identity, {});
        return make(Code::reflexive_closure, {argument(0)});
      case Opcode::reflexive_closure:
        if (!possible_[argument(0)]) return make(Code::identity, {});
        return make(Code::reflexive, {argument(0)});
      case Opcode::complement:
        if (!possible_[argument(0)]) return make(Code::full, {});
        return make(Code::complement, {argument(0)});
      case Opcode::set_unite: return make(Code::set_unite, {argument(0), argument(1)});
      case Opcode::set_intersect: return make(Code::set_intersect, {argument(0), argument(1)});
      case Opcode::set_subtract:
        if (!possible_[argument(1)]) return make(Code::set_unite, {argument(0), argument(0)});
        return make(Code::set_subtract, {argument(0), argument(1)});
      case Opcode::set_complement:
        if (!possible_[argument(0)]) return make(Code::full_set, {});
        return make(Code::set_complement, {argument(0)});
      case Opcode::identity_on: return make(Code::identity_on, {argument(0)});
      case Opcode::cross: return make(Code::cross, {argument(0), argument(1)});
      case Opcode::domain: return make(Code::domain, {argument(0)});
      case Opcode::range: return make(Code::range, {argument(0)});
      case Opcode::full_relation: return make(Code::full, {});
      case Opcode::full_set: return make(Code::full_set, {});
      case Opcode::identity: return make(Code::identity, {});
      case Opcode::empty_relation:
      case Opcode::empty_set: break;
    }
    throw std::logic_error("an empty node is planned");
  }

  // Unions that have no other use are taken apart.
  void collect_members(NodeId root, NodeId id, std::vector<NodeId>& members) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const NodeId member = simple_.argument(id, i);
      if (!possible_[member] || member == root) continue;
      if (simple_.is_code(member, Opcode::unite) && n_uses_[member] == 1)
        collect_members(root, member, members);
      else if (std::ranges::find(members, member) == members.end())
        members.push_back(member);
    }
  }

  // ---- Order: strongly connected components, arguments first -----------------------------------------------------------

  void order_nodes(Job& job) {
    for (const NodeId id : job.watched) visit(id);
    if (is_decided(job.check)) visit_check(job.check);
    job.end = components_.size();
  }

  void visit_check(std::size_t i) {
    const NodeId id = simple_.find(graph_.checks[i].slot);
    if (!is_no_return(i)) return visit(id);
    for (const NodeId argument : define(id).arguments) visit(argument);
  }

  // The composition itself is needed for nothing else.
  bool is_no_return(std::size_t i) {
    const Check& check = graph_.checks[i];
    const NodeId id = simple_.find(check.slot);
    return check.kind == CheckKind::irreflexive && !check.negated && !check.is_flag && n_uses_[id] == 1 &&
           simple_.is_code(id, Opcode::compose) && !can_shrink(id);
  }

  bool can_shrink(NodeId id) {
    std::vector<bool> visited(graph_.nodes.size(), false);
    return has_reversal(id, visited);
  }

  // Some node below shrinks when others grow. Cautious: those others may be local.
  bool has_reversal(NodeId id, std::vector<bool>& visited) const {
    id = simple_.find(id);
    if (visited[id] || !possible_[id] || node(id).form == Form::input) return false;
    visited[id] = true;
    switch (node(id).code) {
      case Opcode::complement:
      case Opcode::set_complement:
      case Opcode::subtract:
      case Opcode::set_subtract: return true;
      default: break;
    }
    return std::ranges::any_of(node(id).uses(), [&](NodeId argument) { return has_reversal(argument, visited); });
  }

  void visit(NodeId id) {
    if (index_[id] != 0) return;
    if (graph_.nodes[id].is_opaque) plan_.needs_evaluator = true;
    index_[id] = low_[id] = ++n_visited_;
    path_.push_back(id);
    for (const NodeId argument : define(id).arguments) {
      visit(argument);
      if (!is_placed_[argument]) low_[id] = std::min(low_[id], low_[argument]);
    }
    if (low_[id] == index_[id]) place_component(id);
  }

  void place_component(NodeId root) {
    const auto begin = std::ranges::find(path_, root);
    std::vector<NodeId> component(begin, path_.end());
    path_.erase(begin, path_.end());
    for (const NodeId id : component) is_placed_[id] = true;
    if (component.size() > word_bits) plan_.needs_evaluator = true;
    components_.push_back(std::move(component));
  }

  bool is_recursive(const std::vector<NodeId>& component) const {
    if (component.size() > 1) return true;
    const auto& arguments = definitions_[component[0]].arguments;
    return std::ranges::find(arguments, component[0]) != arguments.end();
  }

  // ---- Traits and duties -----------------------------------------------------------------------------------------------

  void find_traits() {
    for (const auto& component : components_) {
      const bool recursive = is_recursive(component);
      bool may_shrink = false;
      for (const NodeId id : component) {
        traits_[id].is_local = !recursive && is_local(id);
        may_shrink = may_shrink || shrinks(id);
      }
      for (const NodeId id : component) traits_[id].may_shrink = may_shrink;
    }
  }

  bool is_local(NodeId id) const {
    switch (node(id).form == Form::input ? Code::full : definitions_[id].code) {
      case Code::compose:
      case Code::closure:
      case Code::reflexive_closure:
      case Code::domain:
      case Code::range: return false;
      default:
        return std::ranges::all_of(definitions_[id].arguments, [&](NodeId argument) { return traits_[argument].is_local; });
    }
  }

  bool shrinks(NodeId id) const {
    const Definition& definition = definitions_[id];
    for (std::size_t i = 0; i < definition.arguments.size(); ++i) {
      const Traits& argument = traits_[definition.arguments[i]];
      if (argument.may_shrink || (is_reversed(definition.code, i) && !argument.is_local)) return true;
    }
    return false;
  }

  static bool is_reversed(Code code, std::size_t argument) {
    switch (code) {
      case Code::complement:
      case Code::set_complement: return true;
      case Code::subtract:
      case Code::set_subtract: return argument == 1;
      default: return false;
    }
  }

  void find_duties() {
    for (const auto& component : components_)
      for (const NodeId id : component) find_duties(id);
    for (const Job& job : jobs_) {
      for (const NodeId id : job.watched) add_duty(id, watch);
      if (is_decided(job.check)) find_check_duties(job.check);
    }
  }

  void find_duties(NodeId id) {
    if (traits_[id].is_local) return;
    const Definition& definition = definitions_[id];
    add_duty(id, spread);
    if (node(id).kind == Kind::relation) add_duty(id, keep_rows);
    switch (definition.code) {
      case Code::compose:
        add_duty(definition.arguments[0], keep_columns);
        add_duty(definition.arguments[1], keep_rows);
        if (!traits_[definition.arguments[0]].is_local || !traits_[definition.arguments[1]].is_local)
          add_duty(definition.arguments[0], keep_rows);
        break;
      case Code::closure:
      case Code::reflexive_closure:
      case Code::invert: add_duty(id, keep_columns); break;
      case Code::intersect:
      case Code::subtract:
      case Code::restrict: keep_argument_rows(definition); break;
      case Code::unite:
      case Code::unite_all:
        if (!traits_[id].may_shrink) break;
        add_duty(id, from_scratch);
        keep_argument_rows(definition);
        break;
      default: break;
    }
  }

  void keep_argument_rows(const Definition& definition) {
    for (const NodeId argument : definition.arguments)
      if (node(argument).kind == Kind::relation) add_duty(argument, keep_rows);
  }

  void find_check_duties(std::size_t i) {
    const Check& check = graph_.checks[i];
    const NodeId id = simple_.find(check.slot);
    if (is_no_return(i)) {
      const auto& arguments = definitions_[id].arguments;
      if (traits_[arguments[0]].is_local && traits_[arguments[1]].is_local) return;
      for (const NodeId argument : arguments) add_duty(argument, keep_rows | keep_columns);
      return;
    }
    const bool in_full = check.is_flag || check.negated;
    if (node(id).kind == Kind::relation && (in_full || check.kind == CheckKind::acyclic)) add_duty(id, keep_rows);
  }

  void add_duty(NodeId id, int duty) { traits_[id].duties = static_cast<std::uint8_t>(traits_[id].duties | duty); }

  // ---- Emission --------------------------------------------------------------------------------------------------------

  void number_slots() {
    for (const auto& component : components_)
      for (const NodeId id : component) {
        if (plan_.n_slots > std::numeric_limits<PlanSlot>::max()) throw std::length_error("the model is too large");
        traits_[id].slot = static_cast<PlanSlot>(plan_.n_slots++);
        plan_.nodes.push_back(id);
        plan_.duties.push_back(traits_[id].duties);
      }
  }

  PlanSlot slot(NodeId id) const { return traits_[id].slot; }

  void emit() {
    std::size_t next = 0;
    for (const Job& job : jobs_) {
      for (; next < job.end; ++next) emit(components_[next]);
      if (is_decided(job.check)) emit_check(job.check);
    }
  }

  void emit(const std::vector<NodeId>& component) {
    if (is_recursive(component)) return emit_group(component);
    const NodeId id = component[0];
    if (node(id).form == Form::operation) return plan_.instructions.push_back(instruction(id));
    auto& loads = node(id).kind == Kind::set ? plan_.set_loads : plan_.relation_loads;
    loads.push_back({slot(id), traits_[id].duties, node(id).input});
  }

  Instruction instruction(NodeId id) {
    const Definition& definition = definitions_[id];
    Instruction out{definition.code, traits_[id].duties, slot(id)};
    if (definition.code == Code::unite_all) {
      out.a = static_cast<PlanSlot>(plan_.members.size());
      out.b = static_cast<PlanSlot>(definition.arguments.size());
      for (const NodeId member : definition.arguments) plan_.members.push_back(slot(member));
      return out;
    }
    const auto& arguments = definition.arguments;
    if (arguments.size() > 0) out.a = slot(arguments[0]);
    if (arguments.size() > 1) out.b = slot(arguments[1]);
    if (arguments.size() > 2) out.c = slot(arguments[2]);
    return out;
  }

  void emit_group(std::vector<NodeId> component) {
    Group group;
    group.first = plan_.group_instructions.size();
    group.size = component.size();
    group.users.resize(component.size(), 0);
    group.may_shrink = traits_[component[0]].may_shrink;
    for (std::size_t i = 0; i < component.size(); ++i) {
      const Definition& definition = definitions_[component[i]];
      plan_.group_instructions.push_back(instruction(component[i]));
      if (is_starter(definition)) group.starters |= bit(i);
      for (std::size_t j = 0; j < definition.arguments.size(); ++j) {
        const NodeId argument = definition.arguments[j];
        const auto inside = std::ranges::find(component, argument);
        if (inside != component.end())
          group.users[static_cast<std::size_t>(inside - component.begin())] |= bit(i);
        else
          add_external(group, argument, i, is_reversed(definition.code, j));
      }
    }
    plan_.instructions.push_back({Code::group, 0, 0, static_cast<PlanSlot>(plan_.groups.size())});
    plan_.groups.push_back(std::move(group));
  }

  void add_external(Group& group, NodeId id, std::size_t user, bool is_reversed) {
    group.externals.push_back({slot(id), node(id).kind, bit(user), is_reversed});
  }

  bool is_starter(const Definition& definition) const {
    switch (definition.code) {
      case Code::reflexive:
      case Code::reflexive_closure:
      case Code::complement:
      case Code::set_complement: return true;
      default: return false;
    }
  }

  void emit_check(std::size_t i) {
    const Check& check = graph_.checks[i];
    const NodeId id = simple_.find(check.slot);
    PlannedCheck& planned = plan_.checks[i];
    planned.kind = check.kind;
    planned.slot_kind = node(id).kind;
    planned.slot = slot(id);
    planned.is_negated = check.negated;
    planned.is_persistent = !check.negated && !traits_[id].may_shrink;
    if (check.is_flag) return plan_.flags.push_back(i);
    Instruction out{check_code(i), 0, static_cast<PlanSlot>(i), slot(id)};
    if (out.code == Code::check_no_return) {
      out.a = slot(definitions_[id].arguments[0]);
      out.b = slot(definitions_[id].arguments[1]);
    }
    plan_.instructions.push_back(out);
  }

  Code check_code(std::size_t i) {
    const Check& check = graph_.checks[i];
    if (check.negated) return Code::check_in_full;
    if (is_no_return(i)) return Code::check_no_return;
    switch (check.kind) {
      case CheckKind::acyclic: return Code::check_acyclic;
      case CheckKind::irreflexive: return Code::check_irreflexive;
      case CheckKind::empty: break;
    }
    return graph_.nodes[check.slot].kind == Kind::set ? Code::check_empty_set : Code::check_empty;
  }

  const Graph& graph_;
  std::vector<bool> possible_;
  Simplifier simple_;
  std::vector<Job> jobs_;
  Word dropped_ = 0;
  std::vector<bool> is_needed_;
  std::vector<bool> is_assumed_;
  std::vector<std::size_t> n_uses_;
  std::vector<bool> is_counted_;
  std::vector<Definition> definitions_;
  std::vector<bool> is_defined_;
  std::vector<Traits> traits_;
  std::vector<std::vector<NodeId>> components_;
  std::vector<NodeId> path_;
  std::vector<std::size_t> index_;
  std::vector<std::size_t> low_;
  std::vector<bool> is_placed_;
  std::size_t n_visited_ = 0;
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
