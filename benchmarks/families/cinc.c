/* Every thread increments three counters, each by compare-exchanges until one succeeds. */
#include "../gallery/threads.h"

#define COUNTERS 3

static atomic_int counters[COUNTERS];

static void increment(atomic_int *counter) {
  int seen = atomic_load_explicit(counter, memory_order_relaxed);
  while (!atomic_compare_exchange_strong_explicit(counter, &seen, seen + 1, memory_order_relaxed, memory_order_relaxed))
    ;
}

static void worker(int me) {
  (void)me;
  for (int i = 0; i < COUNTERS; i++)
    increment(&counters[i]);
}

int main(void) {
  run_threads();
  for (int i = 0; i < COUNTERS; i++)
    assert(counters[i] == N);
  return 0;
}
