/* A warp between its core and the machine: time, whose turn it is, and which family an instruction belongs to. */
#include <stdio.h>

#include "models/hopper/records.h"
#include "models/ptx/machine_internal.h"
#include "sim/fault.h"
#include "sim/pcie.h"

/*
 * Assumed: a warp issues an instruction every 4 cycles of 1980 MHz, as dependent arithmetic does on an H100; others of
 * the SM fill the gaps.
 */
#define ISSUE_PS 2020u

/* A scheduler may leave a warp where it stands: under the weak orderings it does, by seed, now and then. */
#define STALL_PPM 62500u
#define STALL_GPU_PS (500 * BF_NS)
#define STALL_ADVERSARIAL_PS (5000 * BF_NS)

void bf_ptx_settle(struct bf_ptx_machine_warp *w)
{
	w->agent->charge_ps += (uint64_t)w->core.issued * ISSUE_PS;
	w->core.issued = 0;
}

void bf_ptx_stall(struct bf_ptx_machine_warp *w)
{
	const enum bf_ordering o = w->device->opts.ordering;

	if ((o == BF_ORDER_GPU || o == BF_ORDER_ADVERSARIAL) && bf_rng_chance(&w->stalls, STALL_PPM))
		bf_agent_delay(w->agent,
			       bf_rng_below(&w->stalls, o == BF_ORDER_GPU ? STALL_GPU_PS : STALL_ADVERSARIAL_PS));
}

/* ---- for one lane ---- */

static bool make_lane(struct bf_ptx_machine_warp *w, uint32_t lane)
{
	struct bf_ptx_machine_lane *l = &w->lane[lane];
	struct bf_ptx_device *d = w->device;
	char name[48];
	const struct bf_view_opts view = { .ordering = d->opts.ordering,
					   .space = d->opts.space,
					   .domain = w->block->domain ? w->block->domain : d->domain,
					   .cost = &bf_cost_zero,
					   .name = name };

	snprintf(name, sizeof(name), "%sb%u.w%u.l%u", d->name, w->block->index, w->index, lane);
	l->actor = bf_stream_actor(&d->sim->rec, "agent", name);
	if (l->actor && bf_view_create(d->sim, &view, &l->view) == 0)
		return true;
	bf_ptx_fault_memory(w, 1u << lane);
	return false;
}

/* Where a lane is: in the source; in the PTX itself where a plan makes one instruction weaker, not all of a line. */
static void place(const struct bf_ptx_machine_warp *w, struct bf_agent *a, bool weakened)
{
	const struct bf_ptx_library *lib = w->block->grid->lib;

	if (weakened)
		bf_ptx_line_of_text(lib, w->core.at, &a->file, &a->line);
	else
		bf_ptx_line(lib, w->core.at, &a->file, &a->line);
}

bool bf_ptx_as_lane(struct bf_ptx_machine_warp *w, uint32_t lane)
{
	struct bf_ptx_machine_lane *l = &w->lane[lane];
	struct bf_agent *a = w->agent;

	if (BF_UNLIKELY(!l->view) && !make_lane(w, lane))
		return false;
	a->view = l->view;
	a->actor = l->actor;
	if (BF_UNLIKELY(a->sim->rec.mask & BF_CLASS_WHERE || a->sim->faults) && w->core.at != w->placed) {
		const bool weakened = a->sim->faults && bf_fault_plan_weakens(a->sim->faults);

		if (weakened || a->sim->rec.mask & BF_CLASS_WHERE)
			place(w, a, weakened);
		w->placed = w->core.at;
	}
	return true;
}

static int make_nc(struct bf_ptx_block *b, struct bf_ptx_device *d)
{
	char name[48];
	struct bf_view_opts view = {
		.ordering = d->opts.ordering, .space = d->opts.space, .cost = &bf_cost_zero, .name = name
	};
	int rc = b->nc_domain ? 0 : bf_domain_create(d->sim, BF_SCOPE_CTA, d->domain, &b->nc_domain);

	snprintf(name, sizeof(name), "%sb%u.nc", d->name, b->index);
	view.domain = b->nc_domain;
	return rc ? rc : bf_view_create(d->sim, &view, &b->nc_view);
}

bool bf_ptx_as_nc(struct bf_ptx_machine_warp *w)
{
	struct bf_ptx_block *b = w->block;

	/* Under sc nothing is late, and under tso a lane finds its own stores and memory. */
	if (!b->domain || w->device->opts.ordering == BF_ORDER_TSO)
		return true;
	if (!b->nc_view && make_nc(b, w->device) != 0) {
		bf_ptx_fault_memory(w, 1);
		return false;
	}
	w->agent->view = b->nc_view;
	return true;
}

void bf_ptx_as_warp(struct bf_ptx_machine_warp *w)
{
	w->agent->view = w->device->view;
	w->agent->actor = w->actor;
}

