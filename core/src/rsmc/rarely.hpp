// What few threads ever have: a copy of nothing costs nothing.
#pragma once

#include <memory>

namespace dekker::rsmc {

template <class T>
class Rarely {
 public:
  Rarely() = default;
  Rarely(const Rarely& other) { *this = other; }
  Rarely(Rarely&&) noexcept = default;
  Rarely& operator=(Rarely&&) noexcept = default;
  Rarely& operator=(const Rarely& other) {
    if (!other.content_) content_.reset();
    else if (this != &other) get() = *other.content_;
    return *this;
  }
  ~Rarely() = default;

  T& get() {
    if (!content_) content_ = std::make_unique<T>();
    return *content_;
  }
  const T& operator*() const { return content_ ? *content_ : nothing; }
  const T* operator->() const { return &**this; }

 private:
  static inline const T nothing{};
  std::unique_ptr<T> content_;
};

}  // namespace dekker::rsmc
