/*
 * Asynchronous copies: cp.async of each lane (models/hopper/ldgsts.h) and bulk copies, one a lane
 * (models/hopper/bulk.h), with their groups and the barriers that they complete.
 */
#include "models/ptx/machine_internal.h"

static enum bf_ptx_result until(struct bf_ptx_machine_warp *w, uint32_t mask, uint64_t next_ps)
{
	const uint64_t now = w->device->sim->now_ps;

	if (bf_hopper_fault(w->device->gpu))
		return bf_ptx_fault_hopper(w, mask);
	if (next_ps > now)
		bf_agent_delay(w->agent, next_ps - now);
	return BF_PTX_DONE;
}

static void groups_ended(struct bf_copy_wait *wait)
{
	struct bf_ptx_flight *f = BF_CONTAINER_OF(wait, struct bf_ptx_flight, wait);

	f->busy = false;
	if (wait->killed)
		bf_ptx_fault_hopper(f->warp, f->lanes);
	else
		bf_ptx_ready(f->warp, f->lanes);
}

static enum bf_ptx_result wait_for_groups(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op,
					  uint32_t mask, const bf_ptx_row *in)
{
	const bool bulk = op->words[BF_PTX_W_DOES] == BF_PTX_DOES_BULK_WAIT;
	const bool all = op->words[BF_PTX_W_MORE2] != 0;
	struct bf_ptx_flight *f;

	if (bf_ptx_again(w, mask))
		return BF_PTX_DONE;
	bf_agent_sync(w->agent);
	f = bf_ptx_flight(w, mask);
	if (!f)
		return bf_ptx_fault_memory(w, mask);
	f->wait = (struct bf_copy_wait){ .warp = w->index,
					 .lanes = mask,
					 .keep = all ? 0 : (uint32_t)in[0][__builtin_ctz(mask)],
					 .read = op->words[BF_PTX_W_MORE] != 0,
					 .done = groups_ended };
	if (all) /* wait_all is for what no group has yet, too */
		bf_ldgsts_commit(w->block->cta, w->index, mask);
	if (bulk)
		bf_bulk_wait(w->block->cta, &f->wait);
	else
		bf_ldgsts_wait(w->block->cta, &f->wait);
	return bf_ptx_wait(w, mask, BF_PTX_AT_UNIT);
}

/* Rows: to, from, and the bytes that are read where the statement names them (MORE: their row). */
static enum bf_ptx_result copy_lanes(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				     const bf_ptx_row *in)
{
	const uint32_t bytes = op->words[BF_PTX_W_BYTES], row = op->words[BF_PTX_W_MORE];
	struct bf_ldgsts_copy copy = { .warp = w->index, .active = mask, .bytes = bytes };

	bf_agent_sync(w->agent);
	w->core.progress++;
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		struct bf_ptx_place p;

		copy.source[lane] = row ? (uint32_t)in[row][lane] : bytes;
		if (op->words[BF_PTX_W_MORE2]) /* ignore-src */
			copy.source[lane] = row && in[row][lane] & 1 ? 0 : bytes;
		if (!bf_ptx_window_address(w, lane, BF_PTX_SHARED, in[0][lane], &copy.shared[lane]))
			return BF_PTX_FAULT;
		if (copy.source[lane] && !bf_ptx_place(w, lane, BF_PTX_GLOBAL, in[1][lane], bytes, false, &p))
			return BF_PTX_FAULT;
		copy.global[lane] = copy.source[lane] ? bf_ptx_global_va(w, in[1][lane]) : 0;
	}
	bf_ldgsts_issue(w->block->cta, &copy);
	return until(w, mask, copy.next_ps);
}

static enum bf_ptx_result copy_arrive(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				      const bf_ptx_row *in)
{
	struct bf_ldgsts_arrive arrive = {
		.warp = w->index, .active = mask, .noinc = op->words[BF_PTX_W_MORE] != 0, .barrier = BF_LDGSTS_SYNCS
	};

	bf_agent_sync(w->agent);
	w->core.progress++;
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (!bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane], &arrive.address[lane]))
			return BF_PTX_FAULT;
	}
	bf_ldgsts_arrive(w->block->cta, &arrive);
	return until(w, mask, arrive.next_ps);
}