void bf_ptx_fence_lanes(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_scope scope)
{
	const struct bf_cost *c = w->device->pays;
	const uint64_t ps = scope == BF_SCOPE_CTA ? c->fence_cta : scope == BF_SCOPE_GPU ? c->fence_gpu : c->fence_sys;

	bf_agent_delay(w->agent, ps);
	if (BF_UNLIKELY(w->device->sim->shared)) /* for the program's threads, too */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(w->device->sim->slow & ~BF_SLOW_WATCH))
		return;
	for (uint32_t left = mask; left; left &= left - 1) {
		if (!bf_ptx_as_lane(w, (uint32_t)__builtin_ctz(left)))
			break;
		bf_fence(w->agent, scope);
	}
	bf_ptx_as_warp(w);
}

/* ---- waiting ---- */

void bf_ptx_ready(struct bf_ptx_machine_warp *w, uint32_t lanes)
{
	for (uint32_t left = lanes; left; left &= left - 1)
		w->lane[__builtin_ctz(left)].waits = BF_PTX_AWAKE;
	w->core.ready |= lanes;
	if (w->agent)
		bf_agent_nudge(w->agent);
}

enum bf_ptx_result bf_ptx_wait(struct bf_ptx_machine_warp *w, uint32_t mask, enum bf_ptx_waits why)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		struct bf_ptx_machine_lane *l = &w->lane[__builtin_ctz(left)];

		l->waits = (uint8_t)why;
		l->party = mask;
		if (why != BF_PTX_SLEEPING && why != BF_PTX_POLLING)
			l->until_ps = BF_NEVER;
	}
	if (why != BF_PTX_POLLING)
		w->pending |= mask;
	return BF_PTX_WAIT;
}

bool bf_ptx_again(struct bf_ptx_machine_warp *w, uint32_t mask)
{
	if (!(w->pending & mask))
		return false;
	w->pending &= ~mask;
	return true;
}

/* ---- small instructions ---- */

/* nanosleep: 0 to twice the time, at most 1 ms (PTX ISA); an H100 takes about three quarters of it. */
static enum bf_ptx_result do_sleep(struct bf_ptx_machine_warp *w, uint32_t mask, const bf_ptx_row *in)
{
	uint64_t now, most = 0;

	if (bf_ptx_again(w, mask))
		return BF_PTX_DONE;
	bf_agent_sync(w->agent);
	now = bf_agent_now(w->agent);
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint64_t ns = (uint32_t)in[0][lane] < 1000000 ? (uint32_t)in[0][lane] : 1000000;

		most = ns > most ? ns : most;
	}
	for (uint32_t left = mask; left; left &= left - 1)
		w->lane[__builtin_ctz(left)].until_ps = now + most * 750 + 37 * BF_NS;
	return bf_ptx_wait(w, mask, BF_PTX_SLEEPING);
}

static enum bf_ptx_result do_fence(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask)
{
	bf_ptx_fence_lanes(w, mask, (enum bf_scope)op->words[BF_PTX_W_SCOPE]);
	return BF_PTX_DONE;
}

/* fence.proxy.async: plain stores to shared memory are there for copies. */
static enum bf_ptx_result do_proxy_fence(struct bf_ptx_machine_warp *w)
{
	struct bf_sim *sim = w->device->sim;
	uint64_t until;

	bf_agent_sync(w->agent);
	until = bf_bulk_fence(w->block->cta, w->index);
	if (until > sim->now_ps)
		bf_agent_delay(w->agent, until - sim->now_ps);
	return BF_PTX_DONE;
}

/* fence.mbarrier_init orders nothing here, where an init is seen at once; rules ask for it. */
static enum bf_ptx_result do_init_fence(struct bf_ptx_machine_warp *w)
{
	if (w->block->cta) {
		bf_agent_sync(w->agent);
		BF_EMIT(w->device->sim, w->agent->actor, hopper_init_fence, .sm = bf_hopper_cta_sm(w->block->cta),
			.warp = w->index);
	}
	return BF_PTX_DONE;
}

static void zero_rows(const struct bf_ptx_prepared *op, uint32_t mask, bf_ptx_row *out)
{
	for (uint32_t i = 0; i < op->words[BF_PTX_W_OUTS]; i++)
		for (uint32_t left = mask; left; left &= left - 1)
			out[i][__builtin_ctz(left)] = 0;
}

