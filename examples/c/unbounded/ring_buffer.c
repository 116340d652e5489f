/* A ring of cells that each say whether they are full: messages of two words arrive whole and in order.
 *
 * Under pso the mark must not overtake what it announces, nor may the next message come before the mark was taken away. */
#include <assert.h>
#include <pthread.h>
#include "fence.h"

#define CELLS 2
#define VALUES 3

static struct {
  shared full, first, second;
} cell[CELLS];

static void *reader(void *argument) {
  for (int at = 0, expected = 1;; at = (at + 1) % CELLS, expected = expected % VALUES + 1) {
    while (!cell[at].full)
      ;
    int first = cell[at].first, second = cell[at].second;
    assert(first == expected && second == -expected);
    cell[at].full = 0;
  }
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, reader, 0);
  for (int at = 0, value = 1; again(); at = (at + 1) % CELLS, value = value % VALUES + 1) {
    while (cell[at].full)
      ;
    cell[at].first = value;
    cell[at].second = -value;
    fence();
    cell[at].full = 1;
  }
}
