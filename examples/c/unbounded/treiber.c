/* Treiber's stack (1986): two threads push and pop repeatedly. What is popped was pushed, and belongs to whoever popped it.
 *
 * The compare-and-swap that publishes a node empties the store buffer, so no fence is needed under tso and pso.
 * -DBROKEN pops with a load and a store. Nodes that nobody knows any more are forgotten. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include "fence.h"

struct node {
  struct node *next;
  volatile int owner;
};
static _Atomic(struct node *) top;

static void push(struct node *node) {
  struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
  do {
    node->next = old;
    fence();
  } while (!atomic_compare_exchange_strong_explicit(&top, &old, node, memory_order_relaxed, memory_order_relaxed));
}

static struct node *pop(void) {
  struct node *old = atomic_load_explicit(&top, memory_order_relaxed);
#ifdef BROKEN
  if (old)
    atomic_store_explicit(&top, old->next, memory_order_relaxed);
#else
  while (old && !atomic_compare_exchange_strong_explicit(&top, &old, old->next, memory_order_relaxed, memory_order_relaxed))
    ;
#endif
  return old;
}

static void *run(void *argument) {
  int me = argument != 0;
  while (again()) {
    struct node *node = malloc(sizeof *node);
    node->owner = 0;
    push(node);
    node = pop();
    if (node) {
      assert(node->owner == 0);
      node->owner = me + 1;
      assert(node->owner == me + 1);
    }
  }
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, (void *)1L);
  run(0);
}
