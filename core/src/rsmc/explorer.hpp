// Explore, DetectRace and Traverse of the paper's Fig. 7, over a Machine and an IncrementalModel.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "dekker/incremental_model.hpp"
#include "rsmc/machine.hpp"

namespace dekker::rsmc {

// An event by its place in the program, which is the same in every run.
struct Key {
  std::int32_t thread = none;  // none: the initial write of the location in question
  std::int32_t index = 0;

  auto operator<=>(const Key&) const = default;
};

enum class ItemKind : std::uint8_t { read, failed_read, write, failed_write, choice };

// A committed event with its parameter: the source of a read, the coherence predecessor of a write, a chosen value.
struct TemplateItem {
  Key event;
  ItemKind kind;
  Key parameter;
  Value chosen = 0;

  auto operator<=>(const TemplateItem&) const = default;
};

struct Template {
  std::vector<TemplateItem> items;
  Key store;  // the store that the load is to read from, in every place it can have
  // For a store that is the second half of an update: its first half and what that reads from, which fixes the place.
  std::optional<Key> update;
  Key update_source;
};

// One call of Explore on a load: where it began, and the continuations found for it.
struct Activation {
  std::size_t run_size;
  std::vector<Template> templates;
  std::set<std::vector<TemplateItem>> seen;
};

template <std::size_t W>
class Explorer {
 public:
  Explorer(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
           const CommitOrder& order, const Limits& limits, const Progress& progress)
      : program_(program), order_(order), limits_(limits), progress_(progress), check_names_(check_names),
        model_(model, W), machine_(program, order, limits) {
    find_inputs();
    active_.resize(program.threads.size());
    matrix_of_thread_.resize(program.threads.size());
    if (limits.timeout_s > 0)
      deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                         std::chrono::duration<double>(limits.timeout_s));
  }

  Outcome run() {
    take_local_events();
    explore();
    return std::move(outcome_);
  }

 private:
  using Bits = FixedBits<W>;

  struct RunItem {
    EventId event;
    ItemKind kind;
    Bits past;  // of commit-before, in run indices
  };

  // The writes to one location in coherence order. The initial write comes first and is no event of the machine.
  struct Location {
    Address address;
    std::uint8_t size;
    Value initial_value;
    std::uint32_t initial_index;  // in the matrix
    Bits initial_readers;
    std::vector<EventId> order;
    Bits members;  // matrix indices of all accesses
  };

  struct Mark {
    typename Machine<W>::Mark machine;
    std::size_t run, matrix, locations, trail;
  };

  enum class Change : std::uint8_t { entered_matrix, shadow, read, write, decided };

  struct TrailEntry {
    Change change;
    EventId event;
    std::uint32_t location;
  };

  // ---- Explore ----------------------------------------------------------------------------------------------------

  void explore() {
    if (out_of_limits()) return;
    const EventId id = pick();
    if (id == no_event) {
      finish();
      return;
    }
    switch (machine_.event(id).kind) {
      case EventKind::read: explore_read(id); break;  // with the write behind it, where the two are one step
      case EventKind::write: explore_write(id); break;
      case EventKind::choice: explore_choice(id); break;
      case EventKind::fence: break;
    }
  }

  void explore_write(EventId id) {
    bool went_on = false;
    const std::uint32_t place = location_of(id);
    const Mark before = mark();
    const std::size_t lowest = lowest_position(id, place);
    for (std::size_t position = locations_[place].order.size() + 1; position-- > lowest;) {
      if (commit_write(id, place, position)) {
        went_on = true;
        explore();
      }
      undo(before);
      if (stopped()) return;
    }
    // An update that has no place goes on without it, to find races; it is enough to do so when there is none at all.
    if (!went_on && may_fail(id)) {
      went_on = true;
      explore_failure(id);
      undo(before);
    }
    if (!went_on) ++outcome_.statistics.blocked;
    if (!stopped()) detect_races(id);
  }

  bool may_fail(EventId id) const {
    const Role role = machine_.event(id).role;
    return role == Role::conditional_store || role == Role::update_write;
  }

  // The run goes on only to find races; it does not count.
  void explore_failure(EventId id) {
    commit_failure(id);
    explore();
  }

  void explore_read(EventId id) {
    const Key key = key_of(id);
    Activation activation{run_.size(), {}, {}};
    set_active(key, &activation);
    const std::uint64_t complete_before = progress_made();
    const std::uint32_t place = location_of(id);
    const Mark before = mark();
    const std::size_t floor = lowest_source(id, place);
    // The initial write is source 0, the others follow in coherence order.
    for (std::size_t source = locations_[place].order.size() + 1; source-- > floor;) {
      for (bool fails : {false, true}) {
        if (fails && !machine_.event(id).is_weak) continue;
        if (commit_load(id, place, source, fails)) explore();
        undo(before);
      }
      if (stopped()) break;
    }
    if (is_one_step(id) && !stopped()) detect_update_races(id, place);
    for (std::size_t i = 0; i < activation.templates.size() && !stopped(); ++i) {
      ++outcome_.statistics.templates;
      const Template next = activation.templates[i];
      traverse(next, key);
      undo(before);
    }
    set_active(key, nullptr);
    if (progress_made() == complete_before) ++outcome_.statistics.blocked;
  }

