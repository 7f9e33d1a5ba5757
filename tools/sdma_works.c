/*
 * The SDMA workloads, after KFDTest's inventory (libhsakmt tests/kfdtest, KFDQMTest and its like): each function below
 * makes the plan of one.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "drivers/sdma/memcpy3d.h"
#include "sim/bytes.h"
#include "tools/sdma_plan.h"

/* The seed's surfaces: 128 rows of 128 bytes, 128 slices; 32 x 32 bytes go to the middle of a slice. */
#define RECT_SIDE 128u
#define RECT_COPY 32u
#define RECT_AT ((RECT_SIDE - RECT_COPY) / 2)
#define RECT_SLICE (RECT_SIDE * RECT_SIDE)
#define RECT_BYTES ((uint64_t)RECT_SLICE * RECT_SIDE)

#define PAGE 4096u
#define WINDOW 8u /* sdma-concurrent: destinations, and submissions between two idle waits, as KFDTest's */
#define HEAP_MAX (2ull << 30)
#define TILES_BYTES (96u << 10) /* most that one surface of sdma-tiles and sdma-memcpy3d takes */

static uint64_t align64(uint64_t v)
{
	return (v + 63) & ~63ull;
}

static uint32_t queue_of(const struct bf_sdma_plan *p, uint32_t producer)
{
	return producer % p->w->queues;
}

/* Submits `body`, waits for it and looks at the destination. */
static void blocking(struct bf_sdma_plan *p, uint32_t thread, uint32_t queue, const struct bf_sdma_body *body,
		     uint32_t packets, uint64_t dst, uint64_t bytes)
{
	const uint32_t pe = p->nthreads ? p->threads[thread].pe : 0;
	const struct bf_sdma_submission how = { .done = bf_sdma_plan_signal(p, pe, 1, 0) };

	bf_sdma_plan_submit(p, thread, queue, body, &how, packets);
	bf_sdma_plan_wait(p, thread, &how.done, 0);
	bf_sdma_plan_check(p, thread, pe, dst, bytes);
}

/* ---- rectangles ---- */

static void rect_of_element(struct bf_sdma_plan *p, uint32_t thread, uint64_t src, uint32_t element)
{
	const uint64_t dst = bf_sdma_plan_area(p, 0, RECT_BYTES, "the rect's destination");
	const struct bf_sdma_tile tile = {
		.sbase = bf_sdma_plan_va(p, 0, src),
		.dbase = bf_sdma_plan_va(p, 0, dst),
		.element = element,
		.src_pitch = (RECT_SIDE >> element) - 1,
		.dst_pitch = (RECT_SIDE >> element) - 1,
		.src_slice = (RECT_SLICE >> element) - 1,
		.dst_slice = (RECT_SLICE >> element) - 1,
		.doff = RECT_AT >> element,
		.dst_y = RECT_AT,
		.x = (RECT_COPY >> element) - 1,
		.y = RECT_COPY - 1,
	};
	struct bf_sdma_body body;

	bf_sdma_plan_body(p, &body, BF_SDMA_RECT_DWORDS);
	bf_sdma_add_tile(&body, &tile);
	for (uint32_t y = 0; y < RECT_COPY; y++)
		bf_sdma_plan_copied(p, 0, dst + (RECT_AT + y) * RECT_SIDE + RECT_AT, 0, src + y * RECT_SIDE, RECT_COPY);
	blocking(p, thread, 0, &body, 1, dst + RECT_AT * RECT_SIDE + RECT_AT, RECT_COPY);
	bf_sdma_plan_picture(p, dst, element, RECT_AT, RECT_AT, RECT_COPY, RECT_COPY, RECT_SIDE);
	bf_sdma_plan_say(p,
			 "%sone pixel size          %u byte%s\nsource rect size        %u * %u bytes\n"
			 "destination rect size   %u * %u bytes\ncopy rect size          %u * %u * 1 bytes\n"
			 "source offset           (0, 0, 0) pixels\ndestination offset      (%u, %u, 0) pixels\n",
			 p->result->info[0] ? "\n" : "", 1u << element, element ? "s" : "", RECT_SIDE, RECT_SLICE,
			 RECT_SIDE, RECT_SLICE, RECT_COPY, RECT_COPY, RECT_AT >> element, RECT_AT);
}

static void plan_rect(struct bf_sdma_plan *p)
{
	const uint32_t thread = bf_sdma_plan_thread(p, 0);
	const uint64_t src = bf_sdma_plan_area(p, 0, RECT_BYTES, "the rect's source");

	/* Neighbours differ, and a picture shows which way is up. */
	for (uint32_t i = 0; i < RECT_SLICE; i++) {
		const uint8_t v = (uint8_t)(16 + 3 * (i % RECT_SIDE) + 4 * (i / RECT_SIDE)) | 1;

		bf_sdma_plan_before(p, 0, src + i, &v, 1);
	}
	for (uint32_t e = 0; e <= 4; e++)
		if (!p->w->element || p->w->element == 1u << e)
			rect_of_element(p, thread, src, e);
}

