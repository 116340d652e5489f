/* The queue of Michael and Scott: a linked list with a dummy node in front. The last READERS of the threads dequeue,
 * those before WRITERS enqueue, and those that are both do one after the other. */
#include "../gallery/threads.h"

#ifndef WRITERS
#define WRITERS (N - 1)
#endif
#ifndef READERS
#define READERS 1
#endif

struct node {
  int value;
  struct node *_Atomic next;
};

static struct node dummy, nodes[N][OPERATIONS];
static struct node *_Atomic head = &dummy, *_Atomic tail = &dummy;

static bool replace(struct node *_Atomic *place, struct node *from, struct node *to) {
  return atomic_compare_exchange_strong_explicit(place, &from, to, memory_order_acq_rel, memory_order_acquire);
}

static void enqueue(struct node *node) {
  for (;;) {
    struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
    struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
    if (last != atomic_load_explicit(&tail, memory_order_acquire))
      continue;
    if (next) {
      replace(&tail, last, next);
    } else if (replace(&last->next, 0, node)) {
      replace(&tail, last, node);
      return;
    }
  }
}

static bool dequeue(int *value) {
  for (;;) {
    struct node *first = atomic_load_explicit(&head, memory_order_acquire);
    struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
    struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
    if (first != atomic_load_explicit(&head, memory_order_acquire))
      continue;
    if (first == last) {
      if (!next)
        return false;
      replace(&tail, last, next);
    } else {
      *value = next->value;
      if (replace(&head, first, next))
        return true;
    }
  }
}

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++) {
    int value;
    if (me < WRITERS) {
      nodes[me][i].value = me + 1;
      enqueue(&nodes[me][i]);
    }
    if (me >= N - READERS && dequeue(&value))
      assert(value > 0);
  }
}

int main(void) {
  run_threads();
  return 0;
}
