// The fetch over values that are not known yet, and taking back what was done.
#include <optional>
#include <random>
#include <tuple>

#include "harness.hpp"
#include "rsmc/run.hpp"
#include "rsmc_models.hpp"

using namespace rsmc_tests;
using dekker::rsmc::Event;
using dekker::rsmc::EventId;
using dekker::rsmc::EventKind;
using dekker::rsmc::EventState;
using dekker::rsmc::no_event;
using dekker::rsmc::Role;
using dekker::rsmc::ThreadStatus;

namespace {

using Machine = dekker::rsmc::Machine<1>;
using Run = dekker::rsmc::Run<1>;

constexpr Limits no_limits{};

// A machine with what it refers to.
struct Setup {
  Model model;
  Limits limits;
  Program program;
  dekker::rsmc::Knowledge knowledge;
  Machine machine;

  Setup(const Threads& threads, Model m, const Limits& l = no_limits)
      : model(std::move(m)), limits(l), program(compile(threads, model)), machine(program, model.order, limits, knowledge, [] {}) {}
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  const dekker::rsmc::ThreadState<1>& thread(std::size_t t) const { return machine.threads()[t]; }
  const Event<1>& event(std::size_t t, std::size_t i) const { return machine.event(thread(t).events[i]); }

  // As a commit does.
  void give(std::size_t t, std::size_t i, Value value) {
    Event<1>& e = machine.event(thread(t).events[i]);
    e.value = value;
    e.state = EventState::committed;
    machine.advance(static_cast<std::int32_t>(t));
  }
};

using Nodes = std::vector<dekker::rsmc::NodeId>;

// What of a machine is to be as before after it was taken back.
auto content_of(const Machine& machine) {
  const Machine::Mark mark = machine.mark();
  std::vector<std::tuple<std::int32_t, ThreadStatus, std::vector<EventId>, Nodes, EventId>> threads;
  for (const auto& thread : machine.threads()) {
    Nodes nodes;
    for (const auto& content : thread.registers) nodes.push_back(content.node);
    threads.emplace_back(thread.pc, thread.status, thread.events, nodes, thread.linked);
  }
  std::vector<std::tuple<EventState, std::optional<Value>, std::uint32_t, std::int32_t, std::uint64_t>> events;
  for (EventId id = 0; id < machine.n_events(); ++id) {
    const Event<1>& e = machine.event(id);
    events.emplace_back(e.state, machine.value(e.address_node), e.matrix_index, e.shadow_index, e.readers.words[0]);
  }
  return std::tuple(mark.nodes, mark.events, mark.saved, mark.deferred, threads, events);
}

auto content_of(const Run& run) {
  std::vector<std::tuple<Address, std::vector<EventId>, std::uint64_t, std::uint64_t>> locations;
  for (const auto& location : run.locations())
    locations.emplace_back(location.address, location.order, location.members.words[0], location.initial_readers.words[0]);
  std::vector<std::tuple<EventId, dekker::rsmc::ItemKind, std::uint64_t>> items;
  for (const auto& item : run.items()) items.emplace_back(item.event, item.kind, item.past.words[0]);
  return std::tuple(content_of(run.machine()), locations, items, run.mark().matrix, run.is_abandoned());
}

// A commit, by the place of its event in the program so that it can be made in another run.
struct Commit {
  dekker::rsmc::Key event;
  std::size_t parameter;
};

// Returns whether the model allows it. Parameters beyond what there is are taken round.
bool make(Run& run, const Commit& commit) {
  const EventId id = run.event_at(commit.event);
  if (run.event(id).kind == EventKind::choice) {
    run.commit_choice(id, commit.parameter % 2);
    return true;
  }
  const std::uint32_t place = run.location_of(id);
  const std::size_t n = run.location(place).order.size() + 1;
  if (run.event(id).kind == EventKind::write) return run.commit_write(id, place, commit.parameter % n);
  return run.commit_read(id, place, commit.parameter % n);
}

// Of all kinds of events, with unknown addresses, values and branches.
const Threads mixture{
    {load(0, x), store(depending(y, 0), reg(0) + 1), fetch_add(1, x, reg(0)), fence(), load(2, y)},
    {load(0, y), branch(reg(0) == 0, 3), store(x, 2), compare_exchange(1, 2, x, reg(0), 7), load(3, select(reg(2), x, y))},
    {choose(0, 0, 1), load_linked(1, x), store_conditional(2, x, reg(1) + 1), store(y, reg(2))},
    {store(z, 1), load(0, z), store(y, reg(0)), load(1, y)}};

}  // namespace

// ---- Fetching --------------------------------------------------------------------------------------------------------

TEST(fetch_runs_ahead_over_unknown_values) {
  const Setup s({{load(0, x), load(1, reg(0)), store(reg(1), reg(0) + 1), store(y, 3)}}, relaxed());
  CHECK(s.thread(0).status == ThreadStatus::finished);
  CHECK(s.machine.n_events() == 4);
  CHECK(s.machine.value(s.event(0, 0).address_node) == x);
  CHECK(!s.machine.value(s.event(0, 1).address_node));
  CHECK(!s.machine.value(s.event(0, 2).address_node));
  CHECK(!s.machine.value(s.event(0, 2).value_node));
  CHECK(s.machine.value(s.event(0, 3).value_node) == Value{3});
  CHECK(s.event(0, 1).address_sources.direct.test(s.thread(0).events[0]));
  CHECK(s.event(0, 2).address_sources.direct.test(s.thread(0).events[1]));
  CHECK(s.event(0, 2).data_sources.direct.test(s.thread(0).events[0]));
}

