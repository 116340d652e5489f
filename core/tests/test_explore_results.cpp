// What an exploration reports besides counts: examples, violations, limits; and programs of every size.
#include <algorithm>
#include <optional>
#include <string>

#include "harness.hpp"
#include "rsmc_models.hpp"
#include "rsmc_oracles.hpp"

using namespace rsmc_tests;
using dekker::rsmc::EventKind;
using dekker::rsmc::MixedSizes;
using dekker::rsmc::Statistics;
using dekker::rsmc::Stop;
using dekker::rsmc::Trace;
using dekker::rsmc::TraceEvent;
using dekker::rsmc::Violation;
using dekker::rsmc::ViolationKind;

namespace {

constexpr Limits with_examples{.wants_examples = true};

// Do links, values and coherence ranks fit one another? Initial memory must be 0.
bool is_consistent(const Trace& trace) {
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceEvent& e = trace[i];
    if (i > 0 && trace[i - 1].place.thread > e.place.thread) return false;
    if (e.kind == EventKind::read && e.link == none && e.value != 0) return false;
    if (e.kind == EventKind::read && e.link != none) {
      const TraceEvent& source = trace[static_cast<std::size_t>(e.link)];
      if (source.kind != EventKind::write || source.address != e.address || source.value != e.value) return false;
    }
    if (e.kind != EventKind::write) continue;
    const auto same_place = [&](const TraceEvent& o) { return o.kind == EventKind::write && o.address == e.address; };
    if (e.link < 1 || e.link > std::ranges::count_if(trace, same_place)) return false;
    const auto same_rank = [&](const TraceEvent& o) { return same_place(o) && o.link == e.link; };
    if (std::ranges::count_if(trace, same_rank) != 1) return false;
  }
  return true;
}

// The value that the trace leaves in the location, and the last one that the thread read.
Value last_write(const Trace& trace, Address address) {
  Value value = 0;
  std::int32_t rank = 0;
  for (const TraceEvent& e : trace)
    if (e.kind == EventKind::write && e.address == address && e.link > rank) {
      value = e.value;
      rank = e.link;
    }
  return value;
}

std::optional<Value> last_read(const Trace& trace, std::int32_t thread) {
  std::optional<Value> value;
  for (const TraceEvent& e : trace)
    if (e.kind == EventKind::read && e.place.thread == thread) value = e.value;
  return value;
}

const Violation* find(const Outcome& outcome, ViolationKind kind, std::int32_t thread) {
  for (const auto& [violation, trace] : outcome.violations)
    if (violation.kind == kind && violation.place.thread == thread) return &violation;
  return nullptr;
}

// Where the exception says that accesses of different sizes overlap.
std::optional<std::pair<std::int32_t, std::int32_t>> mixed_sizes(const Threads& threads, const Model& model) {
  try {
    explored(threads, model);
  } catch (const MixedSizes& found) {
    return std::pair(found.place.thread, found.place.pc);
  }
  return std::nullopt;
}

// Takes long enough to look at limits.
Threads many_updates() { return Threads(8, {fetch_add(0, x, 1)}); }

Outcome explored_with(const Threads& threads, const Model& model, const Limits& limits, const dekker::rsmc::Progress& progress) {
  return dekker::rsmc::explore(compile(threads, model), model.program, model.check_names, model.order, limits, progress);
}

}  // namespace

// ---- Examples --------------------------------------------------------------------------------------------------------

TEST(every_state_has_an_example_that_leads_to_it) {
  const std::vector<Threads> programs{
      {{store(x, 1), load(0, y)}, {store(y, 1), load(0, x)}},
      {{load(0, x)}, {store(x, 1), store(x, 3)}, {store(x, 2)}},
      {{fetch_add(0, x, 1), fence(), load(0, x)}, {fetch_add(0, x, 2), load(0, x)}, {compare_exchange(0, 1, x, 3, 9)}},
      {{load_linked(1, x), store_conditional(2, x, 5), load(0, x)}, {choose(1, 6, 7), store(x, reg(1)), load(0, x)}}};
  for (const Threads& threads : programs)
    for (const Model& model : all_models()) {
      const Outcome outcome = explored(threads, model, with_examples);
      CHECK(outcome.states.size() > 1);
      for (const auto& [state, found] : outcome.states) {
        CHECK(is_consistent(found.example));
        CHECK(last_write(found.example, x) == state[observed_location(threads, x)]);
        for (std::int32_t t = 0; t < static_cast<std::int32_t>(threads.size()); ++t)
          CHECK(last_read(found.example, t).value_or(0) == state[observed_register(t, 0)]);
      }
    }
}

