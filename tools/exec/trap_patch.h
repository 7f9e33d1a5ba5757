/*
 * Instructions that ring again and again get a jump in their place, which spares each later store its fault (x86-64).
 *
 * Only the bytes of the store itself change, so that nothing is assumed about the code around it, least of all which
 * instructions are jumped to. A store is often shorter than the jump's five bytes: the jump then ends with the first
 * bytes of the instruction behind it, which stay as they are and say in which window of addresses the jump's target
 * has to be ("instruction punning": Chamith et al., PLDI 2017). Where there is no room in that window, and for every
 * store that is not a plain MOV of a general register, it stays with faults.
 *
 * The target, a stub of the site's own, saves all registers and hands the store to the engine as a fault would. What
 * is not for a doorbell page is stored by a copy of the instruction in the stub.
 *
 * The table is the process's, as its code is: it outlives an engine, and a child of fork() has it, too.
 */
#ifndef BELFRY_TOOLS_EXEC_TRAP_PATCH_H
#define BELFRY_TOOLS_EXEC_TRAP_PATCH_H

#include "tools/exec/trap_store.h"

struct bf_engine;
struct bf_patch;

/* Faults of one instruction before it gets a jump. */
#define BF_PATCH_AFTER 64u

#if defined(__x86_64__)

/*
 * The patched instruction that a signal is about: the context stands at it (a fault from before the jump was there, or
 * of the copy in its stub) or at the breakpoint that is there for a moment while the jump is written. The context's
 * instruction pointer is that of the site afterwards. NULL: none. Any thread, async-signal-safe.
 */
const struct bf_patch *bf_patch_find(void *context, int signal);

/* What the instruction stores that was there. */
bool bf_patch_decode(const struct bf_patch *p, const struct bf_store_cpu *cpu, const void *context,
		     struct bf_trap_store *out);

/*
 * A store at the context's instruction has faulted and been decoded; `p` is its patch, if there is one already. Writes
 * the jump when it is time. Under the engine's lock, all signals but faults blocked, async-signal-safe. True: there is
 * a new jump.
 */
bool bf_patch_note(struct bf_engine *e, const struct bf_patch *p, const void *context, const struct bf_trap_store *s);

/* At an engine's end: its stores fault from now on. */
void bf_patch_forget(const struct bf_engine *e);

#else

static inline const struct bf_patch *bf_patch_find(void *context, int signal)
{
	(void)context, (void)signal;
	return NULL;
}

static inline bool bf_patch_decode(const struct bf_patch *p, const struct bf_store_cpu *cpu, const void *context,
				   struct bf_trap_store *out)
{
	(void)p, (void)cpu, (void)context, (void)out;
	return false;
}

static inline bool bf_patch_note(struct bf_engine *e, const struct bf_patch *p, const void *context,
				 const struct bf_trap_store *s)
{
	(void)e, (void)p, (void)context, (void)s;
	return false;
}

static inline void bf_patch_forget(const struct bf_engine *e)
{
	(void)e;
}

#endif

#endif
