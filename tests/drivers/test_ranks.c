/*
 * One simulation in several "processes", here threads with a bootstrap between them: each PE does and records the same
 * as in one, ends are agreed on, and what one rank cannot do alone is told to all.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/backend.h"
#include "drivers/bootstrap/bootstrap.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/kernels.h"

#define PES 6u
#define RANKS_MAX 4u

struct work {
	enum bf_ibgda_work work;
	enum bf_ordering ordering;
	const char *faults, *topology;
	uint64_t limit_ps;
	uint32_t messages, nics, ports;
	uint32_t runs; /* one after the other in the same world */
};

struct outcome {
	struct bf_world_result result;
	uint64_t hash[PES];
	int rc, verify;
	struct bf_error err;
};

struct play {
	const struct work *w;
	struct outcome out[RANKS_MAX];
};

static struct bf_ibgda_shape shape_of(const struct work *w)
{
	struct bf_ibgda_shape s = bf_ibgda_shape_default;
	struct bf_error err;

	s.warps = 2;
	s.messages = w->messages;
	s.route = BF_IBGDA_ALL;
	ck_assert_msg(!bf_ibgda_shape_check(&s, w->work, PES, BF_IBGDA_NVSHMEM, 2, 1024, &err), "%s", err.text);
	return s;
}

/* One rank from open to close; `boot` NULL: the only process. */
static void run_rank(const struct work *w, struct bf_boot *boot, struct outcome *o)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const uint32_t ranks = boot ? boot->npes : 1, rank = boot ? boot->pe : 0;
	const uint32_t first = bf_ranks_first(PES, ranks, rank), end = bf_ranks_first(PES, ranks, rank + 1);
	const struct bf_world_opts wo = { .seed = 7,
					  .npes = PES,
					  .nics = w->nics,
					  .ports = w->ports,
					  .topology = w->topology,
					  .ordering = w->ordering,
					  .faults = w->faults,
					  .limit_ps = w->limit_ps ? w->limit_ps : BF_S,
					  .record_mask = BF_CLASS_ALL,
					  .pe_hashes = true,
					  .ranks = boot };
	struct bf_ibgda_shape shape = shape_of(w);
	struct bf_ibgda_host_opts ho = { .ack_timeout = 6, .ranks = boot };
	struct bf_ibgda_job job[PES] = { 0 };
	struct bf_ibgda_mismatch bad;
	struct bf_ibgda_layout at;
	void *heap[PES] = { 0 };
	struct bf_ibgda_host *h = NULL;
	struct bf_world *world = NULL;

	bf_ibgda_layout(&shape, PES, &at);
	ho.heap_bytes = at.end;
	o->rc = be->open(&wo, &o->err, &world);
	if (!o->rc)
		o->rc = bf_ibgda_host_open(be, world, PES, &ho, &o->err, &h);
	for (uint32_t run = 0; !o->rc && run < (w->runs ? w->runs : 1); run++) {
		for (uint32_t pe = first; pe < end; pe++) {
			job[pe] = (struct bf_ibgda_job){ .state = bf_ibgda_host_state(h, pe), .shape = shape };
			heap[pe] = bf_ibgda_host_heap(h, pe).ptr;
			ck_assert_int_eq(
			    be->launch(world, pe, 1, 2, bf_ibgda_kernels(be->platform)->run[w->work], &job[pe]), 0);
		}
		bf_ibgda_prepare(w->work, &shape, PES, heap);
		o->rc = be->run(world, &o->result);
	}
	if (!o->rc && o->result.end == BF_END_DONE && w->work != BF_IBGDA_AMO && w->work != BF_IBGDA_MIXED)
		o->verify = bf_ibgda_verify_some(w->work, &shape, PES, first, end - first, heap, &bad);
	if (!o->rc)
		o->rc = be->pe_hashes(world, o->hash);
	if (o->rc && boot)
		boot->abort(boot);
	bf_ibgda_host_close(h);
	be->close(world);
}

static int rank_main(struct bf_boot *boot, void *arg)
{
	struct play *p = arg;

	run_rank(p->w, boot, &p->out[boot->pe]);
	return 0;
}

static void run_ranks(const struct work *w, uint32_t ranks, struct play *p)
{
	struct bf_error err = { 0 };

	*p = (struct play){ .w = w };
	ck_assert_msg(!bf_boot_threads_run(ranks, rank_main, p, &err), "%s", err.text);
}

