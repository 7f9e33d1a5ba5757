#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/hopper_internal.h"
#include "models/hopper/records.h"
#include "sim/mem.h"
#include "sim/stats.h"

#define SYSTEM_BYTES 1024u /* of shared memory that every resident block takes beside its own (CUDA: "reserved") */
#define GRAIN 128u         /* windows start at multiples */

/* ---- the GPU ---- */

int bf_hopper_create(struct bf_sim *sim, const struct bf_hopper_opts *opts, struct bf_hopper **out)
{
	struct bf_hopper *gpu;
	const struct bf_hopper_profile *profile = opts->profile ? opts->profile : &bf_hopper_h200;
	int rc = bf_hopper_profile_check(profile, &sim->error);

	if (rc)
		return rc;
	gpu = calloc(1, sizeof(*gpu));
	if (gpu)
		gpu->sm = calloc(profile->sms, sizeof(*gpu->sm));
	if (!gpu || !gpu->sm) {
		free(gpu);
		return bf_fail(&sim->error, -ENOMEM, "out of memory");
	}
	gpu->sim = sim;
	gpu->profile = *profile;
	snprintf(gpu->name, sizeof(gpu->name), "%s", opts->name);
	gpu->launched = opts->first_block;
	gpu->first_copy = opts->first_copy;
	for (uint32_t i = 0; i < profile->sms; i++) {
		gpu->sm[i].gpu = gpu;
		gpu->sm[i].id = i;
	}
	*out = gpu;
	return 0;
}

void bf_hopper_destroy(struct bf_hopper *gpu)
{
	if (!gpu)
		return;
	for (struct bf_hopper_cta *cta = gpu->ctas, *next; cta; cta = next) {
		next = cta->next;
		bf_hopper_exit(cta);
	}
	bf_hopper_messages_free(gpu);
	for (uint32_t i = 0; i < gpu->profile.sms; i++) {
		bf_stats_detach(gpu->sim, &gpu->sm[i]);
		bf_sync_destroy(gpu->sm[i].unit);
		free(gpu->sm[i].shared);
	}
	free(gpu->sm);
	free(gpu);
}

const struct bf_hopper_profile *bf_hopper_profile(const struct bf_hopper *gpu)
{
	return &gpu->profile;
}

struct bf_sim *bf_hopper_sim(const struct bf_hopper *gpu)
{
	return gpu->sim;
}

uint64_t bf_hopper_ps(const struct bf_hopper *gpu, uint64_t cycles)
{
	return cycles * gpu->profile.cycle_ps;
}

/* ---- faults ---- */

void bf_hopper_raise(struct bf_hopper *gpu, const struct bf_hopper_fault *fault)
{
	struct bf_hopper_fault f = *fault;

	f.when_ps = gpu->sim->now_ps;
	BF_EMIT(gpu->sim, gpu->sm[f.sm].actor, hopper_fault, .word = f.word, .address = f.address, .warp = f.warp,
		.lane = f.lane, .op = (uint8_t)f.op, .kind = (uint8_t)f.kind, .reason = (uint16_t)f.barrier);
	if (gpu->fault.kind)
		return;
	gpu->fault = f;
	if (gpu->bulk)
		bf_bulk_kill(gpu->bulk);
	for (uint32_t i = 0; i < gpu->profile.sms; i++)
		if (gpu->sm[i].unit)
			bf_sync_kill(gpu->sm[i].unit);
}

static void unit_faulted(void *arg, struct bf_sync_unit *unit, const struct bf_sync_instr *instr)
{
	const struct bf_hopper_sm *sm = arg;
	const uint32_t lane = instr->fault_lane;
	const struct bf_hopper_fault f = {
		.kind = BF_HOPPER_FAULT_BARRIER,
		.barrier = (enum bf_mbar_fault)instr->fault,
		.op = (enum bf_sync_op)instr->op,
		.sm = sm->id,
		.warp = instr->warp,
		.lane = lane,
		.address = instr->address[lane],
		.word = bf_sync_peek(unit, instr->base + (instr->address[lane] & BF_HOPPER_OFFSET), NULL),
	};

	bf_hopper_raise(sm->gpu, &f);
}

void bf_hopper_on_phase(struct bf_hopper *gpu, bf_hopper_phase_fn *fn, void *arg)
{
	gpu->phase = fn;
	gpu->phase_arg = arg;
}

static void unit_flipped(void *arg, struct bf_sync_unit *unit, uint32_t address)
{
	const struct bf_hopper_sm *sm = arg;

	(void)unit;
	if (sm->gpu->phase)
		sm->gpu->phase(sm->gpu->phase_arg, sm->id, address);
}

