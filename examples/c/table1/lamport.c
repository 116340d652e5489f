/* Lamport's fast mutual exclusion algorithm: without contention a thread enters after five stores and two loads.
 *
 * Threads have the numbers 1 and 2; 0 is nobody. Whoever finds `gate` or `last` taken by the other steps back, waits,
 * and begins again. */
#include <assert.h>
#include <pthread.h>

#include "fences.h"

static volatile int trying[3];
static volatile int last, gate;
static int inside;

static void enter(int me) {
  int other = 3 - me;
  for (;;) {
    trying[me] = 1;
    full_fence();
    last = me;
    full_fence();
    if (gate != 0) {
      full_fence();
      trying[me] = 0;
      while (gate != 0)
        ;
      full_fence();
      continue;
    }
    full_fence();
    gate = me;
    full_fence();
    if (last == me)
      break;
    full_fence();
    trying[me] = 0;
    full_fence();
    while (trying[other])
      ;
    full_fence();
    if (gate == me)
      break;
    while (gate != 0)
      ;
    full_fence();
  }
  full_fence();
}

static void leave(int me) {
  full_fence();
  gate = 0;
  full_fence();
  trying[me] = 0;
}

static void *worker(void *argument) {
  int me = (int)(long)argument;
  enter(me);
  inside = me;
  assert(inside == me);
  leave(me);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, worker, (void *)1L);
  pthread_create(&second, 0, worker, (void *)2L);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