/* A surface that holds the range at some offset and fits TILES_BYTES. */
static void random_side(struct bf_sdma_plan *p, const struct bf_sdma_dim3 *range, struct bf_sdma_pitched *side,
			struct bf_sdma_dim3 *off)
{
	struct bf_rng *r = &p->rng;

	*off = (struct bf_sdma_dim3){ (uint32_t)bf_rng_below(r, 40), (uint32_t)bf_rng_below(r, 5),
				      (uint32_t)bf_rng_below(r, 2) };
	side->pitch = (off->x + range->x + 3 + bf_rng_below(r, 64)) & ~3ull;
	if (bf_rng_chance(r, 500000))
		side->pitch = (side->pitch + 15) & ~15ull;
	side->slice = side->pitch * (off->y + range->y + bf_rng_below(r, 3));
}

static bool fits(const struct bf_sdma_pitched *side, const struct bf_sdma_dim3 *off, uint32_t slices)
{
	return side->slice * (off->z + slices) <= TILES_BYTES;
}

static void draw_rect(struct bf_sdma_plan *p, struct bf_sdma_rect *r)
{
	struct bf_rng *g = &p->rng;

	r->range.x = 1 + (uint32_t)bf_rng_below(g, bf_rng_chance(g, 200000) ? 20000 : 300);
	r->range.y = 1 + (uint32_t)bf_rng_below(g, r->range.x > 300 ? 2 : 20);
	r->range.z = 1 + (uint32_t)bf_rng_below(g, r->range.x > 300 ? 1 : 4);
	if (bf_rng_chance(g, 500000))
		r->range.x = (r->range.x + 15) & ~15u;
	random_side(p, &r->range, &r->src, &r->src_off);
	random_side(p, &r->range, &r->dst, &r->dst_off);
}

static void random_rect(struct bf_sdma_plan *p, struct bf_sdma_rect *r)
{
	do
		draw_rect(p, r);
	while (!fits(&r->src, &r->src_off, r->range.z) || !fits(&r->dst, &r->dst_off, r->range.z));
}

static void plan_tiles(struct bf_sdma_plan *p)
{
	const uint32_t thread = bf_sdma_plan_thread(p, 0);
	uint64_t packets = 0;

	for (uint32_t c = 0; c < p->w->commands && !p->rc; c++) {
		const uint64_t src = bf_sdma_plan_area(p, 0, TILES_BYTES, "a rect's source");
		const uint64_t dst = bf_sdma_plan_area(p, 0, TILES_BYTES, "a rect's destination");
		struct bf_sdma_body body, measure;
		struct bf_sdma_rect r;

		random_rect(p, &r);
		r.src.base = bf_sdma_plan_va(p, 0, src);
		r.dst.base = bf_sdma_plan_va(p, 0, dst);
		bf_sdma_plan_random(p, 0, src, TILES_BYTES);
		bf_sdma_body_begin(&measure, &p->w->caps, 0, NULL, 0);
		if (bf_sdma_rect_copy(&measure, &r) != BF_SDMA_RECT_OK)
			continue; /* refused before it gets to the engine */
		bf_sdma_plan_body(p, &body, measure.n);
		bf_sdma_rect_copy(&body, &r);
		for (uint32_t z = 0; z < r.range.z; z++)
			for (uint32_t y = 0; y < r.range.y; y++)
				bf_sdma_plan_copied(p, 0,
						    dst + r.dst_off.x + (r.dst_off.y + y) * r.dst.pitch +
							(r.dst_off.z + z) * r.dst.slice,
						    0,
						    src + r.src_off.x + (r.src_off.y + y) * r.src.pitch +
							(r.src_off.z + z) * r.src.slice,
						    r.range.x);
		packets += body.n / BF_SDMA_RECT_DWORDS;
		blocking(p, thread, queue_of(p, c), &body, body.n / BF_SDMA_RECT_DWORDS, 0, 0);
	}
	bf_sdma_plan_say(p, "rects                   %u, in %" PRIu64 " tiles\n", p->w->commands, packets);
}

/* ---- plain transfers ---- */

static uint32_t pieces(uint64_t bytes, uint32_t most)
{
	return (uint32_t)((bytes + most - 1) / most);
}