const struct bf_hopper_fault *bf_hopper_fault(const struct bf_hopper *gpu)
{
	return gpu->fault.kind ? &gpu->fault : NULL;
}

/* ---- blocks ---- */

static int attach_counts(struct bf_hopper_sm *sm)
{
	const struct bf_sync_counts *c = bf_sync_counts(sm->unit);
	const struct {
		const char *name;
		const uint64_t *field;
	} counts[] = {
		{ "instructions", &c->instrs },
		{ "barrier_ops", &c->ops },
		{ "cache_hits", &c->hits },
		{ "cache_misses", &c->misses },
		{ "cache_evictions", &c->evictions },
		{ "merged", &c->merged },
		{ "phases", &c->completed },
		{ "parked", &c->parked },
		{ "refused", &c->refused },
		{ "expired", &c->expired },
		{ "woken", &c->woken },
		{ "faults", &c->faults },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < BF_ARRAY_LEN(counts); i++)
		rc = bf_stats_attach_part(sm->gpu->sim, sm, sm->gpu->name, counts[i].name, "", counts[i].field);
	return rc;
}

/* SMs get their memory and unit with their first block: most experiments use few of 132. */
static int equip(struct bf_hopper_sm *sm)
{
	struct bf_hopper *gpu = sm->gpu;
	struct bf_sync_opts opts = {
		.profile = &gpu->profile, .fault = unit_faulted, .phase = unit_flipped, .arg = sm
	};
	char name[64];
	int rc;

	if (sm->unit)
		return 0;
	snprintf(name, sizeof(name), "%s.sm%" PRIu32, gpu->name, sm->id);
	sm->actor = sm->actor ? sm->actor : bf_stream_actor(&gpu->sim->rec, "sm", name);
	if (!sm->shared) { /* pages of its own: a region (sim/mem.h) may be laid over it */
		const size_t bytes = (gpu->profile.shared_bytes + BF_PAGE - 1) & ~(size_t)(BF_PAGE - 1);

		sm->shared = aligned_alloc(BF_PAGE, bytes);
		if (sm->shared)
			memset(sm->shared, 0, bytes);
	}
	if (!sm->shared || !sm->actor)
		return bf_fail(&gpu->sim->error, -ENOMEM, "out of memory");
	opts.shared = sm->shared;
	opts.actor = sm->actor;
	rc = bf_sync_create(gpu->sim, &opts, &sm->unit);
	if (rc)
		return rc;
	if (gpu->fault.kind)
		bf_sync_kill(sm->unit);
	rc = attach_counts(sm);
	return rc ? bf_fail(&gpu->sim->error, rc, "out of memory") : 0;
}

/* The lowest gap between the windows of the SM's blocks; UINT32_MAX: there is none. `link` is its place among them. */
static uint32_t find_window(struct bf_hopper_sm *sm, uint32_t bytes, struct bf_hopper_cta ***link)
{
	uint32_t base = SYSTEM_BYTES;

	*link = &sm->ctas;
	for (struct bf_hopper_cta *c = sm->ctas; c && base + bytes + SYSTEM_BYTES > c->base; c = c->above) {
		base = ((c->base + c->bytes + GRAIN - 1) & ~(GRAIN - 1)) + SYSTEM_BYTES;
		*link = &c->above;
	}
	return base + bytes <= sm->gpu->profile.shared_bytes ? base : UINT32_MAX;
}

/* Among the GPU's blocks and, at `link`, among those of its SM. */
static void enter(struct bf_hopper_cta *cta, struct bf_hopper_cta **link)
{
	struct bf_hopper *gpu = cta->sm->gpu;

	cta->next = gpu->ctas;
	cta->link = &gpu->ctas;
	if (cta->next)
		cta->next->link = &cta->next;
	gpu->ctas = cta;
	cta->above = *link;
	cta->above_link = link;
	if (cta->above)
		cta->above->above_link = &cta->above;
	*link = cta;
}

static void leave(struct bf_hopper_cta *cta)
{
	*cta->link = cta->next;
	if (cta->next)
		cta->next->link = cta->link;
	*cta->above_link = cta->above;
	if (cta->above)
		cta->above->above_link = cta->above_link;
}

static uint32_t find_slots(const struct bf_hopper_sm *sm, uint32_t warps)
{
	const uint64_t mask = warps == 64 ? UINT64_MAX : (1ull << warps) - 1;

	for (uint32_t first = 0; first + warps <= sm->gpu->profile.warps; first++)
		if (!(sm->warps & mask << first))
			return first;
	return UINT32_MAX;
}

static void record_cta(const struct bf_hopper_cta *cta, uint32_t event)
{
	struct bf_sim *sim = cta->sm->gpu->sim;

	BF_EMIT(sim, cta->sm->actor, hopper_cta, .cta = cta->number, .rank = cta->rank, .base = cta->base,
		.bytes = cta->bytes, .first_warp = cta->first_warp, .event = event);
}

