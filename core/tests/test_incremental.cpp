#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

#include "allocations.hpp"
#include "dekker/evaluator.hpp"
#include "dekker/incremental_model.hpp"
#include "harness.hpp"

using namespace dekker;

namespace {

constexpr Kind set = Kind::set;
constexpr Kind rel = Kind::relation;

// ---- Random programs -------------------------------------------------------------------------------------------------

class ProgramMaker {
 public:
  explicit ProgramMaker(std::mt19937& random) : random_(random) {}

  ModelProgram run() {
    for (const char* name : {"r", "s", "t", "probe"}) add_input(name, rel);
    for (const char* name : {"S", "T"}) add_input(name, set);
    const std::size_t n_steps = 4 + random_() % 16;
    for (std::size_t i = 0; i < n_steps; ++i) program_.steps.push_back(step(0));
    add_checks();
    return program_;
  }

 private:
  void add_input(const char* name, Kind kind) {
    const Slot slot = new_slot(kind);
    program_.inputs.push_back({slot, name, kind});
    define(slot);
  }

  Slot new_slot(Kind kind) {
    program_.kinds.push_back(kind);
    return static_cast<Slot>(program_.kinds.size() - 1);
  }

  void define(Slot slot) { (program_.kinds[slot] == set ? sets_ : relations_).push_back(slot); }

  Step step(std::size_t depth) {
    if (depth < 2 && random_() % 6 == 0) return fixpoint(depth);
    return operation(any_opcode());
  }

  Operation operation(Opcode code) {
    Operation out{code, 0, {}};
    for (const Kind kind : signature(code).arguments) out.arguments.push_back(pick(kind));
    out.destination = new_slot(signature(code).result);
    define(out.destination);
    return out;
  }

  Opcode any_opcode() {
    // Composition, union and what is in all models is more likely.
    static const Opcode often[] = {Opcode::unite, Opcode::compose, Opcode::intersect, Opcode::subtract,
                                   Opcode::transitive_closure, Opcode::unite, Opcode::cross};
    if (random_() % 3 != 0) return often[random_() % std::size(often)];
    return static_cast<Opcode>(random_() % (static_cast<unsigned>(Opcode::identity) + 1));
  }

  // Rarely with a body that is not monotone.
  Step fixpoint(std::size_t depth) {
    Fixpoint out;
    const std::size_t n_variables = 1 + random_() % 3;
    const bool of_sets = random_() % 5 == 0;
    for (std::size_t i = 0; i < n_variables; ++i) {
      out.variables.push_back(new_slot(of_sets ? set : rel));
      define(out.variables.back());
    }
    const std::size_t n_steps = 1 + random_() % 7;
    for (std::size_t i = 0; i < n_steps; ++i) {
      if (depth < 2 && random_() % 12 == 0) {
        out.body.push_back(fixpoint(depth + 1));
        continue;
      }
      Opcode code = any_opcode();
      while (is_reversing(code) && random_() % 8 != 0) code = any_opcode();
      out.body.push_back(operation(code));
    }
    for (const Slot variable : out.variables) {
      const Kind kind = program_.kinds[variable];
      Operation last{kind == set ? Opcode::set_unite : Opcode::unite, new_slot(kind), {pick(kind), pick(kind)}};
      out.results.push_back(random_() % 8 == 0 ? pick(kind) : last.destination);
      out.body.push_back(last);
    }
    for (const Step& inner : out.body)
      if (const auto* last = std::get_if<Operation>(&inner)) define_once(last->destination);
    return out;
  }

  static bool is_reversing(Opcode code) {
    return code == Opcode::subtract || code == Opcode::complement || code == Opcode::set_subtract ||
           code == Opcode::set_complement;
  }

  void define_once(Slot slot) {
    auto& slots = program_.kinds[slot] == set ? sets_ : relations_;
    if (std::ranges::find(slots, slot) == slots.end()) slots.push_back(slot);
  }

  // Recent ones are more likely, so that programs are deep.
  Slot pick(Kind kind) {
    const auto& slots = kind == set ? sets_ : relations_;
    const std::size_t window = random_() % 2 == 0 ? std::min<std::size_t>(slots.size(), 5) : slots.size();
    return slots[slots.size() - 1 - random_() % window];
  }

