// Explore, DetectRace and Traverse of the paper's Fig. 7, over a Run.
//
// Beyond the paper: the two halves of an update are one step where nothing that the write waits for need come between
// them, with races found as for a store that reads; otherwise they are two events. An event for which there is no parameter
// fails, in a run that goes on without it and does not count.
#pragma once

#include <chrono>
#include <set>
#include <span>
#include <utility>

#include "process_memory.hpp"
#include "rsmc/leaks.hpp"
#include "rsmc/maximality.hpp"
#include "rsmc/pieces.hpp"
#include "rsmc/run.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class Explorer {
 public:
  Explorer(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
           const CommitOrder& order, const Limits& limits, const Progress& progress, Fields& fields)
      : program_(program), order_(order), limits_(limits), progress_(progress), check_names_(check_names),
        run_(program, model, order_, limits_, fields), maximality_(program, order_, run_, active_) {
    if (limits.timeout_s > 0 && limits.timeout_s < longest_timeout_s)
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.timeout_s));
  }

  Outcome run() {
    outcome_.n_alone = run_.machine().n_alone();
    explore();
    statistics_so_far();
    return std::move(outcome_);
  }

 private:
  using Bits = FixedBits<W>;
  using Mark = typename Run<W>::Mark;
  using Clock = std::chrono::steady_clock;

  const Event<W>& event(EventId id) const { return run_.event(id); }

  // ---- Explore ----------------------------------------------------------------------------------------------------

  void explore() {
    if (out_of_limits()) return;
    const EventId id = choose();
    if (id == no_event) {
      finish();
      return;
    }
    ++depth_;
    switch (event(id).kind) {
      case EventKind::read: explore_read(id); break;
      case EventKind::write: explore_write(id); break;
      case EventKind::choice: explore_choice(id); break;
      case EventKind::fence: break;
    }
    --depth_;
  }

  // Of reads that threads wait for, one with which its thread goes on. The others sleep in vain until it has.
  EventId choose() {
    const EventId picked = run_.pick();
    if (!run_.is_last_resort(picked)) return picked;
    const std::vector<EventId> awaited = run_.enabled_awaited_reads();
    if (awaited.size() < 2) return picked;
    const auto found = std::ranges::find_if(awaited, [&](EventId id) { return may_go_on(id); });
    return found == awaited.end() ? picked : *found;
  }

  // With what was written last; to try all would cost more than it saves.
  bool may_go_on(EventId id) {
    const Mark before = run_.mark();
    const std::uint32_t place = run_.location_of(id);
    const bool found = run_.commit_read(id, place, n_sources(id) - 1) && run_.status_of(id) == ThreadStatus::running;
    run_.undo(before);
    return found;
  }

  void explore_write(EventId id) {
    bool went_on = false;
    const std::uint32_t place = run_.location_of(id);
    const Mark before = run_.mark();
    const std::size_t lowest = run_.lowest_position(id, place);
    for (std::size_t position = run_.location(place).order.size() + 1; position-- > lowest;) {
      if (run_.commit_write(id, place, position)) {
        went_on = true;
        explore();
      }
      run_.undo(before);
      if (stopped()) return;
    }
    if (!went_on && may_as_well_fail(id)) {
      ++n_dropped_;
    } else if (!went_on) {
      explore_failure(id);
      run_.undo(before);
    }
    if (!stopped()) detect_races(id);
  }

  // A store-conditional for which there is no place. In program order all that comes later in its thread waits for it, so
  // that no race is found without it that is not found where it fails.
  bool may_as_well_fail(EventId write) const { return order_.in_order && event(write).chosen_by != no_event; }

  void explore_read(EventId id) {
    const Key key = run_.key_of(id);
    const std::uint32_t place = run_.location_of(id);
    const Mark before = run_.mark();
    const bool fails_elsewhere = run_.failure_frees_others(id);
    Activation<W> activation{key, before, run_.items().size(), run_.new_stamp(), fails_elsewhere};
    if (fails_elsewhere) explore_early_failure(event(id).partner, activation);
    run_.undo(before);
    active_.begin(key, activation);
    const std::uint64_t ends_before = n_ends();
    const std::size_t floor = run_.lowest_source(id, place);
    for (std::size_t source = run_.location(place).order.size() + 1; source-- > floor && !stopped();) {
      explore_read_from(id, place, source);
      run_.undo(before);
    }
    activation.sleeps |= activation.tries_again && n_ends() == ends_before;
    explore_asleep(id, activation);
    run_.undo(before);
    if (n_ends() == ends_before && !fails_elsewhere && !stopped()) {
      explore_failure(id);
      run_.undo(before);
    }
    if (may_be_update(id) && !stopped()) detect_update_races(id, place, floor);
    while (!activation.templates.empty() && !stopped()) {
      const Template next = std::move(activation.templates.back());
      activation.templates.pop_back();
      n_waiting_ -= next.items.size() + 1;
      explore_continuation(next, activation);
    }
    active_.end();
  }

  // What makes the compare-exchange succeed after all is found here.
  void explore_early_failure(EventId write, Activation<W>& activation) {
    const Key key = run_.key_of(write);
    active_.begin(key, activation);
    run_.commit_early_failure(write);
    run_.set_stamp(write, activation.stamp);
    explore();
    active_.end();
  }

  // Instead of every parameter after which the thread would only wait, once: without the read. What other threads can do
  // then includes all that they could do with one of these parameters.
  void explore_asleep(EventId id, Activation<W>& activation) {
    if (!activation.sleeps || activation.has_slept || stopped()) return;
    activation.has_slept = true;
    run_.commit_sleep(id);
    run_.set_stamp(id, activation.stamp);
    explore();
  }

  // An event for which the model allows no parameter: the run goes on without it to find races, and does not count. It is
  // enough to do so when there is no parameter at all. That happens to updates, and to other events only where the commit
  // order is not free of deadlocks.
  void explore_failure(EventId id) {
    if (event(id).role == Role::plain) note_stuck(id);
    run_.commit_failure(id);
    explore();
  }

  void explore_read_from(EventId id, std::uint32_t place, std::size_t source) {
    const Mark before = run_.mark();
    const Activation<W>* const activation = active_.find(run_.key_of(id));
    const bool only_success = activation != nullptr && activation->only_success;
    explore_read_as(only_success ? ItemKind::successful_read : ItemKind::read, id, place, source);
    run_.undo(before);
    const bool may_fail = event(id).is_weak && !only_success && !event(id).must_fail;
    if (!may_fail || stopped()) return;
    explore_read_as(ItemKind::failed_read, id, place, source);
    run_.undo(before);
  }

  void explore_read_as(ItemKind kind, EventId id, std::uint32_t place, std::size_t source) {
    const std::size_t n_events = run_.events_of(event(id).thread).size();
    const bool was_running = run_.status_of(id) == ThreadStatus::running;
    if (!run_.commit_read(id, place, source, kind)) return;
    run_.set_stamp(id, active_.find(run_.key_of(id))->stamp);
    if (was_running && ends_waiting(run_, id, n_events) && !is_violation(id, place)) {
      active_.find(run_.key_of(id))->sleeps = true;
      return;
    }
    explore_rest_of_step(id, place, source);
  }

  // An access of no object, or of one that was released, is reported even if it makes its thread wait.
  bool is_violation(EventId read, std::uint32_t place) const {
    const EventId source = event(read).read_from;
    return run_.location(place).is_outside || (source != no_event && event(source).is_release);
  }

  // The read is committed. If its write belongs to the same step, that is next, right behind what was read; a
  // store-conditional may as well fail.
  void explore_rest_of_step(EventId read, std::uint32_t place, std::size_t source) {
    const EventId write = run_.write_at_once(read);
    if (write == no_event) {
      explore();
      return;
    }
    const Mark before = run_.mark();
    if (event(write).chosen_by != no_event) {
      const std::size_t n_events = run_.events_of(event(read).thread).size();
      run_.commit_choice(event(write).chosen_by, status_failed);
      // If the thread then only tries again, it need not be seen to fail: the pair is an update that always succeeds.
      if (ends_waiting(run_, read, n_events)) active_.find(run_.key_of(read))->tries_again = true;
      else explore();
      run_.undo(before);
    }
    if (!stopped() && commit_second_half(write, place, source)) explore();
  }

  bool commit_second_half(EventId write, std::uint32_t place, std::size_t source) {
    if (event(write).chosen_by != no_event) {
      if (!run_.can_succeed(event(write))) return false;
      run_.commit_choice(event(write).chosen_by, status_succeeded);
    }
    return run_.commit_write(write, place, source);
  }

  void explore_choice(EventId id) {
    const Mark before = run_.mark();
    const Instruction& instruction = program_.block(event(id).block).code[at(event(id).pc)];
    std::int64_t low = instruction.low, high = instruction.high;
    const EventId conditional = run_.conditional_of(id);
    if (conditional != no_event) {
      low = run_.can_succeed(event(conditional)) ? status_succeeded : status_failed;
      high = status_failed;
    }
    for (std::int64_t chosen = low; chosen <= high && !stopped(); ++chosen) {
      run_.commit_choice(id, static_cast<Value>(chosen));
      explore();
      run_.undo(before);
    }
  }

  // Every way a run can end, or be given up for another. A read that leads to none has no parameter that the model allows.
  std::uint64_t n_ends() const {
    const Statistics& s = outcome_.statistics;
    return s.complete + s.blocked + s.abandoned + s.cut + s.failed + n_dropped_;
  }

  void note_stuck(EventId id) {
    ++outcome_.statistics.stuck;
    if (outcome_.stuck_at.thread == none) outcome_.stuck_at = run_.machine().place_of(event(id));
  }

  // ---- DetectRace -------------------------------------------------------------------------------------------------

  // Calls `visit(activation)` for every active load of the location that need not come before.
  template <class Visit>
  void for_racing_loads(EventId access, const Bits& past, Visit visit) {
    for (std::size_t i = 0; i < run_.items().size(); ++i) {
      const Event<W>& e = event(access);
      const Event<W>& load = event(run_.items()[i].event);
      if ((load.kind != EventKind::read && !load.failed_early) || load.address != e.address || load.size != e.size || past.test(i)) continue;
      Activation<W>* activation = active_.find(run_.key_of(run_.items()[i].event));
      if (activation == nullptr || activation->only_success != load.failed_early) continue;
      visit(*activation);
      run_.location_of(access);  // it may have been fetched anew
    }
  }

  void detect_races(EventId store) {
    const Bits past = run_.past_of(store, no_event);
    for_racing_loads(store, past, [&](Activation<W>& activation) {
      if (maximality_.holds(activation, past))
        offer(activation, {items_of(activation.run_size, past), run_.key_of(store), {}, {}, run_.new_stamp()});
    });
  }

  bool may_be_update(EventId id) const {
    return event(id).role == Role::update_read || event(id).role == Role::linked_load;
  }

  struct Update {
    Key write;
    Bits past;
  };

  // For every store that the update could read from, if it had not lost its place to another update: that other one may
  // have to read from this one.
  void detect_update_races(EventId id, std::uint32_t place, std::size_t floor) {
    const std::size_t n_writes = run_.location(place).order.size();
    for (std::size_t source = floor; source <= n_writes; ++source) {
      const EventId taken_by = update_behind(place, source);
      const std::optional<Update> update = possible_update(id, place, source, taken_by != no_event);
      if (update) detect_races_of_update(id, *update, place, source, taken_by);
    }
  }

  void detect_races_of_update(EventId id, const Update& update, std::uint32_t place, std::size_t source, EventId taken_by) {
    const EventId store = source == 0 ? no_event : run_.location(place).order[source - 1];
    const Bits& past = update.past;
    for_racing_loads(id, past, [&](Activation<W>& activation) {
      if (taken_by != no_event) {
        const std::size_t taken = event(taken_by).run_index;
        if (taken < activation.run_size || past.test(taken)) return;
      }
      const Key source_key = store == no_event ? Key{} : run_.key_of(store);
      if (maximality_.holds(activation, past))
        offer(activation, {items_of(activation.run_size, past), update.write, run_.key_of(id), source_key, run_.new_stamp()});
    });
  }

  // The update that reads from the source and is in place: no other can come between. It is the next write, but for writes
  // of its own thread between a load-linked and its store-conditional.
  EventId update_behind(std::uint32_t place, std::size_t source) const {
    const std::vector<EventId>& order = run_.location(place).order;
    const EventId store = source == 0 ? no_event : order[source - 1];
    for (std::size_t i = source; i < order.size(); ++i)
      if (event(order[i]).role != Role::plain && event(event(order[i]).partner).read_from == store) return order[i];
    return no_event;
  }

  // The update if it would succeed from this source, in one step. If its place is taken the model can only be
  // asked about the read; what it says about the write is found out in the continuation.
  std::optional<Update> possible_update(EventId id, std::uint32_t place, std::size_t source, bool is_taken) {
    const Mark before = run_.mark();
    std::optional<Update> found;
    if (run_.commit_read(id, place, source)) {
      const EventId write = run_.write_at_once(id);
      if (write != no_event) found = Update{run_.key_of(write), run_.past_of_update(id, write)};
      if (found && !is_taken && !commit_second_half(write, place, source)) found.reset();
    }
    run_.undo(before);
    return found;
  }

  // What was committed since the activation began and belongs to the cut, to be replayed: writes are placed among what is
  // there at their turn.
  std::vector<TemplateItem> items_of(std::size_t from, const Bits& cut) const {
    std::vector<TemplateItem> items;
    for (std::size_t i = from; i < run_.items().size(); ++i)
      if (cut.test(i)) items.push_back(template_item(i, from, cut));
    return items;
  }

  TemplateItem template_item(std::size_t i, std::size_t prefix, const Bits& cut) const {
    const RunItem<W>& item = run_.items()[i];
    const Event<W>& e = event(item.event);
    TemplateItem result{run_.key_of(item.event), item.kind, {}, 0, e.stamp};
    switch (item.kind) {
      case ItemKind::read:
      case ItemKind::failed_read:
      case ItemKind::successful_read: result.parameter = e.read_from == no_event ? Key{} : run_.key_of(e.read_from); break;
      case ItemKind::write: result.parameter = predecessor(item.event, prefix, cut, i); break;
      case ItemKind::choice: result.chosen = e.kind == EventKind::write ? 1 : e.value; break;
      case ItemKind::failure:
      case ItemKind::sleep: break;
    }
    return result;
  }

  // Among the prefix and the cut, as it was when the write came.
  Key predecessor(EventId write, std::size_t prefix, const Bits& cut, std::size_t limit) const {
    const std::vector<EventId>& order = run_.location(run_.find_location(event(write).address)).order;
    auto it = std::ranges::find(order, write);
    while (it != order.begin()) {
      --it;
      const std::size_t i = event(*it).run_index;
      if (i < prefix || (cut.test(i) && i < limit)) return run_.key_of(*it);
    }
    return {};
  }

  // Continuations wait for the turn of their read while there are few. Beyond that they are explored as soon as they are
  // found, so that memory does not grow with their number; this run is taken up again afterwards.
  void offer(Activation<W>& activation, Template&& found) {
    if (n_waiting_ < order_.most_waiting || depth_ > deepest || ends_are_written_) {
      n_waiting_ += found.items.size() + 1;
      activation.templates.push_back(std::move(found));
    } else {
      explore_at_once(activation, found);
    }
  }

  void explore_at_once(Activation<W>& activation, const Template& found) {
    const Mark here = run_.mark();
    const auto rest = run_.rest_since(activation.before, items_of(activation.run_size, Bits::all()));
    const auto suspended = active_.suspend_from(activation);
    active_.begin(activation.key, activation);
    run_.undo(activation.before);
    explore_continuation(found, activation);
    active_.end();
    active_.resume(suspended);
    run_.redo(rest);
    if (run_.mark() != here) throw std::logic_error("a run is not what it was");
  }

  // ---- Traverse ---------------------------------------------------------------------------------------------------

  void explore_continuation(const Template& next, Activation<W>& activation) {
    ++outcome_.statistics.templates;
    traverse(next, activation.key);
    run_.undo(activation.before);
    explore_asleep(run_.event_at(activation.key), activation);
    run_.undo(activation.before);
  }

  void traverse(const Template& next, Key load) {
    for (const TemplateItem& item : next.items)
      if (!run_.replay(item)) {
        note_stuck(run_.event_at(item.event));
        return;
      }
    if (next.update) {
      traverse_update(next, load);
      return;
    }
    const EventId store = run_.event_at(next.store);
    const std::uint32_t place = run_.location_of(store);
    const Mark before = run_.mark();
    const std::size_t lowest = run_.lowest_position(store, place);
    for (std::size_t position = run_.location(place).order.size() + 1; position-- > lowest;) {
      if (run_.commit_write(store, place, position)) {
        run_.set_stamp(store, next.stamp);
        read_from_new(run_.event_at(load), store);
      }
      run_.undo(before);
      if (stopped()) return;
    }
  }

  void traverse_update(const Template& next, Key load) {
    const EventId read = run_.event_at(*next.update);
    const std::uint32_t place = run_.location_of(read);
    const std::size_t source = run_.position_after(place, next.update_source);
    if (!run_.commit_read(read, place, source)) return;
    const EventId write = run_.event_at(next.store);
    run_.set_stamp(read, next.stamp);
    if (commit_second_half(write, place, source)) {
      run_.set_stamp(write, next.stamp);
      read_from_new(run_.event_at(load), write);
    }
  }

  // The store was just committed for the sake of the load.
  void read_from_new(EventId load, EventId store) {
    const std::uint32_t place = run_.location_of(load);
    const std::size_t source = run_.location(place).position_of(store);
    const Mark before = run_.mark();
    explore_read_from(load, place, source);
    run_.undo(before);
    if (!may_be_update(load) || stopped()) return;
    const std::optional<Update> update = possible_update(load, place, source, false);
    if (update) detect_races_of_update(load, *update, place, source, no_event);
  }

  // ---- The end of a run ---------------------------------------------------------------------------------------------

  void finish() {
    Statistics& statistics = outcome_.statistics;
    if (run_.is_abandoned() || !run_.decisions_hold()) {
      ++statistics.abandoned;
      return;
    }
    if (needs_ends()) {
      run_.write_owed_ends();
      ends_are_written_ = true;
      explore();
      ends_are_written_ = false;
      return;
    }
    require_ordered_pieces(run_);
    const bool has_failed_check = note_failed_checks();
    if (note_violations() || has_failed_check) {
      ++statistics.failed;
    } else if (run_.machine().owes_ends()) {
      complete();
    } else if (any_thread(ThreadStatus::cut)) {
      ++statistics.cut;
      note_cuts();
    } else if (any_thread(ThreadStatus::blocked)) {
      ++statistics.blocked;
    } else if (any_thread(ThreadStatus::ended)) {
      finish_ended();
    } else if (any_thread(ThreadStatus::waiting) || any_thread(ThreadStatus::running)) {
      ++statistics.blocked;
      if (run_.sleepers().empty()) finish_waiting();
      else finish_asleep();
    } else {
      complete();
    }
    if (limits_.stops_at_violation && !stopped() && has_violation()) outcome_.stop = Stop::violation;
  }

  // Where nothing comes behind joins, a run is complete when all other threads have ended. Their ends and the joins become
  // events only if that is not so, or if someone is to see the run.
  bool needs_ends() {
    if (!run_.machine().owes_ends()) return false;
    const auto is_over = [&](const ThreadState<W>& thread) {
      return thread.status == ThreadStatus::finished || thread.status == ThreadStatus::unborn ||
             (thread.status == ThreadStatus::running && run_.machine().is_joining(thread));
    };
    if (!std::ranges::all_of(run_.machine().threads(), is_over)) return true;
    return limits_.wants_examples && !is_like_others();
  }

  // Is there nothing about the run of which an example is missing?
  bool is_like_others() {
    const auto is_harmless = [&](const Location<W>& location) {
      return !location.is_outside && std::ranges::none_of(location.order, [&](EventId id) { return event(id).is_release; });
    };
    find_state();
    return outcome_.states.contains(state_) && run_.raised_flags() == 0 && std::ranges::all_of(run_.locations(), is_harmless);
  }

  bool has_violation() const {
    return !outcome_.violations.empty() || outcome_.statistics.deadlocks != 0 || !outcome_.flags.empty();
  }

  void note_cuts() {
    for (const ThreadState<W>& thread : run_.machine().threads())
      if (thread.status == ThreadStatus::cut) outcome_.cut_at.insert({thread.number, thread.block, thread.pc});
  }

  void note_deadlock() {
    if (outcome_.statistics.deadlocks++ == 0 && limits_.wants_examples) outcome_.deadlock_example = trace();
  }

  void finish_waiting() {
    if (is_deadlock()) note_deadlock();
    count_flags();
  }

  // What was left out is asked for at the end: whether all wait for ever that see the last word on each location, and
  // whether what one of them sees meanwhile raises a flag.
  void finish_asleep() {
    const std::vector<EventId> sleepers = run_.sleepers();
    const Mark before = run_.mark();
    const auto waits_for_last = [&](EventId id) { return waits_with(id, n_sources(id) - 1); };
    if (std::ranges::all_of(sleepers, waits_for_last)) finish_waiting();
    run_.undo(before);
    count_flags_of_sleepers();
  }

  // Threads may still wait when the program ends, but an execution in which an assumption fails does not count.
  void finish_ended() {
    const std::vector<EventId> sleepers = run_.sleepers();
    if (std::ranges::all_of(sleepers, [&](EventId id) { return may_wait(id); })) {
      complete();
      count_flags_of_sleepers();
    } else {
      ++outcome_.statistics.blocked;
    }
  }

  bool may_wait(EventId sleeper) {
    const Mark before = run_.mark();
    bool found = false;
    for (std::size_t source = n_sources(sleeper); source-- > 0 && !found;) {
      found = waits_with(sleeper, source);
      run_.undo(before);
    }
    run_.undo(before);
    return found;
  }

  void count_flags_of_sleepers() {
    if (check_names_.empty()) return;
    const std::vector<EventId> sleepers = run_.sleepers();
    const Mark before = run_.mark();
    for (EventId id : sleepers)
      for (std::size_t source = 0; source < n_sources(id); ++source) {
        if (waits_with(id, source)) count_flags();
        run_.undo(before);
      }
  }

  bool waits_with(EventId sleeper, std::size_t source) {
    return run_.wake(sleeper, source) && run_.status_of(sleeper) == ThreadStatus::waiting;
  }

  std::size_t n_sources(EventId id) { return run_.location(run_.location_of(id)).order.size() + 1; }

  bool any_thread(ThreadStatus status) const {
    const auto& threads = run_.machine().threads();
    return std::ranges::any_of(threads, [&](const ThreadState<W>& thread) { return thread.status == status; });
  }

  // Does every waiting thread wait for ever? It does if all that it read in its last round is the last word on its location.
  // A thread that is still running waits for another to end. A loop that reads nothing does not wait for anything.
  bool is_deadlock() const {
    return std::ranges::all_of(run_.machine().threads(), [&](const ThreadState<W>& thread) {
      if (thread.status != ThreadStatus::waiting) return true;
      if (!waits_for_memory(thread)) return false;
      for (std::size_t i = run_.machine().round_start(thread); i < thread.events.size(); ++i) {
        const Event<W>& e = event(thread.events[i]);
        if (e.kind == EventKind::read && !reads_last_write(e)) return false;
      }
      return true;
    });
  }

  bool waits_for_memory(const ThreadState<W>& thread) const {
    const std::vector<Instruction>& code = program_.block(thread.block).code;
    const std::int32_t first = code[at(thread.pc)].target;
    std::set<std::int32_t> called;
    return reads_memory(std::span(code).subspan(at(first), at(thread.pc - first)), called);
  }

  // Also in a call.
  bool reads_memory(std::span<const Instruction> code, std::set<std::int32_t>& called) const {
    return std::ranges::any_of(code, [&](const Instruction& instruction) {
      switch (instruction.operation) {
        case Operation::load:
        case Operation::read_modify_write:
        case Operation::compare_exchange: return true;
        case Operation::call:
          if (instruction.target == none) return true;
          return called.insert(instruction.target).second && reads_memory(program_.block(instruction.target).code, called);
        default: return false;
      }
    });
  }

  bool reads_last_write(const Event<W>& read) const {
    const std::vector<EventId>& order = run_.location(run_.find_location(read.address)).order;
    return read.read_from == (order.empty() ? no_event : order.back());
  }

  // Returns whether the run does not count, because it comes to a violation that ends it. An access outside of all objects
  // does not, it finds zeros. Nor does a thread stop that reads memory after it was freed, but then what it does is
  // not the program's: nothing more is noted of it.
  bool note_violations() {
    const std::vector<std::int32_t> misled_at = note_reads_after_release();
    const auto is_misled = [&](const Event<W>& e) { return e.index > misled_at[at(e.thread)]; };
    bool ends = any_thread(ThreadStatus::failed);
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const bool reads_released = misled_at[at(thread.number)] != last_index;
      ends = ends || reads_released;
      if (thread.status == ThreadStatus::failed && !reads_released)
        note_violation({thread.failure, {thread.number, thread.block, thread.pc}, thread.failure_address});
    }
    for (const Location<W>& location : run_.locations()) {
      ends = note_writes_after_release(location, is_misled) || ends;
      if (!location.is_outside) continue;
      for (const RunItem<W>& item : run_.items()) {
        const Event<W>& e = event(item.event);
        const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
        if (is_access && e.address == location.address && !is_misled(e))
          note_violation({run_.machine().kind_outside(e.address), run_.machine().place_of(e), e.address});
      }
    }
    return ends;
  }

  bool note_failed_checks() {
    bool any = false;
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (const OpenCheck& check : thread.open_checks)
        if (run_.machine().value(check.condition) == Value{0}) {
          note_violation({ViolationKind::assertion, {thread.number, check.block, check.pc}, 0});
          any = true;
        }
    return any;
  }

  static constexpr std::int32_t last_index = std::numeric_limits<std::int32_t>::max();

  // By thread, the first event that reads what a release wrote.
  std::vector<std::int32_t> note_reads_after_release() {
    std::vector<std::int32_t> first;
    for (const ThreadState<W>& thread : run_.machine().threads()) {
      const auto reads_released = [&](EventId id) {
        const Event<W>& e = event(id);
        const bool has_source = e.kind == EventKind::read && e.state == EventState::committed && e.read_from != no_event;
        return has_source && event(e.read_from).is_release;
      };
      const auto found = std::ranges::find_if(thread.events, reads_released);
      first.push_back(found == thread.events.end() ? last_index : event(*found).index);
      if (found != thread.events.end())
        note_violation({ViolationKind::use_after_free, run_.machine().place_of(event(*found)), event(*found).address});
    }
    return first;
  }

  template <class IsMisled>
  bool note_writes_after_release(const Location<W>& location, const IsMisled& is_misled) {
    bool found = false;
    const auto releases = [&](EventId id) { return event(id).is_release; };
    const auto first = std::ranges::find_if(location.order, releases);
    for (auto it = first; it != location.order.end(); ++it) {
      if (it == first) continue;
      const Event<W>& e = event(*it);
      const ViolationKind kind = e.is_release ? ViolationKind::double_free : ViolationKind::use_after_free;
      if (e.is_release && !run_.machine().is_header(e.address)) continue;
      found = true;
      if (!is_misled(e)) note_violation({kind, run_.machine().place_of(e), e.address});
    }
    return found;
  }

  void note_violation(const Violation& violation) {
    const auto is_same = [&](const auto& known) { return known.first == violation; };
    if (std::ranges::any_of(outcome_.violations, is_same)) return;
    outcome_.violations.emplace_back(violation, limits_.wants_examples ? trace() : Trace{});
  }

  void complete() {
    if (limits_.max_traces != 0 && outcome_.statistics.complete == limits_.max_traces) {
      outcome_.stop = Stop::traces;
      return;
    }
    ++outcome_.statistics.complete;
    find_state();
    const auto [entry, is_new] = outcome_.states.try_emplace(state_);
    ++entry->second.count;
    if (is_new && limits_.wants_examples) entry->second.example = trace();
    count_flags();
    if (limits_.finds_leaks) note_leaks();
  }

  void note_leaks() {
    const LeakFinder<W> finder(program_, run_);
    for (const AllocatedObject& object : finder.lost())
      note_violation({ViolationKind::leak, object.place, object.size});
  }

  void find_state() {
    state_.clear();
    for (const Observable& observable : program_.observed) state_.push_back(observed_value(observable));
  }

  void count_flags() {
    const Word flags = run_.raised_flags();
    for (std::size_t i = 0; i < check_names_.size() && flags != 0; ++i)
      if ((flags & bit(i)) != 0 && outcome_.flags[check_names_[i]]++ == 0 && limits_.wants_examples)
        outcome_.flag_examples[check_names_[i]] = trace();
  }

  Value observed_value(const Observable& observable) const {
    if (observable.thread != none) return run_.machine().final_register(observable.thread, observable.register_number);
    Value result = run_.initial_value(observable.address, observable.size);
    for (const Location<W>& location : run_.locations()) {
      if (location.order.empty()) continue;
      const Value last = event(location.order.back()).value;
      for (unsigned i = 0; i < location.size; ++i) {
        const Address byte = location.address + i;
        if (byte < observable.address || byte >= observable.address + observable.size) continue;
        const unsigned shift = 8 * static_cast<unsigned>(byte - observable.address);
        result = (result & ~(Value{0xFF} << shift)) | (((last >> (8 * i)) & 0xFF) << shift);
      }
    }
    return result;
  }

  // The committed events, thread by thread. What stands behind an event that is still pending (a thread that waits for
  // another to end) did not happen, though its fences are there already.
  Trace trace() const {
    std::vector<std::int32_t> number(run_.machine().n_events(), none);
    Trace result;
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (EventId id : thread.events) {
        if (event(id).state == EventState::pending || event(id).state == EventState::asleep) break;
        if (event(id).state != EventState::committed || run_.conditional_of(id) != no_event) continue;
        number[id] = static_cast<std::int32_t>(result.size());
        result.push_back(trace_event(id));
      }
    for (const ThreadState<W>& thread : run_.machine().threads())
      for (EventId id : thread.events)
        if (number[id] != none && event(id).kind == EventKind::read && event(id).read_from != no_event)
          result[at(number[id])].link = number[event(id).read_from];
    return result;
  }

  TraceEvent trace_event(EventId id) const {
    const Event<W>& e = event(id);
    TraceEvent result{run_.machine().place_of(e), e.kind, e.address, e.size, e.value, none};
    if (e.kind == EventKind::write)
      result.link = static_cast<std::int32_t>(run_.location(run_.find_location(e.address)).position_of(id));
    return result;
  }

  // ---- Limits -----------------------------------------------------------------------------------------------------

  const Statistics& statistics_so_far() {
    outcome_.statistics.commits = run_.n_commits();
    outcome_.statistics.checks = run_.n_checks();
    return outcome_.statistics;
  }

  bool stopped() const { return outcome_.stop != Stop::not_stopped; }

  bool out_of_limits() {
    if (stopped()) return true;
    if ((++steps_ & 0x7F) != 0) return false;
    const Clock::time_point now = Clock::now();
    if (now < next_look_) return false;
    next_look_ = now + std::chrono::milliseconds(50);
    if (deadline_ && now > *deadline_) outcome_.stop = Stop::time;
    else if (limits_.memory_bytes != 0 && process_memory() > limits_.memory_bytes) outcome_.stop = Stop::memory;
    else if (progress_ && !progress_(statistics_so_far())) outcome_.stop = Stop::interrupt;
    return stopped();
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  static constexpr double longest_timeout_s = 1e9;
  static constexpr std::size_t deepest = 2000;  // the stack of a process has room for more

  const Program& program_;
  CommitOrder order_;
  Limits limits_;
  const Progress& progress_;
  const std::vector<std::string>& check_names_;
  Run<W> run_;
  ActiveReads<W> active_;
  Maximality<W> maximality_;
  std::vector<Value> state_;
  std::uint64_t steps_ = 0;
  std::uint64_t n_dropped_ = 0;
  std::uint64_t n_waiting_ = 0;  // items of continuations that wait
  std::size_t depth_ = 0;
  bool ends_are_written_ = false;
  std::optional<Clock::time_point> deadline_;
  Clock::time_point next_look_{};
  Outcome outcome_;
};

}  // namespace dekker::rsmc
