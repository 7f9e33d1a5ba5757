/*
 * Ampere's asynchronous copies: bytes, groups of threads, pipelines, arriving on barriers of both kinds.
 */
#include <check.h>

#include "models/hopper/ldgsts.h"
#include "tests/models/hopper_rig.h"

static void scramble(struct rig *r, uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		bf_put_le64(bytes + i, bf_rng_next(&r->rng));
}

/* All lanes of `active` copy `bytes` each, side by side. */
static struct bf_ldgsts_copy side_by_side(const struct rig *r, uint32_t active, uint32_t bytes, uint32_t global,
					  uint32_t shared)
{
	struct bf_ldgsts_copy c = { .active = active, .bytes = bytes };

	for (uint32_t lane = 0; lane < 32; lane++) {
		c.global[lane] = r->global->va + global + bytes * lane;
		c.shared[lane] = RIG_BARRIERS + shared + bytes * lane;
		c.source[lane] = bytes;
	}
	return c;
}

struct timed_wait {
	struct bf_copy_wait wait;
	struct rig *rig;
	uint64_t done_ps;
};

static void wait_done(struct bf_copy_wait *w)
{
	struct timed_wait *t = BF_CONTAINER_OF(w, struct timed_wait, wait);

	t->done_ps = t->rig->sim->now_ps;
}

static void start_wait(struct rig *r, struct timed_wait *t, uint32_t lanes, uint32_t keep)
{
	*t = (struct timed_wait){ .wait = { .lanes = lanes, .keep = keep, .done = wait_done }, .rig = r };
	bf_ldgsts_wait(r->cta[0], &t->wait);
}

/* ---- bytes ---- */

START_TEST(test_bytes)
{
	uint8_t *want = malloc(RIG_SHARED);
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 21 });
	scramble(&r, r.global->bytes, r.global->size);
	for (uint32_t i = 0; i < 2000; i++) {
		struct bf_ldgsts_copy c = { .active = (uint32_t)bf_rng_next(&r.rng),
					    .bytes = 4u << bf_rng_below(&r.rng, 3) };

		memcpy(want, rig_shared(&r, 0, 0), RIG_SHARED);
		for (uint32_t left = c.active; left; left &= left - 1) {
			const uint32_t lane = (uint32_t)__builtin_ctz(left), at = (uint32_t)bf_rng_below(&r.rng, 4000);
			uint32_t n;

			c.global[lane] = r.global->va + c.bytes * bf_rng_below(&r.rng, 10000);
			c.shared[lane] = RIG_BARRIERS + (at * 32 + lane) * 16 % 65536; /* lanes do not meet */
			c.source[lane] = (uint32_t)bf_rng_below(&r.rng, 20);
			n = c.source[lane] < c.bytes ? c.source[lane] : c.bytes;
			memset(want + c.shared[lane], 0, c.bytes);
			memcpy(want + c.shared[lane], bf_host(r.global, c.global[lane]), n);
		}
		bf_ldgsts_issue(r.cta[0], &c);
		ck_assert_uint_gt(c.next_ps, r.sim->now_ps);
		rig_run(&r);
		ck_assert_ptr_null(bf_hopper_fault(r.gpu));
		ck_assert_mem_eq(want, rig_shared(&r, 0, 0), RIG_SHARED);
	}
	rig_close(&r);
	free(want);
}
END_TEST

START_TEST(test_rules)
{
	static const enum bf_bulk_fault faults[] = { BF_BULK_FAULT_SIZE, BF_BULK_FAULT_ALIGN, BF_BULK_FAULT_ALIGN,
						     BF_BULK_FAULT_WINDOW, BF_BULK_FAULT_GLOBAL };

	for (uint32_t i = 0; i < BF_ARRAY_LEN(faults); i++) {
		struct bf_ldgsts_copy c;
		struct rig r;

		rig_open(&r, &(struct rig_opts){ .seed = 1 });
		c = side_by_side(&r, UINT32_MAX, 16, 0, 0);
		c.bytes = i == 0 ? 12 : 16;
		c.shared[7] += i == 1 ? 8 : 0;
		c.global[7] += i == 2 ? 4 : 0;
		c.shared[7] = i == 3 ? RIG_SHARED : c.shared[7];
		c.global[7] += i == 4 ? 1ull << 40 : 0;
		bf_ldgsts_issue(r.cta[0], &c);
		rig_run(&r);
		ck_assert_int_eq(bf_bulk_fault(r.bulk), faults[i]);
		ck_assert_ptr_nonnull(bf_hopper_fault(r.gpu));
		ck_assert_uint_eq(bf_hopper_fault(r.gpu)->lane, i ? 7 : 0);
		rig_close(&r);
	}
}
END_TEST

