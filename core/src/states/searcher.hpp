// Finds all states, final values and violations.
#pragma once

#include <chrono>
#include <deque>
#include <set>

#include "process_memory.hpp"
#include "states/numbering.hpp"
#include "states/steps.hpp"

namespace dekker::states {

class Searcher : Numbering {
 public:
  Searcher(const Program& program, const Options& options, Assumptions assumptions, const Progress& progress)
      : Numbering(program, options, assumptions),
        progress_(progress),
        steps_(machine_, program),
        solo_(machine_, program),
        started_(std::chrono::steady_clock::now()) {
    if (options_.robust) options_.reduce = options_.dynamic_local = false;
    options_.tells_waiting = !options_.robust && (options_.leaks || !program.observed.empty()) && has(Operation::exit);
    uses_futures_ = options_.reduce && !options_.compact && !options_.tells_waiting && !has(Operation::atomic_begin) &&
                    (spawns_ || !machine_.renames());  // else locals of equal threads change places
  }

  Outcome run() {
    if (!options_.robust || explore_sequentially()) explore();
    finish();
    return std::move(outcome_);
  }

 private:
  static constexpr std::uint32_t no_state = Visited::nowhere;

  // A state from which only some threads went on, as bits; and when futures last allowed that.
  struct Reduced {
    std::uint32_t number;
    std::uint64_t threads;
    std::uint64_t version;
  };

  struct Postponed {
    std::vector<std::uint32_t> ids;
    std::uint32_t parent = 0;
    std::uint64_t hash = 0;
  };

  // Where steps lead: to the same state, only to states that have not been expanded before, or back.
  enum class Progressed : std::uint8_t { nowhere, ahead, back };

  // A step from one state to another.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };

  // What SC reaches. Returns whether there is anything left to find: what goes wrong there does so under the model, too.
  bool explore_sequentially() {
    const Model model = options_.model;
    options_.model = Model::sc;
    explore();
    if (outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation)) return false;
    options_.model = model;
    sequential_ = std::move(visited_);
    is_second_phase_ = true;
    return true;
  }

  // ---- The search -----------------------------------------------------------------------------------------------------

  void explore() {
    begin();
    expand_all();
    for (int n_restarts = 0; !is_stopped() && has_wrong_choices(); ++n_restarts) {
      if (n_restarts < most_restarts && visited_.size() < largest_restart)
        begin();  // with the futures that are known now choices are better
      else
        correct_choices();
      if (!is_stopped()) expand_all();
    }
    stack_.clear();
    add_postponed();
    update_statistics();
  }

  void begin() {
    visited_ = {};
    stack_.clear();
    is_expanded_.clear();
    reduced_.clear();
    known_violations_.clear();
    known_outcomes_.clear();
    outcome_.statistics = {};
    has_violation_ = false;
    next_ = level_end_ = 0;
    n_postponed_ = n_tried_ = 0;
    machine_.contents().forget_drafts();
    State start = machine_.initial();
    add(start, no_state);
  }

  void expand_all() {
    while (const std::optional<std::uint32_t> number = take_next()) {
      if (should_stop(*number)) return;
      if (!options_.depth_first) look_ahead(*number);
      expand(*number);
    }
  }

  std::optional<std::uint32_t> take_next() {
    if (options_.depth_first) {
      if (stack_.empty()) return {};
      const std::uint32_t number = stack_.back();
      stack_.pop_back();
      is_expanded_[number] = true;
      return number;
    }
    if (next_ == level_end_) {  // states of a larger distance begin
      add_postponed();
      if (next_ == visited_.size()) return {};
      level_end_ = static_cast<std::uint32_t>(visited_.size());
    }
    return next_++;
  }

  bool is_stopped() const { return outcome_.stop != Stop::not_stopped || (has_violation_ && options_.stop_at_violation); }

  // `next` is to be expanded now.
  bool should_stop(std::uint32_t next) {
    if (has_violation_ && options_.stop_at_violation) return true;
    if (options_.max_states != 0 && visited_.size() >= options_.max_states) return stop(Stop::states);
    if (++n_expanded_ % 1024 != 0) return false;
    if (!options_.depth_first) visited_.forget(next);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    if (options_.timeout_s > 0 && elapsed.count() > options_.timeout_s) return stop(Stop::time);
    if (n_expanded_ % 16384 != 0) return false;
    update_statistics();
    if (progress_ && !progress_(outcome_.statistics)) return stop(Stop::interrupt);
    if (options_.memory_bytes != 0 && process_memory() > options_.memory_bytes) return at_memory_limit(next);
    return false;
  }

