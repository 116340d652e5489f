// Several workers that search states: what they share, and that they find what one finds.
#include <random>
#include <thread>

#include "dekker/arithmetic.hpp"
#include "dekker/states/search.hpp"
#include "harness.hpp"
#include "states/futures.hpp"
#include "states/shared_visited.hpp"

using namespace dekker;
using namespace dekker::states;

namespace {

// ---- Programs --------------------------------------------------------------------------------------------------------

constexpr Address first_address = 0x1000;
constexpr std::int32_t n_registers = 4;

class Builder {
 public:
  std::int32_t constant(Value value) { return add({{ExpressionCode::constant, 0, 0, value}}); }
  std::int32_t reg(std::int32_t number) { return add({{ExpressionCode::register_value, 0, 0, static_cast<Value>(number)}}); }
  std::int32_t binary(BinaryOperator operation, std::int32_t number, Value value) {
    return add({{ExpressionCode::register_value, 0, 0, static_cast<Value>(number)},
                {ExpressionCode::constant, 0, 0, value},
                {ExpressionCode::binary, static_cast<std::uint8_t>(operation), 64, 0}});
  }
  std::int32_t address(std::uint32_t location) { return constant(first_address + 8 * location); }

  Instruction load(std::int32_t destination, std::uint32_t location) {
    return {.operation = Operation::load, .destination = destination, .address = address(location), .size = 4};
  }
  Instruction store(std::uint32_t location, std::int32_t value) {
    return {.operation = Operation::store, .address = address(location), .value = value, .size = 4};
  }
  Instruction add_to(std::int32_t destination, std::uint32_t location, Value value) {
    return {.operation = Operation::update,
            .destination = destination,
            .address = address(location),
            .value = constant(value),
            .size = 4,
            .update = static_cast<std::uint8_t>(UpdateOperator::add)};
  }
  static Instruction fence() { return {.operation = Operation::fence, .fence = FenceAction::flush}; }
  Instruction choose(std::int32_t destination, std::int64_t high) {
    return {.operation = Operation::choose, .destination = destination, .low = 0, .high = high};
  }
  Instruction assign(std::int32_t destination, std::int32_t value) {
    return {.operation = Operation::assign, .destination = destination, .value = value};
  }
  Instruction branch(std::int32_t condition, std::int32_t target) {
    return {.operation = Operation::branch, .value = condition, .target = target};
  }
  Instruction await(std::int32_t condition, std::int32_t target) {
    return {.operation = Operation::await, .value = condition, .target = target};
  }
  Instruction check(std::int32_t condition) { return {.operation = Operation::check, .value = condition}; }
  Instruction spawn(std::int32_t destination, std::int32_t block) {
    return {.operation = Operation::spawn, .destination = destination, .target = block};
  }

  static Block block(std::vector<Instruction> code) {
    Block result;
    result.n_registers = n_registers;
    result.dead.resize(code.size() + 1);
    result.future.resize(code.size() + 1);
    result.code = std::move(code);
    return result;
  }

  // All of memory is observed, and the registers of the threads.
  Program program(std::vector<std::vector<Instruction>> threads, std::uint32_t n_locations) {
    Program result;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      result.threads.push_back(block(std::move(threads[t])));
      result.alike.push_back(static_cast<std::int32_t>(t));
      for (std::int32_t r = 0; r < n_registers; ++r) result.observed.push_back({static_cast<std::int32_t>(t), r, 0, 0});
    }
    for (std::uint32_t k = 0; k < n_locations; ++k) {
      result.objects.push_back({first_address + 8 * k, 8});
      result.observed.push_back({none, 0, first_address + 8 * k, 4});
    }
    result.expressions = expressions_;
    return result;
  }

 private:
  std::int32_t add(Expression expression) {
    expressions_.push_back(std::move(expression));
    return static_cast<std::int32_t>(expressions_.size() - 1);
  }

  std::vector<Expression> expressions_;
};

Instruction random_instruction(Builder& b, std::mt19937_64& random, std::uint32_t n_locations, std::int32_t position) {
  const auto destination = static_cast<std::int32_t>(random() % n_registers);
  const auto location = static_cast<std::uint32_t>(random() % n_locations);
  switch (random() % 12) {
    case 0: return b.add_to(destination, location, 1 + random() % 2);
    case 1: return b.fence();
    case 2: return b.choose(destination, 2);
    case 3: return b.check(b.binary(BinaryOperator::ult, destination, 2));
    case 4: return b.await(b.binary(BinaryOperator::ult, destination, 2), std::max(0, position - 1));
    case 5: return b.branch(b.binary(BinaryOperator::eq, destination, 1), std::max(0, position - 2));
    case 6:
    case 7:
    case 8: return b.store(location, random() % 2 == 0 ? b.reg(destination) : b.constant(1 + random() % 2));
    default: return b.load(destination, location);
  }
}

