/* Lamport's bakery (1974).
 *
 * Tickets grow as long as both contend; runs with more than a few are not followed. No loop has a bound. */
#include "mutual_exclusion.h"

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
