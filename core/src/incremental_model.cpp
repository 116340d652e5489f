#include "dekker/incremental_model.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "dekker/evaluator.hpp"
#include "dekker/text.hpp"
#include "incremental/graph.hpp"
#include "incremental/plan.hpp"
#include "incremental/propagation.hpp"

namespace dekker {

namespace {

constexpr std::size_t most_words = 512;
constexpr std::size_t most_words_of_loose_rows = 16;

// The numbers of words for which there is code.
std::size_t words_supported(std::size_t words_per_row) {
  if (words_per_row == 0 || words_per_row > most_words)
    throw std::invalid_argument(text("rows of ", words_per_row, " words; 1 to ", most_words, " are possible"));
  if (words_per_row <= 16) return std::bit_ceil(words_per_row);
  return words_per_row <= 64 ? 64 : words_per_row <= 256 ? 256 : 512;
}

// Evaluates everything anew.
class Reference {
 public:
  Reference(const ModelProgram& program, const ExecutionInputs& inputs)
      : inputs_(inputs), model_(program), evaluator_(model_) {}

  bool is_allowed(Word skipped) {
    load();
    if (skipped == 0) return evaluator_.is_allowed();
    const std::vector<bool>& results = evaluator_.check_all();
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!results[i] && !model_.checks()[i].is_flag && (skipped & bit(i)) == 0) return false;
    return true;
  }

  Word raised_flags() {
    load();
    const std::vector<bool>& results = evaluator_.check_all();
    Word raised = 0;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i] && model_.checks()[i].is_flag) raised |= bit(i);
    return raised;
  }

 private:
  void load() {
    evaluator_.reset(inputs_.n_events());
    for (std::size_t i = 0; i < model_.inputs().size(); ++i)
      for (std::size_t event = 0; event < inputs_.n_events(); ++event) load(i, event);
  }

  void load(std::size_t input, std::size_t event) {
    const std::size_t words = inputs_.stride();
    if (model_.inputs()[input].kind == Kind::set) {
      if (test_bit({inputs_.members(input), words}, event)) evaluator_.input_set(input).insert(event);
      return;
    }
    Relation& relation = evaluator_.input_relation(input);
    const Word* const border = inputs_.border(input, event);
    const std::size_t n = inputs_.border_words(event);
    for_each_bit({border, n}, [&](std::size_t to) { relation.insert(event, to); });
    for_each_bit({border + n, n}, [&](std::size_t from) { relation.insert(from, event); });
  }

  const ExecutionInputs& inputs_;
  CompiledModel model_;
  Evaluator evaluator_;
};

}  // namespace

ExecutionInputs::ExecutionInputs(const std::vector<Input>& inputs, std::size_t words_per_row)
    : words_(words_per_row), stride_(words_supported(words_per_row)),
      is_tight_(stride_ > most_words_of_loose_rows), used_(inputs.size(), 0) {
  std::size_t set_words = 0;
  for (const Input& input : inputs) {
    std::size_t& end = input.kind == Kind::set ? set_words : n_borders_;
    places_.push_back(end);
    end += input.kind == Kind::set ? stride_ : 2;
  }
  borders_.reset(static_cast<Word*>(std::calloc(borders_before(capacity()) + 1, sizeof(Word))));
  if (!borders_) throw std::bad_alloc();
  sets_.resize(set_words);
}

void ExecutionInputs::push_event() {
  if (n_events_ == capacity()) throw CapacityExceeded(text("more than ", capacity(), " events"));
  const std::size_t newest = n_events_++;
  newest_ = borders_.get() + borders_before(newest);
  newest_words_ = border_words(newest);
  std::fill_n(newest_, n_borders_ * newest_words_, Word{0});
  for (std::size_t i = newest / word_bits; i < sets_.size(); i += stride_) sets_[i] &= ~bit(newest);
}

void ExecutionInputs::pop_to(std::size_t n_events) {
  n_events_ = n_events;
  if (n_events == 0) return;
  newest_ = borders_.get() + borders_before(n_events - 1);
  newest_words_ = border_words(n_events - 1);
}

class IncrementalModel::Core {
 public:
  virtual ~Core() = default;
  virtual bool is_allowed(Word skipped) = 0;
  virtual Word raised_flags() = 0;
  virtual void pop_to(std::size_t n_events) = 0;
};

// Begins with the plan that assumes nothing. After some events, most of what has been empty so far will stay so, and a
// plan that relies on it takes over until that turns out to be wrong.
template <std::size_t W>
class IncrementalModel::Engine final : public IncrementalModel::Core {
 public:
  Engine(const ModelProgram& program, incremental::Graph graph, ExecutionInputs& inputs, std::size_t n_trials)
      : program_(program), graph_(std::move(graph)), inputs_(inputs), n_trials_(n_trials),
        general_(incremental::make_plan(graph_, std::vector<bool>(graph_.nodes.size(), true))),
        // Full evaluation does not show what is empty; but without some inputs it may not be needed.
        seen_(graph_.nodes.size(), general_.needs_evaluator), known_(inputs.capacity() + 1, 0), propagation_(inputs) {
    for (std::size_t i = 0; i < graph_.checks.size(); ++i) {
      if (graph_.checks[i].is_flag) continue;
      required_ |= bit(i);
      if (!graph_.checks[i].negated) known_[0] |= bit(i);
    }
    generalise();
  }

  bool is_allowed(Word skipped) override {
    choose_plan();
    const std::size_t n_events = inputs_.n_events();
    while (!plan_->needs_evaluator && propagation_.n_events() < n_events)
      if (!add_event(n_events, skipped)) return false;
    if (plan_->needs_evaluator) {
      ++n_added_;
      return reference().is_allowed(skipped);
    }
    const Word open = required_ & ~(skipped | known_[n_events]);
    return open == 0 || decide(open);
  }

