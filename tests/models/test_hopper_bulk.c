/*
 * Bulk copies: random boxes and plain copies, byte by byte, against copiers that know nothing of the model's walker;
 * then orders of pieces, rules, multicast, groups, the async proxy, determinism.
 */
#include <check.h>
#include <errno.h>
#include <stdbool.h>

#include "models/hopper/program.h"
#include "models/hopper/records_bulk.h"
#include "tests/models/hopper_rig.h"

#define AREA (32u * 1024) /* of shared memory that boxes use, behind the barriers */
#define BOXES 20000u
#define BOXES_A_RIG 1000u

static uint32_t below(struct rig *r, uint32_t n)
{
	return (uint32_t)bf_rng_below(&r->rng, n);
}

static void scramble(struct rig *r, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		bf_put_le64(bytes + i, bf_rng_next(&r->rng));
}

static void issue_good(struct rig *r, uint32_t rank, struct bf_bulk_copy *c)
{
	bf_bulk_issue(r->cta[rank], c);
	ck_assert_msg(bf_bulk_fault(r->bulk) == BF_BULK_OK, "%s", bf_bulk_fault_name(bf_bulk_fault(r->bulk)));
}

/* The barrier's first phase is over, and no second one. */
static void assert_one_phase(const struct rig *r, uint32_t rank, uint32_t barrier)
{
	const uint64_t word = rig_word(r, rank, barrier);
	const uint32_t at = bf_hopper_cta_base(r->cta[rank]) + barrier;

	ck_assert_ptr_null(bf_hopper_fault(r->gpu));
	ck_assert_uint_eq(bf_mbar_phase(word), 1);
	ck_assert_int_eq(bf_mbar_tx(word), 0);
	ck_assert_uint_eq(bf_mbar_pending(word), 1);
	ck_assert_uint_eq(bf_sync_history(bf_hopper_cta_unit(r->cta[rank]), at).phases, 1);
}

/* ---- boxes ---- */

/* What an element outside the tensor becomes. */
static void reference_fill(const struct bf_tensor_map *m, uint8_t *out, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		out[i] = m->fill_nan ? 0xff : 0;
	if (!m->fill_nan)
		return;
	if (m->type == BF_TENSOR_F64)
		bf_put_le64(out, 0xfff8000000000000ull);
	else
		out[size - 1] = 0x7f;
}

/* Where CUTLASS's Swizzle<n, 4, 3> puts a byte. */
static uint32_t reference_swizzle(enum bf_tensor_swizzle n, uint32_t address)
{
	static const uint32_t ways[] = { 1, 2, 4, 8 };
	const uint32_t row = address / 128, chunk = address / 16 % 8;

	return row * 128 + (chunk ^ row % ways[n]) * 16 + address % 16;
}

struct box {
	struct bf_tensor_map map;
	int32_t at[BF_TENSOR_RANK_MAX];
	uint32_t shared; /* offset */
};

/* Element by element, by coordinates. `shared` is the window, `global` the region. */
static void reference_copy(const struct rig *r, const struct box *b, bool store, uint8_t *shared, uint8_t *global)
{
	const struct bf_tensor_map *m = &b->map;
	const uint32_t size = bf_tensor_element(m->type);
	uint32_t index[BF_TENSOR_RANK_MAX] = { 0 }, to = b->shared, d;

	for (;;) {
		bool outside = false;
		uint64_t from = m->base - r->global->va;

		for (d = 0; d < m->rank; d++) {
			const int64_t c = (int64_t)b->at[d] + (int64_t)index[d] * (d ? m->element_stride[d] : 1);

			outside |= c < 0 || c >= (int64_t)m->dim[d];
			from += outside ? 0 : (uint64_t)c * (d ? m->stride[d] : size);
		}
		for (uint32_t i = 0; i < size; i++) {
			uint8_t fill[8] = { 0 };
			uint8_t *s = shared + reference_swizzle(m->swizzle, to + i);

			reference_fill(m, fill, size);
			if (store && !outside)
				global[from + i] = *s;
			else if (!store)
				*s = outside ? fill[i] : global[from + i];
		}
		to += size;
		for (d = 0; d < m->rank; d++) {
			const uint32_t stride = d ? m->element_stride[d] : 1;

			if (++index[d] * stride < m->box[d])
				break;
			index[d] = 0;
		}
		if (d == m->rank)
			return;
	}
}

