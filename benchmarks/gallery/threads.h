/* N threads, each of which runs `worker` with its number. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifndef N
#define N 2
#endif
#ifndef OPERATIONS
#define OPERATIONS 1
#endif

static void worker(int me);

static void *start(void *argument) {
  worker((int)(long)argument);
  return 0;
}

static void run_threads(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; i++)
    pthread_create(&threads[i], 0, start, (void *)i);
  for (int i = 0; i < N; i++)
    pthread_join(threads[i], 0);
}
