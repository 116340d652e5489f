// States as the numbers of their components, and what is known of a thread by its number.
#pragma once

#include "states/step_cache.hpp"

namespace dekker::states {

class Numbering {
 protected:
  Numbering(const Program& program, const Options& options, Assumptions assumptions, Components& components)
      : program_(program),
        options_(options),
        machine_(program, options_, assumptions, components),
        threads_(components.threads),
        memories_(components.memories),
        faces_(components.faces),
        controls_(components.controls),
        shapes_(components.shapes) {
    find_awaits();
    spawns_ = has(Operation::spawn);
    several_join_ = n_blocks_with(Operation::join) + n_blocks_with(Operation::detach) > 1;
  }

  bool has(Operation operation) const { return n_blocks_with(operation) != 0; }

  std::size_t n_blocks_with(Operation operation) const {
    std::size_t found = 0;
    for (std::size_t b = 0; b < in_await_.size(); ++b)
      found += std::ranges::any_of(program_.block(static_cast<std::int32_t>(b)).code,
                                   [&](const Instruction& i) { return i.operation == operation; });
    return found;
  }

  // ---- States and numbers ---------------------------------------------------------------------------------------------

  // `ids_` becomes the numbers of the canonical form of the state; its objects may be known to have their numbers.
  void number_components(State& state, bool has_numbers = false) {
    if (machine_.renames() && !has_numbers) renumbering_.apply(state, machine_.map(), machine_.contents());
    if (state.memory.number == unnumbered) machine_.contents().settle(state.memory);
    ids_.resize(1 + state.threads.size());
    ids_[0] = number_of(state.memory, memories_);
    for (std::size_t t = 0; t < state.threads.size(); ++t) ids_[1 + t] = number_of(state.threads[t], threads_);
    sort_equal_threads(ids_);
  }

  template <class Component>
  std::uint32_t number_of(Component& component, Sequences& known) {
    if (component.number == unnumbered) {
      encode(component, words_);
      component.number = known.intern(words_.words());
    }
    return component.number;
  }

  void sort_equal_threads(std::span<std::uint32_t> ids) {
    if (machine_.merges_spawned()) sort_spawned(ids);
    if (!options_.symmetry || spawns_) return;
    for (std::size_t first = 0; first < program_.alike.size(); ++first) {
      if (program_.alike[first] != static_cast<std::int32_t>(first)) continue;
      group_.clear();
      for (std::size_t t = first; t < program_.alike.size(); ++t)
        if (program_.alike[t] == static_cast<std::int32_t>(first)) group_.push_back(ids[1 + t]);
      if (group_.size() == 1) continue;
      std::ranges::sort(group_);
      for (std::size_t t = first, k = 0; t < program_.alike.size(); ++t)
        if (program_.alike[t] == static_cast<std::int32_t>(first)) ids[1 + t] = group_[k++];
    }
  }

  // ---- Spawned threads change places ----------------------------------------------------------------------------------
  //
  // Nobody can tell apart those that one thread joins in a row (machine.hpp), nor those that nobody may join any more, as long as
  // what they are known by serves for nothing else. They are sorted: by what they run, by how they look apart from the allocated objects that
  // they lead to, and by when global objects lead to these. What they are known by stays where it is.

  void sort_spawned(std::span<std::uint32_t> ids) {
    rows_.assign(1, 0);
    std::uint64_t awaited = 0;
    for (std::size_t u = 0; u + 1 < ids.size(); ++u) {
      const ThreadTies& thread = ties(ids[1 + u]);
      if (thread.is_claimed) rows_[0] |= std::uint64_t{1} << u;
      if (thread.awaited == 0) continue;
      if ((awaited & thread.awaited) != 0) throw HandlesMatter{};
      awaited |= thread.awaited;
      rows_.push_back(thread.awaited);
    }
    bool moves = false;
    for (const std::uint64_t row : rows_)
      if (std::popcount(row) > 1) moves = sort_row(ids, row) || moves;
    merges_ = merges_ || moves || is_partly_over(ids);
    if (moves && machine_.renames()) number_objects(ids);
  }

