// The execution so far: what is committed, with what parameters; every commit can be taken back.
#pragma once

#include <algorithm>
#include <limits>

#include "rsmc/commit_before.hpp"
#include "rsmc/displaced_reads.hpp"
#include "rsmc/matrix.hpp"
#include "rsmc/unit.hpp"
#include "rsmc/unseen_writes.hpp"

namespace dekker::rsmc {

// The writes to one location in coherence order. The initial write comes first and is no event of the machine.
template <std::size_t W>
struct Location {
  Address address;
  std::uint8_t size;
  bool is_outside;  // of every object
  Value initial_value;
  Value initial_undefined;  // its indeterminate bits
  std::uint32_t initial_index;  // in the matrix
  FixedBits<W> initial_readers;
  std::vector<EventId> order;
  std::size_t n_early;  // writes, for which the initial write stands in the matrix
  bool is_early;        // was it accessed early?
  FixedBits<W> members;  // matrix indices of all accesses
  Place place;           // of the first access
  std::size_t trail;     // how long it was when the location was met
  Birth birth;           // of its object, if the model asks for it
  bool is_unseen = false;  // the order of the writes is left open (unseen_writes.hpp): they are in that of commits
  bool is_last_chosen = false;  // but for the last

  // The initial write has position 0. Mostly one of the last is asked for.
  std::size_t position_of(EventId write) const {
    for (std::size_t position = order.size(); position > 0; --position)
      if (order[position - 1] == write) return position;
    throw std::logic_error("a write that is not in coherence order has no position");
  }
};

// What the first thread accesses before others could notice. The last access is known by its place in the thread.
struct EarlyLocation {
  Address address;
  std::uint8_t size;
  Place place;
  std::vector<EventId> order;
  std::size_t last_access;
};

template <std::size_t W>
class Run {
 public:
  using Bits = FixedBits<W>;

  enum class Change : std::uint8_t { entered_matrix, shadow, read, write, decided, asleep, awake, early_failure, to_succeed, guessed, settled, early, displaced, last_chosen };

  struct TrailEntry {
    Change change;
    EventId event;
    std::uint32_t location;  // of what is woken: where it slept
  };

  struct Mark {
    typename Machine<W>::Mark machine;
    std::size_t items, matrix, locations, trail;

    bool operator==(const Mark&) const = default;
  };

