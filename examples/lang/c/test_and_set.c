// A spin lock with atomic_flag. -DBROKEN: the release does not keep the data in front of it.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#ifndef BROKEN
#define ORDER memory_order_release
#else
#define ORDER memory_order_relaxed
#endif
atomic_flag lock = ATOMIC_FLAG_INIT;
int data;
void *worker(void *a) {
  while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) ;
  data++;
  assert(data == 1);
  data--;
  atomic_flag_clear_explicit(&lock, ORDER);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
