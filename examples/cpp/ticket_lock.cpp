// A ticket lock as a class that std::lock_guard can use, and threads that are lambdas.
//
// -DBROKEN calls the next number with relaxed order: the next thread may enter before what the last one did is there.
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

#ifdef BROKEN
constexpr auto call = std::memory_order_relaxed;
#else
constexpr auto call = std::memory_order_release;
#endif

class TicketLock {
public:
  void lock() {
    unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    while (serving_.load(std::memory_order_acquire) != mine) {
    }
  }

  void unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, call); }

private:
  std::atomic<unsigned> next_{0};
  std::atomic<unsigned> serving_{0};
};

int main() {
  TicketLock lock;
  int counter = 0;
  auto work = [&] {
    std::lock_guard<TicketLock> guard(lock);
    counter++;
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  assert(counter == 2);
}
