/* Peterson's algorithm for N threads, for ever. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int level[N], last[N], inside;

#ifdef FENCED
#define ORDER memory_order_relaxed
#define FENCE() atomic_thread_fence(memory_order_seq_cst)
#else
#define ORDER memory_order_seq_cst
#define FENCE() ((void)0)
#endif

static void *worker(void *argument) {
  int me = (int)(long)argument;
  while (1) {
    for (int l = 1; l < N; ++l) {
      atomic_store_explicit(&level[me], l, ORDER);
      atomic_store_explicit(&last[l], me, ORDER);
      FENCE();
      for (int k = 0; k < N; ++k)
        if (k != me)
          while (atomic_load_explicit(&level[k], ORDER) >= l && atomic_load_explicit(&last[l], ORDER) == me)
            ;
    }
    atomic_store_explicit(&inside, me, ORDER);
    assert(atomic_load_explicit(&inside, ORDER) == me);
    atomic_store_explicit(&level[me], 0, ORDER);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; ++i) pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < N; ++i) pthread_join(threads[i], 0);
  return 0;
}