  bool at_memory_limit(std::uint32_t next) {
    const bool may_compact = options_.compact && !options_.depth_first && !options_.robust;
    if (!may_compact) return stop(Stop::memory);
    add_postponed();
    if (!visited_.is_compact()) {
      visited_.become_compact(next);
      return false;
    }
    return process_memory() > 2 * options_.memory_bytes ? stop(Stop::memory) : false;
  }

  bool stop(Stop reason) {
    outcome_.stop = reason;
    return true;
  }

  void expand(std::uint32_t number) {
    set_from(number);
    if (options_.depth_first) hashes_.assign(from_.size() - 1, 0);
    if (is_final()) {
      record_final(number);
      return;
    }
    find_readiness();
    const std::uint64_t before = n_successors_;
    const std::int32_t holder = section_holder();
    if (holder != none) {
      step(number, holder, false);
      finish_expansion(number, before);
      return;
    }
    std::uint64_t done = 0;
    if (options_.reduce) {
      const std::int32_t unnoticed = unnoticed_thread();
      done = unnoticed != none ? bit(unnoticed) : persistent_threads();
      if (done != 0 && step_some(number, done, true) == Progressed::ahead) {
        if (unnoticed == none) reduced_.push_back({number, done, futures_.version()});
        return;
      }
    }
    step_some(number, ~done, false);
    finish_expansion(number, before);
  }

  void set_from(std::uint32_t number) {
    const std::span<const std::uint32_t> ids = visited_[number];
    from_.assign(ids.begin(), ids.end());
    is_decoded_ = false;
  }

