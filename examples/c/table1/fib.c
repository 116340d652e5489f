/* Two threads add each other's variable to their own, ROUNDS times. How large can the numbers get?
 *
 * If the threads take turns perfectly, the variables run through the Fibonacci numbers, and nothing makes them larger:
 * the bound is exact on every model. -DTOO_LOW claims that it is never reached. -DJOIN looks at the end only, otherwise
 * main looks while the threads run. No fences: the program does not depend on order, but it has many executions. */
#include <assert.h>
#include <pthread.h>

#ifndef ROUNDS
#define ROUNDS 3
#endif

static volatile int a = 1, b = 1;

static void *add_b_to_a(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++)
    a += b;
  return 0;
}

static void *add_a_to_b(void *unused) {
  (void)unused;
  for (int i = 0; i < ROUNDS; i++)
    b += a;
  return 0;
}

static int fibonacci(int n) {
  int current = 1, next = 1;
  while (n-- > 0) {
    int sum = current + next;
    current = next;
    next = sum;
  }
  return current;
}

int main(void) {
  pthread_t first, second;
  int bound = fibonacci(2 * ROUNDS + 1);
#ifdef TOO_LOW
  bound--;
#endif
  pthread_create(&first, 0, add_b_to_a, 0);
  pthread_create(&second, 0, add_a_to_b, 0);
#ifdef JOIN
  pthread_join(first, 0);
  pthread_join(second, 0);
#endif
  assert(a <= bound && b <= bound);
  return 0;
}
