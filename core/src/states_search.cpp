#include "dekker/states/search.hpp"

#include "states/searcher.hpp"

namespace dekker::states {

// Starts again with weaker assumptions if the program does what they rule out.
Outcome search(const Program& program, const Options& options, const Progress& progress) {
  Assumptions assumptions;
  while (true) {
    try {
      return Searcher(program, options, assumptions, progress).run();
    } catch (const OpaqueAddress&) {
      assumptions.renames = false;
    } catch (const UnforeseenAccess&) {
      assumptions.footprints = false;
    } catch (const TooManyStores&) {
      Outcome too_large;
      too_large.stop = Stop::capacity;
      return too_large;
    } catch (const TooManyThreads&) {
      Outcome too_large;
      too_large.stop = Stop::capacity;
      return too_large;
    }
  }
}

}  // namespace dekker::states
