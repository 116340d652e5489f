// Threads with more stack than they get by default.
#pragma once

#include <pthread.h>

#include <functional>
#include <memory>
#include <system_error>

namespace dekker {

// Joined when it goes.
class BigThread {
 public:
  static constexpr std::size_t default_stack_bytes = std::size_t{64} << 20;

  explicit BigThread(std::function<void()> body, std::size_t stack_bytes = default_stack_bytes)
      : body_(std::make_unique<std::function<void()>>(std::move(body))) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    const int error = pthread_create(&thread_, &attributes, run, body_.get());
    pthread_attr_destroy(&attributes);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start a thread");
  }
  BigThread(BigThread&& other) noexcept : thread_(other.thread_), body_(std::move(other.body_)) {}
  ~BigThread() {
    if (body_) pthread_join(thread_, nullptr);
  }

 private:
  static void* run(void* body) {
    (*static_cast<std::function<void()>*>(body))();
    return nullptr;
  }

  pthread_t thread_{};
  std::unique_ptr<std::function<void()>> body_;
};

}  // namespace dekker
