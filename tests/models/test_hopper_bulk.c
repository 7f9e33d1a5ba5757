/* Bulk copies: plain ones byte by byte, orders of pieces, rules, multicast, the clock, determinism. */
#include "tests/models/hopper_bulk.h"

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
	tcase_add_test(tc, test_plain);
	tcase_add_test(tc, test_orders);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_rules);
	tcase_add_test(tc, test_multicast);
	tcase_add_test(tc, test_rate);
	tcase_add_test(tc, test_determinism);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
