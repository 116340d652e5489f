/* Thread 0 hands over numbers under a lock; the others take the lock again and again until there is one for them. */
#include "threads.h"

static atomic_bool locked;
static int ready, taken;

static void lock(void) {
  while (atomic_exchange_explicit(&locked, true, memory_order_acquire))
    ;
}

static void unlock(void) { atomic_store_explicit(&locked, false, memory_order_release); }

static void hand_over(void) {
  lock();
  ready++;
  unlock();
}

static void take(void) {
  for (;;) {
    lock();
    bool found = ready > 0;
    if (found) {
      ready--;
      taken++;
    }
    unlock();
    if (found)
      return;
  }
}

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++)
    if (me == 0)
      for (int j = 1; j < N; j++)
        hand_over();
    else
      take();
}

int main(void) {
  run_threads();
  assert(ready == 0 && taken == (N - 1) * OPERATIONS);
  return 0;
}