static enum bf_ptx_result perform(struct bf_ptx_warp *core, const struct bf_ptx_prepared *op, uint32_t mask,
				  const bf_ptx_row *in, bf_ptx_row *out)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	if (BF_UNLIKELY(bf_ptx_is_dead(w->device)))
		return BF_PTX_FAULT;
	bf_ptx_settle(w);
	switch ((enum bf_ptx_does)op->words[BF_PTX_W_DOES]) {
	case BF_PTX_DOES_LOAD:
		return bf_ptx_do_load(w, op, mask, in, out);
	case BF_PTX_DOES_STORE:
		return bf_ptx_do_store(w, op, mask, in);
	case BF_PTX_DOES_STORE_ZEROS:
		return bf_ptx_do_store_zeros(w, op, mask, in);
	case BF_PTX_DOES_ATOMIC:
		return bf_ptx_do_atomic(w, op, mask, in, out);
	case BF_PTX_DOES_FENCE:
		return do_fence(w, op, mask);
	case BF_PTX_DOES_INIT_FENCE:
		return do_init_fence(w);
	case BF_PTX_DOES_PROXY_FENCE:
		return do_proxy_fence(w);
	case BF_PTX_DOES_BARRIER:
		return bf_ptx_do_barrier(w, op, mask, in, out);
	case BF_PTX_DOES_CLUSTER_ARRIVE:
		return bf_ptx_do_cluster_arrive(w, op, mask);
	case BF_PTX_DOES_CLUSTER_WAIT:
		return bf_ptx_do_cluster_wait(w, mask);
	case BF_PTX_DOES_SLEEP:
		return do_sleep(w, mask, in);
	case BF_PTX_DOES_SREG:
		bf_ptx_do_sreg(w, op, mask, out);
		return BF_PTX_DONE;
	case BF_PTX_DOES_MBARRIER:
	case BF_PTX_DOES_PENDING_COUNT:
	case BF_PTX_DOES_ST_ASYNC:
	case BF_PTX_DOES_TRY_CANCEL:
		return bf_ptx_do_sync_unit(w, op, mask, in, out);
	case BF_PTX_DOES_COPY:
	case BF_PTX_DOES_COPY_ARRIVE:
	case BF_PTX_DOES_COPY_COMMIT:
	case BF_PTX_DOES_COPY_WAIT:
	case BF_PTX_DOES_BULK:
	case BF_PTX_DOES_BULK_COMMIT:
	case BF_PTX_DOES_BULK_WAIT:
		return bf_ptx_do_copy(w, op, mask, in);
	case BF_PTX_DOES_NOTHING:
		zero_rows(op, mask, out);
		return BF_PTX_DONE;
	}
	return BF_PTX_DONE;
}

static enum bf_ptx_result quantum(struct bf_ptx_warp *core)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	bf_ptx_settle(w);
	bf_agent_sync(w->agent);
	return bf_ptx_is_dead(w->device) ? BF_PTX_FAULT : BF_PTX_DONE;
}

static void synced(struct bf_ptx_warp *core, uint32_t mask)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	bf_ptx_settle(w);
	bf_ptx_fence_lanes(w, mask, BF_SCOPE_CTA);
}

static enum bf_ptx_result exited(struct bf_ptx_warp *core, uint32_t mask)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	bf_ptx_settle(w);
	bf_agent_sync(w->agent);
	bf_ptx_barriers_exited(w, mask);
	return bf_ptx_is_dead(w->device) ? BF_PTX_FAULT : BF_PTX_DONE;
}

static enum bf_ptx_result trap(struct bf_ptx_warp *core, uint32_t mask, enum bf_ptx_trap kind, const char *text)
{
	static const struct {
		enum bf_ptx_fault_kind kind;
		const char *text;
	} of[] = {
		[BF_PTX_TRAP] = { BF_PTX_FAULT_TRAP, "trap" },
		[BF_PTX_TRAP_REFUSE] = { BF_PTX_FAULT_ILLEGAL, "an instruction that is not there" },
		[BF_PTX_TRAP_CALL] = { BF_PTX_FAULT_ILLEGAL, "a call of something that is not a function" },
		[BF_PTX_TRAP_STACK] = { BF_PTX_FAULT_STACK, "the stack of a thread is full" },
		[BF_PTX_TRAP_LOCAL] = { BF_PTX_FAULT_ADDRESS, "an access outside of local memory" },
		[BF_PTX_TRAP_MASK] = { BF_PTX_FAULT_ILLEGAL, "a lane is not in its own member mask" },
	};
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);

	bf_ptx_settle(w);
	if (kind == BF_PTX_TRAP_MEMORY)
		return bf_ptx_fault_memory(w, mask);
	return bf_ptx_fault_at(w, mask, of[kind].kind, 0, "%s%s%s", of[kind].text, text ? ": " : "", text ? text : "");
}

const struct bf_ptx_port bf_ptx_machine_port = {
	.prepare = bf_ptx_prepare,
	.perform = perform,
	.spin = bf_ptx_spin,
	.quantum = quantum,
	.idle = bf_ptx_idle,
	.synced = synced,
	.exited = exited,
	.trap = trap,
	.builtin = bf_ptx_do_builtin,
};
