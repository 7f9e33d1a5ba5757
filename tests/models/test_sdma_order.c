/* What overlaps and what does not: copies, writes, fences; records of all of it. */
#include <check.h>

#include "models/sdma/decode.h"
#include "models/sdma/records.h"
#include "sim/agent.h"
#include "tests/models/sdma_rig.h"

/* host[0] -> vram[0], then vram[0] -> host[64K], with `between` (0: nothing) in the middle. True when right. */
static bool chain(uint64_t seed, const uint32_t *between, uint32_t n, uint32_t copies, uint32_t bytes)
{
	struct bf_sdma_profile p = bf_sdma_v6;
	struct rig r;
	bool right;

	p.copies = copies;
	rig_open(&r, &(struct rig_opts){ .seed = seed, .profile = &p });
	memset(r.host->bytes, 0x77, bytes);
	rig_copy(&r, r.vram->va, r.host->va, bytes);
	if (n)
		rig_packet(&r, between, n);
	rig_copy(&r, r.host->va + 65536, r.vram->va, bytes);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	right = memcmp(r.host->bytes, r.host->bytes + 65536, bytes) == 0;
	rig_close(&r);
	return right;
}

/* Two copies where the second reads what the first writes: wrong under some seed, right under some other. */
START_TEST(missing_fence_shows)
{
	uint32_t wrong = 0;

	for (uint64_t seed = 1; seed <= 64; seed++)
		wrong += !chain(seed, NULL, 0, 4, 256);
	ck_assert_uint_gt(wrong, 4);
	ck_assert_uint_lt(wrong, 64);
}
END_TEST

START_TEST(one_copy_at_a_time_needs_no_fence)
{
	for (uint64_t seed = 1; seed <= 32; seed++)
		ck_assert(chain(seed, NULL, 0, 1, 256));
}
END_TEST

/*
 * Everything but COPY, WRITE and CONST_FILL waits for the copies before it. That a NOP does is what Mesa says of it
 * (ac_cmdbuf_sdma.c).
 */
START_TEST(order_points)
{
	static const struct {
		const char *name;
		uint32_t dw[8], n;
	} points[] = {
		{ "FENCE", { 0x00030005, 0, 0, 1 }, 4 },
		{ "NOP", { 0 }, 1 },
		{ "ATOMIC", { 0x5E00000A, 0, 0, 1, 0, 0, 0, 0 }, 8 },
		{ "TRAP", { 6, 1 }, 2 },
		{ "POLL", { 0x80000008, 0, 0, 0, 0, 0x0FFF0004 }, 6 },
		{ "TIMESTAMP", { 0x20D, 0, 0 }, 3 },
		{ "GCR", { 0x111, 0, 0x80400000, 0, 0 }, 5 },
		{ "HDP", { 8, 0, 0x80000000, 0, 0, 0 }, 6 },
		{ "COND_EXE", { 9, 0, 0, 0, 0 }, 5 },
	};
	const uint64_t va = (1ull << 40) + (1u << 19); /* the host region's second half: see chain() */
	uint32_t dw[8];

	memcpy(dw, points[_i].dw, sizeof(dw));
	if (dw[0] != 6 && dw[0] != 8 && dw[0] != 0x111 && dw[0] != 0) {
		dw[1] = RIG_LO(va);
		dw[2] = RIG_HI(va);
	}
	for (uint64_t seed = 1; seed <= 32; seed++)
		ck_assert_msg(chain(seed, dw, points[_i].n, 4, 256), "%s, seed %llu", points[_i].name,
			      (unsigned long long)seed);
}
END_TEST

/* A WRITE is no completion signal: it lands while the copy before it still runs; a FENCE does not. */
static bool signal_is_early(uint64_t seed, bool fence)
{
	struct rig r;
	bool early;

	rig_open(&r, &(struct rig_opts){ .seed = seed });
	memset(r.host->bytes, 1, 65536);
	rig_copy(&r, r.vram->va, r.host->va, 65536);
	if (fence)
		rig_fence(&r, r.control->va + r.ring_bytes + 128, 1);
	else
		RIG_PACKET(&r, BF_SDMA_OP_WRITE, RIG_LO(r.control->va + r.ring_bytes + 128), RIG_HI(r.control->va), 0,
			   1);
	rig_bell(&r);
	while (!r.rptr[16] && bf_sim_next(r.sim) != BF_NEVER)
		bf_sim_run(r.sim, bf_sim_next(r.sim));
	ck_assert_uint_eq(r.rptr[16], 1);
	early = r.vram->bytes[65535] != 1;
	rig_close(&r);
	return early;
}

START_TEST(write_is_no_signal)
{
	for (uint64_t seed = 1; seed <= 16; seed++) {
		ck_assert(signal_is_early(seed, false));
		ck_assert(!signal_is_early(seed, true));
	}
}
END_TEST

