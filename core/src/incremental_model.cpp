#include "dekker/incremental_model.hpp"

#include <algorithm>

#include "dekker/evaluator.hpp"
#include "dekker/text.hpp"

namespace dekker {

ExecutionInputs::ExecutionInputs(const std::vector<Input>& inputs, std::size_t words_per_row)
    : words_(words_per_row), used_(inputs.size(), 0) {
  std::size_t set_words = 0;
  for (const Input& input : inputs) {
    std::size_t& end = input.kind == Kind::set ? set_words : border_words_;
    places_.push_back(end);
    end += input.kind == Kind::set ? words_ : 2 * words_;
  }
  borders_.resize(border_words_ * capacity());
  sets_.resize(set_words);
}

void ExecutionInputs::push_event() {
  if (n_events_ == capacity()) throw CapacityExceeded(text("more than ", capacity(), " events"));
  const std::size_t newest = n_events_++;
  std::fill_n(borders_.data() + newest * border_words_, border_words_, Word{0});
  for (std::size_t i = newest / word_bits; i < sets_.size(); i += words_) sets_[i] &= ~bit(newest);
}

class IncrementalModel::Core {
 public:
  virtual ~Core() = default;
  virtual bool is_allowed(Word skipped) = 0;
  virtual Word raised_flags() = 0;
  virtual void pop_to(std::size_t n_events) = 0;
};

// Evaluates everything each time.
class IncrementalModel::Reference : public IncrementalModel::Core {
 public:
  Reference(const ModelProgram& program, const ExecutionInputs& inputs)
      : inputs_(inputs), model_(program), evaluator_(model_) {}

  bool is_allowed(Word skipped) override {
    load();
    if (skipped == 0) return evaluator_.is_allowed();
    const std::vector<bool>& results = evaluator_.check_all();
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!results[i] && !model_.checks()[i].is_flag && (skipped & bit(i)) == 0) return false;
    return true;
  }

  Word raised_flags() override {
    load();
    const std::vector<bool>& results = evaluator_.check_all();
    Word raised = 0;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] && model_.checks()[i].is_flag) raised |= bit(i);
    return raised;
  }

  void pop_to(std::size_t) override {}

 private:
  void load() {
    const std::size_t n_events = inputs_.n_events();
    evaluator_.reset(n_events);
    for (std::size_t i = 0; i < model_.inputs().size(); ++i)
      for (std::size_t event = 0; event < n_events; ++event) load(i, event);
  }

  void load(std::size_t input, std::size_t event) {
    const std::size_t words = inputs_.words_per_row();
    if (model_.inputs()[input].kind == Kind::set) {
      if (test_bit({inputs_.members(input), words}, event)) evaluator_.input_set(input).insert(event);
      return;
    }
    Relation& relation = evaluator_.input_relation(input);
    const Word* const border = inputs_.border(input, event);
    for_each_bit({border, words}, [&](std::size_t to) { relation.insert(event, to); });
    for_each_bit({border + words, words}, [&](std::size_t from) { relation.insert(from, event); });
  }

  const ExecutionInputs& inputs_;
  CompiledModel model_;
  Evaluator evaluator_;
};

IncrementalModel::IncrementalModel(const ModelProgram& program, std::size_t words_per_row)
    : inputs_(std::make_unique<ExecutionInputs>(program.inputs, words_per_row)),
      core_(std::make_unique<Reference>(program, *inputs_)) {
  if (program.checks.size() > word_bits)
    throw std::invalid_argument(text("the model has ", program.checks.size(), " checks; at most 64 are possible"));
  for (const Input& input : program.inputs) names_.push_back(input.name);
}

IncrementalModel::IncrementalModel(IncrementalModel&&) noexcept = default;
IncrementalModel& IncrementalModel::operator=(IncrementalModel&&) noexcept = default;
IncrementalModel::~IncrementalModel() = default;

std::size_t IncrementalModel::input_index(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? npos : static_cast<std::size_t>(found - names_.begin());
}

bool IncrementalModel::is_allowed(Word skipped) { return core_->is_allowed(skipped); }

Word IncrementalModel::raised_flags() { return core_->raised_flags(); }

void IncrementalModel::pop_to(std::size_t n_events) {
  core_->pop_to(n_events);
  inputs_->pop_to(n_events);
}

}  // namespace dekker
