// Steps from one state: known or computed, of all threads or of some that are enough, and the states they lead to.
#pragma once

#include <array>
#include <bit>

#include "states/numbering.hpp"
#include "states/steps.hpp"

namespace dekker::states {

class Expansion : protected Numbering {
 protected:
  static constexpr std::uint32_t no_state = Visited::nowhere;

  // Where steps lead: to the same state, only to states that have not been expanded before, or back.
  enum class Progressed : std::uint8_t { nowhere, ahead, back };

  // A step from one state to another.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
  };

  // A state from which only some threads went on, as bits; and when futures last allowed that.
  struct Reduced {
    std::uint32_t number;
    std::uint64_t threads;
    std::uint64_t version;
  };

  Expansion(const Program& program, const Options& options, Assumptions assumptions)
      : Numbering(program, options, assumptions), steps_(machine_, program) {}
  virtual ~Expansion() = default;

  // What else is to be done with a state that is new.
  virtual void visit(State& state, std::uint32_t number) = 0;

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

  // With `asks`, says where steps of some threads lead: if only to states that have not been expanded before, and to at
  // least one, these threads may go first if what they do commutes with all that others do. For on every cycle some state
  // must let all threads go on, and the one that is expanded last does. A step that changes nothing is none: its thread waits.
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
    // Stores that may leave other buffers with this step, and all that these may take with them, also of its own buffer.
    for (bool grows = true; grows;) {
      grows = false;
      for (std::int32_t u = 0; at(u) < n; ++u)
        if (u != t && (found & bit(u)) == 0 && buffers_[at(u)].conflicts(step_cells_)) {
          if (found == 0) step_cells_.add(buffers_[at(t)]);
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

  // ---- States that are found ------------------------------------------------------------------------------------------

  // The state is overwritten.
  Progressed add(State& state, std::uint32_t parent) {
    number_components(state);
    const Visited::Found found = add_numbers(parent);
    for (const Violation& violation : machine_.violations()) note_violation(violation, found.number, parent);
    machine_.violations().clear();
    if (found.is_new) visit(state, found.number);
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

  Steps steps_;
  Visited visited_;
  std::vector<std::uint32_t> stack_;  // of a depth-first search
  std::vector<bool> is_expanded_;     // the same
  std::uint32_t next_ = 0;            // of a breadth-first search
  std::vector<std::uint32_t> from_;   // the state that is expanded
  std::vector<Readiness> readiness_;  // of its threads
  StepCache cache_;
  std::vector<std::uint32_t> key_;
  std::vector<std::uint64_t> hashes_;  // of the keys of its threads; 0: not computed
  bool uses_futures_ = false;
  Futures futures_;
  std::vector<Reduced> reduced_;
  std::uint64_t n_tried_ = 0;  // choices of some threads
  std::size_t n_postponed_ = 0;
  std::uint64_t n_expanded_ = 0;
  std::uint64_t n_successors_ = 0;
  bool has_violation_ = false;
  std::map<Violation, Edge> known_violations_;

 private:
  struct Postponed {
    std::vector<std::uint32_t> ids;
    std::uint32_t parent = 0;
    std::uint64_t hash = 0;
  };

  static constexpr std::size_t most_key_threads = 10;
  static constexpr std::uint32_t far_ahead = 4;

  State current_;  // `from_`, if `is_decoded_`
  bool is_decoded_ = false;
  std::vector<std::uint32_t> kept_;  // successors for the cache
  std::vector<Touch> touches_, own_touches_;
  std::vector<std::uint64_t> conflicts_;
  std::vector<CellSets> buffers_;
  CellSets step_cells_;
  std::vector<Postponed> postponed_ = std::vector<Postponed>(32);
  std::array<std::vector<std::uint64_t>, 8> ahead_;  // `hashes_` of states that come soon, by number
};

}  // namespace dekker::states
