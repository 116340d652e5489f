/* Dekker's algorithm: mutual exclusion with nothing but loads and stores.
 *
 * Each thread raises its flag and looks at the other's. If both flags are up, the one whose turn it is not lowers its
 * own and waits. All depends on "raise, then look": x86 already looks before its own flag is seen by others. */
#include <assert.h>
#include <pthread.h>

#include "fences.h"

static volatile int wants[2];
static volatile int turn;
static int inside;

static void enter(int me) {
  int other = 1 - me;
  wants[me] = 1;
  full_fence();
  while (wants[other]) {
    if (turn == me)
      continue;
    wants[me] = 0;
    while (turn != me)
      ;
    wants[me] = 1;
    full_fence();
  }
  light_fence();
}

static void leave(int me) {
  light_fence();
  turn = 1 - me;
  light_fence();
  wants[me] = 0;
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
  pthread_create(&first, 0, worker, (void *)0L);
  pthread_create(&second, 0, worker, (void *)1L);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
