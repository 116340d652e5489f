/* Treiber's stack whose nodes are freed: a thread says at which node it looks before it does, and whoever has taken a
 * node frees it once nobody looks at it. */
#include <stdlib.h>

#include "threads.h"

struct node {
  int value;
  struct node *next;
};

static struct node *_Atomic top;
static struct node *_Atomic hazards[N];

static void push(int value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  node->next = atomic_load_explicit(&top, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&top, &node->next, node, memory_order_release, memory_order_relaxed))
    ;
}

static struct node *protect(int me) {
  struct node *seen = atomic_load_explicit(&top, memory_order_relaxed), *again;
  for (;; seen = again) {
    atomic_store(&hazards[me], seen);
    again = atomic_load(&top);
    if (seen == again)
      return seen;
  }
}

static void reclaim(struct node *node) {
  for (int i = 0; i < N; i++)
    while (atomic_load(&hazards[i]) == node)
      ;
  free(node);
}

static int pop(int me) {
  struct node *seen;
  do
    seen = protect(me);
  while (!atomic_compare_exchange_strong(&top, &seen, seen->next));
  int value = seen->value;
  atomic_store_explicit(&hazards[me], 0, memory_order_release);
  reclaim(seen);
  return value;
}

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++) {
    push(1);
    assert(pop(me) == 1);
  }
}

int main(void) {
  run_threads();
  assert(!atomic_load(&top));
  return 0;
}