/* rptr == wptr says that packets were taken, not that their bytes are there: ROCr completes by FENCE or ATOMIC. */
START_TEST(read_pointer_is_no_completion)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .mem = 4u << 20 });
	memset(r.host->bytes, 1, r.host->size);
	rig_copy(&r, r.vram->va, r.host->va, 4u << 20);
	rig_bell(&r);
	while (*r.rptr != r.index)
		bf_sim_run(r.sim, bf_sim_next(r.sim));
	ck_assert_uint_eq(rig_info(&r).copies, 1);
	ck_assert_uint_ne(r.vram->bytes[(4u << 20) - 1], 1);
	bf_sim_run(r.sim, BF_NEVER);
	ck_assert_uint_eq(rig_info(&r).copies, 0);
	ck_assert_uint_eq(r.vram->bytes[(4u << 20) - 1], 1);
	rig_close(&r);
}
END_TEST

/* As many copies as the profile says, no more; packets behind them wait for a slot and name it. */
START_TEST(copy_slots)
{
	struct rig r;
	uint32_t most = 0;
	bool waited = false;

	rig_open(&r, &(struct rig_opts){ .mem = 4u << 20 });
	for (uint32_t i = 0; i < 12; i++)
		rig_copy(&r, r.vram->va + i * 65536, r.host->va, 65536);
	rig_bell(&r);
	while (bf_sim_next(r.sim) != BF_NEVER) {
		struct bf_sdma_queue_info info = rig_info(&r);

		most = info.copies > most ? info.copies : most;
		waited |= info.waits && !strcmp(info.waits, "a free copy slot");
		bf_sim_run(r.sim, bf_sim_next(r.sim));
	}
	ck_assert_uint_eq(most, r.profile.copies);
	ck_assert(waited);
	ck_assert_uint_eq(rig_info(&r).bytes, 12 * 65536);
	rig_close(&r);
}
END_TEST

/* Small elements and many rows cost time; data in GPU memory do not cross the link. */
static uint64_t time_of(const uint32_t *dw, uint32_t n, bool vram)
{
	struct rig r;
	uint64_t took;
	uint32_t copy[13];

	rig_open(&r, &(struct rig_opts){ .no_jitter = true });
	memcpy(copy, dw, n * 4);
	copy[1] = RIG_LO(vram ? r.vram->va + (1u << 19) : r.host->va);
	copy[2] = RIG_HI(vram ? r.vram->va : r.host->va);
	copy[6] = RIG_LO(r.vram->va);
	copy[7] = RIG_HI(r.vram->va);
	rig_packet(&r, copy, n);
	rig_bell(&r);
	took = r.sim->now_ps;
	bf_sim_run(r.sim, BF_NEVER);
	took = r.sim->now_ps - took;
	rig_close(&r);
	return took;
}

START_TEST(time_follows_the_shape)
{
	/* 64 KiB each: 16 rows of 4 KiB in 16-byte elements, in bytes, and 1024 rows of 64 bytes. */
	const uint32_t wide[13] = { 0x80000401, 0, 0, 0, 255u << 13, 0, 0, 0, 0, 255u << 13, 0, 255 | 15u << 16, 0 };
	const uint32_t bytes[13] = { 0x401, 0, 0, 0, 4095u << 13, 0, 0, 0, 0, 4095u << 13, 0, 4095 | 15u << 16, 0 };
	const uint32_t rows[13] = { 0x80000401, 0, 0, 0, 7u << 13, 0, 0, 0, 0, 7u << 13, 0, 3 | 1023u << 16, 0 };
	const uint64_t fast = time_of(wide, 13, false);

	ck_assert_uint_gt(time_of(bytes, 13, false), 3 * fast);
	ck_assert_uint_gt(time_of(rows, 13, false), fast + 300 * BF_NS);
	ck_assert_uint_lt(time_of(rows, 13, false), 2 * fast);
	ck_assert_uint_lt(time_of(wide, 13, true), fast);
}
END_TEST

/* An agent that sleeps on the last line of a copy's destination wakes when the copy is there, not before. */
static void wait_for_copy(struct bf_agent *self, void *arg)
{
	struct rig *r = arg;
	const void *line = r->vram->bytes + 65535;

	while (r->vram->bytes[65535] != 1)
		ck_assert_int_eq(bf_agent_wait(self, &line, 1, BF_NEVER, 0, "the copy"), 0);
	ck_assert_uint_eq(rig_info(r).bytes, 65536);
	r->traps = 1;
}

