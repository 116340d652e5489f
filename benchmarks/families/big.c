/* Two threads write to N places, a third one reads them: the places have nothing to do with each other. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif

static atomic_int places[N];

static void *writer(void *value) {
  for (int i = 0; i < N; i++)
    atomic_store_explicit(&places[i], (int)(long)value, memory_order_relaxed);
  return 0;
}

static void *reader(void *unused) {
  (void)unused;
  for (int i = 0; i < N; i++)
    assert(atomic_load_explicit(&places[i], memory_order_relaxed) <= 2);
  return 0;
}

int main(void) {
  pthread_t first, second, third;
  pthread_create(&first, 0, writer, (void *)1L);
  pthread_create(&second, 0, writer, (void *)2L);
  pthread_create(&third, 0, reader, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  pthread_join(third, 0);
  return 0;
}
