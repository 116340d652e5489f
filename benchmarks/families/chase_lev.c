/* The work-stealing deque of Chase and Lev: thread 0 pushes and takes at the bottom, the others steal at the top. */
#include "../gallery/threads.h"

#ifndef ELEMENTS
#define ELEMENTS 4
#endif
#define NOTHING (-1)

static atomic_int top, bottom;
static atomic_int elements[ELEMENTS];
static atomic_int taken[ELEMENTS];

static void push(int element) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed);
  atomic_store_explicit(&elements[b % ELEMENTS], element, memory_order_relaxed);
  atomic_store_explicit(&bottom, b + 1, memory_order_release);
}

static int take(void) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
  atomic_store_explicit(&bottom, b, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  int t = atomic_load_explicit(&top, memory_order_relaxed);
  int element = t > b ? NOTHING : atomic_load_explicit(&elements[b % ELEMENTS], memory_order_relaxed);
  if (t < b)
    return element;
  if (t == b
      && !atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
    element = NOTHING;
  atomic_store_explicit(&bottom, b + 1, memory_order_release);
  return element;
}

static int steal(void) {
  int t = atomic_load_explicit(&top, memory_order_acquire);
  atomic_thread_fence(memory_order_seq_cst);
  int b = atomic_load_explicit(&bottom, memory_order_acquire);
  if (t >= b)
    return NOTHING;
  int element = atomic_load_explicit(&elements[t % ELEMENTS], memory_order_relaxed);
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
    return NOTHING;
  return element;
}

static void get(int element) {
  if (element != NOTHING)
    assert(atomic_exchange_explicit(&taken[element], 1, memory_order_relaxed) == 0);
}

static void own(void) {
  for (int i = 0; i < ELEMENTS; i++)
    push(i);
  for (int i = 0; i < ELEMENTS - 1; i++)
    get(take());
}

static void worker(int me) {
  if (me == 0)
    own();
  else
    for (int i = 0; i < OPERATIONS; i++)
      get(steal());
}

int main(void) {
  run_threads();
  return 0;
}
