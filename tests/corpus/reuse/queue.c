/* The head of a Michael-Scott queue: dequeue moves `head` to its successor and frees the old dummy node once nobody
   reads nodes. With COUNTED, `head` has a counter. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct node { struct node *next; int value; };
#ifdef COUNTED
#define POINTER(w) ((struct node *)((w) & 0xffffffffffffu))
#define MOVED(w, p) ((((w) >> 48) + 1) << 48 | (uint64_t)(p))
#else
#define POINTER(w) ((struct node *)(w))
#define MOVED(w, p) ((uint64_t)(p))
#endif

static _Atomic uint64_t head;
static struct node *tail;
static atomic_int readers;

static void enqueue(int value) {
  struct node *n = malloc(sizeof *n);
  n->next = 0;
  n->value = value;
  if (tail) tail->next = n;
  tail = n;
}

static int dequeue(int frees) {
  for (;;) {
    atomic_fetch_add(&readers, 1);
    uint64_t old = atomic_load(&head);
    struct node *next = POINTER(old)->next;
    int value = next ? next->value : 0;
    atomic_fetch_sub(&readers, 1);
    if (!next) return 0;
    if (atomic_compare_exchange_strong(&head, &old, MOVED(old, next))) {
      if (frees) {
        while (atomic_load(&readers) != 0);
        free(POINTER(old));
      }
      return value;
    }
  }
}

static int got[4];
static void *consumer(void *arg) { /* the only thread that enqueues, as well */
  got[1] = dequeue(1);
  enqueue(3);
  got[2] = dequeue(1);
  got[3] = dequeue(1);
  return 0;
}

int main(void) {
  pthread_t t;
  enqueue(0);
  atomic_store(&head, (uint64_t)tail);
  enqueue(1);
  enqueue(2);
  pthread_create(&t, 0, consumer, 0);
  got[0] = dequeue(0);
  pthread_join(t, 0);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) assert(!got[i] || got[i] != got[j]);
  return 0;
}
