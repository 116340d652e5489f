// Memory of the heap that is lost at the end of a run: not released, and no pointer leads to it that begins in a global
// object. What only local variables of threads point to is lost, because they are gone at the end.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "rsmc/run.hpp"

namespace dekker::rsmc {

template <std::size_t W>
class LeakFinder {
 public:
  LeakFinder(const Program& program, const Run<W>& run) : objects_(run.machine().objects()), reached_(objects_.size(), false) {
    collect_words(run);
    for (const ObjectRange& object : program.objects) follow(object.start, object.size);
    while (!pending_.empty()) {
      const AllocatedObject& object = objects_[pending_.back()];
      pending_.pop_back();
      follow(object.start, object.size);
    }
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (!reached_[i] && !objects_[i].is_own && !is_used_again(i)) note_lost(run, objects_[i]);
  }

  const std::vector<AllocatedObject>& lost() const { return lost_; }

 private:
  // The last values of all words that may hold a pointer.
  void collect_words(const Run<W>& run) {
    for (const EarlyLocation& early : run.early_locations())
      if (early.size == 8 && !early.order.empty()) words_[early.address] = run.event(early.order.back()).value;
    for (const Location<W>& location : run.locations())
      if (location.size == 8)
        words_[location.address] = location.order.empty() ? location.initial_value : run.event(location.order.back()).value;
    run.machine().for_each_initial_byte([&](Address address) {
      const Address word = address & ~Address{7};
      if (!words_.contains(word)) words_[word] = run.initial_value(word, 8);
    });
  }

  void follow(Address start, Address size) {
    for (auto it = words_.lower_bound(start); it != words_.end() && it->first - start < size; ++it) reach(it->second);
  }

  void reach(Address pointer) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const bool points_there = pointer - objects_[i].start < std::max<Address>(objects_[i].size, 1);
      if (!points_there || reached_[i]) continue;
      reached_[i] = true;
      pending_.push_back(i);
    }
  }

  // It is there once more, as it is now.
  bool is_used_again(std::size_t i) const {
    const auto is_same = [&](const AllocatedObject& other) { return other.start == objects_[i].start; };
    return std::any_of(objects_.begin() + static_cast<std::ptrdiff_t>(i) + 1, objects_.end(), is_same);
  }

  // An object that came back is lost where it was taken last, which the order of the writes to its header tells.
  void note_lost(const Run<W>& run, AllocatedObject object) {
    const Event<W>* const last = last_of_header(run, object);
    if (object.is_released || (last != nullptr && last->is_release)) return;
    if (last != nullptr && last->is_renewal) object.place = run.machine().place_of(*last);
    lost_.push_back(object);
  }

  static const Event<W>* last_of_header(const Run<W>& run, const AllocatedObject& object) {
    for (const Location<W>& location : run.locations())
      if (location.address == Machine<W>::header_of(object.start) && !location.order.empty()) return &run.event(location.order.back());
    return nullptr;
  }

  const std::vector<AllocatedObject>& objects_;
  std::vector<bool> reached_;
  std::map<Address, Value> words_;
  std::vector<std::size_t> pending_;
  std::vector<AllocatedObject> lost_;
};

}  // namespace dekker::rsmc
