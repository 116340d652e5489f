// An array of zeros that takes memory where it is written to.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace dekker::incremental {

template <class T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // Whoever wrote to what was there before has made it zero again.
  T* assign(std::size_t size) {
    if (items_ && size <= size_) return items_.get();
    items_.reset();
    items_.reset(static_cast<T*>(std::calloc(size + 1, sizeof(T))));
    if (!items_) throw std::bad_alloc();
    size_ = size;
    return items_.get();
  }

 private:
  struct Free {
    void operator()(T* items) const { std::free(items); }
  };
  std::unique_ptr<T, Free> items_;
  std::size_t size_ = 0;
};

}  // namespace dekker::incremental
