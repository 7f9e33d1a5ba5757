/* Bulk copies: what a thread issues, the rules, groups, and global memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk_internal.h"
#include "models/hopper/records_bulk.h"
#include "sim/stats.h"

#define ALL_BYTES_MAX BF_MBAR_COUNT_MAX /* of a copy: what one expect_tx can announce */

const char *bf_bulk_fault_name(enum bf_bulk_fault f)
{
	static const char *const names[BF_BULK_FAULTS] = {
		[BF_BULK_OK] = "none",
		[BF_BULK_FAULT_SIZE] = "size not a multiple of 16, or too large",
		[BF_BULK_FAULT_ALIGN] = "misaligned address",
		[BF_BULK_FAULT_WINDOW] = "outside the block's shared memory",
		[BF_BULK_FAULT_TARGET] = "no such receiver",
		[BF_BULK_FAULT_MAP] = "wrong tensor map",
		[BF_BULK_FAULT_GLOBAL] = "nothing is at the global address",
		[BF_BULK_FAULT_GONE] = "the receiver has exited",
	};

	return (unsigned)f < BF_BULK_FAULTS ? names[f] : "?";
}

/* ---- the engines of a GPU ---- */

static int attach_counts(struct bf_bulk *b)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} counts[] = {
		{ "bulk_copies", &b->counts.copies },     { "bulk_bytes", &b->counts.bytes },
		{ "bulk_requests", &b->counts.requests }, { "bulk_signals", &b->counts.signals },
		{ "bulk_merged", &b->counts.merged },     { "bulk_stale", &b->counts.stale },
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < BF_ARRAY_LEN(counts); i++)
		rc = bf_stats_attach_part(b->gpu->sim, b, b->gpu->name, counts[i].name, "", counts[i].field);
	return rc;
}

int bf_bulk_create(struct bf_hopper *gpu, struct bf_space *global, struct bf_bulk **out)
{
	struct bf_bulk *b;

	if (gpu->bulk)
		return bf_fail(&gpu->sim->error, -EEXIST, "%s has copy engines already", gpu->name);
	b = calloc(1, sizeof(*b));
	if (b)
		b->last = gpu->first_copy;
	if (b) {
		b->gpu = gpu;
		b->global = global;
		b->sm = calloc(gpu->profile.sms, sizeof(struct bf_bulk_sm *));
	}
	if (!b || !b->sm || attach_counts(b)) {
		if (b)
			free(b->sm);
		free(b);
		return bf_fail(&gpu->sim->error, -ENOMEM, "out of memory");
	}
	gpu->bulk = b;
	for (struct bf_hopper_cta *c = gpu->ctas; c; c = c->next)
		bf_bulk_adopt(b, c);
	*out = b;
	return 0;
}

struct bf_bulk_sm *bf_bulk_sm(struct bf_hopper_sm *sm)
{
	struct bf_bulk *b = sm->gpu->bulk;
	struct bf_bulk_sm *s;
	char name[64];

	if (!b) {
		bf_fail(&sm->gpu->sim->error, -ENODEV, "%s has no copy engines", sm->gpu->name);
		return NULL;
	}
	if (b->sm[sm->id])
		return b->sm[sm->id];
	s = calloc(1, sizeof(*s));
	if (!s) {
		bf_fail(&sm->gpu->sim->error, -ENOMEM, "out of memory");
		return NULL;
	}
	s->bulk = b;
	s->sm = sm;
	s->tail = &s->head;
	s->landing_tail = &s->landing;
	s->groups.sim = s->async_groups.sim = sm->gpu->sim;
	bf_event_init(&s->step, bf_bulk_step);
	bf_event_init(&s->signal, bf_bulk_signal);
	snprintf(name, sizeof(name), "%s.sm%" PRIu32 ".bulk", sm->gpu->name, sm->id);
	bf_rng_init(&s->rng, sm->gpu->sim->seed, name);
	b->sm[sm->id] = s;
	return s;
}

