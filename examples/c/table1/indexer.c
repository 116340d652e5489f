/* Threads put messages into one hash table, each slot with a lock of its own.
 *
 * Up to STRIDE threads never meet in a slot, and there is one execution; each thread more meets another one in three
 * slots and multiplies the executions by 8. The program is the classic for partial-order reduction (Flanagan and
 * Godefroid). -DUNLOCKED takes the locks away: then two threads may both find a slot free, on every model. */
#include <assert.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 12
#endif
#ifndef STRIDE
#define STRIDE 11
#endif
#ifndef SLOTS
#define SLOTS 128
#endif
#define MESSAGES 4

static int table[SLOTS];
static pthread_mutex_t locks[SLOTS];

static int put_if_free(int slot, int message) {
#ifndef UNLOCKED
  pthread_mutex_lock(&locks[slot]);
#endif
  int won = table[slot] == 0;
  if (won)
    table[slot] = message;
#ifndef UNLOCKED
  pthread_mutex_unlock(&locks[slot]);
#endif
  return won;
}

static void *worker(void *argument) {
  int me = (int)(long)argument;
  for (int i = 1; i <= MESSAGES; i++) {
    int message = i * STRIDE + me;
    int slot = message * 7 % SLOTS;
    while (!put_if_free(slot, message))
      slot = (slot + 1) % SLOTS;
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < SLOTS; i++)
    pthread_mutex_init(&locks[i], 0);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], 0, worker, (void *)(long)i);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  int used = 0;
  for (int i = 0; i < SLOTS; i++)
    used += table[i] != 0;
  assert(used == THREADS * MESSAGES);
  return 0;
}
