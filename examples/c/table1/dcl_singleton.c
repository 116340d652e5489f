/* Double-checked locking: the lock is taken only while there is no object yet.
 *
 * The fast path reads the pointer without the lock. If the pointer may be seen before what it points to, a thread gets
 * an object that is not ready. The reader needs no fence on these models: it uses the pointer to find the value. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "fences.h"

#ifndef READERS
#define READERS 2
#endif

struct singleton {
  int value;
};

static struct singleton *volatile instance;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct singleton *get(void) {
  struct singleton *found = instance;
  if (found)
    return found;
  pthread_mutex_lock(&lock);
  found = instance;
  if (!found) {
    found = calloc(1, sizeof *found);
    found->value = 42;
    light_fence();
    instance = found;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void *reader(void *unused) {
  (void)unused;
  assert(get()->value == 42);
  return 0;
}

int main(void) {
  pthread_t readers[READERS];
  for (int i = 0; i < READERS; i++)
    pthread_create(&readers[i], 0, reader, 0);
  for (int i = 0; i < READERS; i++)
    pthread_join(readers[i], 0);
  free(instance);
  return 0;
}