/* A box that fits, within a tensor that lies in the region. */
static void random_box(struct rig *r, struct box *b)
{
	struct bf_tensor_map *m = &b->map;
	uint64_t span;
	uint32_t size;

	do {
		memset(b, 0, sizeof(*b));
		m->rank = 1 + below(r, 5);
		m->type = (enum bf_tensor_type)below(r, BF_TENSOR_TYPES);
		m->swizzle = (enum bf_tensor_swizzle)(below(r, 3) ? 0 : below(r, 4));
		m->fill_nan = m->type >= BF_TENSOR_F16 && below(r, 2);
		size = bf_tensor_element(m->type);
		m->dim[0] = 1 + below(r, 96);
		m->box[0] = (1 + below(r, 8)) * 16 / size;
		span = (m->dim[0] * size + 15) / 16 * 16;
		for (uint32_t d = 1; d < m->rank; d++) {
			m->dim[d] = 1 + below(r, 6);
			m->stride[d] = span + 16 * below(r, 3);
			m->element_stride[d] = below(r, 3) ? 1 : 1 + below(r, 8);
			m->box[d] = 1 + below(r, 5);
			span = m->dim[d] * m->stride[d];
		}
		for (uint32_t d = 0; d < m->rank; d++)
			b->at[d] = (int32_t)below(r, (uint32_t)m->dim[d] + 4) - 2;
		m->base = r->global->va + 16 * below(r, 64);
		b->shared = RIG_BARRIERS + 128 * below(r, 64);
	} while (bf_tensor_map_check(m, NULL) || bf_tensor_box_bytes(m) > AREA - 64 * 128 ||
		 m->base + span > r->global->va + r->global->size);
}

START_TEST(test_boxes)
{
	struct rig r;
	uint8_t *shared = malloc(RIG_SHARED), *global = malloc(1u << 20), *window;
	uint64_t outside = 0;

	rig_open(&r, &(struct rig_opts){ .seed = 100u + (uint32_t)_i });
	window = rig_shared(&r, 0, 0);
	scramble(&r, r.global->bytes, r.global->size);
	scramble(&r, window + RIG_BARRIERS, AREA);
	memcpy(global, r.global->bytes, 1u << 20);
	for (uint32_t i = 0; i < BOXES_A_RIG; i++) {
		const bool store = below(&r, 3) == 0;
		struct bf_bulk_copy c = { .kind = store ? BF_BULK_STORE : BF_BULK_LOAD, .barrier = 8 * (i % 100) };
		struct box b;

		random_box(&r, &b);
		c.map = &b.map;
		c.shared = b.shared;
		memcpy(c.at, b.at, sizeof(c.at));
		if (!store)
			rig_arm(&r, 0, c.barrier, bf_tensor_box_bytes(&b.map));
		memcpy(shared, window, RIG_SHARED);
		reference_copy(&r, &b, store, shared, global);
		issue_good(&r, 0, &c);
		rig_run(&r);
		if (!store)
			assert_one_phase(&r, 0, c.barrier);
		ck_assert_uint_eq(c.bytes, bf_tensor_box_bytes(&b.map));
		ck_assert_mem_eq(shared + RIG_BARRIERS, window + RIG_BARRIERS, AREA);
		ck_assert_mem_eq(global, r.global->bytes, 64u << 10);
		outside += b.at[0] < 0 || b.at[0] + (int64_t)b.map.box[0] > (int64_t)b.map.dim[0];
	}
	ck_assert_mem_eq(global, r.global->bytes, 1u << 20);
	ck_assert_uint_gt(outside, BOXES_A_RIG / 10);
	rig_close(&r);
	free(shared);
	free(global);
}
END_TEST

START_TEST(test_map_rules)
{
	const struct bf_tensor_map good = {
		.base = 1 << 20,
		.rank = 2,
		.type = BF_TENSOR_F16,
		.dim = { 100, 10 },
		.stride = { 0, 208 },
		.box = { 64, 4 },
		.element_stride = { 0, 1 },
	};
	struct bf_tensor_map m = good;
	struct bf_error e = { 0 };

	ck_assert_int_eq(bf_tensor_map_check(&good, &e), 0);
	ck_assert_uint_eq(bf_tensor_box_bytes(&good), 512);
#define BAD(field, value, part)                                                                                        \
	m = good;                                                                                                      \
	m.field = (value);                                                                                             \
	ck_assert_int_eq(bf_tensor_map_check(&m, &e), -EINVAL);                                                        \
	ck_assert_msg(strstr(e.text, part) != NULL, "%s", e.text)
	BAD(rank, 0, "rank 0");
	BAD(rank, 6, "rank 6");
	BAD(base, 8, "base 0x8");
	BAD(dim[1], 0, "dimension 1");
	BAD(dim[0], (1ull << 32) + 1, "dimension 0");
	BAD(stride[1], 200, "stride of 200");
	BAD(stride[1], 1ull << 40, "stride");
	BAD(box[0], 257, "box of 257");
	BAD(box[1], 0, "box of 0");
	BAD(box[0], 9, "rows of the box");
	BAD(element_stride[1], 9, "element stride 9");
	BAD(element_stride[1], 0, "element stride 0");
	BAD(swizzle, BF_TENSOR_SWIZZLE_64, "swizzle span of 64");
	BAD(swizzle, (enum bf_tensor_swizzle)4, "swizzle mode");
	BAD(type, BF_TENSOR_TYPES, "element type");
	m = good;
	m.type = BF_TENSOR_U16;
	m.fill_nan = true;
	ck_assert_int_eq(bf_tensor_map_check(&m, &e), -EINVAL);
	m = good;
	m.element_stride[1] = 3;
	ck_assert_uint_eq(bf_tensor_box_bytes(&m), 256); /* rows 0 and 3 of four */
#undef BAD
}
END_TEST

