#include "traces/replay/sdma.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/sim.h"

#define RING_MIN_DWORDS 256u
#define MEMORY_MAX (1ull << 30) /* unless the caller says less */
#define TIME_MAX (10 * BF_S)
#define STEP BF_MS
#define EVENTS_MAX 1000000u

struct range {
	uint64_t from, to; /* pages */
};

struct replay {
	const struct bf_sdma_dump *dump;
	const struct bf_sdma_replay_opts *opts;
	struct bf_sdma_dialect dialect;
	struct bf_sdma_replay_result *r;
	struct range *ranges;
	size_t nranges, cap;
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *ring, *pointers;
	struct bf_sdma *engine;
	struct bf_sdma_queue *queue;
	bool has_space, has_ioas;
	struct bf_error *err;
};

const char *bf_sdma_replay_fate_name(enum bf_sdma_replay_fate f)
{
	static const char *const names[] = { "executed", "stopped the queue", "waits", "not reached" };

	return (size_t)f < BF_ARRAY_LEN(names) ? names[f] : "?";
}

/* ---- where in the ring ---- */

static int place(struct replay *p)
{
	const struct bf_sdma_dump *d = p->dump;
	struct bf_sdma_replay_result *r = p->r;
	const uint64_t last = (uint64_t)d->first + d->count; /* behind the last dword, the ring's end not regarded */
	uint64_t size = d->ring_dwords ? d->ring_dwords : RING_MIN_DWORDS;

	while (!d->ring_dwords && (size < last || (d->has_wptr && size < d->wptr)))
		size *= 2;
	if (size < RING_MIN_DWORDS)
		return bf_fail(p->err, -EBADMSG, "a ring of %" PRIu64 " dwords: there are none below %u", size,
			       RING_MIN_DWORDS);
	r->ring_dwords = (uint32_t)size;
	r->from = d->has_rptr && d->has_wptr && d->rptr != d->wptr ? d->rptr & (uint32_t)(size - 1) : d->first;
	r->to = d->has_wptr ? d->wptr & (uint32_t)(size - 1) : (uint32_t)(last & (size - 1));
	r->dump_stopped = d->has_rptr && d->has_wptr && d->rptr != d->wptr;
	if (((r->from - d->first) & (size - 1)) >= d->count)
		return bf_fail(p->err, -EBADMSG, "the read pointer, %" PRIu32 ", is not in the dump", r->from);
	if (((r->to - d->first) & (size - 1)) > d->count)
		return bf_fail(p->err, -EBADMSG, "the dump ends before the write pointer, %" PRIu32, r->to);
	return 0;
}

/* The dump's dword at a place in the ring; 0 outside. */
static uint32_t dword_at(const struct replay *p, uint32_t at)
{
	const uint32_t i = (at - p->dump->first) & (p->r->ring_dwords - 1);

	return i < p->dump->count ? p->dump->dw[i] : 0;
}

/* ---- which packets ---- */

static int add_packet(struct replay *p, uint32_t at, const struct bf_sdma_packet *packet, uint32_t dwords)
{
	struct bf_sdma_replay_result *r = p->r;

	if (BF_GROW(r->packets, r->packets_cap, r->npackets + 1))
		return bf_fail(p->err, -ENOMEM, "out of memory");
	r->packets[r->npackets++] =
	    (struct bf_sdma_replayed){ .place = at, .dwords = dwords, .packet = *packet, .fate = BF_SDMA_NOT_REACHED };
	return 0;
}

/* Packets up to the first that no engine would execute. */
static int cut(struct replay *p)
{
	struct bf_sdma_replay_result *r = p->r;
	const uint32_t total = ((r->to - r->from) & (r->ring_dwords - 1)) ? (r->to - r->from) & (r->ring_dwords - 1)
									  : (uint32_t)p->dump->count;
	uint32_t dw[BF_SDMA_MAX_FIXED];
	uint32_t done = 0;
	int rc = 0;

	while (!rc && done < total) {
		const uint32_t at = (r->from + done) & (r->ring_dwords - 1), left = total - done;
		struct bf_sdma_packet packet;
		enum bf_sdma_reason why;
		uint32_t n = 0;

		for (; n < BF_SDMA_MAX_FIXED && n < left; n++)
			dw[n] = dword_at(p, at + n);
		why = bf_sdma_decode(&p->dialect, dw, left, &packet);
		for (n = packet.dwords; packet.kind == BF_SDMA_KIND_NOP && n == 1 && done + n < total &&
					dword_at(p, at + n) == 0 && dw[0] == 0 && at + n < r->ring_dwords;)
			packet.dwords = ++n;
		if (why == BF_SDMA_TRUNCATED || packet.dwords > left || packet.dwords == 0)
			n = left;
		rc = add_packet(p, at, &packet, n);
		if (why != BF_SDMA_RUNS)
			break;
		done += n;
	}
	return rc;
}

