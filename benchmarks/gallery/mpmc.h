/* A bounded queue for many producers and consumers: each cell has a number that says whose turn it is there. */
#ifndef CELLS
#define CELLS 2
#endif

struct cell {
  atomic_uint turn;
  int value;
};

static struct cell cells[CELLS];
static atomic_uint enqueued, dequeued;

static void init_queue(void) {
  for (unsigned i = 0; i < CELLS; i++)
    atomic_init(&cells[i].turn, i);
}

static bool try_enqueue(int value) {
  unsigned position = atomic_load_explicit(&enqueued, memory_order_relaxed);
  for (;;) {
    struct cell *cell = &cells[position % CELLS];
    int ahead = (int)(atomic_load_explicit(&cell->turn, memory_order_acquire) - position);
    if (ahead < 0)
      return false;
    if (ahead > 0)
      position = atomic_load_explicit(&enqueued, memory_order_relaxed);
    else if (atomic_compare_exchange_weak_explicit(&enqueued, &position, position + 1, memory_order_relaxed,
                                                   memory_order_relaxed)) {
      cell->value = value;
      atomic_store_explicit(&cell->turn, position + 1, memory_order_release);
      return true;
    }
  }
}

static bool try_dequeue(int *value) {
  unsigned position = atomic_load_explicit(&dequeued, memory_order_relaxed);
  for (;;) {
    struct cell *cell = &cells[position % CELLS];
    int ahead = (int)(atomic_load_explicit(&cell->turn, memory_order_acquire) - (position + 1));
    if (ahead < 0)
      return false;
    if (ahead > 0)
      position = atomic_load_explicit(&dequeued, memory_order_relaxed);
    else if (atomic_compare_exchange_weak_explicit(&dequeued, &position, position + 1, memory_order_relaxed,
                                                   memory_order_relaxed)) {
      *value = cell->value;
      atomic_store_explicit(&cell->turn, position + CELLS, memory_order_release);
      return true;
    }
  }
}