TEST(what_depends_on_a_load_becomes_known_with_it) {
  Setup s({{load(0, x), load(1, reg(0)), store(reg(1), reg(0) + 1)}}, relaxed());
  s.give(0, 0, y);
  CHECK(s.machine.value(s.event(0, 1).address_node) == y);
  CHECK(s.machine.value(s.event(0, 2).value_node) == y + 1);
  CHECK(!s.machine.value(s.event(0, 2).address_node));
  s.give(0, 1, z);
  CHECK(s.machine.value(s.event(0, 2).address_node) == z);
}

TEST(a_branch_on_an_unknown_value_stops_the_fetch) {
  for (const Value loaded : {Value{0}, Value{1}}) {
    Setup s({{load(0, x), load(1, z), branch(reg(0), 4), store(y, 1), store(y, 2)}}, relaxed());
    CHECK(s.machine.n_events() == 2);
    CHECK(s.thread(0).status == ThreadStatus::running);
    s.give(0, 1, 5);
    CHECK(s.machine.n_events() == 2);
    s.give(0, 0, loaded);
    CHECK(s.machine.n_events() == (loaded != 0 ? 3u : 4u));
    CHECK(s.event(0, 2).control.direct.test(s.thread(0).events[0]));
    CHECK(!s.event(0, 2).control.direct.test(s.thread(0).events[1]));
    CHECK(s.thread(0).status == ThreadStatus::finished);
  }
}

TEST(a_value_that_needs_no_source_still_depends_on_it) {
  Setup s({{load(0, x), branch(reg(0) & 0, 2), store(y, reg(0) & 0)}}, relaxed());
  CHECK(s.machine.n_events() == 1);
  s.give(0, 0, 9);
  CHECK(s.machine.value(s.event(0, 1).value_node) == Value{0});
  CHECK(s.event(0, 1).data_sources.direct.test(s.thread(0).events[0]));
}

TEST(in_program_order_the_fetch_waits_for_each_access) {
  Setup s({{assign(0, 5), store(x, reg(0)), load(1, y), store(z, reg(1))}}, sc());
  CHECK(s.machine.n_events() == 1);
  s.give(0, 0, 5);
  CHECK(s.machine.n_events() == 2);
  s.give(0, 1, 8);
  CHECK(s.machine.n_events() == 3);
  CHECK(s.machine.value(s.event(0, 2).value_node) == Value{8});
}

TEST(assumptions_assertions_and_loops_end_a_thread) {
  const auto status_after = [](const std::vector<Line>& lines, Value loaded, std::int32_t unroll = 2) {
    Setup s({lines}, relaxed(), {.unroll = unroll});
    s.give(0, 0, loaded);
    return s.thread(0).status;
  };
  CHECK(status_after({load(0, x), assume(reg(0) == 1)}, 1) == ThreadStatus::finished);
  CHECK(status_after({load(0, x), assume(reg(0) == 1)}, 2) == ThreadStatus::blocked);
  CHECK(status_after({load(0, x), await_that(reg(0) == 1, 0)}, 2) == ThreadStatus::waiting);
  CHECK(status_after({load(0, x), check_that(reg(0) == 1)}, 2) == ThreadStatus::failed);
  CHECK(status_after({load(0, x), leave(), check_that(reg(0) == 1)}, 2) == ThreadStatus::finished);
  const std::vector<Line> loop{load(0, x), assign(1, reg(1) + 1), branch(reg(1) != reg(0), 1)};
  CHECK(status_after(loop, 3) == ThreadStatus::finished);
  CHECK(status_after(loop, 4) == ThreadStatus::cut);
  CHECK(status_after(loop, 4, 3) == ThreadStatus::finished);
}

TEST(fences_and_classes_say_what_must_come_before) {
  const Setup s({{store(x, 1), load(0, y), store_fence(), store(z, 1), fence(), load(1, w)}}, relaxed());
  const std::vector<EventId>& events = s.thread(0).events;
  CHECK(s.event(0, 3).ordered_after.test(events[0]));
  CHECK(!s.event(0, 3).ordered_after.test(events[1]));
  for (std::size_t i : {0, 1, 3}) CHECK(s.event(0, 5).ordered_after.test(events[i]));
  CHECK(s.event(0, 2).state == EventState::committed);
  CHECK(s.event(0, 2).kind == EventKind::fence);
}

