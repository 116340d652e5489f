// From which places of the program control may come to something that others can notice: a store, an update, memory that
// is allocated or released, a thread that is started or joined. Calls are followed; one of an unknown function counts. What
// a thread cannot reach with its arguments does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rsmc/alike_starts.hpp"
#include "rsmc/loops.hpp"

namespace dekker::rsmc {

class StoresAhead {
 public:
  // What is known of a thread that starts in some way.
  using Number = std::size_t;

  static constexpr Number any_start = 0;

  explicit StoresAhead(const Program& program) : program_(program) { starts_.push_back({{}, found([](std::size_t, std::size_t) { return true; })}); }

  Number of(const ThreadStart& start) {
    if (!start.is_known()) return any_start;
    for (Number i = any_start + 1; i < starts_.size(); ++i)
      if (starts_[i].first == start) return i;
    AlikeStarts reached(program_, no_arrays_);
    if (!reached.are_alike(start, start)) return any_start;
    starts_.push_back({start, found([&](std::size_t block, std::size_t pc) { return reached.is_reached(static_cast<std::int32_t>(block), pc); })});
    return starts_.size() - 1;
  }

  // Up to the end of the call.
  bool are_ahead(Number start, std::int32_t block, std::int32_t pc) const {
    return starts_[start].second[static_cast<std::size_t>(block)][static_cast<std::size_t>(pc)];
  }

 private:
  using Ahead = std::vector<std::vector<bool>>;  // by block and instruction; one more than there are

  template <class IsReached>
  Ahead found(const IsReached& is_reached) const {
    Ahead ahead;
    const std::size_t n_blocks = program_.threads.size() + program_.functions.size();
    for (std::size_t b = 0; b < n_blocks; ++b) ahead.emplace_back(code_of(b).size() + 1, false);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (std::size_t b = 0; b < n_blocks; ++b)
        for (std::size_t pc = code_of(b).size(); pc-- > 0;)
          if (!ahead[b][pc] && is_reached(b, pc) && leads_to_store(b, pc, ahead)) is_new = ahead[b][pc] = true;
    }
    return ahead;
  }

  const std::vector<Instruction>& code_of(std::size_t block) const { return program_.block(static_cast<std::int32_t>(block)).code; }

  bool leads_to_store(std::size_t block, std::size_t pc, const Ahead& ahead) const {
    if (stores(code_of(block)[pc], ahead)) return true;
    return std::ranges::any_of(BlockLoops::successors(code_of(block), pc), [&](std::size_t next) { return ahead[block][next]; });
  }

  static bool stores(const Instruction& instruction, const Ahead& ahead) {
    switch (instruction.operation) {
      case Operation::assign:
      case Operation::load:
      case Operation::fence:
      case Operation::jump:
      case Operation::branch:
      case Operation::assume:
      case Operation::check:
      case Operation::choose:
      case Operation::exit:
      case Operation::await:
      case Operation::give_back:
      case Operation::measure:
      case Operation::refuse: return false;
      case Operation::call: return instruction.target == none || ahead[static_cast<std::size_t>(instruction.target)][0];
      default: return true;
    }
  }

  const Program& program_;
  const std::vector<ObjectRange> no_arrays_;
  std::vector<std::pair<ThreadStart, Ahead>> starts_;
};

}  // namespace dekker::rsmc
