// A sequence lock whose counter has two bits. With several writers it can come round while a reader reads.
// -DBROKEN: nothing keeps the writes in order.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int seq, a, b;
void *writer(void *arg) {
  int s = atomic_load_explicit(&seq, memory_order_relaxed);
  if (s & 1 || !atomic_compare_exchange_strong(&seq, &s, (s + 1) & 3)) return 0;
#ifndef BROKEN
  atomic_thread_fence(memory_order_release);
#endif
  int v = atomic_load_explicit(&a, memory_order_relaxed) ^ 1;
  atomic_store_explicit(&a, v, memory_order_relaxed);
  atomic_store_explicit(&b, v, memory_order_relaxed);
#ifndef BROKEN
  atomic_store_explicit(&seq, (s + 2) & 3, memory_order_release);
#else
  atomic_store_explicit(&seq, (s + 2) & 3, memory_order_relaxed);
#endif
  return 0;
}
void *reader(void *arg) {
  int s = atomic_load_explicit(&seq, memory_order_acquire);
  if (s & 1) return 0;
  int x = atomic_load_explicit(&a, memory_order_relaxed), y = atomic_load_explicit(&b, memory_order_relaxed);
  atomic_thread_fence(memory_order_acquire);
  if (atomic_load_explicit(&seq, memory_order_relaxed) == s) assert(x == y);
  return 0;
}
int main(void) {
  pthread_t t[2];
  pthread_create(&t[0], 0, writer, 0);
  pthread_create(&t[1], 0, reader, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