START_TEST(watchers_see_copies)
{
	struct bf_agent *agent;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	memset(r.host->bytes, 1, 65536);
	ck_assert_int_eq(
	    bf_agent_create(r.sim, &(struct bf_agent_opts){ .name = "cpu", .main = wait_for_copy, .arg = &r }, &agent),
	    0);
	rig_copy(&r, r.vram->va, r.host->va, 65536);
	rig_bell(&r);
	ck_assert_int_eq(bf_sim_run(r.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(r.traps, 1);
	rig_close(&r);
}
END_TEST

/* Whoever hears of a trap may end the queue there and then. */
static void end_queue(struct rig *r, uint32_t id)
{
	(void)id;
	bf_sdma_queue_destroy(r->q);
	r->q = NULL;
}

START_TEST(trap_may_end_the_queue)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	r.on_trap = end_queue;
	RIG_PACKET(&r, BF_SDMA_OP_TRAP, 1);
	rig_copy(&r, r.vram->va, r.host->va, 64);
	rig_bell(&r);
	bf_sim_run(r.sim, RIG_LIMIT);
	ck_assert_uint_eq(r.traps, 1);
	rig_close(&r);
}
END_TEST

/* A queue that ends takes its copies with it, at any moment; other queues get their slots. */
START_TEST(queue_ends_with_copies_running)
{
	for (uint64_t at = 0; at < 30; at++) {
		struct rig r;

		rig_open(&r, &(struct rig_opts){ .mem = 1u << 20, .seed = at + 1 });
		for (uint32_t i = 0; i < 12; i++)
			rig_copy(&r, r.vram->va, r.host->va, 65536);
		rig_bell(&r);
		bf_sim_run(r.sim, at * BF_US / 2);
		bf_sdma_queue_destroy(r.q);
		bf_sim_run(r.sim, BF_NEVER);
		rig_close(&r);
	}
}
END_TEST

/* ---- records ---- */

struct counting {
	struct bf_sink sink;
	uint32_t of[64];
	uint32_t verdicts[8], suspects[8];
	uint32_t tail;
};

static int no_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s;
	(void)schema;
	return 0;
}

static int no_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

static int count_records(struct bf_sink *s, const void *records, size_t len)
{
	struct counting *c = BF_CONTAINER_OF(s, struct counting, sink);
	const uint8_t *at = records;

	for (size_t i = 0; i < len;) {
		const struct bf_rec_header *h = (const void *)(at + i);

		if (h->type >= 400 && h->type < 450)
			c->of[h->type - 400]++;
		if (h->type == BF_REC_ID_sdma_doorbell)
			c->verdicts[((const struct bf_rec_sdma_doorbell *)(const void *)(h + 1))->verdict]++;
		if (h->type == BF_REC_ID_sdma_suspect)
			c->suspects[((const struct bf_rec_sdma_suspect *)(const void *)(h + 1))->what]++;
		if (h->type == BF_REC_ID_sdma_packet)
			c->tail += h->tail;
		i += bf_record_span(h);
	}
	return 0;
}

START_TEST(records_of_a_queue)
{
	struct counting c = { .sink = { .declare_type = no_type, .declare_actor = no_actor, .write = count_records } };
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .no_queue = true });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, &c.sink), 0);
	{
		struct bf_sdma_queue_opts o = rig_queue_opts(&r);

		ck_assert_int_eq(bf_sdma_queue_create(r.dev, &o, &r.q), 0);
	}
	rig_copy(&r, r.vram->va, r.host->va, 4096);
	rig_fence(&r, r.host->va + 8192, 1);
	RIG_PACKET(&r, 0x20D, RIG_LO(r.host->va + 8), RIG_HI(r.host->va));             /* not 32-byte aligned */
	RIG_PACKET(&r, 0x80000005, RIG_LO(r.host->va + 8192), RIG_HI(r.host->va), 1);  /* a reserved bit */
	RIG_PACKET(&r, 0xB0000008, RIG_LO(r.host->va), RIG_HI(r.host->va), 1, ~0u, 0); /* gives up */
	rig_go(&r);
	rig_copy(&r, r.host->va + 10, r.host->va, 4096); /* overlap */
	rig_ring_value(&r, r.q, r.index);                /* wptr in memory is behind */
	bf_sim_run(r.sim, r.sim->now_ps + RIG_LIMIT);
	RIG_PACKET(&r, 0xff);
	rig_go(&r);
	rig_go(&r); /* stopped */
	bf_stream_flush(&r.sim->rec);
	ck_assert_uint_eq(c.of[0], 1);
	ck_assert_uint_eq(c.of[3], 6);
	ck_assert_uint_eq(c.tail, (7 + 4 + 3 + 4 + 6 + 7) * 4);
	ck_assert_uint_eq(c.of[4], 2);
	ck_assert_uint_ge(c.of[6], 2);
	ck_assert_uint_eq(c.of[7], 1);
	ck_assert_uint_eq(c.suspects[1], 1);
	ck_assert_uint_eq(c.suspects[3], 1);
	ck_assert_uint_eq(c.suspects[4], 1);
	ck_assert_uint_eq(c.suspects[5], 1);
	ck_assert_uint_eq(c.of[1], 4);
	ck_assert_uint_eq(c.verdicts[0], 2);
	ck_assert_uint_eq(c.verdicts[2], 1);
	ck_assert_uint_eq(c.verdicts[7], 1);
	bf_stream_close(&r.sim->rec);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma order");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, missing_fence_shows);
	tcase_add_test(t, one_copy_at_a_time_needs_no_fence);
	tcase_add_loop_test(t, order_points, 0, 9);
	tcase_add_test(t, write_is_no_signal);
	tcase_add_test(t, read_pointer_is_no_completion);
	tcase_add_test(t, copy_slots);
	tcase_add_test(t, time_follows_the_shape);
	tcase_add_test(t, watchers_see_copies);
	tcase_add_test(t, trap_may_end_the_queue);
	tcase_add_test(t, queue_ends_with_copies_running);
	tcase_add_test(t, records_of_a_queue);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
