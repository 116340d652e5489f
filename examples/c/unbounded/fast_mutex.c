/* Lamport's fast mutual exclusion (1987).
 *
 * Without contention it takes few accesses. No loop has a bound. */
#include "mutual_exclusion.h"

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