  void find_readiness() {
    readiness_.resize(from_.size() - 1);
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t) readiness_[at(t)] = readiness(t);
  }

  Progressed step_some(std::uint32_t number, std::uint64_t threads, bool asks) {
    Progressed result = Progressed::nowhere;
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t)
      if ((threads & bit(t)) != 0 && readiness_[at(t)] != Readiness::nothing) result = std::max(result, step(number, t, asks));
    return result;
  }

  void finish_expansion(std::uint32_t number, std::uint64_t before) {
    if (n_successors_ == before) ++outcome_.statistics.blocked;
    if (!may_be_deadlock()) return;
    if (options_.tells_waiting && ends_waiting())
      record_final(number);
    else
      look_for_deadlock(number);
  }

  // The state that is expanded, as one that steps can start from.
  State& current() {
    if (!is_decoded_) decode_state(from_, current_);
    is_decoded_ = true;
    return current_;
  }

  // ---- Steps that are known -------------------------------------------------------------------------------------------

  // `key_` becomes what a step of the thread depends on. Returns whether it may be kept: it says nothing about
  // numbers of allocated objects, which depend on all threads, nor about links, which writes break.
  bool make_key(std::span<const std::uint32_t> ids, std::size_t t) {
    if (options_.robust || ids.size() > most_key_threads) return false;
    key_.assign({static_cast<std::uint32_t>(t), ids[0], ids[1 + t]});
    for (std::size_t u = 1; u < ids.size(); ++u) {
      if (u == 1 + t) continue;
      const ThreadFacts& other = facts(ids[u]);
      if (other.has_link) return false;
      key_.push_back(other.face);
    }
    return true;
  }

  bool make_key(std::int32_t t) {
    if (!make_key(from_, at(t))) return false;
    if (hashes_[at(t)] == 0) hashes_[at(t)] = hash_words(key_.data(), key_.size());
    return true;
  }

  // What is known of the steps of states that come soon is fetched from memory: first where it is, then itself.
  void look_ahead(std::uint32_t number) {
    if (number + far_ahead < visited_.size()) {
      std::vector<std::uint64_t>& hashes = ahead_[(number + far_ahead) % ahead_.size()];
      const std::span<const std::uint32_t> ids = visited_[number + far_ahead];
      hashes.assign(ids.size() - 1, 0);
      for (std::size_t t = 0; t + 1 < ids.size(); ++t)
        if (facts(ids[1 + t]).status == ThreadStatus::running && make_key(ids, t)) {
          hashes[t] = hash_words(key_.data(), key_.size());
          cache_.announce(hashes[t]);
        }
    } else {
      ahead_[(number + far_ahead) % ahead_.size()].clear();
    }
    for (const std::uint64_t hash : ahead_[(number + far_ahead / 2) % ahead_.size()])
      if (hash != 0) cache_.announce_record(hash);
    hashes_ = ahead_[number % ahead_.size()];
    if (hashes_.size() != visited_[number].size() - 1) hashes_.assign(visited_[number].size() - 1, 0);
  }

  Readiness readiness(std::int32_t t) {
    if (facts(from_[1 + at(t)]).status != ThreadStatus::running) return Readiness::nothing;
    if (!make_key(t)) return machine_.readiness(current(), t);
    if (const auto known = cache_.find(key_, hashes_[at(t)])) return known->readiness;
    CachedStep found;
    found.readiness = machine_.readiness(current(), t);
    cache_.put(key_, hashes_[at(t)], found, {});
    return found.readiness;
  }

  // With `asks`, says where steps of some threads lead: if only to states that have not been expanded before, and to some, these threads
  // may go first if what they do commutes with all that others do. For on every cycle some state must let all threads
  // go on, and the one that is expanded last does. A step that changes nothing is none: its thread waits.
  Progressed step(std::uint32_t number, std::int32_t t, bool asks) {
    const bool has_key = make_key(t);
    const std::optional<CachedStep> known = has_key ? cache_.find(key_, hashes_[at(t)]) : std::nullopt;
    if (known && known->has_successors) return repeat(*known, number, t, asks);
    CachedStep found{readiness_[at(t)], true, !has_key || (known && known->is_opaque)};
    Progressed result = Progressed::nowhere;
    kept_.clear();
    if (uses_futures_) machine_.touched = &touches_;
    steps_.each(current(), t, found.readiness, [&](State& next) {
      ++n_successors_;
      ++found.n_successors;
      found.is_opaque = found.is_opaque || !machine_.violations().empty() || !is_own_change(next, t);
      result = std::max(result, add(next, number));
      if (uses_futures_) add_to_futures(next, t);
      if (!found.is_opaque) keep(next, t);
    });
    machine_.touched = nullptr;
    if (found.is_opaque) {
      found.has_successors = false;
      kept_.clear();
    }
    if (has_key && !(known && known->is_opaque)) cache_.put(key_, hashes_[at(t)], found, kept_);
    return result;
  }

  // Whether the step only changes the thread, memory without allocated objects, and buffers of others.
  bool is_own_change(const State& next, std::int32_t t) const {
    if (next.threads.size() != from_.size() - 1) return false;
    if (machine_.renames() && !next.memory.heap.empty()) return false;
    std::uint64_t changed = 0;
    if (steps_.committed() != nullptr)
      for (const EntryPlace& place : *steps_.committed()) {
        if (place.index >= most_positions) return false;
        changed |= std::uint64_t{1} << place.thread;
      }
    for (std::size_t u = 0; u < next.threads.size(); ++u)
      if (u != at(t) && next.threads[u].number == unnumbered && (changed >> u & 1) == 0) return false;
    return true;
  }

  void keep(const State& next, std::int32_t t) {
    kept_.insert(kept_.end(), {next.memory.number, next.threads[at(t)].number, 0});
    const std::size_t count = kept_.size() - 1;
    if (steps_.committed() == nullptr) return;
    for (std::int32_t u = 0; at(u) < next.threads.size(); ++u) {
      std::uint32_t positions = 0;
      for (const EntryPlace& place : *steps_.committed())
        if (place.thread == u && u != t) positions |= std::uint32_t{1} << place.index;
      if (positions == 0) continue;
      ++kept_[count];
      kept_.insert(kept_.end(), {static_cast<std::uint32_t>(u), positions});
    }
  }

  Progressed repeat(const CachedStep& step, std::uint32_t number, std::int32_t t, bool asks) {
    Progressed result = Progressed::nowhere;
    const std::uint32_t* next = step.successors;
    for (std::uint32_t k = 0; k < step.n_successors; ++k) {
      ids_ = from_;
      ids_[0] = *next++;
      ids_[1 + at(t)] = *next++;
      for (std::uint32_t n_changed = *next++; n_changed > 0; --n_changed, next += 2)
        ids_[1 + next[0]] = shrunk(ids_[1 + next[0]], next[1]);
      sort_equal_threads(ids_);
      ++n_successors_;
      if (!asks && !options_.depth_first)
        postpone(number);
      else
        result = std::max(result, progress_to(add_numbers(number)));
    }
    return result;
  }

  // ---- Threads that are enough to go on with: futures.hpp -----------------------------------------------------------------

  static std::uint64_t bit(std::int32_t t) { return std::uint64_t{1} << t; }

  std::uint32_t point(std::int32_t t, std::uint32_t number) {
    const bool is_sorted = at(t) < program_.alike.size() && options_.symmetry && !spawns_;
    return futures_.point(is_sorted ? program_.alike[at(t)] : t, facts(number).control);
  }

  void add_to_futures(const State& next, std::int32_t t) {
    const std::uint32_t from = point(t, from_[1 + at(t)]);
    futures_.add_step(from, point(t, next.threads[at(t)].number), touches_);
    for (std::int32_t u = 0; at(u) < next.threads.size(); ++u) {
      const bool is_born = u != t && (at(u) + 1 >= from_.size() || from_[1 + at(u)] == 0) && next.threads[at(u)].number != 0;
      if (is_born) futures_.add_step(from, point(u, next.threads[at(u)].number), {});
    }
  }

  // As bits; 0 if there is no choice. Where it hardly ever helps it is hardly ever tried.
  std::uint64_t persistent_threads() {
    if (!uses_futures_ || (n_tried_ > 1000 && 16 * reduced_.size() < n_tried_ && n_expanded_ % 32 != 0)) return 0;
    const std::uint64_t enabled = enabled_threads();
    if (std::popcount(enabled) < 2) return 0;
    ++n_tried_;
    find_conflicts(enabled);
    std::uint64_t best = enabled;
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t) {
      if ((enabled & bit(t)) == 0) continue;
      const std::uint64_t found = closed(bit(t));
      if (std::popcount(found & enabled) < std::popcount(best & enabled)) best = found;
    }
    return (best & enabled) == enabled ? 0 : best;
  }

  std::uint64_t closed(std::uint64_t threads) const {
    for (std::uint64_t done = 0; done != threads;) {
      const std::int32_t t = std::countr_zero(threads & ~done);
      done |= bit(t);
      threads |= conflicts_[at(t)];
    }
    return threads;
  }

  // For each of these threads those that its next step conflicts with; for one that waits for another, that one.
  void find_conflicts(std::uint64_t enabled) {
    State& state = current();
    const std::size_t n = state.threads.size();
    conflicts_.assign(n, 0);
    buffers_.resize(n);
    for (std::size_t u = 0; u < n; ++u) {
      buffers_[u].clear();
      own_touches_.clear();
      steps_.add_buffer(state, state.threads[u], own_touches_);
      for (const Touch& touch : own_touches_) futures_.add_to(buffers_[u], touch);
    }
    for (std::int32_t t = 0; at(t) < n; ++t) {
      const std::int32_t awaited = machine_.awaited_thread(state, state.threads[at(t)]);
      if ((enabled & bit(t)) != 0)
        conflicts_[at(t)] = conflicts_of(state, t);
      else if (awaited != none)
        conflicts_[at(t)] = bit(awaited);
    }
  }

  std::uint64_t conflicts_of(State& state, std::int32_t t) {
    const std::size_t n = state.threads.size();
    std::vector<Touch>& own = own_touches_;
    own.clear();
    steps_.touches(state, t, readiness_[at(t)], own);
    step_cells_.clear();
    for (const Touch& touch : own) futures_.add_to(step_cells_, touch);
    if (own.empty()) return 0;
    std::uint64_t found = 0;
    // Stores that may leave other buffers with this step, and all that these may take with them.
    for (bool grows = true; grows;) {
      grows = false;
      for (std::int32_t u = 0; at(u) < n; ++u)
        if (u != t && (found & bit(u)) == 0 && buffers_[at(u)].conflicts(step_cells_)) {
          found |= bit(u);
          step_cells_.add(buffers_[at(u)]);
          grows = true;
        }
    }
    for (std::int32_t u = 0; at(u) < n; ++u)
      if (u != t && state.threads[at(u)].status == ThreadStatus::running &&
          futures_.future(point(u, from_[1 + at(u)])).conflicts(step_cells_))
        found |= bit(u);
    return found;
  }

  // Has a future grown since threads were chosen, so that these are not enough?
  bool has_wrong_choices() {
    bool any = false;
    for (Reduced& choice : reduced_) {
      if (choice.version == futures_.version()) continue;
      any = missing_threads(choice) != 0;
      if (any) break;
      choice.version = futures_.version();
    }
    return any;
  }

  // Where threads that were chosen are not enough, more go on.
  void correct_choices() {
    for (std::size_t k = 0; k < reduced_.size();) {
      if (is_stopped() || should_stop(next_)) return;
      Reduced& choice = reduced_[k];
      const std::uint64_t missing = choice.version == futures_.version() ? 0 : missing_threads(choice);
      choice.version = futures_.version();
      choice.threads |= missing;
      const std::uint64_t before = n_successors_;
      if (missing == 0 || step_some(choice.number, missing, true) != Progressed::back) {
        ++k;
        continue;
      }
      step_some(choice.number, ~choice.threads, false);
      finish_expansion(choice.number, before);
      choice = reduced_.back();
      reduced_.pop_back();
    }
  }

  // Those that can go on and should have been chosen. `from_` is the state then.
  std::uint64_t missing_threads(const Reduced& choice) {
    set_from(choice.number);
    hashes_.assign(from_.size() - 1, 0);
    find_readiness();
    const std::uint64_t enabled = enabled_threads();
    find_conflicts(enabled);
    return closed(choice.threads) & enabled & ~choice.threads;
  }

  std::uint64_t enabled_threads() const {
    std::uint64_t enabled = 0;
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t)
      if (readiness_[at(t)] != Readiness::nothing) enabled |= bit(t);
    return enabled;
  }

  // ---- States that are added a little later ---------------------------------------------------------------------------

  // The state `ids_` is added once what it is compared with has come from memory. Nobody may ask for it before.
  void postpone(std::uint32_t parent) {
    Postponed& oldest = postponed_[n_postponed_ % postponed_.size()];
    if (n_postponed_ >= postponed_.size()) visited_.insert(oldest.ids, oldest.parent, oldest.hash);
    oldest.ids = ids_;
    oldest.parent = parent;
    oldest.hash = Visited::hash_of(ids_);
    visited_.announce(oldest.hash);
    ++n_postponed_;
    if (n_postponed_ > postponed_.size())
      visited_.announce_row(postponed_[(n_postponed_ + postponed_.size() / 2) % postponed_.size()].hash);
  }

  void add_postponed() {
    const std::size_t n = std::min(n_postponed_, postponed_.size());
    for (std::size_t k = n_postponed_ - n; k < n_postponed_; ++k) {
      const Postponed& item = postponed_[k % postponed_.size()];
      visited_.insert(item.ids, item.parent, item.hash);
    }
    n_postponed_ = 0;
  }

  std::int32_t unnoticed_thread() const {
    for (std::int32_t t = 0; at(t) < readiness_.size(); ++t)
      if (readiness_[at(t)] == Readiness::local || readiness_[at(t)] == Readiness::choice) return t;
    return none;
  }

  std::int32_t section_holder() {
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t)
      if (facts(from_[1 + at(t)]).in_section) return t;
    return none;
  }

  // The state is overwritten.
  Progressed add(State& state, std::uint32_t parent) {
    number_components(state);
    const Visited::Found found = add_numbers(parent);
    for (const Violation& violation : machine_.violations()) note_violation(violation, found.number, parent);
    machine_.violations().clear();
    if (found.is_new && is_second_phase_) check_robustness(state, found.number);
    return progress_to(found);
  }

  Progressed progress_to(const Visited::Found& state) const {
    if (state.is_new) return Progressed::ahead;
    if (std::ranges::equal(ids_, from_)) return Progressed::nowhere;
    const bool was_expanded = options_.depth_first ? bool{is_expanded_[state.number]} : state.number < next_;
    return was_expanded ? Progressed::back : Progressed::ahead;
  }

  // The state `ids_`.
  Visited::Found add_numbers(std::uint32_t parent) {
    const Visited::Found found = visited_.insert(ids_, parent);
    if (found.is_new && options_.depth_first) {
      stack_.push_back(found.number);
      is_expanded_.push_back(false);
    }
    return found;
  }

  // It is met on the way from `parent` to the state, or in the state if that is where it was first reached from.
  void note_violation(const Violation& violation, std::uint32_t number, std::uint32_t parent) {
    has_violation_ = true;
    known_violations_.try_emplace(violation, Edge{parent, number});
  }

  // ---- Ends of runs ---------------------------------------------------------------------------------------------------

  bool is_final() {
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadStatus status = facts(from_[t]).status;
      if (status > ThreadStatus::ended_program || status == ThreadStatus::running) return false;
    }
    return true;
  }

  void record_final(std::uint32_t number) {
    ++outcome_.statistics.final_states;
    if (!observes_memory() && !options_.leaks) {
      known_outcomes_.try_emplace(observe(current()), number);
      return;
    }
    solo_.drained(current(), [&](State& end) {
      known_outcomes_.try_emplace(observe(end), number);
      if (options_.leaks) note_leaks(end, number);
    });
  }

  void note_leaks(State& end, std::uint32_t number) {
    for (const HeapObject& object : lost_objects(end.memory, machine_.contents()))
      note_violation({ViolationKind::leak, {0, object.block, object.pc}, object.size}, number, visited_.parent(number));
  }

  bool observes_memory() const {
    return std::ranges::any_of(program_.observed, [](const Observable& item) { return item.thread == none; });
  }

  std::vector<Value> observe(State& state) {
    std::vector<Value> values;
    for (const Observable& item : program_.observed)
      values.push_back(item.thread == none ? machine_.read_memory(state, item.address, item.size)
                                           : state.threads[at(item.thread)].registers[at(item.register_number)]);
    return values;
  }

  bool may_be_deadlock() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (!facts(from_[t]).is_waiting) return false;
    return true;
  }

  // Threads that wait when the program ends do not wait for ever.
  bool has_program_ended() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (facts(from_[t]).status == ThreadStatus::ended_program) return true;
    return false;
  }

  bool ends_waiting() {
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadFacts& thread = facts(from_[t]);
      if (thread.status == ThreadStatus::running && !thread.has_waited && !thread.is_joining) return false;
    }
    return has_program_ended();
  }

  // Stores that are on their way arrive; do all threads wait then for what never comes?
  void look_for_deadlock(std::uint32_t number) {
    if (goes_on()) return;
    bool found = false;
    deadlock_steps_.drained(current(), [&](State& end) { found = found || is_deadlock(end); });
    if (!found) return;
    if (has_program_ended()) {
      record_final(number);
      return;
    }
    ++outcome_.statistics.deadlocks;
    note_violation({ViolationKind::deadlock, {}, 0}, number, visited_.parent(number));
  }

  // Where no store is on its way, does a thread that waits get out of its loop by its next step? Then it is only there that all
  // may wait.
  bool goes_on() {
    for (std::size_t t = 1; t < from_.size(); ++t)
      if (facts(from_[t]).has_stores) return false;
    for (std::int32_t t = 0; at(t) + 1 < from_.size(); ++t) {
      const std::optional<CachedStep> known = readiness_[at(t)] != Readiness::nothing && make_key(t)
                                                  ? cache_.find(key_, hashes_[at(t)])
                                                  : std::nullopt;
      if (!known || !known->has_successors || known->n_successors != 1) continue;
      if (known->successors[0] != from_[0] || !facts(known->successors[1]).is_waiting) return true;
    }
    return false;
  }

  bool is_deadlock(State& state) {
    machine_.contents().settle(state.memory);
    for (std::int32_t t = 0; at(t) < state.threads.size(); ++t)
      if (state.threads[at(t)].status == ThreadStatus::running && !waits_for_ever(state, t)) return false;
    return true;
  }

  // Does the thread, alone in a memory that nobody else changes, come back to where it was without a write, and without
  // starting others? If it gets to where it waits for another to end, that is a state of its own.
  bool waits_for_ever(const State& state, std::int32_t t) {
    State alone = state;
    const std::uint32_t memory = number_of(alone.memory, memories_);
    std::set<std::uint32_t> seen;
    for (int n = 0; n < most_rounds; ++n) {
      const Readiness readiness = machine_.readiness(alone, t);
      if (readiness == Readiness::nothing) return n == 0;
      if (readiness == Readiness::choice) return false;
      if (!seen.insert(number_of(alone.threads[at(t)], threads_)).second) return true;
      int n_next = 0;
      State after;
      solo_.each(alone, t, [&](State& next) {
        ++n_next;
        machine_.contents().settle(next.memory);
        after = next;
      });
      const bool writes = number_of(after.memory, memories_) != memory || !after.threads[at(t)].buffer.empty();
      machine_.violations().clear();
      if (n_next != 1 || writes || after.threads.size() != alone.threads.size() || starts_others(alone, after)) return false;
      alone = after;
    }
    return false;
  }

  static bool starts_others(const State& before, const State& after) {
    for (std::size_t t = 0; t < before.threads.size(); ++t)
      if (before.threads[t].status == ThreadStatus::unborn && after.threads[t].status != ThreadStatus::unborn) return true;
    return false;
  }

  // A state with empty buffers that no run under SC comes to.
  void check_robustness(State& state, std::uint32_t number) {
    if (has_violation_ && known_violations_.contains({ViolationKind::not_robust, {}, 0})) return;
    for (std::int32_t t = 0; at(t) < state.threads.size(); ++t)
      if (machine_.readiness(state, t) == Readiness::local) return;
    State from = state;
    solo_.drained(from, [&](State& end) {
      if (!is_sequential(end)) note_violation({ViolationKind::not_robust, {}, 0}, number, visited_.parent(number));
    });
  }

  bool is_sequential(State& state) {
    const std::vector<std::uint32_t> saved = ids_;
    machine_.contents().settle(state.memory);  // drafts must not be shared with the copy
    State canonical = state;
    number_components(canonical);
    const bool found = sequential_.contains(ids_);
    ids_ = saved;
    return found;
  }

  // ---- Schedules ------------------------------------------------------------------------------------------------------

  void finish() {
    outcome_.renames = machine_.renames();
    for (const auto& [violation, edge] : known_violations_)
      outcome_.violations.emplace_back(violation, schedule(edge, [&](State& end) { return shows(violation, end); }, violation));
    for (const auto& [values, number] : known_outcomes_) {
      Schedule& example = outcome_.states[values];
      if (options_.wants_examples)
        example = schedule({visited_.parent(number), number}, [&](State& end) { return observe(end) == values; }, {});
    }
  }

  bool shows(const Violation& violation, State& end) {
    if (violation.kind == ViolationKind::deadlock) return is_deadlock(end);
    if (violation.kind == ViolationKind::leak)
      return std::ranges::any_of(lost_objects(end.memory, machine_.contents()), [&](const HeapObject& object) {
        return object.block == violation.place.block && object.pc == violation.place.pc;
      });
    return !is_sequential(end);
  }

  // A run from the start to the state. Where it matters what is left in the buffers, all is written in an order such that
  // `is_end` holds.
  template <class IsEnd>
  Schedule schedule(Edge edge, const IsEnd& is_end, const std::optional<Violation>& violation) {
    std::vector<std::uint64_t> path{visited_.hash(edge.to)};
    for (std::uint32_t n = edge.from; n != no_state; n = visited_.parent(n)) path.push_back(visited_.hash(n));
    std::ranges::reverse(path);
    Schedule result, part;
    machine_.contents().forget_drafts();
    machine_.log = &part;
    State state = machine_.initial();
    machine_.contents().settle(state.memory);
    result = part;
    const bool drains = !violation || violation->kind >= ViolationKind::deadlock;
    for (std::size_t k = 1; k < path.size(); ++k)
      follow(state, path[k], drains || k + 1 < path.size() ? std::nullopt : violation, part, result);
    if (drains) {
      bool is_done = false;
      const State from = state;
      deadlock_steps_.drained(state, [&](State& end) {
        if (is_done) return;
        const Schedule commits = part;
        machine_.log = nullptr;
        State copy = end;
        is_done = is_end(copy);
        machine_.log = &part;
        if (!is_done) return;
        result.insert(result.end(), commits.begin(), commits.end());
        if (violation && violation->kind == ViolationKind::deadlock) append_rounds(copy, part, result);
      });
    }
    machine_.log = nullptr;
    machine_.violations().clear();
    return result;
  }

  // Each thread that waits goes round once more, and finds that there is nothing new.
  void append_rounds(State& end, Schedule& part, Schedule& result) {
    for (std::int32_t t = 0; at(t) < end.threads.size(); ++t) {
      State alone = end;
      int n_rounds = 0;
      while (n_rounds < 2 && machine_.readiness(alone, t) != Readiness::nothing) {
        const std::uint64_t before = machine_.n_failed_awaits;
        State after;
        part.clear();
        solo_.each(alone, t, [&](State& next) {
          machine_.contents().settle(next.memory);
          after = next;
        });
        if (machine_.n_failed_awaits != before && ++n_rounds == 2) part.resize(machine_.log_at_await);
        result.insert(result.end(), part.begin(), part.end());
        alone = after;
      }
    }
  }

  // One step to a state whose canonical form has this hash, and in which the violation is met if there is one.
  void follow(State& state, std::uint64_t hash, const std::optional<Violation>& violation, Schedule& part, Schedule& result) {
    State found;
    bool is_found = false;
    for (std::int32_t t = 0; at(t) < state.threads.size() && !is_found; ++t) {
      part.clear();
      steps_.each(state, t, [&](State& next) {
        const bool is_wanted = !violation || std::ranges::any_of(machine_.violations(), [&](const Violation& met) {
          return is_same(met, *violation);
        });
        machine_.violations().clear();
        if (!is_found && is_wanted) {
          machine_.contents().settle(next.memory);  // drafts must not be shared with the copy
          State canonical = next;
          number_components(canonical);
          if (Visited::hash_of(ids_) == hash) {
            is_found = true;
            found = next;
            result.insert(result.end(), part.begin(), part.end());
          }
        }
        part.clear();
      });
    }
    if (!is_found) throw std::logic_error("a state cannot be reached again");
    state = std::move(found);
  }

  // Equal threads may have changed places.
  static bool is_same(const Violation& met, const Violation& wanted) {
    return met.kind == wanted.kind && met.place.block == wanted.place.block && met.place.pc == wanted.place.pc;
  }

  void update_statistics() {
    Statistics& s = outcome_.statistics;
    s.states = visited_.size() + sequential_.size();
    s.transitions = n_successors_;
    s.components = threads_.size() + memories_.size() + machine_.contents().size();
    s.visited_bytes = visited_.bytes() + sequential_.bytes() + threads_.bytes() + memories_.bytes() + machine_.contents().bytes();
    s.largest_buffer = machine_.largest_buffer;
    s.overflows = steps_.overflows;
    s.limits = machine_.n_limits;
    s.is_compact = visited_.is_compact();
  }

  static constexpr int most_rounds = 1000;

  static constexpr std::size_t most_key_threads = 10;
  static constexpr std::uint32_t far_ahead = 4;
  static constexpr int most_restarts = 12;
  static constexpr std::size_t largest_restart = 1'000'000;

  const Progress& progress_;
  Steps steps_;
  Steps solo_;  // inside of what `steps_` or `deadlock_steps_` give
  Steps deadlock_steps_{machine_, program_};
  std::chrono::steady_clock::time_point started_;
  Visited visited_;
  Visited sequential_;  // what SC reaches, if robustness is asked for
  bool is_second_phase_ = false;
  std::vector<std::uint32_t> stack_;  // of a depth-first search
  std::vector<bool> is_expanded_;     // the same
  std::vector<std::uint32_t> from_;  // the state that is expanded
  State current_;                    // the same, if `is_decoded_`
  bool is_decoded_ = false;
  std::vector<Readiness> readiness_;  // of its threads
  StepCache cache_;
  std::vector<std::uint32_t> key_;
  std::vector<std::uint32_t> kept_;  // successors for the cache
  bool uses_futures_ = false;
  Futures futures_;
  std::vector<Touch> touches_, own_touches_;
  std::vector<std::uint64_t> conflicts_;
  std::vector<CellSets> buffers_;
  CellSets step_cells_;
  std::vector<Reduced> reduced_;
  std::uint64_t n_tried_ = 0;
  std::uint32_t next_ = 0, level_end_ = 0;  // of a breadth-first search
  std::vector<Postponed> postponed_ = std::vector<Postponed>(32);
  std::size_t n_postponed_ = 0;
  std::vector<std::uint64_t> hashes_;  // of the keys of its threads; 0: not computed
  std::array<std::vector<std::uint64_t>, 8> ahead_;  // the same of states that come soon, by number
  std::uint64_t n_expanded_ = 0;
  std::uint64_t n_successors_ = 0;
  bool has_violation_ = false;
  std::map<Violation, Edge> known_violations_;
  std::map<std::vector<Value>, std::uint32_t> known_outcomes_;
  Outcome outcome_;
};

}  // namespace dekker::states
