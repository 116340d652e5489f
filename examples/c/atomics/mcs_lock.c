/* The lock of Mellor-Crummey and Scott: threads queue up, each waits at a node of its own.
 *
 * Whoever arrives puts its node at the tail and links it behind the one before; whoever leaves lets the next one go.
 * -DBROKEN does the latter with relaxed order. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 2
#endif
#ifdef BROKEN
#define HAND_OVER memory_order_relaxed
#else
#define HAND_OVER memory_order_release
#endif

struct node {
  struct node *_Atomic next;
  atomic_int waits;
};

static struct node *_Atomic tail;
static int counter;

static void lock(struct node *mine) {
  atomic_store_explicit(&mine->next, 0, memory_order_relaxed);
  atomic_store_explicit(&mine->waits, 1, memory_order_relaxed);
  struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
  if (!before)
    return;
  atomic_store_explicit(&before->next, mine, memory_order_release);
  while (atomic_load_explicit(&mine->waits, memory_order_acquire))
    ;
}

static void unlock(struct node *mine) {
  struct node *next = atomic_load_explicit(&mine->next, memory_order_acquire);
  if (!next) {
    struct node *expected = mine;
    if (atomic_compare_exchange_strong_explicit(&tail, &expected, 0, memory_order_release, memory_order_relaxed))
      return;
    while (!(next = atomic_load_explicit(&mine->next, memory_order_acquire)))
      ;
  }
  atomic_store_explicit(&next->waits, 0, HAND_OVER);
}

static void *worker(void *unused) {
  struct node mine;
  (void)unused;
  lock(&mine);
  counter++;
  unlock(&mine);
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
