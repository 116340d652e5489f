/* A thread remembers an address only, and takes what it finds later at the same address for the same object. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef ALLOCATE
#define ALLOCATE malloc
#endif

struct item { int key; };
static _Atomic(struct item *) current;

static void *replace(void *arg) {
  struct item *old = atomic_exchange(&current, 0);
  free(old);
  struct item *fresh = ALLOCATE(sizeof *fresh);
  fresh->key = 2;
  atomic_store(&current, fresh);
  return 0;
}

int main(void) {
  pthread_t t;
  struct item *first = malloc(sizeof *first);
  first->key = 1;
  atomic_store(&current, first);
  pthread_create(&t, 0, replace, 0);
  pthread_join(t, 0);
  struct item *now = atomic_load(&current);
  if (now == first) assert(now->key == 1); /* "nothing has changed" */
  free(now);
  return 0;
}
