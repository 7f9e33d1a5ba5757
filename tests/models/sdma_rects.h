/*
 * Random sub-window copies against a plain loop: one byte at a time, from the definition of the address of an element
 * (base + (((x + i) + (y + j) * pitch + (z + k) * slice) << element)). For the test and, with many more of them, for
 * the benchmark program.
 */
#ifndef BELFRY_TESTS_SDMA_RECTS_H
#define BELFRY_TESTS_SDMA_RECTS_H

#include "sim/rng.h"
#include "tests/models/sdma_rig.h"

#define RECTS_MEM (1u << 16)

struct rect_side {
	uint64_t base, x, y, z, pitch, slice; /* elements, rows, slices */
};

struct rect {
	uint32_t element;
	struct rect_side src, dst;
	uint64_t nx, ny, nz;
	bool large;
};

/* One number below `n`, small ones more often. */
static inline uint64_t rects_some(struct bf_rng *rng, uint64_t n)
{
	return bf_rng_below(rng, bf_rng_below(rng, n) + 1);
}

/* Bytes from the base to behind the last one. */
static inline uint64_t rects_end(const struct rect *t, const struct rect_side *s)
{
	return (s->x + t->nx + (s->y + t->ny - 1) * s->pitch + (s->z + t->nz - 1) * s->slice) << t->element;
}

static inline void rects_side(struct bf_rng *rng, const struct rect *t, struct rect_side *s)
{
	s->x = rects_some(rng, 16);
	s->y = rects_some(rng, 8);
	s->z = rects_some(rng, 4);
	s->pitch = s->x + t->nx + rects_some(rng, 64);
	s->slice = (s->y + t->ny) * s->pitch + rects_some(rng, 64);
	/* The X-Z form: a single row, any pitch. */
	if (t->ny == 1 && !s->y && bf_rng_chance(rng, 200000))
		s->pitch = 1 + bf_rng_below(rng, 1u << 14);
}

/* A copy that fits into RECTS_MEM on both sides and stays in its surface. */
static inline void rects_draw(struct bf_rng *rng, struct rect *t, bool may_be_large)
{
	do {
		t->large = may_be_large && bf_rng_chance(rng, 200000);
		t->element = t->large ? 0 : (uint32_t)bf_rng_below(rng, 5);
		t->nx = 1 + rects_some(rng, 200);
		t->ny = 1 + rects_some(rng, 20);
		t->nz = 1 + rects_some(rng, 6);
		rects_side(rng, t, &t->src);
		rects_side(rng, t, &t->dst);
	} while (rects_end(t, &t->src) + 64 > RECTS_MEM || rects_end(t, &t->dst) + 64 > RECTS_MEM);
	t->src.base = 4 * bf_rng_below(rng, (RECTS_MEM - rects_end(t, &t->src)) / 4);
	t->dst.base = 4 * bf_rng_below(rng, (RECTS_MEM - rects_end(t, &t->dst)) / 4);
}

/* Where row `j` of slice `k` begins. */
static inline uint64_t rects_row(const struct rect *t, const struct rect_side *s, uint64_t j, uint64_t k)
{
	return s->base + ((s->x + (s->y + j) * s->pitch + (s->z + k) * s->slice) << t->element);
}

static inline void rects_loop(const struct rect *t, uint8_t *to, const uint8_t *from)
{
	for (uint64_t k = 0; k < t->nz; k++) {
		for (uint64_t j = 0; j < t->ny; j++) {
			uint8_t *d = to + rects_row(t, &t->dst, j, k);
			const uint8_t *s = from + rects_row(t, &t->src, j, k);

			for (uint64_t i = 0; i < t->nx << t->element; i++)
				d[i] = s[i];
		}
	}
}

