/* The supervisor of a PE, for any platform with threads on the CPU: failover_host.h tells what it does and why. */
#ifndef BELFRY_DRIVERS_IBGDA_FAILOVER_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_FAILOVER_KERNELS_INTERNAL_H

#include "drivers/ibgda/device.h"
#include "drivers/ibgda/failover_internal.h"

static void bf_failover_grid(struct bf_thread *t, void *arg)
{
	struct bf_failover_pe *s = arg;

	s->kernel(t, s->arg);
	bf_fence_sys(t);
	bf_atomic_add32(t, s->ended, 1, BF_AT_SYS);
}

/* ---- what ends say of themselves ---- */

#define BF_FAILOVER_TIME_BITS 48u

/* Counts go up one by one and slower than the control network: what cannot be known yet is one more than what can. */
static uint32_t bf_failover_heard(struct bf_thread *t, const uint64_t *said)
{
	const uint64_t v = __atomic_load_n(said, __ATOMIC_ACQUIRE);
	const uint64_t at = v & ((1ull << BF_FAILOVER_TIME_BITS) - 1);
	const uint32_t count = (uint32_t)(v >> BF_FAILOVER_TIME_BITS);

	return count && bf_clock_ns(t) < at ? count - 1 : count;
}

static void bf_failover_tell(struct bf_thread *t, const struct bf_failover_pe *s, struct bf_failover_rc *rc, uint32_t q)
{
	const uint64_t at = bf_clock_ns(t) + s->f->opts.control_ns;

	rc->end[q].since_ns = 0;
	__atomic_store_n(rc->told[q], (uint64_t)rc->end[q].count << BF_FAILOVER_TIME_BITS | at, __ATOMIC_RELEASE);
	bf_ibgda_failover_say(s->f, (uint32_t)(rc - s->rc) / s->f->nrc, at, (uint64_t)(rc->told[q] - s->f->said));
}

static void bf_failover_tell_end(struct bf_thread *t, struct bf_failover_pe *s)
{
	const uint64_t at = bf_clock_ns(t) + s->f->opts.control_ns, where = s->f->nsaid + s->pe;

	s->counted = true;
	__atomic_store_n(&s->f->said[where], 1ull << BF_FAILOVER_TIME_BITS | at, __ATOMIC_RELEASE);
	bf_ibgda_failover_say(s->f, UINT32_MAX, at, where);
}

/* Whether the grids of all PEs have ended, as far as it can be known here. */
static bool bf_failover_all_ended(struct bf_thread *t, struct bf_failover_pe *s)
{
	const struct bf_ibgda_failover *f = s->f;

	while (s->others_ended < f->npes && bf_failover_heard(t, &f->said[f->nsaid + s->others_ended]))
		s->others_ended++;
	return s->others_ended == f->npes;
}

/* Both ends work. */
static bool bf_failover_usable(struct bf_thread *t, const struct bf_failover_rc *rc, uint32_t q)
{
	const struct bf_failover_end *e = &rc->end[q];

	return !(e->count & 1) && !e->fresh && bf_failover_heard(t, rc->heard[q]) == e->count;
}

/* Neither end will ever send or take anything of this life of the path again. */
static bool bf_failover_dead(struct bf_thread *t, const struct bf_failover_rc *rc, uint32_t q)
{
	return (rc->end[q].count & 1) && bf_failover_heard(t, rc->heard[q]) >= rc->end[q].count;
}

/* ---- noticing ---- */

static void bf_failover_look_at_ports(struct bf_thread *t, struct bf_failover_pe *s)
{
	const struct bf_ibgda_failover *f = s->f;
	bool asked[BF_FAILOVER_NICS][BF_FAILOVER_PORTS] = { { false } };

	for (uint32_t i = 0; i < s->nrc; i++) {
		for (uint32_t q = 0; q < 2; q++) {
			const struct bf_failover_end *e = &s->rc[i].end[q];
			uint64_t *down = &s->down_ns[e->nic][e->port];

			if (!e->qp || asked[e->nic][e->port])
				continue;
			asked[e->nic][e->port] = true;
			if (f->be->port_up(f->world, s->pe, e->nic, e->port) > 0)
				*down = 0;
			else if (!*down)
				*down = bf_clock_ns(t);
		}
	}
}