/* One copy. Rows: to, from, bytes, then the barrier of what goes to shared memory, then the mask of a multicast. */
static enum bf_ptx_result bulk_lane(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t lane,
				    const bf_ptx_row *in)
{
	const enum bf_bulk_kind kind = (enum bf_bulk_kind)op->words[BF_PTX_W_MORE];
	struct bf_bulk_copy c = { .kind = kind, .warp = w->index, .lane = lane, .bytes = (uint32_t)in[2][lane] };
	const uint64_t global = in[kind == BF_BULK_LOAD ? 1 : 0][lane];
	bool fine = true;

	if (kind != BF_BULK_PEER)
		c.global = bf_ptx_global_va(w, global);
	if (kind == BF_BULK_STORE) {
		fine = bf_ptx_window_address(w, lane, BF_PTX_SHARED, in[1][lane], &c.shared);
	} else {
		fine = bf_ptx_window_address(w, lane, BF_PTX_SHARED, in[0][lane], &c.shared) &&
		       bf_ptx_window_address(w, lane, BF_PTX_SHARED, in[3][lane], &c.barrier);
		if (fine && kind == BF_BULK_PEER)
			fine = bf_ptx_window_address(w, lane, BF_PTX_SHARED, in[1][lane], &c.source);
		if (op->words[BF_PTX_W_MORE2])
			c.multicast = (uint16_t)in[4][lane];
	}
	if (op->words[BF_PTX_W_SUB] != BF_PTX_SUB_NONE) {
		c.combine = bf_ptx_combine;
		c.how = bf_ptx_how(op);
	}
	if (!fine)
		return BF_PTX_FAULT;
	if (kind != BF_BULK_PEER && !c.global && c.bytes)
		return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, global,
				       "a bulk copy: 0x%llx is nobody's memory", (unsigned long long)global);
	bf_bulk_issue(w->block->cta, &c);
	return until(w, 1u << lane, c.next_ps);
}

enum bf_ptx_result bf_ptx_do_copy(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				  const bf_ptx_row *in)
{
	enum bf_ptx_result r = BF_PTX_DONE;

	switch ((enum bf_ptx_does)op->words[BF_PTX_W_DOES]) {
	case BF_PTX_DOES_COPY:
		return copy_lanes(w, op, mask, in);
	case BF_PTX_DOES_COPY_ARRIVE:
		return copy_arrive(w, op, mask, in);
	case BF_PTX_DOES_COPY_COMMIT:
		bf_agent_sync(w->agent);
		bf_ldgsts_commit(w->block->cta, w->index, mask);
		return BF_PTX_DONE;
	case BF_PTX_DOES_BULK_COMMIT:
		bf_agent_sync(w->agent);
		bf_bulk_commit(w->block->cta, w->index, mask);
		return BF_PTX_DONE;
	case BF_PTX_DOES_COPY_WAIT:
	case BF_PTX_DOES_BULK_WAIT:
		return wait_for_groups(w, op, mask, in);
	default:
		break;
	}
	bf_agent_sync(w->agent);
	w->core.progress++;
	for (uint32_t left = mask; r == BF_PTX_DONE && left; left &= left - 1)
		r = bulk_lane(w, op, (uint32_t)__builtin_ctz(left), in);
	return r;
}

/* ---- at the end of a warp ---- */

struct drain {
	struct bf_copy_wait wait;
	struct bf_agent *agent;
	bool over;
};

static void drained(struct bf_copy_wait *wait)
{
	struct drain *d = BF_CONTAINER_OF(wait, struct drain, wait);

	d->over = true;
	bf_agent_unpark(d->agent);
}

void bf_ptx_drain_stores(struct bf_ptx_machine_warp *w)
{
	struct drain d = { .wait = { .warp = w->index, .lanes = ~0u, .done = drained }, .agent = w->agent };

	if (!bf_bulk_storing(w->block->cta, w->index))
		return;
	bf_agent_sync(w->agent);
	bf_bulk_commit(w->block->cta, w->index, ~0u);
	bf_bulk_wait(w->block->cta, &d.wait);
	while (!d.over)
		bf_agent_park(w->agent, "bulk stores of a warp that has ended");
}
