#include "dekker/states/search.hpp"

#include "states/searcher.hpp"

namespace dekker::states {

namespace {

Outcome given_up(Stop reason) {
  Outcome outcome;
  outcome.stop = reason;
  return outcome;
}

}  // namespace

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
    } catch (const Refused& refused) {
      Outcome outcome = given_up(Stop::refused);
      outcome.refused_at = refused.place;
      return outcome;
    } catch (const TooManyStores&) {
      return given_up(Stop::stores);
    } catch (const TooManyThreads&) {
      return given_up(Stop::threads);
    }
  }
}

}  // namespace dekker::states
