/* A ticket lock: take a number, wait until it is called.
 *
 * Whoever unlocks calls the next number with release, whoever waits reads it with acquire. -DBROKEN calls with relaxed
 * order: the next thread may enter before what the last one did is there. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 3
#endif
#ifdef BROKEN
#define CALL memory_order_relaxed
#else
#define CALL memory_order_release
#endif

static atomic_int next_ticket, serving;
static int counter;

static void lock(void) {
  int mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);
  while (atomic_load_explicit(&serving, memory_order_acquire) != mine)
    ;
}

static void unlock(void) {
  int now = atomic_load_explicit(&serving, memory_order_relaxed);
  atomic_store_explicit(&serving, now + 1, CALL);
}

static void *worker(void *unused) {
  (void)unused;
  lock();
  counter++;
  unlock();
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  assert(counter == THREADS);
  return 0;
}
