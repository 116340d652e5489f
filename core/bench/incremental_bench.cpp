// Times IncrementalModel on explorations: events in a fixed order of commits, each with all its parameters (the
// position of a store in coherence, the source of a load), depth first, up to a number of commits.
//
//   python core/bench/dump_model.py power > power.model
//   incremental_bench power.model [--full | --none]
//
// --full evaluates every execution from scratch instead; --none decides nothing: what the exploration itself costs.
#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "dekker/evaluator.hpp"
#include "dekker/incremental_model.hpp"

using namespace dekker;

namespace {

// ---- Models ---------------------------------------------------------------------------------------------------------

std::vector<Slot> read_slots(std::istream& in, std::size_t count) {
  std::vector<Slot> slots(count);
  for (Slot& slot : slots) in >> slot;
  return slots;
}

std::vector<Step> read_steps(std::istream& in) {
  std::size_t count = 0;
  in >> count;
  std::vector<Step> steps;
  for (std::size_t i = 0; i < count; ++i) {
    std::string name;
    std::size_t size = 0;
    in >> name;
    if (name == "fixpoint") {
      in >> size;
      Fixpoint fixpoint;
      fixpoint.variables = read_slots(in, size);
      fixpoint.results = read_slots(in, size);
      fixpoint.body = read_steps(in);
      steps.push_back(std::move(fixpoint));
    } else {
      Slot destination = 0;
      in >> destination >> size;
      steps.push_back(Operation{opcode_named(name), destination, read_slots(in, size)});
    }
  }
  return steps;
}

ModelProgram read_model(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  ModelProgram program;
  std::size_t count = 0;
  std::string name, kind;
  for (in >> count; count > 0 && in >> kind; --count) program.kinds.push_back(kind_named(kind));
  Slot slot = 0;
  for (in >> count; count > 0 && in >> slot >> name >> kind; --count)
    program.inputs.push_back({slot, name, kind_named(kind)});
  program.steps = read_steps(in);
  bool negated = false, is_flag = false;
  for (in >> count; count > 0 && in >> kind >> slot >> negated >> is_flag; --count)
    program.checks.push_back({check_kind_named(kind), slot, negated, is_flag});
  return program;
}

// The interface of IncrementalModel, by full evaluation.
class FullModel {
 public:
  explicit FullModel(const ModelProgram& program) : program_(program), model_(program), evaluator_(model_) {
    values_.resize(program.inputs.size());
  }

  std::size_t n_events() const { return n_events_; }

  std::size_t input_index(std::string_view name) const {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i)
      if (program_.inputs[i].name == name) return i;
    return IncrementalModel::npos;
  }

  void push_event() {
    ++n_events_;
    for (auto& rows : values_) rows[n_events_ - 1] = 0;
  }
  void insert_member(std::size_t input, std::size_t event) { values_[input][0] |= bit(event); }
  void insert_successors(std::size_t input, const Word* targets) { values_[input][n_events_ - 1] |= *targets; }
  void insert_predecessors(std::size_t input, const Word* sources) {
    for_each_bit({sources, 1}, [&](std::size_t from) { values_[input][from] |= bit(n_events_ - 1); });
  }

  bool is_allowed() {
    evaluator_.reset(n_events_);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (program_.inputs[i].kind == Kind::set)
        evaluator_.input_set(i).words()[0] = values_[i][0];
      else
        std::ranges::copy_n(values_[i].begin(), static_cast<std::ptrdiff_t>(n_events_),
                            evaluator_.input_relation(i).words().begin());
    }
    return evaluator_.is_allowed();
  }

  void pop_to(std::size_t n_events) {
    n_events_ = n_events;
    for (auto& rows : values_)
      for (Word& row : rows) row &= bit(n_events) - 1;
  }

 private:
  ModelProgram program_;
  CompiledModel model_;
  Evaluator evaluator_;
  std::size_t n_events_ = 0;
  std::vector<std::array<Word, word_bits>> values_;
};

// Decides nothing.
class NoModel {
 public:
  explicit NoModel(const ModelProgram& program) : program_(program) {}
  std::size_t n_events() const { return n_events_; }
  std::size_t input_index(std::string_view name) const {
    const auto found = std::ranges::find(program_.inputs, name, &Input::name);
    if (found == program_.inputs.end()) return IncrementalModel::npos;
    return static_cast<std::size_t>(found - program_.inputs.begin());
  }
  void push_event() { ++n_events_; }
  void insert_member(std::size_t, std::size_t event) { seen_ += event; }
  void insert_successors(std::size_t, const Word* targets) { seen_ += *targets; }
  void insert_predecessors(std::size_t, const Word* sources) { seen_ += *sources; }
  bool is_allowed() const { return seen_ != 1; }
  void pop_to(std::size_t n_events) { n_events_ = n_events; }

 private:
  const ModelProgram& program_;
  std::size_t n_events_ = 0;
  Word seen_ = 0;
};

