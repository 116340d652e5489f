// Two slow ways to find all traces of a program, to compare the explorer with.
#pragma once

#include <map>
#include <vector>

#include "rsmc_programs.hpp"

namespace rsmc_tests {

using States = std::map<std::vector<Value>, std::uint64_t>;

struct Expected {
  std::uint64_t complete = 0, blocked = 0, deadlocks = 0, cut = 0, failed = 0;
  States states;  // of complete traces
};

// All interleavings of the threads, of which those with the same events, reads-from and coherence are one trace: what
// sequential consistency allows. For every instruction.
Expected interleaved(const Program& program, std::int32_t unroll = Limits{}.unroll);

// All ways to choose reads-from and coherence that the model allows. For threads that always execute the same accesses of
// the same addresses: branches must lead to the next instruction; no conditional updates, assumptions or choices.
States candidates(const Program& program, const Model& model);

States states_of(const Outcome& outcome);

}  // namespace rsmc_tests
