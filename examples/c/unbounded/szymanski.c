/* Szymanski's algorithm (1988): a waiting room with a door.
 *
 * Five values of one flag for each thread. No loop has a bound. */
#include "mutual_exclusion.h"

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
