// A spin lock that looks before it tries, taken twice by each thread. -DBROKEN: the release is relaxed.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int lock;
int data;
static void acquire(void) {
  for (;;) {
    while (atomic_load_explicit(&lock, memory_order_relaxed)) ;
    if (!atomic_exchange_explicit(&lock, 1, memory_order_acquire)) return;
  }
}
static void release(void) { atomic_store_explicit(&lock, 0, memory_order_release); }
void *worker(void *a) {
  for (int round = 0; round < 2; round++) {
    acquire();
    int seen = data; data = seen + 1;
    assert(data == 1);
    data = 0;
#ifndef BROKEN
    release();
#else
    atomic_store_explicit(&lock, 0, memory_order_relaxed);
#endif
  }
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