  template <class Look>
  Run(const Program& program, const ModelProgram& model, const CommitOrder& order, const Limits& limits, Knowledge& knowledge,
      Look look)
      : order_(order), matrix_(program, model), machine_(program, order, limits, knowledge, look),
        commit_before_(order_, machine_), unseen_writes_(program, order_, machine_), observed_(program.observed) {
    if (machine_.decides_alone()) begin_early();
    find_alike(program);
    take_local_events();
    n_early_items_ = items_.size();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const Machine<W>& machine() const { return machine_; }
  const Event<W>& event(EventId id) const { return machine_.event(id); }
  const std::vector<RunItem<W>>& items() const { return items_; }
  const std::vector<Location<W>>& locations() const { return locations_; }
  const Location<W>& location(std::uint32_t place) const { return locations_[place]; }
  const std::vector<EarlyLocation>& early_locations() const { return early_; }
  // They are there when the exploration begins.
  std::size_t n_early_items() const { return n_early_items_; }
  const std::vector<EventId>& events_of(std::int32_t thread) const { return machine_.threads()[at(thread)].events; }
  const ThreadState<W>& thread_of(EventId id) const { return machine_.threads()[at(machine_.event(id).thread)]; }
  ThreadStatus status_of(EventId id) const { return thread_of(id).status; }
  bool is_abandoned() const { return n_failed_ != 0; }
  Word raised_flags() { return matrix_.raised_flags(); }
  std::uint64_t n_commits() const { return n_commits_; }
  std::uint64_t n_checks() const { return n_checks_; }
  std::uint64_t new_stamp() { return ++last_stamp_; }
  std::uint64_t last_stamp() const { return last_stamp_; }
  // What comes next comes behind everything with a stamp up to this one.
  void skip_stamps(std::uint64_t stamp) { last_stamp_ = std::max(last_stamp_, stamp); }
  void set_stamp(EventId id, std::uint64_t stamp) { machine_.event(id).stamp = stamp; }

  Bits past_of(EventId id, EventId source) const {
    Bits past = commit_before_.past_of(items_, id, source);
    for (const Displacement& displacement : displacements_)
      if (displacement.read == id) include_item(displacement.item, past);
    return past;
  }
  // Has the first thread joined this one?
  bool has_joined(std::int32_t thread) const {
    return std::ranges::any_of(events_of(first_thread), [&](EventId id) {
      const Event<W>& e = machine_.event(id);
      return e.role == Role::synchronised && e.state == EventState::committed && e.waits_for == thread;
    });
  }

  // Do others access what this event of the first thread does?
  bool is_noticed(const Event<W>& e) const {
    if (e.kind != EventKind::read && e.kind != EventKind::write) return false;
    return std::ranges::any_of(machine_.threads(), [&](const ThreadState<W>& thread) {
      return thread.number != first_thread && accesses(thread.number, e);
    });
  }

  // At the end of the run. The first thread tells alike threads apart if it joins only some of them, or does something that
  // others notice when it has joined only some. So it does if it waits for one that never ends while an alike one has ended:
  // with the two renamed it would go on. `for_ever`: no other run shows that the threads which wait now go on.
  void require_alike_joined(bool joins_are_last, bool for_ever) const {
    if (!machine_.renames()) return;
    std::vector<bool> joined(machine_.threads().size());
    for (const EventId id : events_of(first_thread)) {
      const Event<W>& e = event(id);
      if (e.role != Role::synchronised) {
        if (are_some_joined(joined) && is_noticed(e)) machine_.note_told_apart();
        continue;
      }
      if (e.state != EventState::committed) {
        if (!joins_are_last && waits_for_wrong_one(e.waits_for, joined, for_ever)) machine_.note_told_apart();
        return;
      }
      joined[at(e.waits_for)] = true;
    }
    if (are_some_joined(joined)) machine_.note_told_apart();
  }

  // Does what threads have read in rounds of loops make no difference to what others may do?
  bool forgets_rounds() const { return order_.in_order && order_.forgets_reads; }
  bool may_end_unjoined() const { return machine_.may_end_unjoined(); }
  void note_unjoined_end() const { machine_.note_unjoined_end(); }

  bool joins_halves() const { return machine_.joins_halves(); }
  Bits least_past_of(EventId id, EventId source) const {
    return commit_before_.template past_of<&RunItem<W>::least_past>(items_, id, source);
  }
  // The read of an update that wants to write here may have to come before what the write waits for.
  void note_split() const { machine_.note_split(); }

  // The last own write before the read, if it is one that failed and whose value the read may take.
  EventId failed_source(EventId read) const {
    if (!is_abandoned() || !order_.forwarding_of_updates) return no_event;
    const std::vector<EventId>& events = events_of(event(read).thread);
    for (auto i = at(event(read).index); i-- > 0;) {
      const Event<W>& e = event(events[i]);
      if (e.kind != EventKind::write || e.state == EventState::absent || !commit_before_.same_place(e, event(read))) continue;
      return e.state == EventState::failed && commit_before_.may_forward(event(read), e) ? events[i] : no_event;
    }
    return no_event;
  }

  void require_address_order(EventId write) const {
    if (order_.in_order) return;
    const EventId access = commit_before_.access_waited_for(items_, write);
    if (access != no_event) throw Guess{machine_.place_of(event(write)), machine_.place_of(event(access))};
  }

  Key key_of(EventId id) const { return {machine_.event(id).thread, machine_.event(id).index}; }

  EventId event_at(Key key) const {
    if (at(key.thread) >= machine_.threads().size()) throw std::logic_error("a continuation refers to a thread that is not there");
    const std::vector<EventId>& events = events_of(key.thread);
    if (at(key.index) >= events.size()) throw std::logic_error("a continuation refers to an event that is not fetched");
    return events[at(key.index)];
  }

  // Nothing is left to do but for the first thread, which waits for others to end. What it does behind its joins nobody
  // hears of: of what threads did that it has joined it sees the last, of others nothing. So there is one way to go on, and
  // the model need not be asked.
  void write_owed_ends() {
    if (machine_.decides_alone()) settle_rest();
    machine_.write_owed_ends();
    take_local_events();
    if (is_settled_) go_on_settled();
  }

  // Is the rest that of the first thread, behind its joins? That begins with this of its events.
  bool has_settled() const { return is_settled_; }
  std::size_t first_settled() const { return static_cast<std::size_t>(first_settled_); }

  // ---- Picking ----------------------------------------------------------------------------------------------------

  // What to commit next. Stores first: fewer races are then found late. Then reads, those that a thread waits for behind
  // the others: what they wait for is then more often there. Then those of threads that wait, but will not store any more, one
  // thread after the other. What had better not be done yet comes last: what would part
  // the halves of an update (reads whose write is not ready, and the choice whether a store-conditional succeeds before its
  // load is committed or its address is known), because what could come between them makes it fail; writes before earlier accesses of their
  // location, because coherence then leaves those little choice.
  EventId pick() {
    if (is_settled_) return pick_settled();
    if (order_.pick_seed != 0) return pick_at_random();
    EventId read = no_event, awaited = no_event, late = no_event, hasty = no_event;
    for (const ThreadState<W>& thread : machine_.threads()) {
      for (EventId id : thread.events) {
        Event<W>& e = machine_.event(id);
        if (e.state == EventState::asleep) break;
        if (e.state != EventState::pending || is_absent(id)) continue;
        if (commit_before_.is_enabled(thread, e) && !waits_for_alike(id)) {
          if (is_hasty(id)) {
            if (hasty == no_event) hasty = id;
          } else if (e.kind != EventKind::read || e.role == Role::synchronised) {
            return id;
          } else {
            EventId& first = is_late(thread) ? late : machine_.is_awaited(e) ? awaited : read;
            if (first == no_event) first = id;
          }
        }
        if (order_.in_order) break;
      }
    }
    for (const EventId id : {read, awaited, late})
      if (id != no_event) return id;
    return hasty;
  }

  // Threads that only read any more, and may wait, read last: whatever they could read is then there, so that it shows which
  // rounds are in vain (rounds_in_vain.hpp).
  bool is_late(const ThreadState<W>& thread) const {
    return order_.in_order && machine_.may_wait(thread) && !machine_.may_store(thread);
  }

  // Was this picked because there is nothing but what threads wait for?
  bool is_last_resort(EventId id) const {
    return id != no_event && order_.pick_seed == 0 && machine_.event(id).kind == EventKind::read &&
           machine_.is_awaited(machine_.event(id)) && machine_.event(id).role != Role::synchronised && !is_late(thread_of(id));
  }

  std::vector<EventId> enabled_awaited_reads() {
    std::vector<EventId> result;
    for (const ThreadState<W>& thread : machine_.threads())
      for (EventId id : thread.events) {
        Event<W>& e = machine_.event(id);
        if (e.state == EventState::asleep) break;
        if (e.state != EventState::pending) continue;
        if (is_last_resort(id) && commit_before_.is_enabled(thread, e) && !waits_for_alike(id)) result.push_back(id);
        if (order_.in_order) break;
      }
    return result;
  }

  // ---- Committing -------------------------------------------------------------------------------------------------

  // Each returns whether the model allows it; if not, the run must be taken back to where it was.

  // Source 0 is the initial write, the others follow in coherence order. `kind` is one of the kinds of reads.
  bool commit_read(EventId id, std::uint32_t place, std::size_t source, ItemKind kind = ItemKind::read) {
    if (is_settled(id)) return commit_settled_read(id, place, source, kind);
    if (locations_[place].is_unseen) return commit_unseen_read(id, place, kind);
    if (source < locations_[place].n_early) return false;
    enter_shadows(id);
    const std::optional<bool> failed = take_value(id, place, source, kind);
    if (!failed) return false;
    Location<W>& location = locations_[place];
    Event<W>& e = machine_.event(id);
    enter_items(id, kind, e.read_from);
    enter_matrix(id, *failed ? e.failed_class : e.event_class, place);
    const std::uint32_t m = e.matrix_index;
    matrix_.insert_reads_from(source == 0 ? location.initial_index : index_of(location, e.read_from), m);
    Bits later;
    for (std::size_t i = source; i < location.order.size(); ++i) later.set(machine_.event(location.order[i]).matrix_index);
    matrix_.insert_overwritten_by(later);
    (source == 0 ? location.initial_readers : machine_.event(e.read_from).readers).set(m);
    trail_.push_back({Change::read, id, place});
    return finish_read(id, kind, *failed);
  }

  // The write it reads from is not committed yet, or has failed; its value is known, or guessed.
  bool commit_forward(EventId id, EventId source, ItemKind kind, std::uint16_t guess) {
    const std::uint32_t place = location_of(id);
    enter_shadows(id);
    Event<W>& e = machine_.event(id);
    Event<W>& write = machine_.event(source);
    e.read_from = source;
    if (machine_.is_guessable(write)) take_guess(source, guess);
    const GuessedValue<W> taken = machine_.value_of_store(write);
    e.value = write.value = taken.value & low_bits(8u * write.size);
    e.undefined = write.undefined = taken.undefined & low_bits(8u * write.size);
    const std::optional<bool> failed = fails_as(kind, e);
    if (!failed) return false;
    e.has_failed = *failed;
    if (write.shadow_index == none) enter_shadow(source);
    enter_items(id, kind, source);
    enter_matrix(id, *failed ? e.failed_class : e.event_class, place);
    write.readers.set(e.matrix_index);
    trail_.push_back({Change::read, id, place});
    return finish_read(id, kind, *failed);
  }

  bool commit_write(EventId id, std::uint32_t place, std::size_t position) {
    Event<W>& e = machine_.event(id);
    if (e.role == Role::conditional_store && !can_succeed(e)) return false;
    if (is_settled(id)) return commit_settled_write(id, place, position);
    if (locations_[place].is_unseen) return commit_unseen_write(id, place);
    enter_shadows(id);
    Location<W>& location = locations_[place];
    set_written(e, location.address);
    enter_items(id, ItemKind::write, no_event);
    enter_matrix(id, e.event_class, place);
    Bits before, after, readers = location.initial_readers;
    before.set(location.initial_index);
    for (std::size_t i = 0; i < location.order.size(); ++i) {
      const Event<W>& other = machine_.event(location.order[i]);
      (i < position ? before : after).set(index_of(location, location.order[i]));
      if (i < position) readers |= other.readers;
    }
    matrix_.insert_coherence(before, after);
    matrix_.insert_overwrites_for(readers);
    const bool is_second_half = e.role == Role::conditional_store || e.role == Role::update_write;
    if (is_second_half && machine_.event(e.partner).state == EventState::committed)  // it may have failed
      matrix_.insert_update(e.role, machine_.event(e.partner).matrix_index, e.matrix_index);
    matrix_.insert_readers(e.readers);
    location.order.insert(location.order.begin() + static_cast<std::ptrdiff_t>(position), id);
    trail_.push_back({Change::write, id, place});
    if (!decide()) return false;
    proceed(e.thread);
    return true;
  }

  // An event that has no parameter: the run goes on only to find races, and does not count.
  void commit_failure(EventId id) {
    Event<W>& e = machine_.event(id);
    machine_.resolve_address(e);
    const bool is_lost_with_guess = is_lost(id);
    enter_items(id, ItemKind::failure, no_event);
    e.state = EventState::failed;
    ++n_failed_;
    trail_.push_back({Change::decided, id, 0});
    const bool has_write = e.role == Role::update_read && machine_.event(e.partner).state == EventState::pending && !is_lost_with_guess;
    if (has_write) mark_absent(e.partner);
    proceed(e.thread);
  }

  // The store will not be there, or not with this value, but loads may take it so. Or the update that it belongs to was
  // taken to succeed, and is left out: the store comes then. As with a failure, the run goes on only to find races.
  void commit_guess(EventId id, std::uint16_t guess = 0) {
    Event<W>& e = machine_.event(id);
    machine_.resolve_address(e);
    if (e.kind == EventKind::write) take_guess(id, guess);
    enter_items(id, ItemKind::guess, no_event);
    e.state = EventState::failed;
    ++n_failed_;
    trail_.push_back({Change::decided, id, 0});
    proceed(e.thread);
  }

  // As what is the store to be explored, apart from where it has its place: as guessed before, or in every way in which
  // loads could take it to be and it is not.
  std::vector<std::uint16_t> guesses(EventId store) const {
    const Event<W>& e = event(store);
    if (!machine_.is_guessable(e) && !is_lost(store)) return {};
    const bool is_doomed = machine_.is_doomed(e) || is_lost(store);
    if (e.is_guessed && !is_doomed && machine_.is_guessed_right(e)) return {};
    if (e.is_guessed) return {e.guess};
    if (e.is_too_open && may_be_guessed(store)) throw Guess{machine_.place_of(e), machine_.place_of(e)};
    if (!is_doomed && (e.alternatives == 0 || !may_be_guessed(store))) return {};
    std::vector<GuessedValue<W>> values = machine_.guessable_values(e);
    if (!is_doomed) {
      const GuessedValue<W> right = machine_.value_of_store(e);
      std::erase_if(values, [&](const GuessedValue<W>& value) { return value.is_like(right); });
    } else if (!values.empty() && !may_be_guessed(store)) {
      values.resize(1);
    }
    std::vector<std::uint16_t> result;
    for (const GuessedValue<W>& value : values) result.push_back(value.guess);
    return result;
  }
  bool may_be_guessed(EventId store) const { return commit_before_.may_be_guessed(store); }
  bool is_guessed_right(EventId store) const { return machine_.is_guessed_right(event(store)) && !is_lost(store); }
  // What loads take it to be: as guessed, or as it is.
  std::uint16_t guess_of(EventId store) const {
    const bool has_choice = machine_.is_guessable(event(store));
    return has_choice ? machine_.value_of_store(event(store)).guess : std::uint16_t{0};
  }
  // Of loads for which it does not matter, the guess that stands for all.
  std::uint16_t default_guess(EventId store) const { return machine_.guessable_values(event(store)).front().guess; }
  // Will there be no such store, whatever loads have taken it to be?
  bool is_doomed(EventId store) const { return machine_.is_doomed(event(store)) || is_lost(store); }

  // Does it come behind a guess that has turned out wrong? Then no continuation keeps it. If that is only because a read of
  // an update waits for more than it has to, one could.
  bool is_lost(EventId id) const {
    if (!is_abandoned() || !order_.forwarding_of_updates || !has_guess(past_of(id, no_event))) return false;
    if (joins_halves() && !has_guess(least_past_of(id, no_event))) note_split();
    return true;
  }
  bool is_left_to_guess(EventId store) const {
    return event(store).state == EventState::failed && items_[event(store).run_index].kind == ItemKind::guess;
  }
  // The store that the read is left with, because it goes on with a guess.
  EventId guessed_source(EventId read) const {
    const EventId source = failed_source(read);
    return source != no_event && is_left_to_guess(source) ? source : no_event;
  }

  // A read after which its thread would only wait: the run goes on without it and what is behind it, as if the thread had
  // not come there.
  void commit_sleep(EventId id) {
    Event<W>& e = machine_.event(id);
    enter_items(id, ItemKind::sleep, no_event);
    e.state = EventState::asleep;
    sleepers_.push_back(id);
    trail_.push_back({Change::asleep, id, 0});
  }

  const std::vector<EventId>& sleepers() const { return sleepers_; }

  // The read is not committed yet; with this update it would wait.
  void commit_displacement(EventId id, EventId by, std::uint64_t stamp) {
    if (items_.size() >= Bits::capacity) throw CapacityNeeded{machine_.place_of(event(id))};
    Bits past = past_of(id, no_event);
    include_item(event(by).run_index, past);
    displacements_.push_back({id, by, stamp, items_.size()});
    items_.push_back({id, ItemKind::displaced, past, past});
    trail_.push_back({Change::displaced, id, 0});
  }

  const std::vector<Displacement>& displacements() const { return displacements_; }
  const Displacement& displacement_at(std::size_t item) const {
    return *std::ranges::find(displacements_, item, &Displacement::item);
  }

  // The last write in coherence among those that were there at the stamp, and these.
  EventId predecessor(const Location<W>& location, std::uint64_t stamp, const Bits& past) const {
    for (std::size_t i = location.order.size(); i-- > 0;) {
      const Event<W>& e = event(location.order[i]);
      if (e.stamp <= stamp || past.test(e.run_index)) return location.order[i];
    }
    return no_event;
  }
  EventId predecessor(const Location<W>& location, std::uint64_t stamp, EventId write) const {
    return predecessor(location, stamp, items_[event(write).run_index].past);
  }

  // Does the write of an update come right behind its read, with no access between?
  bool comes_at_once(EventId write) const {
    const Event<W>& e = event(write);
    const std::vector<EventId>& events = events_of(e.thread);
    return std::ranges::all_of(events.begin() + event(e.partner).index + 1, events.begin() + e.index,
                               [&](EventId id) { return event(id).kind == EventKind::fence || id == e.chosen_by; });
  }

  // Is the update that displaced the read this write, or one of its predecessors?
  bool leads_behind(const Displacement& displacement, EventId write) const {
    const Location<W>& location = locations_[find_location(event(displacement.by).address)];
    while (write != no_event && write != displacement.by && event(write).stamp > displacement.stamp)
      write = predecessor(location, displacement.stamp, write);
    return write == displacement.by;
  }

  // May the read take this source, as far as it was displaced?
  bool is_open(EventId read, std::uint32_t place, std::size_t source) const {
    const EventId write = source == 0 ? no_event : locations_[place].order[source - 1];
    return std::ranges::all_of(displacements_, [&](const Displacement& displacement) {
      if (displacement.read != read) return true;
      return write != no_event && leads_behind(displacement, predecessor(locations_[place], displacement.stamp, write));
    });
  }

  // Does the thread that has read this come back to where it was by stores alone (machine_rounds.hpp)?
  bool comes_back_by_stores(EventId read) {
    const Mark before = mark();
    const bool result = go_round_by_stores(read);
    undo(before);
    return result;
  }

  // The same, and it is there.
  bool go_round_by_stores(EventId read) {
    if (!order_.in_order || !machine_.leaves_out_rounds() || !thread_of(read).arrivals) return false;
    for (EventId store = next_harmless_store(read); store != no_event; store = next_harmless_store(read)) outline_store(store);
    return thread_of(read).is_left_out;
  }

  // What its thread would do next with this source, asleep or not. That is a matter of the value: the model, which need not
  // allow it beside what else is there by now, is not asked.
  void suppose_read(EventId id, std::uint32_t place, std::size_t source) {
    Event<W>& e = machine_.event(id);
    const std::uint64_t stamp = e.stamp;
    const std::size_t n_local = machine_.local_events().size();
    if (e.state == EventState::asleep) rouse(id);
    const bool failed = outline_read(id, place, source, ItemKind::read).value_or(false);
    set_stamp(id, stamp);
    if (e.is_compare && failed && !e.must_fail) mark_absent(e.partner);
    machine_.advance(e.thread);
    machine_.local_events().resize(n_local);
  }

  // At the end of a run, to see what a sleeping read could have seen.
  bool wake(EventId id, std::size_t source) {
    const std::uint32_t place = location_of(id);
    const std::uint64_t stamp = event(id).stamp;
    rouse(id);
    const bool is_allowed = commit_read(id, place, source);
    set_stamp(id, stamp);
    return is_allowed;
  }

  // A compare-exchange will fail, whatever it is that its read will find: its write is gone, and with it what the write
  // would keep in order.
  void commit_early_failure(EventId write) {
    Event<W>& e = machine_.event(write);
    machine_.resolve_address(e);
    const Bits past = commit_before_.past_of_early_failure(items_, write);
    enter_items(write, ItemKind::choice, past,
                joins_halves() ? commit_before_.template past_of_early_failure<&RunItem<W>::least_past>(items_, write) : past);
    e.state = EventState::absent;
    e.failed_early = true;
    machine_.event(e.partner).must_fail = true;
    trail_.push_back({Change::early_failure, write, 0});
    proceed(e.thread);
  }

  // Is there something later that might be committed before the read if the compare-exchange failed, but not if it
  // succeeded? Not if the thread cannot go on without knowing. The answer must not depend on what else is committed.
  bool failure_frees_others(EventId read) const {
    const Event<W>& e = machine_.event(read);
    if (order_.in_order || !e.is_compare || e.must_fail) return false;
    const Event<W>& write = machine_.event(e.partner);
    if (write.state != EventState::pending) return false;
    const ThreadState<W>& thread = machine_.threads()[at(e.thread)];
    if (thread.status == ThreadStatus::running && !machine_.is_held_by(thread, read)) return true;
    return std::ranges::any_of(thread.events, [&](EventId id) {
      const Event<W>& later = machine_.event(id);
      return later.kind != EventKind::fence && later.kind != EventKind::choice && later.index > write.index;
    });
  }

  void commit_choice(EventId id, Value chosen) {
    Event<W>& e = machine_.event(id);
    e.value = chosen;
    enter_items(id, ItemKind::choice, no_event);
    e.state = EventState::committed;
    trail_.push_back({Change::decided, id, 0});
    const EventId conditional = conditional_of(id);
    if (conditional != no_event) is_absent(conditional);
    proceed(machine_.event(id).thread);
  }

  // Returns false if the model does not allow it, as above.
  bool replay(const TemplateItem& item) {
    const EventId id = event_at(item.event);
    if (item.kind == ItemKind::displaced) {
      commit_displacement(id, event_at(item.parameter), item.stamp);
      return true;
    }
    const bool is_allowed = commit(id, item);
    set_stamp(id, item.stamp);
    return is_allowed;
  }

  bool commit(EventId id, const TemplateItem& item) {
    switch (item.kind) {
      case ItemKind::displaced: return false;
      case ItemKind::choice:
        if (machine_.event(id).kind == EventKind::write) {
          location_of(machine_.event(id).partner);
          commit_early_failure(id);
        } else {
          commit_choice(id, item.chosen);
        }
        return true;
      case ItemKind::failure:
        location_of(id);
        commit_failure(id);
        return true;
      case ItemKind::guess:
        location_of(id);
        commit_guess(id, static_cast<std::uint16_t>(item.chosen));
        return true;
      case ItemKind::sleep:
        location_of(id);
        commit_sleep(id);
        return true;
      case ItemKind::write: {
        const std::uint32_t place = location_of(id);
        return commit_write(id, place, position_after(place, item.parameter));
      }
      case ItemKind::read:
      case ItemKind::failed_read:
      case ItemKind::successful_read: {
        if (item.parameter.thread == item.event.thread) {
          const EventId source = event_at(item.parameter);
          if (is_not_in_place(event(source))) return commit_forward(id, source, item.kind, static_cast<std::uint16_t>(item.chosen));
        }
        const std::uint32_t place = location_of(id);
        return commit_read(id, place, position_after(place, item.parameter), item.kind);
      }
    }
    return false;
  }

  // What was done since the mark, to be done again after it was taken back.
  RunSteps steps_since(const Mark& mark, std::vector<TemplateItem>&& items) const {
    RunSteps steps{std::move(items), {}, {}};
    for (std::size_t i = mark.trail; i < trail_.size(); ++i)
      if (trail_[i].change == Change::decided && event(trail_[i].event).kind == EventKind::write)
        steps.absent.push_back({i, key_of(trail_[i].event)});
    for (std::size_t i = mark.locations; i < locations_.size(); ++i) {
      const Location<W>& met = locations_[i];
      steps.locations.push_back({met.trail, met.address, met.size, met.is_outside, met.place});
    }
    return steps;
  }

  // Calls `visit()` after each step.
  template <class Visit>
  void redo(const RunSteps& steps, Visit visit) {
    const std::size_t n_locations = locations_.size();
    visit();
    for (const TemplateItem& item : steps.items) {
      redo_between_items(steps, n_locations, item.event, visit);
      replay(item);
      visit();
    }
    redo_between_items(steps, n_locations, Key{}, visit);
  }

  // The place right behind the given write: where a write goes, and as a source the number of that write.
  std::size_t position_after(std::uint32_t place, Key write) const {
    if (write.thread == none) return 0;
    const std::vector<EventId>& order = locations_[place].order;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (key_of(order[i]) == write) return i + 1;
    throw std::logic_error("a continuation refers to a write that is not there");
  }

  // Did every compare-exchange succeed or fail that was to, and did every guess turn out right?
  bool decisions_hold() const {
    return machine_.guesses_hold() && std::ranges::all_of(items_, [&](const RunItem<W>& item) {
      const Event<W>& e = machine_.event(item.event);
      if (!(e.must_fail || e.must_succeed) || e.state != EventState::committed) return true;
      const std::optional<bool> succeeds = machine_.compare_succeeds(e, e.value);
      return e.must_succeed ? succeeds.value_or(true) : e.is_weak || !succeeds.value_or(false);
    });
  }

  // ---- Updates ----------------------------------------------------------------------------------------------------

  // The store-conditional that a choice decides on comes right behind it.
  EventId conditional_of(EventId choice) const {
    const std::vector<EventId>& events = events_of(machine_.event(choice).thread);
    const std::size_t next = at(machine_.event(choice).index) + 1;
    const bool found = next < events.size() && machine_.event(events[next]).chosen_by == choice;
    return found ? events[next] : no_event;
  }

  // Elsewhere than its load it cannot. Where it goes may not be known yet.
  bool can_succeed(const Event<W>& conditional) const {
    const std::optional<Value> there = machine_.value(machine_.event(conditional.partner).address_node);
    const std::optional<Value> here = machine_.value(conditional.address_node);
    return !there || !here || *there == *here;
  }

  // The write that forms one step with the read just committed: nothing that need not come before the read need come
  // between, or else a fence keeps it before every later write, and no other thread can have seen this read before it.
  EventId write_at_once(EventId read) {
    const EventId write = second_half(read);
    if (write == no_event || machine_.event(write).state != EventState::pending || machine_.is_doomed(machine_.event(write))) return no_event;
    if (order_.in_order) return write;
    machine_.resolve_address(machine_.event(write));
    const Event<W>& e = machine_.event(write);
    if (!commit_before_.is_ready(machine_.threads()[at(e.thread)], e)) return no_event;
    return is_one_step(read, write, past_of(write, no_event)) ? write : no_event;
  }

  // Do the halves of an update belong together, if this comes before the second?
  bool is_one_step(EventId read, EventId write, Bits past) const {
    if (order_.in_order) return true;
    if (event(write).alternatives != 0 || event(write).is_too_open) return false;
    past.clear(machine_.event(read).run_index);
    const EventId choice = event(write).chosen_by;
    const bool chose = choice != no_event && event(choice).state == EventState::committed;
    if (chose && event(choice).run_index > event(read).run_index) past.clear(event(choice).run_index);
    Bits before = items_[machine_.event(read).run_index].past;
    add_forwarded(read, before);
    machine_.event(write).fenced_after.for_each([&](std::size_t fenced) {
      const Event<W>& o = machine_.event(static_cast<EventId>(fenced));
      if (o.state == EventState::absent && !o.failed_early) return;
      before |= items_[o.run_index].past;
      before.set(o.run_index);
    });
    return past.is_subset_of(before);
  }

  // An update that would be one step: its write, and what comes before.
  struct Update {
    Key write;
    Bits past;
    Bits least_past;  // as in RunItem
  };

  // An own write whose value the read could have taken before it was in place: nobody can come between the halves of the
  // update before it is, and the second half is then ready.
  void add_forwarded(EventId read, Bits& before) const {
    const Event<W>& e = event(read);
    if (e.read_from == no_event || event(e.read_from).state != EventState::committed) return;
    if (!commit_before_.may_forward(e, event(e.read_from))) return;
    for (auto i = at(e.index); i-- > 0;) {
      const Event<W>& o = event(events_of(e.thread)[i]);
      const bool is_in_place = o.kind == EventKind::write && o.state == EventState::committed;
      if (is_in_place && commit_before_.same_place(o, e)) before.set(o.run_index);
    }
  }

  // If the read took its value from this source. The model is asked only if the write is behind a branch on that value.
  std::optional<Update> update_from(EventId id, std::uint32_t place, std::size_t source, ItemKind kind = ItemKind::read) {
    const Mark before = mark();
    std::optional<Update> found;
    const bool is_fetched = second_half(id) != no_event;
    if (is_fetched ? !outline_read(id, place, source, kind).value_or(true) : commit_read(id, place, source, kind)) {
      const EventId write = write_at_once(id);
      if (write != no_event) found = Update{key_of(write), past_of_update(id, write), least_past_of_update(id, write)};
    }
    undo(before);
    return found;
  }

  // ---- Locations --------------------------------------------------------------------------------------------------

  std::uint32_t find_location(Address address) const {
    for (std::size_t i = 0; i < locations_.size(); ++i)
      if (locations_[i].address == address) return static_cast<std::uint32_t>(i);
    return std::numeric_limits<std::uint32_t>::max();
  }

  // The location of an access, with its initial write if this is the first.
  std::uint32_t location_of(EventId id) {
    Event<W>& e = machine_.event(id);
    machine_.resolve_address(e);
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      if (!is_at(locations_[i], e)) continue;
      if (locations_[i].is_early) require_unnoticed_early(e, *find_early(e));
      return static_cast<std::uint32_t>(i);
    }
    if (const EarlyLocation* early = find_early(e)) require_unnoticed_early(e, *early);
    const bool is_access = !e.is_release && !e.is_renewal;
    if (is_access) machine_.note_field(e.address, e.size);
    add_location(e.address, e.size, is_access && is_outside(e), machine_.place_of(e));
    return static_cast<std::uint32_t>(locations_.size() - 1);
  }

