/* A spin lock around data that is 0 whenever nobody is inside, for `dekker modular --class worker=many`.
 *
 * -DBROKEN releases with relaxed order: under PSO the lock is free before the data is 0 again. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifdef BROKEN
#define RELEASE memory_order_relaxed
#else
#define RELEASE memory_order_release
#endif

static atomic_int lock;
static int data;

static void *worker(void *unused) {
  int held;
  (void)unused;
  do
    held = 0;
  while (!atomic_compare_exchange_strong(&lock, &held, 1));
  assert(data == 0);
  data = 1;
  data = 0;
  atomic_store_explicit(&lock, 0, RELEASE);
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, worker, 0);
  pthread_create(&second, 0, worker, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
