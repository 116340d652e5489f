/* One atomic increment per thread. */
#include "../gallery/threads.h"

static atomic_int counter;

static void worker(int me) {
  (void)me;
  for (int i = 0; i < OPERATIONS; i++)
    atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}

int main(void) {
  run_threads();
  assert(counter == N * OPERATIONS);
  return 0;
}