static void free_sm(struct bf_bulk_sm *s)
{
	if (!s)
		return;
	bf_sim_cancel(s->bulk->gpu->sim, &s->step);
	bf_sim_cancel(s->bulk->gpu->sim, &s->signal);
	free(s->old);
	free(s->owner);
	free(s);
}

void bf_bulk_destroy(struct bf_bulk *b)
{
	struct bf_bulk_job *next;

	if (!b)
		return;
	bf_bulk_pieces_free(b);
	bf_ldgsts_free(b);
	for (struct bf_bulk_job *j = b->jobs; j; j = next) {
		next = j->all;
		bf_sim_cancel(b->gpu->sim, &j->read);
		if (j->cluster)
			bf_hopper_cluster_put(j->cluster);
		free(j);
	}
	for (uint32_t i = 0; i < b->gpu->profile.sms; i++)
		free_sm(b->sm[i]);
	for (struct bf_hopper_cta *c = b->gpu->ctas; c; c = c->next)
		c->stored = NULL;
	b->gpu->bulk = NULL;
	bf_stats_detach(b->gpu->sim, b);
	free(b->sm);
	free(b);
}

void bf_bulk_adopt(struct bf_bulk *bulk, struct bf_hopper_cta *cta)
{
	cta->stored = bf_bulk_view_stored;
	cta->stored_arg = bulk;
}

void bf_bulk_leave(struct bf_bulk *bulk, struct bf_hopper_cta *cta)
{
	struct bf_bulk_sm *s = bulk->sm[cta->sm->id];

	if (!s)
		return;
	bf_groups_forget(&s->groups, cta->first_warp, cta->warps);
	bf_groups_forget(&s->async_groups, cta->first_warp, cta->warps);
	bf_bulk_view_forget(s, cta->base, cta->bytes);
}

void bf_bulk_kill(struct bf_bulk *bulk)
{
	for (uint32_t i = 0; i < bulk->gpu->profile.sms; i++)
		if (bulk->sm[i]) {
			bf_groups_kill(&bulk->sm[i]->groups);
			bf_groups_kill(&bulk->sm[i]->async_groups);
		}
}

enum bf_bulk_fault bf_bulk_fault(const struct bf_bulk *bulk)
{
	return bulk->fault;
}

const struct bf_bulk_counts *bf_bulk_counts(const struct bf_bulk *bulk)
{
	return &bulk->counts;
}

void bf_bulk_raise(struct bf_bulk_sm *s, enum bf_bulk_fault why, const struct bf_bulk_copy *copy, uint32_t slot)
{
	struct bf_hopper *gpu = s->bulk->gpu;
	const struct bf_hopper_fault f = {
		.kind = why == BF_BULK_FAULT_GONE ? BF_HOPPER_FAULT_GONE : BF_HOPPER_FAULT_COPY,
		.op = BF_SYNC_COMPLETE_TX,
		.sm = s->sm->id,
		.warp = slot,
		.lane = copy->lane,
		.address = copy->shared,
	};

	BF_EMIT(gpu->sim, s->sm->actor, hopper_bulk_fault, .global = copy->global, .copy = copy->number,
		.shared = copy->shared, .warp = slot, .reason = why);
	if (!s->bulk->fault)
		s->bulk->fault = why;
	bf_hopper_raise(gpu, &f);
}

/* ---- rules ---- */

static bool inside(const struct bf_hopper_cta *cta, uint32_t address, uint64_t bytes)
{
	return (address & BF_HOPPER_OFFSET) + bytes <= cta->bytes;
}

/* The block that an address names; NULL: none. */
static const struct bf_hopper_cta *block_of(const struct bf_hopper_cta *cta, uint32_t address)
{
	return bf_hopper_cta_peer(cta, address >> BF_HOPPER_RANK_SHIFT);
}

