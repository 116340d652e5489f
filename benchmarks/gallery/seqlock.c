/* A sequence lock: READERS of the threads read two words, the others write them. */
#include "threads.h"

#ifndef READERS
#define READERS 1
#endif

static atomic_uint sequence;
static atomic_int left, right;

static void write_both(int value) {
  unsigned now = atomic_load_explicit(&sequence, memory_order_relaxed);
  do
    now &= ~1u;
  while (!atomic_compare_exchange_weak_explicit(&sequence, &now, now + 1, memory_order_acquire, memory_order_relaxed));
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&left, value, memory_order_relaxed);
  atomic_store_explicit(&right, value, memory_order_relaxed);
  atomic_store_explicit(&sequence, now + 2, memory_order_release);
}

static void read_both(void) {
  unsigned begun;
  int l, r;
  do {
    while ((begun = atomic_load_explicit(&sequence, memory_order_acquire)) % 2)
      ;
    l = atomic_load_explicit(&left, memory_order_relaxed);
    r = atomic_load_explicit(&right, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
  } while (atomic_load_explicit(&sequence, memory_order_relaxed) != begun);
  assert(l == r);
}

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++)
    if (me < READERS)
      read_both();
    else
      write_both(me * OPERATIONS + i + 1);
}

int main(void) {
  run_threads();
  return 0;
}
