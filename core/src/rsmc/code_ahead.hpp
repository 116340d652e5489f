// What control may come to from each place of the program: something that others can notice (a store, an update, memory
// that is allocated or released, a thread that is started or joined), and where a thread may wait. Calls are followed; one
// of an unknown function may do anything. What a thread cannot reach with its arguments does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rsmc/alike_starts.hpp"
#include "rsmc/loops.hpp"

namespace dekker::rsmc {

class CodeAhead {
 public:
  // Threads that start in one way.
  using Number = std::uint32_t;
  using Places = std::vector<std::vector<bool>>;  // by block and instruction

  static constexpr Number any_start = 0;

  // `awaited` reads; and where rounds are left out, a thread may wait in any loop that reads.
  CodeAhead(const Program& program, const Places& awaited, bool leaves_out_rounds)
      : program_(program), awaited_(awaited), leaves_out_rounds_(leaves_out_rounds) {
    add({}, [](std::size_t, std::size_t) { return true; });
  }

  Number of(const ThreadStart& start) {
    if (!start.is_known()) return any_start;
    for (Number i = any_start + 1; i < starts_.size(); ++i)
      if (starts_[i].start == start) return i;
    AlikeStarts reached(program_, no_arrays_);
    if (!reached.are_alike(start, start)) return any_start;
    add(start, [&](std::size_t block, std::size_t pc) { return reached.is_reached(static_cast<std::int32_t>(block), pc); });
    return static_cast<Number>(starts_.size() - 1);
  }

  // Up to the end of the call.
  bool stores(Number start, std::int32_t block, std::int32_t pc) const { return is_in(starts_[start].stores, block, pc); }
  bool waits(Number start, std::int32_t block, std::int32_t pc) const { return is_in(starts_[start].waits, block, pc); }

 private:
  struct Start {
    ThreadStart start;
    Places stores, waits;
  };

  static bool is_in(const Places& places, std::int32_t block, std::int32_t pc) {
    return places[static_cast<std::size_t>(block)][static_cast<std::size_t>(pc)];
  }

  template <class IsReached>
  void add(const ThreadStart& start, const IsReached& is_reached) {
    const auto stores = [&](std::size_t block, std::size_t pc) { return is_noticed(code_of(block)[pc].operation); };
    const auto waits = [&](std::size_t block, std::size_t pc) {
      return awaited_[block][pc] || (leaves_out_rounds_ && repeats_reads(code_of(block), pc));
    };
    starts_.push_back({start, leading_to(stores, is_reached), leading_to(waits, is_reached)});
  }

  template <class IsThere, class IsReached>
  Places leading_to(const IsThere& is_there, const IsReached& is_reached) const {
    Places ahead;
    const std::size_t n_blocks = program_.threads.size() + program_.functions.size();
    for (std::size_t b = 0; b < n_blocks; ++b) ahead.emplace_back(code_of(b).size() + 1, false);
    for (bool is_new = true; is_new;) {
      is_new = false;
      for (std::size_t b = 0; b < n_blocks; ++b)
        for (std::size_t pc = code_of(b).size(); pc-- > 0;)
          if (!ahead[b][pc] && is_reached(b, pc) && (is_there(b, pc) || leads_on(b, pc, ahead))) is_new = ahead[b][pc] = true;
    }
    return ahead;
  }

  bool leads_on(std::size_t block, std::size_t pc, const Places& ahead) const {
    const Instruction& i = code_of(block)[pc];
    if (i.operation == Operation::call && (i.target == none || is_in(ahead, i.target, 0))) return true;
    return std::ranges::any_of(BlockLoops::successors(code_of(block), pc), [&](std::size_t next) { return ahead[block][next]; });
  }

  const std::vector<Instruction>& code_of(std::size_t block) const { return program_.block(static_cast<std::int32_t>(block)).code; }

  // Does a jump lead back over what may read?
  static bool repeats_reads(const std::vector<Instruction>& code, std::size_t pc) {
    const auto target = static_cast<std::size_t>(code[pc].target);
    if ((code[pc].operation != Operation::jump && code[pc].operation != Operation::branch) || target > pc) return false;
    for (std::size_t i = target; i < pc; ++i) {
      const Operation operation = code[i].operation;
      if (operation == Operation::load || operation == Operation::call || is_noticed(operation)) return true;
    }
    return false;
  }

  static bool is_noticed(Operation operation) {
    switch (operation) {
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
      case Operation::call:
      case Operation::give_back:
      case Operation::measure:
      case Operation::refuse: return false;
      default: return true;
    }
  }

  const Program& program_;
  const Places& awaited_;
  bool leaves_out_rounds_;
  const std::vector<ObjectRange> no_arrays_;
  std::vector<Start> starts_;
};

}  // namespace dekker::rsmc
