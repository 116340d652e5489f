// Numbers of traces that can be counted by hand or by another, slower way.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "harness.hpp"
#include "rsmc_models.hpp"
#include "rsmc_oracles.hpp"

using namespace rsmc_tests;
using dekker::rsmc::Statistics;

namespace {

// With the model in the message.
void expect_count(const char* file, int line, const Threads& threads, const Model& model, std::uint64_t count) {
  const Outcome outcome = explored(threads, model);
  const Statistics& s = outcome.statistics;
  if (s.complete != count || s.abandoned != 0 || s.stuck != 0)
    harness::fail(file, line, model.name + ": " + std::to_string(s.complete) + " traces, not " + std::to_string(count) + ", " +
                                  std::to_string(s.abandoned) + " abandoned, " + std::to_string(s.stuck) + " stuck");
}

#define EXPECT_COUNT(threads, model, count) expect_count(__FILE__, __LINE__, threads, model, count)

// Every counter and every state is that of the interleavings.
void expect_interleavings(const char* file, int line, const Threads& threads, const Limits& limits = {}) {
  const Model model = sc();
  const Expected wanted = interleaved(compile(threads, model), limits.unroll);
  const Outcome found = explored(threads, model, limits);
  const Statistics& s = found.statistics;
  if (s.complete != wanted.complete) harness::fail(file, line, "complete: " + std::to_string(s.complete) + ", not " + std::to_string(wanted.complete));
  // Runs in which a thread waits are not told apart by what it sees meanwhile.
  if ((s.blocked != 0) != (wanted.blocked != 0))
    harness::fail(file, line, "blocked: " + std::to_string(s.blocked) + ", not " + std::to_string(wanted.blocked));
  if (s.deadlocks != wanted.deadlocks) harness::fail(file, line, "deadlocks: " + std::to_string(s.deadlocks) + ", not " + std::to_string(wanted.deadlocks));
  if (s.cut != wanted.cut) harness::fail(file, line, "cut: " + std::to_string(s.cut) + ", not " + std::to_string(wanted.cut));
  if (s.failed != wanted.failed) harness::fail(file, line, "failed: " + std::to_string(s.failed) + ", not " + std::to_string(wanted.failed));
  if (states_of(found) != wanted.states) harness::fail(file, line, "other states than those of the interleavings");
  if (s.abandoned != 0) harness::fail(file, line, std::to_string(s.abandoned) + " abandoned");
}

#define EXPECT_INTERLEAVINGS(...) expect_interleavings(__FILE__, __LINE__, __VA_ARGS__)

const Threads store_buffering{{store(x, 1), load(0, y)}, {store(y, 1), load(0, x)}};
const Threads store_buffering_fenced{{store(x, 1), fence(), load(0, y)}, {store(y, 1), fence(), load(0, x)}};
const Threads message_passing{{store(x, 1), store(y, 1)}, {load(0, y), load(1, x)}};
const Threads message_passing_fenced{{store(x, 1), store_fence(), store(y, 1)}, {load(0, y), load(1, x)}};
const Threads message_passing_ordered{{store(x, 1), store_fence(), store(y, 1)}, {load(0, y), load(1, depending(x, 0))}};
const Threads load_buffering{{load(0, x), store(y, 1)}, {load(0, y), store(x, 1)}};
const Threads load_buffering_data{{load(0, x), store(y, reg(0))}, {load(0, y), store(x, 1)}};
const Threads load_buffering_both{{load(0, x), store(y, reg(0) + 1)}, {load(0, y), store(x, reg(0) + 1)}};
const Threads independent_reads{{store(x, 1)}, {store(y, 1)}, {load(0, x), load(1, y)}, {load(0, y), load(1, x)}};
const Threads independent_reads_ordered{
    {store(x, 1)}, {store(y, 1)}, {load(0, x), load(1, depending(y, 0))}, {load(0, y), load(1, depending(x, 0))}};
const Threads independent_reads_fenced{
    {store(x, 1)}, {store(y, 1)}, {load(0, x), fence(), load(1, y)}, {load(0, y), fence(), load(1, x)}};

std::uint64_t factorial(std::uint64_t n) { return n < 2 ? 1 : n * factorial(n - 1); }

Threads updates(std::size_t n, const Line& line) { return Threads(n, std::vector<Line>{line}); }

std::uint64_t state_count(const Outcome& outcome, std::size_t place, Value value) {
  std::uint64_t count = 0;
  for (const auto& [state, found] : outcome.states) count += state[place] == value ? found.count : 0;
  return count;
}

}  // namespace