  std::uint64_t progress_made() const {
    const Statistics& s = outcome_.statistics;
    return s.complete + s.blocked + s.abandoned + s.cut + s.failed;
  }

  void explore_choice(EventId id) {
    const Mark before = mark();
    const Event<W>& e = machine_.event(id);
    const Instruction& instruction = program_.threads[at(e.thread)].code[at(e.pc)];
    const bool is_status = instruction.operation == Operation::store_conditional;
    const std::int64_t low = is_status ? 0 : instruction.low;
    const std::int64_t high = is_status ? 1 : instruction.high;
    for (std::int64_t chosen = low; chosen <= high && !stopped(); ++chosen) {
      commit_choice(id, static_cast<Value>(chosen));
      explore();
      undo(before);
    }
  }

  // ---- DetectRace -------------------------------------------------------------------------------------------------

  void detect_races(EventId store) {
    const Event<W>& e = machine_.event(store);
    const Bits past = past_of(store, no_event);
    for (std::size_t i = 0; i < run_.size(); ++i) {
      const Event<W>& load = machine_.event(run_[i].event);
      if (load.kind != EventKind::read || load.address != e.address || load.size != e.size || past.test(i)) continue;
      Activation* activation = active(key_of(run_[i].event));
      if (activation != nullptr) add_template(*activation, store, past);
    }
  }

  // For every store that the update could read from, if it had not lost its place to another update: that other one may
  // have to read from this one.
  void detect_update_races(EventId id, std::uint32_t place) {
    const std::size_t n_writes = locations_[place].order.size();
    for (std::size_t source = lowest_source(id, place); source <= n_writes; ++source) {
      if (!is_possible_update(id, place, source)) continue;
      const EventId store = source == 0 ? no_event : locations_[place].order[source - 1];
      Bits past = past_of(id, store);
      detect_races_of_update(id, place, source, past);
    }
  }

  void detect_races_of_update(EventId id, std::uint32_t place, std::size_t source, const Bits& past) {
    const std::vector<EventId>& order = locations_[place].order;
    const EventId store = source == 0 ? no_event : order[source - 1];
    const EventId next = source < order.size() ? order[source] : no_event;
    const bool next_is_update = next != no_event && machine_.event(next).role == Role::update_write &&
                                machine_.event(machine_.event(next).partner).read_from == store;
    for (std::size_t i = 0; i < run_.size(); ++i) {
      const Event<W>& load = machine_.event(run_[i].event);
      const Event<W>& e = machine_.event(id);
      if (load.kind != EventKind::read || load.address != e.address || load.size != e.size || past.test(i)) continue;
      Activation* activation = active(key_of(run_[i].event));
      if (activation == nullptr) continue;
      if (next_is_update) {
        const std::size_t taken = machine_.event(next).run_index;
        if (taken < activation->run_size || past.test(taken)) continue;
      }
      Template made;
      made.store = key_of(e.partner);
      made.update = key_of(id);
      made.update_source = store == no_event ? Key{} : key_of(store);
      add_template(*activation, std::move(made), past);
    }
  }

  // Would the update succeed from this source, and does the model allow that when atomicity is ignored?
  bool is_possible_update(EventId id, std::uint32_t place, std::size_t source) {
    const Mark before = mark();
    const EventId write = machine_.event(id).partner;
    skipped_checks_ = order_.atomicity_checks;
    const bool possible = commit_read(id, place, source, false) &&
                          machine_.event(write).state == EventState::pending && commit_write(write, place, source);
    skipped_checks_ = 0;
    undo(before);
    return possible;
  }

  void add_template(Activation& activation, EventId store, const Bits& past) {
    Template made;
    made.store = key_of(store);
    add_template(activation, std::move(made), past);
  }

  void add_template(Activation& activation, Template made, const Bits& past) {
    std::vector<TemplateItem> identity;
    for (std::size_t i = activation.run_size; i < run_.size(); ++i) {
      if (!past.test(i)) continue;
      made.items.push_back(template_item(i, activation.run_size, past, i));
      identity.push_back(template_item(i, activation.run_size, past, run_.size()));
    }
    std::ranges::sort(identity);
    identity.push_back({made.store, ItemKind::write, made.update_source, made.update.has_value()});
    if (activation.seen.insert(std::move(identity)).second) activation.templates.push_back(std::move(made));
  }

