/*
 * mbarrier.* and st.async: warp instructions for the sync unit of the block's SM (models/hopper/unit.h).
 *
 * Programs see shared memory from BF_PTX_SHARED_FIRST on, the unit has the block's window from 0 on.
 */
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

struct bf_ptx_flight *bf_ptx_flight(struct bf_ptx_machine_warp *w, uint32_t lanes)
{
	struct bf_ptx_flight *f = w->flights;

	while (f && f->busy)
		f = f->all;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return NULL;
		f->warp = w;
		bf_event_init(&f->instr.event, NULL);
		bf_event_init(&f->wait.event, NULL);
		f->all = w->flights;
		w->flights = f;
	}
	f->lanes = lanes;
	f->busy = true;
	return f;
}

bool bf_ptx_window_address(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address,
			   uint32_t *out)
{
	uint32_t shared;

	if (!bf_ptx_shared_address(w, lane, space, address, &shared))
		return false;
	if ((shared & 0xffffffu) < BF_PTX_SHARED_FIRST) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, address, "0x%x of shared memory is the system's",
				shared);
		return false;
	}
	*out = shared - BF_PTX_SHARED_FIRST;
	return true;
}

static bool is_wait(uint32_t sync)
{
	return sync >= BF_SYNC_TEST_PARITY && sync <= BF_SYNC_TRY_STATE;
}

/* The unit is done: results go to the lanes, which go on. */
static void done(struct bf_sync_instr *in)
{
	struct bf_ptx_flight *f = BF_CONTAINER_OF(in, struct bf_ptx_flight, instr);
	struct bf_ptx_machine_warp *w = f->warp;

	f->busy = false;
	if (in->killed || in->fault) {
		bf_ptx_fault_hopper(w, f->lanes);
		return;
	}
	for (uint32_t left = f->lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		w->lane[lane].result = is_wait(in->op) ? in->result >> lane & 1 : in->token[lane];
	}
	bf_ptx_ready(w, f->lanes);
}

static bool fill(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask, const bf_ptx_row *in,
		 struct bf_sync_instr *i)
{
	const uint32_t sync = op->words[BF_PTX_W_MORE];
	const uint32_t row = op->words[BF_PTX_W_MORE2]; /* of the count, bytes, parity or state; 0: none */
	const bool expects = op->words[BF_PTX_W_SUB] != 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		const uint64_t v = row ? in[row][lane] : 1;

		if (!bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane], &i->address[lane]))
			return false;
		i->count[lane] = expects ? 1 : (uint32_t)v;
		i->tx[lane] = 0;
		if (expects || sync == BF_SYNC_EXPECT_TX || sync == BF_SYNC_COMPLETE_TX)
			i->tx[lane] = (uint32_t)v;
		i->token[lane] = v;
	}
	return true;
}

/* Results have come, or nothing but that the unit has taken it. */
static enum bf_ptx_result take_results(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				       bf_ptx_row *out)
{
	const bool wait = is_wait(op->words[BF_PTX_W_MORE]);
	uint32_t over = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		out[0][lane] = w->lane[lane].result;
		if (wait && w->lane[lane].result)
			over |= 1u << lane;
		else if (wait)
			bf_ptx_looked(w, lane, NULL, sizeof(w->lane[lane].phases), &w->lane[lane].phases, false);
	}
	if (over && op->words[BF_PTX_W_SEM] != BF_RELAXED)
		bf_ptx_fence_lanes(w, over, (enum bf_scope)op->words[BF_PTX_W_SCOPE]);
	return BF_PTX_DONE;
}

static enum bf_ptx_result issue(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op,
				struct bf_ptx_flight *f)
{
	struct bf_sync_instr *i = &f->instr;
	struct bf_sim *sim = w->device->sim;
	const uint32_t lanes = f->lanes;

	i->warp = (uint8_t)bf_hopper_cta_slot(w->block->cta, w->index);
	i->active = lanes;
	i->exited = ~w->live;
	i->hinted = false;
	i->release = op->words[BF_PTX_W_SCOPE] != BF_SCOPE_CTA && op->words[BF_PTX_W_SEM] != BF_RELAXED;
	i->result = 0;
	i->fault = 0;
	i->killed = false;
	i->done = op->words[BF_PTX_W_OUTS] ? done : NULL;
	for (uint32_t left = lanes; left; left &= left - 1)
		w->lane[__builtin_ctz(left)].phases = w->block->phases;
	bf_hopper_issue(w->block->cta, i);
	if (bf_hopper_fault(w->device->gpu)) {
		bf_sim_cancel(sim, &i->event);
		return bf_ptx_fault_hopper(w, lanes);
	}
	if (i->done)
		return bf_ptx_wait(w, lanes, BF_PTX_AT_UNIT);
	f->busy = false;
	if (i->next_ps > sim->now_ps)
		bf_agent_delay(w->agent, i->next_ps - sim->now_ps);
	return BF_PTX_DONE;
}

/* Bits 62:43 hold minus the count (models/hopper/prm.h). Of a token with zero there an H200 says 2^20. */
static void pending_count(uint32_t mask, const bf_ptx_row *in, bf_ptx_row *out)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		out[0][lane] = 0x100000u - ((uint32_t)(in[0][lane] >> 43) & 0xfffffu);
	}
}

