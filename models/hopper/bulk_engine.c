/* The copy engine of an SM: a copy is cut into requests, they go out, their data land. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk_internal.h"
#include "models/hopper/records_bulk.h"

#define BURST 4u  /* requests made in one event: a matter of speed, not of the hardware */
#define SLAB 256u /* pieces allocated together */

struct bf_bulk_slab {
	struct bf_bulk_slab *next;
	struct bf_bulk_piece piece[SLAB];
};

/* ---- pieces ---- */

static struct bf_bulk_piece *take_piece(struct bf_bulk *b)
{
	struct bf_bulk_piece *p = b->idle;

	if (!p) {
		struct bf_bulk_slab *slab = calloc(1, sizeof(*slab));

		if (!slab) {
			bf_fail(&b->gpu->sim->error, -ENOMEM, "out of memory: part of a bulk copy is lost");
			return NULL;
		}
		slab->next = b->slabs;
		b->slabs = slab;
		for (uint32_t i = SLAB; i-- > 0;) {
			bf_event_init(&slab->piece[i].event, bf_bulk_landed);
			slab->piece[i].next = b->idle;
			b->idle = &slab->piece[i];
		}
		p = b->idle;
	}
	b->idle = p->next;
	return p;
}

void bf_bulk_pieces_free(struct bf_bulk *b)
{
	for (struct bf_bulk_slab *slab = b->slabs, *next; slab; slab = next) {
		next = slab->next;
		for (uint32_t i = 0; i < SLAB; i++)
			bf_sim_cancel(b->gpu->sim, &slab->piece[i].event);
		free(slab);
	}
	b->slabs = NULL;
	b->idle = NULL;
}

/* ---- the end of a copy ---- */

static void record_end(const struct bf_bulk_job *j, uint32_t event)
{
	struct bf_sim *sim = j->from->bulk->gpu->sim;

	BF_EMIT(sim, j->from->sm->actor, hopper_bulk_end, .copy = j->copy.number, .event = event);
}

void bf_bulk_read_done(struct bf_event *ev)
{
	struct bf_bulk_job *j = BF_CONTAINER_OF(ev, struct bf_bulk_job, read);

	record_end(j, 0);
	bf_groups_read(&j->from->groups, &j->item);
}

static void end_if_done(struct bf_bulk_job *j)
{
	struct bf_bulk *b = j->from->bulk;

	if (!j->cut || j->pieces)
		return;
	if (bf_event_pending(&j->read)) {
		bf_sim_cancel(b->gpu->sim, &j->read);
		bf_bulk_read_done(&j->read);
	}
	record_end(j, 1);
	bf_groups_done(&j->from->groups, &j->item);
	bf_hopper_cluster_put(j->cluster);
	j->cluster = NULL;
	j->next = b->idle_jobs;
	b->idle_jobs = j;
}

void bf_bulk_piece_done(struct bf_bulk_piece *p)
{
	struct bf_bulk_job *j = p->job;
	struct bf_bulk_sm *s = j->from;

	p->next = s->bulk->idle;
	s->bulk->idle = p;
	j->pieces--;
	end_if_done(j);
}

/* ---- cutting ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * The next request: it crosses no 128-byte line, neither of its source nor of its destination. Only the second explains
 * the sums of tx_partial's rows whose source is 16 bytes off. False: the copy is cut up. What lies outside the tensor
 * is not stored.
 */
static bool next_request(struct bf_bulk_job *j, struct bf_tensor_run *request)
{
	struct bf_tensor_run *run = &j->run;
	const uint32_t shared = j->copy.shared & BF_HOPPER_OFFSET;
	uint32_t n;

	while (run->bytes == 0 || (run->outside && j->copy.kind == BF_BULK_STORE))
		if (!bf_tensor_walk_next(&j->walk, run))
			return false;
	n = least(run->bytes, BF_BULK_LINE - (shared + run->shared) % BF_BULK_LINE);
	if (!run->outside)
		n = least(n, BF_BULK_LINE - (uint32_t)(run->global % BF_BULK_LINE));
	*request = *run;
	request->bytes = n;
	j->left -= n;
	run->bytes -= n;
	run->shared += n;
	run->global += n;
	return true;
}