  void add_location(Address address, std::uint8_t size, bool is_outside, const Place& first) {
    locations_.push_back({address, size, is_outside, initial_value(address, size), machine_.undefined_initially(address, size), not_in_matrix, {}, {}, 0, false, {}, first, trail_.size(), {}});
    adopt_early(locations_.back());
    if (is_settled_) return;
    if (matrix_.is_full()) throw CapacityNeeded{first};
    Location<W>& location = locations_.back();
    location.is_unseen = machine_.unseen().contains(address);
    if (matrix_.watches_allocations()) location.birth = machine_.birth_at(address);
    location.initial_index = matrix_.push_initial_write();
    location.members.set(location.initial_index);
    settle();
  }

  // The writes to what an access is to, in coherence order.
  const std::vector<EventId>& writes_at(Address address) const {
    static const std::vector<EventId> nothing;
    for (const Location<W>& location : locations_)
      if (location.address == address) return location.order;
    for (const EarlyLocation& early : early_)
      if (early.address == address) return early.order;
    return nothing;
  }

  bool reads_last_write(const Event<W>& read) {
    if (is_unseen_at(read.address)) note_seen(read.address);
    const std::vector<EventId>& order = writes_at(read.address);
    return read.read_from == (order.empty() ? no_event : order.back());
  }

