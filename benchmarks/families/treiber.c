/* READERS of the threads pop from Treiber's stack, the others push. */
#include "../gallery/threads.h"
#include "../gallery/treiber.h"

#ifndef READERS
#define READERS 1
#endif

static struct node nodes[N][OPERATIONS];

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++)
    if (me >= READERS) {
      nodes[me][i].value = 1;
      push(&nodes[me][i]);
    } else {
      struct node *node = pop();
      assert(!node || node->value == 1);
    }
}

int main(void) {
  run_threads();
  return 0;
}