TEST(the_events_of_an_example) {
  const Threads threads{{store(x, 1), fence(), load(0, y)}, {choose(0, 4, 4), store(y, reg(0)), load(1, x)}};
  const Outcome outcome = explored(threads, sc(), with_examples);
  CHECK(outcome.states.size() == 3);
  for (const auto& [state, found] : outcome.states) {
    const Trace& trace = found.example;
    CHECK(trace.size() == 6);
    const auto is = [&](std::size_t i, std::int32_t thread, std::int32_t pc, EventKind kind, Address address) {
      return trace[i].place.thread == thread && trace[i].place.pc == pc && trace[i].kind == kind && trace[i].address == address;
    };
    CHECK(is(0, 0, 0, EventKind::write, x));
    CHECK(is(1, 0, 1, EventKind::fence, 0));
    CHECK(is(2, 0, 2, EventKind::read, y));
    CHECK(is(3, 1, 0, EventKind::choice, 0));
    CHECK(is(4, 1, 1, EventKind::write, y));
    CHECK(is(5, 1, 2, EventKind::read, x));
    CHECK(trace[0].link == 1);
    CHECK(trace[3].value == 4);
    CHECK(trace[2].link == (state[observed_register(0, 0)] == 4 ? 4 : none));
    CHECK(trace[5].link == (state[observed_register(1, 1)] == 1 ? 0 : none));
  }
}

TEST(no_examples_unless_wanted) {
  const Outcome outcome = explored({{load(0, x), check_that(reg(0))}, {load(0, y)}}, sc());
  for (const auto& [state, found] : outcome.states) CHECK(found.example.empty());
  for (const auto& [violation, trace] : outcome.violations) CHECK(trace.empty());
}

// ---- Violations ------------------------------------------------------------------------------------------------------

TEST(a_failed_assertion_is_reported_with_its_trace) {
  // Message passing: the assertion says that whoever sees the flag sees the data.
  const Threads threads{{store(x, 1), store(y, 1)}, {load(0, y), branch(reg(0) == 0, 4), load(1, x), check_that(reg(1))}};
  CHECK(explored(threads, sc(), with_examples).violations.empty());
  CHECK(explored(threads, tso(), with_examples).violations.empty());
  for (const Model& model : weak_models()) {
    const Outcome outcome = explored(threads, model, with_examples);
    CHECK(outcome.statistics.complete == 2);
    CHECK(outcome.statistics.failed == 1);
    CHECK(outcome.violations.size() == 1);
    const auto& [violation, trace] = outcome.violations.front();
    CHECK((violation == Violation{ViolationKind::assertion, {1, 1, 3}, 0}));
    CHECK(is_consistent(trace));
    CHECK(trace.size() == 4);
    CHECK(trace[2].value == 1);
    CHECK(trace[2].link == 1);
    CHECK(trace[3].value == 0);
    CHECK(trace[3].link == none);
  }
}

TEST(each_violation_is_reported_once) {
  const Threads threads{{load(0, x), check_that(reg(0) == 3)}, {store(x, 1)}, {store(x, 2)}, {check_that(0)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model);
    CHECK(outcome.violations.size() == 2);
    CHECK(outcome.statistics.failed == 6);
    CHECK(outcome.statistics.complete == 0);
    CHECK(find(outcome, ViolationKind::assertion, 3) != nullptr);
  }
}

TEST(a_thread_stops_at_its_failed_assertion) {
  const Threads threads{{check_that(0), store(x, 1)}, {load(0, x), store(y, 1)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model, with_examples);
    CHECK(outcome.statistics.failed == 1);
    CHECK(outcome.violations.front().second.size() == 2);
  }
}

TEST(accesses_outside_objects) {
  const Address nowhere = 0x5000;
  const Threads threads{{load(0, x), store(reg(0), 1)}, {store(x, nowhere)}, {load(0, nowhere)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model, with_examples);
    // The first thread stores to address 0 or to nowhere; in the second case the third thread may see it.
    CHECK(outcome.statistics.complete == 3);
    CHECK(outcome.violations.size() == 3);
    CHECK(find(outcome, ViolationKind::memory, 1) == nullptr);
    CHECK(find(outcome, ViolationKind::memory, 2) != nullptr && find(outcome, ViolationKind::memory, 2)->address == nowhere);
    const auto is_wild = [&](Address address) {
      return std::ranges::any_of(outcome.violations, [&](const auto& entry) {
        return entry.first == Violation{ViolationKind::memory, {0, 0, 1}, address} && is_consistent(entry.second);
      });
    };
    CHECK(is_wild(0));
    CHECK(is_wild(nowhere));
  }
}

TEST(the_borders_of_objects) {
  const auto is_outside = [](Address address, std::uint8_t size) { return !explored({{load(0, address, size)}}, sc()).violations.empty(); };
  CHECK(!is_outside(x, 8));
  CHECK(!is_outside(x + 7, 1));
  CHECK(!is_outside(x + 4, 4));
  CHECK(is_outside(x + 5, 4));
  CHECK(is_outside(x + 8, 1));
  CHECK(is_outside(x - 1, 1));
  CHECK(is_outside(x - 1, 8));
  CHECK(is_outside(~Address{0}, 8));
}