/* ---- requests ---- */

static void fill(const struct bf_tensor_map *map, uint8_t *data, uint32_t bytes)
{
	const uint64_t value = bf_tensor_fill(map);
	const uint32_t size = bf_tensor_element(map->type);

	for (uint32_t i = 0; i < bytes; i += size)
		memcpy(data + i, &value, size);
}

/* Reads [address, address + len) of a block's window at `base`, through the swizzle and the async proxy. */
static void read_shared(struct bf_bulk_job *j, uint32_t address, uint8_t *data, uint32_t len)
{
	const enum bf_tensor_swizzle swizzle = j->copy.map ? j->map.swizzle : BF_TENSOR_SWIZZLE_NONE;

	for (uint32_t n; len; address += n, data += n, len -= n) {
		n = swizzle ? least(len, 16 - address % 16) : len;
		bf_bulk_view_read(j->from, j->base + bf_tensor_swizzled(swizzle, address), data, n, j->copy.number);
	}
}

/* What the request carries; false: nothing is at the address, and the kernel has ended. */
static bool sample(struct bf_bulk_job *j, const struct bf_tensor_run *r, uint8_t *data)
{
	bool good = true;

	if (r->outside)
		fill(&j->map, data, r->bytes);
	else if (j->copy.kind == BF_BULK_LOAD)
		good = bf_bulk_global_read(j->from, r->global, data, r->bytes);
	else if (j->copy.kind == BF_BULK_PEER)
		read_shared(j, (uint32_t)r->global, data, r->bytes);
	else
		read_shared(j, (j->copy.shared & BF_HOPPER_OFFSET) + r->shared, data, r->bytes);
	if (!good)
		bf_bulk_raise(j->from, BF_BULK_FAULT_GLOBAL, &j->copy, j->slot);
	return good;
}

/* Takes `bytes` through something that passes so many a cycle, first come, first served; returns when that is done. */
static uint64_t pass(uint64_t *free_fs, uint64_t now_ps, uint32_t bytes, uint32_t cycle_ps, uint32_t bytes_a_cycle)
{
	const uint64_t now_fs = now_ps * 1000;

	*free_fs = (*free_fs > now_fs ? *free_fs : now_fs) + (uint64_t)bytes * cycle_ps * 1000 / bytes_a_cycle;
	return *free_fs / 1000;
}

/* When L2 has served the request: both the line's slice and the port that the SM shares with others had to be free. */
static uint64_t through_l2(const struct bf_bulk_sm *s, uint64_t global, uint64_t now_ps, uint32_t bytes)
{
	const struct bf_hopper_profile *p = &s->bulk->gpu->profile;
	struct bf_bulk *b = s->bulk;
	uint64_t hash = global / BF_BULK_LINE, port, slice;

	port = pass(&b->port_free_fs[s->sm->id % p->l2_ports], now_ps, bytes, p->cycle_ps, p->l2_port_bytes);
	slice =
	    pass(&b->slice_free_fs[bf_splitmix64(&hash) % p->l2_slices], now_ps, bytes, p->cycle_ps, p->l2_slice_bytes);
	return port > slice ? port : slice;
}

/* By how much chance delays a request: the more of the engine's are under way, the more they meet. */
static uint64_t chance_ps(struct bf_bulk_sm *s)
{
	const struct bf_hopper_profile *p = &s->bulk->gpu->profile;
	const uint64_t crowd = s->under_way < p->bulk_spread_requests ? s->under_way : p->bulk_spread_requests;

	return bf_rng_below(&s->rng, bf_bulk_ps(s, p->bulk_spread_mc * crowd / p->bulk_spread_requests) + 1);
}

