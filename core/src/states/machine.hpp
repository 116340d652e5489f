// Runs the instructions of one thread. Steps that no other thread can notice are done at once; the others are those of
// steps.hpp.
#pragma once

#include "states/accesses.hpp"

namespace dekker::states {

// The program comes to what cannot be followed.
struct Refused {
  Place place;
};

enum class Readiness : std::uint8_t {
  nothing,  // it has ended, or waits
  local,    // nobody else can notice the next step
  choice,   // and it has several outcomes
  visible,
};

class Machine : public Accesses {
 public:
  using Accesses::Accesses;

  State initial() {
    State state;
    state.memory = map_.initial(program_, contents_);
    for (std::size_t t = 0; t < program_.threads.size(); ++t) {
      ThreadState& thread = state.threads.emplace_back();
      thread.status = ThreadStatus::running;
      enter(thread, program_.alike[t], none);
    }
    for (std::size_t t = 0; t < state.threads.size(); ++t) run(state, static_cast<std::int32_t>(t));
    return state;
  }

  std::uint64_t n_limits = 0;  // runs that were not followed any further
  std::uint64_t n_failed_awaits = 0;
  std::size_t log_at_await = 0;
  bool goes_slowly = false;  // stops behind each instruction, so that it shows where a round ends

  // Executes what nobody else can notice, until the thread has to be interleaved with others.
  void run(State& state, std::int32_t t) {
    state.threads[at(t)].number = unnumbered;
    state.threads[at(t)].awaited = 0;
    const std::uint64_t last_await = n_failed_awaits + 2;  // a thread that waits for what nobody else can change
    const int most_steps = goes_slowly ? 1 : most_local_steps;
    for (int n = 0; n < most_steps && n_failed_awaits != last_await; ++n) {
      if (readiness(state, t) != Readiness::local) break;
      execute(state, t);
    }
    clear_dead(state.threads[at(t)]);
    if (merges_spawned()) state.threads[at(t)].awaited = joined_in_a_row(state, t);
  }

  Readiness readiness(State& state, std::int32_t t) {
    ThreadState& thread = state.threads[at(t)];
    if (thread.status != ThreadStatus::running) return Readiness::nothing;
    const Frame& frame = thread.frames.back();
    const std::vector<Instruction>& code = program_.block(frame.block).code;
    if (at(frame.pc) >= code.size()) return leave_readiness(state, t);
    const Instruction& i = code[at(frame.pc)];
    if (decides_on_undefined(thread, i)) return Readiness::local;  // it fails
    switch (i.operation) {
      case Operation::choose: return Readiness::choice;
      case Operation::load:
      case Operation::store:
      case Operation::store_conditional:
      case Operation::update:
      case Operation::compare_exchange: return access_readiness(state, t, i);
      case Operation::fence: return flush_readiness(state, t, i.fence == FenceAction::flush);
      case Operation::spawn: return flush_readiness(state, t, true);
      case Operation::atomic_begin: return thread.in_section && !has_buffers() ? Readiness::local : Readiness::visible;
      case Operation::atomic_end: return has_buffers() ? Readiness::visible : Readiness::local;
      case Operation::join: return join_readiness(state, thread, i);
      case Operation::release: return release_readiness(state, thread, i);
      case Operation::end_scope: return end_scope_readiness(state, thread, i);
      case Operation::recycle:
      case Operation::renew: return Readiness::visible;
      case Operation::exit:
      case Operation::give_back: return leave_readiness(state, t);
      default: return Readiness::local;
    }
  }

