/* A ring of two slots between one producer and one consumer, for each pair of neighbours: N threads hand N - 1 streams
 * of numbers on. */
#include "threads.h"

#define SLOTS 2

struct ring {
  int slots[SLOTS];
  atomic_uint head, tail;
};

static struct ring rings[N - 1];

static void put(struct ring *ring, int value) {
  unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
  while (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == SLOTS)
    ;
  ring->slots[tail % SLOTS] = value;
  atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

static int take(struct ring *ring) {
  unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  while (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
    ;
  int value = ring->slots[head % SLOTS];
  atomic_store_explicit(&ring->head, head + 1, memory_order_release);
  return value;
}

static void worker(int me) {
  for (int i = 0; i < OPERATIONS + 1; i++) {
    int value = me == 0 ? i : take(&rings[me - 1]);
    assert(value == i);
    if (me < N - 1)
      put(&rings[me], value);
  }
}

int main(void) {
  run_threads();
  return 0;
}
