/* The queue of Michael and Scott (1996): two threads put and take repeatedly. Nothing is taken twice, and nothing before it
 * was filled.
 *
 * The compare-and-swap that links a node empties the store buffer, so no fence is needed under tso and pso. -DBROKEN links
 * with a store. A thread that is slow keeps all nodes alive that were added since; runs with more than a few are not followed. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include "fence.h"

extern void __VERIFIER_assume(int);
#define NODES 4

struct node {
  _Atomic(struct node *) next;
  volatile int position, filled, taken;
};
static _Atomic(struct node *) head, tail;

static int swap(_Atomic(struct node *) *place, struct node *old, struct node *new) {
  return atomic_compare_exchange_strong_explicit(place, &old, new, memory_order_relaxed, memory_order_relaxed);
}

static struct node *load(_Atomic(struct node *) *place) {
  return atomic_load_explicit(place, memory_order_relaxed);
}

static void put(void) {
  struct node *node = malloc(sizeof *node);
  atomic_store_explicit(&node->next, 0, memory_order_relaxed);
  node->taken = 0;
  node->filled = 1;
  fence();
  for (;;) {
    struct node *last = load(&tail), *next = load(&last->next);
    if (next) {
      swap(&tail, last, next);
      continue;
    }
    node->position = last->position + 1;
    __VERIFIER_assume(node->position < NODES);
#ifdef BROKEN
    atomic_store_explicit(&last->next, node, memory_order_relaxed);
#else
    if (!swap(&last->next, 0, node))
      continue;
#endif
    swap(&tail, last, node);
    return;
  }
}

static void take(void) {
  for (;;) {
    struct node *first = load(&head), *last = load(&tail), *next = load(&first->next);
    if (first == last) {
      if (!next)
        return;
      swap(&tail, last, next);
      continue;
    }
    if (!swap(&head, first, next))
      continue;
    assert(next->filled && !next->taken);
    next->taken = 1;
    return;
  }
}

static void *run(void *argument) {
  while (again()) {
    put();
    take();
  }
  return 0;
}

int main(void) {
  struct node *first = malloc(sizeof *first);
  atomic_store(&first->next, 0);
  first->position = 0;
  atomic_store(&head, first);
  atomic_store(&tail, first);
  pthread_t other;
  pthread_create(&other, 0, run, 0);
  run(0);
}
