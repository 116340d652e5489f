/* Treiber's stack with weak compare-exchanges; nodes are not used again. */
struct node {
  int value;
  struct node *next;
};

static struct node *_Atomic top;

static void push(struct node *node) {
  node->next = atomic_load_explicit(&top, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&top, &node->next, node, memory_order_release, memory_order_relaxed))
    ;
}

static struct node *pop(void) {
  struct node *seen = atomic_load_explicit(&top, memory_order_acquire);
  while (seen
         && !atomic_compare_exchange_weak_explicit(&top, &seen, seen->next, memory_order_acquire, memory_order_acquire))
    ;
  return seen;
}
