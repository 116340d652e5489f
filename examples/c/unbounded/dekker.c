/* Dekker's algorithm, the first solution with loads and stores alone (1965).
 *
 * Whoever loses takes back the wish and waits for its turn. No loop has a bound. */
#include "mutual_exclusion.h"

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