TEST(no_thread_and_empty_threads_have_one_trace) {
  for (const Model& model : all_models()) {
    EXPECT_COUNT(Threads{}, model, 1);
    EXPECT_COUNT((Threads{{}, {}}), model, 1);
    EXPECT_COUNT((Threads{{fence(), fence()}, {fence()}}), model, 1);
  }
}

TEST(one_load_and_two_stores) {
  for (const Model& model : all_models()) EXPECT_COUNT((Threads{{load(0, x)}, {store(x, 1)}, {store(x, 2)}}), model, 6);
}

TEST(stores_to_one_location_in_every_order) {
  for (const Model& model : all_models())
    for (std::uint64_t n = 1; n <= 5; ++n) {
      Threads threads;
      for (std::uint64_t i = 0; i < n; ++i) threads.push_back({store(x, i + 1)});
      EXPECT_COUNT(threads, model, factorial(n));
    }
}

TEST(classic_tests) {
  EXPECT_COUNT(store_buffering, sc(), 3);
  EXPECT_COUNT(store_buffering, tso(), 4);
  EXPECT_COUNT(message_passing, sc(), 3);
  EXPECT_COUNT(message_passing, tso(), 3);
  EXPECT_COUNT(load_buffering, sc(), 3);
  EXPECT_COUNT(load_buffering, tso(), 3);
  EXPECT_COUNT(independent_reads, sc(), 15);
  EXPECT_COUNT(independent_reads, tso(), 15);
  for (const Model& model : weak_models()) {
    EXPECT_COUNT(store_buffering, model, 4);
    EXPECT_COUNT(message_passing, model, 4);
    EXPECT_COUNT(message_passing_fenced, model, 4);
    EXPECT_COUNT(message_passing_ordered, model, 3);
    EXPECT_COUNT(load_buffering, model, 4);
    EXPECT_COUNT(load_buffering_data, model, 4);
    EXPECT_COUNT(load_buffering_both, model, 3);
    EXPECT_COUNT(independent_reads, model, 16);
  }
}

TEST(fences_and_dependencies_order_as_far_as_the_model_says) {
  for (const Model& model : {tso(), relaxed(), forwarding()}) EXPECT_COUNT(store_buffering_fenced, model, 3);
  for (const Model& model : {relaxed(), forwarding()}) {
    EXPECT_COUNT(independent_reads_ordered, model, 15);
    EXPECT_COUNT(independent_reads_fenced, model, 15);
  }
  EXPECT_COUNT(store_buffering_fenced, causal(), 4);
  EXPECT_COUNT(independent_reads_ordered, causal(), 16);
  EXPECT_COUNT(independent_reads_fenced, causal(), 16);
}

TEST(own_stores_are_seen_early_only_where_the_model_forwards) {
  // Each thread sees its own store before the other's: store buffering through a forwarded read.
  const Threads threads{{store(x, 1), load(0, x), load(1, depending(y, 0))}, {store(y, 1), load(0, y), load(1, depending(x, 0))}};
  const std::size_t left = observed_register(0, 1), right = observed_register(1, 1);
  const auto both_miss = [&](const Model& model) {
    const Outcome outcome = explored(threads, model);
    return std::ranges::any_of(outcome.states, [&](const auto& entry) { return entry.first[left] == 0 && entry.first[right] == 0; });
  };
  CHECK(!both_miss(sc()));
  CHECK(both_miss(tso()));
  CHECK(!both_miss(relaxed()));
  CHECK(both_miss(forwarding()));
}

TEST(ten_delayed_stores) {
  // Without the fence the n stores and the load of each thread commute; only who reads what counts.
  Threads threads(2);
  for (int n = 0; n < 10; ++n)
    for (int t = 0; t < 2; ++t) threads[static_cast<std::size_t>(t)].push_back(store(t == 0 ? x : y, n + 1));
  for (int t = 0; t < 2; ++t) threads[static_cast<std::size_t>(t)].push_back(load(0, t == 0 ? y : x));
  EXPECT_COUNT(threads, sc(), 11 + 10);
  EXPECT_COUNT(threads, tso(), 11 * 11);
}

TEST(fetch_adds_in_every_order_and_none_abandoned) {
  for (const Model& model : all_models())
    for (std::uint64_t n = 1; n <= 5; ++n) EXPECT_COUNT(updates(n, fetch_add(0, x, 1)), model, factorial(n));
}

