/* Every thread tries to enqueue and to dequeue, and goes on if it cannot. */
#include "threads.h"
#include "mpmc.h"

static void worker(int me) {
  int value;
  for (int i = 0; i < OPERATIONS; i++) {
    try_enqueue(me + 1);
    if (try_dequeue(&value))
      assert(value > 0);
  }
}

int main(void) {
  init_queue();
  run_threads();
  return 0;
}
