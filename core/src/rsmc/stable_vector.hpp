// A vector whose elements stay where they are when it grows. Threads are gone through at each step of an exploration: the
// iterators of std::deque, with one such element in each of its blocks, took up to a fifth of the time.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace dekker::rsmc {

template <class T>
class StableVector {
  template <class Element>
  class Iterator {
   public:
    using value_type = std::remove_const_t<Element>;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(const std::unique_ptr<T>* place) : place_(place) {}

    Element& operator*() const { return **place_; }
    Element* operator->() const { return place_->get(); }
    Iterator& operator++() {
      ++place_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(place_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const std::unique_ptr<T>* place_ = nullptr;
  };

 public:
  Iterator<T> begin() { return Iterator<T>(items_.data()); }
  Iterator<T> end() { return Iterator<T>(items_.data() + items_.size()); }
  Iterator<const T> begin() const { return Iterator<const T>(items_.data()); }
  Iterator<const T> end() const { return Iterator<const T>(items_.data() + items_.size()); }

  std::size_t size() const { return items_.size(); }
  T& operator[](std::size_t i) { return *items_[i]; }
  const T& operator[](std::size_t i) const { return *items_[i]; }
  T& back() { return *items_.back(); }

  void push_back(T item) { items_.push_back(std::make_unique<T>(std::move(item))); }
  void emplace_back() { items_.push_back(std::make_unique<T>()); }

 private:
  std::vector<std::unique_ptr<T>> items_;
};

}  // namespace dekker::rsmc