  // Executes the next instruction. What has to leave the buffers before has left them.
  void execute(State& state, std::int32_t t) {
    ThreadState& thread = state.threads[at(t)];
    const Instruction* i = current(thread);
    if (i == nullptr) {
      give_back(state, t, {}, false);
      return;
    }
    if (decides_on_undefined(thread, *i)) {
      fail(state, t, ViolationKind::uninitialised, 0);
      return;
    }
    switch (i->operation) {
      case Operation::assign: {
        const KnownBits assigned = known(thread, i->value);
        thread.set(i->destination, assigned.value, assigned.undefined);
        break;
      }
      case Operation::load: load(state, t, *i); break;
      case Operation::store: store(state, t, *i); break;
      case Operation::update:
      case Operation::compare_exchange: update(state, t, *i, false); return;
      case Operation::fence: fence(thread, t, *i); break;
      case Operation::jump: thread.frames.back().pc = i->target; return;
      case Operation::branch:
        if (evaluate(thread, i->value) != 0) {
          thread.frames.back().pc = i->target;
          return;
        }
        break;
      case Operation::await:
        if (evaluate(thread, i->value) == 0) {
          ++n_failed_awaits;
          thread.has_waited = options_.tells_waiting;
          if (log != nullptr) log_at_await = log->size();
          note({ActionKind::wait, place(thread, t)});
          thread.frames.back().pc = i->target;
          return;
        }
        thread.has_waited = false;
        break;
      case Operation::assume:
        if (evaluate(thread, i->value) == 0) {
          stop(thread, ThreadStatus::blocked);
          return;
        }
        break;
      case Operation::check:
        if (evaluate(thread, i->value) == 0) {
          if (i->is_weak) {
            ++n_limits;
            stop(thread, ThreadStatus::blocked);
          } else {
            fail(state, t, ViolationKind::assertion, 0);
          }
          return;
        }
        break;
      case Operation::call: call(state, t, *i); return;
      case Operation::exit:
        if (i->ends_program)
          stop(thread, ThreadStatus::ended_program);
        else
          give_back(state, t, {}, true);
        return;
      case Operation::give_back: give_back(state, t, i->value == none ? KnownBits{} : known(thread, i->value), false); return;
      case Operation::spawn: spawn(state, t, *i); return;
      case Operation::join: join(state, t, *i); return;
      case Operation::allocate: allocate(state, t, *i); return;
      case Operation::release: release(state, t, *i); return;
      case Operation::end_scope: end_scope(state, t, *i); return;
      case Operation::detach: detach(state, t, *i); return;
      case Operation::atomic_begin: thread.in_section = true; break;
      case Operation::atomic_end: thread.in_section = false; break;
      case Operation::nothing: break;
      case Operation::refuse: throw Refused{place(thread, t)};
      case Operation::measure: measure(state, t, *i); return;
      case Operation::renew: renew(state, t, *i); break;
      case Operation::store_conditional: conditional_store(state, t, false); return;  // elsewhere than its load
      case Operation::recycle:
      case Operation::choose: break;  // several outcomes: steps.hpp
    }
    if (thread.status == ThreadStatus::running) ++thread.frames.back().pc;
  }

  // The thread whose end this one waits for, or `none`.
  std::int32_t awaited_thread(const State& state, const ThreadState& thread) {
    const Instruction* i = thread.status == ThreadStatus::running ? current(thread) : nullptr;
    if (i == nullptr || i->operation != Operation::join) return none;
    return spawned_thread(state, evaluate(thread, i->value));
  }

  // What is to be joined next, and what else in a row, as bits, if that are threads at all.
  std::uint64_t joined_threads(const ThreadState& thread) {
    const Instruction* i = thread.status == ThreadStatus::running ? current(thread) : nullptr;
    if (i == nullptr || i->operation != Operation::join) return 0;
    const Value handle = evaluate(thread, i->value);
    const Value number = is_handle(handle) ? at(thread_of(handle)) : handle - 1;
    return thread.awaited | (number < 64 ? std::uint64_t{1} << number : 0);
  }

  // Those that it waits for and that have not ended, as bits.
  std::uint64_t awaited_threads(const State& state, const ThreadState& thread) {
    const std::int32_t first = awaited_thread(state, thread);
    if (first == none) return 0;
    std::uint64_t found = thread.awaited | bit_of(first);
    for (std::int32_t u = 0; at(u) < state.threads.size(); ++u)
      if (state.threads[at(u)].status == ThreadStatus::finished) found &= ~bit_of(u);
    return found;
  }

