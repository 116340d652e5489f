// Initialisation by whoever comes first. -DBROKEN: the value is not kept in front of its announcement.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int state; int value;
void *worker(void *arg) {
  if (atomic_load_explicit(&state, memory_order_acquire) != 2) {
    int zero = 0;
    if (atomic_compare_exchange_strong(&state, &zero, 1)) {
      value = 42;
#ifndef BROKEN
      atomic_store_explicit(&state, 2, memory_order_release);
#else
      atomic_store_explicit(&state, 2, memory_order_relaxed);
#endif
    } else while (atomic_load_explicit(&state, memory_order_acquire) != 2) ;
  }
  assert(value == 42);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
