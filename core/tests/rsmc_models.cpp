#include "rsmc_models.hpp"

#include <map>

namespace rsmc_tests {

namespace {

using dekker::Kind;
using dekker::Opcode;
using dekker::Slot;

class Builder {
 public:
  Slot relation(const std::string& name) { return input(name, Kind::relation); }
  Slot set(const std::string& name) { return input(name, Kind::set); }

  Slot add(Opcode code, std::vector<Slot> arguments) {
    const Slot slot = new_slot(dekker::signature(code).result);
    model_.program.steps.push_back(dekker::Operation{code, slot, std::move(arguments)});
    return slot;
  }

  Slot any_of(const std::vector<Slot>& relations) {
    Slot all = relations.front();
    for (std::size_t i = 1; i < relations.size(); ++i) all = add(Opcode::unite, {all, relations[i]});
    return all;
  }

  Slot both(Slot left, Slot right) { return add(Opcode::intersect, {left, right}); }
  Slot then(Slot first, Slot second) { return add(Opcode::compose, {first, second}); }
  Slot pairs(const std::string& from, const std::string& to) { return add(Opcode::cross, {set(from), set(to)}); }
  Slot among(const std::string& name) { return add(Opcode::identity_on, {set(name)}); }
  Slot external(Slot slot) { return both(slot, relation("ext")); }

  Slot program_order_per_location() { return both(relation("po"), relation("loc")); }

  // What full fences and store fences keep in order.
  Slot fenced() {
    const Slot full = then(then(relation("po"), among("F")), relation("po"));
    const Slot stores = then(then(relation("po"), among("FWW")), relation("po"));
    return any_of({full, both(stores, pairs("W", "W"))});
  }

  Slot dependencies() {
    const Slot control = both(relation("ctrl"), pairs("R", "W"));
    return any_of({relation("addr"), relation("data"), control, then(relation("addr"), relation("po"))});
  }

  void acyclic(std::string name, Slot slot) { check(std::move(name), dekker::CheckKind::acyclic, slot); }

  void irreflexive(std::string name, Slot slot) { check(std::move(name), dekker::CheckKind::irreflexive, slot); }

  // Nothing comes between the halves of an update.
  void atomic(Slot from_read) {
    check("atomic", dekker::CheckKind::empty, both(relation("rmw"), then(external(from_read), external(relation("co")))));
  }

  void flag_if_any(std::string name, Slot slot) {
    model_.check_names.push_back(std::move(name));
    model_.program.checks.push_back({dekker::CheckKind::empty, slot, true, true});
  }

  Model finish(std::string name, CommitOrder order) {
    model_.name = std::move(name);
    model_.order = order;
    return std::move(model_);
  }

 private:
  Slot new_slot(Kind kind) {
    model_.program.kinds.push_back(kind);
    return static_cast<Slot>(model_.program.kinds.size() - 1);
  }

  Slot input(const std::string& name, Kind kind) {
    const auto [entry, is_new] = inputs_.try_emplace(name, 0);
    if (is_new) {
      entry->second = new_slot(kind);
      model_.program.inputs.push_back({entry->second, name, kind});
    }
    return entry->second;
  }

  void check(std::string name, dekker::CheckKind kind, Slot slot) {
    model_.check_names.push_back(std::move(name));
    model_.program.checks.push_back({kind, slot, false, false});
  }

  Model model_;
  std::map<std::string, Slot> inputs_;
};

CommitOrder out_of_order() { return {.in_order = false}; }

}  // namespace

Model sc() {
  Builder b;
  b.acyclic("sc", b.any_of({b.relation("po"), b.relation("rf"), b.relation("co"), b.relation("fr")}));
  b.atomic(b.relation("fr"));
  b.flag_if_any("overwritten", b.external(b.relation("fr")));
  return b.finish("sc", {});
}

Model tso() {
  Builder b;
  const Slot po = b.relation("po"), rf = b.relation("rf"), co = b.relation("co"), fr = b.relation("fr");
  const Slot delayed = b.both(po, b.pairs("W", "R"));
  const Slot kept = b.add(Opcode::subtract, {po, delayed});
  const Slot locked = b.both(delayed, b.any_of({b.pairs("U", "M"), b.pairs("M", "U")}));
  b.acyclic("coherence", b.any_of({b.program_order_per_location(), rf, co, fr}));
  b.atomic(fr);
  b.acyclic("tso", b.any_of({kept, locked, b.fenced(), b.external(rf), co, fr}));
  return b.finish("tso", {});
}

Model relaxed() {
  Builder b;
  b.atomic(b.relation("fr"));
  b.acyclic("relaxed", b.any_of({b.program_order_per_location(), b.dependencies(), b.fenced(), b.relation("rf"),
                                 b.relation("co"), b.relation("fr")}));
  return b.finish("relaxed", out_of_order());
}

Model causal() {
  Builder b;
  const Slot per_location = b.program_order_per_location();
  b.atomic(b.relation("fr"));
  b.acyclic("coherence", b.any_of({per_location, b.relation("rf"), b.relation("co"), b.relation("fr")}));
  const Slot before = b.add(Opcode::transitive_closure, {b.any_of({per_location, b.dependencies(), b.fenced(), b.relation("rf")})});
  b.acyclic("causality", before);
  b.irreflexive("observation", b.then(b.relation("fr"), before));
  return b.finish("causal", out_of_order());
}

Model forwarding() {
  Builder b;
  const Slot rf = b.relation("rf"), co = b.relation("co");
  const Slot fr = b.then(b.add(Opcode::invert, {rf}), co);
  const Slot own = b.both(rf, b.relation("int"));
  b.atomic(fr);
  b.acyclic("coherence", b.any_of({b.program_order_per_location(), rf, co, fr}));
  const Slot through_stores = b.then(b.any_of({b.relation("addr"), b.relation("data")}), own);
  b.acyclic("order", b.any_of({b.dependencies(), through_stores, b.fenced(), b.external(rf), co, fr}));
  CommitOrder order = out_of_order();
  order.forwarding = true;
  return b.finish("forwarding", order);
}

std::vector<Model> all_models() { return {sc(), tso(), relaxed(), causal(), forwarding()}; }
std::vector<Model> weak_models() { return {relaxed(), causal(), forwarding()}; }

}  // namespace rsmc_tests
