/* Mutual exclusion by loads and stores, over and over: no loop here has a bound, but threads may stop after any round.
 *
 * -DALGORITHM=name chooses one, -DFENCED puts a full fence behind every store that a later load must not overtake, and
 * behind those that must reach memory in order. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

typedef volatile int shared;
extern _Bool __VERIFIER_nondet_bool(void);

#ifdef FENCED
#define fence() atomic_thread_fence(memory_order_seq_cst)
#else
#define fence() ((void)0)
#endif

#define spin_lock 1
#define peterson 2
#define dekker 3
#define bakery 4
#define fast_mutex 5
#define szymanski 6
#define burns 7

static shared inside;

#if ALGORITHM == spin_lock
static atomic_int taken;
static void enter(int me) {
  (void)me;
  while (atomic_exchange(&taken, 1))
    ;
}
static void leave(int me) {
  (void)me;
  fence();
  atomic_store_explicit(&taken, 0, memory_order_relaxed);
}

#elif ALGORITHM == peterson
static shared wants[2], turn;
static void enter(int me) {
  wants[me] = 1;
  fence();
  turn = 1 - me;
  fence();
  while (wants[1 - me] && turn == 1 - me)
    ;
}
static void leave(int me) {
  fence();
  wants[me] = 0;
}

#elif ALGORITHM == dekker
static shared wants[2], turn;
static void enter(int me) {
  wants[me] = 1;
  fence();
  while (wants[1 - me]) {
    if (turn != me) {
      wants[me] = 0;
      while (turn != me)
        ;
      wants[me] = 1;
      fence();
    }
  }
}
static void leave(int me) {
  fence();
  turn = 1 - me;
  fence();
  wants[me] = 0;
}

#elif ALGORITHM == bakery
/* Tickets grow as long as both contend; runs with more than a few are not followed, so that there are finitely many states. */
extern void __VERIFIER_assume(int);
static shared choosing[2], ticket[2];
static void enter(int me) {
  choosing[me] = 1;
  fence();
  int last = ticket[1 - me];
  __VERIFIER_assume(last < 3);
  ticket[me] = last + 1;
  fence();
  choosing[me] = 0;
  fence();
  while (choosing[1 - me])
    ;
  while (ticket[1 - me] && (ticket[1 - me] < ticket[me] || (ticket[1 - me] == ticket[me] && 1 - me < me)))
    ;
}
static void leave(int me) {
  fence();
  ticket[me] = 0;
}

#elif ALGORITHM == fast_mutex
static shared x, y, busy[2];
static void enter(int me) {
  for (;;) {
    busy[me] = 1;
    x = me + 1;
    fence();
    if (y != 0) {
      busy[me] = 0;
      while (y != 0)
        ;
      continue;
    }
    y = me + 1;
    fence();
    if (x == me + 1)
      return;
    busy[me] = 0;
    fence();
    while (busy[1 - me])
      ;
    if (y == me + 1)
      return;
    while (y != 0)
      ;
  }
}
static void leave(int me) {
  fence();
  y = 0;
  fence();
  busy[me] = 0;
}

#elif ALGORITHM == szymanski
static shared flag[2];
static void enter(int me) {
  flag[me] = 1;
  fence();
  while (flag[1 - me] >= 3)
    ;
  flag[me] = 3;
  fence();
  if (flag[1 - me] == 1) {
    flag[me] = 2;
    fence();
    while (flag[1 - me] != 4)
      ;
  }
  flag[me] = 4;
  fence();
  if (me == 1)
    while (flag[0] >= 2)
      ;
}
static void leave(int me) {
  fence();
  if (me == 0)
    for (int other = flag[1]; other == 2 || other == 3; other = flag[1])
      ;
  flag[me] = 0;
}

#elif ALGORITHM == burns
static shared flag[2];
static void enter(int me) {
  for (;;) {
    flag[me] = 0;
    fence();
    if (me == 1 && flag[0])
      continue;
    flag[me] = 1;
    fence();
    if (me == 1 && flag[0])
      continue;
    break;
  }
  if (me == 0)
    while (flag[1])
      ;
}
static void leave(int me) {
  fence();
  flag[me] = 0;
}
#endif

static void *run(void *argument) {
  int me = (int)(long)argument;
  while (__VERIFIER_nondet_bool()) {
    enter(me);
    inside = me + 1;
    assert(inside == me + 1);
    leave(me);
  }
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, run, (void *)1L);
  run((void *)0L);
}
