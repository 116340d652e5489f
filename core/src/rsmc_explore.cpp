#include "dekker/rsmc/explore.hpp"

#include <array>

#include "rsmc/explorer.hpp"

namespace dekker::rsmc {

namespace {

template <std::size_t W>
Outcome explore_with(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                     const CommitOrder& order, const Limits& limits, const Progress& progress, Fields& fields) {
  while (true) {
    try {
      return Explorer<W>(program, model, check_names, order, limits, progress, fields).run();
    } catch (const NewFields&) {
    }
  }
}

}  // namespace

// Most executions are small, and small ones are fast; a large one starts again with more words.
Outcome explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                const CommitOrder& order, const Limits& limits, const Progress& progress) {
  constexpr std::array attempts{explore_with<1>, explore_with<2>, explore_with<4>, explore_with<8>, explore_with<16>};
  Fields fields;
  for (const auto attempt : attempts) {
    try {
      return attempt(program, model, check_names, order, limits, progress, fields);
    } catch (const CapacityNeeded&) {
    }
  }
  Outcome too_large;
  too_large.stop = Stop::events;
  return too_large;
}

}  // namespace dekker::rsmc