TEST(every_fetch_add_counts) {
  const Threads threads = updates(4, fetch_add(0, x, 1));
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model);
    CHECK(outcome.states.size() == 24);
    CHECK(state_count(outcome, observed_location(threads, x), 4) == 24);
  }
}

TEST(two_fetch_adds_per_thread) {
  // The interleavings of two sequences of two.
  const Threads threads(2, {fetch_add(0, x, 1), fetch_add(1, x, 1)});
  for (const Model& model : all_models()) EXPECT_COUNT(threads, model, 6);
}

TEST(an_exchange_whose_operand_comes_round) {
  // The store of the exchange depends on a read that may see what the other thread makes of the old value.
  const Threads threads{{load(0, y), exchange(1, x, reg(0)), store(z, reg(1) + 1)}, {load(0, z), store(y, reg(0) + 1)}};
  for (const Model& model : all_models()) {
    const States wanted = candidates(compile(threads, model), model);
    CHECK(states_of(explored(threads, model)) == wanted);
  }
}

TEST(compare_exchange_succeeds_or_is_a_load) {
  const Threads race(3, {compare_exchange(0, 1, x, 0, 1)});
  EXPECT_INTERLEAVINGS(race);
  const Threads mixed{{compare_exchange(0, 1, x, 0, 1), store(y, 1)}, {store(x, 2), load(0, y)}, {fetch_add(0, x, 3)}};
  EXPECT_INTERLEAVINGS(mixed);
  // Whoever comes first wins; the others read its value: 3 winners, and the losers are not ordered.
  for (const Model& model : all_models()) EXPECT_COUNT(race, model, 3);
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(race, model);
    for (const auto& [state, found] : outcome.states) {
      const Value winners = state[observed_register(0, 1)] + state[observed_register(1, 1)] + state[observed_register(2, 1)];
      CHECK(winners == 1);
    }
  }
}

TEST(compare_exchange_that_always_fails) {
  const Threads threads{{compare_exchange(0, 1, x, 7, 1)}, {store(x, 1)}, {store(x, 2)}};
  for (const Model& model : all_models()) {
    EXPECT_COUNT(threads, model, 6);
    CHECK(state_count(explored(threads, model), observed_register(0, 1), 1) == 0);
  }
}

TEST(weak_compare_exchange_may_fail_for_no_reason) {
  const Threads alone{{compare_exchange(0, 1, x, 0, 1, true)}};
  for (const Model& model : all_models()) EXPECT_COUNT(alone, model, 2);
  EXPECT_INTERLEAVINGS((Threads(2, {compare_exchange(0, 1, x, 0, 1, true), load(2, x)})));
}

TEST(a_failed_compare_exchange_in_front_of_a_store_fence) {
  // If it fails it is a load, which the fence does not keep in front of the store.
  const Threads threads{{compare_exchange(0, 1, x, 1, 2), store_fence(), store(y, 1)}, {load(0, y), store(x, reg(0) & 0), store(x, 3)}};
  EXPECT_INTERLEAVINGS(threads);
  for (const Model& model : weak_models()) {
    const Outcome outcome = explored(threads, model);
    const bool overtaken = std::ranges::any_of(outcome.states, [](const auto& entry) {
      return entry.first[observed_register(0, 0)] == 3 && entry.first[observed_register(1, 0)] == 1;
    });
    CHECK(overtaken);
    CHECK(outcome.statistics.stuck == 0);
  }
}

TEST(load_linked_and_store_conditional) {
  const Threads alone{{load_linked(0, x), store_conditional(1, x, reg(0) + 1)}};
  for (const Model& model : all_models()) EXPECT_COUNT(alone, model, 2);
  const Threads adjacent(2, {load_linked(0, x), store_conditional(1, x, reg(0) + 1)});
  EXPECT_INTERLEAVINGS(adjacent);
  const Threads three(3, {load_linked(0, x), store_conditional(1, x, reg(0) + 1)});
  EXPECT_INTERLEAVINGS(three);
  const Outcome in_order = explored(three, sc());
  for (const Model& model : all_models()) EXPECT_COUNT(three, model, in_order.statistics.complete);
}