  // Has one of the threads that are joined in a row ended before the others?
  bool is_partly_over(std::span<const std::uint32_t> ids) {
    return std::ranges::any_of(rows_.begin() + 1, rows_.end(), [&](std::uint64_t row) {
      std::size_t n_ended = 0;
      for (std::uint64_t left = row; left != 0; left &= left - 1)
        if (facts(ids[1 + std::size_t(std::countr_zero(left))]).status == ThreadStatus::finished) ++n_ended;
      return n_ended != 0 && n_ended != static_cast<std::size_t>(std::popcount(row));
    });
  }

  bool sort_row(std::span<std::uint32_t> ids, std::uint64_t row) {
    bool moves = false;
    while (row != 0) {
      const std::uint32_t kind = ties(ids[1 + std::size_t(std::countr_zero(row))]).kind;
      same_kind_.clear();
      std::uint64_t places = 0;
      for (std::uint64_t left = row; left != 0; left &= left - 1) {
        const auto u = static_cast<std::size_t>(std::countr_zero(left));
        const ThreadTies& thread = ties(ids[1 + u]);
        if (thread.kind != kind) continue;
        row &= ~(std::uint64_t{1} << u);
        if (thread.shape == 0) continue;
        places |= std::uint64_t{1} << u;
        moves = put_in_order({std::uint64_t{thread.shape} << 32 | rank_of(ids[1 + u], ids[0]), ids[1 + u]}) || moves;
      }
      for (std::size_t k = 0; places != 0; places &= places - 1) ids[1 + std::size_t(std::countr_zero(places))] = same_kind_[k++].number;
    }
    return moves;
  }

  struct Member {
    std::uint64_t key;
    std::uint32_t number;
  };

  // Whether it is not the last.
  bool put_in_order(const Member& member) {
    std::size_t k = same_kind_.size();
    while (k > 0 && member.key < same_kind_[k - 1].key) --k;
    same_kind_.insert(same_kind_.begin() + static_cast<std::ptrdiff_t>(k), member);
    return k + 1 != same_kind_.size();
  }

  // When global objects lead to what the thread leads to, as a hash.
  std::uint32_t rank_of(std::uint32_t thread, std::uint32_t memory) {
    if (objects_of_[thread].empty()) return 0;
    const std::vector<std::uint32_t>& ranks = ranks_of(memory);
    std::uint64_t result = 0;
    for (const std::uint32_t slot : objects_of_[thread]) {
      const std::uint32_t rank = slot < ranks.size() ? ranks[slot] : 0;
      if (rank != 0 || result != 0) result = mixed(result, rank);
    }
    return static_cast<std::uint32_t>(result);
  }

  const std::vector<std::uint32_t>& ranks_of(std::uint32_t memory) {
    Ranks& known = ranks_[memory % ranks_.size()];
    if (known.memory != memory) {
      decode(memories_[memory], machine_.map().n_chunks(), moved_.memory);
      moved_.memory.number = memory;
      known = {memory, ranks_from_globals(moved_.memory, machine_.map(), machine_.contents())};
    }
    return known.ranks;
  }

  // No draft is in use.
  void number_objects(std::span<std::uint32_t> ids) {
    decode_state(ids, moved_);
    renumbering_.apply(moved_, machine_.map(), machine_.contents());
    if (moved_.memory.number == unnumbered) machine_.contents().settle(moved_.memory);
    machine_.contents().forget_drafts();
    ids[0] = number_of(moved_.memory, memories_);
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) ids[1 + t] = number_of(moved_.threads[t], threads_);
  }

