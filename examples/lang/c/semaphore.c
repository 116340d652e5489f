// A semaphore for two. -DBROKEN: the threads believe to be alone.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#ifndef BROKEN
#define LIMIT 2
#else
#define LIMIT 1
#endif
atomic_int permits = 2, inside;
void *worker(void *arg) {
  int p = atomic_load(&permits);
  for (;;) { if (p > 0) { if (atomic_compare_exchange_weak(&permits, &p, p - 1)) break; } else p = atomic_load(&permits); }
  int n = atomic_fetch_add(&inside, 1);
  assert(n < LIMIT);
  atomic_fetch_sub(&inside, 1);
  atomic_fetch_add(&permits, 1);
  return 0;
}
int main(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  return 0;
}
