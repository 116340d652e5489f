/* A stack in an array under one lock: one thread pushes SIZE times, the other tries to pop SIZE times.
 *
 * There is no data race, so no memory model makes a difference. -DUNSAFE pops once anything was ever pushed, instead of
 * looking whether something is there now, and runs below the bottom. */
#include <assert.h>
#include <pthread.h>

#ifndef SIZE
#define SIZE 4
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int elements[SIZE];
static int height;
static int was_pushed;

static void push(int element) {
  assert(height < SIZE);
  elements[height++] = element;
  was_pushed = 1;
}

static int pop(void) {
  assert(height > 0);
  return elements[--height];
}

static int may_pop(void) {
#ifdef UNSAFE
  return was_pushed;
#else
  return height > 0;
#endif
}

static void *producer(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    pthread_mutex_lock(&lock);
    push(i);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

static void *consumer(void *unused) {
  (void)unused;
  for (int i = 0; i < SIZE; i++) {
    pthread_mutex_lock(&lock);
    if (may_pop())
      pop();
    pthread_mutex_unlock(&lock);
  }
  return 0;
}

int main(void) {
  pthread_t first, second;
  pthread_create(&first, 0, producer, 0);
  pthread_create(&second, 0, consumer, 0);
  pthread_join(first, 0);
  pthread_join(second, 0);
  return 0;
}
