// One producer and one consumer hand over an item, for ever. With a second producer it is wrong.
// -DBROKEN: it is called full too early.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int full; int item;
void *producer(void *arg) {
  for (;;) {
    while (atomic_load_explicit(&full, memory_order_acquire)) ;
    item = 5;
#ifndef BROKEN
    atomic_store_explicit(&full, 1, memory_order_release);
#else
    atomic_store_explicit(&full, 1, memory_order_relaxed);
#endif
  }
}
void *consumer(void *arg) {
  for (;;) {
    while (!atomic_load_explicit(&full, memory_order_acquire)) ;
    assert(item == 5);
    item = 0;
    atomic_store_explicit(&full, 0, memory_order_release);
  }
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, producer, 0);
  pthread_create(&t[1], 0, consumer, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
