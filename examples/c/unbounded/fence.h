/* -DFENCED puts a full fence wherever the program says fence(); without it only the compiler is kept from reordering.
 * again(): threads may stop after any number of rounds; with -DFOREVER they never do. */
#pragma once
#include <stdatomic.h>

#ifdef FENCED
#define fence() atomic_thread_fence(memory_order_seq_cst)
#else
#define fence() atomic_signal_fence(memory_order_seq_cst)
#endif

extern _Bool __VERIFIER_nondet_bool(void);

#ifdef FOREVER
#define again() 1
#else
#define again() __VERIFIER_nondet_bool()
#endif

typedef volatile int shared;
