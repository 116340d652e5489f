/* Peterson's algorithm: mutual exclusion with two flags and one variable that decides ties.
 *
 * A thread raises its flag, lets the other go first, and waits only if the other wants to. Its two stores must be seen
 * before its loads are done. */
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
  turn = other;
  full_fence();
  while (wants[other] && turn == other)
    ;
  light_fence();
}

static void leave(int me) {
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
