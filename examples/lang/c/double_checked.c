// Double-checked initialisation under a mutex. -DBROKEN: the flag does not keep the value in front of it.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#ifndef BROKEN
#define ORDER memory_order_release
#else
#define ORDER memory_order_relaxed
#endif
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; atomic_int ready; int value;
void *worker(void *arg) {
  if (!atomic_load_explicit(&ready, memory_order_acquire)) {
    pthread_mutex_lock(&m);
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) { value = 3; atomic_store_explicit(&ready, 1, ORDER); }
    pthread_mutex_unlock(&m);
  }
  assert(value == 3);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