  // The object that ends first when the thread leaves its call, or null.
  const Owned* leaving_object(const ThreadState& thread) const {
    const Instruction* i = current(thread);
    const bool exits = i != nullptr && i->operation == Operation::exit;
    const auto found = last_owned(thread, exits || thread.frames.size() == 1 ? 0 : thread.frames.size());
    return found == thread.owned.end() ? nullptr : &*found;
  }

  void end_leaving_object(State& state, std::int32_t t) {
    ThreadState& thread = state.threads[at(t)];
    const Owned owned = *leaving_object(thread);
    std::erase_if(thread.owned, [&](const Owned& item) { return item.address == owned.address; });
    end_owned(state, t, owned);
  }

 private:
  static constexpr int most_local_steps = 10'000;
  static constexpr std::size_t deepest_call = 1000;

  // ---- Which steps are local ----------------------------------------------------------------------------------------

  Readiness access_readiness(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.address);
    if (i.operation == Operation::store_conditional && !is_linked(thread, address, i.size))  // it fails
      return thread.link_size == 0 ? Readiness::choice : Readiness::local;
    const Location place = map_.locate(state.memory, address, i.size);
    if (place.content == nullptr || undefined(thread, i.address) != 0) return Readiness::local;  // it fails
    if (assumptions_.footprints && (i.touches & place.bit) == 0) throw UnforeseenAccess{};
    if (i.operation == Operation::store_conditional) return Readiness::visible;
    if (i.operation == Operation::compare_exchange && i.is_weak) return Readiness::visible;
    if (thread.in_section && !has_buffers()) return Readiness::local;  // nobody else takes a step
    const bool is_plain_store = i.operation == Operation::store;
    if (is_plain_store && has_buffers() && !place.is_private)
      return has_room(thread) ? Readiness::local : Readiness::visible;
    const bool is_update = i.operation == Operation::update || i.operation == Operation::compare_exchange;
    if (is_update && !thread.buffer.empty()) return Readiness::visible;
    if (i.is_exclusive && has_buffers() && !thread.buffer.empty()) return Readiness::visible;
    if (thread.has_waited) return Readiness::visible;  // the program may end meanwhile
    if (place.is_private) return Readiness::local;
    if (!is_plain_store && !is_update && has_urgent_entry(thread)) return Readiness::visible;
    const bool is_read = i.operation == Operation::load && !i.is_exclusive;
    return is_unnoticed(state, t, place, address, i.size, !is_read) ? Readiness::local : Readiness::visible;
  }

  // Where robustness is asked for, threads rest at fences under all models, so that states can be compared.
  Readiness flush_readiness(const State& state, std::int32_t t, bool flushes) const {
    if (flushes && options_.robust) return Readiness::visible;
    return flushes && !state.threads[at(t)].buffer.empty() ? Readiness::visible : Readiness::local;
  }

  // Leaving a call releases objects that others may know.
  Readiness leave_readiness(State& state, std::int32_t t) {
    ThreadState& thread = state.threads[at(t)];
    const bool is_exit = current(thread) != nullptr && current(thread)->operation == Operation::exit;
    if (is_exit && current(thread)->ends_program) return Readiness::local;
    const bool ends = is_exit || thread.frames.size() == 1;
    for (const Owned& object : thread.owned)
      if ((ends || object.depth == thread.frames.size()) && !object.is_confined) {
        const Location place = map_.locate(state.memory, object.address, 0);
        if (place.content != nullptr && !place.is_private) return Readiness::visible;
      }
    return Readiness::local;
  }

  Readiness join_readiness(State& state, ThreadState& thread, const Instruction& i) {
    const std::int32_t number = spawned_thread(state, evaluate(thread, i.value));
    if (number == none || state.threads[at(number)].is_claimed || is_awaited(state, number, &thread)) return Readiness::local;
    const ThreadState& other = state.threads[at(number)];
    if (awaited_threads(state, thread) != 0) return Readiness::nothing;
    return other.buffer.empty() && thread.buffer.empty() && !options_.robust ? Readiness::local : Readiness::visible;
  }

