/* Every thread pushes and pops. */
#include "threads.h"
#include "treiber.h"

static struct node nodes[N][OPERATIONS];

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++) {
    nodes[me][i].value = 1;
    push(&nodes[me][i]);
    assert(pop()->value == 1);
  }
}

int main(void) {
  run_threads();
  assert(!atomic_load(&top));
  return 0;
}
