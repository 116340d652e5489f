/* A ring buffer for one producer and one consumer: no locks, no compare-and-swap.
 *
 * The producer alone writes `written`, the consumer alone writes `consumed`. Each releases what it did to a slot before
 * it says so. -DBROKEN says so with relaxed order: the consumer may read a slot before it is filled. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SLOTS 2
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifdef BROKEN
#define SAY memory_order_relaxed
#else
#define SAY memory_order_release
#endif

static int slots[SLOTS];
static atomic_uint written, consumed;

static void put(int message) {
  unsigned w = atomic_load_explicit(&written, memory_order_relaxed);
  while (w - atomic_load_explicit(&consumed, memory_order_acquire) == SLOTS)
    ;
  slots[w % SLOTS] = message;
  atomic_store_explicit(&written, w + 1, SAY);
}

static int get(void) {
  unsigned c = atomic_load_explicit(&consumed, memory_order_relaxed);
  while (atomic_load_explicit(&written, memory_order_acquire) == c)
    ;
  int message = slots[c % SLOTS];
  atomic_store_explicit(&consumed, c + 1, SAY);
  return message;
}

static void *producer(void *unused) {
  (void)unused;
  for (int i = 1; i <= MESSAGES; i++)
    put(i);
  return 0;
}

static void *consumer(void *unused) {
  (void)unused;
  for (int i = 1; i <= MESSAGES; i++)
    assert(get() == i);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, producer, 0);
  pthread_create(&second, 0, consumer, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