Program random_program(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Builder b;
  const auto n_locations = static_cast<std::uint32_t>(1 + random() % 3);
  std::vector<std::vector<Instruction>> threads(2 + random() % 2);
  for (auto& code : threads)
    for (std::int32_t k = 0, n = static_cast<std::int32_t>(2 + random() % 4); k < n; ++k)
      code.push_back(random_instruction(b, random, n_locations, k));
  return b.program(std::move(threads), n_locations);
}

// Threads that count in turn: many states, in levels of all sizes.
Program counters(Value rounds) {
  Builder b;
  std::vector<std::vector<Instruction>> threads;
  for (std::uint32_t t = 0; t < 3; ++t)
    threads.push_back({b.add_to(0, t, 1), b.load(1, (t + 1) % 3), b.assign(2, b.binary(BinaryOperator::add, 2, 1)),
                       b.branch(b.binary(BinaryOperator::ult, 2, rounds), 0)});
  return b.program(std::move(threads), 3);
}

// One thread spawns others, which are more and more.
Program spawning(std::size_t n_spawned) {
  Builder b;
  std::vector<Instruction> code;
  for (std::size_t k = 0; k < n_spawned; ++k) {
    code.push_back(b.spawn(0, 1));
    code.push_back(b.add_to(1, 0, 1));
  }
  const std::vector<Instruction> worker{b.load(0, 0), b.store(1, b.reg(0)), b.load(1, 1)};
  Program program = b.program({std::move(code)}, 2);
  program.functions.push_back(Builder::block(worker));
  return program;
}

// ---- Searches --------------------------------------------------------------------------------------------------------

auto kinds_of(const Outcome& outcome) {
  std::vector<std::pair<ViolationKind, Place>> found;
  for (const auto& [violation, schedule] : outcome.violations) {
    CHECK(!schedule.empty());
    found.emplace_back(violation.kind, violation.place);
  }
  return found;
}

auto values_of(const Outcome& outcome) {
  std::vector<std::vector<Value>> found;
  for (const auto& [values, schedule] : outcome.states) found.push_back(values);
  return found;
}

Outcome found_by(const Program& program, Options options, std::uint32_t jobs, std::uint64_t seed) {
  options.jobs = jobs;
  options.delay_seed = seed;
  return search(program, options, {});
}

// Returns how many states several visit.
std::uint64_t compare(const Program& program, const Options& options, std::uint64_t seed) {
  const Outcome alone = found_by(program, options, 1, 0);
  std::uint64_t n_states = 0;
  for (const std::uint32_t jobs : {2u, 3u, 8u})
    for (const std::uint64_t delay : {std::uint64_t{0}, seed + jobs}) {
      const Outcome several = found_by(program, options, jobs, delay);
      CHECK(several.stop == alone.stop);
      CHECK(values_of(several) == values_of(alone));
      CHECK(kinds_of(several) == kinds_of(alone));
      CHECK((several.statistics.deadlocks != 0) == (alone.statistics.deadlocks != 0));
      CHECK(n_states == 0 || several.statistics.states == n_states);
      if (!options.reduce) CHECK(several.statistics.states == alone.statistics.states);
      n_states = several.statistics.states;
    }
  return n_states;
}

}  // namespace

TEST(crews_find_what_one_worker_finds_in_random_programs) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Program program = random_program(seed);
    for (const Model model : {Model::sc, Model::tso, Model::pso}) {
      Options options;
      options.model = model;
      options.buffer_bound = 2;
      options.wants_examples = seed % 2 == 0;
      options.reduce = seed % 3 != 0;
      options.robust = seed % 5 == 0 && model != Model::sc;
      compare(program, options, seed);
    }
  }
}

TEST(crews_find_what_one_worker_finds_in_levels_of_all_sizes) {
  Options options;
  options.model = Model::tso;
  CHECK(compare(counters(4), options, 1) > 100);
  options.reduce = false;
  CHECK(compare(counters(4), options, 2) > 100);
}

TEST(crews_make_rows_wider_for_threads_that_are_spawned) {
  Options options;
  options.model = Model::tso;
  CHECK(compare(spawning(4), options, 1) > 50);
}

