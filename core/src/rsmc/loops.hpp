// Which rounds of loops count against the bound.
//
// A loop is known by its head, where backward jumps go; its body is all from which control reaches such a jump without
// passing the head again. An exit is a branch in the body that may leave it. It is open if it depends on something that
// was read or chosen since the loop was entered and in which other threads that are running may have a say. Rounds in
// which no branch depends on an event do not count. Nor do those that come past an exit which is not open, with other
// values than the last time, and past no open exit: such a loop ends when its thread has counted to the end, whatever it
// reads on the way. Where a round comes past no exit at all, the branches inside stand for the exits. An open exit that
// leads to nothing but a failed assertion is none. Nor does a thread count to the end by numbers that grow this way or
// that, depending on choices in the loop, be they in registers or in memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "dekker/rsmc/program.hpp"
#include "rsmc/rarely.hpp"

namespace dekker::rsmc {

// A loop that a branch may leave; `fails`: only for a failed assertion.
struct LeftLoop {
  std::int32_t head;
  bool fails;
};

// A branch in a loop, mostly an exit, and the head of that.
struct LoopExit {
  std::int32_t head;
  std::int32_t pc;
};

// The loops of a block.
class BlockLoops {
 public:
  using Places = std::vector<std::size_t>;

  // `fails[pc]`: all ways from there lead to a failed assertion; one more than there are instructions.
  BlockLoops(const Program& program, const std::vector<Instruction>& code, const std::vector<bool>& fails)
      : program_(program), code_(code), predecessors_(code.size() + 1), left_by_(code.size()), goes_on_by_(code.size()),
        steered_by_(code.size()), around_(code.size()), is_head_(code.size(), false) {
    std::map<std::int32_t, Places> edges;  // by head
    for (std::size_t pc = 0; pc < code.size(); ++pc) {
      for (const std::size_t next : successors(code, pc)) predecessors_[next].push_back(pc);
      if (jumps(code[pc]) && static_cast<std::size_t>(code[pc].target) <= pc) edges[code[pc].target].push_back(pc);
    }
    for (const auto& [head, ends] : edges) add_loop(fails, head, ends);
  }

  bool is_head(std::int32_t pc) const { return is_head_[static_cast<std::size_t>(pc)]; }
  bool is_in(std::int32_t pc, std::int32_t head) const { return bodies_.at(head)[static_cast<std::size_t>(pc)]; }
  const std::vector<LeftLoop>& left_by(std::int32_t pc) const { return left_by_[static_cast<std::size_t>(pc)]; }
  // Heads of loops around the branch that it does not leave, and that may go round without an exit on the way.
  const std::vector<std::int32_t>& goes_on_by(std::int32_t pc) const { return goes_on_by_[static_cast<std::size_t>(pc)]; }
  // Branches of loops around the branch, most of them exits, whose numbers are computed one way or another depending on how it goes.
  const std::vector<LoopExit>& steered_by(std::int32_t pc) const { return steered_by_[static_cast<std::size_t>(pc)]; }
  // Heads of loops around the branch whose exits depend on memory, and that may write.
  const std::vector<std::int32_t>& around(std::int32_t pc) const { return around_[static_cast<std::size_t>(pc)]; }

  // Does it depend on the branch whether a round comes to a write? `pc`: where that is, or -1 if it is in another function.
  bool decides_write(std::int32_t head, std::int32_t branch, std::int32_t pc) const {
    Places writes;
    if (pc >= 0) writes.push_back(static_cast<std::size_t>(pc));
    for (std::size_t i = 0; pc < 0 && i < code_.size(); ++i)
      if (is_in(static_cast<std::int32_t>(i), head) && code_[i].operation == Operation::call) writes.push_back(i);
    return std::ranges::any_of(writes, [&](std::size_t write) { return decides(head, static_cast<std::size_t>(branch), write); });
  }

  static Places successors(const std::vector<Instruction>& code, std::size_t pc) {
    const auto target = static_cast<std::size_t>(code[pc].target);
    switch (code[pc].operation) {
      case Operation::jump: return {target};
      case Operation::branch:
      case Operation::await: return {pc + 1, target};
      case Operation::exit:
      case Operation::give_back:
      case Operation::refuse: return {};
      default: return {pc + 1};
    }
  }

 private:
  static bool jumps(const Instruction& instruction) {
    return instruction.operation == Operation::jump || instruction.operation == Operation::branch ||
           instruction.operation == Operation::await;
  }