/* ---- plain copies ---- */

START_TEST(test_plain)
{
	struct rig r;
	uint8_t *shared[3], *global = malloc(1u << 20);

	rig_open(&r, &(struct rig_opts){ .seed = 3, .ctas = 3 });
	scramble(&r, r.global->bytes, r.global->size);
	memcpy(global, r.global->bytes, 1u << 20);
	for (uint32_t k = 0; k < 3; k++) {
		scramble(&r, rig_shared(&r, k, RIG_BARRIERS), RIG_SHARED - RIG_BARRIERS);
		shared[k] = malloc(RIG_SHARED);
		memcpy(shared[k], rig_shared(&r, k, 0), RIG_SHARED);
	}
	for (uint32_t i = 0; i < 3000; i++) {
		const uint32_t from = below(&r, 3), to = below(&r, 3), bytes = 16 * below(&r, 1 + below(&r, 200));
		const uint32_t a = RIG_BARRIERS + 16 * below(&r, 2000),
			       b = RIG_BARRIERS + 16 * (2300 + below(&r, 2000));
		const uint64_t g = 16 * below(&r, 4000);
		struct bf_bulk_copy c = {
			.kind = (enum bf_bulk_kind)below(&r, 3),
			.global = r.global->va + g,
			.bytes = bytes,
			.shared = bf_hopper_map(a, from),
			.barrier = bf_hopper_map(8 * (i % 128), from),
		};

		if (c.kind == BF_BULK_PEER) {
			c.shared = bf_hopper_map(a, to);
			c.barrier = bf_hopper_map(8 * (i % 128), to);
			c.source = bf_hopper_map(b, from);
			memcpy(shared[to] + a, shared[from] + b, bytes);
		} else if (c.kind == BF_BULK_LOAD) {
			memcpy(shared[from] + a, global + g, bytes);
		} else {
			memcpy(global + g, shared[from] + a, bytes);
		}
		if (c.kind != BF_BULK_STORE)
			rig_arm(&r, c.barrier >> BF_HOPPER_RANK_SHIFT, c.barrier & 0xffffff, bytes);
		issue_good(&r, from, &c);
		rig_run(&r);
		if (c.kind != BF_BULK_STORE)
			assert_one_phase(&r, c.barrier >> BF_HOPPER_RANK_SHIFT, c.barrier & 0xffffff);
		for (uint32_t k = 0; k < 3; k++)
			ck_assert_mem_eq(shared[k] + RIG_BARRIERS, rig_shared(&r, k, RIG_BARRIERS),
					 RIG_SHARED - RIG_BARRIERS);
		ck_assert_mem_eq(global, r.global->bytes, 128u << 10);
	}
	ck_assert_mem_eq(global, r.global->bytes, 1u << 20);
	rig_close(&r);
	for (uint32_t k = 0; k < 3; k++)
		free(shared[k]);
	free(global);
}
END_TEST

/* ---- pieces ---- */

struct watch {
	struct bf_sink sink;
	uint32_t pieces, late, bytes; /* late: before one that landed earlier */
	uint32_t signals, smallest, first;
	uint32_t last;
	uint64_t sum;
};

static int watch_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s, (void)schema;
	return 0;
}

static int watch_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s, (void)actor, (void)kind, (void)name;
	return 0;
}

static int watch_write(struct bf_sink *s, const void *records, size_t len)
{
	struct watch *w = BF_CONTAINER_OF(s, struct watch, sink);
	const uint8_t *p = records;

	while (len) {
		const struct bf_rec_header *head = (const void *)p;

		if (head->type == BF_REC_ID_hopper_bulk_piece) {
			const struct bf_rec_hopper_bulk_piece *piece = (const void *)(head + 1);

			w->pieces++;
			w->late += piece->shared < w->last;
			w->last = piece->shared;
			w->bytes += piece->bytes;
		} else if (head->type == BF_REC_ID_hopper_bulk_signal) {
			const struct bf_rec_hopper_bulk_signal *signal = (const void *)(head + 1);

			w->first = w->signals++ ? w->first : signal->bytes;
			w->sum += signal->bytes;
			if (signal->bytes < w->smallest)
				w->smallest = signal->bytes;
		}
		p += bf_record_span(head);
		len -= bf_record_span(head);
	}
	return 0;
}