TEST(crews_stop_at_limits) {
  Options options;
  options.model = Model::sc;
  options.reduce = false;
  options.max_states = 2000;
  for (const std::uint32_t jobs : {2u, 8u}) {
    const Outcome some = found_by(counters(60), options, jobs, 0);
    CHECK(some.stop == Stop::states);
    CHECK(some.statistics.states >= 2000);
    CHECK(some.statistics.states < 10'000);
  }
  options.max_states = 0;
  options.timeout_s = 0.05;
  CHECK(found_by(counters(1000), options, 2, 0).stop == Stop::time);
  options.timeout_s = 0;
  options.memory_bytes = 1;
  CHECK(found_by(counters(1000), options, 2, 0).stop == Stop::memory);
  options.memory_bytes = 0;
  options.jobs = 2;
  CHECK(search(counters(1000), options, [](const Statistics&) { return false; }).stop == Stop::interrupt);
  CHECK_THROWS(std::runtime_error, "enough", search(counters(1000), options, [](const Statistics&) -> bool {
    throw std::runtime_error("enough");
  }));
}

TEST(crews_that_may_compact_find_the_same) {
  // A limit that is never reached.
  Options options;
  options.model = Model::sc;
  options.compact = true;
  const Program program = counters(4);
  const Outcome alone = found_by(program, options, 1, 0);
  options.memory_bytes = std::uint64_t{1} << 44;
  const Outcome never = found_by(program, options, 3, 1);
  CHECK(!never.statistics.is_compact);
  CHECK(values_of(never) == values_of(alone));
}

TEST(crews_report_what_has_to_be_refused) {
  Builder b;
  const std::vector<Instruction> refusing{b.load(0, 0), {.operation = Operation::refuse}};
  const Program program = b.program({refusing, refusing}, 1);
  Options options;
  const Outcome alone = found_by(program, options, 1, 0), several = found_by(program, options, 4, 1);
  CHECK(alone.stop == Stop::refused);
  CHECK(several.stop == Stop::refused);
  CHECK(several.refused_at == alone.refused_at);
}

TEST(crews_see_each_state_as_new_once) {
  constexpr std::uint32_t n_workers = 4, n_states = 20'000;
  constexpr std::array<std::uint32_t, n_workers> orders{1, 3, 7, 9};  // prime to the number of states
  for (const bool is_compact : {false, true}) {
    SharedVisited* rearranged = nullptr;
    Meeting meeting([&] { rearranged->rearrange([](std::size_t) { return true; }); });
    const std::atomic<bool> is_stopped = false;
    SharedVisited visited(meeting, is_stopped, true);
    rearranged = &visited;
    if (is_compact) visited.become_compact();
    visited.begin_phase();
    std::array<std::vector<std::uint32_t>, n_workers> numbers;
    meeting.begin_phase(n_workers);
    {
      std::vector<std::jthread> threads;
      for (std::uint32_t w = 0; w < n_workers; ++w)
        threads.emplace_back([&, w] {
          SharedVisited::Numbers own;
          for (std::uint32_t k = 0; k < n_states; ++k) {
            const std::uint32_t state = (k * orders[w]) % n_states;
            std::vector<std::uint32_t> ids{state, state % 7};
            if (state % 3 == 0) ids.resize(2 + state % 5, 0);           // the same, with threads that are not there
            if (state >= n_states / 2) ids.resize(6, state);
            const Visited::Found found = visited.insert(ids, w, Visited::hash_of(ids), own);
            CHECK(visited.is_of_this_phase(found.number));
            if (found.is_new) numbers[w].push_back(found.number);
          }
          meeting.end_part();
        });
    }
    meeting.await_end_of_phase();
    std::vector<std::uint32_t> all;
    for (std::uint32_t w = 0; w < n_workers; ++w)
      for (const std::uint32_t number : numbers[w]) {
        CHECK(visited.parent(number) == w);
        all.push_back(number);
      }
    std::ranges::sort(all);
    CHECK(std::ranges::adjacent_find(all) == all.end());
    CHECK(all.size() == n_states);
  }
}

TEST(futures_that_workers_put_together_are_those_of_one) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    Cells shared;
    Cells own[2] = {Cells(&shared), Cells(&shared)};
    Futures known, parts[2], together;
    for (int k = 0; k < 40; ++k) {
      const Futures::Point from = Futures::point(0, static_cast<std::uint32_t>(random() % 12));
      const Futures::Point to = Futures::point(0, static_cast<std::uint32_t>(random() % 12));
      const std::size_t worker = random() % 2;
      CellSets accessed;
      own[worker].add_to(accessed, {8 * (random() % 10), 4, random() % 2 == 0});
      known.add_step(from, to, accessed);
      parts[worker].add_step(from, to, accessed);
      CHECK(known.knows_step(from, to, accessed));
    }
    for (const Futures& part : parts) together.add(part);
    for (std::uint32_t control = 0; control < 12; ++control) {
      const Futures::Point point = Futures::point(0, control);
      CHECK(together.future(together.find(point)).contains(known.future(known.find(point))));
      CHECK(known.future(known.find(point)).contains(together.future(together.find(point))));
    }
  }
}
