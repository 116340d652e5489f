/* What keeps accesses in order, in all programs of this folder.
 *
 * With -DFENCED these are instructions of POWER: sync keeps everything in order, lwsync everything but a store before a
 * later load. Dekker gives them the same meaning under every hardware model. Without it they are empty: the compiler
 * still may not move accesses, but the machine may. */
#ifndef FENCES_H
#define FENCES_H

#ifdef FENCED
#define full_fence() __asm__ volatile("sync" ::: "memory")
#define light_fence() __asm__ volatile("lwsync" ::: "memory")
#else
#define full_fence() __asm__ volatile("" ::: "memory")
#define light_fence() __asm__ volatile("" ::: "memory")
#endif

#endif
