// The reads that Explore is called on at the moment, by their place in the program.
#pragma once

#include <vector>

#include "rsmc/run.hpp"
#include "rsmc/templates.hpp"

namespace dekker::rsmc {

// One call of Explore on a read: where it began, and the continuations found for it that are still to be explored.
template <std::size_t W>
struct Activation {
  Key key;
  typename Run<W>::Mark before;
  std::size_t run_size;
  std::uint64_t stamp;
  bool only_success;         // of a compare-exchange: that it fails is explored elsewhere
  bool sleeps = false;       // some parameter leaves the thread waiting: it is explored without the load,
  bool has_slept = false;    // once
  bool tries_again = false;  // if its store-conditional fails, the thread would only try again
  std::uint64_t id = 0;      // not 0: other units have it open, too
  std::vector<Template> templates{};
};

template <std::size_t W>
class ActiveReads {
 public:
  Activation<W>* find(Key key) const {
    if (at(key.thread) >= by_place_.size()) return nullptr;
    const std::vector<Activation<W>*>& of_thread = by_place_[at(key.thread)];
    return at(key.index) < of_thread.size() ? of_thread[at(key.index)] : nullptr;
  }

  // A read that was displaced is active again, within its first activation.
  void begin(Key key, Activation<W>& activation) {
    outer_.push_back(find(key));
    opened_.push_back({key, &activation});
    set(key, &activation);
  }

  // The one that began last.
  void end() {
    set(opened_.back().first, outer_.back());
    opened_.pop_back();
    outer_.pop_back();
  }

  // Outermost first.
  const std::vector<std::pair<Key, Activation<W>*>>& opened() const { return opened_; }

  using Suspended = std::vector<std::pair<Key, Activation<W>*>>;

  // This one and those that began after it, until they are resumed.
  Suspended suspend_from(const Activation<W>& activation) {
    Suspended suspended;
    do {
      suspended.push_back(opened_.back());
      end();
    } while (suspended.back().second != &activation);
    return suspended;
  }

  void resume(const Suspended& suspended) {
    for (auto it = suspended.rbegin(); it != suspended.rend(); ++it) begin(it->first, *it->second);
  }

 private:
  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

  void set(Key key, Activation<W>* activation) {
    if (at(key.thread) >= by_place_.size()) by_place_.resize(at(key.thread) + 1);
    std::vector<Activation<W>*>& of_thread = by_place_[at(key.thread)];
    if (at(key.index) >= of_thread.size()) of_thread.resize(at(key.index) + 1, nullptr);
    of_thread[at(key.index)] = activation;
  }

  std::vector<std::vector<Activation<W>*>> by_place_;
  std::vector<std::pair<Key, Activation<W>*>> opened_;
  std::vector<Activation<W>*> outer_;  // of the same read, by activation
};

}  // namespace dekker::rsmc