TEST(both_halves_of_an_update_are_fetched) {
  Setup s({{fetch_add(0, x, 2), load_linked(1, y), store_conditional(2, y, reg(0)), store_conditional(3, y, 1), store(z, reg(3))}},
          relaxed());
  CHECK(s.machine.n_events() == 6);
  CHECK(s.event(0, 0).role == Role::update_read);
  CHECK(s.event(0, 1).role == Role::update_write);
  CHECK(s.event(0, 1).partner == s.thread(0).events[0]);
  CHECK(s.event(0, 3).kind == EventKind::choice);
  CHECK(s.event(0, 4).role == Role::conditional_store);
  CHECK(s.event(0, 4).partner == s.thread(0).events[2]);
  CHECK(!s.machine.value(s.event(0, 1).value_node));
  s.give(0, 0, 40);
  CHECK(s.machine.value(s.event(0, 1).value_node) == Value{42});
  CHECK(s.machine.value(s.event(0, 4).value_node) == Value{40});
  // Without a load-link the second one has failed already.
  CHECK(s.machine.value(s.event(0, 5).value_node) == Value{1});
}

TEST(more_events_than_fit_are_refused) {
  CHECK_THROWS(std::runtime_error, "full", {
    try {
      Setup(Threads{std::vector<Line>(65, store(x, 1))}, relaxed());
    } catch (const dekker::rsmc::CapacityNeeded&) {
      throw std::runtime_error("full");
    }
  });
  CHECK(Setup(Threads{std::vector<Line>(64, store(x, 1))}, relaxed()).machine.n_events() == 64);
}

// ---- Taking back -----------------------------------------------------------------------------------------------------

TEST(a_machine_taken_back_is_as_before) {
  for (const Model& model : all_models()) {
    Setup s({{load(0, x), branch(reg(0), 4), load(1, depending(y, 0)), assume(reg(1) == 2), store(z, reg(1) + 1), load(2, select(reg(1), x, y))}},
            model);
    const auto at_start = content_of(s.machine);
    const Machine::Mark start = s.machine.mark();
    s.give(0, 0, 0);
    const auto in_the_middle = content_of(s.machine);
    const Machine::Mark middle = s.machine.mark();
    const auto events_before = s.machine.n_events();
    s.give(0, 1, 2);
    CHECK(content_of(s.machine) != in_the_middle);
    s.machine.event(s.thread(0).events[1]).state = EventState::pending;
    s.machine.undo(middle);
    CHECK(content_of(s.machine) == in_the_middle);
    CHECK(s.machine.n_events() == events_before);
    // The other way, which blocks.
    s.give(0, 1, 3);
    CHECK(s.thread(0).status == ThreadStatus::blocked);
    for (std::size_t i : {0, 1}) s.machine.event(s.thread(0).events[i]).state = EventState::pending;
    s.machine.undo(start);
    CHECK(content_of(s.machine) == at_start);
  }
}

// Commits drawn at random, taken back to marks drawn at random. The model is part of the run, so a fresh run that makes the
// same commits must get the same answers.
TEST(a_run_taken_back_is_as_before) {
  for (Model model : all_models()) {
    model.order.pick_seed = 1;
    const Program program = compile(mixture, model);
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      dekker::rsmc::Knowledge knowledge;
      Run run(program, model.program, model.order, no_limits, knowledge, [] {});
      using Content = decltype(content_of(run));
      std::vector<std::tuple<Run::Mark, Content, std::vector<Commit>>> stack;
      std::vector<Commit> commits;
      for (int step = 0; step < 60; ++step) {
        const EventId next = random() % 4 == 0 ? no_event : run.pick();
        stack.emplace_back(run.mark(), content_of(run), commits);
        bool goes_on = false;
        if (next != no_event) {
          commits.push_back({run.key_of(next), random()});
          goes_on = make(run, commits.back());
        }
        if (goes_on) continue;
        const std::size_t target = stack.size() - 1 - (next == no_event ? random() % stack.size() : 0);
        run.undo(std::get<Run::Mark>(stack[target]));
        CHECK(content_of(run) == std::get<Content>(stack[target]));
        commits = std::get<std::vector<Commit>>(stack[target]);
        stack.resize(target);
      }
      Run fresh(program, model.program, model.order, no_limits, knowledge, [] {});
      for (const Commit& commit : commits) {
        fresh.pick();
        CHECK(make(fresh, commit));
      }
      fresh.pick();
      run.pick();
      CHECK(fresh.items().size() == run.items().size());
      CHECK(fresh.raised_flags() == run.raised_flags());
      for (std::size_t t = 0; t < mixture.size(); ++t) {
        const auto& left = run.machine().threads()[t];
        const auto& right = fresh.machine().threads()[t];
        CHECK(left.pc == right.pc && left.status == right.status && left.events.size() == right.events.size());
      }
    }
  }
}

TEST(an_event_without_parameter_is_taken_back) {
  const Model model = relaxed();
  const Program program = compile({{load(0, x), store(y, 1)}}, model);
  dekker::rsmc::Knowledge knowledge;
  Run run(program, model.program, model.order, no_limits, knowledge, [] {});
  const auto before = content_of(run);
  const Run::Mark mark = run.mark();
  run.commit_failure(run.machine().threads()[0].events[0]);
  CHECK(run.is_abandoned());
  run.undo(mark);
  CHECK(!run.is_abandoned());
  CHECK(content_of(run) == before);
}
