/* The workers of pgsql.c with bounds as in the original: each ends after ROUNDS rounds, and a wait gives up after POLLS
 * looks at the latch. Every number of looks is another execution, so there are many. */
#include <assert.h>
#include <pthread.h>

#include "fences.h"

#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef POLLS
#define POLLS 3
#endif
#define WORKERS 2

static volatile int latch[WORKERS] = {1};
static volatile int token[WORKERS] = {1};

static int woken(int me) {
  for (int i = 0; i < POLLS; i++)
    if (latch[me])
      return 1;
  return 0;
}

static void *worker(void *argument) {
  int me = (int)(long)argument, next = (me + 1) % WORKERS;
  for (int i = 0; i < ROUNDS; i++) {
    if (!woken(me))
      continue;
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
  return 0;
}

int main(void) {
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; i++)
    pthread_create(&workers[i], 0, worker, (void *)(long)i);
  for (int i = 0; i < WORKERS; i++)
    pthread_join(workers[i], 0);
  return 0;
}
