// The committed events as the model sees them: base sets and relations over matrix indices, which are the order of commits.
#pragma once

#include <optional>
#include <string_view>

#include "dekker/incremental_model.hpp"
#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class Matrix {
 public:
  using Bits = FixedBits<W>;

  Matrix(const Program& program, const ModelProgram& model)
      : program_(program), model_(model, W), of_thread_(program.threads.size()) {
    const auto find = [&](std::string_view name) { return model_.input_index(name); };
    inputs_ = {find("po"), find("rf"), find("co"), find("fr"), find("loc"), find("int"), find("ext"), find("id"),
               find("addr"), find("data"), find("ctrl"), find("pick-addr"), find("pick-data"), find("pick-ctrl"),
               find("status-addr"), find("status-data"), find("status-ctrl"), find("rmw"), find("amo"), find("lxsx"), find("allocation")};
  }

  std::size_t size() const { return model_.n_events(); }
  bool is_full() const { return size() >= Bits::capacity; }
  void pop_to(std::size_t n_events) { model_.pop_to(n_events); }
  bool is_allowed() { return model_.is_allowed(); }
  Word raised_flags() { return model_.raised_flags(); }

  std::uint32_t push_initial_write() {
    const std::uint32_t m = push(program_.initial_class);
    relate_to_others(m, {});
    insert_pair(inputs_.internal, m, m);
    insert_pair(inputs_.loc, m, m);
    return m;
  }

  // An event of the machine: where it stands in its thread, among the accesses of its location (if any), and behind what
  // it depends on. The caller says later where it takes part in communication.
  std::uint32_t push_event(const Machine<W>& machine, const Event<W>& e, std::int32_t event_class, Bits* same_location,
                           bool is_shadow = false) {
    const std::uint32_t m = push(event_class);
    if (of_thread_.size() <= static_cast<std::size_t>(e.thread)) of_thread_.resize(static_cast<std::size_t>(e.thread) + 1);
    Bits& own = of_thread_[static_cast<std::size_t>(e.thread)];
    insert_program_order(machine, e, own);
    relate_to_others(m, own);
    own.set(m);
    insert_predecessors(inputs_.internal, own);
    insert_successors(inputs_.internal, own);
    if (same_location != nullptr) {
      same_location->set(m);
      insert_predecessors(inputs_.loc, *same_location);
      insert_successors(inputs_.loc, *same_location);
    }
    insert_dependencies(machine, e, is_shadow);
    return m;
  }

  // A write that is none of the program: only who says so relates it to others, but for its being of no other's thread.
  std::uint32_t push_mark(std::int32_t event_class) {
    const std::uint32_t m = push(event_class);
    relate_to_others(m, {});
    insert_pair(inputs_.internal, m, m);
    return m;
  }

  void forget(std::int32_t thread, std::size_t m) { of_thread_[static_cast<std::size_t>(thread)].clear(m); }

  void insert_reads_from(std::size_t write, std::size_t read) { insert_pair(inputs_.rf, write, read); }
  void insert_sources(const Bits& writes) { insert_predecessors(inputs_.rf, writes); }
  void insert_readers(const Bits& reads) { insert_successors(inputs_.rf, reads); }
  void insert_coherence(const Bits& before, const Bits& after) {
    insert_predecessors(inputs_.co, before);
    insert_successors(inputs_.co, after);
  }
  void insert_overwritten_by(const Bits& writes) { insert_successors(inputs_.fr, writes); }
  void insert_overwrites_for(const Bits& reads) { insert_predecessors(inputs_.fr, reads); }
  void insert_update(Role role, std::size_t read, std::size_t write) {
    insert_pair(inputs_.rmw, read, write);
    insert_pair(role == Role::update_write ? inputs_.amo : inputs_.lxsx, read, write);
  }
  bool watches_allocations() const { return inputs_.allocation != unused; }
  void insert_allocation(std::size_t first_behind, std::size_t access) { insert_pair(inputs_.allocation, first_behind, access); }

 private:
  struct Inputs {
    std::size_t po, rf, co, fr, loc, internal, external, identity;
    std::size_t addr, data, ctrl, pick_addr, pick_data, pick_ctrl, status_addr, status_data, status_ctrl;
    std::size_t rmw, amo, lxsx, allocation;
  };

  std::uint32_t push(std::int32_t event_class) {
    const auto m = static_cast<std::uint32_t>(model_.n_events());
    model_.push_event();
    for (std::size_t set : program_.classes[static_cast<std::size_t>(event_class)].sets) model_.insert_member(set, m);
    insert_pair(inputs_.identity, m, m);
    return m;
  }

  void relate_to_others(std::uint32_t m, const Bits& own) {
    if (inputs_.external == unused) return;
    const Bits others = Bits::first(m).remove(own);
    insert_predecessors(inputs_.external, others);
    insert_successors(inputs_.external, others);
  }

  // Events that are not committed in program order, and fences, may be there before earlier ones.
  void insert_program_order(const Machine<W>& machine, const Event<W>& e, const Bits& own) {
    Bits after, before = own;
    const std::vector<EventId>& events = machine.threads()[static_cast<std::size_t>(e.thread)].events;
    for (std::size_t i = static_cast<std::size_t>(e.index) + 1; i < events.size(); ++i) {
      const Event<W>& later = machine.event(events[i]);
      if (later.shadow_index != none) after.set(static_cast<std::size_t>(later.shadow_index));
      if (later.matrix_index != not_in_matrix) after.set(later.matrix_index);
    }
    before.remove(after);
    if (e.shadow_index != none) before.clear(static_cast<std::size_t>(e.shadow_index));
    insert_predecessors(inputs_.po, before);
    insert_successors(inputs_.po, after);
  }

  void insert_dependencies(const Machine<W>& machine, const Event<W>& e, bool is_shadow) {
    insert_sources(machine, e.control, inputs_.ctrl, inputs_.pick_ctrl, inputs_.status_ctrl);
    if (e.kind == EventKind::fence) return;
    // As a datum, the address orders the access itself and nothing behind it.
    if (e.is_loose) insert_sources(machine, e.address_sources, inputs_.data, inputs_.pick_data, inputs_.status_data);
    else insert_sources(machine, e.address_sources, inputs_.addr, inputs_.pick_addr, inputs_.status_addr);
    // Of a shadow they may still be open, or not what loads have taken them to be.
    if (e.kind != EventKind::write) return;
    if (is_shadow && machine.is_guessable(e)) {
      if (e.is_guessed) insert_sources(machine, {machine.value_of_store(e).sources, {}, none}, inputs_.data, inputs_.pick_data, inputs_.status_data);
    } else if (machine.are_decided(e.data_sources))
      insert_sources(machine, e.data_sources, inputs_.data, inputs_.pick_data, inputs_.status_data);
  }

  bool tells_picks_apart() const {
    return inputs_.pick_addr != unused || inputs_.pick_data != unused || inputs_.pick_ctrl != unused;
  }

  void insert_sources(const Machine<W>& machine, const Sources<W>& sources, std::size_t direct, std::size_t picked,
                      std::size_t status) {
    if (sources.empty()) return;
    const Sources<W> exact = machine.resolved(sources);
    Bits reads, picked_reads, writes;
    const auto place = [&](std::size_t s, Bits& target) {
      const Event<W>& e = machine.event(static_cast<EventId>(s));
      if (e.state != EventState::committed || e.matrix_index == not_in_matrix) return;
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

  static constexpr std::size_t unused = IncrementalModel::npos;

  void insert_pair(std::size_t input, std::size_t from, std::size_t to) {
    if (input != unused) model_.insert_pair(input, from, to);
  }
  void insert_successors(std::size_t input, const Bits& targets) {
    if (input != unused && !targets.empty()) model_.insert_successors(input, targets.span());
  }
  void insert_predecessors(std::size_t input, const Bits& sources) {
    if (input != unused && !sources.empty()) model_.insert_predecessors(input, sources.span());
  }

  const Program& program_;
  IncrementalModel model_;
  Inputs inputs_{};
  std::vector<Bits> of_thread_;
};

}  // namespace dekker::rsmc
