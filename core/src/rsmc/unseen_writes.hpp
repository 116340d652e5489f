// Writes whose order nobody sees: their order is left open, where only the verdict is asked for.
//
// That is done at places which, until the first thread has joined all others, are only stored to, or updated by atomic
// instructions whose result is not used (statistics, flags that are read at the end). What is explored there is an
// execution without reads-from, coherence and from-read between these accesses, but for coherence within a thread. It stands
// for all executions that add them. There is always one:
//  - `sc`, `tso`, `ibm370`, `pso`: the model asks for one global order, which the rest has, because it has no cycle. It can be
//    chosen with the halves of each update next to each other: all that comes before the write, but for the read, comes
//    before the read as well, because updates are fences. Accesses of one thread to one place are in the order of the program there, because
//    that is kept from reads and updates, and coherence is there between stores. So this order says who reads what and which
//    write comes when, and adding that makes no cycle.
//  - `cpp20`, `rc11`, stores: nobody reads them, so that nothing synchronises through them. Take any order T of what is
//    seq_cst which has what the model asks of it, and put the stores in the order of the last element of T that happens before
//    each, or that it is, and where that is the same in an order that has happens-before. Coherence then has happens-before,
//    and whenever it puts one element of T before another, through one store and a later one, T does so, too.
//  - `cpp20`, `rc11`, with updates: no write there is seq_cst, no update acquires, and there are no fences, so that nothing
//    synchronises through them. Take any order that has program order and reads-from, and with that happens-before. What is
//    seq_cst is not concerned. With fences two such orders might contradict each other: reads from relaxed writes put two
//    updates in one order, while seq_cst fences need the other.
//  - `cpp20`, `rc11`, if each thread then goes on with nothing but fences and such accesses to the same place: what they order comes
//    before nothing else. Any order that has program order will do.
// Races are told by happens-before, which stays the same, or is added to what nobody comes behind.
//
// Of the final value: updates that commute come to the same in every order. Of stores any may be last that the model lets
// come behind all others; this is asked for when the first thread reads the place behind its joins. The argument above
// holds with that coherence added. If there are both, or updates that do not commute, the final value must not be read.
// Nor may a thread wait with one of several: each is the last, none is stale.
//
// Where this holds is found in the first run, and relied on from then on. If a run shows that it is otherwise, the exploration
// starts again with that place like others.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "rsmc/machine.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class UnseenWrites {
 public:
  UnseenWrites(const Program& program, const CommitOrder& order, Machine<W>& machine)
      : program_(program), order_(order), machine_(machine) {}

  // All writes to a place but those that the model is not asked about.
  struct Group {
    bool has_stores = false;
    bool has_updates = false;
    bool commutes = true;
    bool acquires = false;
    bool are_last = true;  // in their threads, but for others of them
    std::set<std::int32_t> threads;
    EventId strongest = no_event;
  };

  Group group(const std::vector<EventId>& writes) const {
    Group found;
    std::optional<UpdateOperator> operation;
    for (const EventId id : writes) {
      const Event<W>& e = event(id);
      if (!is_in_matrix(id)) continue;
      found.threads.insert(e.thread);
      (e.role == Role::plain ? found.has_stores : found.has_updates) = true;
      if (found.strongest == no_event || strength(e) > strength(event(found.strongest))) found.strongest = id;
      found.acquires = found.acquires || (e.role == Role::update_write && strength(event(e.partner)) > relaxed_strength);
      found.are_last = found.are_last && is_last(e);
      found.commutes = found.commutes && e.role == Role::update_write && commutes(e, operation);
    }
    return found;
  }

  // Does the access not show by itself in which order it comes?
  bool is_fit(const Event<W>& e) const {
    if (e.is_release || e.is_renewal || e.is_piece) return false;
    switch (e.role) {
      case Role::plain: return e.kind == EventKind::write;
      case Role::update_read: return is_fit_update(e);
      case Role::update_write: return is_fit_update(event(e.partner));
      default: return false;
    }
  }

  // Nor all of them together, nor what else is in the run? Models with flags are those of C, where what an update acquires
  // synchronises with what it reads from.
  bool are_fit(const Group& group) const {
    if (!order_.has_flags || !group.has_updates || group.are_last) return true;
    return !group.acquires && strength(event(group.strongest)) < sequential_strength && !has_fences();
  }

  // May the final value be asked for?
  static bool has_final_value(const Group& group) { return group.commutes || !group.has_updates; }

 private:
  const Event<W>& event(EventId id) const { return machine_.event(id); }
  std::uint8_t strength(const Event<W>& e) const { return machine_.class_of(e).strength; }

  bool is_fit_update(const Event<W>& read) const {
    return !read.is_compare && !read.is_piece && !machine_.is_result_used(read);
  }

  bool is_in_matrix(EventId id) const { return event(id).matrix_index != not_in_matrix; }
  bool is_fence(EventId id) const { return event(id).kind == EventKind::fence && is_in_matrix(id); }
  bool is_access(EventId id) const { return event(id).kind != EventKind::fence && is_in_matrix(id); }

  // Is nothing behind it but fences and accesses to the same place?
  bool is_last(const Event<W>& e) const {
    const std::vector<EventId>& events = machine_.threads()[static_cast<std::size_t>(e.thread)].events;
    return std::none_of(events.begin() + e.index + 1, events.end(), [&](EventId id) { return is_access(id) && event(id).address != e.address; });
  }

  // Others than those that nothing is behind.
  bool has_fences() const {
    return std::ranges::any_of(machine_.threads(), [&](const ThreadState<W>& thread) {
      const auto first = std::ranges::find_if(thread.events, [&](EventId id) { return is_fence(id); });
      return std::any_of(first, thread.events.end(), [&](EventId id) { return is_access(id); });
    });
  }

  // With the one before, which `first` stands for.
  bool commutes(const Event<W>& write, std::optional<UpdateOperator>& first) const {
    const auto own = static_cast<UpdateOperator>(program_.block(write.block).code[static_cast<std::size_t>(write.pc)].update);
    const UpdateOperator found = own == UpdateOperator::sub ? UpdateOperator::add : own;
    if (found == UpdateOperator::exchange || found == UpdateOperator::nand) return false;
    return found == first.value_or(found) && (first = found, true);
  }

  const Program& program_;
  const CommitOrder& order_;
  Machine<W>& machine_;
};

}  // namespace dekker::rsmc
