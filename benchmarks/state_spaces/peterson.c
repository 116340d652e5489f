/* Peterson's algorithm, round after round. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int wants[2], turn;
static int inside;

static void *worker(void *argument) {
  int me = (int)(long)argument;
  for (int i = 0; i < ROUNDS; ++i) {
    atomic_store(&wants[me], 1);
    atomic_store(&turn, 1 - me);
    while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me)
      ;
    inside = me;
    assert(inside == me);
    atomic_store_explicit(&wants[me], 0, memory_order_release);
  }
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