static struct watch watching(void)
{
	return (struct watch){
		.sink = { .declare_type = watch_type, .declare_actor = watch_actor, .write = watch_write },
		.smallest = UINT32_MAX,
	};
}

/* A copy of 16 KiB + 48 from 16 bytes off a line, with latencies that spread over `spread` cycles. */
static void run_spread(uint64_t seed, uint32_t spread, uint32_t window, uint32_t off, struct watch *w)
{
	struct bf_hopper_profile p = bf_hopper_h200;
	struct bf_bulk_copy c = { .shared = RIG_BARRIERS, .barrier = 64, .bytes = 16384 + 48 };
	struct rig r;

	p.bulk_spread_mc = spread * 1000;
	p.bulk_window = window;
	if (spread == 0)
		p.bulk_gather_mc = p.bulk_gather_spread_mc = 0;
	p.l2_slice_bytes =
	    spread ? p.l2_slice_bytes : 1000000; /* nor do slices hold up one request more than another */
	*w = watching();
	rig_open(&r, &(struct rig_opts){ .seed = seed, .profile = &p });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_QUEUE | BF_CLASS_DMA, &w->sink), 0);
	scramble(&r, r.global->bytes, r.global->size);
	c.global = r.global->va + off;
	rig_arm(&r, 0, c.barrier, c.bytes);
	issue_good(&r, 0, &c);
	rig_run(&r);
	assert_one_phase(&r, 0, c.barrier);
	ck_assert_mem_eq(rig_shared(&r, 0, RIG_BARRIERS), r.global->bytes + off, c.bytes);
	ck_assert_int_eq(bf_stream_close(&r.sim->rec), 0);
	ck_assert_uint_eq(w->bytes, c.bytes);
	ck_assert_uint_eq(w->sum, c.bytes);
	ck_assert_uint_eq(w->signals, bf_bulk_counts(r.bulk)->signals);
	rig_close(&r);
}

START_TEST(test_orders)
{
	struct watch w;
	uint32_t late = 0;

	run_spread(1, 0, 512, 16, &w);
	ck_assert_uint_eq(w.late, 0);   /* in order */
	ck_assert_uint_eq(w.first, 16); /* the second half of a sector */
	ck_assert_uint_gt(w.signals, 16);
	for (uint32_t seed = 1; seed <= 40; seed++) {
		run_spread(seed, 32, 512, 16, &w);
		late += w.late;
		ck_assert_uint_eq(w.smallest, 16);
		run_spread(seed, 5000, 512, 16, &w);
		ck_assert_uint_gt(w.late, w.pieces / 4);
		run_spread(seed, 32, 512, 64, &w);
		ck_assert_uint_ge(w.smallest, 16);
		run_spread(seed, 5000, 1, 32, &w); /* one request at a time */
		ck_assert_uint_eq(w.late, 0);
	}
	ck_assert_uint_gt(late, 40 * 16);
}
END_TEST

/* Bytes beyond those that were announced leave the count negative; fewer leave the phase open. */
START_TEST(test_counts)
{
	struct bf_bulk_copy c = { .shared = RIG_BARRIERS, .barrier = 0, .bytes = 1024 };
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 1 });
	c.global = r.global->va;
	rig_arm(&r, 0, 0, 2048);
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, 0, 0)), 0);
	ck_assert_int_eq(bf_mbar_tx(rig_word(&r, 0, 0)), 1024);
	issue_good(&r, 0, &c);
	rig_run(&r);
	assert_one_phase(&r, 0, 0);
	rig_do(&r, 0, BF_SYNC_INIT, 8, 2, 0); /* nobody has armed this one: bytes before the announcement */
	c.barrier = 8;
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_int_eq(bf_mbar_tx(rig_word(&r, 0, 8)), -1024);
	rig_do(&r, 0, BF_SYNC_ARRIVE, 8, 2, 1024);
	ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, 0, 8)), 1);
	c.barrier = 16; /* never initialised */
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_ptr_nonnull(bf_hopper_fault(r.gpu));
	ck_assert_int_eq(bf_hopper_fault(r.gpu)->barrier, BF_MBAR_FAULT_UNINITIALISED);
	rig_close(&r);
}
END_TEST

/* ---- rules ---- */

static const struct bf_tensor_map *const no_map = NULL;