TEST(accesses_of_different_sizes_that_overlap_are_refused) {
  for (const Model& model : all_models()) {
    CHECK(mixed_sizes({{store(x, 1)}, {fence(), load(0, x, 4)}}, model) == std::pair(1, 1));
    CHECK(mixed_sizes({{store(x, 1, 4)}, {load(0, x + 2, 4)}}, model) == std::pair(1, 0));
    CHECK(mixed_sizes({{store(x + 2, 1, 2)}, {load(0, x)}}, model) == std::pair(1, 0));
    CHECK(!mixed_sizes({{store(x, 1, 4), store(x + 4, 2, 2)}, {load(0, x + 6, 2), load(1, x + 4, 2)}}, model));
  }
}

TEST(pieces_of_an_access_must_not_race) {
  const auto piece = [](Line line) {
    line.instruction.is_piece = true;
    return line;
  };
  for (const Model& model : all_models()) {
    // A store that was split, and a load of one of its parts.
    CHECK(mixed_sizes({{piece(store(x, 1, 4)), piece(store(x + 4, 2, 4))}, {load(0, x + 4, 4)}}, model) == std::pair(0, 1));
    // Two stores that nobody reads.
    CHECK(mixed_sizes({{piece(store(x, 1, 4))}, {store(x, 2, 4)}}, model).has_value());
    // Nobody else writes there.
    CHECK(!mixed_sizes({{piece(load(0, x, 4)), piece(load(1, x + 4, 4))}, {load(0, x + 4, 4)}}, model));
    CHECK(!mixed_sizes({{piece(store(x, 1, 4)), load(0, x, 4)}, {store(y, 1)}}, model));
  }
}

// ---- Deadlocks, and what was cut -------------------------------------------------------------------------------------

TEST(a_deadlock_has_an_example) {
  const Threads threads{{load(0, x), await_that(reg(0), 0), store(y, 1)}, {load(0, y), await_that(reg(0), 0), store(x, 1)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model, with_examples);
    CHECK(outcome.statistics.deadlocks == 1);
    CHECK(outcome.deadlock_example.size() == 2);
    CHECK(is_consistent(outcome.deadlock_example));
    CHECK(explored(threads, model).deadlock_example.empty());
  }
}

TEST(the_loop_that_was_cut) {
  const Threads threads{{load(0, x), branch(reg(0) == 0, 0)}, {store(y, 1), load(0, x), jump(1)}};
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(threads, model);
    CHECK(outcome.statistics.cut > 0);
    CHECK(outcome.cut_at == (std::set<dekker::rsmc::Place>{{0, 0, 1}, {1, 1, 2}}));
  }
}

// ---- Limits ----------------------------------------------------------------------------------------------------------

TEST(the_first_violation) {
  const Threads racing{{store(x, 1), load(0, y), check_that(reg(0))}, {store(y, 1)}};
  const Threads waiting{{load(0, x), await_that(reg(0), 0)}, {load(0, y)}, {store(y, 1)}};
  const Threads fine{{store(x, 1), load(0, y)}, {store(y, 1), load(0, x)}};
  for (const Model& model : all_models()) {
    const Outcome first = explored(racing, model, {.stops_at_violation = true});
    CHECK(first.stop == Stop::violation);
    CHECK(first.violations.size() == 1);
    CHECK(first.statistics.failed == 1);
    CHECK(explored(racing, model).stop == Stop::not_stopped);
    const Outcome deadlock = explored(waiting, model, {.stops_at_violation = true});
    CHECK(deadlock.stop == Stop::violation);
    CHECK(deadlock.statistics.deadlocks == 1);
    CHECK(explored(waiting, model).statistics.deadlocks == 2);
    const Outcome everything = explored(fine, model);
    const Outcome complete = explored(fine, model, {.stops_at_violation = true});
    CHECK(complete.stop == (everything.flags.empty() ? Stop::not_stopped : Stop::violation));
    if (everything.flags.empty()) CHECK(complete.statistics.complete == everything.statistics.complete);
  }
}

TEST(the_limit_of_traces) {
  const Threads threads(3, {fetch_add(0, x, 1)});
  for (const Model& model : all_models()) {
    for (std::uint64_t limit = 1; limit <= 5; ++limit) {
      const Outcome outcome = explored(threads, model, {.max_traces = limit});
      CHECK(outcome.stop == Stop::traces);
      CHECK(outcome.statistics.complete == limit);
    }
    CHECK(explored(threads, model, {.max_traces = 6}).stop == Stop::not_stopped);
  }
}