/* What cp.async writes is a plain store to the async proxy. */
START_TEST(test_proxy)
{
	struct bf_bulk_copy store = { .kind = BF_BULK_STORE, .shared = RIG_BARRIERS, .bytes = 512 };
	struct bf_ldgsts_copy c;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 4 });
	scramble(&r, r.global->bytes, 512);
	c = side_by_side(&r, UINT32_MAX, 16, 0, 0);
	bf_ldgsts_issue(r.cta[0], &c);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, rig_shared(&r, 0, RIG_BARRIERS), 512);
	ck_assert_uint_eq(bf_bulk_stale(r.cta[0]), 512);
	store.global = r.global->va + 4096;
	bf_bulk_issue(r.cta[0], &store);
	rig_run(&r);
	ck_assert_mem_ne(r.global->bytes, r.global->bytes + 4096, 512);
	bf_bulk_fence(r.cta[0], 0);
	bf_bulk_issue(r.cta[0], &store);
	rig_run(&r);
	ck_assert_mem_eq(r.global->bytes, r.global->bytes + 4096, 512);
	rig_close(&r);
}
END_TEST

/* ---- groups ---- */

/*
 * A pipeline with `ahead` groups in flight beside the one in use and the one just issued: after wait_group N the oldest
 * is there, and N of them still may not be.
 */
START_TEST(test_pipeline)
{
	const uint32_t ahead = (uint32_t)_i;
	uint64_t before;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 40 + ahead });
	scramble(&r, r.global->bytes, r.global->size);
	for (uint32_t i = 0; i < 40 + ahead; i++) {
		struct bf_ldgsts_copy c = side_by_side(&r, UINT32_MAX, 16, 512 * i, 512 * (i % (ahead + 2)));
		struct timed_wait t;

		memset(rig_shared(&r, 0, RIG_BARRIERS + 512 * (i % (ahead + 2))), 0, 512);
		bf_ldgsts_issue(r.cta[0], &c);
		bf_ldgsts_commit(r.cta[0], 0, UINT32_MAX);
		if (i < ahead)
			continue;
		before = r.sim->now_ps;
		start_wait(&r, &t, UINT32_MAX, ahead);
		while (!t.done_ps)
			ck_assert_int_ne(bf_sim_run(r.sim, r.sim->now_ps + 505), BF_RUN_DEADLOCK);
		ck_assert_uint_gt(t.done_ps, before);
		ck_assert_mem_eq(rig_shared(&r, 0, RIG_BARRIERS + 512 * ((i - ahead) % (ahead + 2))),
				 r.global->bytes + 512 * (i - ahead), 512);
	}
	rig_close(&r);
}
END_TEST

/* Groups are per thread: lanes that committed more often wait for other copies. */
START_TEST(test_lanes)
{
	struct timed_wait low, high, idle;
	struct bf_ldgsts_copy c;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 6 });
	c = side_by_side(&r, UINT32_MAX, 16, 0, 0);
	bf_ldgsts_issue(r.cta[0], &c);
	bf_ldgsts_commit(r.cta[0], 0, UINT32_MAX);
	bf_sim_run(r.sim, 200 * 505);
	c = side_by_side(&r, 0x0000ffff, 16, 512, 512);
	bf_ldgsts_issue(r.cta[0], &c);
	bf_ldgsts_commit(r.cta[0], 0, 0x0000ffff);
	start_wait(&r, &low, 1, 0);
	start_wait(&r, &high, 1u << 31, 0);
	start_wait(&r, &idle, 1u << 31, 1);
	rig_run(&r);
	ck_assert_uint_lt(idle.done_ps, high.done_ps);
	ck_assert_uint_lt(high.done_ps, low.done_ps);
	ck_assert_uint_ge(low.done_ps - high.done_ps, 100 * 505); /* issued 200 cycles later, landed up to 40 earlier */
	rig_close(&r);
}
END_TEST

/* ---- barriers ---- */