START_TEST(test_rules)
{
	const struct bf_tensor_map map = {
		.base = 1ull << 41,
		.rank = 1,
		.type = BF_TENSOR_U8,
		.dim = { 64 },
		.box = { 64 },
		.element_stride = { 1 },
	};
	struct bf_tensor_map odd = map;
	const uint32_t there = RIG_BARRIERS, peer = bf_hopper_map(RIG_BARRIERS, 1);
	const struct {
		enum bf_bulk_fault fault;
		struct bf_bulk_copy copy;
	} cases[] = {
		{ BF_BULK_FAULT_SIZE, { .shared = there, .bytes = 24 } },
		{ BF_BULK_FAULT_SIZE, { .shared = there, .bytes = 1u << 20 } },
		{ BF_BULK_FAULT_ALIGN, { .shared = there + 8, .bytes = 16 } },
		{ BF_BULK_FAULT_ALIGN, { .shared = there, .global = 8, .bytes = 16 } },
		{ BF_BULK_FAULT_ALIGN, { .shared = there, .barrier = 4, .bytes = 16 } },
		{ BF_BULK_FAULT_ALIGN,
		  { .kind = BF_BULK_PEER, .shared = peer, .barrier = peer, .source = there + 4, .bytes = 16 } },
		{ BF_BULK_FAULT_ALIGN, { .shared = there + 64, .map = &map } },
		{ BF_BULK_FAULT_WINDOW, { .shared = RIG_SHARED - 16, .bytes = 32 } },
		{ BF_BULK_FAULT_WINDOW, { .shared = there, .barrier = RIG_SHARED, .bytes = 16 } },
		{ BF_BULK_FAULT_WINDOW, { .kind = BF_BULK_STORE, .shared = RIG_SHARED, .bytes = 16 } },
		{ BF_BULK_FAULT_TARGET, { .shared = there, .barrier = peer, .bytes = 16 } },
		{ BF_BULK_FAULT_TARGET, { .kind = BF_BULK_STORE, .shared = peer, .bytes = 16 } },
		{ BF_BULK_FAULT_TARGET,
		  { .kind = BF_BULK_PEER, .shared = peer, .barrier = peer, .source = peer, .bytes = 16 } },
		{ BF_BULK_FAULT_TARGET, { .shared = there, .multicast = 1 << 2, .bytes = 16 } },
		{ BF_BULK_FAULT_TARGET, { .shared = 0xff000000, .barrier = 0xff000000, .bytes = 16 } },
		{ BF_BULK_FAULT_MAP, { .shared = there, .map = &odd } },
		{ BF_BULK_FAULT_MAP,
		  { .kind = BF_BULK_PEER, .shared = peer, .barrier = peer, .source = there, .map = &map } },
		{ BF_BULK_FAULT_GLOBAL, { .shared = there, .global = 16, .bytes = 16 } },
		{ BF_BULK_FAULT_GLOBAL, { .kind = BF_BULK_STORE, .shared = there, .global = 16, .bytes = 16 } },
		{ BF_BULK_OK, { .kind = BF_BULK_STORE, .shared = there, .global = 0, .bytes = 0 } },
	};

	odd.base = 8;
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		struct bf_bulk_copy c = cases[i].copy;
		char text[256];
		struct rig r;

		rig_open(&r, &(struct rig_opts){ .ctas = 2 });
		rig_do(&r, 0, BF_SYNC_INIT, c.barrier & ~7u & (RIG_BARRIERS - 1), 1, 0);
		if (c.map == no_map && c.global != 16)
			c.global += r.global->va;
		bf_bulk_issue(r.cta[0], &c);
		rig_run(&r);
		ck_assert_msg(bf_bulk_fault(r.bulk) == cases[i].fault, "case %zu: %s", i,
			      bf_bulk_fault_name(bf_bulk_fault(r.bulk)));
		ck_assert_int_eq(bf_hopper_fault(r.gpu) != NULL, cases[i].fault != BF_BULK_OK);
		if (cases[i].fault) {
			bf_hopper_describe(r.gpu, text, sizeof(text));
			ck_assert_msg(strstr(text, bf_bulk_fault_name(cases[i].fault)) != NULL, "%s", text);
		}
		rig_close(&r);
	}
}
END_TEST

/* ---- clusters ---- */

START_TEST(test_multicast)
{
	struct bf_bulk_copy c = { .shared = RIG_BARRIERS + 256, .barrier = 32, .bytes = 8192, .multicast = 0x2d };
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 9, .ctas = 6 });
	scramble(&r, r.global->bytes, r.global->size);
	c.global = r.global->va + 48;
	for (uint32_t k = 0; k < 6; k++)
		rig_arm(&r, k, 32, 8192);
	issue_good(&r, 3, &c);
	rig_run(&r);
	for (uint32_t k = 0; k < 6; k++) {
		const bool gets = c.multicast >> k & 1;

		ck_assert_int_eq(memcmp(rig_shared(&r, k, c.shared), r.global->bytes + 48, 8192) == 0, gets);
		ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, k, 32)), gets);
		ck_assert_int_eq(bf_mbar_tx(rig_word(&r, k, 32)), gets ? 0 : 8192);
	}
	bf_bulk_issue(r.cta[3], &c); /* block 5 exits while its bytes are on their way */
	bf_hopper_exit(r.cta[5]);
	rig_run(&r);
	ck_assert_int_eq(bf_bulk_fault(r.bulk), BF_BULK_FAULT_GONE);
	ck_assert_int_eq(bf_hopper_fault(r.gpu)->kind, BF_HOPPER_FAULT_GONE);
	rig_close(&r);
}
END_TEST

