/*
 * IBGDA: which queue carries an RC's traffic. With backups each RC has a failover word that says whether it is the
 * primary queue pair or its backup (failover.h moves it and tells what that guarantees); without them this costs one
 * look at a pointer.
 */
#ifndef BELFRY_DRIVERS_IBGDA_LIVE_H
#define BELFRY_DRIVERS_IBGDA_LIVE_H

#include "drivers/ibgda/ibgda.h"
#include "sim/compiler.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

/* What device functions return when a completion said that an entry failed; the syndrome is in mvars.status. */
#define BF_IBGDA_FAILED (-1)
/* The queue was taken out of use before the entries were published: nothing happened, go again on the other one. */
#define BF_IBGDA_MOVED (-2)
/* A fetching atomic that was under way on a queue that failed: it may or may not have been done. */
#define BF_IBGDA_UNKNOWN (-3)

/* Longest sleep of those who wait for one of several words of a queue that may fail. */
#define BF_IBGDA_NAP_NS 4000u

/* Whether this queue's traffic may move to another one. */
BF_DEVICE int bf_ibgda_moves(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp)
{
	return BF_UNLIKELY(state->globalmem.failover != (uint32_t *)0) && qp->qp_type == BF_IBGDA_RC;
}

/* The failover word of an RC, primary or backup. */
BF_DEVICE uint32_t bf_ibgda_word(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp)
{
	return bf_ld_acquire32(t, &state->globalmem.failover[qp->ordinal], BF_AT_SYS);
}

/* A nap while a queue that may move shows nothing new at `addr`: until that changes, the queue moves, or a while. */
BF_DEVICE void bf_ibgda_nap(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp,
			    const void *addr, const char *what)
{
	if (bf_ibgda_moves(state, qp))
		bf_spin2_until(t, addr, &state->globalmem.failover[qp->ordinal], bf_clock_ns(t) + BF_IBGDA_NAP_NS,
			       what);
	else
		bf_spin(t, addr, what);
}

/*
 * The queue pair that carries the traffic of `qp`'s RC now, `qp` being either of the two. Waits while a move is under
 * way: what comes after it must not overtake what is being replayed.
 */
BF_DEVICE struct bf_ibgda_qp *bf_ibgda_rc_of(struct bf_thread *t, const struct bf_ibgda_state *state,
					     struct bf_ibgda_qp *qp)
{
	uint32_t word;

	if (BF_LIKELY(!bf_ibgda_moves(state, qp)))
		return qp;
	while ((word = bf_ibgda_word(t, state, qp)) & BF_IBGDA_MOVING)
		bf_spin(t, &state->globalmem.failover[qp->ordinal], "the RC's traffic to be moved");
	return word & BF_IBGDA_ON_BACKUP ? &state->globalmem.backups[qp->ordinal] : &state->globalmem.rcs[qp->ordinal];
}

/* Before an operation: its keys and slots are those of the queue that it will use. */
BF_DEVICE void bf_ibgda_follow(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to *to)
{
	to->qp = bf_ibgda_rc_of(t, state, to->qp);
}

/* Whether a queue that may move was closed, or failed and is going to be. */
BF_DEVICE int bf_ibgda_out_of_use(struct bf_thread *t, const struct bf_ibgda_qp *qp)
{
	return bf_ld_relaxed64(t, &qp->mvars.resv_head, BF_AT_GPU) >= BF_IBGDA_SEALED ||
	       bf_ld_relaxed32(t, &qp->mvars.status, BF_AT_GPU);
}

/*
 * `qp` failed or was closed: waits for the move that somebody must make. 0 when it is done, BF_IBGDA_FAILED when the RC
 * was given up as lost. A thread that comes late may find the traffic gone and back again: then the word says what it
 * said before, but the queue is in use.
 */
BF_DEVICE int bf_ibgda_await_move(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	for (;;) {
		const uint32_t word = bf_ibgda_word(t, state, qp);

		if (word & BF_IBGDA_LOST)
			return BF_IBGDA_FAILED;
		if (!(word & BF_IBGDA_MOVING) &&
		    (!(word & BF_IBGDA_ON_BACKUP) != !qp->is_backup || !bf_ibgda_out_of_use(t, qp)))
			return 0;
		bf_spin(t, &state->globalmem.failover[qp->ordinal], "a failed RC's traffic to be moved");
	}
}

#endif