static uint64_t slot_mask(const struct bf_hopper_cta *cta)
{
	return (cta->warps == 64 ? UINT64_MAX : (1ull << cta->warps) - 1) << cta->first_warp;
}

static int place(struct bf_hopper_sm *sm, const struct bf_hopper_launch *l, struct bf_hopper_cluster *cluster,
		 uint32_t rank)
{
	struct bf_hopper *gpu = sm->gpu;
	struct bf_hopper_cta *cta, **link;
	uint32_t base, first;
	int rc = equip(sm);

	if (rc)
		return rc;
	base = find_window(sm, l->shared_bytes, &link);
	first = find_slots(sm, l->warps);
	if (base == UINT32_MAX || first == UINT32_MAX)
		return bf_fail(&gpu->sim->error, -ENOSPC, "%s.sm%" PRIu32 " has no %s for another block", gpu->name,
			       sm->id, base == UINT32_MAX ? "shared memory" : "warp slots");
	cta = calloc(1, sizeof(*cta));
	if (!cta)
		return bf_fail(&gpu->sim->error, -ENOMEM, "out of memory");
	cta->sm = sm;
	cta->cluster = cluster;
	cta->rank = rank;
	cta->base = base;
	cta->bytes = l->shared_bytes;
	cta->first_warp = first;
	cta->warps = l->warps;
	cta->number = gpu->launched++;
	enter(cta, link);
	if (gpu->bulk)
		bf_bulk_adopt(gpu->bulk, cta);
	sm->warps |= slot_mask(cta);
	cluster->cta[rank] = cta;
	cluster->holds++;
	record_cta(cta, 0);
	return 0;
}

int bf_hopper_launch(struct bf_hopper *gpu, const struct bf_hopper_launch *l, struct bf_hopper_cta **ctas)
{
	const struct bf_hopper_profile *p = &gpu->profile;
	const uint32_t n = l->ctas ? l->ctas : 1;
	struct bf_hopper_cluster *cluster;
	int rc = 0;

	if (l->sm >= p->sms || n > BF_HOPPER_CLUSTER_MAX || n > p->sms)
		return bf_fail(&gpu->sim->error, -EINVAL, "launch: SM %" PRIu32 ", cluster of %" PRIu32, l->sm, n);
	if (l->warps == 0 || l->warps > p->warps || l->shared_bytes > p->shared_bytes)
		return bf_fail(&gpu->sim->error, -EINVAL, "launch: %" PRIu32 " warps, %" PRIu32 " B of shared memory",
			       l->warps, l->shared_bytes);
	cluster = calloc(1, sizeof(*cluster));
	if (!cluster)
		return bf_fail(&gpu->sim->error, -ENOMEM, "out of memory");
	cluster->ctas = n;
	cluster->holds = 1;
	for (uint32_t r = 0; !rc && r < n; r++)
		rc = place(&gpu->sm[(l->sm + r) % p->sms], l, cluster, r);
	for (uint32_t r = 0; r < n; r++) {
		if (rc && cluster->cta[r])
			bf_hopper_exit(cluster->cta[r]);
		ctas[r] = rc ? NULL : cluster->cta[r];
	}
	bf_hopper_cluster_put(cluster);
	return rc;
}

void bf_hopper_cluster_put(struct bf_hopper_cluster *cluster)
{
	if (--cluster->holds == 0)
		free(cluster);
}

void bf_hopper_exit(struct bf_hopper_cta *cta)
{
	leave(cta);
	record_cta(cta, 1);
	if (cta->sm->gpu->bulk)
		bf_bulk_leave(cta->sm->gpu->bulk, cta);
	bf_sync_drop(cta->sm->unit, cta->base, cta->bytes);
	cta->sm->warps &= ~slot_mask(cta);
	cta->cluster->cta[cta->rank] = NULL;
	bf_hopper_cluster_put(cta->cluster);
	free(cta);
}

struct bf_hopper *bf_hopper_cta_gpu(const struct bf_hopper_cta *cta)
{
	return cta->sm->gpu;
}

struct bf_sync_unit *bf_hopper_cta_unit(const struct bf_hopper_cta *cta)
{
	return cta->sm->unit;
}

uint32_t bf_hopper_cta_rank(const struct bf_hopper_cta *cta)
{
	return cta->rank;
}

uint32_t bf_hopper_cta_sm(const struct bf_hopper_cta *cta)
{
	return cta->sm->id;
}

uint32_t bf_hopper_cta_slot(const struct bf_hopper_cta *cta, uint32_t warp)
{
	return cta->first_warp + warp;
}