TEST(the_limit_of_time) {
  for (const Model& model : all_models()) {
    const Outcome outcome = explored(many_updates(), model, {.timeout_s = 1e-9});
    CHECK(outcome.stop == Stop::time);
    CHECK(outcome.statistics.complete < 40320);
  }
  CHECK(explored({{load(0, x)}, {store(x, 1)}}, sc(), {.timeout_s = 1000}).stop == Stop::not_stopped);
}

TEST(the_limit_of_memory) {
  for (const Model& model : all_models()) CHECK(explored(many_updates(), model, {.memory_bytes = 1}).stop == Stop::memory);
  const Outcome outcome = explored(Threads(5, {fetch_add(0, x, 1)}), sc(), {.memory_bytes = std::uint64_t{1} << 50});
  CHECK(outcome.stop == Stop::not_stopped);
}

TEST(progress_is_reported_and_may_stop_the_exploration) {
  int calls = 0;
  std::uint64_t seen = 0;
  const auto stop_at_once = [&](const Statistics& statistics) {
    ++calls;
    seen = statistics.complete;
    return false;
  };
  const Outcome outcome = explored_with(many_updates(), sc(), {}, stop_at_once);
  CHECK(outcome.stop == Stop::interrupt);
  CHECK(calls == 1);
  CHECK(seen <= outcome.statistics.complete);
  CHECK(outcome.statistics.complete < 40320);

  calls = 0;
  const auto go_on = [&](const Statistics& statistics) {
    ++calls;
    return statistics.complete <= 720;
  };
  CHECK(explored_with(Threads(6, {fetch_add(0, x, 1)}), sc(), {}, go_on).statistics.complete == 720);
  CHECK(calls >= 1);
}

TEST(an_exception_from_progress_passes_through) {
  const auto throws = [](const Statistics&) -> bool { throw std::runtime_error("enough"); };
  CHECK_THROWS(std::runtime_error, "enough", explored_with(many_updates(), sc(), {}, throws));
}

// ---- Size ------------------------------------------------------------------------------------------------------------

namespace {

// A racing core with n private stores in front of each thread, which add n + 1 events (with the initial one) per thread.
Threads padded(Threads core, std::size_t n) {
  Address place = private_area;
  for (std::vector<Line>& lines : core) {
    std::vector<Line> padding;
    for (std::size_t i = 0; i < n; ++i) padding.push_back(store(place, i));
    lines.insert(lines.begin(), padding.begin(), padding.end());
    place += 8;
  }
  return core;
}

const Threads racing_core{{fetch_add(0, x, 1), load(1, y)}, {store(y, 1), fetch_add(0, x, 2)}};

}  // namespace

TEST(private_stores_change_no_count_in_any_size) {
  for (const Model& model : all_models()) {
    const std::uint64_t wanted = explored(racing_core, model).statistics.complete;
    // On both sides of 64, 128, 256 and 512 events.
    for (std::size_t n : {20, 27, 28, 60, 61, 122, 125, 240, 260}) {
      const Outcome outcome = explored(padded(racing_core, n), model);
      CHECK(outcome.stop == Stop::not_stopped);
      CHECK(outcome.statistics.complete == wanted);
      CHECK(outcome.statistics.abandoned == 0);
    }
  }
}

TEST(private_locations_of_their_own_change_no_count) {
  for (const Model& model : all_models()) {
    Threads threads = racing_core;
    const std::uint64_t wanted = explored(threads, model).statistics.complete;
    for (Address i = 0; i < 70; ++i) threads[i % 2].push_back(store(private_area + 8 * i, i));
    CHECK(explored(threads, model).statistics.complete == wanted);
  }
}

TEST(more_events_than_rows_of_a_few_words_hold) {
  for (const Model& model : {sc(), relaxed()}) {
    const std::uint64_t wanted = explored(racing_core, model).statistics.complete;
    for (std::size_t n : {505, 520, 2100}) CHECK(explored(padded(racing_core, n), model).statistics.complete == wanted);
  }
}

TEST(a_thread_too_long_to_fetch) {
  const Outcome outcome = explored(padded({{}}, 33'000), relaxed());
  CHECK(outcome.stop == Stop::events);
  CHECK(outcome.statistics.complete == 0);
  CHECK(outcome.states.empty());
  CHECK(outcome.too_long_at.thread == 0);
}

TEST(a_long_loop) {
  const Threads threads{{store(x, reg(0)), assign(0, reg(0) + 1), branch(reg(0) != 300, 0)}, {load(0, x)}};
  for (const Model& model : all_models()) CHECK(explored(threads, model, {.unroll = 300}).statistics.complete == 301);
}

TEST(races_behind_the_first_word) {
  // The racing accesses have large numbers in every bit set.
  const Threads threads = padded({{load(0, x)}, {store(x, 1)}, {store(x, 2)}}, 30);
  for (const Model& model : all_models()) CHECK(explored(threads, model).statistics.complete == 6);
}