TEST(store_conditional_with_an_access_between) {
  const std::vector<Line> with_load{load_linked(0, x), load(2, y), store_conditional(1, x, reg(0) + 1)};
  const std::vector<Line> with_store{load_linked(0, x), store(y, 1), store_conditional(1, x, reg(0) + 1)};
  const std::vector<Line> with_own_store{load_linked(0, x), store(x, 7), store_conditional(1, x, reg(0) + 1)};
  const std::vector<Line> adjacent{load_linked(0, x), store_conditional(1, x, reg(0) + 1)};
  for (const std::vector<Line>& first : {with_load, with_store, with_own_store})
    for (const std::vector<Line>& second : {with_load, adjacent, std::vector<Line>{store(y, 2), store(x, 5)}}) {
      const Model model = sc();
      const Threads threads{first, second};
      const Expected wanted = interleaved(compile(threads, model));
      const Outcome found = explored(threads, model);
      CHECK(found.statistics.complete == wanted.complete);
      CHECK(states_of(found) == wanted.states);
    }
}

TEST(store_conditional_without_its_load_link_fails) {
  const Threads none_at_all{{store_conditional(0, x, 1)}, {store(x, 2)}};
  const Threads elsewhere{{load_linked(0, y), store_conditional(1, x, 1)}};
  const Threads twice{{load_linked(0, x), store_conditional(1, x, 1), store_conditional(2, x, 2)}};
  for (const Model& model : all_models()) {
    CHECK(state_count(explored(none_at_all, model), observed_register(0, 0), 1) == 1);
    EXPECT_COUNT(none_at_all, model, 1);
    EXPECT_COUNT(elsewhere, model, 1);
    EXPECT_COUNT(twice, model, 2);
    CHECK(state_count(explored(twice, model), observed_register(0, 2), 1) == 2);
  }
}

TEST(choices_are_all_explored) {
  const Threads threads{{choose(0, -1, 2), store(x, reg(0))}, {load(0, x)}};
  for (const Model& model : all_models()) {
    EXPECT_COUNT(threads, model, 8);
    CHECK(state_count(explored(threads, model), observed_location(threads, x), ~Value{0}) == 2);
  }
  EXPECT_COUNT((Threads{{choose(0, 1, 0)}}), sc(), 0);
  EXPECT_INTERLEAVINGS((Threads{{choose(0, 0, 1), store(x, reg(0) + 1), choose(1, 0, 1)}, {choose(0, 3, 4), store(x, reg(0)), load(1, x)}}));
}

// A stale read that raises a flag is followed although its thread waits; of these models sc has one.
bool leaves_stale_waits_out(const Model& model) { return model.name != "sc"; }

TEST(a_failed_assumption_stops_its_thread_only) {
  const Threads threads{{load(0, x), assume(reg(0) == 1), store(y, 1)}, {store(x, 1), load(0, y)}};
  EXPECT_INTERLEAVINGS(threads);
  for (const Model& model : all_models()) {
    const Outcome outcome = explored({{load(0, x), assume(reg(0) == 1)}, {store(x, 1)}}, model);
    CHECK(outcome.statistics.complete == 1);
    CHECK(outcome.statistics.blocked == (leaves_stale_waits_out(model) ? 0 : 1));
  }
}

TEST(awaits_and_deadlocks) {
  const Threads met{{load(0, x), await_that(reg(0) == 1, 0)}, {store(x, 1)}};
  const Threads never{{load(0, x), await_that(reg(0) == 2, 0)}, {store(x, 1)}};
  const Threads crossed{{load(0, x), await_that(reg(0) == 1, 0), store(y, 1)}, {load(0, y), await_that(reg(0) == 1, 0), store(x, 1)}};
  for (const Threads& threads : {met, never, crossed}) EXPECT_INTERLEAVINGS(threads);
  for (const Model& model : all_models()) {
    CHECK(explored(met, model).statistics.complete == 1);
    CHECK(explored(met, model).statistics.deadlocks == 0);
    CHECK(explored(never, model).statistics.complete == 0);
    CHECK(explored(never, model).statistics.deadlocks == 1);
    CHECK(explored(crossed, model).statistics.deadlocks == 1);
  }
}

TEST(what_a_waiting_thread_sees_meanwhile_makes_no_runs) {
  const Threads threads{{load(0, x), await_that(reg(0) == 6, 0)}, {store(x, 1), store(x, 2), store(x, 3), store(x, 4), store(x, 6)}};
  EXPECT_INTERLEAVINGS(threads);
  for (const Model& model : all_models()) {
    CHECK(explored(threads, model).statistics.complete == 1);
    CHECK(explored(threads, model).statistics.blocked == (leaves_stale_waits_out(model) ? 0 : 1));
  }
}

