/* Each thread enters a critical section OPERATIONS times and adds INCREMENTS ones to a plain counter there. */
#ifndef INCREMENTS
#define INCREMENTS 1
#endif

static int counter;

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++) {
    acquire(me);
    for (int j = 0; j < INCREMENTS; j++)
      counter++;
    release(me);
  }
}

int main(void) {
  run_threads();
  assert(counter == N * OPERATIONS * INCREMENTS);
  return 0;
}
