/* Dekker's idiom without fences, and N writes to one place in each critical section. */
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif

static atomic_int wants[2], place;

static void *worker(void *argument) {
  int me = (int)(long)argument;
  atomic_store_explicit(&wants[me], 1, memory_order_relaxed);
  if (atomic_load_explicit(&wants[1 - me], memory_order_relaxed))
    return 0;
  for (int i = 0; i < N; i++)
    atomic_store_explicit(&place, 1, memory_order_relaxed);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, worker, (void *)0L);
  pthread_create(&second, 0, worker, (void *)1L);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