/* One command of sdma-copy: along `hops` areas, each copy reading what the one before wrote. */
static void copy_along(struct bf_sdma_plan *p, uint32_t thread, uint32_t queue)
{
	const uint64_t bytes = p->w->size;
	const uint32_t each = pieces(bytes, p->w->caps.copy_max);
	uint64_t from = bf_sdma_plan_area(p, 0, bytes, "a copy's source"), to = 0;
	struct bf_sdma_body body;

	bf_sdma_plan_random(p, 0, from, bytes);
	bf_sdma_plan_body(p, &body, p->w->hops * (each * BF_SDMA_COPY_LINEAR_DWORDS + 1));
	for (uint32_t h = 0; h < p->w->hops; h++) {
		to = bf_sdma_plan_area(p, 0, bytes, "a copy's destination");
		if (h)
			bf_sdma_order(&body);
		bf_sdma_copy(&body, bf_sdma_plan_va(p, 0, to), bf_sdma_plan_va(p, 0, from), bytes);
		bf_sdma_plan_copied(p, 0, to, 0, from, bytes);
		from = to;
	}
	blocking(p, thread, queue, &body, p->w->hops * (each + 1) - 1, to, bytes);
}

static void plan_copy(struct bf_sdma_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_along(p, thread, queue_of(p, i));
	}
}

static void plan_fill(struct bf_sdma_plan *p)
{
	const uint64_t dwords = p->w->size / 4;

	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t dst = bf_sdma_plan_area(p, 0, p->w->size, "a fill's destination");
			const uint32_t value = (uint32_t)bf_rng_next(&p->rng);
			struct bf_sdma_body body;

			bf_sdma_plan_body(p, &body, pieces(p->w->size, p->w->caps.fill_max) * BF_SDMA_FILL_DWORDS);
			bf_sdma_fill(&body, bf_sdma_plan_va(p, 0, dst), value, dwords);
			bf_sdma_plan_filled(p, 0, dst, value, dwords);
			blocking(p, thread, queue_of(p, i), &body, body.n / BF_SDMA_FILL_DWORDS, dst, p->w->size);
		}
	}
}

/* A WRITE of `n` dwords drawn by seed. */
static void add_random_write(struct bf_sdma_plan *p, struct bf_sdma_body *body, uint64_t dst, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += 64) {
		const uint32_t some = n - i < 64 ? n - i : 64;
		uint32_t data[64];

		for (uint32_t k = 0; k < some; k++)
			data[k] = (uint32_t)bf_rng_next(&p->rng);
		bf_sdma_add_write(body, bf_sdma_plan_va(p, 0, dst + i * 4ull), data, some);
		bf_sdma_plan_stored(p, 0, dst + i * 4ull, data, some * 4ull);
	}
}

static void plan_write(struct bf_sdma_plan *p)
{
	const uint32_t n = (uint32_t)(p->w->size / 4), packets = (n + 63) / 64;

	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t dst = bf_sdma_plan_area(p, 0, p->w->size, "a write's destination");
			struct bf_sdma_body body;

			bf_sdma_plan_body(p, &body, n + packets * BF_SDMA_WRITE_DWORDS);
			add_random_write(p, &body, dst, n);
			blocking(p, thread, queue_of(p, i), &body, packets, dst, p->w->size);
		}
	}
}

/* ---- signals ---- */

/*
 * A copy that depends on a 64-bit signal which another thread counts down past 2^32, and writes the source just before
 * it reaches zero. The engine may not start before; it tells the time, decrements its own signal, stores the event's
 * number and raises it.
 */
static void plan_fence(struct bf_sdma_plan *p)
{
	const uint32_t waiter = bf_sdma_plan_thread(p, 0), counter = bf_sdma_plan_thread(p, 0);
	const uint64_t mailbox = bf_sdma_plan_area(p, 0, 8, "the mailbox");

	for (uint32_t c = 0; c < p->w->commands; c++) {
		const struct bf_sdma_signal dep = bf_sdma_plan_signal(p, 0, 1ull << 32, 0);
		struct bf_sdma_submission how = { .ndeps = 1 };
		const uint64_t src = bf_sdma_plan_area(p, 0, p->w->size, "a source");
		const uint64_t dst = bf_sdma_plan_area(p, 0, p->w->size, "a destination");
		const uint32_t event = BF_SDMA_PLAN_EVENT;
		const uint64_t word = bf_rng_next(&p->rng);
		struct bf_sdma_body body;

		how.deps[0] = dep;
		how.done = bf_sdma_plan_signal(p, 0, 1, 0);
		how.done.mailbox_va = bf_sdma_plan_va(p, 0, mailbox);
		how.done.event = event;
		bf_sdma_plan_timed(p, 0, &how);
		bf_sdma_plan_random(p, 0, src, p->w->size);
		bf_sdma_plan_delay(p, counter, 2000);
		bf_sdma_plan_wait(p, counter, &dep, 1ull << 32);
		bf_sdma_plan_store(p, counter, 0, dep.va - p->heap[0].va, UINT32_MAX);
		bf_sdma_plan_delay(p, counter, 20000);
		bf_sdma_plan_store(p, counter, 0, src, word);
		bf_sdma_plan_store(p, counter, 0, dep.va - p->heap[0].va, 0);
		bf_sdma_plan_body(p, &body, pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS);
		bf_sdma_copy(&body, bf_sdma_plan_va(p, 0, dst), bf_sdma_plan_va(p, 0, src), p->w->size);
		bf_sdma_plan_copied(p, 0, dst, 0, src, p->w->size);
		bf_sdma_plan_stored(p, 0, mailbox, &event, 4);
		bf_sdma_plan_submit(p, waiter, 0, &body, &how, body.n / BF_SDMA_COPY_LINEAR_DWORDS);
		bf_sdma_plan_wait(p, waiter, &how.done, 0);
		bf_sdma_plan_check(p, waiter, 0, dst, p->w->size);
		bf_sdma_plan_wait(p, counter, &how.done, 0);
		p->traps++;
	}
}