  void decode_state(std::span<const std::uint32_t> ids, State& state) const {
    if (state.memory.number != ids[0]) {
      decode(memories_[ids[0]], machine_.map().n_chunks(), state.memory);
      state.memory.number = ids[0];
    }
    state.threads.resize(ids.size() - 1);
    for (std::size_t t = 0; t + 1 < ids.size(); ++t) decode_thread(ids[1 + t], state.threads[t]);
  }

  void decode_thread(std::uint32_t number, ThreadState& thread) const {
    if (thread.number == number) return;
    decode(threads_[number], thread);
    thread.number = number;
  }

  // ---- What is known of a thread --------------------------------------------------------------------------------------

  [[gnu::always_inline]] const ThreadFacts& facts(std::uint32_t number) {
    if (number >= facts_.size() || !facts_[number].is_known) add_facts(number);
    return facts_[number];
  }

  const ThreadTies& ties(std::uint32_t number) {
    facts(number);
    return ties_[number];
  }

  // The number of the thread without the stores at these positions of its buffer.
  std::uint32_t shrunk(std::uint32_t number, std::uint32_t positions) {
    const std::uint64_t key = std::uint64_t{number} << 32 | positions;
    Shrunk& known = shrunk_[mixed(key, 0) % shrunk_.size()];
    if (known.key == key) return known.result;
    decode_thread(number, scratch_);
    std::size_t k = 0;
    std::erase_if(scratch_.buffer, [&](const Entry&) { return (positions >> k++ & 1) != 0; });
    Machine::normalise(scratch_);
    scratch_.number = unnumbered;
    known = {key, number_of(scratch_, threads_)};
    return known.result;
  }

  // Every thread has ended, waits for another to end, or is in a loop that waits.
  bool is_waiting(const ThreadState& thread) const {
    if (thread.status != ThreadStatus::running) return thread.status <= ThreadStatus::ended_program;
    const auto waits = [&](const Frame& frame) { return bool{in_await_[at(frame.block)][at(frame.pc)]}; };
    return is_joining(thread) || std::ranges::any_of(thread.frames, waits);
  }

  bool is_joining(const ThreadState& thread) const {
    const Instruction* i = thread.status == ThreadStatus::running ? machine_.current(thread) : nullptr;
    return i != nullptr && i->operation == Operation::join;
  }

  static constexpr std::size_t most_positions = 32;  // that `shrunk` knows

  const Program& program_;
  Options options_;
  Machine machine_;
  Sequences& threads_;
  Sequences& memories_;
  std::vector<std::uint32_t> ids_;
  bool spawns_ = false;
  bool several_join_ = false;  // threads, or detach others
  bool merges_ = false;  // states that differ in which thread is which, or in how many were joined in a row, were one

 private:
  // Of memory (heap.hpp).
  struct Ranks {
    std::uint32_t memory = unnumbered;
    std::vector<std::uint32_t> ranks;
  };

  struct Shrunk {
    std::uint64_t key = 0;
    std::uint32_t result = 0;
  };

  void find_awaits() {
    for (std::size_t b = 0; b < program_.threads.size() + program_.functions.size(); ++b) {
      const std::vector<Instruction>& code = program_.block(static_cast<std::int32_t>(b)).code;
      std::vector<bool>& inside = in_await_.emplace_back(code.size() + 1, false);
      for (std::size_t pc = 0; pc < code.size(); ++pc)
        if (code[pc].operation == Operation::await)
          for (std::size_t p = at(code[pc].target); p <= pc; ++p) inside[p] = true;
    }
  }

  [[gnu::noinline]] void add_facts(std::uint32_t number) {
    if (number >= facts_.size()) {
      facts_.resize(number + std::size_t{1});
      ties_.resize(facts_.size());
    }
    facts_[number] = find_facts(number);
  }

