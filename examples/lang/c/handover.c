// One producer and one consumer hand over items, as many as they like. With a second producer it is wrong.
// -DBROKEN: it is called full too early.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
extern _Bool __VERIFIER_nondet_bool(void);
atomic_int full; int item;
void *producer(void *arg) {
  while (__VERIFIER_nondet_bool()) {
    while (atomic_load_explicit(&full, memory_order_acquire)) ;
    item = 5;
#ifndef BROKEN
    atomic_store_explicit(&full, 1, memory_order_release);
#else
    atomic_store_explicit(&full, 1, memory_order_relaxed);
#endif
  }
  return 0;
}
void *consumer(void *arg) {
  while (__VERIFIER_nondet_bool()) {
    while (!atomic_load_explicit(&full, memory_order_acquire)) ;
    assert(item == 5);
    item = 0;
    atomic_store_explicit(&full, 0, memory_order_release);
  }
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, producer, 0);
  pthread_create(&t[1], 0, consumer, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
