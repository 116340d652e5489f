/* The queue of Michael and Scott: a linked list with a dummy node in front, head and tail moved by compare-and-swap.
 *
 * A node is linked behind the last one first, and the tail moved after that, by whoever finds it lagging. What a thread
 * wrote into a node is released with the link. -DBROKEN links with relaxed order. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define LINK memory_order_relaxed
#else
#define LINK memory_order_release
#endif

struct node {
  int value;
  struct node *_Atomic next;
};

static struct node dummy, nodes[2];
static struct node *_Atomic head = &dummy;
static struct node *_Atomic tail = &dummy;

static _Bool swap(struct node *_Atomic *place, struct node *from, struct node *to, memory_order order) {
  return atomic_compare_exchange_strong_explicit(place, &from, to, order, memory_order_relaxed);
}

static void enqueue(struct node *node) {
  for (;;) {
    struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
    struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
    if (next) {
      swap(&tail, last, next, memory_order_release);
    } else if (swap(&last->next, 0, node, LINK)) {
      swap(&tail, last, node, memory_order_release);
      return;
    }
  }
}

/* The value, or 0 if there is none. */
static int dequeue(void) {
  for (;;) {
    struct node *first = atomic_load_explicit(&head, memory_order_acquire);
    struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
    struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
    if (!next)
      return 0;
    if (first == last) {
      swap(&tail, last, next, memory_order_release);
      continue;
    }
    int value = next->value;
    if (swap(&head, first, next, memory_order_release))
      return value;
  }
}

static void *producer(void *argument) {
  int i = (int)(long)argument;
  nodes[i].value = i + 1;
  enqueue(&nodes[i]);
  return 0;
}

static void *consumer(void *got) {
  *(int *)got = dequeue();
  return 0;
}

int main(void) {
  pthread_t first, second, third;
  int got = 0;
  pthread_create(&first, 0, producer, (void *)0L);
  pthread_create(&second, 0, producer, (void *)1L);
  pthread_create(&third, 0, consumer, &got);
  pthread_join(first, 0);
  pthread_join(second, 0);
  pthread_join(third, 0);
  int next = dequeue(), last = dequeue();
  assert(got + next + last == 3); /* 1 and 2, each once */
  assert(dequeue() == 0);
  return 0;
}
