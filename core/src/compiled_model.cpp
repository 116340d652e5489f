#include "dekker/compiled_model.hpp"

#include <algorithm>
#include <utility>

namespace dekker {

namespace {

// Which slots belong to something, indexed by slot.
using SlotSet = std::vector<bool>;

template <class Visit>
void for_each_use(const Step& step, Visit visit) {
  if (const auto* operation = std::get_if<Operation>(&step)) {
    std::ranges::for_each(operation->arguments, visit);
    return;
  }
  const auto& fixpoint = std::get<Fixpoint>(step);
  for (const Step& inner : fixpoint.body) for_each_use(inner, visit);
  std::ranges::for_each(fixpoint.results, visit);
}

template <class Visit>
void for_each_definition(const Step& step, Visit visit) {
  if (const auto* operation = std::get_if<Operation>(&step)) {
    visit(operation->destination);
    return;
  }
  const auto& fixpoint = std::get<Fixpoint>(step);
  std::ranges::for_each(fixpoint.variables, visit);
  for (const Step& inner : fixpoint.body) for_each_definition(inner, visit);
}

bool defines_any(const Step& step, const SlotSet& slots) {
  bool found = false;
  for_each_definition(step, [&](Slot slot) { found = found || slots[slot]; });
  return found;
}

// Hands out every step once, to the first check that needs it.
class Scheduler {
 public:
  Scheduler(std::vector<Step> steps, std::size_t n_slots)
      : steps_(std::move(steps)), scheduled_(steps_.size(), false), n_slots_(n_slots) {}

  std::vector<Step> steps_for(Slot wanted) {
    SlotSet needed(n_slots_, false);
    needed[wanted] = true;
    std::vector<Step> out;
    for (std::size_t i = steps_.size(); i-- > 0;) {
      if (scheduled_[i] || !defines_any(steps_[i], needed)) continue;
      for_each_use(steps_[i], [&](Slot slot) { needed[slot] = true; });
      scheduled_[i] = true;
      out.push_back(std::move(steps_[i]));
    }
    std::ranges::reverse(out);
    return out;
  }

 private:
  std::vector<Step> steps_;
  std::vector<bool> scheduled_;
  std::size_t n_slots_;
};

}  // namespace

CompiledModel::CompiledModel(const ModelProgram& program)
    : kinds_(program.kinds), inputs_(program.inputs), checks_(program.checks) {
  validate(program);
  Scheduler scheduler(program.steps, kinds_.size());
  for (const bool flags : {false, true})
    for (std::size_t i = 0; i < checks_.size(); ++i)
      if (checks_[i].is_flag == flags)
        (flags ? flag_stages_ : stages_).push_back({scheduler.steps_for(checks_[i].slot), i});
}

}  // namespace dekker
