/* Three counters, each shared by two of three threads: hardly two states have the same memory. */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int counters[3];

static void *worker(void *argument) {
  int me = (int)(long)argument;
  for (int i = 0; i < ROUNDS; ++i) {
    atomic_fetch_add(&counters[me], 1);
    atomic_fetch_add(&counters[(me + 1) % 3], 2);
  }
  return 0;
}

int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  return 0;
}
