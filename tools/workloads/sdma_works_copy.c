/* SDMA workloads that move data: rectangles, copies, fills, writes, broadcasts. */
#include <inttypes.h>

#include "drivers/sdma/copy.h"
#include "tools/workloads/sdma_works.h"

/* 128 rows of 128 bytes, 128 slices; 32 x 32 bytes go to the middle of a slice. */
#define RECT_SIDE 128u
#define RECT_COPY 32u
#define RECT_AT ((RECT_SIDE - RECT_COPY) / 2)
#define RECT_SLICE (RECT_SIDE * RECT_SIDE)

/* ---- rectangles ---- */

static void rect_of_element(struct bf_sdma_work_plan *p, uint32_t thread, uint64_t src, uint32_t element)
{
	const uint64_t dst = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_RECT_BYTES, "the rect's destination");
	const struct bf_sdma_drv_tile tile = {
		.sbase = bf_sdma_work_plan_va(p, 0, src),
		.dbase = bf_sdma_work_plan_va(p, 0, dst),
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
	struct bf_sdma_drv_body body;

	bf_sdma_work_plan_body(p, &body, BF_SDMA_RECT_DWORDS);
	bf_sdma_drv_add_tile(&body, &tile);
	for (uint32_t y = 0; y < RECT_COPY; y++)
		bf_sdma_work_plan_copied(p, 0, dst + (RECT_AT + y) * RECT_SIDE + RECT_AT, 0, src + y * RECT_SIDE,
					 RECT_COPY);
	bf_sdma_work_plan_blocking(p, thread, 0, &body, 1, dst + RECT_AT * RECT_SIDE + RECT_AT, RECT_COPY);
	bf_sdma_work_plan_picture(p, dst, element, RECT_AT, RECT_AT, RECT_COPY, RECT_COPY, RECT_SIDE);
	bf_sdma_work_plan_say(p,
			      "%sone pixel size          %u byte%s\nsource rect size        %u * %u bytes\n"
			      "destination rect size   %u * %u bytes\ncopy rect size          %u * %u * 1 bytes\n"
			      "source offset           (0, 0, 0) pixels\ndestination offset      (%u, %u, 0) pixels\n",
			      p->result->info[0] ? "\n" : "", 1u << element, element ? "s" : "", RECT_SIDE, RECT_SLICE,
			      RECT_SIDE, RECT_SLICE, RECT_COPY, RECT_COPY, RECT_AT >> element, RECT_AT);
}

void bf_sdma_work_plan_of_rect(struct bf_sdma_work_plan *p)
{
	const uint32_t thread = bf_sdma_work_plan_thread(p, 0);
	const uint64_t src = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_RECT_BYTES, "the rect's source");

	/* Neighbours differ, and a picture shows which way is up. */
	for (uint32_t i = 0; i < RECT_SLICE; i++) {
		const uint8_t v = (uint8_t)(16 + 3 * (i % RECT_SIDE) + 4 * (i / RECT_SIDE)) | 1;

		bf_sdma_work_plan_before(p, 0, src + i, &v, 1);
	}
	for (uint32_t e = 0; e <= 4; e++)
		if (!p->w->element || p->w->element == 1u << e)
			rect_of_element(p, thread, src, e);
}

/* A surface that holds the range at some offset and fits BF_SDMA_WORK_TILES_BYTES. */
static void random_side(struct bf_sdma_work_plan *p, const struct bf_sdma_drv_dim3 *range,
			struct bf_sdma_drv_pitched *side, struct bf_sdma_drv_dim3 *off)
{
	struct bf_rng *r = &p->rng;

	/* One draw a statement: the elements of an initialiser are evaluated in any order. */
	off->x = (uint32_t)bf_rng_below(r, 40);
	off->y = (uint32_t)bf_rng_below(r, 5);
	off->z = (uint32_t)bf_rng_below(r, 2);
	side->pitch = (off->x + range->x + 3 + bf_rng_below(r, 64)) & ~3ull;
	if (bf_rng_chance(r, 500000))
		side->pitch = (side->pitch + 15) & ~15ull;
	side->slice = side->pitch * (off->y + range->y + bf_rng_below(r, 3));
}

static bool fits(const struct bf_sdma_drv_pitched *side, const struct bf_sdma_drv_dim3 *off, uint32_t slices)
{
	return side->slice * (off->z + slices) <= BF_SDMA_WORK_TILES_BYTES;
}

