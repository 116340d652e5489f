/* Every thread tries to be the first to replace zero, and then writes. */
#include "../gallery/threads.h"

static atomic_int place, winners;

static void worker(int me) {
  int zero = 0;
  if (atomic_compare_exchange_strong_explicit(&place, &zero, me + 1, memory_order_relaxed, memory_order_relaxed))
    winners = 1;
  atomic_store_explicit(&place, N + me + 1, memory_order_relaxed);
}

int main(void) {
  run_threads();
  assert(winners == 1 && place > N);
  return 0;
}