  // All from which control comes to one of these places without passing the head before, or one of `without`.
  std::vector<bool> leading_to(Places pending, std::int32_t head, const Places& without = {}) const {
    std::vector<bool> found(predecessors_.size(), false);
    while (!pending.empty()) {
      const std::size_t pc = pending.back();
      pending.pop_back();
      if (found[pc] || std::ranges::find(without, pc) != without.end()) continue;
      found[pc] = true;
      if (pc != static_cast<std::size_t>(head)) pending.insert(pending.end(), predecessors_[pc].begin(), predecessors_[pc].end());
    }
    return found;
  }

  void add_loop(const std::vector<bool>& fails, std::int32_t head, const Places& ends) {
    std::vector<bool> inside = leading_to(ends, head);
    inside[static_cast<std::size_t>(head)] = true;
    Places exits;
    bool may_end = false;
    for (std::size_t pc = 0; pc < code_.size(); ++pc) {
      if (!inside[pc] || code_[pc].operation != Operation::branch) continue;
      Places outside = successors(code_, pc);
      std::erase_if(outside, [&](std::size_t next) { return inside[next]; });
      if (outside.empty()) continue;
      const bool only_fails = std::ranges::all_of(outside, [&](std::size_t next) { return fails[next]; });
      exits.push_back(pc);
      may_end = may_end || !only_fails;
      left_by_[pc].push_back({head, only_fails});
      add_steering({head, static_cast<std::int32_t>(pc)}, inside, ends);
    }
    if (may_end && leading_to(ends, head, exits)[static_cast<std::size_t>(head)]) add_branches(head, inside, exits, ends);
    if (asks_memory(head, inside)) add_surroundings(head, inside);
    is_head_[static_cast<std::size_t>(head)] = true;
    bodies_.emplace(head, std::move(inside));
    ends_.emplace(head, ends);
  }

  // Does an exit of the loop, or a branch that stands for one, depend on what it reads, and may it write?
  bool asks_memory(std::int32_t head, const std::vector<bool>& inside) const {
    const auto is_any = [&](const auto& holds) {
      for (std::size_t pc = 0; pc < code_.size(); ++pc)
        if (inside[pc] && holds(pc)) return true;
      return false;
    };
    const auto reads = [&](std::size_t pc) { return code_[pc].operation != Operation::assign; };
    const auto is_asked = [&](std::size_t pc) {
      const bool is_exit = std::ranges::any_of(left_by_[pc], [&](const LeftLoop& left) { return left.head == head; });
      return is_exit || std::ranges::find(goes_on_by_[pc], head) != goes_on_by_[pc].end();
    };
    return is_any([&](std::size_t pc) { return may_write(code_[pc]); }) && is_any([&](std::size_t pc) {
             return is_asked(pc) && std::ranges::any_of(definitions({head, static_cast<std::int32_t>(pc)}, inside), reads);
           });
  }

  void add_surroundings(std::int32_t head, const std::vector<bool>& inside) {
    for (std::size_t pc = 0; pc < code_.size(); ++pc)
      if (inside[pc] && code_[pc].operation == Operation::branch) around_[pc].push_back(head);
  }

  static bool may_write(const Instruction& instruction) {
    switch (instruction.operation) {
      case Operation::store:
      case Operation::store_conditional:
      case Operation::read_modify_write:
      case Operation::compare_exchange:
      case Operation::call: return true;
      default: return false;
    }
  }

  bool decides(std::int32_t head, std::size_t branch, std::size_t place) const {
    return leading_to({place}, head)[branch] && leading_to(ends_.at(head), head, {place})[branch];
  }

  void add_branches(std::int32_t head, const std::vector<bool>& inside, const Places& exits, const Places& ends) {
    for (std::size_t pc = 0; pc < code_.size(); ++pc) {
      const bool is_exit = std::ranges::find(exits, pc) != exits.end();
      if (!inside[pc] || is_exit || code_[pc].operation != Operation::branch) continue;
      goes_on_by_[pc].push_back(head);
      add_steering({head, static_cast<std::int32_t>(pc)}, inside, ends);
    }
  }

  void add_steering(const LoopExit& exit, const std::vector<bool>& inside, const Places& ends) {
    for (const std::size_t definition : definitions(exit, inside)) {
      const std::vector<bool> before = leading_to({definition}, exit.head);
      const std::vector<bool> past = leading_to(ends, exit.head, {definition});
      for (std::size_t pc = 0; pc < code_.size(); ++pc)
        if (inside[pc] && before[pc] && past[pc] && code_[pc].operation == Operation::branch)
          steered_by_[pc].push_back(exit);
    }
  }

