/* Peterson, Myths about the mutual exclusion problem (1981).
 *
 * The store to wants must be seen before the loads that follow. No loop has a bound. */
#include "mutual_exclusion.h"

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
