/* Thread i turns the value i into i + 1, if that is what it finds. */
#include "../gallery/threads.h"

static atomic_int place;

static void worker(int me) {
  int wanted = me;
  atomic_compare_exchange_strong_explicit(&place, &wanted, me + 1, memory_order_relaxed, memory_order_relaxed);
}

int main(void) {
  run_threads();
  assert(place >= 1 && place <= N);
  return 0;
}
