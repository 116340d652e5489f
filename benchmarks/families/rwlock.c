/* A lock for readers and writers in one word, as Linux had it: readers subtract one from it, writers all of it, and who
 * finds too little gives back and waits. Threads with even numbers write. */
#include "../gallery/threads.h"

#define ALL 0x100000

static atomic_int lock = ALL;
static int data;

static void read_lock(void) {
  while (atomic_fetch_sub_explicit(&lock, 1, memory_order_acquire) <= 0) {
    atomic_fetch_add_explicit(&lock, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock, memory_order_relaxed) <= 0)
      ;
  }
}

static void write_lock(void) {
  while (atomic_fetch_sub_explicit(&lock, ALL, memory_order_acquire) != ALL) {
    atomic_fetch_add_explicit(&lock, ALL, memory_order_relaxed);
    while (atomic_load_explicit(&lock, memory_order_relaxed) != ALL)
      ;
  }
}

static void read_unlock(void) { atomic_fetch_add_explicit(&lock, 1, memory_order_release); }
static void write_unlock(void) { atomic_fetch_add_explicit(&lock, ALL, memory_order_release); }

static void worker(int me) {
  for (int i = 0; i < OPERATIONS; i++)
    if (me % 2) {
      read_lock();
      assert(data <= (N + 1) / 2 * OPERATIONS);
      read_unlock();
    } else {
      write_lock();
      data++;
      write_unlock();
    }
}

int main(void) {
  run_threads();
  assert(data == (N + 1) / 2 * OPERATIONS);
  return 0;
}