uint32_t bf_hopper_cta_base(const struct bf_hopper_cta *cta)
{
	return cta->base;
}

struct bf_hopper_cta *bf_hopper_cta_peer(const struct bf_hopper_cta *cta, uint32_t rank)
{
	return rank < cta->cluster->ctas ? cta->cluster->cta[rank] : NULL;
}

uint8_t *bf_hopper_cta_bytes(const struct bf_hopper_cta *cta, uint32_t *len)
{
	if (len)
		*len = cta->bytes;
	return cta->sm->shared + cta->base;
}

uint32_t bf_hopper_map(uint32_t address, uint32_t rank)
{
	return (address & BF_HOPPER_OFFSET) | rank << BF_HOPPER_RANK_SHIFT;
}

/* ---- instructions ---- */

static bool remote_allowed(enum bf_sync_op op)
{
	return op == BF_SYNC_ARRIVE || op == BF_SYNC_ARRIVE_DROP || op == BF_SYNC_EXPECT_TX ||
	       op == BF_SYNC_COMPLETE_TX || op == BF_SYNC_ST_ASYNC;
}

/* Why a lane cannot go on; BF_HOPPER_FAULT_NONE: it can. */
static enum bf_hopper_fault_kind lane_fault(const struct bf_hopper_cta *cta, const struct bf_sync_instr *in,
					    uint32_t lane)
{
	const uint32_t rank = in->address[lane] >> BF_HOPPER_RANK_SHIFT, offset = in->address[lane] & BF_HOPPER_OFFSET;
	const struct bf_hopper_cta *to = bf_hopper_cta_peer(cta, rank);

	if (!to)
		return BF_HOPPER_FAULT_GONE;
	if (offset % 8 || (uint64_t)offset + 8 > to->bytes)
		return BF_HOPPER_FAULT_ADDRESS;
	if (to != cta && !remote_allowed((enum bf_sync_op)in->op))
		return BF_HOPPER_FAULT_REMOTE;
	if (in->op != BF_SYNC_ST_ASYNC)
		return BF_HOPPER_FAULT_NONE;
	if (in->data[lane] >> BF_HOPPER_RANK_SHIFT != rank || (in->tx[lane] != 4 && in->tx[lane] != 8) ||
	    (in->data[lane] & BF_HOPPER_OFFSET) % in->tx[lane] ||
	    (uint64_t)(in->data[lane] & BF_HOPPER_OFFSET) + in->tx[lane] > to->bytes)
		return BF_HOPPER_FAULT_ADDRESS;
	return BF_HOPPER_FAULT_NONE;
}

/* Lanes of `lanes` that name this block; -1 in `*bad` or the first lane at fault, and why. */
static uint32_t own_lanes(const struct bf_hopper_cta *cta, const struct bf_sync_instr *in, int *bad,
			  enum bf_hopper_fault_kind *kind)
{
	uint32_t own = 0;

	*bad = -1;
	for (uint32_t left = in->active; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left), address = in->address[lane];
		const uint32_t offset = address & BF_HOPPER_OFFSET;

		if (BF_LIKELY(address >> BF_HOPPER_RANK_SHIFT == cta->rank && offset % 8 == 0 &&
			      (uint64_t)offset + 8 <= cta->bytes && in->op != BF_SYNC_ST_ASYNC)) {
			own |= 1u << lane;
			continue;
		}
		*kind = lane_fault(cta, in, lane);
		if (*kind) {
			*bad = (int)lane;
			return 0;
		}
	}
	return own;
}

void bf_hopper_issue(struct bf_hopper_cta *cta, struct bf_sync_instr *in)
{
	struct bf_hopper_sm *sm = cta->sm;
	enum bf_hopper_fault_kind kind;
	int bad;
	const uint32_t own = own_lanes(cta, in, &bad, &kind);

	in->base = cta->base;
	if (BF_UNLIKELY(bad >= 0)) {
		const struct bf_hopper_fault f = {
			.kind = kind,
			.op = (enum bf_sync_op)in->op,
			.sm = sm->id,
			.warp = in->warp,
			.lane = (uint32_t)bad,
			.address = in->address[bad],
		};

		bf_hopper_raise(sm->gpu, &f);
	} else if (BF_UNLIKELY(own != in->active) && !sm->gpu->fault.kind) {
		bf_hopper_send(cta, in, own);
		return;
	} else if (BF_UNLIKELY(in->op == BF_SYNC_STORE) && cta->stored) {
		for (uint32_t left = own; left; left &= left - 1)
			cta->stored(cta->stored_arg, cta, in->warp, in->address[__builtin_ctz(left)], 8);
	}
	bf_sync_issue(sm->unit, in);
}