  // The item at run index `i`; the predecessor of a write is looked for among the prefix and the cut below `limit`.
  TemplateItem template_item(std::size_t i, std::size_t prefix, const Bits& past, std::size_t limit) const {
    const RunItem& item = run_[i];
    const Event<W>& e = machine_.event(item.event);
    TemplateItem result{key_of(item.event), item.kind, {}, 0};
    switch (item.kind) {
      case ItemKind::read:
      case ItemKind::failed_read: result.parameter = e.read_from == no_event ? Key{} : key_of(e.read_from); break;
      case ItemKind::write: result.parameter = predecessor(item.event, prefix, past, limit); break;
      case ItemKind::choice: result.chosen = e.value; break;
      case ItemKind::failed_write: break;
    }
    return result;
  }

  Key predecessor(EventId write, std::size_t prefix, const Bits& past, std::size_t limit) const {
    const std::vector<EventId>& order = locations_[find_location(machine_.event(write).address)].order;
    auto it = std::ranges::find(order, write);
    while (it != order.begin()) {
      --it;
      const std::size_t i = machine_.event(*it).run_index;
      if (i < prefix || (past.test(i) && i < limit)) return key_of(*it);
    }
    return {};
  }

  // ---- Traverse ---------------------------------------------------------------------------------------------------

  void traverse(const Template& next, Key load) {
    for (const TemplateItem& item : next.items)
      if (!replay(item)) {
        ++outcome_.statistics.blocked;
        return;
      }
    if (next.update) {
      traverse_update(next, load);
      return;
    }
    const EventId store = event_at(next.store);
    const std::uint32_t place = location_of(store);
    const Mark before = mark();
    const std::size_t lowest = lowest_position(store, place);
    for (std::size_t position = locations_[place].order.size() + 1; position-- > lowest;) {
      if (commit_write(store, place, position)) read_from_new(event_at(load), store);
      undo(before);
      if (stopped()) return;
    }
  }

  void traverse_update(const Template& next, Key load) {
    const EventId read = event_at(*next.update);
    const std::uint32_t place = location_of(read);
    if (commit_load(read, place, position_after(place, next.update_source), false))
      read_from_new(event_at(load), event_at(next.store));
  }

  // The store was just committed for the sake of the load.
  void read_from_new(EventId load, EventId store) {
    const Mark before = mark();
    const std::uint32_t place = location_of(load);
    const std::vector<EventId>& order = locations_[place].order;
    const std::size_t source = static_cast<std::size_t>(std::ranges::find(order, store) - order.begin()) + 1;
    for (bool fails : {false, true}) {
      if (fails && !machine_.event(load).is_weak) continue;
      if (commit_load(load, place, source, fails)) explore();
      undo(before);
      if (stopped()) return;
    }
  }

  // In program order nothing can come between the halves of an update that matters: they are committed in one step.
  bool is_one_step(EventId id) const { return order_.in_order && machine_.event(id).role == Role::update_read; }

  bool commit_load(EventId id, std::uint32_t place, std::size_t source, bool fails) {
    const EventId write = machine_.event(id).partner;
    if (!commit_read(id, place, source, fails)) return false;
    if (!is_one_step(id) || machine_.event(write).state != EventState::pending) return true;
    return commit_write(write, place, source);
  }

  bool replay(const TemplateItem& item) {
    const EventId id = event_at(item.event);
    switch (item.kind) {
      case ItemKind::choice: commit_choice(id, item.chosen); return true;
      case ItemKind::failed_write: commit_failure(id); return true;
      case ItemKind::write: {
        const std::uint32_t place = location_of(id);
        return commit_write(id, place, position_after(place, item.parameter));
      }
      case ItemKind::read:
      case ItemKind::failed_read: {
        if (item.parameter.thread == item.event.thread) {
          const EventId source = event_at(item.parameter);
          if (machine_.event(source).state == EventState::pending) return commit_forward(id, source);
        }
        const std::uint32_t place = location_of(id);
        return commit_read(id, place, position_after(place, item.parameter), item.kind == ItemKind::failed_read);
      }
    }
    return false;
  }

  // The place right behind the given write: where a write goes, and as a source the number of that write.
  std::size_t position_after(std::uint32_t place, Key write) const {
    if (write.thread == none) return 0;
    const std::vector<EventId>& order = locations_[place].order;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (key_of(order[i]) == write) return i + 1;
    throw std::logic_error("a continuation refers to a write that is not there");
  }

  // ---- Picking ----------------------------------------------------------------------------------------------------

