/* Publish a new version, wait until nobody reads the old one, free it: the idea of read-copy-update.
 *
 * A reader announces itself, takes the pointer and uses it. The writer replaces the pointer, waits for a moment in which
 * each reader is not announced, and frees. Announcing and looking are Dekker's idiom, hence the sequentially consistent
 * fences.
 * -DBROKEN publishes with relaxed order: a reader may get the pointer before the contents.
 * -DNO_FENCE leaves out the reader's fence: it may use what was freed, already on x86.
 * -DNO_WAIT frees at once: wrong on every model. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

struct config {
  int a, b;
};

static struct config *_Atomic current;
static atomic_int reading;

static struct config *make(int value) {
  struct config *made = malloc(sizeof *made);
  made->a = value;
  made->b = value;
  return made;
}

static void read_lock(void) {
  atomic_store_explicit(&reading, 1, memory_order_relaxed);
#ifndef NO_FENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void read_unlock(void) { atomic_store_explicit(&reading, 0, memory_order_release); }

static void wait_for_readers(void) {
#ifndef NO_WAIT
  atomic_thread_fence(memory_order_seq_cst);
  while (atomic_load_explicit(&reading, memory_order_acquire))
    ;
#endif
}

static void *reader(void *unused) {
  (void)unused;
  read_lock();
  struct config *seen = atomic_load_explicit(&current, memory_order_acquire);
  assert(seen->a == seen->b);
  read_unlock();
  return 0;
}

static void *writer(void *unused) {
  (void)unused;
  struct config *old = atomic_load_explicit(&current, memory_order_relaxed);
  atomic_store_explicit(&current, make(2), PUBLISH);
  wait_for_readers();
  free(old);
  return 0;
}

int main(void) {
  pthread_t first, second;
  atomic_store_explicit(&current, make(1), memory_order_relaxed);
  pthread_create(&first, 0, writer, 0);
  pthread_create(&second, 0, reader, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  free(atomic_load_explicit(&current, memory_order_relaxed));
  return 0;
}