// The first thread sleeps on what the second writes first. What the third then reads is impossible once the first has seen
// anything older, and yet it is what makes the first go on.
TEST(a_sleeping_read_is_woken_by_what_needs_it_not_to_have_read) {
  const Threads threads{{store(z, 1), load(0, x), await_that(reg(0) == 3, 1)},
                        {store(x, 1), load(0, z), branch(reg(0) != 0, 4), store(x, 3)}};
  EXPECT_INTERLEAVINGS(threads);
  EXPECT_INTERLEAVINGS((Threads{threads[1], threads[0]}));
}

TEST(loops_end_or_are_cut) {
  // A loop of n rounds is not cut if n backward jumps are allowed.
  const Threads counting{{fetch_add(0, x, 1), assign(1, reg(1) + 1), branch(reg(1) != 3, 0)}, {load(0, x)}};
  for (std::int32_t unroll : {0, 1, 2, 3}) EXPECT_INTERLEAVINGS(counting, {.unroll = unroll});
  for (const Model& model : all_models()) {
    CHECK(explored(counting, model, {.unroll = 2}).statistics.complete == 4);
    CHECK(explored(counting, model, {.unroll = 2}).statistics.cut == 0);
    CHECK(explored(counting, model, {.unroll = 1}).statistics.complete == 0);
    CHECK(explored(counting, model, {.unroll = 1}).statistics.cut == 3);
  }
  const Threads spinning{{load(0, x), branch(reg(0) == 0, 0), load(1, y)}, {store(y, 1), store(x, 1)}};
  for (std::int32_t unroll : {0, 1, 3}) EXPECT_INTERLEAVINGS(spinning, {.unroll = unroll});
  const Threads endless{{jump(0)}, {store(x, 1)}};
  EXPECT_INTERLEAVINGS(endless, {.unroll = 5});
  const Threads compare_and_retry(2, {load(0, x), compare_exchange(1, 2, x, reg(0), reg(0) + 1), branch(reg(2) == 0, 0)});
  for (std::int32_t unroll : {0, 1, 2}) EXPECT_INTERLEAVINGS(compare_and_retry, {.unroll = unroll});
}

TEST(branches_and_exits) {
  EXPECT_INTERLEAVINGS((Threads{{load(0, x), branch(reg(0), 4), store(y, 1), leave(), store(y, 2), load(1, z)},
                                {store(x, 1), load(0, y), store(z, reg(0))},
                                {store(x, 0), store(y, 3)}}));
}

TEST(addresses_from_memory) {
  // The pointer may change under the reader.
  const Threads threads{{load(0, x), load(1, reg(0) * 16 + y), store(reg(0) * 16 + y, 5)}, {store(z, 1), store(x, 1)}, {load(0, y), load(1, z)}};
  EXPECT_INTERLEAVINGS(threads);
  const Threads chosen{{load(0, x), load(1, select(reg(0) == 0, y, z)), store(w, reg(1))}, {store(y, 1), store(z, 2), store(x, 1)}};
  EXPECT_INTERLEAVINGS(chosen);
}

TEST(signed_and_narrow_accesses) {
  const Threads threads{{store(x, 0x1FF, 1), load(0, x, 1), load(1, x, 1, true)}, {store(y, 0x80, 1)}, {load(0, y, 1, true)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model);
    CHECK(outcome.statistics.complete == 2);
    for (const auto& [state, found] : outcome.states) {
      CHECK(state[observed_register(0, 0)] == 0xFF);
      CHECK(state[observed_register(0, 1)] == ~Value{0});
      CHECK(state[observed_location(threads, x)] == 0xFF);
      CHECK(state[observed_register(2, 0)] == 0 || state[observed_register(2, 0)] == Value{0} - 0x80);
    }
  }
}

TEST(initial_memory_byte_by_byte) {
  const Model model = sc();
  const Threads threads{{load(0, x, 2), load(1, x + 2, 2), store(x + 4, 7, 4)}};
  const Program program = compile(threads, model, {{x, 0x34}, {x + 1, 0x12}, {x + 3, 0x80}, {x + 4, 0xFF}});
  const Outcome outcome = dekker::rsmc::explore(program, model.program, model.check_names, model.order, {}, {});
  CHECK(outcome.states.size() == 1);
  const std::vector<Value>& state = outcome.states.begin()->first;
  CHECK(state[observed_register(0, 0)] == 0x1234);
  CHECK(state[observed_register(0, 1)] == 0x8000);
  CHECK(state[observed_location(threads, x)] == 0x0000000780001234);
}

TEST(flags_are_counted) {
  const Outcome outcome = explored(store_buffering, sc());
  CHECK((outcome.flags == std::map<std::string, std::uint64_t>{{"overwritten", 2}}));
}
