/* Threads put messages into a hash table by compare-exchange (after Flanagan and Godefroid): up to eleven never meet in
 * a slot, and each one more meets another in three slots. */
#include "../gallery/threads.h"

#define SLOTS 128
#define STRIDE 11
#define MESSAGES 4

static atomic_int table[SLOTS];

static bool put_if_free(int slot, int message) {
  int nothing = 0;
  return atomic_compare_exchange_strong_explicit(&table[slot], &nothing, message, memory_order_relaxed,
                                                 memory_order_relaxed);
}

static void worker(int me) {
  for (int i = 1; i <= MESSAGES; i++) {
    int message = i * STRIDE + me;
    int slot = message * 7 % SLOTS;
    while (!put_if_free(slot, message))
      slot = (slot + 1) % SLOTS;
  }
}

int main(void) {
  run_threads();
  return 0;
}
