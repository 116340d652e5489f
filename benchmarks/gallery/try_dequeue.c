/* Thread 0 enqueues, the others dequeue; who cannot tries again. */
#include "threads.h"
#include "mpmc.h"

static void worker(int me) {
  int value;
  for (int i = 0; i < OPERATIONS; i++)
    if (me == 0) {
      for (int j = 1; j < N; j++)
        while (!try_enqueue(i + 1))
          ;
    } else {
      while (!try_dequeue(&value))
        ;
      assert(value > 0);
    }
}

int main(void) {
  init_queue();
  run_threads();
  return 0;
}