// ---- Programs -------------------------------------------------------------------------------------------------------

constexpr int initial = -1;

struct Event {
  char kind;  // W, R or F
  int thread;
  int location;
  std::vector<std::string> sets;   // besides W or R, and M
  Word address_dependencies = 0;  // events by number
  Word data_dependencies = 0;
};

using Program = std::vector<Event>;

Event store(int thread, int location) { return {'W', thread, location, {}}; }
Event load(int thread, int location) { return {'R', thread, location, {}}; }

Event full_fence(int thread) {
  return {'F', thread, -1, {"FULL", "FenceRR", "FenceRW", "FenceWR", "FenceWW", "DMB.SY", "SYNC"}};
}

Event light_fence(int thread) { return {'F', thread, -1, {"FenceRR", "FenceRW", "FenceWW", "LWSYNC"}}; }

// Two threads store ten times each to one location and load.
Program stores_to_one_location() {
  Program program{store(initial, 0), store(initial, 1)};
  for (int i = 0; i < 20; ++i) program.push_back(store(i % 2, 0));
  program.push_back(load(0, 1));
  program.push_back(load(1, 0));
  return program;
}

Program stores_between_loads() {
  Program program{store(initial, 0), store(initial, 1), load(0, 0), load(1, 0)};
  for (int i = 0; i < 20; ++i) program.push_back(store(i % 2, 0));
  return program;
}

// Threads with stores, loads, fences and dependencies at random.
Program mixture(unsigned seed, int n_threads, int n_events, int n_locations, bool has_fences) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Program program;
  for (int i = 0; i < n_locations; ++i) program.push_back(store(initial, i));
  std::vector<Word> loads(static_cast<std::size_t>(n_threads), 0);
  for (int i = 0; i < n_events; ++i) {
    const int thread = i % n_threads;
    const int dice = below(10);
    Event event = dice < 5 ? store(thread, below(n_locations)) : load(thread, below(n_locations));
    if (has_fences && dice == 9) event = below(2) == 0 ? full_fence(thread) : light_fence(thread);
    Word& of_thread = loads[static_cast<std::size_t>(thread)];
    if (event.kind != 'F' && of_thread != 0 && below(3) == 0) {
      const bool is_data = event.kind == 'W' && below(2) == 0;
      (is_data ? event.data_dependencies : event.address_dependencies) = of_thread;
    }
    if (event.kind == 'R') of_thread = bit(program.size());
    program.push_back(event);
  }
  return program;
}

// ---- Exploration ----------------------------------------------------------------------------------------------------

template <class Model>
class Explorer {
 public:
  Explorer(Model& model, const Program& program, std::size_t most_commits)
      : model_(model), program_(program), most_commits_(most_commits) {
    const auto find = [&](std::string_view name) { return model.input_index(name); };
    po_ = find("po"), rf_ = find("rf"), co_ = find("co"), fr_ = find("fr"), loc_ = find("loc"), int_ = find("int");
    ext_ = find("ext"), addr_ = find("addr"), data_ = find("data");
    for (const Event& event : program) {
      std::vector<std::size_t>& sets = sets_.emplace_back();
      std::vector<std::string> names = event.sets;
      names.push_back(std::string(1, event.kind));
      if (event.kind != 'F') names.push_back("M");
      if (event.thread == initial) names.push_back("IW");
      for (const std::string& name : names)
        if (find(name) != IncrementalModel::npos) sets.push_back(find(name));
    }
    readers_.resize(program.size());
  }

  void run() { explore(); }

  std::size_t n_commits = 0;
  std::size_t n_allowed = 0;
  std::size_t n_complete = 0;

 private:
  void explore() {
    const std::size_t e = model_.n_events();
    if (e == program_.size()) {
      ++n_complete;
      return;
    }
    const Event& event = program_[e];
    if (event.kind == 'F' || event.thread == initial) return commit(e, 0);
    const std::size_t n_stores = order(event.location).size();
    // As an engine would: not before stores of the same thread.
    for (std::size_t i = first_position(event); i <= n_stores && n_commits < most_commits_; ++i) commit(e, i);
  }

  std::vector<std::size_t>& order(int location) {
    if (orders_.size() <= static_cast<std::size_t>(location)) orders_.resize(static_cast<std::size_t>(location) + 1);
    return orders_[static_cast<std::size_t>(location)];
  }

  std::size_t first_position(const Event& event) {
    const auto& stores = order(event.location);
    for (std::size_t i = stores.size(); i > 1; --i)
      if (program_[stores[i - 1]].thread == event.thread) return i;
    return 1;
  }