/* ---- queues ---- */

/* KFDTest's pair: a page is copied, then a marker is written; plain packets, no cache control. */
static void copy_and_mark(struct bf_sdma_plan *p, uint32_t thread, uint32_t queue, bool wait)
{
	const uint64_t src = bf_sdma_plan_area(p, 0, p->w->size, "a source");
	const uint64_t dst = bf_sdma_plan_area(p, 0, p->w->size, "a destination");
	const uint64_t marker = bf_sdma_plan_area(p, 0, 8, "a marker");
	struct bf_sdma_submission how = { .plain = 1 };
	struct bf_sdma_body body;

	bf_sdma_plan_random(p, 0, src, p->w->size);
	bf_sdma_plan_body(
	    p, &body, pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS + BF_SDMA_WRITE_DWORDS + 2);
	bf_sdma_copy(&body, bf_sdma_plan_va(p, 0, dst), bf_sdma_plan_va(p, 0, src), p->w->size);
	bf_sdma_plan_copied(p, 0, dst, 0, src, p->w->size);
	add_random_write(p, &body, marker, 2);
	how.done = bf_sdma_plan_signal(p, 0, 1, 0);
	bf_sdma_plan_submit(p, thread, queue, &body, &how, 2);
	if (wait) {
		bf_sdma_plan_wait(p, thread, &how.done, 0);
		bf_sdma_plan_check(p, thread, 0, dst, p->w->size);
		bf_sdma_plan_check(p, thread, 0, marker, 8);
	}
}

static void plan_queues(struct bf_sdma_plan *p)
{
	for (uint32_t q = 0; q < p->w->queues; q++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, q, true);
	}
}

/* SdmaConcurrentCopies: submissions with random delays of the processor between them, an idle wait every eighth. */
static void plan_concurrent(struct bf_sdma_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);
		struct bf_sdma_signal left = { 0 };
		uint64_t src[WINDOW], dst[WINDOW];

		if (p->w->caps.atomics)
			left = bf_sdma_plan_signal(p, 0, p->w->commands, 0);
		for (uint32_t k = 0; k < WINDOW; k++) {
			src[k] = bf_sdma_plan_area(p, 0, p->w->size, "a source");
			dst[k] = bf_sdma_plan_area(p, 0, p->w->size, "a destination");
			bf_sdma_plan_random(p, 0, src[k], p->w->size);
		}
		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint32_t from = (uint32_t)bf_rng_below(&p->rng, WINDOW), to = c % WINDOW;
			struct bf_sdma_submission how = { .plain = 1 };
			struct bf_sdma_body body;

			/* What a FENCE stores is computed too early to be shared. */
			if (!p->w->caps.atomics)
				left = bf_sdma_plan_signal(p, 0, 1, 0);
			how.done = left;
			bf_sdma_plan_body(p, &body,
					  pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_LINEAR_DWORDS);
			bf_sdma_copy(&body, bf_sdma_plan_va(p, 0, dst[to]), bf_sdma_plan_va(p, 0, src[from]),
				     p->w->size);
			bf_sdma_plan_copied(p, 0, dst[to], 0, src[from], p->w->size);
			bf_sdma_plan_submit(p, thread, queue_of(p, i), &body, &how, 1);
			bf_sdma_plan_delay(p, thread, (uint32_t)bf_rng_below(&p->rng, 2000));
			if (c % WINDOW == WINDOW - 1)
				bf_sdma_plan_idle(p, thread, queue_of(p, i));
		}
		bf_sdma_plan_wait(p, thread, &left, 0);
	}
}

