/* The queue lock of Mellor-Crummey and Scott: a thread waits at its own node. */
#include "threads.h"

struct node {
  struct node *_Atomic next;
  atomic_bool waits;
};

static struct node nodes[N];
static struct node *_Atomic tail;

static void acquire(int me) {
  struct node *mine = &nodes[me];
  atomic_store_explicit(&mine->next, 0, memory_order_relaxed);
  atomic_store_explicit(&mine->waits, true, memory_order_relaxed);
  struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
  if (!before)
    return;
  atomic_store_explicit(&before->next, mine, memory_order_release);
  while (atomic_load_explicit(&mine->waits, memory_order_acquire))
    ;
}

static void release(int me) {
  struct node *mine = &nodes[me], *expected = mine;
  struct node *next = atomic_load_explicit(&mine->next, memory_order_acquire);
  if (!next) {
    if (atomic_compare_exchange_strong_explicit(&tail, &expected, 0, memory_order_release, memory_order_relaxed))
      return;
    while (!(next = atomic_load_explicit(&mine->next, memory_order_acquire)))
      ;
  }
  atomic_store_explicit(&next->waits, false, memory_order_release);
}

#include "critical_section.h"
