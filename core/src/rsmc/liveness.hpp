// Which registers of a block may still be read before they are written, by place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "rsmc/loops.hpp"

namespace dekker::rsmc {

class Liveness {
 public:
  Liveness(const Program& program, std::int32_t block) : program_(program), code_(program.block(block).code) {
    const auto n_registers = static_cast<std::size_t>(program.block(block).n_registers);
    live_.assign(code_.size() + 1, std::vector<bool>(n_registers + 1, false));  // the link comes last
    for (const Observable& observable : program.observed)
      if (observable.thread == block) live_.back()[static_cast<std::size_t>(observable.register_number)] = true;
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (std::size_t pc = code_.size(); pc-- > 0;) {
        std::vector<bool> found = before(pc);
        if (found == live_[pc]) continue;
        live_[pc] = std::move(found);
        is_new = true;
      }
    }
  }

  const std::vector<bool>& at(std::int32_t pc) const { return live_[static_cast<std::size_t>(pc)]; }
  // May what the instruction writes to the register be read?
  bool is_read_behind(std::int32_t pc, std::int32_t register_number) const {
    return behind(static_cast<std::size_t>(pc))[static_cast<std::size_t>(register_number)];
  }
  // May a store-conditional of the block be reached that needs the load-linked which is open there?
  bool keeps_link(std::int32_t pc) const { return live_[static_cast<std::size_t>(pc)].back(); }

 private:
  std::vector<bool> before(std::size_t pc) const {
    const Instruction& instruction = code_[pc];
    std::vector<bool> found = behind(pc);
    for (const std::int32_t written : {instruction.destination, instruction.success})
      if (written != none) found[static_cast<std::size_t>(written)] = false;
    for (const std::int32_t expression : {instruction.address, instruction.value, instruction.expected})
      add_read(expression, found);
    for (std::int32_t i = 0; i < instruction.n_arguments; ++i)
      add_read(program_.arguments[static_cast<std::size_t>(instruction.first_argument + i)], found);
    if (instruction.operation == Operation::load && instruction.is_exclusive) found.back() = false;
    if (instruction.operation == Operation::store_conditional) found.back() = true;
    return found;
  }

  std::vector<bool> behind(std::size_t pc) const {
    const BlockLoops::Places next = BlockLoops::successors(code_, pc);
    std::vector<bool> found = next.empty() ? live_.back() : live_[next.front()];
    for (std::size_t i = 1; i < next.size(); ++i)
      std::transform(found.begin(), found.end(), live_[next[i]].begin(), found.begin(), std::logical_or<>());
    return found;
  }

  void add_read(std::int32_t expression, std::vector<bool>& found) const {
    if (expression == none) return;
    for (const ExpressionStep& step : program_.expressions[static_cast<std::size_t>(expression)])
      if (step.code == ExpressionCode::register_value) found[step.operand] = true;
  }

  const Program& program_;
  const std::vector<Instruction>& code_;
  std::vector<std::vector<bool>> live_;
};

}  // namespace dekker::rsmc