/* SdmaQueueWraparound: more pairs than the ring holds, then single WRITEs of all lengths. */
static void plan_wrap(struct bf_sdma_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, queue_of(p, i), c % 16 == 15);
		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint32_t n = 2 + 2 * (uint32_t)bf_rng_below(&p->rng, 8);
			const uint64_t dst = bf_sdma_plan_area(p, 0, n * 4ull, "a write's destination");
			struct bf_sdma_body body;

			bf_sdma_plan_body(p, &body, BF_SDMA_WRITE_DWORDS + n);
			add_random_write(p, &body, dst, n);
			blocking(p, thread, queue_of(p, i), &body, 1, dst, n * 4ull);
		}
	}
}

/* DisableSdmaQueueByUpdateWithNullAddress: what is submitted to a paused queue waits for its return. */
static void plan_pause(struct bf_sdma_plan *p)
{
	const uint32_t first = bf_sdma_plan_thread(p, 0);
	uint32_t thread;

	copy_and_mark(p, first, 0, true);
	bf_sdma_plan_next_phase(p);
	bf_sdma_plan_act(p, BF_SDMA_ACT_PAUSE, 0, 0);
	thread = bf_sdma_plan_thread(p, 0);
	for (uint32_t c = 0; c < p->w->commands; c++)
		copy_and_mark(p, thread, 0, false);
	bf_sdma_plan_delay(p, thread, 2000000);
	bf_sdma_plan_next_phase(p);
	bf_sdma_plan_act(p, BF_SDMA_ACT_UNTOUCHED, 0, 0);
	bf_sdma_plan_act(p, BF_SDMA_ACT_RESUME, 0, 0);
	thread = bf_sdma_plan_thread(p, 0);
	copy_and_mark(p, thread, 0, true);
}

/* GPUDoorbellWrite: one queue's engine stores the write pointer and rings the doorbell of another. */
static void plan_doorbell(struct bf_sdma_plan *p)
{
	const struct bf_sdma_ring *ring = bf_sdma_host_ring(p->host, 0, 1);
	const uint32_t thread = bf_sdma_plan_thread(p, 0);
	uint64_t index = 0;

	for (uint32_t c = 0; c < p->w->commands; c++) {
		const uint64_t dst = bf_sdma_plan_area(p, 0, 8, "a write's destination");
		const struct bf_sdma_signal done = bf_sdma_plan_signal(p, 0, 1, 0);
		const struct bf_sdma_submission how = { .plain = 1 };
		struct bf_sdma_body quiet, rings;
		uint32_t at[2];

		bf_sdma_plan_body(p, &quiet, BF_SDMA_WRITE_DWORDS + 2 + BF_SDMA_ATOMIC_DWORDS);
		add_random_write(p, &quiet, dst, 2);
		bf_sdma_add_atomic_add(&quiet, done.va, ~0ull);
		bf_sdma_plan_quietly(p, thread, 1, &quiet, 2);
		/* The place is known: nobody else uses that queue. ROCr's rule of padding applies to it as to any. */
		if (p->w->ring - index % p->w->ring <= quiet.n * 4)
			index += p->w->ring - index % p->w->ring;
		index += quiet.n * 4;
		at[0] = (uint32_t)(p->w->wrapped ? index % p->w->ring : index);
		at[1] = (uint32_t)(p->w->wrapped ? 0 : index >> 32);
		bf_sdma_plan_body(p, &rings, 2 * (BF_SDMA_WRITE_DWORDS + 2) + 1);
		bf_sdma_add_write(&rings, ring->wptr.va, at, 2);
		bf_sdma_order(&rings);
		bf_sdma_add_write(&rings, ring->doorbell_va, at, p->w->wrapped ? 1 : 2);
		bf_sdma_plan_submit(p, thread, 0, &rings, &how, 3);
		bf_sdma_plan_wait(p, thread, &done, 0);
		bf_sdma_plan_check(p, thread, 0, dst, 8);
	}
}