static inline void rects_narrow(struct rig *r, const struct rect *t, uint64_t src, uint64_t dst)
{
	const struct rect_side *s = &t->src, *d = &t->dst;

	RIG_PACKET(r, 0x401 | t->element << 29, RIG_LO(src), RIG_HI(src), (uint32_t)(s->x | s->y << 16),
		   (uint32_t)(s->z | (s->pitch - 1) << 13), (uint32_t)(s->slice - 1), RIG_LO(dst), RIG_HI(dst),
		   (uint32_t)(d->x | d->y << 16), (uint32_t)(d->z | (d->pitch - 1) << 13), (uint32_t)(d->slice - 1),
		   (uint32_t)((t->nx - 1) | (t->ny - 1) << 16), (uint32_t)(t->nz - 1));
}

static inline void rects_wide(struct rig *r, const struct rect *t, uint64_t src, uint64_t dst)
{
	const struct rect_side *s = &t->src, *d = &t->dst;

	RIG_PACKET(r, 0x401 | t->element << 29, RIG_LO(src), RIG_HI(src), (uint32_t)(s->x | s->y << 16),
		   (uint32_t)(s->z | (s->pitch - 1) << 16), (uint32_t)(s->slice - 1), RIG_LO(dst), RIG_HI(dst),
		   (uint32_t)(d->x | d->y << 16), (uint32_t)(d->z | (d->pitch - 1) << 16), (uint32_t)(d->slice - 1),
		   (uint32_t)((t->nx - 1) | (t->ny - 1) << 16), (uint32_t)(t->nz - 1));
}

static inline void rects_large(struct rig *r, const struct rect *t, uint64_t src, uint64_t dst)
{
	const struct rect_side *s = &t->src, *d = &t->dst;

	RIG_PACKET(r, 0x2401, RIG_LO(src), RIG_HI(src), (uint32_t)s->x, (uint32_t)s->y, (uint32_t)s->z,
		   (uint32_t)(s->pitch - 1), (uint32_t)(s->slice - 1), 0, RIG_LO(dst), RIG_HI(dst), (uint32_t)d->x,
		   (uint32_t)d->y, (uint32_t)d->z, (uint32_t)(d->pitch - 1), (uint32_t)(d->slice - 1), 0,
		   (uint32_t)(t->nx - 1), (uint32_t)(t->ny - 1), (uint32_t)(t->nz - 1));
}

/*
 * `count` random copies on one engine of `profile`, a few in each submission with a fence between them. Returns the
 * number of the first that gave other bytes than the loop, `count` if none did.
 */
static inline uint64_t rects_run(const struct bf_sdma_profile *profile, uint64_t seed, uint64_t count)
{
	uint8_t *want = malloc(RECTS_MEM);
	struct bf_rng rng;
	struct rig r;
	uint64_t at = 0;

	RIG_MUST(want);
	rig_open(&r, &(struct rig_opts){ .profile = profile, .seed = seed, .mem = RECTS_MEM });
	bf_rng_init(&rng, seed, "rects");
	for (uint64_t i = 0; i < RECTS_MEM; i += 8) {
		bf_put_le64(r.host->bytes + i, bf_rng_next(&rng));
		bf_put_le64(r.vram->bytes + i, bf_rng_next(&rng));
	}
	memcpy(want, r.vram->bytes, RECTS_MEM);
	while (at < count) {
		uint64_t n = 1 + bf_rng_below(&rng, 16);

		for (uint64_t i = 0; i < n; i++) {
			struct rect t;

			rects_draw(&rng, &t, profile->gen >= BF_SDMA_V6);
			(t.large              ? rects_large
			 : profile->wide_rect ? rects_wide
					      : rects_narrow)(&r, &t, r.host->va + t.src.base, r.vram->va + t.dst.base);
			RIG_PACKET(&r, 0); /* copies to one place must not overtake each other */
			rects_loop(&t, want, r.host->bytes);
		}
		if (rig_go(&r).fault.reason || rig_info(&r).retired != r.index ||
		    memcmp(want, r.vram->bytes, RECTS_MEM) != 0)
			break;
		at += n;
	}
	rig_close(&r);
	free(want);
	return at < count ? at : count;
}

#endif
