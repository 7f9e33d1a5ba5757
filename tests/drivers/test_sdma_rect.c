/* The tile splitter against a second one that was written from the rule's text, and both on the model. */
#include <check.h>
#include <stdlib.h>

#include "drivers/sdma/copy.h"
#include "models/sdma/sdma.h"
#include "sim/rng.h"

#define REQUESTS 20000
#define TILES_MAX 4096

/* ---- the second splitter: plain numbers, no masks, one tile at a time ---- */

static uint64_t divides(uint64_t v)
{
	for (uint64_t e = 16; e > 1; e /= 2)
		if (v % e == 0)
			return e;
	return 1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct limits {
	uint64_t pitch, slice, xy, z;
};

/* Element sizes are bytes here. Returns the number of tiles, or minus the error. */
static int second(const struct bf_sdma_drv_rect *r, const struct limits *l, struct bf_sdma_drv_tile *out)
{
	uint64_t most = smaller(divides(r->src.pitch), divides(r->dst.pitch)), least;
	int n = 0;

	if (r->range.z != 1)
		most = smaller(most, smaller(divides(r->src.slice), divides(r->dst.slice)));
	least =
	    smaller(smaller(most, divides(r->range.x)), smaller(divides(r->src_off.x % 4), divides(r->dst_off.x % 4)));
	if (r->src.pitch / least > l->pitch || r->dst.pitch / least > l->pitch)
		return -(int)BF_SDMA_DRV_RECT_PITCH_LIMIT;
	if (r->range.z != 1 && (r->src.slice / least > l->slice || r->dst.slice / least > l->slice))
		return -(int)BF_SDMA_DRV_RECT_SLICE_LIMIT;
	for (uint64_t z = 0; z < r->range.z; z += l->z) {
		for (uint64_t y = 0; y < r->range.y; y += l->xy) {
			for (uint64_t x = 0; x < r->range.x;) {
				const uint64_t left = r->range.x - x;
				const uint64_t start = smaller(
				    most, smaller(divides((r->src_off.x + x) % 4), divides((r->dst_off.x + x) % 4)));
				uint64_t e = smaller(divides(left), start), count = left / e;
				const uint64_t s = r->src.base + r->src_off.x + x + (r->src_off.y + y) * r->src.pitch +
						   (r->src_off.z + z) * r->src.slice;
				const uint64_t d = r->dst.base + r->dst_off.x + x + (r->dst_off.y + y) * r->dst.pitch +
						   (r->dst_off.z + z) * r->dst.slice;

				if (count > l->xy) {
					e = start;
					count = smaller(left / e, l->xy);
				}
				ck_assert_int_lt(n, TILES_MAX);
				out[n++] = (struct bf_sdma_drv_tile){
					.element = (uint32_t)__builtin_ctzll(e),
					.sbase = s - s % 4,
					.dbase = d - d % 4,
					.soff = (uint32_t)(s % 4 / e),
					.doff = (uint32_t)(d % 4 / e),
					.src_pitch = (uint32_t)(r->src.pitch / e - 1),
					.dst_pitch = (uint32_t)(r->dst.pitch / e - 1),
					.src_slice = r->range.z == 1 ? 0 : (uint32_t)(r->src.slice / e - 1),
					.dst_slice = r->range.z == 1 ? 0 : (uint32_t)(r->dst.slice / e - 1),
					.x = (uint32_t)(count - 1),
					.y = (uint32_t)(smaller(r->range.y - y, l->xy) - 1),
					.z = (uint32_t)(smaller(r->range.z - z, l->z) - 1),
				};
				x += count * e;
			}
		}
	}
	return n;
}

/* ---- requests ---- */

static uint32_t pick(struct bf_rng *g, uint32_t least, uint32_t most)
{
	return least + (uint32_t)bf_rng_below(g, most - least + 1);
}

static void random_side(struct bf_rng *g, const struct bf_sdma_drv_dim3 *range, struct bf_sdma_drv_pitched *p,
			struct bf_sdma_drv_dim3 *off)
{
	*off = (struct bf_sdma_drv_dim3){ pick(g, 0, 70), pick(g, 0, 4), pick(g, 0, 2) };
	p->pitch = (off->x + range->x + pick(g, 0, 100) + 3) & ~3ull;
	if (bf_rng_chance(g, 300000))
		p->pitch = (p->pitch + 15) & ~15ull;
	p->slice = p->pitch * (off->y + range->y + pick(g, 0, 2));
}

static void random_request(struct bf_rng *g, struct bf_sdma_drv_rect *r, bool wide_rows)
{
	*r = (struct bf_sdma_drv_rect){ .range = { pick(g, 1, 130), pick(g, 1, 8), pick(g, 1, 3) } };
	if (wide_rows)
		r->range = (struct bf_sdma_drv_dim3){ pick(g, 16000, 300000), pick(g, 1, 3), pick(g, 1, 2) };
	if (bf_rng_chance(g, 500000))
		r->range.x = (r->range.x + 15) & ~15u;
	random_side(g, &r->range, &r->src, &r->src_off);
	random_side(g, &r->range, &r->dst, &r->dst_off);
}

/* Of hundreds of thousands of tiles: Check would write each assertion of its own to a file. */
#define SAME(field)                                                                                                    \
	do {                                                                                                           \
		if (a->field != b->field)                                                                              \
			ck_abort_msg(#field " is %llu and should be %llu", (unsigned long long)a->field,               \
				     (unsigned long long)b->field);                                                    \
	} while (0)

static void same_tile(const struct bf_sdma_drv_tile *a, const struct bf_sdma_drv_tile *b)
{
	SAME(element);
	SAME(sbase);
	SAME(dbase);
	SAME(soff);
	SAME(doff);
	SAME(src_pitch);
	SAME(dst_pitch);
	SAME(src_slice);
	SAME(dst_slice);
	SAME(x);
	SAME(y);
	SAME(z);
	if (a->src_y | a->src_z | a->dst_y | a->dst_z)
		ck_abort_msg("a tile does not begin in its first row");
}

static void compare(const struct bf_sdma_drv_rect *r, const struct bf_sdma_drv_caps *caps, const struct limits *l,
		    struct bf_sdma_drv_tile *tiles)
{
	const int n = second(r, l, tiles);
	struct bf_sdma_drv_tiles it;
	struct bf_sdma_drv_tile tile;
	int got = 0;
	const enum bf_sdma_drv_rect_error e = bf_sdma_drv_tiles_begin(&it, r, caps);

	if (n < 0) {
		ck_assert_int_eq((int)e, -n);
		return;
	}
	ck_assert_int_eq((int)e, 0);
	while (bf_sdma_drv_tiles_next(&it, &tile)) {
		if (got == n)
			ck_abort_msg("more than %d tiles", n);
		same_tile(&tile, &tiles[got++]);
	}
	ck_assert_int_eq(got, n);
}

#define SRC 0x10000000ull
#define DST 0x20000000ull

/*
 * Worked examples of ROCr's rule (amd_blit_sdma.cpp), on gfx9: element, offset of both bases, x offset of the source,
 * pitch, extents, all as encoded.
 */
static const struct {
	const char *name;
	struct bf_sdma_drv_rect r;
	enum bf_sdma_drv_rect_error error;
	int submit, n;
	struct {
		uint32_t element, soff, pitch, x, y, z;
		uint64_t src, dst;
	} tiles[6];
} examples[] = {
	{ "32 x 32 to the middle of 128 x 128",
	  { { SRC, 128, 16384 }, { DST, 128, 16384 }, { 0, 0, 0 }, { 48, 48, 0 }, { 32, 32, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  1,
	  { { 4, 0, 7, 1, 31, 0, 0, 0x1830 } } },
	{ "71 x 2 from an odd byte: one packet of bytes",
	  { { SRC, 256, 512 }, { DST, 256, 512 }, { 1, 0, 0 }, { 0, 0, 0 }, { 71, 2, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  1,
	  { { 0, 1, 255, 70, 1, 0, 0, 0 } } },
	{ "16383 bytes fit a packet of bytes",
	  { { SRC, 32768, 327680 }, { DST, 32768, 327680 }, { 0, 0, 0 }, { 0, 0, 0 }, { 16383, 10, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  1,
	  { { 0, 0, 32767, 16382, 9, 0, 0, 0 } } },
	{ "16385 bytes: a body of 16-byte elements and a tail",
	  { { SRC, 32768, 327680 }, { DST, 32768, 327680 }, { 0, 0, 0 }, { 0, 0, 0 }, { 16385, 10, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  2,
	  { { 4, 0, 2047, 1023, 9, 0, 0, 0 }, { 0, 0, 32767, 0, 9, 0, 0x4000, 0x4000 } } },
	{ "300003 bytes at a pitch that is a multiple of 4",
	  { { SRC, 300004, 300004 }, { DST, 300004, 300004 }, { 0, 0, 0 }, { 0, 0, 0 }, { 300003, 1, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  6,
	  { { 2, 0, 75000, 16383, 0, 0, 0, 0 },
	    { 2, 0, 75000, 16383, 0, 0, 0x10000, 0x10000 },
	    { 2, 0, 75000, 16383, 0, 0, 0x20000, 0x20000 },
	    { 2, 0, 75000, 16383, 0, 0, 0x30000, 0x30000 },
	    { 2, 0, 75000, 9463, 0, 0, 0x40000, 0x40000 },
	    { 0, 0, 300003, 2, 0, 0, 0x493e0, 0x493e0 } } },
	{ "rows too far apart become slices",
	  { { SRC, 1u << 20, 0 }, { DST, 1u << 20, 0 }, { 0, 0, 0 }, { 16, 0, 0 }, { 64, 5000, 1 } },
	  BF_SDMA_DRV_RECT_OK,
	  1,
	  3,
	  { { 4, 0, 524287, 3, 0, 2047, 0, 16 },
	    { 4, 0, 524287, 3, 0, 2047, 1ull << 31, (1ull << 31) + 16 },
	    { 4, 0, 524287, 3, 0, 903, 1ull << 32, (1ull << 32) + 16 } } },
	{ "too many rows and slices: 2 x 2 packets, rows first",
	  { { SRC, 64, 1280000 }, { DST, 64, 1280000 }, { 0, 0, 0 }, { 0, 0, 0 }, { 64, 20000, 2100 } },
	  BF_SDMA_DRV_RECT_OK,
	  0,
	  4,
	  { { 4, 0, 3, 3, 16383, 2047, 0, 0 },
	    { 4, 0, 3, 3, 3615, 2047, 16384 * 64, 16384 * 64 },
	    { 4, 0, 3, 3, 16383, 51, 2048ull * 1280000, 2048ull * 1280000 },
	    { 4, 0, 3, 3, 3615, 51, 2048ull * 1280000 + 16384 * 64, 2048ull * 1280000 + 16384 * 64 } } },
	{ "an odd width at 2 MiB",
	  { { SRC, 1u << 21, 1u << 22 }, { DST, 1u << 21, 1u << 22 }, { 0, 0, 0 }, { 0, 0, 0 }, { 33, 2, 2 } },
	  BF_SDMA_DRV_RECT_PITCH_LIMIT,
	  0,
	  0,
	  { { 0 } } },
};

START_TEST(worked_examples)
{
	const struct bf_sdma_drv_caps *caps = bf_sdma_drv_caps_of(BF_SDMA_V4);
	struct bf_sdma_drv_rect r = examples[_i].r;
	struct bf_sdma_drv_tiles it;
	struct bf_sdma_drv_tile t;
	int n = 0;

	if (examples[_i].submit) {
		ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_OK);
		bf_sdma_drv_rect_xz(&r, caps);
	}
	ck_assert_msg(bf_sdma_drv_tiles_begin(&it, &r, caps) == examples[_i].error, "%s", examples[_i].name);
	for (; examples[_i].error == BF_SDMA_DRV_RECT_OK && bf_sdma_drv_tiles_next(&it, &t); n++) {
		ck_assert_msg(n < examples[_i].n, "%s", examples[_i].name);
		ck_assert_uint_eq(t.element, examples[_i].tiles[n].element);
		ck_assert_uint_eq(t.soff, examples[_i].tiles[n].soff);
		ck_assert_uint_eq(t.src_pitch, examples[_i].tiles[n].pitch);
		ck_assert_uint_eq(t.x, examples[_i].tiles[n].x);
		ck_assert_uint_eq(t.y, examples[_i].tiles[n].y);
		ck_assert_uint_eq(t.z, examples[_i].tiles[n].z);
		ck_assert_uint_eq(t.sbase, SRC + examples[_i].tiles[n].src);
		ck_assert_uint_eq(t.dbase, DST + examples[_i].tiles[n].dst);
	}
	ck_assert_int_eq(n, examples[_i].n);
}
END_TEST

START_TEST(two_splitters_agree)
{
	static const struct limits narrow = { 1u << 19, 1u << 28, 1u << 14, 1u << 11 },
				   wide = { 1u << 16, 1ull << 32, 1u << 16, 1u << 14 };
	struct bf_sdma_drv_tile *tiles = calloc(TILES_MAX, sizeof(*tiles));
	struct bf_rng g;

	bf_rng_init(&g, 7, "rects");
	for (int i = 0; i < REQUESTS; i++) {
		struct bf_sdma_drv_rect r;

		random_request(&g, &r, i % 3 == 0);
		r.src.base = 0x700000000000ull + 4 * bf_rng_below(&g, 1u << 20);
		r.dst.base = 0x7e0000000000ull + 4 * bf_rng_below(&g, 1u << 20);
		compare(&r, bf_sdma_drv_caps_of(BF_SDMA_V4), &narrow, tiles);
		compare(&r, bf_sdma_drv_caps_of(BF_SDMA_V7), &wide, tiles);
	}
	free(tiles);
}
END_TEST

/* Each check, and that the first one that strikes is the one that is told. */
START_TEST(checks_in_order)
{
	const struct bf_sdma_drv_rect good = { .src = { 0x1000, 256, 4096 },
					       .dst = { 0x9000, 128, 2048 },
					       .range = { 64, 4, 2 } };
	struct bf_sdma_drv_rect r = good;

	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_OK);
	r.dst.slice = 0;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_SLICE_NEEDED);
	r.src_off.y = 13;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_HEIGHT_RANGE);
	r.dst_off.x = 65;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_WIDTH_RANGE);
	r.src.slice = 4098;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_SLICE_ALIGN);
	r.dst.pitch = 129;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_PITCH_ALIGN);
	r.src.base = 0x1002;
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_BASE_ALIGN);
	r = good;
	r.range.x = 0;
	r.src.pitch = 0; /* would divide by zero */
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_HEIGHT_RANGE);
	r = good;
	r.dst_off.x = UINT32_MAX; /* the sum has 33 bits */
	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_WIDTH_RANGE);
}
END_TEST

/* ---- on the model ---- */

#define SURFACE (32u << 10)
#define RING (64u << 10)

struct stand {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_sdma *engine;
	struct bf_sdma_queue *queue;
	struct bf_region *ring, *pointers, *src, *dst;
	uint64_t index;
};

static struct bf_region *add_region(struct stand *s, const char *name, uint64_t size)
{
	struct bf_region *r;

	ck_assert_int_eq(bf_region_create(&s->space,
					  &(struct bf_region_opts){ .name = name, .kind = BF_MEM_DRAM, .size = size },
					  &r),
			 0);
	ck_assert_int_eq(bf_ioas_map_region(&s->ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	return r;
}

static void open_stand(struct stand *s, const struct bf_sdma_profile *profile)
{
	struct bf_sdma_opts opts = { .name = "sdma0", .profile = profile, .space = &s->space, .ioas = &s->ioas };
	struct bf_sdma_queue_opts q = { .bytes = RING };

	*s = (struct stand){ 0 };
	ck_assert_int_eq(bf_sim_create(1, &s->sim), 0);
	ck_assert_int_eq(bf_space_init(&s->space, s->sim, "test", 0), 0);
	ck_assert_int_eq(bf_ioas_init(&s->ioas, s->sim, "test", BF_PAGE), 0);
	s->ring = add_region(s, "ring", RING);
	s->pointers = add_region(s, "pointers", BF_PAGE);
	s->src = add_region(s, "src", SURFACE);
	s->dst = add_region(s, "dst", SURFACE);
	ck_assert_int_eq(bf_sdma_create(s->sim, &opts, &s->engine), 0);
	q.ring = s->ring->va;
	q.rptr = s->pointers->va;
	q.wptr = s->pointers->va + 64;
	ck_assert_msg(!bf_sdma_queue_create(s->engine, &q, &s->queue), "%s", s->sim->error.text);
}

static void close_stand(struct stand *s)
{
	bf_sdma_destroy(s->engine);
	bf_ioas_fini(&s->ioas);
	bf_space_fini(&s->space);
	bf_sim_destroy(s->sim);
}

/* Runs `n` dwords; the stand is the only producer, so that it needs no protocol. */
static void run(struct stand *s, const uint32_t *dw, uint32_t n)
{
	struct bf_sdma_queue_info info;
	struct bf_region *bell;
	uint64_t offset;
	uint8_t index[8];

	if (s->index % RING + n * 4 > RING) {
		memset(s->ring->bytes + s->index % RING, 0, RING - s->index % RING);
		s->index += RING - s->index % RING;
	}
	for (uint32_t i = 0; i < n; i++)
		bf_put_le32(s->ring->bytes + (s->index + i * 4) % RING, dw[i]);
	s->index += n * 4;
	bf_put_le64(index, s->index);
	bell = bf_sdma_doorbell(s->queue, &offset);
	bf_mmio_post(bell, offset, index, 8);
	bf_sim_run(s->sim, BF_NEVER);
	bf_sdma_queue_info(s->queue, &info);
	ck_assert_int_eq(info.fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(info.retired, s->index);
}

static uint64_t reach(const struct bf_sdma_drv_pitched *p, const struct bf_sdma_drv_dim3 *off,
		      const struct bf_sdma_drv_dim3 *range)
{
	return off->x + range->x + (off->y + range->y) * p->pitch + (off->z + range->z) * p->slice;
}

static void random_rects_on(const struct bf_sdma_profile *profile, int count)
{
	static uint8_t should[SURFACE];
	static uint32_t dw[1024];
	struct bf_rng g;
	struct stand s;
	int ran = 0;

	open_stand(&s, profile);
	bf_rng_init(&g, 11, "run");
	for (uint32_t i = 0; i < SURFACE; i++) {
		s.src->bytes[i] = (uint8_t)bf_rng_next(&g);
		s.dst->bytes[i] = should[i] = (uint8_t)bf_rng_next(&g);
	}
	while (ran < count) {
		struct bf_sdma_drv_body b;
		struct bf_sdma_drv_rect r;

		random_request(&g, &r, false);
		if (reach(&r.src, &r.src_off, &r.range) > SURFACE || reach(&r.dst, &r.dst_off, &r.range) > SURFACE)
			continue;
		r.src.base = s.src->va;
		r.dst.base = s.dst->va;
		bf_sdma_drv_body_begin(&b, bf_sdma_drv_caps_of(profile->gen), 0, dw, BF_ARRAY_LEN(dw));
		ck_assert_int_eq(bf_sdma_drv_rect_copy(&b, &r), BF_SDMA_DRV_RECT_OK);
		ck_assert_uint_le(b.n, b.cap);
		run(&s, dw, b.n);
		for (uint32_t z = 0; z < r.range.z; z++)
			for (uint32_t y = 0; y < r.range.y; y++)
				memcpy(should + r.dst_off.x + (r.dst_off.y + y) * r.dst.pitch +
					   (r.dst_off.z + z) * r.dst.slice,
				       s.src->bytes + r.src_off.x + (r.src_off.y + y) * r.src.pitch +
					   (r.src_off.z + z) * r.src.slice,
				       r.range.x);
		ck_assert_mem_eq(s.dst->bytes, should, SURFACE);
		ran++;
	}
	close_stand(&s);
}

START_TEST(rects_run_on_the_model)
{
	random_rects_on(&bf_sdma_v4, REQUESTS / 2);
	random_rects_on(&bf_sdma_v7, REQUESTS / 2);
}
END_TEST

/* Rows too far apart for a pitch become slices of one row. */
START_TEST(far_rows_become_slices)
{
	struct bf_sdma_drv_rect r = { .src = { 0x10000000, 1u << 20, 0 },
				      .dst = { 0x20000000, 1u << 20, 0 },
				      .dst_off = { 16, 3, 0 },
				      .range = { 64, 5000, 1 } };
	struct bf_sdma_drv_tiles it;
	struct bf_sdma_drv_tile t;
	const uint32_t slices[] = { 2047, 2047, 903 };

	ck_assert_int_eq(bf_sdma_drv_rect_check(&r), BF_SDMA_DRV_RECT_OK);
	bf_sdma_drv_rect_xz(&r, bf_sdma_drv_caps_of(BF_SDMA_V4));
	ck_assert_uint_eq(r.dst.base, 0x20000000 + (3u << 20));
	ck_assert_int_eq(bf_sdma_drv_tiles_begin(&it, &r, bf_sdma_drv_caps_of(BF_SDMA_V4)), BF_SDMA_DRV_RECT_OK);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(bf_sdma_drv_tiles_next(&it, &t), 1);
		ck_assert_uint_eq(t.element, 4);
		ck_assert_uint_eq(t.src_pitch, (1u << 19) - 1); /* pitch 0 less one */
		ck_assert_uint_eq(t.src_slice, 65535);
		ck_assert_uint_eq(t.y, 0);
		ck_assert_uint_eq(t.z, slices[i]);
		ck_assert_uint_eq(t.sbase, 0x10000000 + ((uint64_t)i << 31));
	}
	ck_assert_int_eq(bf_sdma_drv_tiles_next(&it, &t), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma_rect");
	TCase *tc = tcase_create("sdma_rect");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, worked_examples, 0, BF_ARRAY_LEN(examples));
	tcase_add_test(tc, two_splitters_agree);
	tcase_add_test(tc, checks_in_order);
	tcase_add_test(tc, rects_run_on_the_model);
	tcase_add_test(tc, far_rows_become_slices);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