  // Where numbers are computed in the loop that the exit depends on, other than by memory.
  Places definitions(const LoopExit& exit, const std::vector<bool>& inside) const {
    std::set<std::int32_t> registers;
    add_registers(code_[static_cast<std::size_t>(exit.pc)].value, registers);
    Places found;
    for (std::size_t n_registers = 0; n_registers != registers.size();) {
      n_registers = registers.size();
      found.clear();
      for (std::size_t pc = 0; pc < code_.size(); ++pc) {
        const Instruction& i = code_[pc];
        if (!inside[pc] || !(registers.contains(i.destination) || registers.contains(i.success))) continue;
        found.push_back(pc);
        if (i.operation == Operation::assign) add_registers(i.value, registers);
      }
    }
    return found;
  }

  void add_registers(std::int32_t expression, std::set<std::int32_t>& registers) const {
    for (const ExpressionStep& step : program_.expressions[static_cast<std::size_t>(expression)])
      if (step.code == ExpressionCode::register_value) registers.insert(static_cast<std::int32_t>(step.operand));
  }

  const Program& program_;
  const std::vector<Instruction>& code_;
  std::vector<Places> predecessors_;
  std::vector<std::vector<LeftLoop>> left_by_;        // by branch
  std::vector<std::vector<std::int32_t>> goes_on_by_;  // by branch
  std::vector<std::vector<LoopExit>> steered_by_;     // by branch
  std::vector<std::vector<std::int32_t>> around_;     // by branch
  std::vector<bool> is_head_;
  std::map<std::int32_t, std::vector<bool>> bodies_;  // by head
  std::map<std::int32_t, Places> ends_;               // backward jumps, by head
};

// What a thread has done in the loops of its calls. Times are numbers of branches that it had come to.
class LoopHistory {
 public:
  struct Rounds {
    std::size_t depth;
    std::int32_t head;
    std::size_t entered = 0;  // how many events the thread had then
    std::uint64_t since = 0;
    std::uint64_t last_open = 0;  // when an exit was
    std::uint64_t last_exit = 0;  // when there was one
    std::int32_t count = 0;
    std::int32_t n_reading = 0;  // those that do not count although branches depend on events
    std::int32_t n_known = 0;    // and those in which none does
  };

  // Control has come to a head: from outside, unless it has just gone round.
  void arrive(std::size_t depth, std::int32_t head, std::size_t n_events) {
    if (goes_round_) {
      goes_round_ = false;
      return;
    }
    Rounds& rounds = rounds_at(depth, head);
    rounds = {.depth = depth, .head = head, .entered = n_events, .since = now_};
    std::erase_if(exits_, [&](const Exit& exit) { return exit.head == head && exit.depth == depth; });
    forget_branches([&](const ChosenBranch& c) { return c.branch.head == head && c.depth == depth; });
  }

  void pass_branch(bool depends_on_events) {
    ++now_;
    if (depends_on_events) last_dependent_ = now_;
  }

  // How many events the thread had when it entered the loop: before this branch, if that was not by the head.
  std::size_t entered(std::size_t depth, std::int32_t head, std::size_t n_events) {
    return rounds_at(depth, head, {.depth = depth, .head = head, .entered = n_events, .since = now_ - 1}).entered;
  }

  // Right behind `pass_branch`, for each loop that the branch may leave. `values` stands for what the condition was
  // computed from, and where that was read.
  void pass_exit(std::size_t depth, std::int32_t pc, std::int32_t head, bool is_open, std::uint64_t values) {
    Rounds& rounds = rounds_at(depth, head);
    if (is_open) rounds.last_open = now_;
    rounds.last_exit = now_;
    pass(exit_at(depth, pc, head), is_open, values);
  }

  // The same for a branch that stays in the loop, where a round may come past no exit.
  void go_on(std::size_t depth, std::int32_t pc, std::int32_t head, bool is_open, std::uint64_t values) {
    Exit& branch = exit_at(depth, pc, head);
    branch.stays = true;
    pass(branch, is_open, values);
  }

  // A choice in the loop has a say in how the condition of its branch is computed.
  void choose_exit(std::size_t depth, const LoopExit& exit) { exit_at(depth, exit.pc, exit.head).is_chosen = true; }

  // The same, if that turns out when what was written in the last round is read. That round counts then.
  void choose_exit_late(std::size_t depth, const LoopExit& exit) {
    Exit& found = exit_at(depth, exit.pc, exit.head);
    if (!found.is_chosen) ++rounds_at(depth, exit.head).count;
    found.is_chosen = true;
  }