  // What it might read from: the initial write and all others.
  std::size_t n_sources(EventId id) { return locations_[location_of(id)].order.size() + 1; }

  Value initial_value(Address address, std::uint8_t size) const {
    Value result = 0;
    for (unsigned i = 0; i < size; ++i) result |= Value{machine_.initial_byte(address + i)} << (8 * i);
    return result;
  }

  // Coherence within the thread: not before its own earlier writes, nor before what its earlier reads saw.
  std::size_t lowest_position(EventId id, std::uint32_t place) const {
    return std::max(lowest(id, place, true), position_of_step_before(id, place));
  }
  std::size_t lowest_source(EventId id, std::uint32_t place) const {
    // What begins or joins a thread reads the one write that is there.
    if (machine_.event(id).role == Role::synchronised) return locations_[place].order.size();
    if (locations_[place].is_unseen) return locations_[place].n_early;
    return lowest(id, place, order_.same_location_reads);
  }

  // May the read have this source, as the execution is named (alike_threads.hpp)?
  bool is_canonical_source(EventId id, std::uint32_t place, std::size_t source) const {
    const EventId step = step_with_place_before(id, place);
    if (step == no_event) return true;
    const EventId other = event(step).read_from;
    if (other == no_event || event(other).state != EventState::committed) return true;
    const Location<W>& location = locations_[place];
    if (location.position_of(other) <= source) return true;
    return source > location.n_early && items_[event(location.order[source - 1]).run_index].past.test(event(step).run_index);
  }

  // ---- Unseen writes ----------------------------------------------------------------------------------------------

  // Is it an access of which nobody sees when it comes?
  bool is_unseen(EventId id) {
    const Event<W>& e = event(id);
    const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
    return is_access && !machine_.unseen().empty() && !is_settled(id) && locations_[location_of(id)].is_unseen;
  }

  bool has_unseen() const {
    return std::ranges::any_of(locations_, [](const Location<W>& location) { return location.is_unseen; });
  }

  // At the end of a run. The first of all shows what to rely on, each whether it is so.
  void look_for_unseen() {
    if (!std::exchange(has_looked_, true) && machine_.looks_for_unseen()) find_unseen();
    for (const Location<W>& location : locations_)
      if (location.is_unseen && !may_be_unseen(location)) machine_.note_seen(location.address);
  }

  bool is_unseen_at(Address address) const {
    return std::ranges::any_of(locations_, [&](const Location<W>& location) { return location.is_unseen && location.address == address; });
  }
  void note_seen(Address address) { machine_.note_seen(address); }

  // Calls `look()` with the writes in an order that the model allows.
  template <class Look>
  auto in_some_order(Look look) {
    if (!has_unseen()) return look();
    const Mark before = mark();
    std::vector<ChosenOrder> chosen;
    for (std::uint32_t place = 0; place < locations_.size(); ++place)
      if (locations_[place].is_unseen) chosen.push_back(choose_order(place));
    undo(before);
    for (ChosenOrder& order : chosen) apply(order);
    auto result = look();
    for (const ChosenOrder& order : chosen) restore(order);
    return result;
  }

  // ---- Taking back ------------------------------------------------------------------------------------------------

  Mark mark() const { return {machine_.mark(), items_.size(), matrix_.size(), locations_.size(), trail_.size()}; }

  static RunMark flat(const Mark& m) {
    return {m.machine.nodes, m.machine.events, m.machine.saved, m.machine.deferred, m.machine.objects,
            m.items, m.matrix, m.locations, m.trail};
  }

  void undo(const Mark& mark) {
    while (trail_.size() > mark.trail) {
      take_back(trail_.back());
      trail_.pop_back();
    }
    items_.resize(mark.items);
    locations_.resize(mark.locations);
    matrix_.pop_to(mark.matrix);
    machine_.undo(mark.machine);
  }

  // What was relied on where rounds of loops were left out, and does not hold in this run.
  void refute_reliances() {
    if (!machine_.leaves_out_rounds()) return;
    for (const Location<W>& location : locations_) refute_writes(location);
    for (const RunItem<W>& item : items_) refute_last_is_read(event(item.event));
  }

