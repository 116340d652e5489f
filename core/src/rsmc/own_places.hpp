// Memory that belongs to one thread by its name, and to another if the threads are renamed: what it allocates, and its part
// of an array of which each thread has one.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "dekker/code.hpp"

namespace dekker::rsmc {

// A global array; `part_of` says by thread where its part begins, or 0.
struct SharedOut {
  ObjectRange object;
  Address part_size = 0;
  std::vector<Address> part_of{};
};

class OwnPlaces {
 public:
  // The place of an object or array, and the offset in it: the same for threads that are renamed.
  using Place = std::pair<std::size_t, Address>;

  OwnPlaces(Address heaps, Address heap_size, Address heaps_end)
      : heaps_(heaps), heap_size_(heap_size), heaps_end_(heaps_end) {}

  void share_out(std::vector<SharedOut> arrays) { arrays_ = std::move(arrays); }
  bool has_arrays() const { return !arrays_.empty(); }

  std::optional<Place> find(std::int32_t thread, Address address) const {
    const Address heap = heaps_ + static_cast<Address>(thread) * heap_size_;
    if (address >= heap && address - heap < heap_size_) return Place{0, address - heap};
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Address part = part_of(arrays_[i], thread);
      if (part != 0 && address >= part && address - part < arrays_[i].part_size) return Place{i + 1, address - part};
    }
    return std::nullopt;
  }

  bool is_in_array_of(std::int32_t thread, Address address) const {
    const std::optional<Place> place = find(thread, address);
    return place && place->first != 0;
  }

  // Is it the address of something that changes with the names of threads? The first thread, and what is only its own, does
  // not.
  bool is_named(Value value) const { return is_on_heap(value) || array_at(value) != nullptr; }
  bool is_on_heap(Value value) const { return value >= heaps_ + heap_size_ && value < heaps_end_; }

  // Of an address that is named; others have the number of their four gigabytes.
  Value owner(Value value) const {
    const SharedOut* const array = array_at(value);
    return array == nullptr ? value / heap_size_ : value - (value - array->object.start) % array->part_size;
  }

 private:
  static Address part_of(const SharedOut& array, std::int32_t thread) {
    const auto i = static_cast<std::size_t>(thread);
    return i < array.part_of.size() ? array.part_of[i] : 0;
  }

  const SharedOut* array_at(Value value) const {
    for (const SharedOut& array : arrays_)
      if (value >= array.object.start && value - array.object.start < array.object.size) return &array;
    return nullptr;
  }

  Address heaps_;
  Address heap_size_;
  Address heaps_end_;
  std::vector<SharedOut> arrays_;
};

}  // namespace dekker::rsmc
