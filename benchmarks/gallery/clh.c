/* The queue lock of Craig, Landin and Hagersten: a thread waits at the node of the one before it, and takes that node
 * over when it leaves. */
#include "threads.h"

struct node {
  atomic_bool busy;
};

static struct node nodes[N + 1];
static struct node *_Atomic tail = &nodes[N];
static struct node *mine[N], *before[N];

static void acquire(int me) {
  if (!mine[me])
    mine[me] = &nodes[me];
  atomic_store_explicit(&mine[me]->busy, true, memory_order_relaxed);
  before[me] = atomic_exchange_explicit(&tail, mine[me], memory_order_acq_rel);
  while (atomic_load_explicit(&before[me]->busy, memory_order_acquire))
    ;
}

static void release(int me) {
  atomic_store_explicit(&mine[me]->busy, false, memory_order_release);
  mine[me] = before[me];
}

#include "critical_section.h"