  void add_checks() {
    const std::size_t n_checks = 1 + random_() % 3;
    for (std::size_t i = 0; i < n_checks; ++i) {
      const auto kind = static_cast<CheckKind>(random_() % 3);
      const Slot slot = pick(kind == CheckKind::empty && random_() % 4 == 0 ? set : rel);
      program_.checks.push_back({kind, slot, random_() % 10 == 0, random_() % 4 == 0});
    }
    // Flags that show single pairs of any relation.
    for (std::size_t i = 0; i < 3; ++i) {
      const Slot common = new_slot(rel);
      program_.steps.push_back(Operation{random_() % 2 == 0 ? Opcode::intersect : Opcode::subtract, common, {pick(rel), 3}});
      program_.checks.push_back({CheckKind::empty, common, false, true});
    }
    const auto kind = static_cast<CheckKind>(random_() % 3);
    program_.checks.push_back({kind, pick(rel), random_() % 2 == 0, true});
    std::ranges::shuffle(program_.checks, random_);
  }

  std::mt19937& random_;
  ModelProgram program_;
  std::vector<Slot> sets_;
  std::vector<Slot> relations_;
};

// ---- Executions, kept twice --------------------------------------------------------------------------------------------

class Twin {
 public:
  Twin(const ModelProgram& program, std::size_t words_per_row, std::size_t n_trials)
      : program_(program), compiled_(program), evaluator_(compiled_), words_per_row_(words_per_row),
        incremental_(program, words_per_row, n_trials) {}

  std::size_t n_events() const { return events_.size(); }

  // `density` of pairs in relations; `tendency` to have them lead upwards; `inputs` in use.
  void push(std::mt19937& random, double density, double tendency, unsigned inputs) {
    events_.emplace_back();
    incremental_.push_event();
    const std::size_t newest = n_events() - 1;
    std::bernoulli_distribution is_pair(std::min(density, 1.0)), is_member(0.4), is_backward(1 - tendency);
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      if ((inputs >> i & 1) == 0) continue;
      if (program_.inputs[i].kind == set) {
        if (is_member(random)) insert_member(i);
        continue;
      }
      std::vector<Word> before(words_per_row_, 0), after(words_per_row_, 0);
      for (std::size_t e = 0; e <= newest; ++e) {
        if (e != newest && is_pair(random)) set_bit(before, e);
        if (is_pair(random) && is_backward(random)) set_bit(after, e);
      }
      insert_pairs(i, before, after, random() % 2 == 0);
    }
  }

  void pop_to(std::size_t n_events) {
    events_.resize(n_events);
    incremental_.pop_to(n_events);
  }

  bool agrees_on_checks(Word skipped) {
    load();
    const std::vector<bool>& results = evaluator_.check_all();
    is_allowed_ = true;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (!program_.checks[i].is_flag && (skipped & bit(i)) == 0 && !results[i]) is_allowed_ = false;
    return incremental_.is_allowed(skipped) == is_allowed_;
  }

  bool agrees_on_flags() {
    load();
    const std::vector<bool>& results = evaluator_.check_all();
    Word raised = 0;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (program_.checks[i].is_flag && results[i]) raised |= bit(i);
    return incremental_.raised_flags() == raised;
  }

  bool is_allowed() const { return is_allowed_; }

 private:
  struct Insertion {
    std::size_t input, from, to;
  };

  void insert_member(std::size_t input) {
    const std::size_t newest = n_events() - 1;
    incremental_.insert_member(input, newest);
    events_.back().push_back({input, newest, newest});
  }

  void insert_pairs(std::size_t input, const std::vector<Word>& before, const std::vector<Word>& after, bool in_bulk) {
    const std::size_t newest = n_events() - 1;
    if (in_bulk) {
      incremental_.insert_predecessors(input, before.data());
      incremental_.insert_successors(input, after.data());
    }
    for_each_bit(before, [&](std::size_t e) {
      events_.back().push_back({input, e, newest});
      if (!in_bulk) incremental_.insert_pair(input, e, newest);
    });
    for_each_bit(after, [&](std::size_t e) {
      events_.back().push_back({input, newest, e});
      if (!in_bulk) incremental_.insert_pair(input, newest, e);
    });
  }

