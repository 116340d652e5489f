/* Park and unpark, as a Java runtime had them: a thread sleeps until another hands it a permit.
 *
 * The fast path of park takes a permit without the lock and returns. Its caller then looks whether what it waits for is
 * there. If that look overtakes the store that used up the permit, an unpark in between finds the old permit, wakes
 * nobody, and its own permit is overwritten: the thread sleeps for ever. x86 does that. */
#include <pthread.h>

#include "fences.h"

#ifndef ROUNDS
#define ROUNDS 1
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static volatile int permit;
static volatile int ready;

static void park(void) {
  if (permit > 0) {
    permit = 0;
    full_fence();
    return;
  }
  if (pthread_mutex_trylock(&lock) != 0)
    return;
  if (permit == 0)
    pthread_cond_wait(&wake, &lock);
  permit = 0;
  pthread_mutex_unlock(&lock);
}

static void unpark(void) {
  pthread_mutex_lock(&lock);
  int before = permit;
  permit = 1;
  pthread_mutex_unlock(&lock);
  if (before == 0)
    pthread_cond_signal(&wake);
}

static void *sleeper(void *unused) {
  (void)unused;
  while (ready < ROUNDS)
    park();
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, sleeper, 0);
  unpark();
  for (int i = 1; i <= ROUNDS; i++) {
    ready = i;
    full_fence();
    unpark();
  }
  pthread_join(thread, 0);
  return 0;
}