/* P2PTest: fill here, broadcast to two places, of which one is the peer's where there is a peer. */
static void plan_broadcast(struct bf_sdma_plan *p)
{
	for (uint32_t pe = 0; pe < p->w->pes; pe++) {
		const uint32_t thread = bf_sdma_plan_thread(p, pe), peer = (pe + 1) % p->w->pes;
		const uint64_t dwords = p->w->size / 4;

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t src = bf_sdma_plan_area(p, pe, p->w->size, "a source");
			const uint64_t here = bf_sdma_plan_area(p, pe, p->w->size, "a destination");
			const uint64_t there = bf_sdma_plan_area(p, peer, p->w->size, "a destination for a peer");
			const uint32_t value = (uint32_t)bf_rng_next(&p->rng);
			struct bf_sdma_submission how = { .done = bf_sdma_plan_signal(p, pe, 1, 0) };
			struct bf_sdma_body body;

			bf_sdma_plan_timed(p, pe, &how);
			bf_sdma_plan_body(p, &body,
					  pieces(p->w->size, p->w->caps.fill_max) * BF_SDMA_FILL_DWORDS + 1 +
					      pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_BROADCAST_DWORDS);
			bf_sdma_fill(&body, bf_sdma_plan_va(p, pe, src), value, dwords);
			bf_sdma_order(&body);
			bf_sdma_broadcast(&body, bf_sdma_plan_va(p, pe, here), bf_sdma_plan_va(p, peer, there),
					  bf_sdma_plan_va(p, pe, src), p->w->size);
			bf_sdma_plan_filled(p, pe, src, value, dwords);
			bf_sdma_plan_copied(p, pe, here, pe, src, p->w->size);
			bf_sdma_plan_copied(p, peer, there, pe, src, p->w->size);
			bf_sdma_plan_submit(p, thread, queue_of(p, pe), &body, &how, 3);
			bf_sdma_plan_wait(p, thread, &how.done, 0);
			bf_sdma_plan_check(p, thread, pe, here, p->w->size);
		}
	}
}

/* BasicSDMAReset: a WRITE that ends too early hangs one queue; the others go on, and the hung one is replaced. */
static void plan_reset(struct bf_sdma_plan *p)
{
	const struct bf_sdma_submission plain = { .plain = 1 };
	const uint32_t guilty = bf_sdma_plan_thread(p, 0);
	const uint64_t never = bf_sdma_plan_area(p, 0, 64, "what the truncated write would store");
	const uint32_t data[4] = { 1, 2, 3, 4 };
	struct bf_sdma_body body;

	bf_sdma_plan_body(p, &body, BF_SDMA_WRITE_DWORDS + 4);
	bf_sdma_add_write(&body, bf_sdma_plan_va(p, 0, never), data, 4);
	if (!p->rc)
		body.n -= 2;
	bf_sdma_plan_submit(p, guilty, 0, &body, &plain, 1);
	for (uint32_t q = 1; q < p->w->queues; q++) {
		const uint32_t thread = bf_sdma_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_and_mark(p, thread, q, true);
	}
	bf_sdma_plan_next_phase(p);
	bf_sdma_plan_act(p, BF_SDMA_ACT_HUNG, 0, 0);
	bf_sdma_plan_act(p, BF_SDMA_ACT_RESET, 0, 0);
	copy_and_mark(p, bf_sdma_plan_thread(p, 0), 0, true);
}

/* ---- hipMemcpy3D ---- */

struct sides {
	const struct bf_sdma_plan *p;
	uint64_t host, device; /* heap offsets of a call's two areas */
};

static int resolve(void *arg, const void *ptr, struct bf_hip_pointer *out)
{
	const struct sides *s = arg;
	const uint64_t at = (uint64_t)((const uint8_t *)ptr - (const uint8_t *)s->p->heap[0].ptr);

	out->device = at >= s->device && at < s->device + TILES_BYTES;
	out->direct = !out->device;
	out->va = bf_sdma_plan_va(s->p, 0, at);
	return 0;
}

/* A call drawn by seed: small boxes, pitches that are mostly aligned, positions that mostly are. */
static void random_call(struct bf_sdma_plan *p, const struct sides *s, struct bf_hip_parms *call)
{
	struct bf_rng *g = &p->rng;
	uint8_t *const host = (uint8_t *)p->heap[0].ptr + s->host, *const device =
								       (uint8_t *)p->heap[0].ptr + s->device;
	const size_t w = 1 + bf_rng_below(g, 200), h = 1 + bf_rng_below(g, 20), d = 1 + bf_rng_below(g, 4);
	const uint32_t odd = bf_rng_chance(g, 250000) ? 1 : 4;

	*call = (struct bf_hip_parms){ .extent = { w, h, d } };
	call->kind = (enum bf_hip_kind)bf_rng_below(g, 5);
	call->src_pos = (struct bf_hip_pos){ bf_rng_below(g, 8) * odd, bf_rng_below(g, 3), bf_rng_below(g, 2) };
	call->dst_pos = (struct bf_hip_pos){ bf_rng_below(g, 8) * 4, bf_rng_below(g, 3), bf_rng_below(g, 2) };
	call->src_ptr = (struct bf_hip_pitched_ptr){ host, (w + 32 + odd - 1) / odd * odd, w, h + 4 };
	call->dst_ptr = (struct bf_hip_pitched_ptr){ device, (w + 35) & ~(size_t)3, w, h + 4 };
	if (call->kind == BF_HIP_D2H)
		call->src_ptr.ptr = device, call->dst_ptr.ptr = host;
	else if (call->kind == BF_HIP_H2H)
		call->dst_ptr.ptr = host + TILES_BYTES / 2;
	else if (call->kind == BF_HIP_D2D)
		call->src_ptr.ptr = device, call->dst_ptr.ptr = device + TILES_BYTES / 2;
}

