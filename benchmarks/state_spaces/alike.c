/* N threads that are alike count up once: under a lock, by an update, by compare-exchange, or under the lock of Mellor-Crummey
   and Scott. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int count;

#if defined(MUTEX)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void count_up(void) {
  pthread_mutex_lock(&mutex);
  atomic_store(&count, atomic_load(&count) + 1);
  pthread_mutex_unlock(&mutex);
}
#elif defined(UPDATE)
static void count_up(void) { atomic_fetch_add(&count, 1); }
#elif defined(EXCHANGE)
static void count_up(void) {
  int seen = atomic_load(&count);
  while (!atomic_compare_exchange_strong(&count, &seen, seen + 1))
    ;
}
#else
struct node {
  _Atomic(struct node *) next;
  atomic_int may_enter;
};
static _Atomic(struct node *) tail;

static void count_up(void) {
  struct node mine = {0}, *last = &mine;
  struct node *before = atomic_exchange(&tail, &mine);
  if (before) {
    atomic_store(&before->next, &mine);
    while (!atomic_load(&mine.may_enter))
      ;
  }
  atomic_store(&count, atomic_load(&count) + 1);
  if (!atomic_load(&mine.next)) {
    if (atomic_compare_exchange_strong(&tail, &last, 0)) return;
    while (!atomic_load(&mine.next))
      ;
  }
  atomic_store(&atomic_load(&mine.next)->may_enter, 1);
}
#endif

static void *worker(void *unused) {
  count_up();
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; ++i) pthread_create(&threads[i], 0, worker, 0);
  for (int i = 0; i < N; ++i) pthread_join(threads[i], 0);
  assert(atomic_load(&count) == N);
  return 0;
}
