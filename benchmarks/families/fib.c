/* Two threads add each other's variable to their own OPERATIONS times, while main looks. */
#include "../gallery/threads.h"

static atomic_int a = 1, b = 1;

static void add(atomic_int *to, atomic_int *from) {
  for (int i = 0; i < OPERATIONS; i++) {
    int sum = atomic_load_explicit(to, memory_order_acquire) + atomic_load_explicit(from, memory_order_acquire);
    atomic_store_explicit(to, sum, memory_order_release);
  }
}

static void worker(int me) {
  if (me == 0)
    add(&a, &b);
  else
    add(&b, &a);
}

static int largest(void) {
  int last = 1, sum = 1;
  for (int i = 0; i < 2 * OPERATIONS; i++) {
    int next = last + sum;
    last = sum;
    sum = next;
  }
  return sum;
}

int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; i++)
    pthread_create(&threads[i], 0, start, (void *)i);
  assert(atomic_load_explicit(&a, memory_order_acquire) <= largest());
  assert(atomic_load_explicit(&b, memory_order_acquire) <= largest());
  return 0;
}