  Readiness release_readiness(State& state, ThreadState& thread, const Instruction& i) {
    const Address address = evaluate(thread, i.value);
    if (address == 0) return Readiness::local;
    const HeapObject* object = find_object(state.memory, address);
    const bool is_object = object != nullptr && address == object->start && !object->is_stack;
    const bool is_hidden = is_object && object->is_live && (object->is_local || !object->is_shared);
    if (!is_object || (is_hidden && !map_.reuses())) return Readiness::local;
    return Readiness::visible;
  }

  // The thread that is known by this value, or `none`.
  std::int32_t spawned_thread(const State& state, Value handle) const {
    const bool is_number = !merges_spawned() || handle == 0;
    if (!is_number && (!is_handle(handle) || handle != handle_of(thread_of(handle)))) throw HandlesMatter{};
    const Value number = is_number ? handle - 1 : at(thread_of(handle));
    const bool is_spawned = number >= program_.threads.size() && number < state.threads.size() &&
                            state.threads[number].status != ThreadStatus::unborn;
    return is_spawned ? static_cast<std::int32_t>(number) : none;
  }

  // What a thread is known by.
  Value known_by(std::int32_t t) const { return merges_spawned() ? handle_of(t) : static_cast<Value>(t) + 1; }

  // ---- Calls ----------------------------------------------------------------------------------------------------------

  void enter(ThreadState& thread, std::int32_t number, std::int32_t destination) {
    const Block& block = program_.block(number);
    const auto base = static_cast<std::uint32_t>(thread.registers.size());
    thread.frames.push_back({number, 0, destination, base});
    thread.resize_registers(base + at(block.n_registers));
    for (const auto& [register_number, initial] : block.initial_registers) thread.in(register_number) = initial;
  }

  void clear_dead(ThreadState& thread) const {
    if (thread.frames.empty() || thread.status == ThreadStatus::unborn) return;
    const Frame& frame = thread.frames.back();
    const Block& block = program_.block(frame.block);
    for (const std::int32_t number : block.dead[at(frame.pc)]) {
      if (number == block.n_registers)
        thread.link_size = 0;
      else
        thread.in(number) = 0;
    }
    thread.forget_defined();
    if (thread.link_size == 0) thread.link = 0;
  }

  // `none` if the value is no function.
  std::int32_t called_block(const ThreadState& thread, const Instruction& i) {
    if (i.target != none) return i.target;
    const auto found = program_.function_at.find(evaluate(thread, i.value));
    return found == program_.function_at.end() ? none : found->second;
  }

  std::vector<KnownBits> arguments(const ThreadState& thread, const Instruction& i) {
    std::vector<KnownBits> found;
    for (std::int32_t k = 0; k < i.n_arguments; ++k)
      found.push_back(known(thread, program_.arguments[at(i.first_argument + k)]));
    return found;
  }

  // Those that the block does not expect are dropped.
  void pass(ThreadState& thread, const std::vector<KnownBits>& given) {
    const std::vector<std::int32_t>& parameters = program_.block(thread.frames.back().block).parameters;
    for (std::size_t k = 0; k < std::min(parameters.size(), given.size()); ++k)
      thread.set(parameters[k], given[k].value, given[k].undefined);
  }

  void call(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const std::int32_t block = called_block(thread, i);
    if (block == none || thread.frames.size() > deepest_call) {
      fail(state, t, ViolationKind::call, block == none ? evaluate(thread, i.value) : 0);
      return;
    }
    const std::vector<KnownBits> given = arguments(thread, i);
    ++thread.frames.back().pc;
    const std::uint8_t link_size = thread.link_size;
    clear_dead(thread);
    thread.link_size = link_size;  // what is called may use it
    if (i.destination != none) thread.in(i.destination) = 0;
    enter(thread, block, i.destination);
    pass(thread, given);
  }

