// Two threads that know who they are wait for one another.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int arrived, phase, slot[2]; 
void *worker(void *arg) {
  int me = (int)(long)arg;
  atomic_store_explicit(&slot[me], 1, memory_order_relaxed);
  if (atomic_fetch_add(&arrived, 1) == 1) atomic_store(&phase, 1);
  else while (!atomic_load(&phase)) ;
  assert(atomic_load_explicit(&slot[1 - me], memory_order_relaxed) == 1);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
