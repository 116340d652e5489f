/* Thread 0 writes, the others read. */
#include "../gallery/threads.h"

static atomic_int place;

static void worker(int me) {
  if (me == 0)
    atomic_store_explicit(&place, 1, memory_order_relaxed);
  else
    assert(atomic_load_explicit(&place, memory_order_relaxed) <= 1);
}

int main(void) {
  run_threads();
  return 0;
}