  void give_back(State& state, std::int32_t t, KnownBits result, bool exits) {
    ThreadState& thread = state.threads[at(t)];
    const Place from = place(thread, t);
    const bool ends = exits || thread.frames.size() == 1;
    end_objects(state, t, ends ? 0 : thread.frames.size());
    if (thread.status != ThreadStatus::running) return;
    if (exits) {
      thread.frames.resize(1);
      thread.resize_registers(at(program_.block(thread.frames[0].block).n_registers));
    }
    if (ends) {
      end_thread(state, t, from, result);
      return;
    }
    const Frame frame = thread.frames.back();
    thread.frames.pop_back();
    thread.resize_registers(frame.base);
    if (frame.destination != none) thread.set(frame.destination, result.value, result.undefined);
  }

  // Objects of calls at this depth and above.
  void end_objects(State& state, std::int32_t t, std::size_t depth) {
    ThreadState& thread = state.threads[at(t)];
    for (auto found = last_owned(thread, depth); found != thread.owned.end(); found = last_owned(thread, depth)) {
      const Owned owned = *found;
      thread.owned.erase(found);
      if (!end_owned(state, t, owned)) return;
    }
  }

  // The last object of calls at this depth and above.
  static std::vector<Owned>::const_iterator last_owned(const ThreadState& thread, std::size_t depth) {
    const auto is_over = [&](const Owned& item) { return item.depth >= depth; };
    const auto found = std::ranges::find_if(thread.owned.rbegin(), thread.owned.rend(), is_over);
    return found == thread.owned.rend() ? thread.owned.end() : std::prev(found.base());
  }

  bool end_owned(State& state, std::int32_t t, const Owned& owned) {
    HeapObject* object = find_object(state.memory, owned.address);
    if (object == nullptr || !object->is_live) return true;
    if (!owned.is_confined) note({ActionKind::release, place(state.threads[at(t)], t), owned.address});
    return end_object(state, t, *object);
  }