static enum bf_bulk_fault check_tensor(const struct bf_bulk_copy *c)
{
	struct bf_error error;

	if (c->kind == BF_BULK_PEER || bf_tensor_map_check(c->map, &error))
		return BF_BULK_FAULT_MAP;
	return c->shared % BF_BULK_LINE ? BF_BULK_FAULT_ALIGN : BF_BULK_OK;
}

/* Destination and barrier lie in one block, which is there and has room. */
static enum bf_bulk_fault check_receiver(const struct bf_hopper_cta *cta, const struct bf_bulk_copy *c, uint32_t rank)
{
	const struct bf_hopper_cta *to = bf_hopper_cta_peer(cta, rank);

	if (!to)
		return BF_BULK_FAULT_TARGET;
	if (c->barrier % 8)
		return BF_BULK_FAULT_ALIGN;
	return inside(to, c->shared, c->bytes) && inside(to, c->barrier, 8) ? BF_BULK_OK : BF_BULK_FAULT_WINDOW;
}

static enum bf_bulk_fault check_source(const struct bf_hopper_cta *cta, const struct bf_bulk_copy *c)
{
	const uint32_t address = c->kind == BF_BULK_PEER ? c->source : c->shared;

	if (c->kind == BF_BULK_LOAD)
		return BF_BULK_OK;
	if (block_of(cta, address) != cta)
		return BF_BULK_FAULT_TARGET;
	if (address % 16)
		return BF_BULK_FAULT_ALIGN;
	return inside(cta, address, c->bytes) ? BF_BULK_OK : BF_BULK_FAULT_WINDOW;
}

/* Ranks that a LOAD or PEER goes to; 0: it makes no sense. */
static uint16_t receivers(const struct bf_bulk_copy *c)
{
	const uint32_t rank = c->shared >> BF_HOPPER_RANK_SHIFT;

	if (c->multicast)
		return c->kind == BF_BULK_LOAD ? c->multicast : 0;
	if (rank != c->barrier >> BF_HOPPER_RANK_SHIFT || rank >= BF_HOPPER_CLUSTER_MAX)
		return 0;
	return (uint16_t)(1u << rank);
}

/* Checks the copy and says which blocks receive; c->bytes is set in either form. */
static enum bf_bulk_fault check(const struct bf_hopper_cta *cta, struct bf_bulk_copy *c, uint16_t *ranks)
{
	enum bf_bulk_fault fault = c->map ? check_tensor(c) : BF_BULK_OK;

	*ranks = 0;
	if (fault)
		return fault;
	if (c->map)
		c->bytes = bf_tensor_box_bytes(c->map);
	if (c->bytes % 16 || c->bytes > ALL_BYTES_MAX)
		return BF_BULK_FAULT_SIZE;
	if (c->shared % 16 || (!c->map && c->kind != BF_BULK_PEER && c->global % 16))
		return BF_BULK_FAULT_ALIGN;
	fault = check_source(cta, c);
	if (fault || c->kind == BF_BULK_STORE)
		return fault;
	*ranks = receivers(c);
	if (*ranks == 0)
		return BF_BULK_FAULT_TARGET;
	for (uint32_t left = *ranks; !fault && left; left &= left - 1)
		fault = check_receiver(cta, c, (uint32_t)__builtin_ctz(left));
	return fault;
}

/* ---- issue ---- */

static struct bf_bulk_job *take_job(struct bf_bulk *b)
{
	struct bf_bulk_job *j = b->idle_jobs;

	if (j) {
		b->idle_jobs = j->next;
		return j;
	}
	j = calloc(1, sizeof(*j));
	if (!j) {
		bf_fail(&b->gpu->sim->error, -ENOMEM, "out of memory: a bulk copy is lost");
		return NULL;
	}
	bf_event_init(&j->read, bf_bulk_read_done);
	j->all = b->jobs;
	b->jobs = j;
	return j;
}