static void memcpy3d_call(struct bf_sdma_plan *p, uint32_t thread, const struct bf_hip_plan *plan)
{
	struct bf_sdma_body body, measure;

	bf_sdma_body_begin(&measure, &p->w->caps, 0, NULL, 0);
	bf_hip_packets(plan, &measure);
	bf_sdma_plan_body(p, &body, measure.n);
	bf_hip_packets(plan, &body);
	for (uint64_t z = 0; z < plan->depth; z++)
		for (uint64_t y = 0; y < plan->height; y++)
			bf_sdma_plan_copied(p, 0,
					    plan->dst.va - p->heap[0].va + plan->dst.start + z * plan->dst.slice_pitch +
						y * plan->dst.row_pitch,
					    0,
					    plan->src.va - p->heap[0].va + plan->src.start + z * plan->src.slice_pitch +
						y * plan->src.row_pitch,
					    plan->width);
	blocking(p, thread, 0, &body, (uint32_t)plan->copies, 0, 0);
}

static void plan_memcpy3d(struct bf_sdma_plan *p)
{
	const uint32_t thread = bf_sdma_plan_thread(p, 0);
	struct sides s = { .p = p };
	struct bf_hip_plan_opts opts = { .caps = &p->w->caps, .resolve = resolve, .resolve_arg = &s };

	for (uint32_t c = 0; c < p->w->commands && !p->rc; c++) {
		struct bf_error err = { 0 };
		struct bf_hip_memcpy3d d;
		struct bf_hip_parms call;
		struct bf_hip_plan plan;

		s.host = bf_sdma_plan_area(p, 0, TILES_BYTES, "host memory of a call");
		s.device = bf_sdma_plan_area(p, 0, TILES_BYTES, "device memory of a call");
		bf_sdma_plan_random(p, 0, s.host, TILES_BYTES);
		bf_sdma_plan_random(p, 0, s.device, TILES_BYTES);
		random_call(p, &s, &call);
		opts.d2d_by_engine = bf_rng_chance(&p->rng, 500000);
		bf_hip_describe(&call, &d);
		if (bf_hip_plan(&d, &opts, &plan, &err))
			continue;
		p->result->paths[plan.path]++;
		if (plan.path == BF_HIP_PATH_RECT || plan.path == BF_HIP_PATH_ROWS)
			memcpy3d_call(p, thread, &plan);
	}
	for (uint32_t i = 0; i < BF_HIP_PATHS; i++)
		if (p->result->paths[i])
			bf_sdma_plan_say(p, "%-23s %" PRIu64 " calls%s\n", bf_hip_path_name((enum bf_hip_path)i),
					 p->result->paths[i],
					 i == BF_HIP_PATH_HOST || i == BF_HIP_PATH_SHADER ? ", not the engine's" : "");
}

/* ---- the table ---- */

