/* -DFENCED puts a full fence wherever the program says fence(); without it only the compiler is kept from reordering. */
#pragma once
#include <stdatomic.h>

#ifdef FENCED
#define fence() atomic_thread_fence(memory_order_seq_cst)
#else
#define fence() atomic_signal_fence(memory_order_seq_cst)
#endif

typedef volatile int shared;
