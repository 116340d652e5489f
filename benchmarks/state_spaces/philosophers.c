/* N philosophers, who eat for ever. One of them takes the other fork first. */
#include <pthread.h>

static pthread_mutex_t forks[N];

static void *philosopher(void *argument) {
  int me = (int)(long)argument;
  int left = me == 0 ? 1 : me, right = me == 0 ? 0 : (me + 1) % N;
  while (1) {
    pthread_mutex_lock(&forks[left]);
    pthread_mutex_lock(&forks[right]);
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; ++i) pthread_mutex_init(&forks[i], 0);
  for (long i = 0; i < N; ++i) pthread_create(&threads[i], 0, philosopher, (void *)i);
  for (int i = 0; i < N; ++i) pthread_join(threads[i], 0);
  return 0;
}
