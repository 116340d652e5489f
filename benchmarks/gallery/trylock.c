/* A lock whose only operation is an attempt, in a function that is not inlined. */
#include "threads.h"

static atomic_int owner;

__attribute__((noinline)) static bool try_acquire(int me) {
  int nobody = 0;
  if (atomic_load_explicit(&owner, memory_order_relaxed) != nobody)
    return false;
  return atomic_compare_exchange_strong_explicit(&owner, &nobody, me + 1, memory_order_acquire, memory_order_relaxed);
}

static void acquire(int me) {
  while (!try_acquire(me))
    ;
}

static void release(int me) {
  (void)me;
  atomic_store_explicit(&owner, 0, memory_order_release);
}

#include "critical_section.h"
