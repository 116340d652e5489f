/* A ticket lock. */
#include "threads.h"

static atomic_uint next_ticket, now_serving;

static void acquire(int me) {
  (void)me;
  unsigned mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
  while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
    ;
}

static void release(int me) {
  (void)me;
  unsigned served = atomic_load_explicit(&now_serving, memory_order_relaxed);
  atomic_store_explicit(&now_serving, served + 1, memory_order_release);
}

#include "critical_section.h"
