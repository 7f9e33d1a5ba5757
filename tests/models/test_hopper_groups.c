/* Who waits for bulk copies, and what the async proxy sees: groups, fences, warps. */
#include "tests/models/hopper_bulk.h"

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
			.kind = BF_BULK_STORE,
			.shared = at,
			.bytes = BUFFER,
			.global = out + i * BUFFER,
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
		ck_assert_int_eq(
		    bf_warp_create(
			&(struct bf_warp_opts){
			    .cta = r.cta[0], .active = 1, .exited = 0xfffffffe, .main = adder_main, .arg = &a },
			&w),
		    0);
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

int main(void)
{
	Suite *s = suite_create("hopper_groups");
	TCase *tc = tcase_create("groups");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, test_groups);
	tcase_add_test(tc, test_groups_killed);
	tcase_add_test(tc, test_proxy);
	tcase_add_test(tc, test_proxy_instruction);
	tcase_add_test(tc, test_warp);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