 private:
  // ---- Unseen writes ----------------------------------------------------------------------------------------------

  // Of a place: the writes as they are, those that were unseen in their new order, and reads and values as they were.
  struct ChosenOrder {
    std::uint32_t place;
    std::vector<EventId> before;
    std::vector<EventId> unseen;
    std::vector<Event<W>> events;
    std::vector<EventId> ids;
  };

  void require_unseen(EventId id, const Location<W>& location) {
    if (!unseen_writes_.is_fit(event(id))) machine_.note_seen(location.address);
  }

  // It could read from any write; what it would find nobody uses.
  bool commit_unseen_read(EventId id, std::uint32_t place, ItemKind kind) {
    require_unseen(id, locations_[place]);
    take_value(id, place, locations_[place].order.size(), kind);
    Event<W>& e = machine_.event(id);
    if (e.undefined != 0) machine_.note_seen(e.address);
    e.read_from = no_event;
    enter_items(id, kind, no_event);
    enter_matrix(id, e.event_class, place);
    trail_.push_back({Change::read, id, place});
    return finish_read(id, kind, false);
  }

  bool commit_unseen_write(EventId id, std::uint32_t place) {
    Location<W>& location = locations_[place];
    require_unseen(id, location);
    Event<W>& e = machine_.event(id);
    set_written(e, location.address);
    enter_items(id, ItemKind::write, no_event);
    enter_matrix(id, e.event_class, place);
    Bits before;
    before.set(location.initial_index);
    for (const EventId other : location.order)
      if (event(other).thread == e.thread && is_in_matrix(other)) before.set(event(other).matrix_index);
    matrix_.insert_coherence(before, {});
    if (e.role == Role::update_write) matrix_.insert_update(e.role, event(e.partner).matrix_index, e.matrix_index);
    location.order.push_back(id);
    trail_.push_back({Change::write, id, place});
    if (!decide()) return false;
    proceed(e.thread);
    return true;
  }

  bool is_in_matrix(EventId id) const { return event(id).matrix_index != not_in_matrix; }

  // What nobody but the first thread accesses behind its joins, and not by accident.
  void find_unseen() {
    std::set<Address> found;
    for (const Location<W>& location : locations_) {
      if (location.is_outside || location.is_unseen || unseen_writes_.group(location.order).threads.size() < 2) continue;
      const bool is_unfit = std::ranges::any_of(items_, [&](const RunItem<W>& item) {
        const Event<W>& e = event(item.event);
        const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
        return is_access && e.address == location.address && is_in_matrix(item.event) && !unseen_writes_.is_fit(e);
      });
      if (!is_unfit && may_be_unseen(location)) found.insert(location.address);
    }
    machine_.note_unseen(found);
  }

  bool may_be_unseen(const Location<W>& location) const {
    const auto group = unseen_writes_.group(location.order);
    if (!unseen_writes_.are_fit(group)) return false;
    return group.commutes || !(is_observed(location) || (machine_.finds_leaks() && location.size == sizeof(Address)));
  }

  bool is_observed(const Location<W>& location) const {
    return std::ranges::any_of(observed_, [&](const Observable& observable) {
      return observable.thread == none && observable.address < location.address + location.size &&
             location.address < observable.address + observable.size;
    });
  }

  // Does who reads the final value choose which write is the last?
  bool chooses_last(std::uint32_t place) const {
    const Location<W>& location = locations_[place];
    if (!location.is_unseen || location.is_last_chosen || location.order.empty() || !is_in_matrix(location.order.back())) return false;
    return !unseen_writes_.group(location.order).commutes;
  }

  bool reads_open_value(EventId id) {
    return event(id).kind == EventKind::read && event(id).role != Role::synchronised && chooses_last(location_of(id));
  }

  // If the model allows it.
  bool choose_last(std::uint32_t place, std::size_t source) {
    Location<W>& location = locations_[place];
    const auto group = unseen_writes_.group(location.order);
    if (!unseen_writes_.has_final_value(group)) machine_.note_seen(location.address);
    if (source <= location.n_early) return false;
    const EventId last = location.order[source - 1];
    Bits others, chosen;
    for (const EventId id : location.order)
      if (is_in_matrix(id) && id != last) others.set(event(id).matrix_index);
    chosen.set(event(last).matrix_index);
    push_mark(location, group.strongest);
    matrix_.insert_coherence(others, chosen);
    if (!decide()) return false;
    location.order.erase(location.order.begin() + static_cast<std::ptrdiff_t>(source - 1));
    location.order.push_back(last);
    location.is_last_chosen = true;
    trail_.push_back({Change::last_chosen, static_cast<EventId>(source - 1), place});
    return true;
  }

  std::uint32_t push_mark(const Location<W>& location, EventId strongest) {
    if (matrix_.is_full()) throw CapacityNeeded{location.place};
    return matrix_.push_mark(event(strongest).event_class);
  }

  // One write after the other: any that the model lets come before all that are left.
  ChosenOrder choose_order(std::uint32_t place) {
    const Location<W>& location = locations_[place];
    ChosenOrder order{place, location.order, {}, {}, {}};
    std::vector<EventId> left;
    for (const EventId id : location.order)
      if (is_in_matrix(id)) left.push_back(id);
    while (!left.empty()) {
      const auto next = std::ranges::find_if(left, [&](EventId id) { return left.size() == 1 || comes_before(location, id, left); });
      if (next == left.end()) machine_.note_seen(location.address);
      order.unseen.push_back(*next);
      left.erase(next);
    }
    return order;
  }

  // Of updates that are left, each reads from it, or from one that does.
  bool comes_before(const Location<W>& location, EventId first, const std::vector<EventId>& left) {
    const std::size_t before = matrix_.size();
    Bits chosen, writes, reads;
    chosen.set(event(first).matrix_index);
    for (const EventId id : left) {
      if (id == first) continue;
      writes.set(event(id).matrix_index);
      if (event(id).role == Role::update_write) reads.set(event(event(id).partner).matrix_index);
    }
    push_mark(location, unseen_writes_.group(location.order).strongest);
    matrix_.insert_coherence(chosen, writes);
    if (!reads.empty()) matrix_.insert_sources(chosen);
    matrix_.insert_readers(reads);
    if (decide()) return true;
    matrix_.pop_to(before);
    return false;
  }

  void apply(ChosenOrder& order) {
    Location<W>& location = locations_[order.place];
    const EventId old_last = location.order[location.n_early + order.unseen.size() - 1];
    const auto change = [&](EventId id) -> Event<W>& {
      order.ids.push_back(id);
      order.events.push_back(event(id));
      return machine_.event(id);
    };
    EventId previous = location.n_early == 0 ? no_event : location.order[location.n_early - 1];
    for (std::size_t i = 0; i < order.unseen.size(); ++i) {
      const EventId id = order.unseen[i];
      location.order[location.n_early + i] = id;
      Event<W>& write = change(id);
      if (write.role == Role::update_write) {
        Event<W>& read = change(write.partner);
        read.read_from = previous;
        read.value = previous == no_event ? location.initial_value : event(previous).value;
        set_written(write, location.address);
      }
      previous = id;
    }
    for (const RunItem<W>& item : items_)
      if (event(item.event).kind == EventKind::read && event(item.event).read_from == old_last && !is_in_matrix(item.event))
        change(item.event).read_from = previous;
  }

  void restore(const ChosenOrder& order) {
    locations_[order.place].order = order.before;
    for (std::size_t i = order.ids.size(); i-- > 0;) machine_.event(order.ids[i]) = order.events[i];
  }

  bool has_guess(const Bits& past) const {
    bool result = false;
    past.for_each([&](std::size_t item) { result = result || items_[item].kind == ItemKind::guess; });
    return result;
  }

  // As committed last in coherence, but for the model, which would allow it.
  void outline_store(EventId id) {
    const std::size_t n_local = machine_.local_events().size();
    Event<W>& e = machine_.event(id);
    machine_.resolve_address(e);
    set_written(e, e.address);
    enter_items(id, ItemKind::write, no_event);
    e.state = EventState::committed;
    trail_.push_back({Change::decided, id, 0});
    machine_.advance(e.thread);
    machine_.local_events().resize(n_local);
  }

  EventId next_harmless_store(EventId read) {
    const ThreadState<W>& thread = thread_of(read);
    const auto is_open = [&](EventId id) { return event(id).state == EventState::pending; };
    const auto next = std::ranges::find_if(thread.events, is_open);
    if (thread.status != ThreadStatus::running || next == thread.events.end()) return no_event;
    Event<W>& e = machine_.event(*next);
    return machine_.is_harmless_store(e) && commit_before_.is_enabled(thread, e) ? *next : no_event;
  }

  void refute_writes(const Location<W>& location) {
    if (!order_.has_flags) return;
    std::size_t n_writes = 0;
    for (std::size_t i = location.n_early; i < location.order.size(); ++i) {
      const Event<W>& e = event(location.order[i]);
      if (machine_.is_left_out(e)) continue;
      ++n_writes;
      if (machine_.class_of(e).strength == 0) machine_.refute(location.address, Reliance::no_plain_write);
    }
    if (n_writes > 1) machine_.refute(location.address, Reliance::one_write);
  }

  // Does it read what was there before a plain or relaxed store of another thread, although that is there?
  void refute_last_is_read(const Event<W>& e) {
    if (e.kind != EventKind::read || e.state != EventState::committed || e.is_early) return;
    const Location<W>& location = locations_[find_location(e.address)];
    for (std::size_t i = location.order.size(); i-- > 0 && location.order[i] != e.read_from;) {
      const Event<W>& later = event(location.order[i]);
      const bool is_store = later.role == Role::plain && machine_.class_of(later).strength <= relaxed_strength && !later.is_release;
      if (is_store && later.thread != e.thread) machine_.refute(e.address, Reliance::last_is_read);
    }
  }

