/* Thread 0 looks for the last zero of an array, the others each write one element after they have read the one before.
 */
#include "../gallery/threads.h"

static atomic_int array[N];

static void worker(int me) {
  if (me == 0) {
    int i = N - 1;
    while (atomic_load_explicit(&array[i], memory_order_acquire) != 0)
      i--;
    assert(i >= 0);
  } else {
    int before = atomic_load_explicit(&array[me - 1], memory_order_acquire);
    atomic_store_explicit(&array[me], before + 1, memory_order_release);
  }
}

int main(void) {
  run_threads();
  return 0;
}
