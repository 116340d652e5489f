/* The lock of Craig, Landin and Hagersten: threads queue up, each waits at the node of the one before it.
 *
 * -DBROKEN leaves the lock with relaxed order. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifdef BROKEN
#define LEAVE memory_order_relaxed
#else
#define LEAVE memory_order_release
#endif

struct node {
  atomic_int busy;
};

static struct node nodes[THREADS + 1];
static struct node *_Atomic tail = &nodes[THREADS];
static int counter;

static void lock(struct node *mine) {
  atomic_store_explicit(&mine->busy, 1, memory_order_relaxed);
  struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
  while (atomic_load_explicit(&before->busy, memory_order_acquire))
    ;
}

static void unlock(struct node *mine) { atomic_store_explicit(&mine->busy, 0, LEAVE); }

static void *worker(void *argument) {
  struct node *mine = argument;
  lock(mine);
  counter++;
  unlock(mine);
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], 0, worker, &nodes[i]);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  assert(counter == THREADS);
  return 0;
}