static void draw_rect(struct bf_sdma_work_plan *p, struct bf_sdma_drv_rect *r)
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

static void random_rect(struct bf_sdma_work_plan *p, struct bf_sdma_drv_rect *r)
{
	do
		draw_rect(p, r);
	while (!fits(&r->src, &r->src_off, r->range.z) || !fits(&r->dst, &r->dst_off, r->range.z));
}

void bf_sdma_work_plan_of_tiles(struct bf_sdma_work_plan *p)
{
	const uint32_t thread = bf_sdma_work_plan_thread(p, 0);
	uint64_t packets = 0;

	if (p->w->bugs & BF_SDMA_DRV_BUG_ZERO_EXTENT) {
		const struct bf_sdma_drv_signal nobodys = bf_sdma_work_plan_signal(p, 0, 1, 0);

		bf_sdma_work_plan_wait(p, thread, &nobodys, 0);
	}
	for (uint32_t c = 0; c < p->w->commands && !p->rc; c++) {
		const uint64_t src = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_TILES_BYTES, "a rect's source");
		const uint64_t dst = bf_sdma_work_plan_area(p, 0, BF_SDMA_WORK_TILES_BYTES, "a rect's destination");
		struct bf_sdma_drv_body body, measure;
		struct bf_sdma_drv_rect r;

		random_rect(p, &r);
		r.src.base = bf_sdma_work_plan_va(p, 0, src);
		r.dst.base = bf_sdma_work_plan_va(p, 0, dst);
		bf_sdma_work_plan_random(p, 0, src, BF_SDMA_WORK_TILES_BYTES);
		bf_sdma_drv_body_begin(&measure, &p->w->caps, 0, NULL, 0);
		/* Each rect that is drawn can be copied: one that is refused leaves bytes that nobody wrote. */
		if (bf_sdma_drv_rect_copy(&measure, &r) == BF_SDMA_DRV_RECT_OK) {
			bf_sdma_work_plan_body(p, &body, measure.n);
			bf_sdma_drv_rect_copy(&body, &r);
		} else {
			bf_sdma_work_plan_body(p, &body, 0);
		}
		for (uint32_t z = 0; z < r.range.z; z++)
			for (uint32_t y = 0; y < r.range.y; y++)
				bf_sdma_work_plan_copied(p, 0,
							 dst + r.dst_off.x + (r.dst_off.y + y) * r.dst.pitch +
							     (r.dst_off.z + z) * r.dst.slice,
							 0,
							 src + r.src_off.x + (r.src_off.y + y) * r.src.pitch +
							     (r.src_off.z + z) * r.src.slice,
							 r.range.x);
		packets += body.n / BF_SDMA_RECT_DWORDS;
		if (!body.n)
			continue;
		bf_sdma_work_plan_blocking(p, thread, bf_sdma_work_queue_of(p, c), &body, body.n / BF_SDMA_RECT_DWORDS,
					   0, 0);
	}
	bf_sdma_work_plan_say(p, "rects                   %u, in %" PRIu64 " tiles\n", p->w->commands, packets);
}

/* ---- plain transfers ---- */

/* One command of sdma-copy: along `hops` areas, each copy reading what the one before wrote. */
static void copy_along(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue)
{
	const uint64_t bytes = p->w->size;
	const uint32_t each = bf_sdma_work_pieces(bytes, p->w->caps.copy_max);
	uint64_t from = bf_sdma_work_plan_area(p, 0, bytes, "a copy's source"), to = 0;
	struct bf_sdma_drv_body body;

	bf_sdma_work_plan_random(p, 0, from, bytes);
	bf_sdma_work_plan_body(p, &body, p->w->hops * (each * BF_SDMA_COPY_LINEAR_DWORDS + 1));
	for (uint32_t h = 0; h < p->w->hops; h++) {
		to = bf_sdma_work_plan_area(p, 0, bytes, "a copy's destination");
		if (p->w->bugs & BF_SDMA_DRV_BUG_OVERLAP)
			to = from + 64;
		if (h)
			bf_sdma_drv_order(&body);
		bf_sdma_drv_copy(&body, bf_sdma_work_plan_va(p, 0, to), bf_sdma_work_plan_va(p, 0, from), bytes);
		bf_sdma_work_plan_copied(p, 0, to, 0, from, bytes);
		from = to;
	}
	bf_sdma_work_plan_blocking(p, thread, queue, &body, p->w->hops * (each + 1) - 1, to, bytes);
}

