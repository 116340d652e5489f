#include "dekker/evaluator.hpp"

#include <algorithm>
#include <stdexcept>

namespace dekker {

Evaluator::Evaluator(const CompiledModel& model)
    : model_(&model), sets_(model.kinds().size()), relations_(model.kinds().size()), results_(model.checks().size()) {}

void Evaluator::reset(std::size_t n_events) {
  const auto& kinds = model_->kinds();
  if (n_events == n_events_) {
    for (const Input& input : model_->inputs()) clear(input.slot);
    return;
  }
  n_events_ = n_events;
  for (Slot slot = 0; slot < kinds.size(); ++slot) {
    if (kinds[slot] == Kind::set)
      sets_[slot].reset(n_events);
    else
      relations_[slot].reset(n_events);
  }
}

bool Evaluator::is_allowed() {
  return std::ranges::all_of(model_->stages(), [this](const Stage& stage) { return decide(stage); });
}

const std::vector<bool>& Evaluator::check_all() {
  for (const Stage& stage : model_->stages()) results_[stage.check] = decide(stage);
  for (const Stage& stage : model_->flag_stages()) results_[stage.check] = decide(stage);
  return results_;
}

bool Evaluator::decide(const Stage& stage) {
  run(stage.steps);
  return holds(model_->checks()[stage.check]);
}

bool Evaluator::holds(const Check& check) {
  bool plain = false;
  switch (check.kind) {
    case CheckKind::acyclic: plain = is_acyclic(relations_[check.slot], scratch_); break;
    case CheckKind::irreflexive: plain = is_irreflexive(relations_[check.slot]); break;
    case CheckKind::empty:
      plain = model_->kinds()[check.slot] == Kind::set ? is_empty(sets_[check.slot]) : is_empty(relations_[check.slot]);
      break;
  }
  return plain != check.negated;
}

void Evaluator::run(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (const auto* operation = std::get_if<Operation>(&step))
      run(*operation);
    else
      run(std::get<Fixpoint>(step));
  }
}

void Evaluator::run(const Operation& operation) {
  if (model_->kinds()[operation.destination] == Kind::set) return run_set_operation(operation);
  Relation& out = relations_[operation.destination];
  const auto relation = [&](std::size_t i) -> const Relation& { return relations_[operation.arguments[i]]; };
  const auto set = [&](std::size_t i) -> const EventSet& { return sets_[operation.arguments[i]]; };
  switch (operation.code) {
    case Opcode::unite: return unite(out, relation(0), relation(1));
    case Opcode::intersect: return intersect(out, relation(0), relation(1));
    case Opcode::subtract: return subtract(out, relation(0), relation(1));
    case Opcode::compose: return compose(out, relation(0), relation(1));
    case Opcode::invert: return invert(out, relation(0));
    case Opcode::transitive_closure: return transitive_closure(out, relation(0));
    case Opcode::reflexive_transitive_closure: return reflexive_transitive_closure(out, relation(0));
    case Opcode::reflexive_closure: return reflexive_closure(out, relation(0));
    case Opcode::complement: return complement(out, relation(0));
    case Opcode::identity_on: return identity_on(out, set(0));
    case Opcode::cross: return cross(out, set(0), set(1));
    case Opcode::empty_relation: return out.clear();
    case Opcode::full_relation: return out.fill();
    case Opcode::identity: out.clear(); return out.insert_diagonal();
    default: throw std::logic_error("an operation that makes sets reached the relations");
  }
}

void Evaluator::run_set_operation(const Operation& operation) {
  EventSet& out = sets_[operation.destination];
  const auto relation = [&](std::size_t i) -> const Relation& { return relations_[operation.arguments[i]]; };
  const auto set = [&](std::size_t i) -> const EventSet& { return sets_[operation.arguments[i]]; };
  switch (operation.code) {
    case Opcode::set_unite: return unite(out, set(0), set(1));
    case Opcode::set_intersect: return intersect(out, set(0), set(1));
    case Opcode::set_subtract: return subtract(out, set(0), set(1));
    case Opcode::set_complement: return complement(out, set(0));
    case Opcode::domain: return domain(out, relation(0));
    case Opcode::range: return range(out, relation(0));
    case Opcode::empty_set: return out.clear();
    case Opcode::full_set: return out.fill();
    default: throw std::logic_error("an operation that makes relations reached the sets");
  }
}

void Evaluator::run(const Fixpoint& fixpoint) {
  for (const Slot variable : fixpoint.variables) clear(variable);
  // A monotone body adds at least one pair or event per round.
  const std::size_t most_rounds = fixpoint.variables.size() * n_events_ * n_events_ + 1;
  for (std::size_t round = 0; round < most_rounds; ++round) {
    run(fixpoint.body);
    if (has_converged(fixpoint)) return;
    for (std::size_t i = 0; i < fixpoint.variables.size(); ++i) copy(fixpoint.variables[i], fixpoint.results[i]);
  }
  throw std::runtime_error("a recursive definition of the model has no least fixpoint: it is not monotone");
}

bool Evaluator::has_converged(const Fixpoint& fixpoint) const {
  return std::ranges::equal(fixpoint.variables, fixpoint.results,
                            [this](Slot variable, Slot result) { return is_equal(variable, result); });
}

void Evaluator::clear(Slot slot) {
  if (model_->kinds()[slot] == Kind::set)
    sets_[slot].clear();
  else
    relations_[slot].clear();
}

void Evaluator::copy(Slot to, Slot from) {
  if (model_->kinds()[to] == Kind::set)
    sets_[to] = sets_[from];
  else
    relations_[to] = relations_[from];
}

bool Evaluator::is_equal(Slot left, Slot right) const {
  return model_->kinds()[left] == Kind::set ? sets_[left] == sets_[right] : relations_[left] == relations_[right];
}

}  // namespace dekker
