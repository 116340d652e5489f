// Treiber's stack as a template. Nodes come from new and are deleted when everybody has finished, because a node that is
// deleted at once may still be read by another thread: -DEAGER does so, and is wrong on every model.
//
// -DBROKEN pushes with relaxed order: another thread may get the node before its contents.
#include <atomic>
#include <cassert>
#include <thread>

#ifdef BROKEN
constexpr auto publish = std::memory_order_relaxed;
#else
constexpr auto publish = std::memory_order_release;
#endif

template <typename T> class Stack {
public:
  struct Node {
    T value;
    Node *next;
  };

  void push(Node *node) {
    node->next = top_.load(std::memory_order_relaxed);
    while (!top_.compare_exchange_strong(node->next, node, publish, std::memory_order_relaxed)) {
    }
  }

  Node *pop() {
    Node *seen = top_.load(std::memory_order_acquire);
    while (seen && !top_.compare_exchange_strong(seen, seen->next, std::memory_order_acquire)) {
    }
    return seen;
  }

private:
  std::atomic<Node *> top_{nullptr};
};

using Numbers = Stack<int>;

// Returns what is still to be deleted.
static Numbers::Node *check(Numbers::Node *node) {
  if (node == nullptr)
    return nullptr;
  assert(node->value == 1);
#ifdef EAGER
  delete node;
  return nullptr;
#else
  return node;
#endif
}

int main() {
  Numbers numbers;
  Numbers::Node *first = nullptr, *second = nullptr;
  numbers.push(new Numbers::Node{1, nullptr});
  std::thread other([&] {
    numbers.push(new Numbers::Node{1, nullptr});
    first = check(numbers.pop());
  });
  second = check(numbers.pop());
  other.join();
  delete first;
  delete second;
  while (Numbers::Node *node = numbers.pop())
    delete node;
}
