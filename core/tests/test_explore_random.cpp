// Random programs, compared with enumeration.
#include <random>

#include "harness.hpp"
#include "rsmc_models.hpp"
#include "rsmc_oracles.hpp"

using namespace rsmc_tests;

namespace {

constexpr int n_programs = 60;

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  // Every thread always makes the same accesses.
  Threads straight() {
    return threads([&](int i, std::int32_t pc) { return straight_line(i, pc); });
  }

  // With conditional updates, choices, branches and assumptions.
  Threads any() {
    return threads([&](int i, std::int32_t pc) { return any_line(i, pc); });
  }

  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  template <class MakeLine>
  Threads threads(MakeLine make) {
    Threads made(2 + below(2));
    const std::size_t longest = made.size() == 2 ? 4 : 3;
    for (std::vector<Line>& lines : made) {
      last_register_ = 0;
      for (std::size_t n = 1 + below(longest); lines.size() < n;) lines.push_back(make(static_cast<int>(lines.size()), static_cast<std::int32_t>(lines.size())));
    }
    return made;
  }

  Address location() { return below(2) == 0 ? x : y; }
  Expr address() { return below(3) == 0 ? depending(location(), last_register_) : Expr(location()); }
  Expr operand(int i) { return below(3) == 0 ? reg(last_register_) + 1 : Expr(i + 1); }
  int new_register(int i) { return last_register_ = i; }

  // Expressions are made before the register that the line overwrites becomes the last one.
  Line straight_line(int i, std::int32_t pc) {
    const Expr where = address(), what = operand(i);
    switch (below(12)) {
      case 0: return fence();
      case 1: return store_fence();
      case 2: return branch(reg(last_register_), pc + 1);
      case 3: return fetch_add(new_register(i), where, what);
      case 4: return exchange(new_register(i), where, what);
      case 5: case 6: case 7: return load(new_register(i), where);
      default: return store(where, what);
    }
  }

  Line any_line(int i, std::int32_t pc) {
    const Expr where = address(), what = operand(i);
    switch (below(12)) {
      case 0: return branch(reg(last_register_), pc + 2);
      case 1: return assume(reg(last_register_) != 1);
      case 2: return compare_exchange(new_register(i), 5, where, static_cast<int>(below(2)), what, below(3) == 0);
      case 3: return choose(new_register(i), 0, 1);
      case 4: return load_linked(new_register(i), where);
      case 5: return store_conditional(new_register(i), where, what);
      default: return straight_line(i, pc);
    }
  }

  std::mt19937 random_;
  int last_register_ = 0;
};

void report(const Model& model, unsigned seed, const char* what) {
  harness::fail(__FILE__, __LINE__, model.name + ", program " + std::to_string(seed) + ": " + what);
}

}  // namespace

TEST(random_programs_have_the_candidates_that_the_model_allows) {
  for (Model model : all_models())
    for (unsigned seed = 0; seed < n_programs; ++seed) {
      const Threads threads = Maker(seed).straight();
      const States wanted = candidates(compile(threads, model), model);
      for (std::uint64_t pick : {std::uint64_t{0}, std::uint64_t{seed} + 1}) {
        model.order.pick_seed = pick;
        const Outcome found = explored(threads, model);
        if (states_of(found) != wanted) report(model, seed, pick == 0 ? "other traces than the candidates" : "another pick order");
        if (found.statistics.stuck != 0) report(model, seed, "an event had no parameter");
        if (model.order.in_order && found.statistics.abandoned != 0) report(model, seed, "abandoned runs");
      }
    }
}

TEST(random_programs_have_the_interleavings_that_sc_allows) {
  const Model model = sc();
  for (unsigned seed = 0; seed < 4 * n_programs; ++seed) {
    const Threads threads = Maker(seed).any();
    const Expected wanted = interleaved(compile(threads, model));
    const Outcome found = explored(threads, model);
    if (states_of(found) != wanted.states) report(model, seed, "other traces than the interleavings");
    if ((found.statistics.blocked != 0) != (wanted.blocked != 0)) report(model, seed, "blocked runs or none");
  }
}

TEST(the_order_of_picks_makes_no_difference) {
  for (Model model : all_models())
    for (unsigned seed = 0; seed < n_programs; ++seed) {
      const Threads threads = Maker(seed).any();
      const Outcome first = explored(threads, model);
      model.order.pick_seed = seed + 1;
      const Outcome second = explored(threads, model);
      model.order.pick_seed = 0;
      if (states_of(first) != states_of(second)) report(model, seed, "another pick order finds other traces");
      if (first.statistics.stuck + second.statistics.stuck != 0) report(model, seed, "an event had no parameter");
    }
}

namespace {

std::vector<std::uint64_t> counts_of(const Outcome& outcome) {
  const dekker::rsmc::Statistics& s = outcome.statistics;
  return {s.complete, s.blocked, s.deadlocks, s.abandoned, s.cut, s.failed, s.stuck, s.not_last, s.templates};
}

dekker::rsmc::Explored explored_in_units(const Threads& threads, const Model& model, const Limits& limits, dekker::rsmc::Work work) {
  return dekker::rsmc::explore(compile(threads, model), model.program, {}, model.order, limits, {}, std::move(work));
}

}  // namespace

TEST(workers_that_split_at_random_find_the_same) {
  for (const Model& model : all_models())
    for (unsigned seed = 0; seed < n_programs; ++seed) {
      const Threads threads = Maker(seed).any();
      const Outcome alone = explored(threads, model);
      dekker::rsmc::Work work;
      work.jobs = 1 + seed % 8;
      work.split_seed = seed + 1;
      const Outcome together = explored_in_units(threads, model, {}, work).outcome;
      if (states_of(alone) != states_of(together)) report(model, seed, "other traces in units");
      if (counts_of(alone) != counts_of(together)) report(model, seed, "other counts in units");
    }
}

// A limit of traces stops it again and again; each time the rest goes through its packed form.
TEST(what_a_limit_leaves_is_explored_later) {
  for (const Model& model : all_models())
    for (unsigned seed = 0; seed < n_programs / 2; ++seed) {
      const Threads threads = Maker(seed).any();
      const Outcome alone = explored(threads, model);
      Limits limits;
      limits.max_traces = 1 + seed % 3;
      Outcome total;
      dekker::rsmc::Work work;
      work.keeps_rest = true;
      for (bool is_first = true; is_first || !work.units.empty(); is_first = false) {
        work.jobs = 1 + seed % 2;
        dekker::rsmc::Explored part = explored_in_units(threads, model, limits, work);
        if (part.outcome.statistics.complete > limits.max_traces) report(model, seed, "more traces than the limit");
        part.outcome.stop = dekker::rsmc::Stop::not_stopped;
        merge(total, std::move(part.outcome));
        work = std::move(part.work);
      }
      if (states_of(alone) != states_of(total)) report(model, seed, "other traces in parts");
      if (counts_of(alone) != counts_of(total)) report(model, seed, "other counts in parts");
    }
}

TEST(damaged_units_are_refused) {
  const Model model = sc();
  dekker::rsmc::Work work;
  work.units.push_back({std::string("\xff\xff\x01", 3), 0, 0});
  CHECK_THROWS(std::invalid_argument, "unit of work", explored_in_units(Maker(1).any(), model, {}, work));
}