static void arrive_on(struct rig *r, uint32_t active, uint32_t barrier, bool noinc, enum bf_ldgsts_barrier kind)
{
	struct bf_ldgsts_arrive a = { .active = active, .noinc = noinc, .barrier = kind };

	for (uint32_t lane = 0; lane < 32; lane++)
		a.address[lane] = barrier;
	bf_ldgsts_arrive(r->cta[0], &a);
}

/* The barrier's word, wherever it lives. */
static uint64_t word_of(const struct rig *r, enum bf_ldgsts_barrier kind, uint32_t barrier)
{
	return kind == BF_LDGSTS_ATOMS ? bf_get_le64(rig_shared(r, 0, barrier)) : rig_word(r, 0, barrier);
}

static void init(struct rig *r, enum bf_ldgsts_barrier kind, uint32_t barrier, uint32_t count)
{
	if (kind == BF_LDGSTS_ATOMS)
		bf_atoms_init(r->cta[0], 0, barrier, count);
	else
		rig_do(r, 0, BF_SYNC_INIT, barrier, count, 0);
}

static void arrive(struct rig *r, enum bf_ldgsts_barrier kind, uint32_t barrier, uint32_t count)
{
	uint64_t token;

	if (kind == BF_LDGSTS_ATOMS)
		bf_atoms_arrive(r->cta[0], 0, barrier, count, &token);
	else
		rig_do(r, 0, BF_SYNC_ARRIVE, barrier, count, 0);
}

/* With noinc the lanes' arrivals are among the expected ones. */
START_TEST(test_noinc)
{
	const enum bf_ldgsts_barrier kind = (enum bf_ldgsts_barrier)_i;
	struct bf_ldgsts_copy c;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 7 });
	scramble(&r, r.global->bytes, 4096);
	init(&r, kind, 0, 32);
	c = side_by_side(&r, UINT32_MAX, 8, 0, 0);
	bf_ldgsts_issue(r.cta[0], &c);
	arrive_on(&r, UINT32_MAX, 0, true, kind);
	ck_assert_uint_eq(bf_mbar_pending(word_of(&r, kind, 0)), 32);
	bf_sim_run(r.sim, 100 * 505);
	ck_assert_uint_eq(bf_mbar_phase(word_of(&r, kind, 0)), 0);
	rig_run(&r);
	ck_assert_uint_eq(bf_mbar_phase(word_of(&r, kind, 0)), 1);
	ck_assert_uint_eq(bf_mbar_pending(word_of(&r, kind, 0)), 32);
	ck_assert_mem_eq(rig_shared(&r, 0, RIG_BARRIERS), r.global->bytes, 256);
	arrive_on(&r, 0xff, 0, true, kind); /* nothing is under way: they arrive at once */
	rig_run(&r);
	ck_assert_uint_eq(bf_mbar_pending(word_of(&r, kind, 0)), 24);
	rig_close(&r);
}
END_TEST

/*
 * Without noinc the count goes up and down again: on Ampere the pending one, on Hopper the transaction count; the phase
 * waits for the copies all the same, and needs its own arrivals besides.
 */
START_TEST(test_inc)
{
	const enum bf_ldgsts_barrier kind = (enum bf_ldgsts_barrier)_i;
	struct bf_ldgsts_copy c;
	uint64_t word;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 8 });
	init(&r, kind, 8, 1);
	c = side_by_side(&r, UINT32_MAX, 4, 0, 0);
	bf_ldgsts_issue(r.cta[0], &c);
	arrive_on(&r, UINT32_MAX, 8, false, kind);
	word = word_of(&r, kind, 8);
	ck_assert_uint_eq(bf_mbar_pending(word), kind == BF_LDGSTS_ATOMS ? 33 : 1);
	ck_assert_int_eq(bf_mbar_tx(word), kind == BF_LDGSTS_ATOMS ? 0 : 32);
	arrive(&r, kind, 8, 1);
	ck_assert_uint_eq(bf_mbar_phase(word_of(&r, kind, 8)), 0); /* the copies are under way */
	rig_run(&r);
	word = word_of(&r, kind, 8);
	ck_assert_uint_eq(bf_mbar_phase(word), 1);
	ck_assert_uint_eq(bf_mbar_pending(word), 1);
	ck_assert_int_eq(bf_mbar_tx(word), 0);
	ck_assert_ptr_null(bf_hopper_fault(r.gpu));
	bf_ldgsts_issue(r.cta[0], &c);
	arrive_on(&r, UINT32_MAX, 8, false, kind);
	rig_run(&r);
	ck_assert_uint_eq(bf_mbar_phase(word_of(&r, kind, 8)), 1); /* its own arrival is missing */
	rig_close(&r);
}
END_TEST

