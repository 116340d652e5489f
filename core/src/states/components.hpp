// What states are made of, and numbers that are given out as the search goes on. Several workers share these.
#pragma once

#include <map>
#include <optional>

#include "states/state.hpp"

namespace dekker::states {

// Programs with more threads than this are refused.
struct TooManyThreads {};

// Threads of a program that several workers search are spawned by more than one thread: their numbers, which the program can
// see, would depend on who comes first.
struct SeveralParents {};

// Numbers of spawned threads, the same in every run: in the order in which the search meets them.
class SpawnedThreads {
 public:
  explicit SpawnedThreads(bool is_shared) : is_shared_(is_shared) {}

  std::int32_t number(std::int32_t parent, std::uint32_t nth, std::size_t n_from_start) {
    if (!is_shared_) return find(parent, nth, n_from_start);
    const std::lock_guard hold(mutex_);
    if (only_parent_.value_or(parent) != parent) throw SeveralParents{};
    only_parent_ = parent;
    return find(parent, nth, n_from_start);
  }

 private:
  static constexpr std::size_t most_threads = 64;

  std::int32_t find(std::int32_t parent, std::uint32_t nth, std::size_t n_from_start) {
    const auto next = static_cast<std::int32_t>(n_from_start + numbers_.size());
    if (at(next) >= most_threads) throw TooManyThreads{};
    return numbers_.try_emplace({parent, nth}, next).first->second;
  }

  bool is_shared_;
  std::mutex mutex_;
  std::optional<std::int32_t> only_parent_;
  std::map<std::pair<std::int32_t, std::uint32_t>, std::int32_t> numbers_;
};

struct Components {
  explicit Components(bool is_shared)
      : threads(is_shared), memories(is_shared), chunks(is_shared), faces(is_shared), controls(is_shared), kinds(is_shared), shapes(is_shared), spawned(is_shared) {
    Words words;
    encode(ThreadState{}, words);
    threads.intern_first(words.words());  // 0 is a thread that does not exist yet
  }

  std::size_t size() const { return threads.size() + memories.size() + chunks.size(); }
  std::size_t bytes() const { return threads.bytes() + memories.bytes() + chunks.bytes(); }

  // While nobody works.
  void forget_old_tables() {
    for (Sequences* sequences : {&threads, &memories, &chunks, &faces, &controls, &kinds, &shapes}) sequences->forget_old_tables();
  }

  Sequences threads;
  Sequences memories;
  Sequences chunks;
  Sequences faces;     // what steps of other threads depend on
  Sequences controls;  // where threads are in their code
  Sequences kinds;     // what spawned threads run
  Sequences shapes;    // spawned threads, but for which allocated objects they lead to
  SpawnedThreads spawned;
};

}  // namespace dekker::states