/* A poller has seen an error, or nobody polls and it lies in the CQ, or the port is down for good. */
static bool bf_failover_is_broken(struct bf_thread *t, const struct bf_failover_pe *s, const struct bf_failover_end *e)
{
	const uint64_t down = s->down_ns[e->nic][e->port];

	if (down && bf_clock_ns(t) - down >= s->f->opts.down_ns)
		return true;
	if (bf_ibgda_status(t, e->qp))
		return true;
	return !e->qp->tx_wq.cq->plain && bf_ibgda_is_error(bf_ibgda_cqe_tail(t, s->state, e->qp->tx_wq.cq->cqe));
}

/* ---- moving ---- */

static uint32_t bf_failover_carrier(struct bf_thread *t, const struct bf_failover_pe *s,
				    const struct bf_failover_rc *rc)
{
	return bf_ibgda_word(t, s->state, rc->end[0].qp) & BF_IBGDA_ON_BACKUP ? 1 : 0;
}

/* The first half of bf_ibgda_fail_over(): nobody is left who would touch the queue, and what is in flight is known. */
static void bf_failover_close(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc, uint32_t q)
{
	struct bf_ibgda_qp *qp = rc->end[q].qp;

	if (bf_ibgda_claim(t, s->state, qp))
		return;
	bf_ibgda_await_posters(t, s->state, qp, bf_ibgda_seal(t, qp));
	bf_fence_sys(t);
	bf_ibgda_take_stock(t, s->state, qp);
	rc->first = bf_ld_acquire64(t, qp->tx_wq.cq->cons_idx, BF_AT_SYS);
	rc->last = bf_ld_acquire64(t, &qp->mvars.ready_head, BF_AT_SYS);
	rc->from = q;
	rc->moving = true;
}

/*
 * A collapsed CQ is full of ones and begins anew by itself. A plain one goes on where the device stands: resetting the
 * queue pair does not reset its CQ.
 */
static void bf_failover_resume_cq(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_end *e)
{
	const struct bf_ibgda_cq *cq = e->qp->tx_wq.cq;
	uint32_t producer;

	if (!cq->plain || bf_ibgda_failover_ask_cq(s, e, &producer))
		return;
	bf_st_relaxed32(t, cq->dbrec, bf_htobe32(producer), BF_AT_SYS);
	bf_st_relaxed64(t, &e->qp->mvars.cq_head, producer, BF_AT_SYS);
}

static void bf_failover_begin_anew(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_end *e)
{
	bf_ibgda_reopen(t, e->qp);
	bf_failover_resume_cq(t, s, e);
}

/* The second half, when there is where to go. */
static void bf_failover_replay(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc)
{
	struct bf_failover_end *from = &rc->end[rc->from], *to = &rc->end[!rc->from];
	struct bf_ibgda_replay r = { rc->first, rc->last, { 0, 0, 0, 0 }, 0 };
	int status;

	if (bf_ld_relaxed64(t, &to->qp->mvars.resv_head, BF_AT_SYS) >= BF_IBGDA_SEALED)
		bf_ibgda_unseal(t, to->qp);
	status = bf_ibgda_replay(t, s->state, from->qp, to->qp, &r);
	bf_ibgda_release(t, s->state, from->qp, to->qp, status != 0);
	rc->moving = false;
	if (from->fresh) {
		bf_failover_begin_anew(t, s, from);
		from->fresh = false;
	}
	s->totals.moved++;
	s->totals.lost += status != 0;
	s->totals.replayed += r.fates[BF_IBGDA_REPLAYED];
	s->totals.unknown += r.fates[BF_IBGDA_IN_DOUBT];
	s->totals.no_key += r.fates[BF_IBGDA_NO_KEY];
}