static const struct work works[] = {
	{ .work = BF_IBGDA_PUT, .messages = 20 },
	{ .work = BF_IBGDA_GET, .messages = 20, .ordering = BF_ORDER_TSO },
	{ .work = BF_IBGDA_AMO, .messages = 20, .ordering = BF_ORDER_GPU },
	{ .work = BF_IBGDA_MIXED, .messages = 30, .ordering = BF_ORDER_ADVERSARIAL },
	{ .work = BF_IBGDA_MIXED,
	  .messages = 30,
	  .ordering = BF_ORDER_GPU,
	  .faults = "drop prob=0.03; duplicate prob=0.03; reorder prob=0.03; delay prob=0.03; corrupt prob=0.03" },
	{ .work = BF_IBGDA_PUT, .messages = 30, .faults = "link-down on=nic4.p1 skip=9 delay=7us" },
	{ .work = BF_IBGDA_PUT, .messages = 10, .runs = 3 },
	{ .work = BF_IBGDA_PUT, .messages = 100, .limit_ps = 15 * BF_US },
	{ .work = BF_IBGDA_MIXED, .messages = 20, .nics = 2, .ports = 2 },
	{ .work = BF_IBGDA_PUT, .messages = 30, .topology = "leaf-spine leaves=3 spines=2 hosts-per-leaf=2" },
	{ .work = BF_IBGDA_MIXED,
	  .messages = 30,
	  .nics = 2,
	  .topology = "rail rails=2 leaves=2 spines=2 hosts-per-leaf=3",
	  .faults = "drop prob=0.02; reorder prob=0.02" },
};

static void check_same(const struct outcome *alone, const struct outcome *o, uint32_t ranks, uint32_t rank)
{
	ck_assert_msg(!o->rc, "rank %u of %u: %s", rank, ranks, o->err.text);
	ck_assert_int_eq(o->result.end, alone->result.end);
	ck_assert_uint_eq(o->result.time_ps, alone->result.time_ps);
	ck_assert_uint_eq(o->result.records, alone->result.records);
	ck_assert_int_eq(o->verify, 0);
	for (uint32_t pe = 0; pe < PES; pe++)
		ck_assert_msg(o->hash[pe] == alone->hash[pe], "PE %u by rank %u of %u: 0x%016llx, alone 0x%016llx", pe,
			      rank, ranks, (unsigned long long)o->hash[pe], (unsigned long long)alone->hash[pe]);
}

START_TEST(each_pe_does_the_same)
{
	struct outcome alone = { 0 };
	struct play p;

	run_rank(&works[_i], NULL, &alone);
	ck_assert_msg(!alone.rc, "%s", alone.err.text);
	for (uint32_t pe = 1; pe < PES; pe++)
		ck_assert_uint_ne(alone.hash[pe], alone.hash[0]);
	for (uint32_t ranks = BELFRY_WIDE ? 1 : RANKS_MAX; ranks <= RANKS_MAX; ranks++) {
		run_ranks(&works[_i], ranks, &p);
		for (uint32_t r = 0; r < ranks; r++)
			check_same(&alone, &p.out[r], ranks, r);
	}
}
END_TEST

/* The hash is of what the PE did: another seed of its faults, another hash. */
START_TEST(hashes_tell_runs_apart)
{
	const struct work a = { .work = BF_IBGDA_PUT, .messages = 30, .faults = "drop on=nic1.p1 skip=20" };
	const struct work b = { .work = BF_IBGDA_PUT, .messages = 30, .faults = "drop on=nic1.p1 skip=21" };
	struct outcome one = { 0 }, two = { 0 };

	run_rank(&a, NULL, &one);
	run_rank(&b, NULL, &two);
	ck_assert_uint_ne(one.hash[1], two.hash[1]);
}
END_TEST

START_TEST(deadlocks_are_found_together)
{
	const struct work w = { .work = BF_IBGDA_PUT,
				.messages = 5,
				.ordering = BF_ORDER_GPU,
				.faults = "lost-doorbell on=nic1* count=inf" };
	struct outcome alone = { 0 };
	struct play p;

	run_rank(&w, NULL, &alone);
	ck_assert_int_eq(alone.result.end, BF_END_DEADLOCK);
	run_ranks(&w, 3, &p);
	for (uint32_t r = 0; r < 3; r++) {
		check_same(&alone, &p.out[r], 3, r);
		ck_assert_ptr_nonnull(strstr(p.out[r].result.report, "pe1.b0")); /* of whichever rank it is */
	}
}
END_TEST

START_TEST(rules_that_count_together_are_refused)
{
	const struct work w = { .work = BF_IBGDA_PUT, .messages = 5, .faults = "drop skip=3" };
	struct outcome alone = { 0 };
	struct play p;

	run_rank(&w, NULL, &alone);
	ck_assert_int_eq(alone.rc, 0);
	run_ranks(&w, 2, &p);
	for (uint32_t r = 0; r < 2; r++) {
		ck_assert_int_eq(p.out[r].rc, -ENOTSUP);
		ck_assert_ptr_nonnull(strstr(p.out[r].err.text, "on=NAME"));
	}
}
END_TEST

/* ---- what goes wrong on one rank ---- */

static int leaves_before_the_run(struct bf_boot *boot, void *arg)
{
	struct play *p = arg;

	if (boot->pe == 1)
		return -EIO;
	run_rank(p->w, boot, &p->out[boot->pe]);
	ck_assert_int_lt(p->out[boot->pe].rc, 0);
	ck_assert(p->out[boot->pe].err.text[0]);
	return 0;
}

START_TEST(nobody_waits_for_a_rank_that_is_gone)
{
	struct play p = { .w = &works[0] };
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_boot_threads_run(3, leaves_before_the_run, &p, &err), -EIO);
}
END_TEST

