/* Two workers of PostgreSQL that pass a token to each other, and wake each other with latches.
 *
 * A worker sleeps until its latch is set, clears it, and expects to have the token then. On POWER it sometimes had not,
 * and both slept for ever. Each passes the token on twice.
 * -DFENCE_BEHIND_WAIT and -DFENCE_BEFORE_WAKING put the fences of the patch in, one or both. */
#include <assert.h>
#include <pthread.h>

#define lwsync() __asm__ volatile("lwsync" ::: "memory")

static volatile int latch[2] = {1, 0};
static volatile int token[2] = {1, 0};
enum { ROUNDS = 2 };

static void work(int me, int other) {
  for (int round = 0; round < ROUNDS; round++) {
    while (!latch[me])
      ;
    latch[me] = 0;
#ifdef FENCE_BEHIND_WAIT
    lwsync();
#endif
    int mine = token[me];
    assert(mine);
    if (mine) {
      token[me] = 0;
      token[other] = 1;
#ifdef FENCE_BEFORE_WAKING
      lwsync();
#endif
      latch[other] = 1;
    }
  }
}

static void *first(void *unused) {
  work(0, 1);
  return unused;
}

static void *second(void *unused) {
  work(1, 0);
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, first, 0);
  pthread_create(&two, 0, second, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
