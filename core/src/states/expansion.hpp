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
    look_at_threads();
    if (n_face_vectors_ > most_face_vectors) forget_face_vectors();
    keys_.reset(from_.size() - 1);
  }

  // What the threads of a state have in common.
  struct Threads {
    bool have_ended = true;  // well
    bool wait = true;        // or have ended
    bool have_stores = false;
    bool have_ended_program = false;
    std::int32_t in_section = none;  // one that is
  };

  void look_at_threads() {
    all_ = {};
    for (std::size_t t = 1; t < from_.size(); ++t) {
      const ThreadFacts& thread = facts(from_[t]);
      all_.have_ended = all_.have_ended && thread.status <= ThreadStatus::ended_program && thread.status != ThreadStatus::running;
      all_.wait = all_.wait && thread.is_waiting;
      all_.have_stores = all_.have_stores || thread.has_stores;
      all_.have_ended_program = all_.have_ended_program || thread.status == ThreadStatus::ended_program;
      if (thread.in_section && all_.in_section == none) all_.in_section = static_cast<std::int32_t>(t - 1);
    }
  }

  void find_readiness() {
    readiness_.resize(from_.size() - 1);
    known_.resize(from_.size() - 1);
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

  // What the steps of a state are known by.
  struct Keys {
    bool has_faces = false;
    std::uint32_t faces = 0;            // of all threads, as one number
    std::uint64_t of_others = 0;        // `StepKey::hash_of_others`
    std::uint64_t linked = 0;           // threads with links, as bits
    std::vector<std::uint64_t> hashes;  // of the keys of its threads; 0: not computed

    void reset(std::size_t n_threads) {
      has_faces = false;
      hashes.assign(n_threads, 0);
    }
  };

  void find_faces(std::span<const std::uint32_t> ids, Keys& keys) {
    face_words_.clear();
    keys.linked = 0;
    for (std::size_t u = 1; u < ids.size(); ++u) {
      const ThreadFacts& known = facts(ids[u]);
      face_words_.push_back(known.face);
      if (known.has_link) keys.linked |= std::uint64_t{1} << (u - 1);
    }
    if (face_words_ != last_face_words_) {
      last_faces_ = face_vectors_->intern(face_words_);
      std::swap(last_face_words_, face_words_);
    }
    keys.faces = last_faces_;
    keys.of_others = StepKey::hash_of_others(ids[0], keys.faces);
    n_face_vectors_ = std::max<std::size_t>(n_face_vectors_, keys.faces);
    keys.has_faces = true;
  }

  void forget_face_vectors() {
    face_vectors_ = std::make_unique<Sequences>();
    n_face_vectors_ = 0;
    last_face_words_.clear();
    ++n_forgotten_;
    cache_.clear();
    forget_ahead();
  }

  // Whether a step of the thread may be known. Links of others are broken by what it writes, which a known step says nothing about.
  bool has_key(const Keys& keys, std::size_t t) const {
    return !options_.robust && (keys.linked & ~(std::uint64_t{1} << t)) == 0;
  }

  static StepKey key_of(std::span<const std::uint32_t> ids, const Keys& keys, std::size_t t) {
    return {static_cast<std::uint32_t>(t), ids[1 + t], ids[0], keys.faces};
  }

  // `key_` becomes that of the thread, if it has one.
  bool make_key(std::int32_t t) {
    if (!keys_.has_faces) find_faces(from_, keys_);
    if (!has_key(keys_, at(t))) return false;
    key_ = key_of(from_, keys_, at(t));
    if (keys_.hashes[at(t)] == 0) keys_.hashes[at(t)] = key_.hash(keys_.of_others);
    return true;
  }

  // What is known of the steps of states that come soon is fetched from memory: first where it is, then itself. `coming` are the
  // components of the state that is `far_ahead` of the one at this position, if there is one.
  void look_ahead(std::size_t position, std::span<const std::uint32_t> coming, std::size_t n_threads) {
    Keys& keys = ahead_[(position + far_ahead) % ahead_.size()];
    keys.reset(coming.empty() ? 0 : coming.size() - 1);
    if (!coming.empty()) find_faces(coming, keys);
    for (std::size_t t = 0; t < keys.hashes.size(); ++t)
      if (facts(coming[1 + t]).status == ThreadStatus::running && has_key(keys, t)) {
        keys.hashes[t] = key_of(coming, keys, t).hash(keys.of_others);
        cache_.announce(keys.hashes[t]);
      }
    for (const std::uint64_t hash : ahead_[(position + far_ahead / 2) % ahead_.size()].hashes)
      if (hash != 0) cache_.announce_record(hash);
    std::swap(keys_, ahead_[position % ahead_.size()]);
    if (keys_.hashes.size() != n_threads) keys_.reset(n_threads);
  }

  void forget_ahead() {
    for (Keys& keys : ahead_) keys.reset(0);
  }

  Readiness readiness(std::int32_t t) {
    known_[at(t)] = {};
    if (facts(from_[1 + at(t)]).status != ThreadStatus::running) return Readiness::nothing;
    if (!make_key(t)) return machine_.readiness(current(), t);
    if (const auto known = cache_.find(key_, keys_.hashes[at(t)])) {
      known_[at(t)] = {*known, cache_.n_changes()};
      return known->readiness;
    }
    CachedStep found;
    found.readiness = machine_.readiness(current(), t);
    cache_.put(key_, keys_.hashes[at(t)], found, {});
    return found.readiness;
  }

  // With `asks`, says where steps of some threads lead: if only to states that have not been expanded before, and to at
  // least one, these threads may go first if what they do commutes with all that others do. For on every cycle some state
  // must let all threads go on, and the one that is expanded last does. A step that changes nothing is none: its thread waits.
  Progressed step(std::uint32_t number, std::int32_t t, bool asks) {
    const KnownStep& just_found = known_[at(t)];
    if (just_found.version == cache_.n_changes() && just_found.step.has_successors) return repeat(just_found.step, number, t, asks);
    const bool is_keyed = make_key(t);
    const std::optional<CachedStep> known = is_keyed ? cache_.find(key_, keys_.hashes[at(t)]) : std::nullopt;
    if (known && known->has_successors) return repeat(*known, number, t, asks);
    CachedStep found{readiness_[at(t)], true, !is_keyed || (known && known->is_opaque)};
    Progressed result = Progressed::nowhere;
    kept_.clear();
    if (uses_futures_) machine_.touched = &touches_;
    steps_.each(current(), t, found.readiness, [&](State& next) {
      ++n_successors_;
      ++found.n_successors;
      const bool is_own = is_own_change(next, t);
      found.is_opaque = found.is_opaque || !machine_.violations().empty() || !is_own;
      result = std::max(result, add(next, number, is_own));
      if (uses_futures_) add_to_futures(next, t);
      if (!found.is_opaque) keep(next, t);
    });
    machine_.touched = nullptr;
    if (found.is_opaque) {
      found.has_successors = false;
      kept_.clear();
    }
    if (is_keyed && !(known && known->is_opaque)) cache_.put(key_, keys_.hashes[at(t)], found, kept_);
    return result;
  }

  // Whether the step only changes the thread, memory, and buffers of others, and leaves objects numbered as they are.
  bool is_own_change(const State& next, std::int32_t t) {
    if (next.threads.size() != from_.size() - 1) return false;
    if (machine_.renames() && !keeps_numbers(next, t)) return false;
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

  // Equal threads that change places change the order of what they lead to.
  bool keeps_numbers(const State& next, std::int32_t t) {
    if (next.memory.heap.empty() && current_.memory.heap.empty()) return true;
    if (options_.symmetry && !spawns_) return false;
    if (steps_.committed() != nullptr)
      for (const EntryPlace& place : *steps_.committed()) {
        const Entry& entry = current_.threads[at(place.thread)].buffer[place.index];
        if (place.thread != t && (is_heap_address(entry.address) || is_heap_address(entry.value))) return false;
      }
    return pointer_order_.is_kept(current_, next, at(t), machine_.map(), machine_.contents());
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
    n_successors_ += step.n_successors;
    for (std::uint32_t k = 0; k < step.n_successors; ++k) {
      const std::uint32_t memory = *next++, thread = *next++;
      std::uint32_t n_changed = *next++;
      if (n_changed == 0 && memory == from_[0] && thread == from_[1 + at(t)]) {  // it waits
        if (!facts(thread).is_waiting) note_return({number, false}, number, true);
        continue;
      }
      const bool is_urgent = asks || found_.depth_first;
      if (is_urgent) ids_.resize(from_.size());
      const std::span<std::uint32_t> ids = is_urgent ? std::span(ids_) : make_room();
      std::ranges::copy(from_, ids.begin());
      ids[0] = memory;
      ids[1 + at(t)] = thread;
      for (; n_changed > 0; --n_changed, next += 2) ids[1 + next[0]] = shrunk(ids[1 + next[0]], next[1]);
      sort_equal_threads(ids);
      if (is_urgent)
        result = std::max(result, progress_to(insert(ids, number, memory == from_[0])));
      else
        postpone(number);
    }
    return result;
  }

  // ---- What is seen of futures: futures.hpp -----------------------------------------------------------------------------

  static std::uint64_t bit(std::int32_t t) { return std::uint64_t{1} << t; }

  Futures::Point point(std::int32_t t, std::uint32_t number) {
    const auto kind = static_cast<std::int32_t>(ties(number).kind);
    if (kind != 0) return Futures::point(-kind, facts(number).control);
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

  // For the components of a state that is added once what it is compared with has come from memory. Nobody may ask for it before.
  std::span<std::uint32_t> make_room() {
    Postponed& oldest = postponed_[n_postponed_ % postponed_.size()];
    if (n_postponed_ >= postponed_.size()) insert(oldest);
    oldest.ids.resize(from_.size());
    return oldest.ids;
  }

  // The state that is there now.
  void postpone(std::uint32_t parent) {
    Postponed& newest = postponed_[n_postponed_ % postponed_.size()];
    newest.parent = parent;
    newest.keeps_memory = newest.ids[0] == from_[0];
    newest.hash = Visited::hash_of(newest.ids);
    found_.announce(newest.hash);
    ++n_postponed_;
    if (n_postponed_ > postponed_.size())
      found_.announce_row(postponed_[(n_postponed_ + postponed_.size() / 2) % postponed_.size()].hash);
  }

  void add_postponed() {
    const std::size_t n = std::min(n_postponed_, postponed_.size());
    for (std::size_t k = n_postponed_ - n; k < n_postponed_; ++k) insert(postponed_[k % postponed_.size()]);
    n_postponed_ = 0;
  }

  // ---- States that are found ------------------------------------------------------------------------------------------

  // The state is overwritten.
  Progressed add(State& state, std::uint32_t parent, bool has_numbers = false) {
    number_components(state, has_numbers);
    const FoundStates::Found found = insert(ids_, parent, !from_.empty() && ids_[0] == from_[0]);
    for (const Violation& violation : machine_.violations()) note_violation(violation, found.number, parent);
    machine_.violations().clear();
    if (found.is_new) visit(state, found.number);
    return progress_to(found);
  }

  // On each cycle of states some step leads to one with a lower number, or to the same. Where all threads only go round and
  // nothing ever changes, a step that does so is found, and the state that it starts from is looked at (Ends).
  FoundStates::Found insert(std::span<const std::uint32_t> ids, std::uint32_t parent, bool keeps_memory) {
    return note_return(found_.insert(ids, parent), parent, keeps_memory);
  }

  FoundStates::Found note_return(const FoundStates::Found& found, std::uint32_t parent, bool keeps_memory) {
    const bool is_asked = options_.may_come_back && options_.finds_deadlocks && !options_.robust;
    if (is_asked && keeps_memory && !found.is_new && found.number <= parent) returns_.push_back(parent);
    return found;
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
  Threads all_;                       // of its threads
  std::vector<Readiness> readiness_;  // the same
  StepCache cache_;
  StepKey key_;
  Keys keys_;  // of the state that is expanded
  std::uint64_t n_forgotten_ = 0;  // how often all vectors of faces were
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
  std::vector<std::uint32_t> returns_;  // states from which a step led back, and changed no memory

 private:
  struct Postponed {
    std::vector<std::uint32_t> ids;
    std::uint32_t parent = 0;
    bool keeps_memory = false;
    std::uint64_t hash = 0;
  };

  void insert(const Postponed& item) {
    note_return(found_.insert(item.ids, item.parent, item.hash), item.parent, item.keeps_memory);
  }

  // What was known of a step when readiness was asked for; good as long as the cache is as it was.
  struct KnownStep {
    CachedStep step;
    std::uint64_t version = ~std::uint64_t{0};
  };

  static constexpr std::size_t most_face_vectors = std::size_t{1} << 18;

  State current_;  // `from_`, if `is_decoded_`
  bool is_decoded_ = false;
  std::vector<std::uint32_t> kept_;  // successors for the cache
  CellSets accessed_;
  std::vector<Postponed> postponed_ = std::vector<Postponed>(32);
  std::array<Keys, 8> ahead_;  // of states that come soon, by number
  std::vector<KnownStep> known_;  // of the threads of the state that is expanded
  std::unique_ptr<Sequences> face_vectors_ = std::make_unique<Sequences>();
  std::size_t n_face_vectors_ = 0;
  std::vector<std::uint32_t> face_words_, last_face_words_;
  std::uint32_t last_faces_ = 0;
  PointerOrder pointer_order_;
};

}  // namespace dekker::states