/* The instruction for the unit of a store of 4 or 8 bytes each behind which bytes of a barrier complete. */
static struct bf_ptx_flight *store_flight(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op,
					  uint32_t mask)
{
	struct bf_ptx_flight *f = bf_ptx_flight(w, mask);

	if (!f) {
		bf_ptx_fault_memory(w, mask);
		return NULL;
	}
	f->instr.op = BF_SYNC_ST_ASYNC;
	f->instr.combine = op->words[BF_PTX_W_SUB] == BF_PTX_SUB_NONE ? NULL : bf_ptx_combine;
	f->instr.how = bf_ptx_how(op);
	return f;
}

/* 4 or 8 bytes each: wider ones are two stores, whose bytes add up. */
static enum bf_ptx_result st_async(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				   const bf_ptx_row *in)
{
	const uint32_t bytes = op->words[BF_PTX_W_BYTES], elems = op->words[BF_PTX_W_ELEMS];
	const uint32_t total = bytes * elems, each = total < 8 ? 4 : 8, words = each / bytes ? each / bytes : 1;
	enum bf_ptx_result r = BF_PTX_DONE;

	bf_agent_sync(w->agent);
	for (uint32_t at = 0; r == BF_PTX_DONE && at < total; at += each) {
		struct bf_ptx_flight *f = store_flight(w, op, mask);

		if (!f)
			return BF_PTX_FAULT;
		for (uint32_t left = mask; left; left &= left - 1) {
			const uint32_t lane = (uint32_t)__builtin_ctz(left);
			const uint32_t row = 1 + at / bytes;

			if (!bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane] + at,
						   &f->instr.data[lane]) ||
			    !bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[1 + elems][lane],
						   &f->instr.address[lane]))
				return BF_PTX_FAULT;
			f->instr.token[lane] =
			    words == 2 ? (in[row][lane] & UINT32_MAX) | in[row + 1][lane] << 32 : in[row][lane];
			f->instr.tx[lane] = each;
			f->instr.count[lane] = 0;
		}
		r = issue(w, op, f);
	}
	return r;
}

/* The answer to try_cancel, 16 bytes of nothing, to one block or to all of the cluster. */
static enum bf_ptx_result answer_cancel(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
					const bf_ptx_row *in)
{
	const struct bf_ptx_block *b = w->block;
	const uint32_t ranks = op->words[BF_PTX_W_MORE] ? b->grid->ctas : 1;
	enum bf_ptx_result r = BF_PTX_DONE;

	bf_agent_sync(w->agent);
	for (uint32_t k = 0; r == BF_PTX_DONE && k < 2 * ranks; k++) {
		const uint32_t rank = op->words[BF_PTX_W_MORE] ? k / 2 : b->rank;
		struct bf_ptx_flight *f = store_flight(w, op, mask);

		if (!f)
			return BF_PTX_FAULT;
		for (uint32_t left = mask; left; left &= left - 1) {
			const uint32_t lane = (uint32_t)__builtin_ctz(left);
			uint32_t to, barrier;

			if (!bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane] + 8 * (k & 1),
						   &to) ||
			    !bf_ptx_window_address(w, lane, op->words[BF_PTX_W_SPACE], in[1][lane], &barrier))
				return BF_PTX_FAULT;
			f->instr.data[lane] = bf_hopper_map(to, rank);
			f->instr.address[lane] = bf_hopper_map(barrier, rank);
			f->instr.token[lane] = 0;
			f->instr.tx[lane] = 8;
			f->instr.count[lane] = 0;
		}
		r = issue(w, op, f);
	}
	return r;
}

enum bf_ptx_result bf_ptx_do_sync_unit(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				       const bf_ptx_row *in, bf_ptx_row *out)
{
	const uint32_t sync = op->words[BF_PTX_W_MORE];
	struct bf_ptx_flight *f;

	if (op->words[BF_PTX_W_DOES] == BF_PTX_DOES_PENDING_COUNT) {
		pending_count(mask, in, out);
		return BF_PTX_DONE;
	}
	if (bf_ptx_again(w, mask))
		return take_results(w, op, mask, out);
	if (!is_wait(sync)) {
		w->core.progress++;
		if (op->words[BF_PTX_W_SEM] == BF_RELEASE)
			bf_ptx_fence_lanes(w, mask, (enum bf_scope)op->words[BF_PTX_W_SCOPE]);
	}
	if (op->words[BF_PTX_W_DOES] == BF_PTX_DOES_ST_ASYNC)
		return st_async(w, op, mask, in);
	if (op->words[BF_PTX_W_DOES] == BF_PTX_DOES_TRY_CANCEL)
		return answer_cancel(w, op, mask, in);
	bf_agent_sync(w->agent);
	f = bf_ptx_flight(w, mask);
	if (!f)
		return bf_ptx_fault_memory(w, mask);
	f->instr.op = (uint8_t)sync;
	if (!fill(w, op, mask, in, &f->instr))
		return BF_PTX_FAULT;
	return issue(w, op, f);
}