/* When the first bytes of the request land, but for chance. */
static uint64_t landing_ps(struct bf_bulk_job *j, const struct bf_tensor_run *r, uint64_t now_ps)
{
	const struct bf_hopper_profile *p = &j->from->bulk->gpu->profile;

	if (j->copy.kind == BF_BULK_PEER)
		return now_ps + bf_bulk_ps(j->from, p->bulk_peer_mc);
	if (!r->outside)
		now_ps = through_l2(j->from, r->global, now_ps, r->bytes);
	return now_ps + bf_bulk_ps(j->from, j->copy.kind == BF_BULK_LOAD ? p->bulk_latency_mc : p->bulk_write_mc);
}

/* One receiver's part of the request goes on its way. */
static void send(struct bf_bulk_job *j, const struct bf_tensor_run *r, uint32_t rank, const uint8_t *data,
		 uint64_t when)
{
	struct bf_bulk_sm *s = j->from;
	struct bf_bulk_piece *p = take_piece(s->bulk);

	if (!p)
		return;
	p->job = j;
	p->global = r->global;
	p->shared = (j->copy.shared & BF_HOPPER_OFFSET) + r->shared;
	p->bytes = (uint16_t)r->bytes;
	p->signalled = 0;
	p->rank = (uint8_t)rank;
	p->lead = (uint8_t)((r->outside ? p->shared : r->global) % BF_BULK_SECTOR);
	p->outside = r->outside;
	memcpy(p->data, data, r->bytes);
	j->pieces++;
	s->bulk->counts.requests++;
	when += chance_ps(s);
	s->under_way++;
	bf_sim_at(s->bulk->gpu->sim, &p->event, when);
}

/* The engine's time for a request. */
static uint64_t request_cost(const struct bf_bulk_job *j, uint32_t bytes)
{
	const struct bf_hopper_profile *p = &j->from->bulk->gpu->profile;

	if (j->copy.kind == BF_BULK_PEER)
		return bf_bulk_ps(j->from, (uint64_t)p->bulk_peer_line_mc * bytes / BF_BULK_LINE);
	if (bytes < BF_BULK_LINE)
		return bf_bulk_ps(j->from, p->bulk_part_mc);
	return bf_bulk_ps(j->from, j->next ? p->bulk_queued_mc : p->bulk_line_mc);
}

/* Makes the next request of the job at `now_ps`; false: none is left, or the kernel has ended. */
static bool request(struct bf_bulk_job *j, uint64_t now_ps, uint64_t *cost_ps)
{
	struct bf_tensor_run r;
	uint8_t data[BF_BULK_LINE];
	uint64_t when;

	if (!next_request(j, &r) || !sample(j, &r, data))
		return false;
	when = landing_ps(j, &r, now_ps);
	if (j->copy.kind == BF_BULK_STORE)
		send(j, &r, 0, data, when);
	for (uint32_t left = j->ranks; left; left &= left - 1)
		send(j, &r, (uint32_t)__builtin_ctz(left), data, when);
	*cost_ps = request_cost(j, r.bytes);
	return true;
}

/* The copy at the head has no request left. */
static void finish_cutting(struct bf_bulk_sm *s, uint64_t now_ps)
{
	struct bf_bulk_job *j = s->head;
	struct bf_hopper *gpu = s->bulk->gpu;

	s->head = j->next;
	if (!s->head)
		s->tail = &s->head;
	j->cut = true;
	if (j->copy.kind == BF_BULK_STORE && j->pieces)
		bf_sim_at(gpu->sim, &j->read, now_ps + bf_hopper_mc(gpu, gpu->profile.bulk_read_mc));
	end_if_done(j);
}

void bf_bulk_step(struct bf_event *ev)
{
	struct bf_bulk_sm *s = BF_CONTAINER_OF(ev, struct bf_bulk_sm, step);
	struct bf_hopper *gpu = s->bulk->gpu;
	uint64_t t = gpu->sim->now_ps;

	for (uint32_t i = 0; i < BURST && s->head && !gpu->fault.kind; i++) {
		uint64_t cost = 0;

		s->stalled = s->under_way >= gpu->profile.bulk_window;
		if (s->stalled)
			return;
		if (!request(s->head, t, &cost) && !gpu->fault.kind)
			finish_cutting(s, t);
		t += cost;
	}
	if (gpu->fault.kind)
		return;
	/* The engine is busy until `t`, also when nothing is left. */
	if (s->head || t > gpu->sim->now_ps)
		bf_sim_at(gpu->sim, &s->step, t);
}