  void load() {
    evaluator_.reset(n_events());
    for (const auto& insertions : events_)
      for (const auto& [input, from, to] : insertions) {
        if (program_.inputs[input].kind == set)
          evaluator_.input_set(input).insert(from);
        else
          evaluator_.input_relation(input).insert(from, to);
      }
  }

  ModelProgram program_;
  CompiledModel compiled_;
  Evaluator evaluator_;
  std::size_t words_per_row_;
  IncrementalModel incremental_;
  std::vector<std::vector<Insertion>> events_;
  bool is_allowed_ = true;
};

struct Walk {
  std::size_t n_steps;
  std::size_t most_events;
  std::size_t words_per_row;
  std::size_t n_trials;
};

// Returns false at the first disagreement.
bool random_walk(const ModelProgram& program, const Walk& walk, std::mt19937& random) {
  Twin twin(program, walk.words_per_row, walk.n_trials);
  const double degree = std::uniform_real_distribution(0.1, 2.5)(random);
  const double tendency = random() % 2 == 0 ? 1.0 : std::uniform_real_distribution(0.0, 1.0)(random);
  unsigned inputs = random() % 64;
  for (std::size_t i = 0; i < walk.n_steps; ++i) {
    if (random() % 50 == 0) inputs |= 1u << random() % 6;
    const std::size_t n_pushes = random() % 4 == 0 ? random() % 4 : 1;
    for (std::size_t k = 0; k < n_pushes && twin.n_events() < walk.most_events; ++k)
      twin.push(random, degree / static_cast<double>(twin.n_events() + 1), tendency, inputs);
    const Word skipped = random() % 12 == 0 ? random() % 64 : 0;
    if (random() % 6 != 0 && !twin.agrees_on_checks(skipped)) return false;
    if (random() % 5 == 0 && !twin.agrees_on_flags()) return false;
    const bool goes_back = !twin.is_allowed() || random() % 10 == 0 || twin.n_events() == walk.most_events;
    if (!goes_back || twin.n_events() == 0) continue;
    const std::size_t n_removed = random() % 8 == 0 ? 1 + random() % twin.n_events() : 1;
    twin.pop_to(twin.n_events() - n_removed);
    if (random() % 20 == 0 && !twin.agrees_on_checks(0)) return false;
    if (random() % 10 == 0 && !twin.agrees_on_flags()) return false;
  }
  return true;
}

void expect_agreement(unsigned first_seed, std::size_t n_programs, const Walk& walk) {
  for (unsigned seed = first_seed; seed < first_seed + n_programs; ++seed) {
    std::mt19937 random(seed);
    const ModelProgram program = ProgramMaker(random).run();
    bool agrees = true;
    try {
      agrees = random_walk(program, walk, random);
    } catch (const std::runtime_error& error) {
      // A fixpoint that is not monotone may have no value.
      agrees = std::string_view(error.what()).find("not monotone") != std::string_view::npos;
    }
    if (!agrees) std::cerr << "seed " << seed << '\n';
    CHECK(agrees);
  }
}

}  // namespace

TEST(incremental_and_full_evaluation_agree) {
  expect_agreement(1, 300, {120, 14, 1, 1000});
  expect_agreement(1001, 300, {120, 14, 1, 20});
  expect_agreement(2001, 100, {200, 64, 1, 40});
}

TEST(incremental_and_full_evaluation_agree_on_two_words) {
  expect_agreement(3001, 100, {150, 20, 2, 30});
  expect_agreement(4001, 40, {250, 100, 2, 60});
}

TEST(incremental_and_full_evaluation_agree_on_wider_rows) {
  expect_agreement(5001, 20, {80, 30, 3, 20});
  expect_agreement(6001, 20, {80, 30, 8, 20});
  expect_agreement(7001, 20, {80, 30, 16, 20});
}
