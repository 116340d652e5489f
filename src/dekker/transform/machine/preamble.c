#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

typedef uintptr_t dk_pointer;

extern void __VERIFIER_assume(int);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern _Bool __VERIFIER_nondet_bool(void);

/* What the machine below is made of. A thread is in a section all the time; where others may take steps it leaves that,
   and enters the next one. */
#define dk_enter_section __VERIFIER_atomic_begin
#define dk_leave_section __VERIFIER_atomic_end
#define dk_resume() ((void)0)
#define dk_pause() ((void)0)
#define dk_end() ((void)0)
#define dk_begin dk_turn

void dk_turn(void) {
  dk_leave_section();
  dk_enter_section();
}

int dk_choose_yes(void) { return __VERIFIER_nondet_bool(); }

/* Any number up to `last`: few of them one by one, many bit by bit. */
unsigned long long dk_choose_up_to(unsigned long long last) {
  unsigned long long value = 0, bit = 1;
  if (last < 8) {
    while (value < last && !dk_choose_yes()) ++value;
    return value;
  }
  while (bit && bit <= last) {
    if (dk_choose_yes()) value += bit;
    bit *= 2;
  }
  __VERIFIER_assume(value <= last);
  return value;
}

#define dk_frozen(value) (value)
#define dk_full() ((void)0) /* there is no room to delay the access: it is performed at once */

void dk_mixed_sizes(void) {
  assert(!"delayed accesses overlap without being equal");
}
