// Explore, DetectRace and Traverse of the paper's Fig. 7, over a Run.
//
// Beyond the paper: the two halves of an update are one step where nothing that the write waits for need come between
// them, with races found as for a store that reads; otherwise they are two events. An event for which there is no parameter
// fails, in a run that goes on without it and does not count.
#pragma once

#include <deque>
#include <utility>

#include "rsmc/maximality.hpp"
#include "rsmc/probe.hpp"
#include "rsmc/rounds_in_vain.hpp"
#include "rsmc/run_end.hpp"
#include "rsmc/supervisor.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class Explorer {
 public:
  Explorer(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
           const CommitOrder& order, const Limits& limits, Supervisor& supervisor, Knowledge& knowledge)
      : program_(program), order_(order), limits_(limits), supervisor_(supervisor),
        run_(program, model, order_, limits_, knowledge, [this] { supervisor_.look_alone(); }), maximality_(program, order_, run_),
        end_(program, limits_, check_names, supervisor.n_complete(), run_, outcome_) {}

  const Statistics& statistics() const { return outcome_.statistics; }

  // From the start.
  Outcome run() {
    begin_outcome();
    explore();
    return take_outcome();
  }

  // What is left of the unit goes to the supervisor.
  Outcome run(const Unit& unit) {
    begin_outcome();
    const Mark start = run_.mark();
    std::deque<Activation<W>> inherited;
    replay(unit, inherited);
    switch (unit.kind) {
      case UnitKind::here: explore(); break;
      case UnitKind::continuation: explore_continuation(unit.continuation, inherited.back()); break;
      case UnitKind::asleep: sleep(inherited.back()); break;
    }
    while (!inherited.empty()) {
      active_.end();
      finish_inherited(inherited.back());
      inherited.pop_back();
    }
    run_.undo(start);
    return take_outcome();
  }

  // Instead of exploring everything: from the start to one end, again and again.
  Probes probe(std::uint64_t n_probes, std::uint64_t seed, ProbeGuide& guide) {
    sampler_.emplace(seed, guide);
    Probes found;
    while (found.runs.size() < n_probes && !stopped()) {
      const Statistics before = outcome_.statistics;
      sampler_->begin();
      explore();
      if (stopped()) break;
      const bool is_complete = outcome_.statistics.complete != before.complete;
      const bool is_blocked = outcome_.statistics.blocked != before.blocked;
      guide.learn(sampler_->ways, is_complete || is_blocked ? sampler_->leaf_weight : 0);
      found.runs.push_back({is_complete ? sampler_->leaf_weight : 0, is_blocked ? sampler_->leaf_weight : 0});
    }
    found.stop = outcome_.stop;
    return found;
  }

 private:
  using Bits = FixedBits<W>;
  using Mark = typename Run<W>::Mark;

  const Event<W>& event(EventId id) const { return run_.event(id); }

  void begin_outcome() {
    outcome_ = {};
    outcome_.n_alone = run_.machine().n_alone();
    commits_before_ = run_.n_commits();
    checks_before_ = run_.n_checks();
    steps_ = 0;
    is_giving_away_ = false;
  }

  Outcome take_outcome() {
    statistics_so_far();
    return std::move(outcome_);
  }

  // ---- Units ------------------------------------------------------------------------------------------------------

  void replay(const Unit& unit, std::deque<Activation<W>>& inherited) {
    std::size_t n_open = 0;
    run_.redo(unit.steps, [&] {
      if (n_open == unit.open.size() || Run<W>::flat(run_.mark()) != unit.open[n_open].before) return;
      const OpenRead& read = unit.open[n_open++];
      inherited.push_back({read.read, run_.mark(), read.run_size, read.stamp, read.only_success, false, read.has_slept,
                           read.tries_again, read.id, {}});
      active_.begin(read.active, inherited.back());
    });
    if (n_open != unit.open.size() || (!unit.steps.items.empty() && Run<W>::flat(run_.mark()) != unit.mark))
      throw std::logic_error("a unit of work does not belong to this program");
    run_.skip_stamps(unit.last_stamp);
  }

  // The continuations that the unit found for a read that it has not opened itself.
  void finish_inherited(Activation<W>& activation) {
    run_.undo(activation.before);
    active_.begin(activation.key, activation);
    explore_templates(activation);
    active_.end();
  }

  // What would be explored next is left to whoever takes the unit.
  void give_away(UnitKind kind, Template&& continuation) {
    const Mark start{};
    Unit unit{run_.steps_since(start, items_of(run_.n_early_items(), Bits::all())), Run<W>::flat(run_.mark()), {}, kind, std::move(continuation),
              run_.last_stamp()};
    for (const auto& [key, activation] : active_.opened()) {
      if (activation->id == 0) activation->id = supervisor_.new_id();
      unit.open.push_back({key, activation->key, Run<W>::flat(activation->before), activation->run_size, activation->stamp,
                           activation->only_success, activation->has_slept, activation->tries_again, activation->id});
    }
    supervisor_.add(std::move(unit));
    ++n_given_away_;
  }

  // ---- Explore ----------------------------------------------------------------------------------------------------

  void explore() {
    if (out_of_limits()) return;
    if (sampler_) explore_in_turn();
    else explore_next();
  }

  // Is there a round in vain (rounds_in_vain.hpp)? Of sleepers that were asked for, nothing changes without stores.
  bool is_rest_in_vain() {
    const std::size_t n_sleepers = run_.sleepers().size();
    if (ends_are_written_ || n_sleepers <= n_judged_ || !run_.forgets_rounds() || may_store(run_)) return false;
    const std::size_t from = std::exchange(n_judged_, n_sleepers);
    for (std::size_t i = from; i < n_sleepers; ++i)
      if (is_in_vain(run_, run_.sleepers()[i])) return true;
    return false;
  }

  // A probe goes on in one of the calls only.
  void explore_in_turn() {
    if (!turn_.is_taken()) return;
    const Turn outer = std::exchange(turn_, {});
    explore_next();
    turn_ = outer;
  }

  void explore_next() {
    const EventId id = choose();
    const std::size_t n_judged = n_judged_;
    if (is_rest_in_vain()) {
      finish_in_vain();
    } else if (id == no_event) {
      finish();
    } else if (is_giving_away_ && !ends_are_written_) {
      give_away(UnitKind::here, {});
    } else {
      ++depth_;
      if (sampler_) sample(id);
      else visit(id);
      --depth_;
    }
    n_judged_ = n_judged;
  }

  void visit(EventId id) {
    if (run_.is_unseen(id)) {
      explore_unseen(id);
      return;
    }
    switch (event(id).kind) {
      case EventKind::read: explore_read(id); break;
      case EventKind::write: explore_write(id); break;
      case EventKind::choice: explore_choice(id); break;
      case EventKind::fence: break;
    }
  }

  void sample(EventId id) {
    sample_way(node_of(run_.key_of(id), 0), [&] { visit(id); });
  }

  // A continuation that was taken at the end of a run, and has to wait until that run is undone.
  void sample_continuation(const Template& next, Activation<W>& activation) {
    const Turn outer = turn_;
    const double weight = std::exchange(sampler_->weight, sampler_->put_off_weight);
    sample_way(node_of(activation.key, 1), [&] { continue_for_sample(next, activation); });
    sampler_->weight = weight;
    turn_ = outer;
  }

  // One of the ways to go on, of which all are counted first. Both times they must be the same.
  template <class Go>
  void sample_way(std::uint64_t node, Go go) {
    turn_ = Turn::count();
    go();
    const std::uint64_t n_ways = turn_.n_asked();
    if (n_ways != 0 && !stopped()) {
      const double weight = sampler_->weight;
      turn_ = Turn::take(sampler_->take(node, n_ways));
      go();
      sampler_->weight = weight;
    }
    turn_ = {};
  }

  static std::uint64_t node_of(Key key, std::uint64_t role) {
    return (static_cast<std::uint64_t>(key.thread) << 33) ^ (static_cast<std::uint64_t>(key.index) << 1) ^ role;
  }

  void continue_for_sample(const Template& next, Activation<W>& activation) {
    const bool sleeps = activation.sleeps, has_slept = activation.has_slept;
    explore_continuation(next, activation);
    activation.sleeps = sleeps;
    activation.has_slept = has_slept;
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
  bool may_go_on(EventId id) { return !would_wait(run_, id, run_.location_of(id), run_.n_sources(id) - 1); }

  void explore_write(EventId id) {
    bool went_on = false;
    run_.require_address_order(id);
    const std::uint32_t place = run_.location_of(id);
    const Mark before = run_.mark();
    explore_guesses(id);
    if (stopped() || !run_.is_guessed_right(id)) return;
    const std::size_t lowest = run_.lowest_position(id, place);
    for (std::size_t position = run_.location(place).order.size() + 1; position-- > lowest;) {
      const bool is_last = event(id).role == Role::plain && position == maximality_.last_place(id, place);
      if (!parts_update(id, place, position) && run_.commit_write(id, place, position)) {
        went_on = true;
        explore();
      } else if (is_last) {
        note_not_last(id);
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

  // What loads may take the store to be, although it is not. To find races, of stores that then come before what tells how
  // it is.
  void explore_guesses(EventId store) {
    const Mark before = run_.mark();
    for (const std::uint16_t guess : run_.guesses(store)) {
      if (stopped()) return;
      run_.commit_guess(store, guess);
      explore();
      run_.undo(before);
    }
  }

  // A store-conditional for which there is no place. In program order it was chosen just now that it is to succeed, so that
  // all else is found where it was chosen to fail.
  bool may_as_well_fail(EventId write) const { return order_.in_order && event(write).chosen_by != no_event; }

  // An access that has one parameter, because nobody sees when it comes. The halves of an update are one step.
  void explore_unseen(EventId id) {
    const Mark before = run_.mark();
    const std::uint32_t place = run_.location_of(id);
    const bool is_write = event(id).kind == EventKind::write;
    const bool is_allowed = is_write ? run_.commit_write(id, place, 0)
                                     : run_.commit_read(id, place, 0) && run_.commit_write(event(id).partner, place, 0);
    if (!is_allowed) throw std::logic_error("the model forbids what it should leave open");
    explore();
    run_.undo(before);
  }

  void explore_read(EventId id) {
    const Key key = run_.key_of(id);
    const std::uint32_t place = run_.location_of(id);
    const Mark before = run_.mark();
    const bool fails_elsewhere = run_.failure_frees_others(id);
    const bool is_lost = run_.is_lost(id), forwards_guess = run_.guessed_source(id) != no_event;
    if (is_lost && !forwards_guess && !fails_elsewhere) {
      run_.commit_failure(id);
      explore();
      run_.undo(before);
      return;
    }
    Activation<W> activation{key, before, run_.items().size(), run_.new_stamp(), fails_elsewhere};
    if (fails_elsewhere && !event(event(id).partner).is_guessed) explore_early_failure(event(id).partner, activation);
    run_.undo(before);
    active_.begin(key, activation);
    const std::uint64_t ends_before = n_ends();
    const std::size_t floor = run_.lowest_source(id, place);
    bool is_stale = false;
    for (std::size_t source = run_.location(place).order.size() + 1; source-- > floor && !is_lost && !forwards_guess && !stopped();) {
      is_stale = explore_read_from(id, place, source, is_stale ? IfWaiting::stale : IfWaiting::sleeps) || is_stale;
      run_.undo(before);
    }
    explore_forwarded_failure(id, activation);
    run_.undo(before);
    if (fails_elsewhere && run_.may_be_guessed(event(id).partner)) explore_guess_of_success(id, activation);
    run_.undo(before);
    activation.sleeps |= activation.tries_again && n_ends() == ends_before;
    explore_asleep(activation);
    run_.undo(before);
    if (n_ends() == ends_before && !fails_elsewhere && !stopped()) {
      explore_failure(id);
      run_.undo(before);
    }
    if (may_be_update(id) && !stopped()) detect_update_races(id, place, floor);
    explore_templates(activation);
    active_.end();
  }

  void explore_templates(Activation<W>& activation) {
    while (!activation.templates.empty() && !stopped()) {
      Template next = std::move(activation.templates.back());
      activation.templates.pop_back();
      if (sampler_) {
        sample_continuation(next, activation);
        continue;
      }
      n_waiting_ -= next.items.size() + 1;
      if (is_giving_away_) give_away(UnitKind::continuation, std::move(next));
      else explore_continuation(next, activation);
    }
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

  // Loads take it to succeed, whatever it will find: that is left out.
  void explore_guess_of_success(EventId id, const Activation<W>& activation) {
    if (stopped()) return;
    run_.commit_guess(id);
    run_.set_stamp(id, activation.stamp);
    explore();
  }

  // Instead of every parameter after which the thread would only wait, once: without the read. What other threads can do
  // then includes all that they could do with one of these parameters.
  void explore_asleep(Activation<W>& activation) {
    if (!activation.sleeps || activation.has_slept || stopped()) return;
    activation.has_slept = true;
    if (activation.id == 0) sleep(activation);
    else give_away(UnitKind::asleep, {});
  }

  void sleep(const Activation<W>& activation) {
    const EventId id = run_.event_at(activation.key);
    run_.location_of(id);  // its address may not be known in a unit that begins here
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

  // What becomes of a read with which its thread waits.
  enum class IfWaiting : std::uint8_t {
    sleeps,
    stale,      // nothing: the model allows a later source
    displaced,  // it is put off
  };

  // Returns whether the model allows this source.
  bool explore_read_from(EventId id, std::uint32_t place, std::size_t source, IfWaiting if_waiting) {
    const Mark before = run_.mark();
    const Activation<W>& activation = *active_.find(run_.key_of(id));
    const bool is_allowed = explore_read_as(activation.only_success ? ItemKind::successful_read : ItemKind::read, id, place, source, if_waiting);
    run_.undo(before);
    if (!may_fail_by_chance(id, activation) || stopped()) return is_allowed;
    explore_read_as(ItemKind::failed_read, id, place, source, IfWaiting::stale);
    run_.undo(before);
    return is_allowed;
  }

  // Is it an update whose write would have to follow at once, but another has the place?
  bool is_doomed(ItemKind kind, EventId id, std::uint32_t place, std::size_t source) {
    return event(id).role == Role::update_read && update_behind(place, source) != no_event &&
           run_.update_from(id, place, source, kind).has_value();
  }

  bool explore_read_as(ItemKind kind, EventId id, std::uint32_t place, std::size_t source, IfWaiting if_waiting) {
    if (!run_.is_canonical_source(id, place, source)) return false;
    const Mark before = run_.mark();
    if (!run_.is_open(id, place, source)) {
      wait(id, place, source, if_waiting);
      return true;
    }
    if (is_doomed(kind, id, place, source)) return false;
    const BeforeRead before_it = before_read(run_, id);
    const bool is_last = event(id).role == Role::plain && source == maximality_.last_place(id, place);
    if (!run_.commit_read(id, place, source, kind)) {
      if (is_last) note_not_last(id);
      return false;
    }
    run_.set_stamp(id, active_.find(run_.key_of(id))->stamp);
    if (waits_behind(run_, id, before_it)) {
      if (run_.is_unseen_at(event(id).address)) run_.note_seen(event(id).address);  // none of the last writes is stale
      const bool is_left_out = run_.thread_of(id).is_left_out || run_.comes_back_by_stores(id);
      outcome_.statistics.left_out += is_left_out;
      if (is_left_out && kind == ItemKind::failed_read) return true;
      const bool is_noticed = if_waiting != IfWaiting::sleeps && stale_waits_matter();
      run_.undo(before);
      if (is_noticed) active_.find(run_.key_of(id))->sleeps = true;
      wait(id, place, source, if_waiting);
      return true;
    }
    explore_rest_of_step(id, place, source);
    return true;
  }

  // A thread need not be seen to wait because its read is stale, or fails by chance: what others do meanwhile they can also
  // do after the read has seen what came last. Unless the program may end meanwhile, or the read itself raises a flag.
  bool stale_waits_matter() { return run_.may_end_unjoined() || run_.raised_flags() != 0; }

  void wait(EventId read, std::uint32_t place, std::size_t source, IfWaiting if_waiting) {
    Activation<W>& activation = *active_.find(run_.key_of(read));
    switch (if_waiting) {
      case IfWaiting::sleeps: activation.sleeps = true; break;
      case IfWaiting::stale: break;
      case IfWaiting::displaced:
        run_.commit_displacement(read, run_.location(place).order[source - 1], activation.stamp);
        explore();
        break;
    }
  }

  // In a run that goes on only to find races, what could be taken from an own update before that found no place.
  void explore_forwarded_failure(EventId id, const Activation<W>& activation) {
    const EventId write = run_.failed_source(id);
    if (write == no_event) return;
    const Mark before = run_.mark();
    for (const ItemKind kind : {activation.only_success ? ItemKind::successful_read : ItemKind::read, ItemKind::failed_read}) {
      if (stopped() || (kind == ItemKind::failed_read && !may_fail_by_chance(id, activation))) return;
      if (run_.commit_forward(id, write, kind, run_.guess_of(write))) {
        run_.set_stamp(id, activation.stamp);
        explore();
      }
      run_.undo(before);
    }
  }

  bool may_fail_by_chance(EventId read, const Activation<W>& activation) const {
    return event(read).is_weak && !activation.only_success && !event(read).must_fail;
  }

  // The read is committed. If its write belongs to the same step, that is next, right behind what was read; a
  // store-conditional may as well fail. If its thread then only tries again, it need not be seen to fail: with its load it
  // is an update that always succeeds.
  void explore_rest_of_step(EventId read, std::uint32_t place, std::size_t source) {
    const EventId write = run_.write_at_once(read);
    if (write == no_event) {
      explore();
      return;
    }
    const Mark before = run_.mark();
    if (event(write).chosen_by != no_event) {
      const bool goes_elsewhere = !run_.can_succeed(event(write));
      if (fails_to_try_again(run_, write) && !goes_elsewhere) {
        outcome_.statistics.left_out += run_.thread_of(read).is_left_out;
        active_.find(run_.key_of(read))->tries_again = true;
      } else {
        explore();
      }
      run_.undo(before);
    }
    if (!stopped() && commit_second_half(write, place, source)) explore();
  }

  bool commit_second_half(EventId write, std::uint32_t place, std::size_t source) {
    if (event(write).chosen_by != no_event) {
      if (!run_.can_succeed(event(write)) || update_behind(place, source) != no_event) return false;
      const bool always_succeeds = would_try_again(write);
      run_.commit_choice(event(write).chosen_by, status_succeeded);
      if (always_succeeds) run_.set_stamp(event(write).chosen_by, event(event(write).partner).stamp);
    }
    return run_.commit_write(write, place, source);
  }

  bool would_try_again(EventId write) {
    const Mark before = run_.mark();
    const bool result = fails_to_try_again(run_, write);
    run_.undo(before);
    return result;
  }

  void explore_choice(EventId id) {
    const Mark before = run_.mark();
    const Instruction& instruction = program_.block(event(id).block).code[at(event(id).pc)];
    if (instruction.operation == Operation::recycle) {
      explore_recycling(id);
      return;
    }
    std::int64_t low = instruction.low, high = instruction.high;
    const EventId conditional = run_.conditional_of(id);
    if (conditional != no_event) {
      low = run_.can_succeed(event(conditional)) ? status_succeeded : status_failed;
      high = status_failed;
    }
    for (std::int64_t chosen = low; chosen <= high && !stopped(); ++chosen) {
      run_.commit_choice(id, static_cast<Value>(chosen));
      // In program order the store-conditional is next, and must not lose its place to something that is picked first.
      if (conditional != no_event && chosen == status_succeeded && order_.in_order) explore_write(conditional);
      else explore();
      run_.undo(before);
    }
  }

  void explore_recycling(EventId id) {
    const Mark before = run_.mark();
    for (const Value chosen : run_.machine().recyclable(event(id))) {
      if (stopped()) return;
      run_.commit_choice(id, chosen);
      explore();
      run_.undo(before);
    }
  }

  // Every way a run can end, be given up for another, or be left to someone else. A read that leads to none has no parameter that the model allows.
  std::uint64_t n_ends() const {
    const Statistics& s = outcome_.statistics;
    return s.complete + s.blocked + s.abandoned + s.cut + s.failed + n_dropped_ + n_given_away_ + turn_.n_asked();
  }

  void note_not_last(EventId id) {
    ++outcome_.statistics.not_last;
    note_place(id);
  }

  void note_stuck(EventId id) {
    ++outcome_.statistics.stuck;
    note_place(id);
  }

  void note_place(EventId id) {
    if (outcome_.stuck_at.thread == none) outcome_.stuck_at = run_.machine().place_of(event(id));
  }

  // ---- DetectRace -------------------------------------------------------------------------------------------------

  // Calls `visit(activation)` for every active load of the location that need not come before.
  template <class Visit>
  void for_racing_loads(EventId access, const Bits& past, const Bits& least_past, Visit visit) {
    for (std::size_t i = 0; i < run_.items().size(); ++i) {
      const Event<W>& e = event(access);
      const Event<W>& load = event(run_.items()[i].event);
      if (run_.items()[i].kind == ItemKind::displaced) continue;
      if ((load.kind != EventKind::read && !load.failed_early) || load.address != e.address || load.size != e.size) continue;
      if (past.test(i) && run_.joins_halves() && !least_past.test(i)) run_.note_split();
      if (past.test(i)) continue;
      Activation<W>* activation = active_.find(run_.key_of(run_.items()[i].event));
      const bool is_open = load.failed_early || run_.items()[i].kind == ItemKind::guess;
      if (activation == nullptr || activation->only_success != is_open) continue;
      visit(*activation);
      run_.location_of(access);  // it may have been fetched anew
    }
  }

  void detect_races(EventId store) {
    const Bits past = run_.past_of(store, no_event);
    const Bits least_past = run_.joins_halves() ? run_.least_past_of(store, no_event) : past;
    for_racing_loads(store, past, least_past, [&](Activation<W>& activation) {
      if (maximality_.holds(activation, past))
        offer(activation, {kept_items(activation, past), run_.key_of(store), {}, {}, run_.new_stamp()});
    });
  }

  bool may_be_update(EventId id) const {
    return event(id).role == Role::update_read || event(id).role == Role::linked_load;
  }

  // For every store that the update could read from, if it had not lost its place to another update: that other one may
  // have to read from this one.
  void detect_update_races(EventId id, std::uint32_t place, std::size_t floor) {
    const std::size_t n_writes = run_.location(place).order.size();
    for (std::size_t source = floor; source <= n_writes; ++source)
      if (const auto update = canonical_update(id, place, source)) detect_races_of_update(id, *update, place, source);
  }

  std::optional<typename Run<W>::Update> canonical_update(EventId id, std::uint32_t place, std::size_t source) {
    if (!run_.is_canonical_source(id, place, source) || !run_.is_open(id, place, source)) return std::nullopt;
    return run_.update_from(id, place, source);
  }

  void detect_races_of_update(EventId id, const typename Run<W>::Update& update, std::uint32_t place, std::size_t source) {
    const EventId store = source == 0 ? no_event : run_.location(place).order[source - 1];
    const EventId taken_by = update_behind(place, source);
    const Bits& past = update.past;
    std::optional<bool> is_allowed;
    for_racing_loads(id, past, update.least_past, [&](Activation<W>& activation) {
      if (taken_by != no_event) {
        const std::size_t taken = event(taken_by).run_index;
        if (taken < activation.run_size || past.test(taken)) return;
      }
      if (!maximality_.holds(activation, past)) return;
      if (!is_allowed) is_allowed = may_update(id, place, source, taken_by != no_event);
      if (!*is_allowed) return;
      const Key source_key = store == no_event ? Key{} : run_.key_of(store);
      offer(activation, {kept_items(activation, past), update.write, run_.key_of(id), source_key, run_.new_stamp()});
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

  // Would the write come between what an update of another thread reads and what it writes?
  bool parts_update(EventId write, std::uint32_t place, std::size_t position) const {
    const EventId other = update_behind(place, position);
    return other != no_event && event(other).thread != event(write).thread;
  }

  // Does the model allow the update from this source? If its place is taken the model can only be asked about the read;
  // what it says about the write is found out in the continuation.
  bool may_update(EventId id, std::uint32_t place, std::size_t source, bool is_taken) {
    const Mark before = run_.mark();
    const bool result = run_.commit_read(id, place, source) &&
                        (is_taken || commit_second_half(run_.write_at_once(id), place, source));
    run_.undo(before);
    return result;
  }

  std::vector<TemplateItem> kept_items(const Activation<W>& activation, const Bits& past) const {
    return items_of(activation.run_size, maximality_.kept(activation, past));
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
      case ItemKind::displaced:
        result.parameter = run_.key_of(run_.displacement_at(i).by);
        result.stamp = run_.displacement_at(i).stamp;
        break;
      case ItemKind::read:
      case ItemKind::failed_read:
      case ItemKind::successful_read:
        result.parameter = e.read_from == no_event ? Key{} : run_.key_of(e.read_from);
        if (e.read_from != no_event && event(e.read_from).thread == e.thread) result.chosen = run_.guess_of(e.read_from);
        break;
      case ItemKind::guess: result.chosen = e.kind == EventKind::write ? e.guess : 0; break;
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
    if (sampler_ && (depth_ > deepest || ends_are_written_)) {
      if (turn_.is_taken()) {
        activation.templates.push_back(std::move(found));
        sampler_->put_off_weight = sampler_->weight;
      }
    } else if (!sampler_ && (n_waiting_ < order_.most_waiting || depth_ > deepest || ends_are_written_ || is_giving_away_)) {
      n_waiting_ += found.items.size() + 1;
      activation.templates.push_back(std::move(found));
    } else {
      explore_at_once(activation, found);
    }
  }

  void explore_at_once(Activation<W>& activation, const Template& found) {
    const Mark here = run_.mark();
    const RunSteps rest = run_.steps_since(activation.before, items_of(activation.run_size, Bits::all()));
    const auto suspended = active_.suspend_from(activation);
    active_.begin(activation.key, activation);
    run_.undo(activation.before);
    if (sampler_) continue_for_sample(found, activation);
    else explore_continuation(found, activation);
    active_.end();
    active_.resume(suspended);
    run_.redo(rest, [] {});
    if (run_.mark() != here) throw std::logic_error("a run is not what it was");
  }

  // ---- Traverse ---------------------------------------------------------------------------------------------------

  void explore_continuation(const Template& next, Activation<W>& activation) {
    ++outcome_.statistics.templates;
    traverse(next, activation.key);
    run_.undo(activation.before);
    explore_asleep(activation);
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
      if (!parts_update(store, place, position) && run_.commit_write(store, place, position)) {
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
    const std::vector<EventId>& order = run_.location(place).order;
    const std::size_t source = run_.location(place).position_of(store);
    const Mark before = run_.mark();
    const bool is_displaced = source == order.size() && maximality_.is_displaced(load, store, source == 1 ? no_event : order[source - 2]);
    explore_read_from(load, place, source, is_displaced ? IfWaiting::displaced : IfWaiting::sleeps);
    run_.undo(before);
    if (!may_be_update(load) || stopped()) return;
    if (const auto update = canonical_update(load, place, source)) detect_races_of_update(load, *update, place, source);
  }

  // ---- The end of a run ---------------------------------------------------------------------------------------------

  void finish() {
    if (run_.is_abandoned() || !run_.decisions_hold()) {
      ++outcome_.statistics.abandoned;
    } else if (end_.needs_ends()) {
      const Mark before = run_.mark();
      run_.write_owed_ends();
      ends_are_written_ = true;
      explore();
      ends_are_written_ = false;
      if (outcome_.stop == Stop::traces) run_.undo(before);
    } else {
      end_.note(run_.sleepers().empty() || maximality_.stands_for_others());
      outcome_.statistics.up_to_renaming += run_.machine().renames();
      outcome_.statistics.up_to_order += run_.has_unseen();
    }
    if (sampler_) sampler_->leaf_weight = sampler_->weight;
    if (!ends_are_written_) keep_uncounted();
  }

  void finish_in_vain() {
    end_.note_in_vain();
    if (sampler_) sampler_->leaf_weight = sampler_->weight;
  }

  // A complete run beyond the limit counts when the rest is explored.
  void keep_uncounted() {
    if (outcome_.stop != Stop::traces || !supervisor_.keeps_rest()) return;
    outcome_.stop = Stop::not_stopped;
    supervisor_.stop(Stop::traces);
    is_giving_away_ = true;
    give_away(UnitKind::here, {});
  }

  // ---- Limits -----------------------------------------------------------------------------------------------------

  const Statistics& statistics_so_far() {
    outcome_.statistics.commits = run_.n_commits() - commits_before_;
    outcome_.statistics.checks = run_.n_checks() - checks_before_;
    return outcome_.statistics;
  }

  bool stopped() const { return outcome_.stop != Stop::not_stopped; }

  bool out_of_limits() {
    if (stopped()) return true;
    ++steps_;
    if (!is_giving_away_ && supervisor_.wants_units(steps_)) is_giving_away_ = true;
    if ((steps_ & 0x7F) == 0) outcome_.stop = supervisor_.look([&]() -> const Statistics& { return statistics_so_far(); });
    return stopped();
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  static constexpr std::size_t deepest = 2000;  // the stack of a process has room for more

  const Program& program_;
  CommitOrder order_;
  Limits limits_;
  Supervisor& supervisor_;
  Run<W> run_;
  ActiveReads<W> active_;
  Maximality<W> maximality_;
  std::uint64_t steps_ = 0;
  std::uint64_t n_dropped_ = 0;
  std::uint64_t n_waiting_ = 0;  // items of continuations that wait
  std::size_t depth_ = 0;
  bool ends_are_written_ = false;
  std::size_t n_judged_ = 0;       // of the sleepers: their rounds are not in vain
  bool is_giving_away_ = false;  // what is left of this unit goes to others
  std::uint64_t n_given_away_ = 0;
  std::uint64_t commits_before_ = 0;
  std::uint64_t checks_before_ = 0;
  Turn turn_;
  std::optional<Sampler> sampler_;
  Outcome outcome_;
  RunEnd<W> end_;
};

}  // namespace dekker::rsmc
