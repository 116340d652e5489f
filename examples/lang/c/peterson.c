// Peterson's lock for two threads that know who they are, so they are no class. -DBROKEN: without its fence.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int flag[2], turn; int data;
static void lock(int me) {
  atomic_store_explicit(&flag[me], 1, memory_order_relaxed);
  atomic_store_explicit(&turn, 1 - me, memory_order_release);
#ifndef BROKEN
  atomic_thread_fence(memory_order_seq_cst);
#endif
  while (atomic_load_explicit(&flag[1 - me], memory_order_acquire) && atomic_load_explicit(&turn, memory_order_acquire) == 1 - me) ;
}
void *worker(void *a) {
  int me = (int)(long)a;
  lock(me);
  data++; assert(data == 1); data--;
  atomic_store_explicit(&flag[me], 0, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
