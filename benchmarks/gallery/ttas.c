/* Test and test-and-set: an exchange only when the lock looks free. */
#include "threads.h"

static atomic_bool locked;

static void acquire(int me) {
  (void)me;
  do {
    while (atomic_load_explicit(&locked, memory_order_relaxed))
      ;
  } while (atomic_exchange_explicit(&locked, true, memory_order_acquire));
}

static void release(int me) {
  (void)me;
  atomic_store_explicit(&locked, false, memory_order_release);
}

#include "critical_section.h"