static const struct {
	const char *name, *summary;
	void (*plan)(struct bf_sdma_plan *p);
	uint32_t commands, queues, producers, pes, hops;
	uint64_t size, ring;
} works[BF_SDMA_WORKS] = {
	[BF_SDMA_WORK_RECT] = { "sdma-rect", "32 x 32 bytes into the middle of 128 x 128 x 128, for each element size",
				plan_rect, 1, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_TILES] = { "sdma-tiles", "rects drawn by seed, cut into tiles as ROCr does", plan_tiles, 64, 1, 1,
				 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_COPY] = { "sdma-copy", "linear copies; with --hops each reads what the one before wrote",
				plan_copy, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_FILL] = { "sdma-fill", "constant fills", plan_fill, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_WRITE] = { "sdma-write", "data that lie in the ring", plan_write, 16, 1, 1, 1, 1, 256, 1u << 20 },
	[BF_SDMA_WORK_FENCE] = { "sdma-fence", "dependencies, timestamps, completion signals, mailbox and interrupt",
				 plan_fence, 16, 1, 1, 1, 1, 4096, 1u << 20 },
	[BF_SDMA_WORK_QUEUES] = { "sdma-queues", "many queues at once, each a copy of a page and a marker", plan_queues,
				  4, 8, 1, 1, 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_CONCURRENT] = { "sdma-concurrent", "copies of 64 KiB with random delays and idle waits between",
				      plan_concurrent, 1000, 1, 1, 1, 1, 1u << 16, 1u << 16 },
	[BF_SDMA_WORK_WRAP] = { "sdma-wrap", "more packets than the ring holds, many times over", plan_wrap, 200, 1, 1,
				1, 1, 256, 4096 },
	[BF_SDMA_WORK_PAUSE] = { "sdma-pause", "a paused queue stands still and loses nothing", plan_pause, 8, 1, 1, 1,
				 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_DOORBELL] = { "sdma-doorbell", "an engine rings another queue's doorbell", plan_doorbell, 100, 2,
				    1, 1, 1, 8, 4096 },
	[BF_SDMA_WORK_BROADCAST] = { "sdma-broadcast", "fills and broadcasts to this PE and its peer", plan_broadcast,
				     8, 1, 1, 2, 1, 1u << 16, 1u << 16 },
	[BF_SDMA_WORK_RESET] = { "sdma-reset", "a truncated packet hangs one queue; the others live on", plan_reset, 8,
				 4, 1, 1, 1, PAGE, 1u << 16 },
	[BF_SDMA_WORK_MEMCPY3D] = { "sdma-memcpy3d", "hipMemcpy3D calls drawn by seed, and which path does them",
				    plan_memcpy3d, 64, 1, 1, 1, 1, 4096, 1u << 20 },
};

const char *bf_sdma_work_name(enum bf_sdma_work work)
{
	return (uint32_t)work < BF_SDMA_WORKS ? works[work].name : NULL;
}

const char *bf_sdma_work_summary(enum bf_sdma_work work)
{
	return works[work].summary;
}

int bf_sdma_work_defaults(struct bf_sdma_workload *w, struct bf_error *err)
{
	w->commands = w->commands ? w->commands : works[w->work].commands;
	w->queues = w->queues ? w->queues : works[w->work].queues;
	w->producers = w->producers ? w->producers : works[w->work].producers;
	w->pes = w->pes ? w->pes : works[w->work].pes;
	w->hops = w->hops ? w->hops : works[w->work].hops;
	w->size = w->size ? w->size : works[w->work].size;
	w->ring = w->ring ? w->ring : works[w->work].ring;
	if (w->size % 8)
		return bf_fail(err, -EINVAL, "--size %" PRIu64 " is no multiple of 8", w->size);
	if (w->ring & (w->ring - 1))
		return bf_fail(err, -EINVAL, "--ring %" PRIu64 " is no power of two", w->ring);
	if ((w->work == BF_SDMA_WORK_DOORBELL || w->work == BF_SDMA_WORK_RESET) && w->queues < 2)
		return bf_fail(err, -EINVAL, "%s needs at least 2 queues", works[w->work].name);
	if (bf_sdma_work_heap(w) > HEAP_MAX)
		return bf_fail(err, -EINVAL, "this needs %" PRIu64 " bytes of memory on each PE, more than 2 GiB",
			       bf_sdma_work_heap(w));
	return 0;
}

uint64_t bf_sdma_work_heap(const struct bf_sdma_workload *w)
{
	const uint64_t slot = align64(w->size), n = (uint64_t)w->commands * w->producers;
	const uint64_t threads = 64ull * (w->producers + w->queues + 8);

	switch (w->work) {
	case BF_SDMA_WORK_RECT:
		return RECT_BYTES * 6 + 8192;
	case BF_SDMA_WORK_TILES:
	case BF_SDMA_WORK_MEMCPY3D:
		return threads + n * (2 * TILES_BYTES + 64);
	case BF_SDMA_WORK_COPY:
		return threads + n * (slot * (w->hops + 1) + 64);
	case BF_SDMA_WORK_CONCURRENT:
		return threads + w->producers * (WINDOW * 2 * slot + 64) + n * 64;
	case BF_SDMA_WORK_QUEUES:
	case BF_SDMA_WORK_RESET:
		return threads + ((uint64_t)w->commands * w->queues + 2) * (2 * slot + 256);
	case BF_SDMA_WORK_BROADCAST:
		return threads + n * (3 * slot + 256);
	case BF_SDMA_WORK_FILL:
	case BF_SDMA_WORK_WRITE:
	case BF_SDMA_WORK_FENCE:
	case BF_SDMA_WORK_WRAP:
	case BF_SDMA_WORK_PAUSE:
	case BF_SDMA_WORK_DOORBELL:
	case BF_SDMA_WORKS:
	default:
		return threads + (n + 4) * (2 * slot + 512);
	}
}

void bf_sdma_work_plan(struct bf_sdma_plan *p)
{
	works[p->w->work].plan(p);
}