static void record_issue(const struct bf_hopper_cta *cta, const struct bf_bulk_copy *c, uint32_t slot, uint16_t ranks)
{
	struct bf_sim *sim = cta->sm->gpu->sim;

	BF_EMIT(sim, cta->sm->actor, hopper_bulk, .global = c->map ? c->map->base : c->global, .copy = c->number,
		.shared = c->shared, .source = c->source, .barrier = c->barrier, .bytes = c->bytes, .cta = cta->number,
		.ranks = ranks, .warp = (uint16_t)slot, .lane = (uint8_t)c->lane, .kind = (uint8_t)c->kind,
		.rank = c->map ? (uint16_t)c->map->rank : 0);
}

/* The job enters the engine's queue. */
static void enqueue(struct bf_bulk_sm *s, struct bf_bulk_job *j)
{
	j->next = NULL;
	*s->tail = j;
	s->tail = &j->next;
	if (!bf_event_pending(&s->step) && !s->stalled)
		bf_sim_after(s->bulk->gpu->sim, &s->step, 0);
}

static void start(struct bf_bulk_sm *s, struct bf_hopper_cta *cta, const struct bf_bulk_copy *c, uint16_t ranks)
{
	struct bf_bulk_job *j = take_job(s->bulk);

	if (!j)
		return;
	j->copy = *c;
	j->from = s;
	j->slot = cta->first_warp + c->warp;
	j->base = cta->base;
	j->cluster = cta->cluster;
	j->cluster->holds++;
	j->ranks = ranks;
	j->left = c->bytes;
	j->pieces = 0;
	j->cut = false;
	j->item.lanes = 0;
	if (c->map) {
		j->map = *c->map;
		j->copy.map = &j->map;
		bf_tensor_walk_start(&j->walk, &j->map, c->at);
		j->run.bytes = 0;
	} else {
		j->walk.end = true;
		j->run = (struct bf_tensor_run){
			.global = c->kind == BF_BULK_PEER ? c->source & BF_HOPPER_OFFSET : c->global,
			.bytes = c->bytes,
		};
	}
	if (c->kind == BF_BULK_STORE)
		bf_groups_add(&s->groups, &j->item, j->slot, 1u << c->lane);
	enqueue(s, j);
}

/*
 * How long the thread is held up because the engine's queue is full: until enough of the copies in front are cut up, as
 * far as can be told now (L2 may make it longer).
 */
static uint64_t queue_ps(const struct bf_bulk_sm *s)
{
	const struct bf_hopper_profile *p = &s->bulk->gpu->profile;
	const struct bf_bulk_job *first = s->head;
	uint64_t bytes = 0;
	uint32_t n = 0;

	for (const struct bf_bulk_job *j = s->head; j; j = j->next)
		if (n++ >= p->bulk_queue) {
			bytes += first->left;
			first = first->next;
		}
	return bf_bulk_ps(s, bytes / BF_BULK_LINE * p->bulk_queued_mc);
}

void bf_bulk_issue(struct bf_hopper_cta *cta, struct bf_bulk_copy *c)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t slot = cta->first_warp + c->warp;
	enum bf_bulk_fault fault;
	uint16_t ranks;

	c->next_ps = gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.bulk_issue_mc);
	if (!s || gpu->fault.kind)
		return;
	c->number = ++s->bulk->last;
	fault = check(cta, c, &ranks);
	record_issue(cta, c, slot, ranks);
	if (fault) {
		bf_bulk_raise(s, fault, c, slot);
		return;
	}
	s->bulk->counts.copies++;
	if (c->bytes)
		start(s, cta, c, ranks);
	c->next_ps += queue_ps(s);
}

/* ---- groups ---- */

static struct bf_groups *groups_of(struct bf_bulk_sm *s, enum bf_bulk_groups kind)
{
	return kind == BF_GROUPS_ASYNC ? &s->async_groups : &s->groups;
}

