/* READERS of the threads try to dequeue from a bounded queue, the others to enqueue; who cannot goes on. */
#include "../gallery/threads.h"
#include "../gallery/mpmc.h"

#ifndef READERS
#define READERS 1
#endif

static void worker(int me) {
  int value;
  for (int i = 0; i < OPERATIONS; i++)
    if (me >= READERS)
      try_enqueue(me);
    else if (try_dequeue(&value))
      assert(value > 0);
}

int main(void) {
  init_queue();
  run_threads();
  return 0;
}