/* Lanes arrive when their own copies have ended, on barriers of their own. */
START_TEST(test_own_copies)
{
	struct bf_ldgsts_arrive a = { .active = UINT32_MAX, .noinc = true };
	struct bf_ldgsts_copy c;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .seed = 9 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 16, 0);
	rig_do(&r, 0, BF_SYNC_INIT, 16, 16, 0);
	for (uint32_t lane = 0; lane < 32; lane++)
		a.address[lane] = lane < 16 ? 0 : 16;
	c = side_by_side(&r, 0x00ff0000, 4, 0, 0);
	bf_ldgsts_issue(r.cta[0], &c);
	bf_ldgsts_arrive(r.cta[0], &a);
	bf_sim_run(r.sim, 50 * 505);
	ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, 0, 0)), 1);
	ck_assert_uint_eq(bf_mbar_pending(rig_word(&r, 0, 16)), 8); /* lanes 24 to 31 have nothing to wait for */
	rig_run(&r);
	ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, 0, 16)), 1);
	rig_close(&r);
}
END_TEST

START_TEST(test_atoms)
{
	uint64_t token, now;
	struct rig r;
	bool done;

	rig_open(&r, &(struct rig_opts){ .seed = 10 });
	bf_atoms_init(r.cta[0], 0, 24, 3);
	now = bf_atoms_arrive(r.cta[0], 0, 24, 2, &token);
	ck_assert_uint_ge(now, 122 * 505); /* an atomic of shared memory */
	ck_assert_uint_eq(bf_mbar_pending(token), 3);
	now = bf_atoms_test(r.cta[0], 0, 24, 0, &done);
	ck_assert_uint_le(now, 31 * 505); /* a load */
	ck_assert(!done);
	bf_atoms_arrive(r.cta[0], 1, 24, 1, &token);
	bf_atoms_test(r.cta[0], 0, 24, 0, &done);
	ck_assert(done);
	bf_atoms_test(r.cta[0], 0, 24, 1, &done);
	ck_assert(!done);
	ck_assert_uint_eq(rig_word(&r, 0, 24), bf_get_le64(rig_shared(&r, 0, 24))); /* the sync unit holds no copy */
	ck_assert_ptr_null(bf_hopper_fault(r.gpu));
	bf_atoms_arrive(r.cta[0], 1, 24, 4, &token);
	ck_assert_int_eq(bf_hopper_fault(r.gpu)->barrier, BF_MBAR_FAULT_OVER_ARRIVAL);
	rig_close(&r);
	rig_open(&r, &(struct rig_opts){ .seed = 10 });
	bf_atoms_arrive(r.cta[0], 0, 28, 1, &token);
	ck_assert_int_eq(bf_hopper_fault(r.gpu)->kind, BF_HOPPER_FAULT_ADDRESS);
	rig_close(&r);
}
END_TEST

static uint64_t hash_of(uint64_t seed)
{
	struct rig r;
	uint64_t hash;

	rig_open(&r, &(struct rig_opts){ .seed = seed });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	rig_do(&r, 0, BF_SYNC_INIT, 0, 320, 0);
	for (uint32_t i = 0; i < 10; i++) {
		struct bf_ldgsts_copy c = side_by_side(&r, UINT32_MAX, 16, 512 * i, 512 * i);

		bf_ldgsts_issue(r.cta[0], &c);
		arrive_on(&r, UINT32_MAX, 0, i % 2, BF_LDGSTS_SYNCS);
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
	Suite *s = suite_create("hopper_ldgsts");
	TCase *tc = tcase_create("cp.async");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_bytes);
	tcase_add_test(tc, test_rules);
	tcase_add_test(tc, test_proxy);
	tcase_add_loop_test(tc, test_pipeline, 0, 5);
	tcase_add_test(tc, test_lanes);
	tcase_add_loop_test(tc, test_noinc, BF_LDGSTS_SYNCS, BF_LDGSTS_ATOMS + 1);
	tcase_add_loop_test(tc, test_inc, BF_LDGSTS_SYNCS, BF_LDGSTS_ATOMS + 1);
	tcase_add_test(tc, test_own_copies);
	tcase_add_test(tc, test_atoms);
	tcase_add_test(tc, test_determinism);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
