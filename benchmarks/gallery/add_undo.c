/* A lock that is taken by whoever counts from zero; the others take back what they added. */
#include "threads.h"

static atomic_int holders;

static void acquire(int me) {
  (void)me;
  while (atomic_fetch_add_explicit(&holders, 1, memory_order_acquire) != 0) {
    atomic_fetch_sub_explicit(&holders, 1, memory_order_relaxed);
    while (atomic_load_explicit(&holders, memory_order_relaxed) != 0)
      ;
  }
}

static void release(int me) {
  (void)me;
  atomic_fetch_sub_explicit(&holders, 1, memory_order_release);
}

#include "critical_section.h"
