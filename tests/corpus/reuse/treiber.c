/* A Treiber stack. Nodes are freed only while nobody reads one (`readers`), so nothing is used after it was freed; but
   the compare-exchange of a pop may come after that, and takes a new node at the same address for the old one. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

struct node { struct node *next; };
#ifdef COUNTED
typedef uint64_t word;              /* the upper 16 bits count */
#define POINTER(w) ((struct node *)((w) & 0xffffffffffffu))
#define NEXT(w, p) ((((w) >> 48) + 1) << 48 | (uint64_t)(p))
#else
typedef uint64_t word;
#define POINTER(w) ((struct node *)(w))
#define NEXT(w, p) ((uint64_t)(p))
#endif

static _Atomic word top;
static atomic_int readers;
static int pops[2];

static void push(struct node *n) {
  word old = atomic_load(&top);
  do n->next = POINTER(old); while (!atomic_compare_exchange_strong(&top, &old, NEXT(old, n)));
}

static struct node *pop(void) {
  for (;;) {
    atomic_fetch_add(&readers, 1);
    word old = atomic_load(&top);
    struct node *n = POINTER(old);
    struct node *next = n ? n->next : 0;
    atomic_fetch_sub(&readers, 1);
    if (!n || atomic_compare_exchange_strong(&top, &old, NEXT(old, next))) return n;
  }
}

static void retire(struct node *n) {
  while (atomic_load(&readers) != 0);
  free(n);
}

static struct node *first, *second;
static void *other(void *arg) {
  struct node *a = pop(), *b = pop();
  if (!a || !b) return 0;
  retire(a);
  push(malloc(sizeof(struct node)));
  return b;
}

int main(void) {
  pthread_t t;
  void *held;
  push(malloc(sizeof(struct node)));
  push(malloc(sizeof(struct node)));
  pthread_create(&t, 0, other, 0);
  struct node *mine = pop();
  pthread_join(t, &held);
  /* what the other thread has taken is not on the stack */
  if (held) assert(POINTER(atomic_load(&top)) != held);
  return 0;
}