  // Stores first: fewer races are then found late.
  EventId pick() {
    EventId read = no_event;
    for (const ThreadState<W>& thread : machine_.threads()) {
      for (EventId id : thread.events) {
        Event<W>& e = machine_.event(id);
        if (e.state != EventState::pending || is_absent(id)) continue;
        if (!is_enabled(thread, e)) {
          if (order_.in_order) break;
          continue;
        }
        if (e.kind != EventKind::read) return id;
        if (read == no_event) read = id;
        if (order_.in_order) break;
      }
    }
    return read;
  }

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
    mark_absent(id);
    return true;
  }

  void mark_absent(EventId id) {
    machine_.event(id).state = EventState::absent;
    trail_.push_back({Change::decided, id, 0});
  }

  bool is_enabled(const ThreadState<W>& thread, Event<W>& e) {
    if (e.kind == EventKind::choice) return true;
    if (order_.in_order) return machine_.resolve_address(e);
    if (!sources_decided(e) || !machine_.resolve_address(e)) return false;
    for (EventId id : thread.events) {
      Event<W>& earlier = machine_.event(id);
      if (earlier.index == e.index) return true;
      if (earlier.kind == EventKind::fence || earlier.kind == EventKind::choice) continue;
      if (!machine_.are_decided(earlier.address_sources)) return false;
      if (earlier.state != EventState::pending) continue;
      if (e.ordered_after.test(id)) return false;
      machine_.resolve_address(earlier);
      if (same_place(earlier, e) && is_kept(earlier, e)) return false;
    }
    return true;
  }

  bool sources_decided(const Event<W>& e) const {
    if (e.chosen_by != no_event && machine_.event(e.chosen_by).state == EventState::pending) return false;
    if (!machine_.are_decided(e.address_sources) || !machine_.are_decided(e.control)) return false;
    if (e.kind == EventKind::write) return machine_.are_decided(e.data_sources);
    // The class of the read half depends on whether it succeeds.
    return !e.is_compare || e.failed_class == e.event_class || machine_.are_decided(e.data_sources);
  }

  static bool same_place(const Event<W>& left, const Event<W>& right) {
    return left.address < right.address + right.size && right.address < left.address + left.size;
  }

  bool is_kept(const Event<W>& earlier, const Event<W>& later) const {
    if (later.kind == EventKind::write)
      return order_.same_location_writes || later.role != Role::plain || earlier.role != Role::plain;
    return order_.same_location_reads || earlier.kind == EventKind::write;
  }

  // ---- Committing -------------------------------------------------------------------------------------------------

  bool commit_read(EventId id, std::uint32_t place, std::size_t source, bool fails) {
    Location& location = locations_[place];
    Event<W>& e = machine_.event(id);
    e.read_from = source == 0 ? no_event : location.order[source - 1];
    e.value = source == 0 ? location.initial_value : machine_.event(e.read_from).value;
    bool failed = fails;
    if (e.is_compare) {
      const std::optional<bool> succeeds = machine_.compare_succeeds(e, e.value);
      if (fails && !succeeds.value_or(false)) return false;
      failed = fails || !succeeds.value_or(true);
    }
    enter_run(id, fails ? ItemKind::failed_read : ItemKind::read, e.read_from);
    enter_matrix(id, failed ? e.failed_class : e.event_class, place);
    const std::uint32_t m = e.matrix_index;
    const std::uint32_t w = source == 0 ? location.initial_index : machine_.event(e.read_from).matrix_index;
    insert_pair(inputs_.rf, w, m);
    Bits later;
    for (std::size_t i = source; i < location.order.size(); ++i) later.set(machine_.event(location.order[i]).matrix_index);
    insert_successors(inputs_.fr, later);
    (source == 0 ? location.initial_readers : machine_.event(e.read_from).readers).set(m);
    trail_.push_back({Change::read, id, place});
    if (!decide()) return false;
    settle_partner(id, failed);
    proceed(e.thread);
    return true;
  }

  // The write of a compare-exchange whose outcome is known.
  void settle_partner(EventId id, bool failed) {
    const Event<W>& e = machine_.event(id);
    if (!e.is_compare || !failed) return;
    mark_absent(e.partner);
  }

  bool commit_write(EventId id, std::uint32_t place, std::size_t position) {
    Event<W>& e = machine_.event(id);
    if (e.role == Role::conditional_store && !can_succeed(e)) return false;
    Location& location = locations_[place];
    e.address = location.address;
    e.value = *machine_.value(e.value_node) & low_bits(8u * e.size);
    enter_run(id, ItemKind::write, no_event);
    enter_matrix(id, e.event_class, place);
    Bits before, after, readers = location.initial_readers;
    before.set(location.initial_index);
    for (std::size_t i = 0; i < location.order.size(); ++i) {
      const Event<W>& other = machine_.event(location.order[i]);
      (i < position ? before : after).set(other.matrix_index);
      if (i < position) readers |= other.readers;
    }
    insert_predecessors(inputs_.co, before);
    insert_successors(inputs_.co, after);
    insert_predecessors(inputs_.fr, readers);
    if (e.role == Role::conditional_store || e.role == Role::update_write) insert_update(e);
    insert_successors(inputs_.rf, e.readers);
    location.order.insert(location.order.begin() + static_cast<std::ptrdiff_t>(position), id);
    trail_.push_back({Change::write, id, place});
    if (!decide()) return false;
    proceed(e.thread);
    return true;
  }

  bool can_succeed(const Event<W>& e) const {
    if (e.partner == no_event) return false;
    const Event<W>& linked = machine_.event(e.partner);
    return linked.state == EventState::committed && linked.address == e.address;
  }

  void insert_update(const Event<W>& e) {
    const std::uint32_t read = machine_.event(e.partner).matrix_index;
    insert_pair(inputs_.rmw, read, e.matrix_index);
    insert_pair(e.role == Role::update_write ? inputs_.amo : inputs_.lxsx, read, e.matrix_index);
  }

  void commit_failure(EventId id) {
    Event<W>& e = machine_.event(id);
    enter_run(id, ItemKind::failed_write, no_event);
    e.state = EventState::failed;
    ++abandoned_;
    trail_.push_back({Change::decided, id, 0});
    proceed(e.thread);
  }

  void commit_choice(EventId id, Value chosen) {
    Event<W>& e = machine_.event(id);
    e.value = chosen;
    enter_run(id, ItemKind::choice, no_event);
    e.state = EventState::committed;
    trail_.push_back({Change::decided, id, 0});
    settle_conditional(id);
    proceed(machine_.event(id).thread);
  }

  // The write that a choice decides on comes right behind it.
  void settle_conditional(EventId choice) {
    const std::vector<EventId>& events = machine_.threads()[at(machine_.event(choice).thread)].events;
    const std::size_t next = at(machine_.event(choice).index) + 1;
    if (next < events.size() && machine_.event(events[next]).chosen_by == choice) is_absent(events[next]);
  }

  void proceed(std::int32_t thread) {
    machine_.advance(thread);
    take_local_events();
  }

  bool decide() {
    ++outcome_.statistics.checks;
    return model_.is_allowed(skipped_checks_);
  }

  void enter_run(EventId id, ItemKind kind, EventId source) {
    if (run_.size() >= Bits::capacity) throw CapacityNeeded{};
    const Bits past = past_of(id, source);
    machine_.event(id).run_index = static_cast<std::uint32_t>(run_.size());
    run_.push_back({id, kind, past});
    ++outcome_.statistics.commits;
  }

  // What commit-before puts before the event, in run indices.
  Bits past_of(EventId id, EventId source) const {
    Bits past;
    const Event<W>& e = machine_.event(id);
    const auto include = [&](EventId other) {
      const Event<W>& o = machine_.event(other);
      if (o.kind == EventKind::fence || o.state == EventState::absent || o.state == EventState::pending) return;
      past |= run_[o.run_index].past;
      past.set(o.run_index);
    };
    const bool forwards = source != no_event && may_forward(e, machine_.event(source));
    if (source != no_event && !forwards) include(source);
    const auto include_sources = [&](const Sources<W>& sources) {
      const Sources<W> exact = machine_.resolved(sources);
      (exact.direct | exact.picked).for_each([&](std::size_t s) { include(static_cast<EventId>(s)); });
    };
    const std::vector<EventId>& thread_events = machine_.threads()[at(e.thread)].events;
    if (order_.in_order) {
      for (EventId other : thread_events) {
        if (machine_.event(other).index >= e.index) break;
        include(other);
      }
      return past;
    }
    if (e.chosen_by != no_event) include(e.chosen_by);
    include_sources(e.address_sources);
    include_sources(e.control);
    if (e.kind == EventKind::write || e.failed_class != e.event_class) include_sources(e.data_sources);
    if (forwards) include_sources(machine_.event(source).data_sources);
    for (EventId other : thread_events) {
      const Event<W>& earlier = machine_.event(other);
      if (earlier.index >= e.index) break;
      if (earlier.kind == EventKind::fence || earlier.kind == EventKind::choice) continue;
      include_sources(earlier.address_sources);
      if (e.kind == EventKind::choice) continue;
      const bool kept = !forwards && same_place(earlier, e) && is_kept(earlier, e);
      if (kept || e.ordered_after.test(other)) include(other);
    }
    return past;
  }

  // May the read take this value before the write is committed?
  bool may_forward(const Event<W>& read, const Event<W>& write) const {
    return order_.forwarding && read.role == Role::plain && write.role == Role::plain && read.thread == write.thread;
  }

  // The write it reads from is not committed yet; its value is known.
  bool commit_forward(EventId id, EventId source) {
    const std::uint32_t place = location_of(id);
    Event<W>& e = machine_.event(id);
    Event<W>& write = machine_.event(source);
    e.read_from = source;
    write.value = *machine_.value(write.value_node) & low_bits(8u * write.size);
    e.value = write.value;
    if (write.shadow_index == none) enter_shadow(source, place);
    enter_run(id, ItemKind::read, source);
    enter_matrix(id, e.event_class, place);
    write.readers.set(e.matrix_index);
    trail_.push_back({Change::read, id, place});
    if (!decide()) return false;
    proceed(e.thread);
    return true;
  }

  // ---- The matrix -------------------------------------------------------------------------------------------------

  struct Inputs {
    std::size_t po, rf, co, fr, loc, internal, external, identity;
    std::size_t addr, data, ctrl, pick_addr, pick_data, pick_ctrl, status_addr, status_data, status_ctrl;
    std::size_t rmw, amo, lxsx;
  };

  void find_inputs() {
    const auto find = [&](std::string_view name) { return model_.input_index(name); };
    inputs_ = {find("po"), find("rf"), find("co"), find("fr"), find("loc"), find("int"), find("ext"), find("id"),
               find("addr"), find("data"), find("ctrl"), find("pick-addr"), find("pick-data"), find("pick-ctrl"),
               find("status-addr"), find("status-data"), find("status-ctrl"), find("rmw"), find("amo"), find("lxsx")};
  }

  static constexpr std::size_t unused = static_cast<std::size_t>(-1);

  void insert_pair(std::size_t input, std::size_t from, std::size_t to) {
    if (input != unused) model_.insert_pair(input, from, to);
  }
  void insert_successors(std::size_t input, const Bits& targets) {
    if (input != unused && !targets.empty()) model_.insert_successors(input, targets.words.data());
  }
  void insert_predecessors(std::size_t input, const Bits& sources) {
    if (input != unused && !sources.empty()) model_.insert_predecessors(input, sources.words.data());
  }

  std::uint32_t push_matrix(std::int32_t event_class) {
    if (model_.n_events() >= Bits::capacity) throw CapacityNeeded{};
    const std::uint32_t m = static_cast<std::uint32_t>(model_.n_events());
    model_.push_event();
    for (std::size_t set : program_.classes[at(event_class)].sets) model_.insert_member(set, m);
    insert_pair(inputs_.identity, m, m);
    return m;
  }

  void enter_matrix(EventId id, std::int32_t event_class, std::optional<std::uint32_t> place) {
    Event<W>& e = machine_.event(id);
    const std::uint32_t m = push_matrix(event_class);
    e.matrix_index = m;
    e.state = EventState::committed;
    insert_place(e, m, place);
    trail_.push_back({Change::entered_matrix, id, place.value_or(0)});
  }

  // Where the event stands: in its thread, at its location, behind what it depends on.
  void insert_place(const Event<W>& e, std::uint32_t m, std::optional<std::uint32_t> place) {
    Bits& own = matrix_of_thread_[at(e.thread)];
    insert_program_order(e);
    Bits others;
    for (std::size_t i = 0; i < m; ++i)
      if (!own.test(i)) others.set(i);
    insert_predecessors(inputs_.external, others);
    insert_successors(inputs_.external, others);
    own.set(m);
    insert_predecessors(inputs_.internal, own);
    insert_successors(inputs_.internal, own);
    if (place) {
      Bits& members = locations_[*place].members;
      members.set(m);
      insert_predecessors(inputs_.loc, members);
      insert_successors(inputs_.loc, members);
    }
    insert_dependencies(e);
  }

  void enter_shadow(EventId id, std::uint32_t place) {
    Event<W>& e = machine_.event(id);
    const std::uint32_t m = push_matrix(e.event_class);
    e.shadow_index = static_cast<std::int32_t>(m);
    insert_place(e, m, place);
    trail_.push_back({Change::shadow, id, place});
  }

  void insert_program_order(const Event<W>& e) {
    Bits before, after;
    for (EventId other : machine_.threads()[at(e.thread)].events) {
      const Event<W>& o = machine_.event(other);
      if (o.index == e.index) continue;
      Bits& side = o.index < e.index ? before : after;
      if (o.shadow_index != none) side.set(at(o.shadow_index));
      if (o.matrix_index != not_in_matrix) side.set(o.matrix_index);
    }
    insert_predecessors(inputs_.po, before);
    insert_successors(inputs_.po, after);
  }

  void insert_dependencies(const Event<W>& e) {
    insert_sources(e.control, inputs_.ctrl, inputs_.pick_ctrl, inputs_.status_ctrl);
    if (e.kind == EventKind::fence) return;
    insert_sources(e.address_sources, inputs_.addr, inputs_.pick_addr, inputs_.status_addr);
    if (e.kind == EventKind::write) insert_sources(e.data_sources, inputs_.data, inputs_.pick_data, inputs_.status_data);
  }

  bool tells_picks_apart() const {
    return inputs_.pick_addr != unused || inputs_.pick_data != unused || inputs_.pick_ctrl != unused;
  }

  void insert_sources(const Sources<W>& sources, std::size_t direct, std::size_t picked, std::size_t status) {
    if (sources.deferred == none && sources.direct.empty() && sources.picked.empty()) return;
    const Sources<W> exact = machine_.resolved(sources);
    Bits reads, picked_reads, writes;
    const auto place = [&](std::size_t s, Bits& target) {
      const Event<W>& e = machine_.event(static_cast<EventId>(s));
      if (e.state != EventState::committed || e.kind == EventKind::choice) return;
      (e.kind == EventKind::read ? target : writes).set(e.matrix_index);
    };
    exact.direct.for_each([&](std::size_t s) { place(s, reads); });
    exact.picked.for_each([&](std::size_t s) { place(s, picked_reads); });
    // A model that does not tell picked dependencies apart takes them for ordinary ones.
    if (!tells_picks_apart()) reads |= picked_reads;
    insert_predecessors(direct, reads);
    insert_predecessors(picked, picked_reads);
    insert_predecessors(status, writes);
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
      const Location& location = locations_[i];
      if (location.address == e.address && location.size == e.size) return static_cast<std::uint32_t>(i);
      if (location.address < e.address + e.size && e.address < location.address + location.size)
        throw MixedSizes{e.thread, e.pc};
    }
    note_address(e);
    Location made{e.address, e.size, initial_value(e.address, e.size), push_matrix(program_.initial_class), {}, {}, {}};
    Bits others;
    for (std::size_t i = 0; i < made.initial_index; ++i) others.set(i);
    insert_predecessors(inputs_.external, others);
    insert_successors(inputs_.external, others);
    insert_pair(inputs_.internal, made.initial_index, made.initial_index);
    insert_pair(inputs_.loc, made.initial_index, made.initial_index);
    made.members.set(made.initial_index);
    locations_.push_back(std::move(made));
    settle();
    return static_cast<std::uint32_t>(locations_.size() - 1);
  }

  Value initial_value(Address address, std::uint8_t size) const {
    Value result = 0;
    for (unsigned i = 0; i < size; ++i) {
      const auto found = program_.initial_bytes.find(address + i);
      if (found != program_.initial_bytes.end()) result |= Value{found->second} << (8 * i);
    }
    return result;
  }

  void note_address(const Event<W>& e) {
    for (const ObjectRange& object : program_.objects)
      if (e.address >= object.start && e.address - object.start + e.size <= object.size) return;
    note_violation({ViolationKind::memory, e.thread, e.pc, e.address});
  }

  void note_violation(const Violation& violation) {
    if (std::ranges::find(outcome_.violations, violation) == outcome_.violations.end())
      outcome_.violations.push_back(violation);
  }

  // Coherence within the thread: not before its own earlier writes, nor before what its earlier reads saw.
  std::size_t lowest_position(EventId id, std::uint32_t place) const { return lowest(id, place, true); }
  std::size_t lowest_source(EventId id, std::uint32_t place) const { return lowest(id, place, order_.same_location_reads); }

  std::size_t lowest(EventId id, std::uint32_t place, bool reads_count) const {
    const Location& location = locations_[place];
    const Event<W>& e = machine_.event(id);
    std::size_t floor = 0;
    for (EventId other : machine_.threads()[at(e.thread)].events) {
      const Event<W>& o = machine_.event(other);
      if (o.index >= e.index) break;
      if (o.state != EventState::committed || o.kind == EventKind::fence || o.address != e.address) continue;
      if (o.kind == EventKind::write) floor = std::max(floor, position_of(location, other));
      if (o.kind == EventKind::read && reads_count && o.read_from != no_event)
        floor = std::max(floor, position_of(location, o.read_from));
    }
    return floor;
  }

  static std::size_t position_of(const Location& location, EventId write) {
    return static_cast<std::size_t>(std::ranges::find(location.order, write) - location.order.begin()) + 1;
  }

  // ---- Local events, taking back, ending ----------------------------------------------------------------------------

  void take_local_events() {
    if (machine_.local_events().empty()) return;
    for (EventId id : machine_.local_events()) enter_matrix(id, machine_.event(id).event_class, std::nullopt);
    machine_.local_events().clear();
    settle();
  }

  // An initial write, or a fence behind everything committed, is always allowed; deciding it now keeps the model at a
  // decided state whenever a mark is taken.
  void settle() {
    if (!model_.is_allowed(skipped_checks_)) throw std::logic_error("the model forbids a fence or an initial write");
  }

  Mark mark() const { return {machine_.mark(), run_.size(), model_.n_events(), locations_.size(), trail_.size()}; }

  void undo(const Mark& mark) {
    while (trail_.size() > mark.trail) {
      take_back(trail_.back());
      trail_.pop_back();
    }
    run_.resize(mark.run);
    locations_.resize(mark.locations);
    model_.pop_to(mark.matrix);
    machine_.undo(mark.machine);
  }

  void take_back(const TrailEntry& entry) {
    Event<W>& e = machine_.event(entry.event);
    switch (entry.change) {
      case Change::entered_matrix:
        matrix_of_thread_[at(e.thread)].clear(e.matrix_index);
        if (e.kind != EventKind::fence) {
          locations_[entry.location].members.clear(e.matrix_index);
          e.state = EventState::pending;
        }
        e.matrix_index = not_in_matrix;
        break;
      case Change::shadow:
        matrix_of_thread_[at(e.thread)].clear(at(e.shadow_index));
        locations_[entry.location].members.clear(at(e.shadow_index));
        e.shadow_index = none;
        break;
      case Change::read:
        (e.read_from == no_event ? locations_[entry.location].initial_readers : machine_.event(e.read_from).readers)
            .clear(e.matrix_index);
        break;
      case Change::write: std::erase(locations_[entry.location].order, entry.event); break;
      case Change::decided:
        abandoned_ -= e.state == EventState::failed;
        e.state = EventState::pending;
        break;
    }
  }

  void finish() {
    Statistics& statistics = outcome_.statistics;
    bool cut = false, blocked = false, failed = false;
    for (std::size_t t = 0; t < machine_.threads().size(); ++t) {
      const ThreadState<W>& thread = machine_.threads()[t];
      cut |= thread.status == ThreadStatus::cut;
      blocked |= thread.status == ThreadStatus::blocked || thread.status == ThreadStatus::running;
      if (thread.status == ThreadStatus::failed) {
        failed = true;
        if (abandoned_ == 0) note_violation({ViolationKind::assertion, static_cast<std::int32_t>(t), thread.pc, 0});
      }
    }
    if (abandoned_ != 0) ++statistics.abandoned;
    else if (failed) ++statistics.failed;
    else if (cut) ++statistics.cut;
    else if (blocked) ++statistics.blocked;
    else complete();
  }

  void complete() {
    ++outcome_.statistics.complete;
    state_.clear();
    for (const Observable& observable : program_.observed) state_.push_back(observed_value(observable));
    ++outcome_.states[state_];
    const Word flags = model_.raised_flags();
    for (std::size_t i = 0; i < check_names_.size() && flags != 0; ++i)
      if ((flags & bit(i)) != 0) ++outcome_.flags[check_names_[i]];
    if (limits_.max_traces != 0 && outcome_.statistics.complete >= limits_.max_traces) outcome_.stop = Stop::traces;
  }

  Value observed_value(const Observable& observable) const {
    if (observable.thread != none) return machine_.final_register(observable.thread, observable.register_number);
    Value result = initial_value(observable.address, observable.size);
    for (const Location& location : locations_) {
      if (location.order.empty()) continue;
      const Value last = machine_.event(location.order.back()).value;
      for (unsigned i = 0; i < location.size; ++i) {
        const Address byte = location.address + i;
        if (byte < observable.address || byte >= observable.address + observable.size) continue;
        const unsigned shift = 8 * static_cast<unsigned>(byte - observable.address);
        result = (result & ~(Value{0xFF} << shift)) | (((last >> (8 * i)) & 0xFF) << shift);
      }
    }
    return result;
  }

  bool stopped() const { return outcome_.stop != Stop::not_stopped; }

  bool out_of_limits() {
    if (stopped()) return true;
    if ((++steps_ & 0xFFF) != 0) return false;
    if (deadline_ && std::chrono::steady_clock::now() > *deadline_) outcome_.stop = Stop::time;
    if (progress_ && !progress_(outcome_.statistics)) outcome_.stop = Stop::interrupt;
    return stopped();
  }

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  Key key_of(EventId id) const { return {machine_.event(id).thread, machine_.event(id).index}; }

  EventId event_at(Key key) const {
    const std::vector<EventId>& events = machine_.threads()[at(key.thread)].events;
    if (at(key.index) >= events.size()) throw std::logic_error("a continuation refers to an event that is not fetched");
    return events[at(key.index)];
  }

  Activation* active(Key key) const {
    const std::vector<Activation*>& of_thread = active_[at(key.thread)];
    return at(key.index) < of_thread.size() ? of_thread[at(key.index)] : nullptr;
  }

  void set_active(Key key, Activation* activation) {
    std::vector<Activation*>& of_thread = active_[at(key.thread)];
    if (at(key.index) >= of_thread.size()) of_thread.resize(at(key.index) + 1, nullptr);
    of_thread[at(key.index)] = activation;
  }

  const Program& program_;
  CommitOrder order_;
  Limits limits_;
  const Progress& progress_;
  const std::vector<std::string>& check_names_;
  IncrementalModel model_;
  Machine<W> machine_;
  Inputs inputs_{};
  std::vector<RunItem> run_;
  std::vector<Location> locations_;
  std::vector<TrailEntry> trail_;
  std::vector<Bits> matrix_of_thread_;
  std::vector<std::vector<Activation*>> active_;
  std::vector<Value> state_;
  std::uint64_t abandoned_ = 0;
  Word skipped_checks_ = 0;
  std::uint64_t steps_ = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  Outcome outcome_;
};

}  // namespace dekker::rsmc
