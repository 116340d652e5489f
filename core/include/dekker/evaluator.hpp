#pragma once

#include <cstddef>
#include <vector>

#include "dekker/compiled_model.hpp"
#include "dekker/event_set.hpp"
#include "dekker/relation.hpp"

namespace dekker {

// Evaluates one model on one execution after another. Usage: reset, fill the inputs, ask. Keeps its memory, so that
// nothing is allocated once the largest execution has been seen. The model must outlive it.
class Evaluator {
 public:
  explicit Evaluator(const CompiledModel& model);

  // Starts an execution of n_events; all inputs are empty.
  void reset(std::size_t n_events);

  std::size_t n_events() const { return n_events_; }

  // The input at this index of CompiledModel::inputs(), to be filled by the caller; it survives evaluation.
  EventSet& input_set(std::size_t index) { return sets_[model_->inputs()[index].slot]; }
  Relation& input_relation(std::size_t index) { return relations_[model_->inputs()[index].slot]; }

  // Do all checks hold that are not flags? Stops at the first that does not.
  bool is_allowed();

  // For each check of the model, flags included, whether what it states holds. Valid until the next call.
  const std::vector<bool>& check_all();

 private:
  void run(const std::vector<Step>& steps);
  void run(const Operation& operation);
  void run(const Fixpoint& fixpoint);
  void run_set_operation(const Operation& operation);
  void clear(Slot slot);
  void copy(Slot to, Slot from);
  bool is_equal(Slot left, Slot right) const;
  bool has_converged(const Fixpoint& fixpoint) const;
  bool decide(const Stage& stage);
  bool holds(const Check& check);

  const CompiledModel* model_;
  std::size_t n_events_ = 0;
  // Both indexed by slot; the entries for slots of the other kind stay unused.
  std::vector<EventSet> sets_;
  std::vector<Relation> relations_;
  std::vector<bool> results_;
  PathScratch scratch_;
};

}  // namespace dekker