  template <class Visit>
  void redo_between_items(const RunSteps& steps, std::size_t n_locations, Key next, Visit visit) {
    const auto is_passed = [&](const AbsentWrite& entry) { return entry.trail < trail_.size(); };
    for (auto absent = std::ranges::partition_point(steps.absent, is_passed);; ++absent) {
      while (locations_.size() - n_locations < steps.locations.size()) {
        const MetLocation& met = steps.locations[locations_.size() - n_locations];
        if (met.trail != trail_.size()) break;
        add_location(met.address, met.size, met.is_outside, met.place);
        visit();
      }
      if (absent == steps.absent.end() || absent->trail != trail_.size() || absent->write == next) return;
      mark_absent(event_at(absent->write));
      visit();
    }
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  // The write of a compare-exchange that turns out not to find what it expected, or of a store-conditional that fails.
  bool is_absent(EventId id) {
    Event<W>& e = machine_.event(id);
    if (e.role == Role::conditional_store) {
      const Event<W>& choice = machine_.event(e.chosen_by);
      if (choice.state != EventState::committed || choice.value == 0) return false;
      mark_absent(id);
      return true;
    }
    if (e.role != Role::update_write || !e.is_compare) return false;
    const Event<W>& read = machine_.event(e.partner);
    if (read.state != EventState::committed || machine_.compare_succeeds(read, read.value).value_or(true)) return false;
    if (order_.forwarding_of_updates && machine_.is_doomed(e)) return false;
    mark_absent(id);
    return true;
  }

  static bool is_not_in_place(const Event<W>& write) {
    return write.state == EventState::pending || write.state == EventState::failed;
  }

  // Whether the compare-exchange that the read begins fails with its value; nothing if that is not possible for this kind.
  std::optional<bool> fails_as(ItemKind kind, const Event<W>& read) const {
    const bool is_to_fail = kind == ItemKind::failed_read;
    // It does not wait for what it is compared with; whether it could fail is asked at the end.
    if (read.must_fail) return is_to_fail ? std::nullopt : std::optional(true);
    if (!read.is_compare) return is_to_fail;
    const std::optional<bool> succeeds = machine_.compare_succeeds(read, read.value);
    if (is_to_fail && !succeeds.value_or(false)) return std::nullopt;
    if (kind != ItemKind::successful_read) return is_to_fail || !succeeds.value_or(true);
    return succeeds.value_or(true) || may_turn_out_otherwise(read) ? std::optional(false) : std::nullopt;
  }

  // Is what the compare-exchange is to find read without being waited for? Then it may be read anew in a continuation.
  bool may_turn_out_otherwise(const Event<W>& read) const {
    const Sources<W> expected = machine_.resolved(read.data_sources);
    const Bits sources = expected.direct | expected.picked;
    if (sources.empty()) return false;
    const Bits past = past_of(id_of(read), no_event);
    bool result = false;
    sources.for_each([&](std::size_t s) { result = result || !past.test(event(static_cast<EventId>(s)).run_index); });
    return result;
  }

  EventId id_of(const Event<W>& e) const { return events_of(e.thread)[at(e.index)]; }

  // Whether the compare-exchange then fails, as above.
  std::optional<bool> take_value(EventId id, std::uint32_t place, std::size_t source, ItemKind kind) {
    const Location<W>& location = locations_[place];
    Event<W>& e = machine_.event(id);
    e.read_from = source == 0 ? no_event : location.order[source - 1];
    e.value = source == 0 ? location.initial_value : machine_.event(e.read_from).value;
    e.undefined = source == 0 ? location.initial_undefined : machine_.event(e.read_from).undefined;
    machine_.note_undefined(e.undefined);
    const std::optional<bool> failed = fails_as(kind, e);
    if (failed) e.has_failed = *failed;
    return failed;
  }

  // As committed, but for the model, and its thread does not go on. Returns the same.
  std::optional<bool> outline_read(EventId id, std::uint32_t place, std::size_t source, ItemKind kind) {
    const std::optional<bool> failed = take_value(id, place, source, kind);
    if (!failed) return failed;
    Event<W>& e = machine_.event(id);
    enter_items(id, kind, e.read_from);
    e.state = EventState::committed;
    trail_.push_back({Change::decided, id, 0});
    return failed;
  }

  void rouse(EventId sleeper) {
    Event<W>& e = machine_.event(sleeper);
    trail_.push_back({Change::awake, sleeper, e.run_index});
    e.state = EventState::pending;
  }

  bool finish_read(EventId id, ItemKind kind, bool failed) {
    if (!decide()) return false;
    pass_read(id, kind, failed);
    return true;
  }

  void pass_read(EventId id, ItemKind kind, bool failed) {
    const Event<W>& e = machine_.event(id);
    if (kind == ItemKind::successful_read) require_success(id);
    if (e.is_compare && failed && !e.must_fail) mark_absent(e.partner);
    proceed(e.thread);
  }

  // ---- What is alike ------------------------------------------------------------------------------------------------

  void find_alike(const Program& program) {
    if (!machine_.renames()) return;
    commit_before_.alike().find(program, machine_);
  }

  // The same step of an alike thread is to come first.
  bool waits_for_alike(EventId id) const {
    if (!machine_.renames()) return false;
    const EventId step = commit_before_.step_before(items_, id);
    return step != no_event && event(step).state == EventState::pending;
  }

  // Of an alike thread that has the same history, and accesses the same place.
  EventId step_with_place_before(EventId id, std::uint32_t place) const {
    if (!machine_.renames() || !order_.same_location_reads || !order_.same_location_writes) return no_event;
    const EventId step = commit_before_.step_before(items_, id);
    const bool is_there = step != no_event && event(step).state == EventState::committed && event(step).address == locations_[place].address;
    return is_there ? step : no_event;
  }

  std::size_t position_of_step_before(EventId write, std::uint32_t place) const {
    const EventId step = step_with_place_before(write, place);
    return step == no_event ? 0 : locations_[place].position_of(step);
  }

  bool are_some_joined(const std::vector<bool>& joined) const {
    for (std::int32_t thread = 0; at(thread) < joined.size(); ++thread)
      for (const std::int32_t other : commit_before_.alike().to(thread))
        if (joined[at(thread)] != joined[at(other)]) return true;
    return false;
  }

  // Does the first thread wait for one that does not end, while an alike one has ended?
  bool waits_for_wrong_one(std::int32_t awaited, const std::vector<bool>& joined, bool for_ever) const {
    const ThreadStatus status = machine_.threads()[at(awaited)].status;
    const bool waits = status == ThreadStatus::running || status == ThreadStatus::waiting || machine_.threads()[at(awaited)].is_left_out;
    if (status == ThreadStatus::finished || (waits && !for_ever)) return false;
    return std::ranges::any_of(machine_.threads(), [&](const ThreadState<W>& other) {
      const bool is_alike = commit_before_.alike().first(other.number) == commit_before_.alike().first(awaited);
      return is_alike && other.status == ThreadStatus::finished && !joined[at(other.number)];
    });
  }

  bool accesses(std::int32_t thread, const Event<W>& e) const {
    return std::ranges::any_of(events_of(thread), [&](EventId id) {
      const Event<W>& o = machine_.event(id);
      return (o.kind == EventKind::read || o.kind == EventKind::write) && commit_before_.same_place(o, e);
    });
  }

  // ---- What is early ------------------------------------------------------------------------------------------------

  // The first thread starts others, and meanwhile accesses what only itself accesses, or threads that it starts later. As
  // far as that goes it is as if all this had been there from the start, and the model need not know of it.
  void begin_early() {
    for (EventId id = next_early(); id != no_event && commit_early(id); id = next_early()) n_early_ = at(event(id).index) + 1;
  }

  EventId next_early() {
    const ThreadState<W>& first = machine_.threads()[first_thread];
    const auto is_open = [&](EventId id) { return event(id).state == EventState::pending; };
    const auto next = std::ranges::find_if(first.events, is_open);
    return next != first.events.end() && may_be_early(first, machine_.event(*next)) ? *next : no_event;
  }

  bool may_be_early(const ThreadState<W>& first, Event<W>& e) {
    const bool is_access = e.kind == EventKind::read || e.kind == EventKind::write;
    if (!is_access || e.role != Role::plain || e.is_release || e.is_renewal || e.is_piece) return false;
    if (e.kind == EventKind::read && machine_.is_awaited(e)) return false;
    if (!commit_before_.is_enabled(first, e) || machine_.is_noticed(e.address, e.size)) return false;
    if (is_outside(e) || machine_.starts_free(e.address)) return false;
    return !matrix_.watches_allocations() || std::ranges::none_of(machine_.objects(), [&](const AllocatedObject& object) {
      const bool is_new = object.birth.thread == first_thread && object.birth.n_events <= at(e.index);
      const Address header = machine_.header_of(object.start);
      return is_new && machine_.is_noticed(header, object.start - header + object.size);
    });
  }

  // Returns false if the thread would wait.
  bool commit_early(EventId id) {
    const Mark before = mark();
    const std::size_t n_local = machine_.local_events().size();
    EarlyLocation& early = early_at(machine_.event(id));
    if (event(id).kind == EventKind::read) take_early_value(id, early.order.empty() ? no_event : early.order.back());
    else set_written(machine_.event(id), early.address);
    enter_early(id);
    const ThreadState<W>& first = machine_.threads()[first_thread];
    if (first.status == ThreadStatus::waiting || first.status == ThreadStatus::blocked) {
      machine_.local_events().resize(n_local);
      undo(before);
      return false;
    }
    early.last_access = at(event(id).index);
    if (event(id).kind == EventKind::write) early.order.push_back(id);
    for (std::size_t t = 0; t < machine_.threads().size(); ++t) {
      if (machine_.threads()[t].started_by != id) continue;
      take_early_value(machine_.threads()[t].begin, id);
      enter_early(machine_.threads()[t].begin);
    }
    return true;
  }

  void take_early_value(EventId read, EventId source) {
    Event<W>& e = machine_.event(read);
    machine_.resolve_address(e);
    e.read_from = source;
    e.value = source == no_event ? initial_value(e.address, e.size) : event(source).value;
    e.undefined = source == no_event ? machine_.undefined_initially(e.address, e.size) : event(source).undefined;
    machine_.note_undefined(e.undefined);
  }

  void enter_early(EventId id) {
    const bool reads = event(id).kind == EventKind::read;
    enter_items(id, reads ? ItemKind::read : ItemKind::write, reads ? event(id).read_from : no_event);
    Event<W>& e = machine_.event(id);
    e.state = EventState::committed;
    e.is_early = true;
    trail_.push_back({Change::early, id, 0});
    machine_.advance(e.thread);
  }

  EarlyLocation& early_at(const Event<W>& e) {
    for (EarlyLocation& early : early_)
      if (is_at(early, e)) return early;
    machine_.note_field(e.address, e.size);
    return early_.emplace_back(EarlyLocation{e.address, e.size, machine_.place_of(e), {}, 0});
  }

  const EarlyLocation* find_early(const Event<W>& e) const {
    const auto found = std::ranges::find_if(early_, [&](const EarlyLocation& early) { return is_at(early, e); });
    return found == early_.end() ? nullptr : &*found;
  }

  template <class Where>
  bool is_at(const Where& location, const Event<W>& e) const {
    if (location.address == e.address && location.size == e.size) return true;
    if (location.address < e.address + e.size && e.address < location.address + location.size)
      throw MixedSizes{machine_.place_of(e), e.address, e.size, location.place, location.address, location.size};
    return false;
  }

  void adopt_early(Location<W>& location) const {
    for (const EarlyLocation& early : early_) {
      if (early.address != location.address) continue;
      location.order = early.order;
      location.n_early = early.order.size();
      location.is_early = true;
    }
  }

  // A thread that was started before the first one accessed the location could have come before.
  void require_unnoticed_early(const Event<W>& e, const EarlyLocation& early) {
    if (e.thread == first_thread) return;
    const std::int32_t first = commit_before_.alike().first(e.thread);
    if (machine_.started_after(first) < early.last_access) machine_.note_noticed(early.address);
  }

  std::uint32_t index_of(const Location<W>& location, EventId write) const {
    return event(write).is_early ? location.initial_index : event(write).matrix_index;
  }

  // Nothing comes before it that it could order.
  bool is_early_fence(EventId id) const {
    const Event<W>& e = event(id);
    if (e.thread == first_thread) return at(e.index) < n_early_;
    const EventId begin = thread_of(id).begin;
    return begin != no_event && event(begin).is_early && e.index == event(begin).index + 1;
  }

  // ---- What is settled ----------------------------------------------------------------------------------------------

  void settle_rest() {
    const ThreadState<W>& first = machine_.threads()[first_thread];
    first_settled_ = machine_.is_joining(first) ? machine_.event(first.joining).index : std::numeric_limits<std::int32_t>::max();
    is_settled_ = true;
    trail_.push_back({Change::settled, 0, 0});
  }

  // Of the first thread: behind its first join. Of others: their ends.
  bool is_settled(EventId id) const {
    if (!is_settled_) return false;
    const Event<W>& e = machine_.event(id);
    return e.thread == first_thread ? e.index >= first_settled_ : status_of(id) == ThreadStatus::finished;
  }

  EventId pick_settled() {
    for (const ThreadState<W>& thread : machine_.threads())
      if (const EventId id = next_settled(thread); id != no_event) return id;
    return no_event;
  }

  // In program order, so that everything is known that an event depends on.
  EventId next_settled(const ThreadState<W>& thread) {
    for (std::size_t i = first_settled(thread); i < thread.events.size(); ++i) {
      const EventId id = thread.events[i];
      Event<W>& e = machine_.event(id);
      if (e.state == EventState::asleep) break;
      if (e.state != EventState::pending || is_absent(id)) continue;
      if (!commit_before_.is_enabled(thread, e)) break;
      if (e.is_weak || (e.kind == EventKind::choice && !e.is_guess)) machine_.note_that_ends_matter();
      return id;
    }
    return no_event;
  }

  std::size_t first_settled(const ThreadState<W>& thread) const {
    if (thread.number == first_thread) return static_cast<std::size_t>(first_settled_);
    return thread.status == ThreadStatus::finished && thread.end != no_event ? at(machine_.event(thread.end).index) : thread.events.size();
  }

  // Over ends, joins, and plain accesses that the thread does not wait at. The explorer goes on with the rest.
  void go_on_settled() {
    for (const ThreadState<W>& thread : machine_.threads())
      if (thread.number != first_thread && next_settled(thread) != no_event) commit_settled(thread.end);
    const ThreadState<W>& first = machine_.threads()[first_thread];
    for (Mark before = mark(); first.status == ThreadStatus::running; before = mark()) {
      const EventId id = next_settled(first);
      if (id == no_event || !is_plain(machine_.event(id)) || reads_open_value(id)) return;
      if (!commit_settled(id) || first.status == ThreadStatus::waiting || first.status == ThreadStatus::blocked) {
        undo(before);
        return;
      }
    }
  }

  static bool is_plain(const Event<W>& e) {
    return e.role == Role::synchronised || (e.role == Role::plain && (e.kind == EventKind::read || e.kind == EventKind::write));
  }

  bool commit_settled(EventId id) {
    if (machine_.event(id).kind == EventKind::write) require_address_order(id);
    const std::uint32_t place = location_of(id);
    const std::size_t last = locations_[place].order.size();
    return machine_.event(id).kind == EventKind::write ? commit_write(id, place, last) : commit_read(id, place, last);
  }

  // Of what others access that the thread has not joined it could see more than the last.
  void require_unnoticed(const Event<W>& e) {
    if (e.thread != first_thread || e.role == Role::synchronised) return;
    for (const ThreadState<W>& thread : machine_.threads()) {
      if (thread.number == first_thread || thread.events.empty() || has_joined(thread.number)) continue;
      if (accesses(thread.number, e)) machine_.note_that_ends_matter();
    }
  }

  bool commit_settled_read(EventId id, std::uint32_t place, std::size_t source, ItemKind kind) {
    require_unnoticed(machine_.event(id));
    if (chooses_last(place)) {
      if (!choose_last(place, source)) return false;
      source = locations_[place].order.size();
    }
    if (source != locations_[place].order.size()) return false;
    const std::optional<bool> failed = outline_read(id, place, source, kind);
    if (!failed) return false;
    pass_read(id, kind, *failed);
    return true;
  }

  bool commit_settled_write(EventId id, std::uint32_t place, std::size_t position) {
    Location<W>& location = locations_[place];
    if (position != location.order.size() && !location.is_last_chosen) return false;
    Event<W>& e = machine_.event(id);
    require_unnoticed(e);
    set_written(e, location.address);
    enter_items(id, ItemKind::write, no_event);
    e.state = EventState::committed;
    trail_.push_back({Change::decided, id, 0});
    location.order.push_back(id);
    trail_.push_back({Change::write, id, place});
    proceed(e.thread);
    return true;
  }

  void set_written(Event<W>& e, Address address) {
    machine_.set_address(e, address);
    e.value = *machine_.value(e.value_node) & low_bits(8u * e.size);
    e.undefined = machine_.undefined_written(e);
  }

  // ---- In the matrix ------------------------------------------------------------------------------------------------

  void require_success(EventId id) {
    machine_.event(id).must_succeed = true;
    trail_.push_back({Change::to_succeed, id, 0});
  }

  void take_guess(EventId store, std::uint16_t guess) {
    Event<W>& e = machine_.event(store);
    if (e.is_guessed) return;
    e.is_guessed = true;
    e.guess = guess;
    trail_.push_back({Change::guessed, store, 0});
  }

  void mark_absent(EventId id) {
    machine_.resolve_address(machine_.event(id));
    machine_.event(id).state = EventState::absent;
    trail_.push_back({Change::decided, id, 0});
  }

  EventId pick_at_random() {
    enabled_.clear();
    for (const ThreadState<W>& thread : machine_.threads()) {
      for (EventId id : thread.events) {
        Event<W>& e = machine_.event(id);
        if (e.state == EventState::asleep) break;
        if (e.state != EventState::pending || is_absent(id)) continue;
        if (commit_before_.is_enabled(thread, e) && !waits_for_alike(id)) enabled_.push_back(id);
        if (order_.in_order) break;
      }
    }
    return enabled_.empty() ? no_event : enabled_[chosen_by_seed() % enabled_.size()];
  }

  // What is picked must depend on what is committed, not on the order in which it was.
  std::uint64_t chosen_by_seed() const {
    std::uint64_t sum = 0;
    for (const RunItem<W>& item : items_) {
      const Key key = key_of(item.event);
      sum += scrambled((static_cast<std::uint64_t>(key.thread) << 32) ^ static_cast<std::uint64_t>(key.index));
    }
    return scrambled(sum ^ order_.pick_seed);
  }

  static std::uint64_t scrambled(std::uint64_t bits) {
    bits += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
  }

  bool is_hasty(EventId id) {
    const Event<W>& e = machine_.event(id);
    if (order_.in_order) return false;
    if (e.kind == EventKind::write) return !order_.same_location_writes && overtakes(e);
    if (e.role == Role::update_read)
      return !commit_before_.is_ready(machine_.threads()[at(e.thread)], machine_.event(e.partner)) ||
             failure_frees_others(id);
    if (e.kind != EventKind::choice) return false;
    const EventId conditional = conditional_of(id);
    if (conditional == no_event) return false;
    const Event<W>& write = machine_.event(conditional);
    return machine_.event(write.partner).state == EventState::pending || !machine_.value(write.address_node);
  }

  // What comes before an update whose read is committed and whose write may follow at once.
  Bits past_of_update(EventId read, EventId write) const {
    return items_[machine_.event(read).run_index].past | past_between(read, write);
  }

  Bits least_past_of_update(EventId read, EventId write) const {
    Bits past = least_past_of(write, no_event) | items_[machine_.event(read).run_index].least_past;
    past.clear(machine_.event(read).run_index);
    return past;
  }

  Bits past_between(EventId read, EventId write) const {
    Bits past = past_of(write, no_event);
    past.clear(machine_.event(read).run_index);
    return past;
  }

  bool overtakes(const Event<W>& write) const {
    return std::ranges::any_of(events_of(write.thread), [&](EventId id) {
      const Event<W>& o = machine_.event(id);
      const bool is_access = o.kind == EventKind::read || o.kind == EventKind::write;
      return is_access && o.index < write.index && o.state == EventState::pending && commit_before_.same_place(o, write);
    });
  }

  // The second half of an update: fetched with its read, or the store-conditional that follows it with no access between.
  EventId second_half(EventId read) const {
    const Event<W>& e = machine_.event(read);
    if (e.role == Role::update_read) return e.partner;
    if (e.role != Role::linked_load) return no_event;
    const std::vector<EventId>& events = events_of(e.thread);
    for (std::size_t i = at(e.index) + 1; i + 1 < events.size(); ++i) {
      const Event<W>& next = machine_.event(events[i]);
      if (next.kind == EventKind::fence) continue;
      const Event<W>& conditional = machine_.event(events[i + 1]);
      const bool found = next.kind == EventKind::choice && next.state == EventState::pending &&
                         conditional.chosen_by == events[i] && conditional.partner == read;
      return found ? events[i + 1] : no_event;
    }
    return no_event;
  }

  void include_item(std::size_t item, Bits& past) const {
    past |= items_[item].past;
    past.set(item);
  }

  void enter_items(EventId id, ItemKind kind, EventId source) {
    const Bits past = past_of(id, source);
    enter_items(id, kind, past, joins_halves() ? least_past_of(id, source) : past);
  }

  void enter_items(EventId id, ItemKind kind, const Bits& past, const Bits& least_past) {
    if (items_.size() >= Bits::capacity) throw CapacityNeeded{machine_.place_of(event(id))};
    machine_.event(id).run_index = static_cast<std::uint32_t>(items_.size());
    machine_.event(id).stamp = ++last_stamp_;
    items_.push_back({id, kind, past, least_past});
    ++n_commits_;
  }

  void enter_matrix(EventId id, std::int32_t event_class, std::optional<std::uint32_t> place) {
    Event<W>& e = machine_.event(id);
    if (matrix_.is_full()) throw CapacityNeeded{machine_.place_of(e)};
    e.matrix_index = matrix_.push_event(machine_, e, event_class, place ? &locations_[*place].members : nullptr);
    if (place && locations_[*place].birth.thread != none) relate_to_allocation(e, locations_[*place].birth);
    e.state = EventState::committed;
    trail_.push_back({Change::entered_matrix, id, place.value_or(0)});
  }

  // What another thread accesses was allocated before the next event of the thread that did. That is committed: nobody
  // else can have heard of the object without it.
  void relate_to_allocation(const Event<W>& access, const Birth& birth) {
    if (birth.thread == access.thread) return;
    if (birth.thread == first_thread && birth.n_events < n_early_) {
      if (machine_.started_after(access.thread) < birth.n_events) machine_.note_noticed(access.address);
      return;
    }
    const std::vector<EventId>& events = events_of(birth.thread);
    for (std::size_t i = birth.n_events; i < events.size(); ++i) {
      const std::uint32_t behind = event(events[i]).matrix_index;
      if (behind == not_in_matrix) continue;
      matrix_.insert_allocation(behind, access.matrix_index);
      return;
    }
  }

  void enter_shadow(EventId id) {
    const std::uint32_t place = location_of(id);
    Event<W>& e = machine_.event(id);
    if (matrix_.is_full()) throw CapacityNeeded{machine_.place_of(e)};
    e.shadow_index = static_cast<std::int32_t>(matrix_.push_event(machine_, e, e.event_class, &locations_[place].members, true));
    trail_.push_back({Change::shadow, id, place});
  }

  // An earlier access that is still pending orders what its address depends on before everything later (addr;po), but for
  // loose ones.
  void enter_shadows(EventId later) {
    if (order_.in_order) return;
    const Event<W>& e = machine_.event(later);
    for (std::size_t i = 0; i < at(e.index); ++i) {
      const EventId id = events_of(e.thread)[i];
      const Event<W>& earlier = machine_.event(id);
      if (earlier.state != EventState::pending || earlier.shadow_index != none || earlier.address_sources.empty() || earlier.is_loose) continue;
      if (is_certain(earlier)) enter_shadow(id);
    }
  }

  // Will it be committed for sure, and with its class?
  static bool is_certain(const Event<W>& e) {
    switch (e.role) {
      case Role::plain:
      case Role::linked_load: return e.kind == EventKind::read || e.kind == EventKind::write;
      case Role::update_read: return !e.is_compare;
      default: return false;
    }
  }

  bool decide() {
    ++n_checks_;
    return matrix_.is_allowed();
  }

  void proceed(std::int32_t thread) {
    machine_.advance(thread);
    take_local_events();
  }

  void take_local_events() {
    if (machine_.local_events().empty()) return;
    for (EventId id : machine_.local_events())
      if (!is_settled(id) && !is_early_fence(id)) enter_matrix(id, machine_.event(id).event_class, std::nullopt);
    machine_.local_events().clear();
    settle();
  }

  // An initial write, or a fence behind everything committed, is always allowed; deciding it now keeps the model at a
  // decided state whenever a mark is taken.
  void settle() {
    if (!matrix_.is_allowed()) throw std::logic_error("the model forbids a fence or an initial write");
  }

  bool is_outside(const Event<W>& e) const {
    return !machine_.is_in_object(e.address, e.size) && !machine_.starts_free(e.address) && !machine_.is_synchronisation(e);
  }

  // What came before the last own write is below it in coherence.
  std::size_t lowest(EventId id, std::uint32_t place, bool reads_count) const {
    const Location<W>& location = locations_[place];
    const Event<W>& e = machine_.event(id);
    const std::vector<EventId>& events = events_of(e.thread);
    std::size_t floor = location.n_early;
    for (auto i = at(e.index); i-- > 0;) {
      const Event<W>& o = machine_.event(events[i]);
      if (o.state != EventState::committed || o.kind == EventKind::fence || o.address != e.address) continue;
      if (o.kind == EventKind::write) return std::max(floor, location.position_of(events[i]));
      const bool has_source = o.kind == EventKind::read && o.read_from != no_event;
      // A write whose value was forwarded may still be pending.
      if (has_source && reads_count && machine_.event(o.read_from).state == EventState::committed)
        floor = std::max(floor, location.position_of(o.read_from));
    }
    return floor;
  }

  // To where it was among the writes.
  static void take_back_last(Location<W>& location, std::size_t position) {
    const EventId last = location.order.back();
    location.order.pop_back();
    location.order.insert(location.order.begin() + static_cast<std::ptrdiff_t>(position), last);
    location.is_last_chosen = false;
  }

  void take_back(const TrailEntry& entry) {
    if (entry.change == Change::last_chosen) {
      take_back_last(locations_[entry.location], entry.event);
      return;
    }
    Event<W>& e = machine_.event(entry.event);
    switch (entry.change) {
      case Change::entered_matrix:
        matrix_.forget(e.thread, e.matrix_index);
        if (e.kind != EventKind::fence) {
          locations_[entry.location].members.clear(e.matrix_index);
          e.state = EventState::pending;
        }
        e.matrix_index = not_in_matrix;
        break;
      case Change::shadow:
        matrix_.forget(e.thread, at(e.shadow_index));
        locations_[entry.location].members.clear(at(e.shadow_index));
        e.shadow_index = none;
        break;
      case Change::read:
        (e.read_from == no_event ? locations_[entry.location].initial_readers : machine_.event(e.read_from).readers)
            .clear(e.matrix_index);
        break;
      case Change::write: std::erase(locations_[entry.location].order, entry.event); break;
      case Change::to_succeed: e.must_succeed = false; break;
      case Change::guessed: e.is_guessed = false; break;
      case Change::settled: is_settled_ = false; break;
      case Change::early:
        e.state = EventState::pending;
        e.is_early = false;
        break;
      case Change::displaced: displacements_.pop_back(); break;
      case Change::last_chosen: break;
      case Change::asleep:
        e.state = EventState::pending;
        sleepers_.pop_back();
        break;
      case Change::awake:
        e.state = EventState::asleep;
        e.run_index = entry.location;
        break;
      case Change::early_failure:
        e.state = EventState::pending;
        e.failed_early = false;
        machine_.event(e.partner).must_fail = false;
        break;
      case Change::decided:
        n_failed_ -= e.state == EventState::failed;
        e.state = EventState::pending;
        break;
    }
  }

  const CommitOrder& order_;
  Matrix<W> matrix_;
  Machine<W> machine_;
  CommitBefore<W> commit_before_;
  UnseenWrites<W> unseen_writes_;
  const std::vector<Observable>& observed_;
  bool has_looked_ = false;  // for unseen writes
  std::vector<RunItem<W>> items_;
  std::vector<Location<W>> locations_;
  std::vector<TrailEntry> trail_;
  std::vector<EventId> sleepers_;
  std::vector<Displacement> displacements_;
  std::vector<EarlyLocation> early_;
  std::size_t n_early_ = 0;        // events of the first thread
  std::size_t n_early_items_ = 0;
  bool is_settled_ = false;
  std::int32_t first_settled_ = 0;  // of the events of the first thread
  std::uint64_t n_failed_ = 0;
  std::uint64_t last_stamp_ = 0;
  std::uint64_t n_commits_ = 0;
  std::uint64_t n_checks_ = 0;
  std::vector<EventId> enabled_;
};

}  // namespace dekker::rsmc
