/* A queue for one writer and one reader, after Lamport (1983): values come out as they went in.
 *
 * Each index is written by one thread. Under pso the index must not overtake the value that it announces. */
#include <assert.h>
#include <pthread.h>
#include "fence.h"

#define SLOTS 3
#define VALUES 4

static shared slot[SLOTS], head, tail;

static void *reader(void *argument) {
  for (int expected = 1;; expected = expected % VALUES + 1) {
    int h = head;
    while (h == tail)
      ;
    assert(slot[h] == expected);
    fence();
    head = (h + 1) % SLOTS;
  }
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, reader, 0);
  for (int value = 1; again(); value = value % VALUES + 1) {
    int t = tail;
    while ((t + 1) % SLOTS == head)
      ;
    slot[t] = value;
    fence();
    tail = (t + 1) % SLOTS;
  }
}
