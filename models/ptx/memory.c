/*
 * Loads and stores that the core does not do itself: lane by lane through the lanes' views, or, while no ordering but
 * sc is in force and nobody records, straight to memory.
 *
 * Shared memory has no view: it is coherent within its block at once. What copies see of it is the copy engine's
 * business (models/hopper/bulk.h).
 */
#include <string.h>

#include "models/ptx/machine_internal.h"
#include "sim/word.h"

/* A shared load is 29.6 cycles to its use on an H200 (tests/bench/gpu_cost.cu); remote about 7 times that. */
#define SHARED_LOAD_PS 15000u
#define SHARED_STORE_PS 1000u

#define BYTES_MAX 32u

static bool is_direct(const struct bf_ptx_machine_warp *w)
{
	return !(w->device->sim->slow & ~BF_SLOW_WATCH);
}

static void touched(struct bf_ptx_machine_warp *w, const void *p)
{
	if (w->device->sim->slow & BF_SLOW_WATCH)
		bf_agents_line_touched(w->device->sim, p);
}

/* A generic access that meets the thread's own stack beside lanes that meet other memory. */
static bool do_local(struct bf_ptx_machine_warp *w, uint32_t lane, const struct bf_ptx_place *p, void *bytes,
		     uint32_t len, bool store)
{
	if (store ? bf_ptx_warp_local_write(&w->core, lane, p->local, bytes, len)
		  : bf_ptx_warp_local_read(&w->core, lane, p->local, bytes, len))
		return true;
	bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, BF_PTX_LOCAL_WINDOW + p->local,
			"%u bytes outside of local memory", len);
	return false;
}

/* ---- between rows and bytes ---- */

static void to_rows(const struct bf_ptx_prepared *op, uint32_t lane, const uint8_t *bytes, bf_ptx_row *out)
{
	const uint32_t size = op->words[BF_PTX_W_BYTES];
	const uint32_t each = size > 8 ? 8 : size, rows = op->words[BF_PTX_W_ELEMS] * (size > 8 ? 2 : 1);

	for (uint32_t i = 0; i < rows; i++) {
		uint64_t v = 0;

		memcpy(&v, bytes + i * each, each);
		out[i][lane] = v;
	}
}

static void from_rows(const struct bf_ptx_prepared *op, uint32_t lane, const bf_ptx_row *in, uint8_t *bytes)
{
	const uint32_t size = op->words[BF_PTX_W_BYTES];
	const uint32_t each = size > 8 ? 8 : size, rows = op->words[BF_PTX_W_ELEMS] * (size > 8 ? 2 : 1);

	for (uint32_t i = 0; i < rows; i++)
		memcpy(bytes + i * each, &in[i][lane], each);
}

/* ---- loads ---- */

/* A GPU has each access of up to 16 bytes whole; adversarial tears vectors into what the ISA promises, 8 bytes. */
static uint32_t piece_of(const struct bf_ptx_machine_warp *w, uint32_t len)
{
	const uint32_t most = w->device->opts.ordering == BF_ORDER_ADVERSARIAL ? 8 : 16;

	return len < most ? len : most;
}

static void load_global(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, const struct bf_ptx_place *p,
			uint8_t *bytes, uint32_t len)
{
	const enum bf_sem sem = (enum bf_sem)op->words[BF_PTX_W_SEM];
	const enum bf_scope scope = (enum bf_scope)op->words[BF_PTX_W_SCOPE];
	const uint32_t piece = piece_of(w, len);

	if (p->region->kind == BF_MEM_MMIO) {
		for (uint32_t at = 0; at < len; at += 8) {
			const uint64_t v = bf_mmio_read(w->agent, p->host + at, len < 8 ? len : 8);

			memcpy(bytes + at, &v, len < 8 ? len : 8);
		}
		w->core.polls++;
		return;
	}
	for (uint32_t at = 0; at < len; at += piece)
		bf_load(w->agent, p->host + at, bytes + at, piece, sem, scope);
}

static void pay_load(struct bf_ptx_machine_warp *w, uint32_t space, bool strong)
{
	w->agent->charge_ps += space == BF_PTX_SHARED ? SHARED_LOAD_PS : w->device->pays->load;
	if (strong)
		bf_agent_sync(w->agent);
}

enum bf_ptx_result bf_ptx_do_load(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				  const bf_ptx_row *in, bf_ptx_row *out)
{
	const uint32_t len = op->words[BF_PTX_W_BYTES] * op->words[BF_PTX_W_ELEMS];
	const bool strong = op->words[BF_PTX_W_SEM] != BF_WEAK;
	bool paid = false, lanes = false;
	uint8_t bytes[BYTES_MAX];

	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		struct bf_ptx_place p;