static int asks_for_others(struct bf_boot *boot, void *arg)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts o = { .npes = 2, .ranks = boot };
	const uint32_t other = 1 - boot->pe;
	struct bf_error err = { 0 };
	uint8_t gid[16], mac[6];
	struct bf_memory m;
	struct bf_world *w;

	(void)arg;
	ck_assert_msg(!be->open(&o, &err, &w), "%s", err.text);
	ck_assert_int_eq(be->alloc(w, boot->pe, BF_PLACE_HOST, 4096, "mine", &m), 0);
	ck_assert_int_eq(be->alloc(w, other, BF_PLACE_HOST, 4096, "not mine", &m), -EREMOTE);
	ck_assert_int_eq(be->address(w, other, 0, 0, gid, mac), -EREMOTE);
	ck_assert_int_eq(be->pe_hashes(w, (uint64_t[2]){ 0 }), -ENOTSUP); /* not asked for */
	be->close(w);
	return 0;
}

START_TEST(other_processes_pes_are_out_of_reach)
{
	struct bf_error err = { 0 };

	ck_assert_msg(!bf_boot_threads_run(2, asks_for_others, NULL, &err), "%s", err.text);
}
END_TEST

static int too_many_ranks(struct bf_boot *boot, void *arg)
{
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts few = { .npes = 2, .ranks = boot };
	const struct bf_world_opts sdma = { .npes = 3, .devices = BF_DEVICE_MLX5 | BF_DEVICE_SDMA, .ranks = boot };
	struct bf_error err = { 0 };
	struct bf_world *w;

	(void)arg;
	ck_assert_int_eq(be->open(&few, &err, &w), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "3 ranks"));
	ck_assert_int_eq(be->open(&sdma, &err, &w), -ENOTSUP);
	return 0;
}

START_TEST(what_cannot_be_spread_is_refused)
{
	struct bf_error err = { 0 };

	ck_assert_msg(!bf_boot_threads_run(3, too_many_ranks, NULL, &err), "%s", err.text);
}
END_TEST

/* A peer that takes part in the first round and sends nonsense in it. */
static int sends_nonsense(struct bf_boot *boot, void *arg)
{
	struct play *p = arg;
	uint64_t lookahead = BF_US, all[2];
	uint8_t bytes[256] = { 0 };
	const struct bf_boot_part out[2] = { { bytes, sizeof(bytes) }, { bytes, sizeof(bytes) } };
	struct bf_boot_buf in[2] = { 0 };
	const struct bf_backend *be = bf_backend_find("sim");
	const struct bf_world_opts o = { .npes = 2, .ranks = boot, .limit_ps = BF_S };
	struct bf_world_result result;
	struct bf_error err = { 0 };
	struct bf_world *w;
	int rc;

	(void)p;
	if (boot->pe == 1) {
		bytes[48 + 9] =
		    200; /* behind the head of a round of two: a message that is longer than what there is */
		rc = boot->allgather(boot, &lookahead, all, sizeof(lookahead));
		if (!rc)
			rc = bf_boot_exchange(boot, out, in);
		free(in[0].data);
		free(in[1].data);
		return 0;
	}
	ck_assert_msg(!be->open(&o, &err, &w), "%s", err.text);
	ck_assert_int_eq(be->run(w, &result), -EPROTO);
	ck_assert_ptr_nonnull(strstr(err.text, "rank 1"));
	be->close(w);
	return 0;
}

START_TEST(nonsense_from_a_rank_is_refused)
{
	struct bf_error err = { 0 };

	ck_assert_msg(!bf_boot_threads_run(2, sends_nonsense, NULL, &err), "%s", err.text);
}
END_TEST

START_TEST(parts_are_even)
{
	for (uint32_t ranks = 1; ranks <= 9; ranks++)
		for (uint32_t npes = ranks; npes <= 40; npes++)
			for (uint32_t r = 0; r < ranks; r++) {
				const uint32_t first = bf_ranks_first(npes, ranks, r);
				const uint32_t end = bf_ranks_first(npes, ranks, r + 1);

				if (end - first < npes / ranks || end - first > npes / ranks + 1)
					ck_abort_msg("rank %u of %u has %u of %u PEs", r, ranks, end - first, npes);
				for (uint32_t pe = first; pe < end; pe++)
					if (bf_ranks_of(npes, ranks, pe) != r)
						ck_abort_msg("PE %u of %u on %u ranks", pe, npes, ranks);
			}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ranks");
	TCase *t = tcase_create("ranks");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, each_pe_does_the_same, 0, (int)(sizeof(works) / sizeof(works[0])));
	tcase_add_test(t, hashes_tell_runs_apart);
	tcase_add_test(t, deadlocks_are_found_together);
	tcase_add_test(t, rules_that_count_together_are_refused);
	tcase_add_test(t, nobody_waits_for_a_rank_that_is_gone);
	tcase_add_test(t, other_processes_pes_are_out_of_reach);
	tcase_add_test(t, what_cannot_be_spread_is_refused);
	tcase_add_test(t, nonsense_from_a_rank_is_refused);
	tcase_add_test(t, parts_are_even);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
