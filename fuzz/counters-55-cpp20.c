#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
atomic_int x, y, c, d, v, w;
int p, q;
struct statistics { atomic_int hits; atomic_int last; } *s;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t k = PTHREAD_COND_INITIALIZER;
static void *f0(void *argument) {
  int r0 = 0;
  r0 = atomic_load_explicit(&y, memory_order_relaxed);
  int r1 = 0;
  q = 1;
  return 0;
}
static void *f1(void *argument) {
  int r0 = 0;
  atomic_store_explicit(&w, 3, memory_order_relaxed);
  int r1 = 0;
  if (r0 == 1) { r1 = atomic_fetch_add_explicit(&c, 1, memory_order_release); }
  assert(!(r0 == 1 && r1 == 1));
  return 0;
}
static void *f2(void *argument) {
  int r0 = 0;
  r0 = atomic_load_explicit(&x, memory_order_relaxed);
  int r1 = 0;
  atomic_store_explicit(&w, 1, memory_order_release);
  return 0;
}
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, f0, 0);
  pthread_create(&t[1], 0, f1, 0);
  pthread_create(&t[2], 0, f2, 0);
  pthread_join(t[2], 0);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  atomic_fetch_add(&w, 1); assert(w != 2);
}
