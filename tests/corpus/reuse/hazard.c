/* A reader announces what it reads; who takes an item out frees it only if it is not announced. WRONG does not look
   again after the announcement, and uses memory after it was freed. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct item { int value; };
static _Atomic(struct item *) shared, hazard;

static void *reader(void *arg) {
  struct item *seen = atomic_load(&shared);
  atomic_store(&hazard, seen);
#ifndef WRONG
  if (atomic_load(&shared) != seen) return 0;
#endif
  if (seen) assert(seen->value == 7);
  atomic_store(&hazard, 0);
  return 0;
}

static struct item *make(void) {
  struct item *fresh = malloc(sizeof *fresh);
  fresh->value = 7;
  return fresh;
}

int main(void) {
  pthread_t t;
  atomic_store(&shared, make());
  pthread_create(&t, 0, reader, 0);
  struct item *old = atomic_exchange(&shared, 0);
  if (atomic_load(&hazard) != old) {
    free(old);
    atomic_store(&shared, make());
  }
  pthread_join(t, 0);
  return 0;
}
