/* Burns and Lynch (1980): one bit for each thread.
 *
 * Thread 1 gives way to thread 0. No loop has a bound. */
#include "mutual_exclusion.h"

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