void bf_sdma_work_plan_of_copy(struct bf_sdma_work_plan *p)
{
	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++)
			copy_along(p, thread, bf_sdma_work_queue_of(p, i));
	}
}

void bf_sdma_work_plan_of_fill(struct bf_sdma_work_plan *p)
{
	const uint64_t dwords = p->w->size / 4;

	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t dst = bf_sdma_work_plan_area(p, 0, p->w->size, "a fill's destination");
			const uint32_t value = (uint32_t)bf_rng_next(&p->rng);
			struct bf_sdma_drv_body body;

			bf_sdma_work_plan_body(
			    p, &body, bf_sdma_work_pieces(p->w->size, p->w->caps.fill_max) * BF_SDMA_FILL_DWORDS);
			bf_sdma_drv_fill(&body, bf_sdma_work_plan_va(p, 0, dst), value, dwords);
			bf_sdma_work_plan_filled(p, 0, dst, value, dwords);
			bf_sdma_work_plan_blocking(p, thread, bf_sdma_work_queue_of(p, i), &body,
						   body.n / BF_SDMA_FILL_DWORDS, dst, p->w->size);
		}
	}
}

void bf_sdma_work_plan_of_write(struct bf_sdma_work_plan *p)
{
	const uint32_t n = (uint32_t)(p->w->size / 4), packets = (n + 63) / 64;

	for (uint32_t i = 0; i < p->w->producers; i++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, 0);

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t dst = bf_sdma_work_plan_area(p, 0, p->w->size, "a write's destination");
			struct bf_sdma_drv_body body;

			bf_sdma_work_plan_body(p, &body, n + packets * BF_SDMA_WRITE_DWORDS);
			bf_sdma_work_plan_random_write(p, &body, dst, n);
			bf_sdma_work_plan_blocking(p, thread, bf_sdma_work_queue_of(p, i), &body, packets, dst,
						   p->w->size);
		}
	}
}

/* P2PTest: fill here, broadcast to two places, of which one is the peer's where there is a peer. */
void bf_sdma_work_plan_of_broadcast(struct bf_sdma_work_plan *p)
{
	for (uint32_t pe = 0; pe < p->w->pes; pe++) {
		const uint32_t thread = bf_sdma_work_plan_thread(p, pe), peer = (pe + 1) % p->w->pes;
		const uint64_t dwords = p->w->size / 4;

		for (uint32_t c = 0; c < p->w->commands; c++) {
			const uint64_t src = bf_sdma_work_plan_area(p, pe, p->w->size, "a source");
			const uint64_t here = bf_sdma_work_plan_area(p, pe, p->w->size, "a destination");
			const uint64_t there = bf_sdma_work_plan_area(p, peer, p->w->size, "a destination for a peer");
			const uint32_t value = (uint32_t)bf_rng_next(&p->rng);
			struct bf_sdma_drv_submission how = { .done = bf_sdma_work_plan_signal(p, pe, 1, 0) };
			struct bf_sdma_drv_body body;

			bf_sdma_work_plan_timed(p, pe, &how);
			bf_sdma_work_plan_body(
			    p, &body,
			    bf_sdma_work_pieces(p->w->size, p->w->caps.fill_max) * BF_SDMA_FILL_DWORDS + 1 +
				bf_sdma_work_pieces(p->w->size, p->w->caps.copy_max) * BF_SDMA_COPY_BROADCAST_DWORDS);
			bf_sdma_drv_fill(&body, bf_sdma_work_plan_va(p, pe, src), value, dwords);
			bf_sdma_drv_order(&body);
			bf_sdma_drv_broadcast(&body, bf_sdma_work_plan_va(p, pe, here),
					      bf_sdma_work_plan_va(p, peer, there), bf_sdma_work_plan_va(p, pe, src),
					      p->w->size);
			bf_sdma_work_plan_filled(p, pe, src, value, dwords);
			bf_sdma_work_plan_copied(p, pe, here, pe, src, p->w->size);
			bf_sdma_work_plan_copied(p, peer, there, pe, src, p->w->size);
			bf_sdma_work_plan_submit(p, thread, bf_sdma_work_queue_of(p, pe), &body, &how, 3);
			bf_sdma_work_plan_wait(p, thread, &how.done, 0);
			bf_sdma_work_plan_check(p, thread, pe, here, p->w->size);
		}
	}
}