static void record_group(const struct bf_hopper_cta *cta, enum bf_bulk_groups kind, uint32_t slot, uint32_t lanes,
			 uint32_t group, uint16_t event)
{
	struct bf_sim *sim = cta->sm->gpu->sim;

	BF_EMIT(sim, cta->sm->actor, hopper_group, .warp = slot, .lanes = lanes, .group = group, .event = event,
		.kind = (uint16_t)kind);
}

void bf_bulk_group_commit(struct bf_hopper_cta *cta, enum bf_bulk_groups kind, uint32_t warp, uint32_t lanes)
{
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t slot = cta->first_warp + warp;

	if (s)
		record_group(cta, kind, slot, lanes, bf_groups_commit(groups_of(s, kind), slot, lanes), 0);
}

void bf_bulk_group_wait(struct bf_hopper_cta *cta, enum bf_bulk_groups kind, struct bf_copy_wait *w)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);

	if (!s)
		return;
	w->slot = cta->first_warp + w->warp;
	w->killed = gpu->fault.kind != BF_HOPPER_FAULT_NONE;
	record_group(cta, kind, w->slot, w->lanes, w->keep, w->read ? 2 : 1);
	bf_groups_wait(groups_of(s, kind), w, false, bf_hopper_mc(gpu, gpu->profile.group_wait_mc));
}

void bf_bulk_commit(struct bf_hopper_cta *cta, uint32_t warp, uint32_t lanes)
{
	bf_bulk_group_commit(cta, BF_GROUPS_BULK, warp, lanes);
}

void bf_bulk_wait(struct bf_hopper_cta *cta, struct bf_copy_wait *w)
{
	bf_bulk_group_wait(cta, BF_GROUPS_BULK, w);
}

bool bf_bulk_storing(const struct bf_hopper_cta *cta, uint32_t warp)
{
	const struct bf_bulk *b = cta->sm->gpu->bulk;
	const struct bf_bulk_sm *s = b ? b->sm[cta->sm->id] : NULL;

	return s && s->groups.warp[cta->first_warp + warp].items;
}

/* ---- global memory ---- */

/* The region of DRAM or VRAM that holds the bytes; NULL: none does. */
static struct bf_region *find(struct bf_bulk *b, uint64_t va, uint32_t len)
{
	struct bf_region *r = bf_space_find(b->global, va);

	return r && r->kind != BF_MEM_MMIO && len <= r->size - (va - r->va) ? r : NULL;
}

/* Bytes up to the end of a memory line: what a cache takes at once. */
static uint32_t in_line(uint64_t va, uint32_t len)
{
	const uint32_t left = BF_LINE - (uint32_t)(va % BF_LINE);

	return len < left ? len : left;
}

bool bf_bulk_global_read(struct bf_bulk_sm *s, uint64_t va, void *data, uint32_t len)
{
	struct bf_region *r = find(s->bulk, va, len);
	uint8_t *out = data;

	if (!r)
		return false;
	bf_mem_seen(r, bf_host(r, va), len, s->sm->actor);
	if (!r->cache)
		memcpy(out, bf_host(r, va), len);
	else
		for (uint32_t n; len; va += n, out += n, len -= n) {
			n = in_line(va, len);
			r->cache->ops->load(r->cache, r, va - r->va, out, n, false);
		}
	return true;
}

bool bf_bulk_global_write(struct bf_bulk_sm *s, uint64_t va, const void *data, uint32_t len)
{
	struct bf_region *r = find(s->bulk, va, len);
	const uint8_t *in = data;
	uint64_t at = va;

	if (!r)
		return false;
	if (!r->cache)
		memcpy(bf_host(r, va), in, len);
	else
		for (uint32_t n, left = len; left; at += n, in += n, left -= n) {
			n = in_line(at, left);
			r->cache->ops->store(r->cache, r, at - r->va, in, n, false, s->sm->actor);
		}
	bf_mem_touched(r, bf_host(r, va), len);
	return true;
}
