/* Lamport's bakery, N threads, ROUNDS rounds each. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int choosing[N], number[N], inside;

static void *worker(void *argument) {
  int me = (int)(long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    int most = 0;
    atomic_store(&choosing[me], 1);
    for (int k = 0; k < N; ++k) {
      int other = atomic_load(&number[k]);
      if (other > most) most = other;
    }
    atomic_store(&number[me], most + 1);
    atomic_store(&choosing[me], 0);
    for (int k = 0; k < N; ++k) {
      if (k == me) continue;
      while (atomic_load(&choosing[k]))
        ;
      while (1) {
        int other = atomic_load(&number[k]);
        if (other == 0 || other > most + 1 || (other == most + 1 && k > me)) break;
      }
    }
    atomic_store(&inside, me);
    assert(atomic_load(&inside) == me);
    atomic_store(&number[me], 0);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; ++i) pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < N; ++i) pthread_join(threads[i], 0);
  return 0;
}
