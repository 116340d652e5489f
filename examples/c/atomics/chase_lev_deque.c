/* The work-stealing deque of Chase and Lev, with the C11 orders of Lê, Pop, Cohen and Zappa Nardelli.
 *
 * The owner pushes and takes at the bottom, thieves steal at the top. For the last element both must see each other:
 * the owner announces its take and then looks at the top, the thief the other way round. This is Dekker's idiom, and it
 * needs sequentially consistent fences. -DBROKEN leaves out the owner's: already on x86 an element is taken twice. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define CAPACITY 4
#define EMPTY 0

static atomic_int top, bottom;
static atomic_int elements[CAPACITY];

static void push(int element) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed);
  int t = atomic_load_explicit(&top, memory_order_acquire);
  assert(b - t < CAPACITY);
  atomic_store_explicit(&elements[b % CAPACITY], element, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
}

static int take(void) {
  int b = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
  atomic_store_explicit(&bottom, b, memory_order_relaxed);
#ifndef BROKEN
  atomic_thread_fence(memory_order_seq_cst);
#endif
  int t = atomic_load_explicit(&top, memory_order_relaxed);
  if (t > b) {
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
    return EMPTY;
  }
  int element = atomic_load_explicit(&elements[b % CAPACITY], memory_order_relaxed);
  if (t == b) {
    if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
      element = EMPTY;
    atomic_store_explicit(&bottom, b + 1, memory_order_relaxed);
  }
  return element;
}

static int steal(void) {
  int t = atomic_load_explicit(&top, memory_order_acquire);
  atomic_thread_fence(memory_order_seq_cst);
  int b = atomic_load_explicit(&bottom, memory_order_acquire);
  if (t >= b)
    return EMPTY;
  int element = atomic_load_explicit(&elements[t % CAPACITY], memory_order_relaxed);
  if (!atomic_compare_exchange_strong_explicit(&top, &t, t + 1, memory_order_seq_cst, memory_order_relaxed))
    return EMPTY;
  return element;
}

static atomic_int got[CAPACITY];

static void count(int element) { atomic_fetch_add_explicit(&got[element], 1, memory_order_relaxed); }

static void *thief(void *unused) {
  (void)unused;
  count(steal());
  count(steal());
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, thief, 0);
  push(1);
  push(2);
  count(take());
  count(take());
  pthread_join(thread, 0);
  for (int element = 1; element <= 2; element++)
    assert(got[element] <= 1);
  return 0;
}
