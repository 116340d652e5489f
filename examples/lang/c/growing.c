// A loop that writes in every round and is left when another thread says so: the writes that have yet to take effect
// have no bound.
#include <pthread.h>
#include <stdatomic.h>
atomic_int x = 1, y;
void *worker(void *a) {
  while (atomic_load_explicit(&x, memory_order_relaxed)) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
  }
  return 0;
}
void *stopper(void *a) {
  atomic_store_explicit(&x, 0, memory_order_relaxed);
  return 0;
}
int main(void) {
  pthread_t t, u;
  pthread_create(&t, 0, worker, 0);
  pthread_create(&u, 0, stopper, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  return 0;
}
