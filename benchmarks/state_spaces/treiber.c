/* A stack without locks: objects are allocated, and their numbers depend on all threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct node {
  struct node *next;
  int value;
};

static _Atomic(struct node *) top;

static void push(int value) {
  struct node *node = malloc(sizeof *node);
  node->value = value;
  struct node *old = atomic_load(&top);
  do
    node->next = old;
  while (!atomic_compare_exchange_strong(&top, &old, node));
}

static int pop(void) {
  struct node *old = atomic_load(&top);
  do
    if (!old) return -1;
  while (!atomic_compare_exchange_strong(&top, &old, old->next));
  return old->value;
}

static void *worker(void *argument) {
  for (int i = 0; i < ROUNDS; ++i) {
    push((int)(long)argument * 10 + i);
    pop();
  }
  return 0;
}

int main(void) {
  pthread_t first, second, third;
  pthread_create(&first, 0, worker, (void *)1L);
  pthread_create(&second, 0, worker, (void *)2L);
  pthread_create(&third, 0, worker, (void *)3L);
  pthread_join(first, 0);
  pthread_join(second, 0);
  pthread_join(third, 0);
  return 0;
}
