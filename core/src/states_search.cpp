#include "dekker/states/search.hpp"

#include <new>

#include "states/crew.hpp"
#include "states/searcher.hpp"

namespace dekker::states {

namespace {

Outcome given_up(Stop reason) {
  Outcome outcome;
  outcome.stop = reason;
  return outcome;
}

class Attempts {
 public:
  Attempts(const Program& program, const Options& options, const Progress& progress)
      : program_(program), options_(options), progress_(progress), started_(std::chrono::steady_clock::now()) {
    if (options_.depth_first) options_.jobs = 1;
  }

  // Starts again with weaker assumptions if the program does what they rule out.
  Outcome run() {
    while (true) {
      try {
        return options_.jobs > 1 ? run_together() : Searcher(program_, left(), assumptions_, progress_).run();
      } catch (const OpaqueAddress&) {
        assumptions_.renames = false;
      } catch (const HandlesMatter&) {
        assumptions_.handles = false;
      } catch (const UnforeseenAccess&) {
        assumptions_.footprints = false;
      } catch (const Refused& refused) {
        Outcome outcome = given_up(Stop::refused);
        outcome.refused_at = refused.place;
        return outcome;
      } catch (const StopRequested&) {
        return given_up(requested_stop());
      } catch (const std::bad_alloc&) {
        return given_up(Stop::memory);
      } catch (const TooManyStores&) {
        return given_up(Stop::stores);
      } catch (const TooManyThreads&) {
        return given_up(Stop::threads);
      }
    }
  }

 private:
  // Where it matters who comes first, there is one worker: which of several things is refused, and how threads are numbered
  // that several threads spawn.
  Outcome run_together() {
    try {
      return Crew(program_, left(), assumptions_, progress_).run();
    } catch (const Refused&) {
    } catch (const TooManyStores&) {
    } catch (const TooManyThreads&) {
    } catch (const SeveralParents&) {
    }
    options_.jobs = 1;
    return Searcher(program_, left(), assumptions_, progress_).run();
  }

  // With the time that is left.
  Options left() const {
    Options options = options_;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started_;
    if (options.timeout_s > 0) options.timeout_s = std::max(options.timeout_s - elapsed.count(), 1e-9);
    return options;
  }

  const Program& program_;
  Options options_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point started_;
  Assumptions assumptions_;
};

}  // namespace

Outcome search(const Program& program, const Options& options, const Progress& progress) {
  return Attempts(program, options, progress).run();
}

}  // namespace dekker::states
