/* A hash set with open addressing: two threads add keys repeatedly, each with a note, and look at what is there.
 *
 * A slot is reserved by compare-and-swap, filled, and then marked full: under pso the mark must not overtake the contents.
 * -DBROKEN reserves with a load and a store, so that two threads may both add a key. */
#include <assert.h>
#include <pthread.h>
#include "fence.h"

#define SLOTS 2
enum { FREE, RESERVED, FULL };

static atomic_int state[SLOTS];
static shared key[SLOTS], note[SLOTS], added[SLOTS];

static int reserve(int slot) {
  int found = FREE;
#ifdef BROKEN
  found = atomic_load_explicit(&state[slot], memory_order_relaxed);
  if (found == FREE)
    atomic_store_explicit(&state[slot], RESERVED, memory_order_relaxed);
  return found == FREE;
#else
  return atomic_compare_exchange_strong_explicit(&state[slot], &found, RESERVED, memory_order_relaxed, memory_order_relaxed);
#endif
}

/* Whether the key was not there before. */
static int add(int wanted) {
  for (int slot = wanted % SLOTS;; slot = (slot + 1) % SLOTS) {
    if (reserve(slot)) {
      key[slot] = wanted;
      note[slot] = 10 * wanted;
      fence();
      atomic_store_explicit(&state[slot], FULL, memory_order_relaxed);
      return 1;
    }
    while (atomic_load_explicit(&state[slot], memory_order_relaxed) == RESERVED)
      ;
    if (key[slot] == wanted) {
      assert(note[slot] == 10 * wanted);
      return 0;
    }
  }
}

static void *run(void *argument) {
  while (again()) {
    int wanted = 1 + __VERIFIER_nondet_bool();
    if (add(wanted)) {
      assert(!added[wanted - 1]);
      added[wanted - 1] = 1;
    }
  }
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, 0);
  run(0);
}