  // A branch in the loop depends on a choice there.
  void choose_branch(std::size_t depth, const LoopExit& branch) {
    if (!is_branch_chosen(depth, branch)) chosen_branches_.get().push_back({depth, branch});
  }

  bool is_branch_chosen(std::size_t depth, const LoopExit& branch) const {
    return any_chosen_branch(depth, branch.head, [&](std::int32_t pc) { return pc == branch.pc; });
  }

  template <class Holds>
  bool any_chosen_branch(std::size_t depth, std::int32_t head, Holds holds) const {
    return std::ranges::any_of(*chosen_branches_, [&](const ChosenBranch& chosen) {
      return chosen.depth == depth && chosen.branch.head == head && holds(chosen.branch.pc);
    });
  }

  // A backward jump: how often this head was come back to in this call, whatever for.
  std::int32_t go_round(std::size_t depth, std::int32_t head) { return ++rounds_at(depth, head).count; }

  // The same, with rounds that do not count apart; those of loops inside start anew. If the thread did not enter the loop
  // by its head, it does so now.
  Rounds go_round(std::size_t depth, std::int32_t head, const BlockLoops& loops, std::size_t n_events) {
    std::erase_if(rounds_, [&](const Rounds& r) { return r.depth == depth && r.head > head && loops.is_in(r.head, head); });
    const std::size_t n_loops = rounds_.size();
    Rounds& rounds = rounds_at(depth, head, {.depth = depth, .head = head, .entered = n_events, .since = now_});
    goes_round_ = true;
    if (rounds_.size() != n_loops) return rounds;
    if (rounds.last_open > rounds.since || !counts_to_end(rounds)) ++rounds.count;
    else ++(last_dependent_ <= rounds.since ? rounds.n_known : rounds.n_reading);
    rounds.since = now_;
    return rounds;
  }

  void leave_call(std::size_t depth) {
    const auto is_of_call = [&](const auto& item) { return item.depth == depth; };
    std::erase_if(rounds_, is_of_call);
    std::erase_if(exits_, is_of_call);
    forget_branches(is_of_call);
  }

 private:
  struct Exit {
    std::size_t depth;
    std::int32_t pc;
    std::int32_t head;
    std::uint64_t values = 0;
    std::uint64_t last_passed = 0;
    std::uint64_t last_counted = 0;  // when it was not open, and its values were new
    bool is_chosen = false;
    bool stays = false;  // it is no exit
  };

  struct ChosenBranch {
    std::size_t depth;
    LoopExit branch;
  };

  template <class IsOver>
  void forget_branches(const IsOver& is_over) {
    if (!chosen_branches_->empty()) std::erase_if(chosen_branches_.get(), is_over);
  }

  void pass(Exit& exit, bool is_open, std::uint64_t values) {
    if (!is_open && (exit.last_passed == 0 || exit.values != values)) exit.last_counted = now_;
    exit.last_passed = now_;
    exit.values = values;
  }

  Rounds& rounds_at(std::size_t depth, std::int32_t head) { return rounds_at(depth, head, {.depth = depth, .head = head}); }

  Rounds& rounds_at(std::size_t depth, std::int32_t head, const Rounds& at_first) {
    const auto found = std::ranges::find_if(rounds_, [&](const Rounds& r) { return r.head == head && r.depth == depth; });
    return found == rounds_.end() ? rounds_.emplace_back(at_first) : *found;
  }

  Exit& exit_at(std::size_t depth, std::int32_t pc, std::int32_t head) {
    const auto found = std::ranges::find_if(
        exits_, [&](const Exit& exit) { return exit.pc == pc && exit.head == head && exit.depth == depth; });
    return found == exits_.end() ? exits_.emplace_back(Exit{.depth = depth, .pc = pc, .head = head}) : *found;
  }

  bool counts_to_end(const Rounds& rounds) const {
    return std::ranges::any_of(exits_, [&](const Exit& exit) {
      const bool is_asked = !exit.stays || rounds.last_exit <= rounds.since;
      const bool is_of_loop = exit.head == rounds.head && exit.depth == rounds.depth;
      return is_of_loop && is_asked && exit.last_counted > rounds.since && !exit.is_chosen;
    });
  }

  std::vector<Rounds> rounds_;
  std::vector<Exit> exits_;
  Rarely<std::vector<ChosenBranch>> chosen_branches_;
  std::uint64_t now_ = 0;
  std::uint64_t last_dependent_ = 0;
  bool goes_round_ = false;
};

}  // namespace dekker::rsmc
