/* The deque of Chase and Lev (2005): its owner puts and takes at one end, a thief takes at the other. No task is
 * taken twice.
 *
 * When the owner takes, its store to bottom must be seen before it reads top: without the fence that fails under tso. Under pso the
 * task must be there before bottom says so. Runs with more than a few tasks are not followed, since indices only grow. */
#include <assert.h>
#include <pthread.h>
#include "fence.h"

extern void __VERIFIER_assume(int);
#define TASKS 3
#define NOTHING (-1)

static shared bottom, task[TASKS], taken[TASKS];
static atomic_int top;

static void put(int number) {
  int b = bottom;
  __VERIFIER_assume(b < TASKS);
  task[b] = number;
  fence();
  bottom = b + 1;
}

static int take(void) {
  int b = bottom - 1;
  bottom = b;
  fence();
  int t = atomic_load_explicit(&top, memory_order_relaxed);
  if (t > b) {
    bottom = t;
    return NOTHING;
  }
  int number = task[b];
  if (t < b)
    return number;
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_relaxed, memory_order_relaxed))
    number = NOTHING;
  bottom = b + 1;
  return number;
}

static int steal(void) {
  int t = atomic_load_explicit(&top, memory_order_relaxed);
  fence();
  int b = bottom;
  if (t >= b)
    return NOTHING;
  int number = task[t];
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_relaxed, memory_order_relaxed))
    return NOTHING;
  return number;
}

static void use(int number, int me) {
  if (number == NOTHING)
    return;
  assert(number > 0 && taken[number - 1] == 0);
  taken[number - 1] = me;
  assert(taken[number - 1] == me);
}

static void *thief(void *argument) {
  while (again())
    use(steal(), 2);
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, thief, 0);
  for (int number = 1; again(); number++) {
    __VERIFIER_assume(number <= TASKS);
    put(number);
    if (number > 1)
      use(take(), 1);
  }
}