/* ---- an end ---- */

static void bf_failover_stop_end(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc, uint32_t q)
{
	bf_pause(t, s->f->opts.command_ns);
	if (bf_ibgda_failover_stop(s, &rc->end[q]))
		return;
	rc->end[q].count++;
	s->totals.stopped++;
	bf_failover_tell(t, s, rc, q);
}

/*
 * Through RESET to RTS. Not while posters may be there (its traffic has not been closed yet), not before the port is
 * up, and not before old packets are gone. Counters begin anew when its entries have been posted elsewhere.
 */
static void bf_failover_bring_back(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc, uint32_t q)
{
	struct bf_failover_end *e = &rc->end[q];

	bf_pause(t, 4 * s->f->opts.command_ns);
	if (bf_ibgda_host_reconnect(s->f->host, s->pe, e->qp))
		return;
	e->fresh = rc->moving && rc->from == q;
	if (!e->fresh)
		bf_failover_begin_anew(t, s, e);
	e->count++;
	s->totals.reconnected++;
	bf_failover_tell(t, s, rc, q);
}

static void bf_failover_step_end(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc, uint32_t q)
{
	struct bf_failover_end *e = &rc->end[q];
	const uint64_t now = bf_clock_ns(t);

	if (!(e->count & 1)) {
		if (bf_failover_heard(t, rc->heard[q]) > e->count || bf_failover_is_broken(t, s, e))
			bf_failover_stop_end(t, s, rc, q);
		else if (!e->since_ns && bf_failover_usable(t, rc, q))
			e->since_ns = now;
		return;
	}
	if (!bf_failover_dead(t, rc, q))
		return;
	if (!e->since_ns)
		e->since_ns = now;
	if (!rc->moving && bf_failover_carrier(t, s, rc) == q)
		bf_failover_close(t, s, rc, q);
	if (now - e->since_ns < s->f->opts.drain_ns || s->down_ns[e->nic][e->port])
		return;
	if (rc->moving || bf_failover_carrier(t, s, rc) != q)
		bf_failover_bring_back(t, s, rc, q);
}

static void bf_failover_step(struct bf_thread *t, struct bf_failover_pe *s, struct bf_failover_rc *rc)
{
	const struct bf_failover_end *primary = &rc->end[0];

	bf_failover_step_end(t, s, rc, 0);
	bf_failover_step_end(t, s, rc, 1);
	if (rc->moving) {
		if (bf_failover_usable(t, rc, !rc->from))
			bf_failover_replay(t, s, rc);
		return;
	}
	if (s->f->opts.no_fail_back || bf_failover_carrier(t, s, rc) != 1 || !bf_failover_usable(t, rc, 0) ||
	    !primary->since_ns || bf_clock_ns(t) - primary->since_ns < s->f->opts.stable_ns)
		return;
	if (!bf_ibgda_fail_back(t, s->state, rc->end[1].qp))
		s->totals.back++;
}

static void bf_failover_supervisor(struct bf_thread *t, void *arg)
{
	struct bf_failover_pe *s = arg;
	struct bf_ibgda_failover *f = s->f;

	while (!bf_failover_all_ended(t, s)) {
		bf_failover_look_at_ports(t, s);
		for (uint32_t i = 0; i < s->nrc; i++)
			if (s->rc[i].end[0].qp)
				bf_failover_step(t, s, &s->rc[i]);
		if (!s->counted && bf_ld_acquire32(t, s->ended, BF_AT_SYS) == s->threads)
			bf_failover_tell_end(t, s);
		bf_pause(t, f->opts.poll_ns);
	}
}

#define BF_FAILOVER_KERNEL_TABLE                                                                                       \
	{                                                                                                              \
		.grid = bf_failover_grid, .supervisor = bf_failover_supervisor                                         \
	}

#endif
