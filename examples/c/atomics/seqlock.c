/* A sequence lock: readers never write. They read a number, the data, and the number again; if it has changed, or is
 * odd, a writer was there and they begin again.
 *
 * The data are relaxed atomics, because readers look at them while they are written. The orders are those of Boehm: a
 * release fence behind the first increment, an acquire fence in front of the second look. -DBROKEN leaves out the
 * writer's fence: the data may be seen before the number is odd. -DBROKEN_READER leaves out the reader's. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

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

static void read_both(int *l, int *r) {
  int before, after;
  do {
    before = atomic_load_explicit(&sequence, memory_order_acquire);
    *l = atomic_load_explicit(&left, memory_order_relaxed);
    *r = atomic_load_explicit(&right, memory_order_relaxed);
#ifndef BROKEN_READER
    atomic_thread_fence(memory_order_acquire);
#endif
    after = atomic_load_explicit(&sequence, memory_order_relaxed);
  } while (before % 2 || before != after);
}

static void *writer(void *unused) {
  (void)unused;
  write_both(1);
  write_both(2);
  return 0;
}

static void *reader(void *unused) {
  int l, r;
  (void)unused;
  read_both(&l, &r);
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
