// A ring buffer for one producer and one consumer, as a template.
//
// -DBROKEN announces a message with relaxed order: the consumer may read the slot before it is filled.
#include <array>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <thread>

#ifdef BROKEN
constexpr auto announce = std::memory_order_relaxed;
#else
constexpr auto announce = std::memory_order_release;
#endif

template <typename T, std::size_t Slots> class Ring {
public:
  bool try_put(const T &message) {
    std::size_t written = written_.load(std::memory_order_relaxed);
    if (written - consumed_.load(std::memory_order_acquire) == Slots)
      return false;
    slots_[written % Slots] = message;
    written_.store(written + 1, announce);
    return true;
  }

  bool try_get(T &message) {
    std::size_t consumed = consumed_.load(std::memory_order_relaxed);
    if (written_.load(std::memory_order_acquire) == consumed)
      return false;
    message = slots_[consumed % Slots];
    consumed_.store(consumed + 1, announce);
    return true;
  }

private:
  std::array<T, Slots> slots_{};
  std::atomic<std::size_t> written_{0}, consumed_{0};
};

struct Message {
  int number;
  int copy;
};

int main() {
  Ring<Message, 2> ring;
  std::thread producer([&] {
    for (int i = 1; i <= 3; i++)
      ring.try_put({i, i});
  });
  std::thread consumer([&] {
    int last = 0;
    for (int i = 0; i < 2; i++) {
      Message message{};
      if (ring.try_get(message)) {
        assert(message.number == message.copy);
        assert(message.number > last);
        last = message.number;
      }
    }
  });
  producer.join();
  consumer.join();
}
