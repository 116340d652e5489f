// Which rounds of loops count against the bound.
//
// A loop is known by its head, where backward jumps go; its body is all from which control reaches such a jump without
// passing the head again. An exit is a branch in the body that may leave it. It is open if what other threads do had a say
// in its condition. Rounds in which no branch depends on an event do not count. Nor do those that come past an exit which
// is not open, with other values than the last time, and past no open exit: such a loop ends when its thread has counted
// to the end, whatever it reads on the way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "dekker/rsmc/program.hpp"

namespace dekker::rsmc {

// The loops of a block.
class BlockLoops {
 public:
  explicit BlockLoops(const std::vector<Instruction>& code) : is_exit_(code.size(), false) {
    std::vector<std::vector<std::size_t>> predecessors(code.size() + 1);
    std::map<std::int32_t, std::vector<std::size_t>> edges;  // by head
    for (std::size_t pc = 0; pc < code.size(); ++pc) {
      for (const std::size_t next : successors(code, pc)) predecessors[next].push_back(pc);
      if (jumps(code[pc]) && static_cast<std::size_t>(code[pc].target) <= pc) edges[code[pc].target].push_back(pc);
    }
    for (const auto& [head, ends] : edges) exits_[head] = find_exits(code, body(predecessors, head, ends));
  }

  bool is_exit(std::int32_t pc) const { return is_exit_[static_cast<std::size_t>(pc)]; }
  const std::vector<std::int32_t>& exits(std::int32_t head) const { return exits_.at(head); }

 private:
  static bool jumps(const Instruction& instruction) {
    return instruction.operation == Operation::jump || instruction.operation == Operation::branch ||
           instruction.operation == Operation::await;
  }

  static std::vector<std::size_t> successors(const std::vector<Instruction>& code, std::size_t pc) {
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

  static std::vector<bool> body(const std::vector<std::vector<std::size_t>>& predecessors, std::int32_t head,
                                std::vector<std::size_t> pending) {
    std::vector<bool> inside(predecessors.size(), false);
    inside[static_cast<std::size_t>(head)] = true;
    while (!pending.empty()) {
      const std::size_t pc = pending.back();
      pending.pop_back();
      if (inside[pc]) continue;
      inside[pc] = true;
      pending.insert(pending.end(), predecessors[pc].begin(), predecessors[pc].end());
    }
    return inside;
  }

  std::vector<std::int32_t> find_exits(const std::vector<Instruction>& code, const std::vector<bool>& inside) {
    std::vector<std::int32_t> found;
    for (std::size_t pc = 0; pc < code.size(); ++pc) {
      if (!inside[pc] || code[pc].operation != Operation::branch) continue;
      if (std::ranges::all_of(successors(code, pc), [&](std::size_t next) { return inside[next]; })) continue;
      is_exit_[pc] = true;
      found.push_back(static_cast<std::int32_t>(pc));
    }
    return found;
  }

  std::vector<bool> is_exit_;
  std::map<std::int32_t, std::vector<std::int32_t>> exits_;
};

// What a thread has done in the loops of its calls. Times are numbers of branches that it had come to.
class LoopHistory {
 public:
  void pass_branch(bool depends_on_events) {
    ++now_;
    if (depends_on_events) last_dependent_ = now_;
  }

  // Right behind `pass_branch`. `values` stands for what the condition was computed from, and where that was read.
  void pass_exit(std::size_t depth, std::int32_t pc, bool is_open, std::uint64_t values) {
    Exit& exit = exit_at(depth, pc);
    if (is_open) exit.last_open = now_;
    else if (exit.last_counted == 0 || exit.values != values) exit.last_counted = now_;
    exit.values = values;
  }

  // A backward jump: how often it was followed in this call.
  std::int32_t go_round(std::size_t depth, std::int32_t pc) {
    Rounds* const rounds = find(depth, pc);
    if (rounds != nullptr) return ++rounds->count;
    rounds_.push_back({depth, pc, now_, 1, 0, 0});
    return 1;
  }

  struct Rounds {
    std::size_t depth;
    std::int32_t pc;
    std::uint64_t since;
    std::int32_t count;
    std::int32_t n_reading;  // those that do not count although branches depend on events
    std::int32_t n_known;    // and those in which none does
  };

  // The same, with rounds that do not count apart; those of inner loops start anew.
  Rounds go_round(std::size_t depth, std::int32_t pc, std::int32_t head, const std::vector<std::int32_t>& exits) {
    std::erase_if(rounds_, [&](const Rounds& r) { return r.depth == depth && r.pc >= head && r.pc < pc; });
    Rounds* const rounds = find(depth, pc);
    if (rounds == nullptr) {
      rounds_.push_back({depth, pc, now_, 1, 0, 0});
      return rounds_.back();
    }
    if (last_dependent_ <= rounds->since) ++rounds->n_known;
    else ++(is_counted(*rounds, exits) ? rounds->count : rounds->n_reading);
    rounds->since = now_;
    return *rounds;
  }

  void leave_call(std::size_t depth) {
    const auto is_of_call = [&](const auto& item) { return item.depth == depth; };
    std::erase_if(rounds_, is_of_call);
    std::erase_if(exits_, is_of_call);
  }

 private:
  struct Exit {
    std::size_t depth;
    std::int32_t pc;
    std::uint64_t last_open = 0;
    std::uint64_t last_counted = 0;  // when it was not open, and its values were new
    std::uint64_t values = 0;
  };

  Rounds* find(std::size_t depth, std::int32_t pc) {
    const auto found = std::ranges::find_if(rounds_, [&](const Rounds& r) { return r.pc == pc && r.depth == depth; });
    return found == rounds_.end() ? nullptr : &*found;
  }

  Exit& exit_at(std::size_t depth, std::int32_t pc) {
    const auto found = std::ranges::find_if(exits_, [&](const Exit& e) { return e.pc == pc && e.depth == depth; });
    return found == exits_.end() ? exits_.emplace_back(Exit{.depth = depth, .pc = pc}) : *found;
  }

  bool is_counted(const Rounds& round, const std::vector<std::int32_t>& exits) const {
    bool counts_to_end = false;
    for (const Exit& exit : exits_) {
      if (exit.depth != round.depth || !std::ranges::binary_search(exits, exit.pc)) continue;
      if (exit.last_open > round.since) return true;
      counts_to_end = counts_to_end || exit.last_counted > round.since;
    }
    return !counts_to_end;
  }

  std::vector<Rounds> rounds_;
  std::vector<Exit> exits_;
  std::uint64_t now_ = 0;
  std::uint64_t last_dependent_ = 0;
};

}  // namespace dekker::rsmc