  Word raised_flags() override {
    if (!is_allowed(0) || plan_->needs_evaluator) return reference().raised_flags();
    Word raised = plan_->raised;
    for (const std::size_t i : plan_->flags)
      if (propagation_.holds(plan_->checks[i])) raised |= bit(i);
    return raised;
  }

  void pop_to(std::size_t n_events) override { propagation_.undo_to(n_events); }

 private:
  void choose_plan() {
    if (plan_ == &general_) {
      if (n_added_ >= n_trials_) specialise();
    } else if (inputs_.take_first_use()) {
      generalise();
    }
  }

  void generalise() { adopt(general_); }

  void specialise() {
    inputs_.take_first_use();
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) seen_[graph_.inputs[i]] = inputs_.was_used(i);
    special_ = incremental::make_plan(graph_, seen_);
    // What can only grow while the plan's guess is right may shrink when it turns out to be wrong.
    for (std::size_t i = 0; i < graph_.checks.size(); ++i)
      if (!general_.checks[i].is_persistent) special_->checks[i].is_persistent = false;
    adopt(*special_);
  }

  void adopt(const incremental::Plan& plan) {
    plan_ = &plan;
    n_added_ = 0;
    watchable_.clear();
    if (plan.needs_evaluator) return;
    for (incremental::PlanSlot slot = 0; slot < plan.n_slots; ++slot)
      if (incremental::is_worth_watching(graph_.nodes[plan.nodes[slot]])) watchable_.push_back(slot);
    propagation_.adopt(plan);
  }

  // Returns false if the execution is not allowed. May start again with another plan.
  bool add_event(std::size_t n_events, Word skipped) {
    using incremental::Outcome;
    const std::size_t event = propagation_.n_events();
    Word known = known_[event];
    const Outcome outcome = propagation_.add_event(event + 1 == n_events, skipped, known);
    ++n_added_;
    known_[event + 1] = known;
    if (plan_ == &general_) note_seen();
    if (outcome != Outcome::surprise) return outcome == Outcome::holds;
    seen_[propagation_.surprising_node()] = true;
    generalise();
    return true;
  }

  void note_seen() {
    for (const incremental::PlanSlot slot : watchable_) {
      const incremental::NodeId node = plan_->nodes[slot];
      if (propagation_.has_changed(slot, graph_.nodes[node].kind)) seen_[node] = true;
    }
  }

  bool decide(Word open) {
    if ((open & plan_->refuted) != 0 || !reference().is_allowed(~open)) return false;
    known_[inputs_.n_events()] |= open;
    return true;
  }

  Reference& reference() {
    if (!reference_) reference_.emplace(program_, inputs_);
    return *reference_;
  }

  const ModelProgram& program_;
  incremental::Graph graph_;
  ExecutionInputs& inputs_;
  std::size_t n_trials_;
  Word required_ = 0;
  incremental::Plan general_;
  std::optional<incremental::Plan> special_;
  const incremental::Plan* plan_ = nullptr;
  std::size_t n_added_ = 0;  // events, since the plan was adopted
  std::vector<bool> seen_;   // nodes that were other than empty at some time
  std::vector<incremental::PlanSlot> watchable_;
  std::vector<Word> known_;  // checks that hold, by number of events
  incremental::Propagation<W> propagation_;
  std::optional<Reference> reference_;
};

IncrementalModel::IncrementalModel(const ModelProgram& program, std::size_t words_per_row, std::size_t n_trials) {
  if (program.checks.size() > word_bits)
    throw std::invalid_argument(text("the model has ", program.checks.size(), " checks; at most 64 are possible"));
  inputs_ = std::make_unique<ExecutionInputs>(program.inputs, words_per_row);
  incremental::Graph graph = incremental::make_graph(program);
  const std::vector<bool> needed = incremental::needed_nodes(graph);
  for (const Input& input : program.inputs) names_.push_back(needed[input.slot] ? input.name : std::string());
  switch (inputs_->stride()) {
    case 1: core_ = std::make_unique<Engine<1>>(program, std::move(graph), *inputs_, n_trials); break;
    case 2: core_ = std::make_unique<Engine<2>>(program, std::move(graph), *inputs_, n_trials); break;
    case 4: core_ = std::make_unique<Engine<4>>(program, std::move(graph), *inputs_, n_trials); break;
    case 8: core_ = std::make_unique<Engine<8>>(program, std::move(graph), *inputs_, n_trials); break;
    case 16: core_ = std::make_unique<Engine<16>>(program, std::move(graph), *inputs_, n_trials); break;
    case 64: core_ = std::make_unique<Engine<64>>(program, std::move(graph), *inputs_, n_trials); break;
    case 256: core_ = std::make_unique<Engine<256>>(program, std::move(graph), *inputs_, n_trials); break;
    default: core_ = std::make_unique<Engine<512>>(program, std::move(graph), *inputs_, n_trials);
  }
}

IncrementalModel::IncrementalModel(IncrementalModel&&) noexcept = default;
IncrementalModel& IncrementalModel::operator=(IncrementalModel&&) noexcept = default;
IncrementalModel::~IncrementalModel() = default;

std::size_t IncrementalModel::input_index(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() || name.empty() ? npos : static_cast<std::size_t>(found - names_.begin());
}

bool IncrementalModel::is_allowed(Word skipped) { return core_->is_allowed(skipped); }

Word IncrementalModel::raised_flags() { return core_->raised_flags(); }

void IncrementalModel::pop_to(std::size_t n_events) {
  core_->pop_to(n_events);
  inputs_->pop_to(n_events);
}

}  // namespace dekker
