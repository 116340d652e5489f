/* Two threads that enter and leave a critical section repeatedly: whoever is inside must be alone. */
#pragma once
#include <assert.h>
#include <pthread.h>
#include "fence.h"

static void enter(int me);
static void leave(int me);

static shared inside;

static void *run(void *argument) {
  int me = argument != 0;
  while (again()) {
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
  run(0);
}
