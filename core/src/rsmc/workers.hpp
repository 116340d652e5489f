// Explorers on threads of their own that share a pool of units.
#pragma once

#include "big_thread.hpp"
#include "rsmc/explorer.hpp"

namespace dekker::rsmc {

// Runs are explored by recursion.
template <std::size_t W>
inline constexpr std::size_t stack_bytes = std::max(BigThread::default_stack_bytes, FixedBits<W>::capacity * std::size_t{16384});

template <std::size_t W>
class Workers {
 public:
  Workers(const Program& program, const ModelProgram& model, const std::vector<std::string>& check_names,
          const CommitOrder& order, const Limits& limits, const Work& work, Knowledge& knowledge, Pool& pool)
      : program_(program), model_(model), check_names_(check_names), order_(order), limits_(limits), work_(work),
        knowledge_(knowledge), pool_(pool) {}

  // Threads that run until there is nothing more to do, or the pool is told to stop.
  std::vector<BigThread> start() {
    std::vector<BigThread> threads;
    for (std::size_t worker = 0; worker < work_.jobs; ++worker)
      threads.emplace_back([this, worker] { work(worker); }, stack_bytes<W>);
    return threads;
  }

 private:
  void work(std::size_t worker) {
    try {
      explore_units(worker);
    } catch (const NewKnowledge&) {
      pool_.fail(PoolEnd::new_knowledge, nullptr);
    } catch (...) {
      pool_.fail(PoolEnd::error, std::current_exception());
    }
    pool_.leave();
  }

  void explore_units(std::size_t worker) {
    Supervisor supervisor(limits_, pool_, worker, work_.split_seed);
    std::optional<Explorer<W>> explorer;
    while (std::optional<Unit> unit = pool_.take()) {
      supervisor.begin_unit();
      try {
        if (!explorer) explorer.emplace(program_, model_, check_names_, order_, limits_, supervisor, knowledge_);
        Outcome found = explorer->run(*unit);
        pool_.publish(worker, {});
        pool_.add(std::move(found), supervisor.take_left(), limits_.stops_at_violation);
      } catch (const StoppedAlone&) {
        pool_.publish(worker, {});
        pool_.put_back(std::move(*unit));
      } catch (const CapacityNeeded& needed) {
        pool_.publish(worker, {});
        pool_.put_back(std::move(*unit), explorer ? explorer->statistics() : Statistics{}, needed.place);
        return;
      }
    }
  }

  const Program& program_;
  const ModelProgram& model_;
  const std::vector<std::string>& check_names_;
  const CommitOrder& order_;
  const Limits& limits_;
  const Work& work_;
  Knowledge& knowledge_;
  Pool& pool_;
};

}  // namespace dekker::rsmc