/* ---- what memory they need ---- */

static int add_range(struct replay *p, uint64_t address, uint64_t bytes)
{
	const uint64_t from = address / BF_PAGE, to = (address + bytes - 1) / BF_PAGE + 1;

	if (bytes == 0 || from == 0 || address + bytes < address)
		return 0; /* the null page stays unmapped */
	if (BF_GROW(p->ranges, p->cap, p->nranges + 1))
		return bf_fail(p->err, -ENOMEM, "out of memory");
	p->ranges[p->nranges++] = (struct range){ from, to };
	return 0;
}

/* From the base to behind the last element; saturated where a wild packet would wrap. */
static uint64_t rect_bytes(const struct bf_sdma_packet *k, uint64_t x, uint64_t y, uint64_t z, uint64_t pitch,
			   uint64_t slice)
{
	const bf_u128 last =
	    (bf_u128)(x + k->x) + (bf_u128)(y + k->y) * (pitch + 1) + (bf_u128)(z + k->z) * (slice + 1);
	const bf_u128 bytes = (last + 1) << k->element;

	return bytes > MEMORY_MAX * 2 ? MEMORY_MAX * 2 : (uint64_t)bytes;
}

static int add_memory(struct replay *p, const struct bf_sdma_packet *k)
{
	const uint64_t bytes = bf_sdma_packet_bytes(k);
	int rc = 0;

	switch (k->kind) {
	case BF_SDMA_KIND_RECT:
		rc = add_range(p, k->src, rect_bytes(k, k->src_x, k->src_y, k->src_z, k->src_pitch, k->src_slice));
		return rc ? rc
			  : add_range(p, k->dst,
				      rect_bytes(k, k->dst_x, k->dst_y, k->dst_z, k->dst_pitch, k->dst_slice));
	case BF_SDMA_KIND_COPY:
		rc = add_range(p, k->src, bytes);
		if (!rc && k->broadcast)
			rc = add_range(p, k->dst2, bytes);
		return rc ? rc : add_range(p, k->dst, bytes);
	case BF_SDMA_KIND_WRITE:
	case BF_SDMA_KIND_FILL:
		return add_range(p, k->dst, bytes);
	case BF_SDMA_KIND_INDIRECT:
		return add_range(p, k->src, k->count * 4);
	case BF_SDMA_KIND_FENCE:
	case BF_SDMA_KIND_POLL:
	case BF_SDMA_KIND_ATOMIC:
	case BF_SDMA_KIND_TIMESTAMP:
	case BF_SDMA_KIND_COND_EXE:
		return add_range(p, k->dst, 8);
	case BF_SDMA_KIND_NONE:
	case BF_SDMA_KIND_NOP:
	case BF_SDMA_KIND_HDP_FLUSH:
	case BF_SDMA_KIND_TRAP:
	case BF_SDMA_KIND_DUMMY_TRAP:
	case BF_SDMA_KIND_GCR:
	case BF_SDMA_KIND_PRIVILEGED:
	case BF_SDMA_KIND_UNMODELLED:
	case BF_SDMA_KINDS:
	default:
		return 0;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int merge_ranges(struct replay *p)
{
	const uint64_t most = p->opts->memory_max ? p->opts->memory_max : MEMORY_MAX;
	size_t n = 0;

	if (p->nranges)
		qsort(p->ranges, p->nranges, sizeof(*p->ranges), by_start);
	for (size_t i = 0; i < p->nranges; i++) {
		if (n && p->ranges[i].from <= p->ranges[n - 1].to) {
			if (p->ranges[i].to > p->ranges[n - 1].to)
				p->ranges[n - 1].to = p->ranges[i].to;
		} else {
			p->ranges[n++] = p->ranges[i];
		}
	}
	p->nranges = n;
	for (size_t i = 0; i < n; i++)
		p->r->memory += (p->ranges[i].to - p->ranges[i].from) * BF_PAGE;
	if (p->r->memory > most)
		return bf_fail(p->err, -E2BIG,
			       "the packets reach %" PRIu64 " bytes of memory, more than %" PRIu64 " MiB", p->r->memory,
			       most >> 20);
	return 0;
}

/* ---- the machine ---- */

static int map(struct replay *p, const char *name, uint64_t va, uint64_t size, struct bf_region **out)
{
	const struct bf_region_opts o = { .name = name, .kind = BF_MEM_VRAM, .va = va, .size = size };
	int rc = bf_region_create(&p->space, &o, out);

	return rc ? rc : bf_ioas_map_region(&p->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

static int map_memory(struct replay *p)
{
	struct bf_rng rng;
	int rc = 0;

	bf_rng_init(&rng, p->opts->seed, "memory");
	for (size_t i = 0; !rc && i < p->nranges; i++) {
		const uint64_t size = (p->ranges[i].to - p->ranges[i].from) * BF_PAGE;
		struct bf_region *r;

		rc = map(p, "memory", p->ranges[i].from * BF_PAGE, size, &r);
		for (uint64_t at = 0; !rc && at < size; at += 8)
			bf_put_le64(r->bytes + at, bf_rng_next(&rng));
	}
	return rc;
}

/* What lies at an address; NULL when nothing was made up there. */
static uint8_t *bytes_at(struct replay *p, uint64_t va, uint64_t len)
{
	struct bf_region *r = bf_space_find(&p->space, va);

	return r && va - r->va + len <= r->size ? bf_host(r, va) : NULL;
}

/* A poll finds what it waits for; an indirect buffer holds NOPs. */
static void prepare_memory(struct replay *p)
{
	for (size_t i = 0; i < p->r->npackets; i++) {
		const struct bf_sdma_packet *k = &p->r->packets[i].packet;
		const uint64_t tries[] = { k->reference, k->reference + 1, k->reference - 1, 0, UINT64_MAX };
		const uint32_t len = k->is64 ? 8 : 4;
		const bool indirect = k->kind == BF_SDMA_KIND_INDIRECT;
		uint8_t *at = bytes_at(p, indirect ? k->src : k->dst, indirect ? k->count * 4 : len);

		if (!at)
			continue;
		if (indirect)
			memset(at, 0, k->count * 4);
		for (size_t t = 0; k->kind == BF_SDMA_KIND_POLL && t < BF_ARRAY_LEN(tries); t++) {
			const uint64_t v = k->is64 ? tries[t] : (uint32_t)tries[t];

			if (!bf_sdma_poll_holds((uint32_t)k->func, v, k->reference, k->mask))
				continue;
			memcpy(at, &v, len);
			break;
		}
	}
}

static int build(struct replay *p)
{
	struct bf_sdma_opts eo = { .name = "sdma0", .profile = p->opts->profile };
	struct bf_sdma_queue_opts qo = { .strict = p->opts->strict };
	int rc = bf_space_init(&p->space, p->sim, "gpu0", 0);

	p->has_space = !rc;
	if (!rc)
		rc = bf_ioas_init(&p->ioas, p->sim, "gpu0", BF_PAGE);
	p->has_ioas = p->has_space && !rc;
	if (!rc)
		rc = map_memory(p);
	if (!rc)
		rc = map(p, "ring", 0, (uint64_t)p->r->ring_dwords * 4, &p->ring);
	if (!rc)
		rc = map(p, "pointers", 0, BF_PAGE, &p->pointers);
	eo.space = &p->space;
	eo.ioas = &p->ioas;
	if (!rc)
		rc = bf_sdma_create(p->sim, &eo, &p->engine);
	if (rc)
		return rc;
	qo.ring = p->ring->va;
	qo.bytes = (uint64_t)p->r->ring_dwords * 4;
	qo.rptr = p->pointers->va;
	qo.wptr = p->pointers->va + 64;
	return bf_sdma_queue_create(p->engine, &qo, &p->queue);
}

/* A poll that waits for ever ends by the number of its tries, a copy of rows of bytes by the time that it takes. */
static void ring_doorbell(struct replay *p, uint64_t index)
{
	const uint64_t end_ps = p->sim->now_ps + TIME_MAX,
		       end_events = p->sim->events + EVENTS_MAX + p->dump->count * 64;
	uint64_t offset;
	struct bf_region *r = bf_sdma_doorbell(p->queue, &offset);

	bf_put_le64(p->pointers->bytes + 64, index);
	r->mmio->write(r, offset, p->pointers->bytes + 64, 8);
	while (p->sim->now_ps < end_ps && p->sim->events < end_events)
		if (bf_sim_run(p->sim, p->sim->now_ps + STEP) != BF_RUN_LIMIT)
			break;
}

/*
 * The engine begins at place 0 of a ring of zeros, which are NOPs, and so comes to the dump's beginning; then the dump
 * is put there and published.
 */
static void execute(struct replay *p)
{
	const struct bf_sdma_replay_result *r = p->r;
	const uint64_t from = (uint64_t)r->from * 4;
	const uint32_t length = (r->to - r->from) & (r->ring_dwords - 1);

	if (from)
		ring_doorbell(p, from);
	for (size_t i = 0; i < p->dump->count; i++)
		bf_put_le32(p->ring->bytes + ((p->dump->first + i) & (r->ring_dwords - 1)) * 4, p->dump->dw[i]);
	ring_doorbell(p, from + (length ? length : (uint32_t)p->dump->count) * 4ull);
}

static void judge(struct replay *p)
{
	struct bf_sdma_replay_result *r = p->r;
	uint64_t index = (uint64_t)r->from * 4;

	bf_sdma_queue_info(p->queue, &r->end);
	for (size_t i = 0; i < r->npackets; i++) {
		struct bf_sdma_replayed *k = &r->packets[i];
		const uint64_t next = index + k->dwords * 4ull;

		if (r->end.fault.reason && r->end.fault.index >= index && r->end.fault.index < next)
			k->fate = BF_SDMA_STOPPED;
		else if (next <= r->end.retired)
			k->fate = BF_SDMA_EXECUTED;
		else if (r->end.waits && r->end.retired >= index)
			k->fate = BF_SDMA_WAITING;
		if (k->fate == BF_SDMA_EXECUTED)
			r->bytes += bf_sdma_packet_bytes(&k->packet);
		index = next;
	}
	r->time_ps = p->sim->now_ps;
	r->events = p->sim->events;
	bf_stream_flush(&p->sim->rec);
	r->records = p->sim->rec.count;
	r->hash = bf_stream_hash(&p->sim->rec);
}

static int run(struct replay *p)
{
	const struct bf_sdma_profile *profile = p->opts->profile ? p->opts->profile : &bf_sdma_v6;
	int rc = place(p);

	p->dialect = (struct bf_sdma_dialect){ profile->gen, profile->wide_rect, profile->wide_count };
	if (!rc)
		rc = cut(p);
	for (size_t i = 0; !rc && i < p->r->npackets; i++)
		rc = add_memory(p, &p->r->packets[i].packet);
	if (!rc)
		rc = merge_ranges(p);
	if (rc)
		return rc;
	rc = build(p);
	if (rc)
		return bf_fail(p->err, rc, "%s", p->sim->error.text);
	prepare_memory(p);
	execute(p);
	judge(p);
	return 0;
}

static void tear_down(struct replay *p)
{
	if (p->queue)
		bf_sdma_queue_destroy(p->queue);
	if (p->engine)
		bf_sdma_destroy(p->engine);
	if (p->has_ioas)
		bf_ioas_fini(&p->ioas);
	if (p->has_space)
		bf_space_fini(&p->space);
	free(p->ranges);
}

int bf_sdma_replay_run(const struct bf_sdma_dump *d, const struct bf_sdma_replay_opts *opts,
		       struct bf_sdma_replay_result **out, struct bf_error *err)
{
	struct replay p = { .dump = d, .opts = opts, .err = err };
	int rc = bf_sim_create(opts->seed, &p.sim), closed;

	*out = NULL;
	p.r = calloc(1, sizeof(*p.r));
	if (rc || !p.r) {
		bf_sim_destroy(p.sim);
		free(p.r);
		return bf_fail(err, -ENOMEM, "out of memory");
	}
	if (opts->record_mask)
		rc = bf_stream_open(&p.sim->rec, &p.sim->now_ps, opts->record_mask, opts->sink);
	if (!rc)
		rc = run(&p);
	if (!rc && p.sim->error.code == -ENOMEM)
		rc = bf_fail(err, -ENOMEM, "the replay was stopped: %s", p.sim->error.text);
	tear_down(&p);
	closed = bf_stream_close(&p.sim->rec);
	if (!rc && closed)
		rc = bf_fail(err, closed, "cannot write the records: %s", strerror(-closed));
	bf_sim_destroy(p.sim);
	if (rc)
		bf_sdma_replay_free(p.r);
	else
		*out = p.r;
	return rc;
}

void bf_sdma_replay_free(struct bf_sdma_replay_result *r)
{
	if (r)
		free(r->packets);
	free(r);
}
