#include "dekker/rsmc/explore.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "rsmc/workers.hpp"

namespace dekker::rsmc {

namespace {

using Clock = Supervisor::Clock;

struct Question {
  const Program& program;
  const ModelProgram& model;
  const std::vector<std::string>& check_names;
  const CommitOrder& order;
  const Limits& limits;
  const Progress& progress;
  Clock::time_point start;
};

// A new attempt has the time that the others left.
Limits with_time_left(Limits limits, Clock::time_point start) {
  constexpr double shortest_s = 1e-6;  // 0 would be no limit
  if (limits.timeout_s > 0)
    limits.timeout_s = std::max(shortest_s, limits.timeout_s - std::chrono::duration<double>(Clock::now() - start).count());
  return limits;
}

template <std::size_t W>
Outcome explore_alone(const Question& q, Knowledge& knowledge) {
  while (true) {
    try {
      const Limits limits = with_time_left(q.limits, q.start);
      Supervisor supervisor(limits, q.progress);
      return Explorer<W>(q.program, q.model, q.check_names, q.order, limits, supervisor, knowledge).run();
    } catch (const NewKnowledge&) {
      knowledge.start_again();
    } catch (const StoppedAlone& stopped) {
      Outcome nothing;
      nothing.stop = stopped.reason;
      return nothing;
    }
  }
}

template <std::size_t W>
Probes probe_with(const Question& q, std::uint64_t n_probes, std::uint64_t seed, ProbeGuide& guide, Knowledge& knowledge) {
  while (true) {
    try {
      const Limits limits = with_time_left(q.limits, q.start);
      Supervisor supervisor(limits, q.progress);
      return Explorer<W>(q.program, q.model, q.check_names, q.order, limits, supervisor, knowledge).probe(n_probes, seed, guide);
    } catch (const NewKnowledge&) {
      knowledge.start_again();
    } catch (const StoppedAlone& stopped) {
      return {{}, stopped.reason};
    }
  }
}

// Calls `body()` with enough stack for long runs.
template <std::size_t W, class Body>
auto with_stack(Body body) -> decltype(body()) {
  if constexpr (W <= most_words_in_place) return body();
  std::optional<decltype(body())> result;
  std::exception_ptr error;
  const auto run = [&] {
    try {
      result.emplace(body());
    } catch (...) {
      error = std::current_exception();
    }
  };
  { const BigThread thread(run, stack_bytes<W>); }
  if (error) std::rethrow_exception(error);
  return std::move(*result);
}

template <std::size_t W>
Probes probe_on_stack(const Question& q, std::uint64_t n_probes, std::uint64_t seed, ProbeGuide& guide, Knowledge& knowledge) {
  return with_stack<W>([&] { return probe_with<W>(q, n_probes, seed, guide, knowledge); });
}

// By numbers of words.
#define DEKKER_ATTEMPTS(f) std::array{f<1>, f<2>, f<4>, f<8>, f<16>, f<64>, f<256>, f<512>}
constexpr std::array<std::uint32_t, 8> words_of_attempts{1, 2, 4, 8, 16, 64, 256, 512};

// Watches the limits while the workers are at it.
class Watch {
 public:
  Watch(const Question& q, double slice_s) : q_(q) {
    if (q.limits.timeout_s > 0) deadline_ = after(q.start, q.limits.timeout_s);
    if (slice_s > 0) slice_end_ = after(q.start, slice_s);
  }

  void over(Pool& pool) const {
    Statistics so_far;
    while (!pool.wait_for_all(pause(), so_far)) {
      const Clock::time_point now = Clock::now();
      if (is_asked_to_stop()) pool.stop(stop_request.load() == StopRequest::memory ? Stop::memory : Stop::time);
      else if (deadline_ && now > *deadline_) pool.stop(Stop::time);
      else if (is_beyond_memory(so_far)) pool.stop(Stop::memory);
      else if (q_.progress && !q_.progress(so_far)) pool.stop(Stop::interrupt);
      else if (slice_end_ && now > *slice_end_) pool.stop(Stop::not_stopped);
    }
  }

 private:
  bool is_beyond_memory(const Statistics& so_far) const {
    return q_.limits.memory_bytes != 0 && process_memory() + so_far.report_bytes > q_.limits.memory_bytes;
  }

