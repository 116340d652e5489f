/* Szymanski's algorithm for two threads: a waiting room with a door.
 *
 * Threads gather in the room, the last one in closes the door behind it, and they leave in order of their numbers. One
 * variable per thread says where it is. */
#include <assert.h>
#include <pthread.h>

#include "fences.h"

enum { OUTSIDE, AT_THE_DOOR, WAITING, ENTERING, DOOR_CLOSED };

static volatile int place[2];
static int inside;

static void go(int me, int where) {
  place[me] = where;
  full_fence();
}

static void enter(int me) {
  int other = 1 - me;
  go(me, AT_THE_DOOR);
  while (place[other] >= ENTERING)
    ;
  full_fence();
  go(me, ENTERING);
  if (place[other] == AT_THE_DOOR) {
    full_fence();
    go(me, WAITING);
    while (place[other] != DOOR_CLOSED)
      ;
  }
  full_fence();
  go(me, DOOR_CLOSED);
  if (me == 1)
    while (place[0] >= WAITING)
      ;
  full_fence();
}

static int in_the_room(int where) { return where == WAITING || where == ENTERING; }

static void leave(int me) {
  full_fence();
  if (me == 0)
    while (in_the_room(place[1])) /* one look: with two, the other may go from ENTERING to WAITING in between */
      ;
  full_fence();
  place[me] = OUTSIDE;
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
