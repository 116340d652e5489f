// The steps of a thread that others may notice, with all that may leave the buffers just before.
#pragma once

#include <limits>
#include <optional>

#include "states/machine.hpp"

namespace dekker::states {

class Steps {
 public:
  Steps(Machine& machine, const Program& program) : machine_(machine), program_(program) {}

  std::uint64_t overflows = 0;

  // What left the buffers in front of the step that was emitted last; null: nothing.
  const std::vector<EntryPlace>* committed() const { return committed_; }

  // Calls `emit` with every state that one step of the thread leads to. What `emit` is given is overwritten afterwards.
  template <class Emit>
  void each(State& from, std::int32_t t, Emit&& emit) {
    each(from, t, machine_.readiness(from, t), emit);
  }

  template <class Emit>
  void each(State& from, std::int32_t t, Readiness readiness, Emit&& emit) {
    committed_ = nullptr;
    const auto finish = [&](State& next) {
      machine_.run(next, t);
      if (!is_stuck(next.threads[at(t)])) emit(next);
    };
    switch (readiness) {
      case Readiness::nothing: return;
      case Readiness::local: finish(copy(from)); return;
      case Readiness::choice: choices(from, t, finish); return;
      case Readiness::visible: visible(from, t, finish); return;
    }
  }

  // What one step of the thread touches, without what may leave other buffers. Nothing if others cannot notice it.
  void touches(State& from, std::int32_t t, Readiness readiness, std::vector<Touch>& found) {
    if (readiness != Readiness::visible) return;
    const ThreadState& thread = from.threads[at(t)];
    const Instruction* i = machine_.current(thread);
    const Operation operation = i == nullptr ? Operation::give_back : i->operation;
    const bool is_load = operation == Operation::load;
    const bool keeps_buffer = is_load || operation == Operation::recycle || operation == Operation::renew;
    if (!keeps_buffer || (i != nullptr && i->is_exclusive) || std::ranges::any_of(thread.buffer, &Entry::before_loads)) add_buffer(from, thread, found);
    switch (operation) {
      case Operation::load:
      case Operation::store:
      case Operation::store_conditional:
      case Operation::update:
      case Operation::compare_exchange: 
        found.push_back(machine_.touch_of(from, machine_.evaluate(thread, i->address), i->size, !is_load));
        return;
      case Operation::join: add_buffer(from, from.threads[at(machine_.awaited_thread(from, thread))], found); return;
      case Operation::end_scope: add_object(from, machine_.evaluate(thread, i->value), found); return;
      case Operation::recycle: found.push_back(Machine::frees(false)); return;
      case Operation::renew:
      case Operation::release:
        add_object(from, machine_.evaluate(thread, i->value), found);
        if (machine_.map().reuses()) found.push_back(Machine::frees(true));
        return;
      case Operation::exit:
      case Operation::give_back: add_object(from, machine_.leaving_object(thread)->address, found); return;
      default: return;
    }
  }

  // Of a step that others may notice, where no store is in a buffer: what it touches, if its thread alone decides that.
  std::optional<Touch> global_touch(const State& from, std::int32_t t) {
    const ThreadState& thread = from.threads[at(t)];
    const Instruction* i = machine_.current(thread);
    if (i == nullptr) return {};
    const Operation operation = i->operation;
    const bool is_load = operation == Operation::load;
    const bool writes = operation == Operation::store || operation == Operation::store_conditional ||
                        operation == Operation::update || operation == Operation::compare_exchange;
    if (!is_load && !writes) return {};
    const Address address = machine_.evaluate(thread, i->address);
    if (machine_.map().global(address) == nullptr) return {};
    return Touch{address, i->size, writes};
  }

  void add_object(State& from, Address address, std::vector<Touch>& found) const {
    const HeapObject* object = find_object(from.memory, address);
    found.push_back(machine_.touch_of(from, address, object != nullptr ? object->size : 1, true));
  }

  void add_buffer(State& from, const ThreadState& thread, std::vector<Touch>& found) const {
    for (const Entry& entry : thread.buffer) found.push_back(machine_.touch_of(from, entry.address, entry.size, true));
  }

  // Calls `emit` with every state in which all stores have been written.
  template <class Emit>
  void drained(State& from, Emit&& emit) {
    must_.clear();
    for (std::int32_t t = 0; at(t) < from.threads.size(); ++t) require_all(from, t);
    after_commits(from, none, {}, false, emit);
  }

 private:
  static constexpr ByteRange everywhere{0, std::numeric_limits<Address>::max() / 2};

  // Blocked in a section: no thread ever takes a step again, and nothing that happened in the section can be noticed.
  static bool is_stuck(const ThreadState& thread) {
    return thread.in_section && thread.status == ThreadStatus::blocked;
  }

  State& copy(const State& from) {
    machine_.contents().forget_drafts();
    if (machine_.log != nullptr) machine_.log->clear();
    if (machine_.touched != nullptr) machine_.touched->clear();
    next_.threads.resize(from.threads.size());
    for (std::size_t t = 0; t < from.threads.size(); ++t) copy_component(from.threads[t], next_.threads[t]);
    copy_component(from.memory, next_.memory);
    return next_;
  }

  // Components with the same number are equal.
  template <class Component>
  static void copy_component(const Component& from, Component& to) {
    if (from.number == unnumbered || from.number != to.number) to = from;
  }