  ThreadFacts find_facts(std::uint32_t number) {
    decode_thread(number, scratch_);
    const ThreadState& thread = scratch_;
    ThreadFacts found;
    found.is_known = true;
    found.status = thread.status;
    found.in_section = thread.in_section;
    found.has_waited = thread.has_waited;
    found.is_waiting = is_waiting(thread);
    found.is_joining = is_joining(thread);
    found.has_stores = !thread.buffer.empty();
    found.has_link = thread.link_size != 0;
    found.face = face_of(thread);
    found.control = control_of(thread);
    ties_[number] = {machine_.joined_threads(thread), thread.awaited, thread.kind, 0, thread.is_claimed};
    if (thread.kind != 0 && thread.n_spawned == 0) ties_[number].shape = find_shape(number);
    return found;
  }

  // `scratch_` is the thread, and is overwritten.
  std::uint32_t find_shape(std::uint32_t number) {
    if (number >= objects_of_.size()) objects_of_.resize(number + std::size_t{1});
    std::vector<std::uint32_t>& slots = objects_of_[number];
    slots.clear();
    if (machine_.renames())
      change_values(scratch_, [&](Value value) {
        if (!is_heap_address(value)) return value;
        const auto met = std::ranges::find(slots, slot_of(value)) - slots.begin();
        if (at(static_cast<std::int32_t>(met)) == slots.size()) slots.push_back(slot_of(value));
        return value - (Address{slot_of(value)} << slot_bits) + (static_cast<Address>(met) << slot_bits);
      });
    encode(scratch_, words_);
    scratch_.number = unnumbered;
    return shapes_.intern(words_.words()) + 1;
  }

  std::uint32_t control_of(const ThreadState& thread) {
    words_.begin(1 + 2 * thread.frames.size());
    words_.put(static_cast<std::uint32_t>(thread.status));
    for (const Frame& frame : thread.frames) {
      words_.put(static_cast<std::uint32_t>(frame.block));
      words_.put(static_cast<std::uint32_t>(frame.pc));
    }
    return controls_.intern(words_.words());
  }

  std::uint32_t face_of(const ThreadState& thread) {
    words_.begin(14 + 9 * thread.buffer.size() + 2 * thread.owned.size());
    words_.put(static_cast<std::uint32_t>(thread.status) | (thread.is_claimed ? 1u << 8 : 0u) | (thread.awaited != 0 ? 1u << 9 : 0u));
    if (thread.awaited != 0) words_.put_long(thread.awaited);
    if (several_join_) words_.put_long(machine_.joined_threads(thread));
    if (thread.status == ThreadStatus::running) {
      const Footprint future = machine_.future(thread);
      words_.put_long(future.reads);
      words_.put_long(future.writes);
    } else {
      words_.put_long(thread.result);
      words_.put_long(thread.result_undefined);
    }
    for (const Entry& entry : thread.buffer) {
      words_.put_long(entry.address);
      words_.put_long(entry.value);
      words_.put_long(entry.undefined);
      words_.put(entry.size | static_cast<std::uint32_t>(entry.group) << 8);
      words_.put(static_cast<std::uint32_t>(entry.block));
      words_.put(static_cast<std::uint32_t>(entry.pc));
    }
    if (machine_.renames())  // whose objects are accessed (`Accesses::touch_of`)
      for (const Owned& object : thread.owned)
        if (!object.is_local) words_.put_long(object.address);
    return faces_.intern(words_.words());
  }

  Sequences& faces_;
  Sequences& controls_;
  Sequences& shapes_;
  Words words_;
  Renumbering renumbering_;
  std::vector<std::uint32_t> group_;
  std::vector<std::vector<bool>> in_await_;  // by block and position
  std::vector<ThreadFacts> facts_;
  std::vector<ThreadTies> ties_;
  std::vector<Shrunk> shrunk_ = std::vector<Shrunk>(4096);
  ThreadState scratch_;
  std::vector<std::uint64_t> rows_;
  std::vector<Member> same_kind_;
  std::vector<std::vector<std::uint32_t>> objects_of_;  // slots of the objects that a thread leads to, by its number
  std::vector<Ranks> ranks_ = std::vector<Ranks>(1024);
  State moved_;
};

}  // namespace dekker::states
