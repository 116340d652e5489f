// Reads of updates, whose writes wait for more than they do themselves: earlier accesses of the thread, if the update
// releases; what its operand depends on; stores of its own thread that the read may take its value from early.
//
// Where the two halves are committed apart, another update may take the place of the write, and all that follows is
// explored in vain. So the read waits for all earlier accesses, until a store is seen that one of those accesses could
// read, and that need not come after it (`Explorer::for_racing_loads`). Then the exploration starts again, with the halves
// apart. Every execution that is lost by waiting has such a store: it has a cycle of commit-before and those waits, and the
// last access on the cycle that is waited for could as well have read something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rsmc/loops.hpp"

namespace dekker::rsmc {

class WaitingReads {
 public:
  explicit WaitingReads(const Program& program) : program_(program) {
    const std::size_t n_blocks = program.threads.size() + program.functions.size();
    for (std::size_t b = 0; b < n_blocks; ++b) reads_.push_back(find(program.block(static_cast<std::int32_t>(b)).code));
    if (!has_any_) reads_.clear();
  }

  // By block and instruction; empty if there are none.
  std::vector<std::vector<bool>> take() && { return std::move(reads_); }

 private:
  std::vector<bool> find(const std::vector<Instruction>& code) {
    std::vector<bool> found(code.size(), false);
    for (std::size_t pc = 0; pc < code.size(); ++pc) {
      if (waits_anyway(code[pc])) continue;
      found[pc] = is_update(code[pc]) || (is_linked_load(code[pc]) && leads_to_conditional(code, pc));
      has_any_ = has_any_ || found[pc];
    }
    return found;
  }

  bool waits_anyway(const Instruction& i) const {
    return i.read_class != none && program_.classes[static_cast<std::size_t>(i.read_class)].after_earlier;
  }

  static bool is_update(const Instruction& i) {
    return i.operation == Operation::read_modify_write || i.operation == Operation::compare_exchange;
  }

  static bool is_linked_load(const Instruction& i) { return i.operation == Operation::load && i.is_exclusive; }

  // Is there a store-conditional, with no other load-linked in between?
  static bool leads_to_conditional(const std::vector<Instruction>& code, std::size_t load) {
    std::vector<bool> seen(code.size(), false);
    BlockLoops::Places pending = BlockLoops::successors(code, load);
    while (!pending.empty()) {
      const std::size_t pc = pending.back();
      pending.pop_back();
      if (pc >= code.size() || seen[pc] || is_linked_load(code[pc])) continue;
      seen[pc] = true;
      if (code[pc].operation == Operation::store_conditional) return true;
      for (const std::size_t next : BlockLoops::successors(code, pc)) pending.push_back(next);
    }
    return false;
  }

  const Program& program_;
  std::vector<std::vector<bool>> reads_;
  bool has_any_ = false;
};

}  // namespace dekker::rsmc
