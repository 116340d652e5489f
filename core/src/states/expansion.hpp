// Steps from one state: known or computed, of all threads or of some that are enough, and the states they lead to.
#pragma once

#include <array>
#include <bit>

#include "states/found_states.hpp"
#include "states/numbering.hpp"
#include "states/step_cache.hpp"
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

  // One of several workers knows the futures that all knew when the phase began.
  Expansion(const Program& program, const Options& options, Assumptions assumptions, Components& components, FoundStates states,
            Cells* shared_cells, const Futures* shared_futures)
      : Numbering(program, options, assumptions, components),
        steps_(machine_, program),
        found_(std::move(states)),
        cells_(shared_cells),
        futures_(shared_futures != nullptr ? *shared_futures : own_futures_) {}
  virtual ~Expansion() = default;

  // What else is to be done with a state that is new.
  virtual void visit(State& state, std::uint32_t number) = 0;

  void set_from(std::uint32_t number) { set_from(found_.ids(number)); }

  void set_from(std::span<const std::uint32_t> ids) {
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

  // What is known of the steps of states that come soon is fetched from memory: first where it is, then itself. `coming` are the
  // components of the state that is `far_ahead` of the one at this position, if there is one.
  void look_ahead(std::size_t position, std::span<const std::uint32_t> coming, std::size_t n_threads) {
    std::vector<std::uint64_t>& hashes = ahead_[(position + far_ahead) % ahead_.size()];
    hashes.assign(coming.empty() ? 0 : coming.size() - 1, 0);
    for (std::size_t t = 0; t < hashes.size(); ++t)
      if (facts(coming[1 + t]).status == ThreadStatus::running && make_key(coming, t)) {
        hashes[t] = hash_words(key_.data(), key_.size());
        cache_.announce(hashes[t]);
      }
    for (const std::uint64_t hash : ahead_[(position + far_ahead / 2) % ahead_.size()])
      if (hash != 0) cache_.announce_record(hash);
    hashes_ = ahead_[position % ahead_.size()];
    if (hashes_.size() != n_threads) hashes_.assign(n_threads, 0);
  }

  void forget_ahead() {
    for (std::vector<std::uint64_t>& hashes : ahead_) hashes.clear();
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
    for (std::size_t u = 0; u < next.threads.size(); ++u) {
      if (u == at(t)) continue;
      if (next.threads[u].number == unnumbered && (changed >> u & 1) == 0) return false;
      if (next.threads[u].is_claimed != current_.threads[u].is_claimed) return false;
    }
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
      if (!asks && !found_.depth_first)
        postpone(number);
      else
        result = std::max(result, progress_to(found_.insert(ids_, number)));
    }
    return result;
  }

  // ---- What is seen of futures: futures.hpp -----------------------------------------------------------------------------

  static std::uint64_t bit(std::int32_t t) { return std::uint64_t{1} << t; }

  Futures::Point point(std::int32_t t, std::uint32_t number) {
    const bool is_sorted = at(t) < program_.alike.size() && options_.symmetry && !spawns_;
    return Futures::point(is_sorted ? program_.alike[at(t)] : t, facts(number).control);
  }

  void add_to_futures(const State& next, std::int32_t t) {
    const Futures::Point from = point(t, from_[1 + at(t)]);
    accessed_.clear();
    for (const Touch& touch : touches_) cells_.add_to(accessed_, touch);
    add_to_futures(from, point(t, next.threads[at(t)].number), accessed_);
    for (std::int32_t u = 0; at(u) < next.threads.size(); ++u) {
      const bool is_born = u != t && (at(u) + 1 >= from_.size() || from_[1 + at(u)] == 0) && next.threads[at(u)].number != 0;
      if (is_born) add_to_futures(from, point(u, next.threads[at(u)].number), {});
    }
  }

  // Several workers tell each other what is new when the phase is over.
  void add_to_futures(Futures::Point from, Futures::Point to, const CellSets& accessed) {
    if (found_.is_shared() && futures_.knows_step(from, to, accessed)) return;
    own_futures_.add_step(from, to, accessed);
  }

  // ---- States that are added a little later ---------------------------------------------------------------------------

  // The state `ids_` is added once what it is compared with has come from memory. Nobody may ask for it before.
  void postpone(std::uint32_t parent) {
    Postponed& oldest = postponed_[n_postponed_ % postponed_.size()];
    if (n_postponed_ >= postponed_.size()) found_.insert(oldest.ids, oldest.parent, oldest.hash);
    oldest.ids = ids_;
    oldest.parent = parent;
    oldest.hash = Visited::hash_of(ids_);
    found_.announce(oldest.hash);
    ++n_postponed_;
    if (n_postponed_ > postponed_.size())
      found_.announce_row(postponed_[(n_postponed_ + postponed_.size() / 2) % postponed_.size()].hash);
  }

  void add_postponed() {
    const std::size_t n = std::min(n_postponed_, postponed_.size());
    for (std::size_t k = n_postponed_ - n; k < n_postponed_; ++k) {
      const Postponed& item = postponed_[k % postponed_.size()];
      found_.insert(item.ids, item.parent, item.hash);
    }
    n_postponed_ = 0;
  }

  // ---- States that are found ------------------------------------------------------------------------------------------

  // The state is overwritten.
  Progressed add(State& state, std::uint32_t parent) {
    number_components(state);
    const FoundStates::Found found = found_.insert(ids_, parent);
    for (const Violation& violation : machine_.violations()) note_violation(violation, found.number, parent);
    machine_.violations().clear();
    if (found.is_new) visit(state, found.number);
    return progress_to(found);
  }

  Progressed progress_to(const FoundStates::Found& state) const {
    if (state.is_new) return Progressed::ahead;
    if (std::ranges::equal(ids_, from_)) return Progressed::nowhere;
    return found_.may_be_expanded(state.number) ? Progressed::back : Progressed::ahead;
  }

  // It is met on the way from `parent` to the state, or in the state if that is where it was first reached from.
  void note_violation(const Violation& violation, std::uint32_t number, std::uint32_t parent) {
    has_violation_ = true;
    known_violations_.try_emplace(violation, Edge{parent, number});
  }

  static constexpr std::uint32_t far_ahead = 4;

  Steps steps_;
  FoundStates found_;
  std::vector<std::uint32_t> from_;   // the state that is expanded
  std::vector<Readiness> readiness_;  // of its threads
  StepCache cache_;
  std::vector<std::uint32_t> key_;
  std::vector<std::uint64_t> hashes_;  // of the keys of its threads; 0: not computed
  bool uses_futures_ = false;
  Cells cells_;
  Futures own_futures_;
  const Futures& futures_;
  std::vector<Touch> touches_;
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

  State current_;  // `from_`, if `is_decoded_`
  bool is_decoded_ = false;
  std::vector<std::uint32_t> kept_;  // successors for the cache
  CellSets accessed_;
  std::vector<Postponed> postponed_ = std::vector<Postponed>(32);
  std::array<std::vector<std::uint64_t>, 8> ahead_;  // `hashes_` of states that come soon, by number
};

}  // namespace dekker::states
