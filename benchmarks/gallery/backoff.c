/* A spin lock that yields once, twice, four times between its attempts. */
#include <sched.h>

#include "threads.h"

static atomic_bool locked;

static void acquire(int me) {
  int pause = 1;
  (void)me;
  while (atomic_exchange_explicit(&locked, true, memory_order_acquire)) {
    for (int i = 0; i < pause; i++)
      sched_yield();
    if (pause < 4)
      pause *= 2;
  }
}

static void release(int me) {
  (void)me;
  atomic_store_explicit(&locked, false, memory_order_release);
}

#include "critical_section.h"