  // Variables that live in a block end with it.
  void end_scope(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.value);
    const auto found = std::ranges::find(thread.owned, address, &Owned::address);
    if (found != thread.owned.end()) {
      const Owned owned = *found;
      thread.owned.erase(found);
      if (!end_owned(state, t, owned)) return;
    }
    thread.in(i.destination) = 0;
    ++thread.frames.back().pc;
  }

  Readiness end_scope_readiness(State& state, ThreadState& thread, const Instruction& i) {
    const HeapObject* object = find_object(state.memory, evaluate(thread, i.value));
    const bool is_known = object != nullptr && object->is_live && object->is_shared && !object->is_local;
    return is_known ? Readiness::visible : Readiness::local;
  }

  // Whether no store of another thread to the object is on its way. Otherwise that store is what is wrong.
  bool end_object(State& state, std::int32_t t, HeapObject& object) {
    const bool is_known = object.is_shared && !object.is_local;
    if (is_known && touched != nullptr) touched->push_back(ending(state, t, object));
    state.memory.number = unnumbered;
    n_changes += is_known || map_.reuses();
    object.is_live = false;
    object.is_partly = false;
    object.has_word = map_.reuses() && !object.is_stack;
    object.content = object.has_word ? contents_.zeroes(MemoryMap::word_size) : 0;
    object.is_shared = object.is_shared || object.has_word;  // whoever allocates it
    bool is_late = false;
    for (std::int32_t u = 0; at(u) < state.threads.size(); ++u)
      for (const Entry& entry : state.threads[at(u)].buffer) {
        if (u == t || !entry.overlaps(object.start, object.size)) continue;
        blame(ViolationKind::use_after_free, {u, entry.block, entry.pc}, entry.address);
        is_late = true;
      }
    if (is_late) stop(state.threads[at(t)], ThreadStatus::failed);
    return !is_late;
  }

  Touch ending(State& state, std::int32_t t, const HeapObject& object) const {
    Touch found = touch_of(state, object.start, object.size, true);
    if (renames() && object.is_stack) found.heap_cell = locals_of(at(t));
    return found;
  }

  void end_thread(State& state, std::int32_t t, const Place& from, KnownBits result) {
    ThreadState& thread = state.threads[at(t)];
    thread.status = ThreadStatus::finished;
    thread.in_section = false;
    if (at(t) >= program_.threads.size()) {
      note({ActionKind::end, from, 0, 0, result.value});
      share(state.memory, contents_, result.value);
      thread.result = result.value;
      thread.result_undefined = result.undefined;
      thread.registers.clear();
      thread.undefined.clear();
      thread.frames.clear();
      return;
    }
    thread.frames[0].pc = static_cast<std::int32_t>(program_.block(thread.frames[0].block).code.size());
  }

  // ---- Threads --------------------------------------------------------------------------------------------------------

  void spawn(State& state, std::int32_t t, const Instruction& i) {
    const std::int32_t block = called_block(state.threads[at(t)], i);
    if (block == none) {
      fail(state, t, ViolationKind::call, evaluate(state.threads[at(t)], i.value));
      return;
    }
    const std::vector<KnownBits> given = arguments(state.threads[at(t)], i);
    for (const KnownBits& argument : given) share(state.memory, contents_, argument.value);
    const std::int32_t child = spawned_.number(t, state.threads[at(t)].n_spawned++, program_.threads.size());
    if (state.threads.size() <= at(child)) state.threads.resize(at(child) + 1);
    ThreadState& thread = state.threads[at(t)];
    note({ActionKind::spawn, place(thread, t), 0, 0, static_cast<Value>(child)});
    if (i.destination != none) thread.in(i.destination) = known_by(child);
    ++thread.frames.back().pc;
    ThreadState& born = state.threads[at(child)];
    born.status = ThreadStatus::running;
    if (merges_spawned()) born.kind = kind_of(block, given);
    enter(born, block, none);
    pass(born, given);
    note({ActionKind::begin, place(born, child)});
    run(state, child);
  }

  // Which allocated objects the arguments lead to makes no difference.
  std::uint32_t kind_of(std::int32_t block, const std::vector<KnownBits>& given) {
    Words words;
    words.begin(1 + 4 * given.size());
    words.put(static_cast<std::uint32_t>(block));
    for (const KnownBits& argument : given) {
      words.put_long(is_heap_address(argument.value) ? heap_start : argument.value);
      words.put_long(argument.undefined);
    }
    return kinds_.intern(words.words()) + 1;
  }

  void join(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Value handle = evaluate(thread, i.value);
    const std::int32_t number = spawned_thread(state, handle);
    if (is_awaited(state, number, &thread) || !claim(state, number, t)) {
      fail(state, t, ViolationKind::join, handle);
      return;
    }
    note({ActionKind::join, place(thread, t), 0, 0, static_cast<Value>(number)});
    if (i.destination != none) {
      const ThreadState& other = state.threads[at(number)];
      thread.set(i.destination, other.result, other.result_undefined);
    }
    ++thread.frames.back().pc;
  }

  // Does another thread wait to join it?
  bool is_awaited(const State& state, std::int32_t number, const ThreadState* but) {
    return number != none && std::ranges::any_of(state.threads, [&](const ThreadState& other) { return &other != but && awaited_thread(state, other) == number; });
  }

  // Joins or detaches a thread: that is done once, and by one.
  bool claim(State& state, std::int32_t number, std::int32_t t) {
    if (number == none || state.threads[at(number)].is_claimed) return false;
    for (std::int32_t u = 0; at(u) < state.threads.size(); ++u)
      if (u != t && (state.threads[at(u)].awaited & bit_of(number)) != 0) throw HandlesMatter{};
    state.threads[at(number)].is_claimed = true;
    state.threads[at(number)].number = unnumbered;
    return true;
  }

  // 0 stands for the thread itself; the first thread, which nobody can join, may detach itself. What a thread does itself comes
  // before whatever joins it.
  void detach(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Value handle = evaluate(thread, i.value);
    const bool is_first = handle == 0 && at(t) < program_.threads.size();
    const std::int32_t number = handle == 0 ? t : spawned_thread(state, handle);
    if (!is_first && ((number != t && is_awaited(state, number, &thread)) || !claim(state, number, t))) {
      fail(state, t, ViolationKind::join, handle);
      return;
    }
    ++thread.frames.back().pc;
  }

  // ---- Joins in a row -------------------------------------------------------------------------------------------------
  //
  // Threads that one thread joins, and does nothing in between that others notice, that goes wrong, or that depends on which of
  // them ended with what: there is no difference between waiting for one after the other and waiting for all at once. Then
  // they may change places (`Numbering::sort_spawned`), for what they are known by is only there to be joined by this thread.

  // As bits. The thread is where it was left by `run`.
  std::uint64_t joined_in_a_row(State& state, std::int32_t t) {
    if (state.threads[at(t)].in_section || awaited_thread(state, state.threads[at(t)]) == none) return 0;
    contents_.settle(state.memory);  // drafts must not be shared with the copy
    rehearsed_ = state;
    Schedule* const saved_log = std::exchange(log, nullptr);
    std::vector<Touch>* const saved_touched = std::exchange(touched, nullptr);
    const std::uint64_t saved_largest = largest_buffer, saved_reads = n_reads;
    std::uint64_t found = 0;
    for (int n = 0; n < most_local_steps; ++n)
      if (!rehearse(t, found)) break;
    log = saved_log;
    touched = saved_touched;
    largest_buffer = saved_largest;
    n_reads = saved_reads;
    return found;
  }

  // One step in `rehearsed_`, which may be a join. Whether it is one that may wait for the other joins.
  bool rehearse(std::int32_t t, std::uint64_t& joined) {
    ThreadState& thread = rehearsed_.threads[at(t)];
    const Instruction* i = current(thread);
    if (i == nullptr || i->operation != Operation::join) return rehearse_between(t, i);
    const std::int32_t other = awaited_thread(rehearsed_, thread);
    if (other == none || other == t || rehearsed_.threads[at(other)].is_claimed || undefined(thread, i->value) != 0) return false;
    const std::vector<std::int32_t>& dead = program_.block(thread.frames.back().block).dead[at(++thread.frames.back().pc)];
    const bool result_matters = i->destination != none && std::ranges::find(dead, i->destination) == dead.end();
    if (result_matters && joined != 0) return false;
    joined |= bit_of(other);
    rehearsed_.threads[at(other)].is_claimed = true;
    return !result_matters;
  }

  bool rehearse_between(std::int32_t t, const Instruction* i) {
    ThreadState& thread = rehearsed_.threads[at(t)];
    if (readiness(rehearsed_, t) != Readiness::local || (i != nullptr && decides_on_undefined(thread, *i))) return false;
    switch (i == nullptr ? Operation::give_back : i->operation) {
      case Operation::check:
      case Operation::assume:
        if (evaluate(thread, i->value) == 0) return false;
        break;
      case Operation::give_back:
        if (thread.frames.size() == 1) return false;
        break;
      case Operation::store:  // what others do not notice may still be asked for at the end
        if (!map_.locate(rehearsed_.memory, evaluate(thread, i->address), i->size).is_private) return false;
        break;
      case Operation::assign:
      case Operation::load:
      case Operation::jump:
      case Operation::branch:
      case Operation::call:
      case Operation::nothing: break;
      default: return false;
    }
    const std::size_t n_stores = thread.buffer.size(), n_violations = violations_.size();
    execute(rehearsed_, t);
    const bool is_well = violations_.size() == n_violations && thread.status == ThreadStatus::running;
    violations_.resize(n_violations);
    return is_well && thread.buffer.size() == n_stores;
  }

  // ---- Objects --------------------------------------------------------------------------------------------------------

  // Would all objects together not fit into what one thread has where addresses never change?
  static bool is_more_than_there_is(const Memory& memory, Address size) {
    Address total = size;
    for (const HeapObject& object : memory.heap) total += object.size + fixed_gap;
    return total > fixed_per_thread - 2 * fixed_gap;
  }

  void allocate(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Value size = evaluate(thread, i.value);
    if (merges_spawned() && is_handle(size)) throw HandlesMatter{};
    const bool has_place = has_room(state.memory, thread, size), fits = size <= largest_object && has_place;
    if (!fits && ((!renames() && !has_place) || is_more_than_there_is(state.memory, size))) {
      fail(state, t, ViolationKind::allocation, size);
      return;
    }
    if (!fits) throw Refused{place(thread, t)};
    const Address start = free_address(state.memory, t, thread, size);
    const bool hides = options_.dynamic_local && options_.model != Model::pso && assumptions_.renames && !i.is_name;
    HeapObject object{start, 0, static_cast<std::uint32_t>(size), true, !hides, i.is_stack, i.is_local};
    set_new_content(object, i.is_unset);
    if (options_.leaks && !i.is_stack && !i.is_permanent) set_origin(object, thread);
    const auto position = std::ranges::lower_bound(state.memory.heap, start, {}, &HeapObject::start);
    state.memory.heap.insert(position, object);
    state.memory.number = unnumbered;
    if (i.is_stack) {
      const std::size_t depth = i.is_permanent ? 0 : thread.frames.size();
      thread.owned.push_back({static_cast<std::uint32_t>(depth), start, i.is_confined, i.is_local});
    }
    n_changes += !i.is_stack;
    note({ActionKind::allocate, place(thread, t), start, 0, size});
    thread.in(i.destination) = start;
    ++thread.frames.back().pc;
  }

  void set_new_content(HeapObject& object, bool is_unset) {
    const std::size_t n_bytes = map_.content_size(object.size);
    object.is_partly = is_unset && object.size != 0;
    object.content = object.is_partly ? contents_.unset(n_bytes, object.size) : contents_.zeroes(n_bytes);
  }

  static void set_origin(HeapObject& object, const ThreadState& thread) {
    object.block = thread.frames.back().block;
    object.pc = thread.frames.back().pc;
  }

  void renew(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.value);
    HeapObject* const found = find_object(state.memory, address);
    if (found == nullptr || found->start != address || !found->has_word || found->size != evaluate(thread, i.expected)) {
      stop(thread, ThreadStatus::blocked);
      return;
    }
    HeapObject& object = *found;
    touch(state, address, std::max<Address>(object.size, 1), true);
    touch_frees(true);
    ++n_changes;
    object.is_live = true;
    object.has_word = false;
    set_new_content(object, i.is_unset);
    if (options_.leaks) set_origin(object, thread);
    state.memory.number = unnumbered;
    note({ActionKind::renew, place(thread, t), address});
  }

  bool has_room(const Memory& memory, const ThreadState& thread, Value size) const {
    if (renames()) return memory.heap.empty() || slot_of(memory.heap.back().start) + 1 < most_slots;
    return thread.allocated + size + 2 * fixed_gap <= fixed_per_thread;
  }
  using Accesses::has_room;

  Address free_address(const Memory& memory, std::int32_t t, ThreadState& thread, Value size) const {
    if (renames()) return start_of_slot(memory.heap.empty() ? 0 : slot_of(memory.heap.back().start) + 1);
    const Address start = fixed_start + static_cast<Address>(t) * fixed_per_thread + thread.allocated + fixed_gap;
    thread.allocated += static_cast<std::uint32_t>((size / fixed_gap + 2) * fixed_gap);
    return start;
  }

  void measure(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.value);
    touch(state, address, 1, false);
    const HeapObject* object = find_object(state.memory, address);
    if (object == nullptr || address != object->start || object->is_stack) {
      fail(state, t, ViolationKind::release, address);
      return;
    }
    thread.in(i.destination) = object->size;
    ++thread.frames.back().pc;
  }

  void release(State& state, std::int32_t t, const Instruction& i) {
    ThreadState& thread = state.threads[at(t)];
    const Address address = evaluate(thread, i.value);
    if (address != 0) {
      touch(state, address, 1, true);
      HeapObject* object = find_object(state.memory, address);
      if (object == nullptr || address != object->start || object->is_stack) {
        fail(state, t, ViolationKind::release, address);
        return;
      }
      if (!object->is_live) {
        fail(state, t, ViolationKind::double_free, address);
        return;
      }
      if (map_.reuses()) touch_frees(true);
      note({ActionKind::release, place(thread, t), address});
      if (!end_object(state, t, *object)) return;
    }
    ++thread.frames.back().pc;
  }

  State rehearsed_;
};

}  // namespace dekker::states
