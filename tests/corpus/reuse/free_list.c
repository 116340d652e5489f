/* Blocks of one size, with a list of free ones in front of malloc. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct block { struct block *next; atomic_int owner; };
static _Atomic(struct block *) list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block *take(void) {
  pthread_mutex_lock(&lock);
  struct block *b = atomic_load(&list);
  if (b) atomic_store(&list, b->next);
  pthread_mutex_unlock(&lock);
  return b ? b : malloc(sizeof(struct block));
}

static void give(struct block *b) {
  pthread_mutex_lock(&lock);
  if (atomic_load(&list)) {
    pthread_mutex_unlock(&lock);
    free(b);
    return;
  }
  b->next = 0;
  atomic_store(&list, b);
  pthread_mutex_unlock(&lock);
}

static void use(int me) {
  struct block *b = take();
  atomic_store(&b->owner, me);
  assert(atomic_load(&b->owner) == me);
  give(b);
}

static void *other(void *arg) { use(2); return 0; }

int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  use(1);
  pthread_join(t, 0);
  return 0;
}
