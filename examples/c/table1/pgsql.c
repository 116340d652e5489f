/* Workers of PostgreSQL pass a token round a ring, and wake each other with latches.
 *
 * A worker that is woken must find the token. On POWER it did not always: the latch was seen before the token. Workers
 * run for ever; what is checked is bounded by --unroll. */
#include <assert.h>
#include <pthread.h>

#include "fences.h"

#define WORKERS 2

static volatile int latch[WORKERS] = {1};
static volatile int token[WORKERS] = {1};

static void *worker(void *argument) {
  int me = (int)(long)argument, next = (me + 1) % WORKERS;
  for (;;) {
    while (!latch[me])
      ;
    latch[me] = 0;
    light_fence();
    int mine = token[me];
    assert(mine);
    if (mine) {
      token[me] = 0;
      token[next] = 1;
      light_fence();
      latch[next] = 1;
    }
  }
}

int main(void) {
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; i++)
    pthread_create(&workers[i], 0, worker, (void *)(long)i);
  for (int i = 0; i < WORKERS; i++)
    pthread_join(workers[i], 0);
  return 0;
}
