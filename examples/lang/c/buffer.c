// A buffer for one item, with any number of producers and consumers. -DBROKEN: it is called full too early.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
enum { EMPTY, FILLING, FULL, TAKING };
atomic_int state; int item;
void *producer(void *arg) {
  for (int i = 0; i < 2; i++) {
    int e = EMPTY;
    while (!atomic_compare_exchange_weak(&state, &e, FILLING)) e = EMPTY;
    item = 7;
#ifndef BROKEN
    atomic_store_explicit(&state, FULL, memory_order_release);
#else
    atomic_store_explicit(&state, FULL, memory_order_relaxed);
#endif
  }
  return 0;
}
void *consumer(void *arg) {
  int f = FULL;
  while (!atomic_compare_exchange_weak(&state, &f, TAKING)) f = FULL;
  assert(item == 7);
  item = 0;
  atomic_store_explicit(&state, EMPTY, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, producer, 0);
  pthread_create(&t[1], 0, consumer, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
