// What exploring finds out about a program, shared by all who explore parts of it at once. When something turns out
// otherwise than somebody relied on, the exploration starts again.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "dekker/rsmc/explore.hpp"

namespace dekker::rsmc {

// The exploration starts again with what is known now.
struct NewKnowledge {};

// Who explores keeps a copy of what it has asked for, so that these functions are called for what is new only.
class Knowledge {
 public:
  static constexpr std::int32_t several = -2;

  Knowledge() = default;
  explicit Knowledge(Known known, bool may_number_threads = true)
      : known_(std::move(known)), may_number_threads_(may_number_threads) {}

  // Nobody relies on anything yet.
  void start_again() {
    known_ = known_at_start(known_);
    known_.threads.clear();
  }

  const Known& all() const { return known_; }

  // Does not change while the exploration goes on.
  const Parts& released_parts() const { return known_.released_parts; }

  void note_part(const Allocation& object, Address offset, std::uint8_t size) {
    const std::lock_guard hold(mutex_);
    const bool is_new = known_.parts[object].insert({offset, size}).second;
    if (is_new && known_.releases) throw NewKnowledge{};
  }

  void note_release() {
    const std::lock_guard hold(mutex_);
    if (known_.parts != known_.released_parts) throw NewKnowledge{};
    known_.releases = true;
  }

  // Does not change while the exploration goes on: object and size.
  const std::set<std::pair<Address, Address>>& reusable() const { return known_.reusable; }

  void note_freed(Address object, Address size) {
    const std::lock_guard hold(mutex_);
    if (known_.freed.insert({object, size}).second) throw NewKnowledge{};
  }

  // Does not change while the exploration goes on.
  bool ends_are_events() const { return known_.ends_are_events; }

  void note_that_ends_matter() {
    const std::lock_guard hold(mutex_);
    known_.ends_matter = true;
    if (!known_.ends_are_events) throw NewKnowledge{};
  }

  // Does not change while the exploration goes on.
  const std::set<Address>& noticed() const { return known_.noticed_before; }

  void note_noticed(Address address) {
    const std::lock_guard hold(mutex_);
    known_.noticed.insert(address);
    if (known_.noticed != known_.noticed_before) throw NewKnowledge{};
  }

  // Does not change while the exploration goes on: may the halves of an update be apart?
  bool splits_updates() const { return known_.splits; }

  void note_split() {
    const std::lock_guard hold(mutex_);
    known_.needs_split = true;
    throw NewKnowledge{};
  }

  // Does not change while the exploration goes on: may threads wait when the program ends?
  bool may_end_unjoined() const { return known_.ended_unjoined_before; }

  void note_unjoined_end() {
    const std::lock_guard hold(mutex_);
    known_.ends_unjoined = true;
    if (!known_.ended_unjoined_before) throw NewKnowledge{};
  }

  // Does not change while the exploration goes on: does the program tell threads apart that would be alike?
  bool tells_apart() const { return known_.tells_apart; }

  void note_told_apart() {
    const std::lock_guard hold(mutex_);
    known_.told_apart = true;
    if (!known_.tells_apart) throw NewKnowledge{};
  }

  // Does not change while the exploration goes on: where nobody sees in which order writes come.
  const std::set<Address>& unseen() const { return known_.unseen_before; }

  // By the first run of all: where nobody does in that.
  void note_unseen(const std::set<Address>& found) {
    const std::lock_guard hold(mutex_);
    if (std::exchange(known_.looked_at_run, true)) return;
    for (const Address address : found)
      if (!known_.refuted.contains({address, Reliance::unseen})) known_.unseen.insert(address);
    if (known_.unseen != known_.unseen_before) throw NewKnowledge{};
  }

  bool looked_at_run() {
    const std::lock_guard hold(mutex_);
    return known_.looked_at_run;
  }

  void note_seen(Address address) {
    const std::lock_guard hold(mutex_);
    known_.refuted.insert({address, Reliance::unseen});
    known_.unseen.erase(address);
    if (known_.unseen != known_.unseen_before) throw NewKnowledge{};
  }

  // Returns who writes there now: this thread, or several.
  std::int32_t note_writer(Address address, std::int32_t thread) {
    const std::lock_guard hold(mutex_);
    const auto [entry, is_new] = known_.writers.try_emplace(address, thread);
    if (!is_new && entry->second != thread) entry->second = several;
    const auto trusted = known_.trusted.find(address);
    if (trusted != known_.trusted.end() && trusted->second != entry->second) throw NewKnowledge{};
    return entry->second;
  }

  // The thread relies on it that no other writes there; if one was seen to do so, returns which.
  std::optional<std::int32_t> trust(Address address, std::int32_t thread) {
    const std::lock_guard hold(mutex_);
    const auto writer = known_.writers.find(address);
    if (writer != known_.writers.end() && writer->second != thread) return writer->second;
    const auto [entry, is_new] = known_.trusted.try_emplace(address, thread);
    if (!is_new && entry->second != thread) entry->second = several;
    return std::nullopt;
  }

  // Somebody relies on it; no if it was refuted.
  bool rely(Address address, Reliance what) {
    const std::lock_guard hold(mutex_);
    if (known_.refuted.contains({address, what})) return false;
    known_.relied_on.insert({address, what});
    return true;
  }

  void refute(Address address, Reliance what) {
    const std::lock_guard hold(mutex_);
    known_.refuted.insert({address, what});
    if (known_.relied_on.contains({address, what})) throw NewKnowledge{};
  }

  // The same in every run: of the thread that this one starts as its `nth`.
  std::int32_t number_of_thread(std::int32_t parent, std::int32_t nth, std::size_t n_threads) {
    const std::lock_guard hold(mutex_);
    const auto next = static_cast<std::int32_t>(n_threads + known_.threads.size());
    const auto found = known_.threads.find({parent, nth});
    if (found != known_.threads.end()) return found->second;
    if (!may_number_threads_) throw UnknownThread{parent, nth};
    return known_.threads.emplace(std::pair(parent, nth), next).first->second;
  }

 private:
  std::mutex mutex_;
  Known known_;
  bool may_number_threads_ = true;
};

}  // namespace dekker::rsmc
