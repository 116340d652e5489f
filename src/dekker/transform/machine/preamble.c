#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef uintptr_t dk_pointer;

extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern _Bool __VERIFIER_nondet_bool(void);

/* What the machine below is made of. */
#define dk_begin __VERIFIER_atomic_begin
#define dk_end __VERIFIER_atomic_end
#define dk_resume __VERIFIER_atomic_begin
#define dk_pause __VERIFIER_atomic_end

int dk_choose_yes(void) { return __VERIFIER_nondet_bool(); }

/* Any number up to `last`. */
unsigned long long dk_choose_up_to(unsigned long long last) {
  unsigned long long value = 0, bit = 1;
  while (bit <= last) {
    if (dk_choose_yes()) value += bit;
    bit *= 2;
  }
  __VERIFIER_assume(value <= last);
  return value;
}

#define dk_choose_slot() dk_choose_up_to(DK_SLOTS - 1)
#define dk_choose_slot_or_none() dk_choose_up_to(DK_SLOTS)
#define dk_full() ((void)0) /* there is no room to delay the access: it is performed at once */

void dk_mixed_sizes(void) {
  assert(!"delayed accesses overlap without being equal");
}
