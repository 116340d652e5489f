#include "dekker/rsmc/explore.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "rsmc/explorer.hpp"

namespace dekker::rsmc {

namespace {

using Clock = std::chrono::steady_clock;

// A new attempt has the time that the others left.
Limits with_time_left(Limits limits, Clock::time_point start) {
  constexpr double shortest_s = 1e-6;  // 0 would be no limit
  if (limits.timeout_s > 0)
    limits.timeout_s = std::max(shortest_s, limits.timeout_s - std::chrono::duration<double>(Clock::now() - start).count());
  return limits;
}

template <std::size_t W>
Outcome explore_with(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                     const CommitOrder& order, const Limits& limits, const Progress& progress, Fields& fields,
                     Clock::time_point start) {
  while (true) {
    try {
      return Explorer<W>(program, model, check_names, order, with_time_left(limits, start), progress, fields).run();
    } catch (const NewFields&) {
    }
  }
}

template <std::size_t W>
Probes probe_with(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                  const CommitOrder& order, const Limits& limits, std::uint64_t n_probes, std::uint64_t seed,
                  const Progress& progress, Fields& fields, Clock::time_point start) {
  while (true) {
    try {
      return Explorer<W>(program, model, check_names, order, with_time_left(limits, start), progress, fields).probe(n_probes, seed);
    } catch (const NewFields&) {
    }
  }
}

}  // namespace

// Most executions are small, and small ones are fast; a large one starts again with more words.
Outcome explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                const CommitOrder& order, const Limits& limits, const Progress& progress) {
  constexpr std::array attempts{explore_with<1>, explore_with<2>, explore_with<4>, explore_with<8>, explore_with<16>};
  const Clock::time_point start = Clock::now();
  Fields fields;
  for (const auto attempt : attempts) {
    try {
      return attempt(program, model, check_names, order, limits, progress, fields, start);
    } catch (const CapacityNeeded&) {
    }
  }
  Outcome too_large;
  too_large.stop = Stop::events;
  return too_large;
}

Probes probe(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
             const CommitOrder& order, const Limits& limits, std::uint64_t n_probes, std::uint64_t seed,
             const Progress& progress) {
  constexpr std::array attempts{probe_with<1>, probe_with<2>, probe_with<4>, probe_with<8>, probe_with<16>};
  const Clock::time_point start = Clock::now();
  Fields fields;
  for (const auto attempt : attempts) {
    try {
      return attempt(program, model, check_names, order, limits, n_probes, seed, progress, fields, start);
    } catch (const CapacityNeeded&) {
    }
  }
  return {{}, Stop::events};
}

}  // namespace dekker::rsmc
