/* Anderson's array lock, N threads, ROUNDS rounds each. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int may_enter[N] = {1};
static atomic_int tail, inside;

static void *worker(void *argument) {
  int me = (int)(long)argument;
  for (int round = 0; round < ROUNDS; ++round) {
    int slot = atomic_fetch_add(&tail, 1) % N;
    while (!atomic_load(&may_enter[slot]))
      ;
    atomic_store(&may_enter[slot], 0);
    atomic_store(&inside, me);
    assert(atomic_load(&inside) == me);
    atomic_store(&may_enter[(slot + 1) % N], 1);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (long i = 0; i < N; ++i) pthread_create(&threads[i], 0, worker, (void *)i);
  for (int i = 0; i < N; ++i) pthread_join(threads[i], 0);
  return 0;
}