		if (!bf_ptx_place(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane], len, false, &p))
			return BF_PTX_FAULT;
		if (!paid) {
			pay_load(w, p.space, strong);
			paid = true;
		}
		if (p.space == BF_PTX_LOCAL) {
			if (!do_local(w, lane, &p, bytes, len, false))
				return BF_PTX_FAULT;
		} else if (p.space == BF_PTX_SHARED || (is_direct(w) && p.region->kind != BF_MEM_MMIO)) {
			memcpy(bytes, p.host, len);
		} else {
			lanes = true;
			if (!bf_ptx_as_lane(w, lane) || (op->words[BF_PTX_W_MORE] && !bf_ptx_as_nc(w)))
				return BF_PTX_FAULT;
			load_global(w, op, &p, bytes, len);
		}
		to_rows(op, lane, bytes, out);
		if ((strong || lanes) && p.space != BF_PTX_LOCAL && (!p.region || p.region->kind != BF_MEM_MMIO))
			bf_ptx_looked(w, lane, p.host, len, bytes, p.space == BF_PTX_SHARED);
	}
	if (lanes)
		bf_ptx_as_warp(w);
	return bf_ptx_is_dead(w->device) ? BF_PTX_FAULT : BF_PTX_DONE;
}

/* ---- stores ---- */

static void store_shared(struct bf_ptx_machine_warp *w, const struct bf_ptx_place *p, const void *bytes, uint32_t len)
{
	struct bf_ptx_block *b = p->block;

	if (b->grid->copies_shared)
		bf_bulk_plain_store(b->cta, b == w->block ? w->index : 0,
				    bf_hopper_map(p->offset - BF_PTX_SHARED_FIRST, b->rank), bytes, len);
	else
		memcpy(p->host, bytes, len);
	bf_ptx_shared_changed(b);
}

static void store_global(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, const struct bf_ptx_place *p,
			 const uint8_t *bytes, uint32_t len)
{
	const enum bf_sem sem = (enum bf_sem)op->words[BF_PTX_W_SEM];
	const enum bf_scope scope = (enum bf_scope)op->words[BF_PTX_W_SCOPE];
	const uint32_t piece = piece_of(w, len);

	/* One write on the link, as a GPU sends it. Weak stores to registers are the compiler's to merge, not ours. */
	if (p->region->kind == BF_MEM_MMIO) {
		bf_agent_charge(w->agent, w->device->pays->mmio);
		for (uint32_t at = 0; at < len; at += 16)
			bf_mmio_store_scoped(w->agent, p->host + at, bytes + at, len < 16 ? len : 16,
					     sem == BF_WEAK ? BF_RELAXED : sem, scope);
		return;
	}
	for (uint32_t at = 0; at < len; at += piece)
		bf_store(w->agent, p->host + at, bytes + at, piece, sem, scope);
}

enum bf_ptx_result bf_ptx_do_store(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				   const bf_ptx_row *in)
{
	const uint32_t len = op->words[BF_PTX_W_BYTES] * op->words[BF_PTX_W_ELEMS];
	const bool release = op->words[BF_PTX_W_SEM] == BF_RELEASE;
	bool paid = false, lanes = false;
	uint8_t bytes[BYTES_MAX];

	w->core.progress++;
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		struct bf_ptx_place p;

		if (!bf_ptx_place(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane], len, true, &p))
			return BF_PTX_FAULT;
		from_rows(op, lane, in + 1, bytes);
		if (!paid) {
			const struct bf_cost *c = w->device->pays;
			const uint32_t scope = op->words[BF_PTX_W_SCOPE];

			w->agent->charge_ps += p.space == BF_PTX_SHARED ? SHARED_STORE_PS : c->store;
			if (release && p.space == BF_PTX_GLOBAL)
				bf_agent_delay(w->agent, scope == BF_SCOPE_CTA   ? c->fence_cta
							 : scope == BF_SCOPE_GPU ? c->fence_gpu
										 : c->fence_sys);
			paid = true;
		}
		if (p.space == BF_PTX_SHARED) {
			store_shared(w, &p, bytes, len);
		} else if (p.space == BF_PTX_LOCAL) {
			if (!do_local(w, lane, &p, bytes, len, true))
				return BF_PTX_FAULT;
		} else if (is_direct(w) && p.region->kind != BF_MEM_MMIO) {
			bf_whole_store(p.host, bytes, len);
			touched(w, p.host);
		} else {
			lanes = true;
			if (!bf_ptx_as_lane(w, lane))
				return BF_PTX_FAULT;
			store_global(w, op, &p, bytes, len);
		}
	}
	if (lanes)
		bf_ptx_as_warp(w);
	return bf_ptx_is_dead(w->device) ? BF_PTX_FAULT : BF_PTX_DONE;
}

/* st.bulk: each lane clears its own range of shared memory. */
enum bf_ptx_result bf_ptx_do_store_zeros(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
					 const bf_ptx_row *in)
{
	static const uint8_t zeros[8];

	w->core.progress++;
	w->agent->charge_ps += SHARED_STORE_PS;
	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		struct bf_ptx_place p;

		for (uint64_t at = 0; at < in[1][lane]; at += sizeof(zeros)) {
			if (!bf_ptx_place(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane] + at, sizeof(zeros), true,
					  &p))
				return BF_PTX_FAULT;
			if (p.space != BF_PTX_SHARED)
				return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_SPACE, in[0][lane],
						       "st.bulk of what is not shared memory");
			store_shared(w, &p, zeros, sizeof(zeros));
		}
	}
	return BF_PTX_DONE;
}