/* ---- groups ---- */

struct timed_wait {
	struct bf_copy_wait wait;
	uint64_t done_ps;
};

static void wait_done(struct bf_copy_wait *w)
{
	struct timed_wait *t = BF_CONTAINER_OF(w, struct timed_wait, wait);

	ck_assert(!w->killed);
	t->done_ps = t->wait.sim->now_ps;
}

static void start_wait(struct rig *r, struct timed_wait *t, uint32_t lane, uint32_t keep, bool read)
{
	*t = (struct timed_wait){ .wait = { .lanes = 1u << lane, .keep = keep, .read = read, .done = wait_done } };
	bf_bulk_wait(r->cta[0], &t->wait);
	ck_assert_uint_eq(t->done_ps, 0);
}

START_TEST(test_groups)
{
	struct bf_bulk_copy c = { .kind = BF_BULK_STORE, .shared = RIG_BARRIERS, .bytes = 16384, .lane = 4 };
	struct timed_wait all, one, two, read, other, open;
	struct rig r;
	uint32_t groups = 3;

	rig_open(&r, &(struct rig_opts){ .seed = 2 });
	scramble(&r, rig_shared(&r, 0, RIG_BARRIERS), 49152);
	c.global = r.global->va;
	while (groups--) {
		issue_good(&r, 0, &c);
		bf_bulk_commit(r.cta[0], 0, 1 << 4);
		c.global += c.bytes;
		c.shared += c.bytes;
	}
	issue_good(&r, 0, &c); /* in no committed group */
	start_wait(&r, &all, 4, 0, false);
	start_wait(&r, &one, 4, 1, false);
	start_wait(&r, &two, 4, 2, false);
	start_wait(&r, &read, 4, 0, true);
	start_wait(&r, &other, 5, 0, false);
	start_wait(&r, &open, 4, 3, false);
	rig_run(&r);
	ck_assert_uint_gt(other.done_ps, 0);
	ck_assert_uint_eq(other.done_ps, open.done_ps);
	ck_assert_uint_lt(open.done_ps, two.done_ps);
	ck_assert_uint_lt(two.done_ps, one.done_ps);
	ck_assert_uint_lt(one.done_ps, all.done_ps);
	ck_assert_uint_lt(read.done_ps, all.done_ps);
	ck_assert_uint_lt(all.done_ps, r.sim->now_ps); /* the fourth copy ended later */
	ck_assert_mem_eq(r.global->bytes, rig_shared(&r, 0, RIG_BARRIERS), 4 * 16384);
	start_wait(&r, &all, 4, 0, false); /* the fourth copy is still in the open group: this ends at once */
	rig_run(&r);
	ck_assert_uint_gt(all.done_ps, 0);
	rig_close(&r);
}
END_TEST

/* A wait that a fault cuts short is told so. */
static void wait_killed(struct bf_copy_wait *w)
{
	ck_assert(w->killed);
	BF_CONTAINER_OF(w, struct timed_wait, wait)->done_ps = 1;
}

START_TEST(test_groups_killed)
{
	struct bf_bulk_copy c = { .kind = BF_BULK_STORE, .shared = RIG_BARRIERS, .bytes = 1024 };
	struct timed_wait t = { .wait = { .lanes = 1, .done = wait_killed } };
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 2 });
	c.global = r.global->va + r.global->size - 512; /* its end leads nowhere */
	bf_bulk_issue(r.cta[0], &c);
	bf_bulk_commit(r.cta[0], 0, 1);
	bf_bulk_wait(r.cta[0], &t.wait);
	rig_run(&r);
	ck_assert_uint_eq(t.done_ps, 1);
	ck_assert_int_eq(bf_bulk_fault(r.bulk), BF_BULK_FAULT_GLOBAL);
	rig_close(&r);
}
END_TEST

/* ---- the async proxy ---- */

