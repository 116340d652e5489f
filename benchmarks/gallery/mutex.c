/* A counter under a mutex. */
#include "threads.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void acquire(int me) {
  (void)me;
  pthread_mutex_lock(&mutex);
}

static void release(int me) {
  (void)me;
  pthread_mutex_unlock(&mutex);
}

#include "critical_section.h"