/* ---- landing ---- */

static void record_piece(const struct bf_bulk_piece *p, uint32_t actor)
{
	struct bf_sim *sim = p->job->from->bulk->gpu->sim;

	BF_EMIT(sim, actor, hopper_bulk_piece, .global = p->global, .copy = p->job->copy.number,
		.shared = p->shared | (uint32_t)p->rank << BF_HOPPER_RANK_SHIFT, .bytes = p->bytes,
		.outside = p->outside);
}

static void write_shared(struct bf_bulk_sm *to, uint32_t base, const struct bf_bulk_piece *p)
{
	const struct bf_bulk_copy *c = &p->job->copy;
	const enum bf_tensor_swizzle swizzle = c->map ? p->job->map.swizzle : BF_TENSOR_SWIZZLE_NONE;
	const uint8_t *data = p->data;
	uint32_t address = p->shared;
	uint8_t sum[BF_BULK_LINE];

	if (c->combine) {
		bf_bulk_view_read(to, base + address, sum, p->bytes, c->number);
		c->combine(c->how, true, sum, data, p->bytes);
		bf_bulk_view_write(to, base + address, sum, p->bytes);
		return;
	}

	for (uint32_t n, len = p->bytes; len; address += n, data += n, len -= n) {
		n = swizzle ? least(len, 16 - address % 16) : len;
		bf_bulk_view_write(to, base + bf_tensor_swizzled(swizzle, address), data, n);
	}
}

static void land_shared(struct bf_bulk_piece *p)
{
	struct bf_bulk_job *j = p->job;
	struct bf_hopper_cta *cta = j->cluster->cta[p->rank];
	struct bf_bulk_sm *to = cta ? bf_bulk_sm(cta->sm) : NULL;

	if (!to) {
		if (!cta)
			bf_bulk_raise(j->from, BF_BULK_FAULT_GONE, &j->copy, j->slot);
		return;
	}
	record_piece(p, cta->sm->actor);
	write_shared(to, cta->base, p);
	p->barrier = cta->base + (j->copy.barrier & BF_HOPPER_OFFSET);
	bf_bulk_signal_later(to, p);
}

/* False: nothing is there. */
static bool land_global(struct bf_bulk_piece *p)
{
	const struct bf_bulk_job *j = p->job;
	struct bf_bulk_sm *s = j->from;
	uint8_t sum[BF_BULK_LINE];

	if (!j->copy.combine)
		return bf_bulk_global_write(s, p->global, p->data, p->bytes);
	if (!bf_bulk_global_read(s, p->global, sum, p->bytes))
		return false;
	j->copy.combine(j->copy.how, false, sum, p->data, p->bytes);
	return bf_bulk_global_write(s, p->global, sum, p->bytes);
}

void bf_bulk_landed(struct bf_event *ev)
{
	struct bf_bulk_piece *p = BF_CONTAINER_OF(ev, struct bf_bulk_piece, event);
	struct bf_bulk_job *j = p->job;
	struct bf_bulk_sm *s = j->from;
	struct bf_sim *sim = s->bulk->gpu->sim;

	if (s->bulk->gpu->fault.kind)
		return; /* the kernel has ended: nothing happens any more */
	p->landed_ps = sim->now_ps;
	s->bulk->counts.bytes += p->bytes;
	s->under_way--;
	if (s->stalled) {
		s->stalled = false;
		bf_sim_after(sim, &s->step, 0);
	}
	if (j->copy.kind != BF_BULK_STORE) {
		land_shared(p);
		return;
	}
	record_piece(p, s->sm->actor);
	if (land_global(p))
		bf_bulk_piece_done(p);
	else
		bf_bulk_raise(s, BF_BULK_FAULT_GLOBAL, &j->copy, j->slot);
}
