/* A spin lock: one atomic exchange to get in, one store to get out.
 *
 * Under pso the store that gives the lock back must not overtake those of the critical section. No loop has a bound. */
#include "mutual_exclusion.h"

static atomic_int taken;
static void enter(int me) {
  (void)me;
  while (atomic_exchange(&taken, 1))
    ;
}
static void leave(int me) {
  (void)me;
  fence();
  atomic_store_explicit(&taken, 0, memory_order_relaxed);
}