  static std::optional<Clock::time_point> after(Clock::time_point start, double seconds) {
    constexpr double longest_s = 1e9;
    if (seconds >= longest_s) return std::nullopt;
    return start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  // Until the next end of something, but not for long.
  std::chrono::milliseconds pause() const {
    std::chrono::milliseconds result = between_looks(q_.limits);
    for (const auto& end : {deadline_, slice_end_})
      if (end) result = std::min(result, std::chrono::duration_cast<std::chrono::milliseconds>(*end - Clock::now()) + std::chrono::milliseconds(1));
    return std::max(result, std::chrono::milliseconds(1));
  }

  const Question& q_;
  std::optional<Clock::time_point> deadline_;
  std::optional<Clock::time_point> slice_end_;
};

template <std::size_t W>
PoolEnd explore_together(const Question& q, Knowledge& knowledge, Explored& so_far) {
  Pool pool(so_far.work);
  pool.n_complete() = so_far.outcome.statistics.complete;
  {
    Workers<W> workers(q.program, q.model, q.check_names, q.order, q.limits, so_far.work, knowledge, pool);
    const std::vector<BigThread> threads = workers.start();
    Watch(q, so_far.work.slice_s).over(pool);
  }
  if (pool.end() == PoolEnd::error && pool.outcome().stop != Stop::violation) std::rethrow_exception(pool.error());
  merge(so_far.outcome, std::move(pool.outcome()));
  so_far.outcome.too_long_at = pool.end() == PoolEnd::capacity ? pool.too_long_at() : Place{};
  pool.give_rest(so_far.work);
  return so_far.outcome.stop == Stop::violation ? PoolEnd::stopped : pool.end();
}

void forget(Explored& so_far) {
  so_far.outcome = {};
  so_far.work.units.clear();
  so_far.work.asking.clear();
  so_far.work.slept.clear();
  so_far.started_again = true;
}

// Units that were done remain done when others need more words.
Explored explore_together(const Question& q, Work&& work) {
  constexpr std::array attempts = DEKKER_ATTEMPTS(explore_together);
  Explored so_far{{}, std::move(work), false};
  Knowledge knowledge(so_far.work.known, so_far.work.numbers_threads);
  std::size_t attempt = 0;
  while (attempt + 1 < attempts.size() && words_of_attempts[attempt] < so_far.work.words) ++attempt;
  while (true) {
    const PoolEnd end = attempts[attempt](q, knowledge, so_far);
    if (end == PoolEnd::new_knowledge) {
      forget(so_far);
      if (so_far.work.first_own_id != 0) break;
      knowledge.start_again();
    } else if (end != PoolEnd::capacity) {
      break;
    } else if (++attempt == attempts.size()) {
      --attempt;
      so_far.outcome.stop = Stop::events;
      break;
    }
    if (so_far.outcome.stop != Stop::not_stopped) break;
  }
  so_far.work.words = words_of_attempts[attempt];
  so_far.work.known = knowledge.all();
  return so_far;
}

// Most executions are small, and small ones are fast; a large one starts again with more words, on a thread with more stack.
Outcome explore_alone(const Question& q) {
  constexpr std::array attempts{explore_alone<1>, explore_alone<2>, explore_alone<4>, explore_alone<8>, explore_alone<16>};
  Knowledge knowledge;
  for (const auto attempt : attempts) {
    try {
      return attempt(q, knowledge);
    } catch (const CapacityNeeded&) {
      knowledge.start_again();
    }
  }
  Work work;
  work.words = words_of_attempts[attempts.size()];
  const Limits limits = with_time_left(q.limits, q.start);
  return explore_together({q.program, q.model, q.check_names, q.order, limits, q.progress, Clock::now()}, std::move(work)).outcome;
}

}  // namespace

Explored explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                 const CommitOrder& order, const Limits& limits, const Progress& progress, Work work) {
  const Question q{program, model, check_names, order, limits, progress, Clock::now()};
  const bool is_alone = work.jobs <= 1 && !work.keeps_rest && work.units.empty() && work.split_seed == 0;
  if (is_alone) return {explore_alone(q), {}, false};
  work.jobs = std::max<std::uint32_t>(work.jobs, 1);
  return explore_together(q, std::move(work));
}

Outcome explore(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
                const CommitOrder& order, const Limits& limits, const Progress& progress) {
  return explore(program, model, check_names, order, limits, progress, {}).outcome;
}

Probes probe(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
             const CommitOrder& order, const Limits& limits, std::uint64_t n_probes, std::uint64_t seed, ProbeGuide& guide,
             const Progress& progress) {
  constexpr std::array attempts = DEKKER_ATTEMPTS(probe_on_stack);
  const Question q{program, model, check_names, order, limits, progress, Clock::now()};
  Knowledge knowledge;
  for (const auto attempt : attempts) {
    try {
      return attempt(q, n_probes, seed, guide, knowledge);
    } catch (const CapacityNeeded&) {
      knowledge.start_again();
    }
  }
  return {{}, Stop::events};
}

}  // namespace dekker::rsmc