START_TEST(test_proxy)
{
	struct bf_bulk_copy c = { .kind = BF_BULK_STORE, .shared = RIG_BARRIERS, .bytes = 64 };
	struct bf_bulk_copy load = { .shared = RIG_BARRIERS, .bytes = 64, .barrier = 0 };
	uint8_t old[64], new[64], mixed[64];
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 5 });
	scramble(&r, rig_shared(&r, 0, RIG_BARRIERS), 64);
	memcpy(old, rig_shared(&r, 0, RIG_BARRIERS), 64);
	scramble(&r, new, 64);
	memcpy(mixed, new, 64);
	memcpy(mixed + 16, old + 16, 32);
	c.global = r.global->va;
	load.global = r.global->va + 4096;

	bf_bulk_plain_store(r.cta[0], 1, RIG_BARRIERS, new, 16);
	bf_bulk_plain_store(r.cta[0], 1, RIG_BARRIERS + 48, new + 48, 16);
	bf_bulk_plain_store(r.cta[0], 2, RIG_BARRIERS + 16, new + 16, 32);
	ck_assert_mem_eq(rig_shared(&r, 0, RIG_BARRIERS), new, 64); /* plain loads see it */
	ck_assert_uint_eq(bf_bulk_stale(r.cta[0]), 64);
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, old, 64);
	ck_assert_uint_eq(bf_bulk_counts(r.bulk)->stale, 64);

	bf_bulk_fence(r.cta[0], 0); /* of a warp that stored nothing */
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, old, 64);

	ck_assert_uint_gt(bf_bulk_fence(r.cta[0], 1), r.sim->now_ps);
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, mixed, 64);

	bf_bulk_fence(r.cta[0], 2);
	ck_assert_uint_eq(bf_bulk_stale(r.cta[0]), 0);
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, new, 64);

	/* What a copy writes needs no fence: neither for loads nor for the next copy. */
	bf_bulk_plain_store(r.cta[0], 1, RIG_BARRIERS, old, 64);
	scramble(&r, r.global->bytes + 4096, 64);
	rig_arm(&r, 0, 0, 64);
	issue_good(&r, 0, &load);
	rig_run(&r);
	assert_one_phase(&r, 0, 0);
	ck_assert_mem_eq(rig_shared(&r, 0, RIG_BARRIERS), r.global->bytes + 4096, 64);
	issue_good(&r, 0, &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, r.global->bytes + 4096, 64);
	rig_close(&r);
}
END_TEST

/* Stores that go through the sync unit's instruction are seen as well; the next block starts with nothing stale. */
START_TEST(test_proxy_instruction)
{
	struct rig r;
	struct bf_sync_instr in;

	rig_open(&r, &(struct rig_opts){ .seed = 5 });
	memset(&in, 0, sizeof(in));
	in.op = BF_SYNC_STORE;
	in.active = 0xf;
	in.warp = (uint8_t)bf_hopper_cta_slot(r.cta[0], 3);
	for (uint32_t lane = 0; lane < 4; lane++) {
		in.address[lane] = RIG_BARRIERS + 8 * lane;
		in.token[lane] = 0x1111111111111111u * lane;
	}
	bf_event_init(&in.event, NULL);
	bf_hopper_issue(r.cta[0], &in);
	ck_assert_uint_eq(bf_bulk_stale(r.cta[0]), 32);
	bf_hopper_exit(r.cta[0]);
	ck_assert_int_eq(
	    bf_hopper_launch(r.gpu, &(struct bf_hopper_launch){ .shared_bytes = RIG_SHARED, .warps = 1 }, r.cta), 0);
	ck_assert_uint_eq(bf_bulk_stale(r.cta[0]), 0);
	rig_close(&r);
}
END_TEST

/* ---- warps ---- */

/* Loads blocks of 4 KiB, adds one to each byte, and stores them behind; two buffers. */
#define ROUNDS 16u
#define BUFFER 4096u

struct adder {
	struct rig *rig;
	bool fences;
	uint32_t rounds;
};

static void adder_main(struct bf_warp *w)
{
	const struct adder *a = w->arg;
	const uint64_t in = a->rig->global->va, out = in + ROUNDS * BUFFER;

	bf_warp_init(w, 0, 1);
	for (uint32_t i = 0; i < a->rounds; i++) {
		const uint32_t at = RIG_BARRIERS + i % 2 * BUFFER;
		struct bf_bulk_copy load = { .shared = at, .barrier = 0, .bytes = BUFFER, .global = in + i * BUFFER };
		struct bf_bulk_copy store = {
			.kind = BF_BULK_STORE, .shared = at, .bytes = BUFFER, .global = out + i * BUFFER,
		};
		uint8_t bytes[BUFFER];

		ck_assert(bf_warp_copy_wait(w, 1, true)); /* the store before the last has read this buffer */
		bf_warp_copy(w, &load);
		w->instr.tx[0] = BUFFER;
		w->instr.op = BF_SYNC_ARRIVE;
		w->instr.active = 1;
		w->instr.address[0] = 0;
		w->instr.count[0] = 1;
		bf_warp_push(w);
		while (!bf_warp_try(w, 0, i & 1))
			;
		for (uint32_t k = 0; k < BUFFER; k++)
			bytes[k] = (uint8_t)(rig_shared(a->rig, 0, at)[k] + 1);
		bf_bulk_plain_store(w->cta, w->warp, at, bytes, BUFFER);
		if (a->fences)
			bf_warp_copy_fence(w);
		bf_warp_copy(w, &store);
		bf_bulk_commit(w->cta, w->warp, 1);
	}
	ck_assert(bf_warp_copy_wait(w, 0, false));
}