  void commit(std::size_t e, std::size_t position) {
    const Event& event = program_[e];
    ++n_commits;
    model_.push_event();
    for (const std::size_t set : sets_[e]) model_.insert_member(set, e);
    insert_common(e);
    if (event.kind == 'W') insert_store(e, position);
    if (event.kind == 'R') insert_load(e, position);
    if (model_.is_allowed()) {
      ++n_allowed;
      explore();
    }
    if (event.kind == 'W') {
      auto& stores = order(event.location);
      stores.erase(std::ranges::find(stores, e));
    }
    if (event.kind == 'R') readers_[order(event.location)[position - 1]] &= ~bit(e);
    model_.pop_to(e);
  }

  void insert_common(std::size_t e) {
    const Event& event = program_[e];
    Word before = 0, same_place = 0, others = 0;
    for (std::size_t i = 0; i < e; ++i) {
      if (event.thread != initial && program_[i].thread == event.thread)
        before |= bit(i);
      else
        others |= bit(i);
      if (event.kind != 'F' && program_[i].location == event.location) same_place |= bit(i);
    }
    predecessors(po_, before);
    both(int_, before | bit(e));
    both(ext_, others);
    if (event.kind != 'F') both(loc_, same_place | bit(e));
    predecessors(addr_, event.address_dependencies);
    predecessors(data_, event.data_dependencies);
  }

  void insert_store(std::size_t e, std::size_t position) {
    auto& stores = order(program_[e].location);
    Word before = 0, after = 0, readers = 0;
    for (std::size_t i = 0; i < stores.size(); ++i) {
      (i < position ? before : after) |= bit(stores[i]);
      if (i < position) readers |= readers_[stores[i]];
    }
    predecessors(co_, before);
    successors(co_, after);
    predecessors(fr_, readers);
    stores.insert(stores.begin() + static_cast<std::ptrdiff_t>(position), e);
  }

  void insert_load(std::size_t e, std::size_t position) {
    const auto& stores = order(program_[e].location);
    Word later = 0;
    for (std::size_t i = position; i < stores.size(); ++i) later |= bit(stores[i]);
    predecessors(rf_, bit(stores[position - 1]));
    successors(fr_, later);
    readers_[stores[position - 1]] |= bit(e);
  }

  void predecessors(std::size_t input, Word sources) {
    if (input != IncrementalModel::npos && sources != 0) model_.insert_predecessors(input, &sources);
  }

  void successors(std::size_t input, Word targets) {
    if (input != IncrementalModel::npos && targets != 0) model_.insert_successors(input, &targets);
  }

  void both(std::size_t input, Word events) {
    predecessors(input, events);
    successors(input, events);
  }

  Model& model_;
  const Program& program_;
  std::size_t most_commits_;
  std::vector<std::vector<std::size_t>> sets_;
  std::vector<std::vector<std::size_t>> orders_;
  std::vector<Word> readers_;
  std::size_t po_, rf_, co_, fr_, loc_, int_, ext_, addr_, data_;
};

// Other processes do not disturb it much.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Model>
void time_exploration(const std::string& name, Model& model, const Program& program, std::size_t most_commits) {
  Explorer<Model> explorer(model, program, most_commits);
  const double start = cpu_seconds();
  explorer.run();
  const double time = cpu_seconds() - start;
  std::cout << std::left << std::setw(34) << name << std::right << std::setw(10) << explorer.n_commits << " commits, "
            << std::setw(9) << explorer.n_allowed << " allowed, " << std::setw(8) << explorer.n_complete
            << " complete, "
            << std::fixed << std::setprecision(1) << std::setw(9)
            << 1e9 * time / static_cast<double>(explorer.n_commits) << " ns per commit\n";
}

struct Scenario {
  std::string name;
  Program program;
};

std::vector<Scenario> scenarios() {
  return {{"20 stores to one location", stores_to_one_location()},
          {"the same after two loads", stores_between_loads()},
          {"4 threads, no fences", mixture(1, 4, 22, 3, false)},
          {"4 threads, fences", mixture(2, 4, 24, 3, true)},
          {"3 threads, fences", mixture(3, 3, 24, 2, true)},
          {"2 threads, small", mixture(4, 2, 6, 2, true)}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: incremental_bench MODEL [--full | --none]\n";
    return 2;
  }
  const ModelProgram program = read_model(argv[1]);
  const std::string mode = argc > 2 ? argv[2] : "";
  for (const Scenario& scenario : scenarios()) {
    if (mode == "--full") {
      FullModel model(program);
      time_exploration(scenario.name, model, scenario.program, 100'000);
    } else if (mode == "--none") {
      NoModel model(program);
      time_exploration(scenario.name, model, scenario.program, 2'000'000);
    } else {
      IncrementalModel model(program, 1);
      time_exploration(scenario.name, model, scenario.program, 2'000'000);
    }
  }
  if (!mode.empty()) return 0;
  constexpr int n_made = 1000;
  const double start = cpu_seconds();
  for (int i = 0; i < n_made; ++i) IncrementalModel(program, 1).push_event();
  std::cout << "making a model: " << 1e6 * (cpu_seconds() - start) / n_made << " us\n";
}
