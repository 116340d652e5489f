/* A sequence lock: readers never write. They read a number, the data, and the number again; if it has changed, or is
 * odd, a writer was there and they begin again.
 *
 * The data are relaxed atomics, because readers look at them while they are written. The orders are those of Boehm: a
 * release fence behind the first increment, an acquire fence in front of the second look. -DBROKEN leaves out the
 * writer's fence: the data may be seen before the number is odd. -DBROKEN_READER leaves out the reader's. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef WRITES
#define WRITES 2
#endif

static atomic_int sequence, left, right;

static void write_both(int value) {
  int now = atomic_load_explicit(&sequence, memory_order_relaxed);
  atomic_store_explicit(&sequence, now + 1, memory_order_relaxed);
#ifndef BROKEN
  atomic_thread_fence(memory_order_release);
#endif
  atomic_store_explicit(&left, value, memory_order_relaxed);
  atomic_store_explicit(&right, value, memory_order_relaxed);
  atomic_store_explicit(&sequence, now + 2, memory_order_release);
}

static int read_begin(void) {
  int now;
  while ((now = atomic_load_explicit(&sequence, memory_order_acquire)) % 2)
    ;
  return now;
}

static int must_retry(int begun) {
#ifndef BROKEN_READER
  atomic_thread_fence(memory_order_acquire);
#endif
  return atomic_load_explicit(&sequence, memory_order_relaxed) != begun;
}

static void *writer(void *unused) {
  (void)unused;
  for (int i = 1; i <= WRITES; i++)
    write_both(i);
  return 0;
}

static void *reader(void *unused) {
  int begun, l, r;
  (void)unused;
  do {
    begun = read_begin();
    l = atomic_load_explicit(&left, memory_order_relaxed);
    r = atomic_load_explicit(&right, memory_order_relaxed);
  } while (must_retry(begun));
  assert(l == r);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, writer, 0);
  pthread_create(&second, 0, reader, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