START_TEST(test_warp)
{
	for (uint32_t fences = 0; fences < 2; fences++) {
		struct adder a = { .fences = fences, .rounds = ROUNDS };
		struct bf_warp *w = NULL;
		struct rig r;

		rig_open(&r, &(struct rig_opts){ .seed = 12 });
		scramble(&r, r.global->bytes, ROUNDS * BUFFER);
		a.rig = &r;
		ck_assert_int_eq(bf_warp_create(&(struct bf_warp_opts){ .cta = r.cta[0], .active = 1, .exited = 0xfffffffe,
								       .main = adder_main, .arg = &a }, &w), 0);
		ck_assert_int_eq(bf_sim_run(r.sim, BF_NEVER), BF_RUN_IDLE);
		ck_assert_ptr_null(bf_hopper_fault(r.gpu));
		/* Without the fence the loaded bytes go out, not the new ones. */
		for (uint32_t k = 0; k < ROUNDS * BUFFER; k++)
			ck_assert_uint_eq((uint8_t)(r.global->bytes[k] + fences), r.global->bytes[ROUNDS * BUFFER + k]);
		rig_close(&r);
		bf_warp_destroy(w);
	}
}
END_TEST

/* ---- the clock ---- */

/* Cycles from issue to the end of the phase. */
static uint64_t cycles_of(uint32_t bytes)
{
	struct bf_bulk_copy c = { .shared = RIG_BARRIERS, .barrier = 0, .bytes = bytes };
	struct watch w = watching();
	struct rig r;
	uint64_t now;

	rig_open(&r, &(struct rig_opts){ .seed = 11 });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_QUEUE, &w.sink), 0);
	c.global = r.global->va;
	rig_arm(&r, 0, 0, bytes);
	issue_good(&r, 0, &c);
	while (bf_mbar_phase(rig_word(&r, 0, 0)) == 0)
		bf_sim_run(r.sim, r.sim->now_ps + 505);
	now = r.sim->now_ps / 505;
	rig_close(&r);
	return now;
}

START_TEST(test_rate)
{
	const uint64_t small = cycles_of(16), middle = cycles_of(16384), large = cycles_of(65536);

	ck_assert_uint_ge(small, 160);
	ck_assert_uint_le(small, 200);
	ck_assert_uint_ge((large - middle) * 105, 49152 * 95 / 100); /* 105 B a cycle */
	ck_assert_uint_le((large - middle) * 105, 49152ull * 105 / 100);
}
END_TEST

static uint64_t hash_of(uint64_t seed)
{
	struct rig r;
	uint64_t hash;

	rig_open(&r, &(struct rig_opts){ .seed = seed, .ctas = 4 });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	for (uint32_t i = 0; i < 40; i++) {
		struct bf_bulk_copy c = {
			.kind = i % 3 ? BF_BULK_LOAD : BF_BULK_STORE,
			.shared = bf_hopper_map(RIG_BARRIERS, i % 4),
			.barrier = bf_hopper_map(8 * i, i % 4),
			.bytes = 2048 + 16 * i,
			.global = r.global->va + 16 * i,
		};

		if (i % 3)
			rig_arm(&r, i % 4, 8 * i, c.bytes);
		issue_good(&r, i % 4, &c);
		if (i % 5 == 0)
			rig_run(&r);
	}
	rig_run(&r);
	ck_assert_int_eq(bf_stream_close(&r.sim->rec), 0);
	hash = bf_stream_hash(&r.sim->rec);
	rig_close(&r);
	return hash;
}

START_TEST(test_determinism)
{
	ck_assert_uint_eq(hash_of(1), hash_of(1));
	ck_assert_uint_ne(hash_of(1), hash_of(2));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hopper_bulk");
	TCase *tc = tcase_create("copies");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, test_boxes, 0, BOXES / BOXES_A_RIG);
	tcase_add_test(tc, test_map_rules);
	tcase_add_test(tc, test_plain);
	tcase_add_test(tc, test_orders);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_rules);
	tcase_add_test(tc, test_multicast);
	tcase_add_test(tc, test_groups);
	tcase_add_test(tc, test_groups_killed);
	tcase_add_test(tc, test_proxy);
	tcase_add_test(tc, test_proxy_instruction);
	tcase_add_test(tc, test_warp);
	tcase_add_test(tc, test_rate);
	tcase_add_test(tc, test_determinism);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
