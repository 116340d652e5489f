// A readers-writer lock with at most two readers inside. -DBROKEN: the writer's release is relaxed.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int lock; int data;
void *reader(void *arg) {
  int l = atomic_load_explicit(&lock, memory_order_relaxed);
  do { while (l < 0 || l >= 2) l = atomic_load_explicit(&lock, memory_order_relaxed); }
  while (!atomic_compare_exchange_weak_explicit(&lock, &l, l + 1, memory_order_acquire, memory_order_relaxed));
  assert(data == 0);
  atomic_fetch_sub_explicit(&lock, 1, memory_order_release);
  return 0;
}
void *writer(void *arg) {
  int zero = 0;
  while (!atomic_compare_exchange_weak_explicit(&lock, &zero, -1, memory_order_acquire, memory_order_relaxed)) zero = 0;
  data = 1; data = 0;
#ifndef BROKEN
  atomic_store_explicit(&lock, 0, memory_order_release);
#else
  atomic_store_explicit(&lock, 0, memory_order_relaxed);
#endif
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, writer, 0);
  pthread_create(&t[1], 0, reader, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
