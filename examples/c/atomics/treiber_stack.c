/* Treiber's stack: a linked list whose top is replaced with compare-and-swap.
 *
 * Push releases what it wrote into the node, pop acquires it. -DBROKEN pushes with relaxed order: another thread may get
 * the node before its contents. On x86 that is no bug, because a locked instruction orders everything.
 * -DABA recycles popped nodes at once. Then the top may be the same node as before while the list below it is not the
 * same, and the swap puts back a node that is in use: wrong on every model. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifdef BROKEN
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

struct node {
  int value;
  struct node *_Atomic next;
};

static struct node *_Atomic top;

static void push(struct node *node) {
  struct node *seen = atomic_load_explicit(&top, memory_order_relaxed);
  do
    atomic_store_explicit(&node->next, seen, memory_order_relaxed);
  while (!atomic_compare_exchange_strong_explicit(&top, &seen, node, PUBLISH, memory_order_relaxed));
}

static struct node *pop(void) {
  struct node *seen = atomic_load_explicit(&top, memory_order_acquire);
  while (seen) {
    struct node *below = atomic_load_explicit(&seen->next, memory_order_relaxed);
    if (atomic_compare_exchange_strong_explicit(&top, &seen, below, memory_order_acquire, memory_order_acquire))
      break;
  }
  return seen;
}

#ifdef ABA
/* Owned by whoever popped it: nobody else may have it at the same time. */
static struct node nodes[2];
static atomic_int owners[2];

static struct node *own(struct node *node) {
  if (node)
    assert(atomic_fetch_add_explicit(&owners[node - nodes], 1, memory_order_relaxed) == 0);
  return node;
}

static void disown(struct node *node) {
  if (node)
    atomic_fetch_sub_explicit(&owners[node - nodes], 1, memory_order_relaxed);
}

static void *pops_once(void *unused) {
  (void)unused;
  own(pop());
  return 0;
}

static void *recycles(void *unused) {
  (void)unused;
  struct node *first = own(pop());
  own(pop());
  if (first) {
    disown(first);
    push(first);
  }
  own(pop());
  return 0;
}

int main(void) {
  pthread_t first, second;
  push(&nodes[1]);
  push(&nodes[0]);
  pthread_create(&first, 0, pops_once, 0);
  pthread_create(&second, 0, recycles, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  own(pop());
  return 0;
}
#else
static struct node nodes[2];

static void *pusher(void *argument) {
  struct node *node = argument;
  node->value = 1;
  push(node);
  return 0;
}

static void *popper(void *unused) {
  (void)unused;
  struct node *node = pop();
  if (node)
    assert(node->value == 1);
  return node;
}

int main(void) {
  pthread_t pushers[2], poppers[1];
  void *popped = 0;
  for (int i = 0; i < 2; i++)
    pthread_create(&pushers[i], 0, pusher, &nodes[i]);
  pthread_create(&poppers[0], 0, popper, 0);
  for (int i = 0; i < 2; i++)
    pthread_join(pushers[i], 0);
  pthread_join(poppers[0], &popped);
  int count = popped != 0;
  while (pop())
    count++;
  assert(count == 2);
  return 0;
}
#endif