  template <class Finish>
  void choices(State& from, std::int32_t t, const Finish& finish) {
    const Instruction& i = *machine_.current(from.threads[at(t)]);
    if (i.operation == Operation::store_conditional) {
      machine_.conditional_store(copy(from), t, false);
      finish(next_);
      return;
    }
    for (std::int64_t value = i.low;; ++value) {
      require_time();
      machine_.choose(copy(from), t, static_cast<Value>(value));
      finish(next_);
      if (value == i.high) return;
    }
  }

  template <class Finish>
  void visible(State& from, std::int32_t t, const Finish& finish) {
    const ThreadState& thread = from.threads[at(t)];
    const Instruction* i = machine_.current(thread);
    const auto execute = [&](State& next) {
      machine_.execute(next, t);
      finish(next);
    };
    must_.clear();
    switch (i == nullptr ? Operation::give_back : i->operation) {
      case Operation::load: load(from, t, *i, execute); return;
      case Operation::store: store(from, t, execute); return;
      case Operation::store_conditional: conditional(from, t, *i, finish); return;
      case Operation::update:
      case Operation::compare_exchange: update(from, t, *i, finish); return;
      case Operation::join:
        require_all(from, machine_.awaited_thread(from, thread));
        break;
      case Operation::recycle: recycle(from, t, finish); return;
      case Operation::renew: execute(copy(from)); return;
      case Operation::end_scope:
      case Operation::release: release(from, t, machine_.evaluate(thread, i->value), execute); return;
      case Operation::exit:
      case Operation::give_back:
        release(from, t, machine_.leaving_object(thread)->address, [&](State& next) {
          machine_.end_leaving_object(next, t);
          finish(next);
        });
        return;
      case Operation::atomic_begin:  // what others have written then, they have written for the whole section
        require_all(from, t);
        after_commits(from, t, everywhere, false, execute);
        return;
      default: break;
    }
    require_all(from, t);
    after_commits(from, t, {}, false, execute);
  }

  template <class Finish>
  void recycle(State& from, std::int32_t t, const Finish& finish) {
    for (const Value object : machine_.recyclable(from, t)) {
      machine_.choose(copy(from), t, object);
      finish(next_);
    }
  }

  template <class Execute>
  void load(State& from, std::int32_t t, const Instruction& i, const Execute& execute) {
    const ThreadState& thread = from.threads[at(t)];
    const ByteRange range{machine_.evaluate(thread, i.address), i.size};
    for (std::uint32_t k = 0; k < thread.buffer.size(); ++k)
      if (thread.buffer[k].before_loads) must_.push_back({t, k});
    after_commits(from, t, range, !i.is_exclusive, execute);
    if (!i.is_exclusive || thread.buffer.empty()) return;
    must_.clear();
    require_all(from, t);
    after_commits(from, t, range, false, execute);
  }

  template <class Execute>
  void store(State& from, std::int32_t t, const Execute& execute) {
    const ThreadState& thread = from.threads[at(t)];
    if (thread.buffer.empty()) {
      execute(copy(from));
      return;
    }
    ++overflows;
    const std::size_t n = machine_.in_order() ? 1 : thread.buffer.size();
    for (std::uint32_t k = 0; k < n; ++k) {
      must_.assign(1, {t, k});
      after_commits(from, t, {}, false, execute);
    }
  }

  template <class Finish>
  void conditional(State& from, std::int32_t t, const Instruction& i, const Finish& finish) {
    machine_.conditional_store(copy(from), t, false);
    finish(next_);
    const ThreadState& thread = from.threads[at(t)];
    const Address address = machine_.evaluate(thread, i.address);
    if (!Machine::is_linked(thread, address, i.size)) return;
    require_all(from, t);
    after_commits(from, t, {address, i.size}, false, [&](State& next) {
      if (next.threads[at(t)].link_size == 0) return;
      machine_.conditional_store(next, t, true);
      finish(next);
    });
  }

  template <class Finish>
  void update(State& from, std::int32_t t, const Instruction& i, const Finish& finish) {
    const Address address = machine_.evaluate(from.threads[at(t)], i.address);
    require_all(from, t);
    for (const bool fails : {false, true}) {
      if (fails && !i.is_weak) return;
      after_commits(from, t, {address, i.size}, false, [&](State& next) {
        machine_.update(next, t, i, fails);
        finish(next);
      });
    }
  }

  template <class Execute>
  void release(State& from, std::int32_t t, Address address, const Execute& execute) {
    const HeapObject* object = find_object(from.memory, address);
    ByteRange range{address, 0};
    if (object != nullptr) range = {object->start, object->size};
    require_all(from, t);
    after_commits(from, t, range, false, execute);
  }

  void require_all(const State& from, std::int32_t t) {
    for (std::uint32_t k = 0; k < from.threads[at(t)].buffer.size(); ++k) must_.push_back({t, k});
  }

  template <class Execute>
  void after_commits(State& from, std::int32_t t, ByteRange range, bool prunes, const Execute& execute) {
    if (!machine_.has_buffers()) {
      execute(copy(from));
      return;
    }
    commits_.find(from.threads, machine_.in_order(), t, must_, range, prunes,
                  [&](Address address) { return machine_.read_byte(from, address); });
    const std::size_t n = commits_.n_results();
    for (std::size_t k = 0; k < n; ++k) {
      require_time();
      machine_.commit(copy(from), commits_.result(k));
      committed_ = &commits_.result(k);
      execute(next_);
    }
    committed_ = nullptr;
  }

  Machine& machine_;
  const Program& program_;
  Commits commits_;
  std::vector<EntryPlace> must_;
  const std::vector<EntryPlace>* committed_ = nullptr;
  State next_;
};

}  // namespace dekker::states
