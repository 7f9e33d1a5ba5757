/* The harness for tests of foreign code, with code that has the mistakes it is to find. */
#include <check.h>
#include <errno.h>
#include <unistd.h>

#include "drivers/belfry.h"

#define MESSAGE 64u
#define SQES 16u

enum bug { NONE, NO_ENTRY_FENCE, NO_DOORBELL_FENCE, WRONG_DATA, NEVER_RUNG, WILD, FOR_EVER, TWO };

/* What the caller chooses, and what a run has. */
struct config {
	enum bug bug;
	int setup_error;
	_Atomic uint32_t setups;
	bool shy; /* verify returns an error without a reason */
};

struct run {
	struct bf_trial_mlx5_queue q;
	struct bf_trial_nvme_queue ssd;
	struct bf_memory data;
	enum bug bug;
	uint32_t messages, produced, consumed, bad;
};

static struct bf_vec128 vec(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return (struct bf_vec128){ { bf_htobe32(a), bf_htobe32(b), bf_htobe32(c), bf_htobe32(d) } };
}

static void post(struct bf_thread *t, struct run *r)
{
	const uint64_t at = (uint64_t)r->produced * MESSAGE, to = r->q.remote_va + at, from = r->q.local_va + at;
	const uint32_t first = r->produced << 8 | BF_MLX5_OP_RDMA_WRITE;
	uint8_t *slot = r->q.sq + (r->produced & (r->q.wqebbs - 1)) * BF_MLX5_WQEBB;

	bf_st_weak128(t, slot, vec(first, r->q.qpn << 8 | 3, BF_MLX5_CTRL_CQ_UPDATE, 0));
	bf_st_weak128(t, slot + 16, vec((uint32_t)(to >> 32), (uint32_t)to, r->q.rkey, 0));
	bf_st_weak128(t, slot + 32, vec(MESSAGE, r->q.lkey, (uint32_t)(from >> 32), (uint32_t)from));
	r->produced++;
	if (r->bug != NO_ENTRY_FENCE)
		bf_fence_sys(t);
	bf_st_relaxed32(t, r->q.dbrec, bf_htobe32(r->produced & 0xffff), BF_AT_SYS);
	if (r->bug != NO_DOORBELL_FENCE)
		bf_fence_sys(t);
	if (r->bug != NEVER_RUNG)
		bf_mmio_st64(t, r->q.doorbell, (uint64_t)bf_htobe32(r->q.qpn << 8 | 3) << 32 | bf_htobe32(first));
}

static void wait_one(struct bf_thread *t, struct run *r)
{
	const uint8_t *last = r->q.cq + (r->consumed & (r->q.cqes - 1)) * 64 + 60;
	const uint32_t owner = r->consumed / r->q.cqes & 1;
	uint32_t word;

	while (word = bf_ld_acquire32(t, last, BF_AT_SYS),
	       word >> 28 == BF_MLX5_CQE_INVALID || (word >> 24 & BF_MLX5_CQE_OWNER) != owner)
		bf_spin(t, last, "completion");
	r->bad += word >> 28 != 0;
	r->consumed++;
	bf_st_relaxed32(t, r->q.cq_dbrec, bf_htobe32(r->consumed), BF_AT_SYS);
}

static void writer(struct bf_thread *t, void *arg)
{
	struct run *r = arg;

	if (r->bug == WILD) /* an address for entries is no pointer */
		bf_st_weak32(t, (void *)(uintptr_t)r->q.local_va, 1);
	while (r->bug == FOR_EVER)
		bf_pause(t, 1000);
	while (r->consumed < r->messages && !r->bad) {
		while (r->produced < r->messages && r->produced - r->consumed < 4)
			post(t, r);
		wait_one(t, r);
	}
}

static int setup(struct bf_trial *t, void *state)
{
	struct config *c = bf_trial_arg(t);
	struct run *r = state;
	int rc = bf_trial_mlx5(t, NULL);
	uint32_t used = 0;

	c->setups++;
	ck_assert_uint_eq(r->messages, 0); /* each run has a fresh state */
	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &r->q);
	if (rc || c->setup_error)
		return rc ? rc : c->setup_error;
	ck_assert_uint_eq(r->q.wqebbs, 64);
	ck_assert_uint_eq(r->q.cqes, 128);
	for (uint32_t i = 0; i < 128 * 64; i++)
		used += r->q.cq[i] != 0xff;
	ck_assert_uint_eq(used, 0);
	r->messages = (uint32_t)bf_trial_size(t, 0);
	r->bug = c->bug != TWO ? c->bug : r->messages > 2 ? NO_ENTRY_FENCE : WRONG_DATA;
	for (uint32_t i = 0; i < r->messages * MESSAGE; i++)
		r->q.local[i] = (uint8_t)(i + 3);
	return bf_trial_launch(t, 0, 1, 1, writer, r);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct config *c = bf_trial_arg(t);
	struct run *r = state;

	if (r->bug == WRONG_DATA)
		((uint8_t *)bf_trial_heap(t, 1).ptr)[70] ^= 1;
	bf_trial_check(t, r->bad == 0, "%u completions are errors", r->bad);
	bf_trial_equal(t, "the copy", bf_trial_heap(t, 1).ptr, r->q.local, r->messages * MESSAGE);
	return c->shy ? -EIO : 0;
}

static const struct bf_trial_size sizes[] = { { "messages", 12, 1 } };

static struct bf_trial_spec spec_of(struct config *c)
{
	return (struct bf_trial_spec){
		.name = "writes",
		.world = { .seed = 1, .npes = 2, .lanes = 1 },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct run),
		.arg = c,
		.sizes = sizes,
		.nsizes = 1,
	};
}

START_TEST(right_code_is_good_everywhere)
{
	struct config c = { 0 };
	const struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	ck_assert_msg(bf_trial_search(&spec, &(struct bf_trial_search_opts){ .seeds = 10 }, &r), "%s", r.text);
	ck_assert_uint_eq(r.runs, 40);
	ck_assert_uint_eq(c.setups, 41); /* the last one speaks for all */
	ck_assert_str_eq(r.text, "writes: good in 40 runs");
	ck_assert_uint_eq(r.nfindings, 0);
	ck_assert(!r.root);
}
END_TEST

/* No seed and no luck: right code is good in every run with two delays, and each missing fence is found. */
START_TEST(every_run_is_tried)
{
	static const struct {
		enum bug bug;
		const char *rule;
	} cases[] = { { NONE, NULL },
		      { NO_ENTRY_FENCE, "MLX5-ENTRY-ORDER" },
		      { NO_DOORBELL_FENCE, "MLX5-DBREC-ORDER" } };
	const struct bf_trial_size one = { "messages", 2, 1 };
	struct config c = { .bug = cases[_i].bug };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_covered covered, again;
	struct bf_trial_result r;

	spec.sizes = &one;
	ck_assert_msg(bf_trial_exhaust(&spec, &(struct bf_trial_exhaust_opts){ .stalls = 1 }, &covered, &r) ==
			  !cases[_i].rule,
		      "%s", r.text);
	ck_assert_uint_eq(covered.runs, r.runs);
	ck_assert_int_eq(covered.whole, !cases[_i].rule);
	ck_assert_int_eq(covered.choices[0] != 0, cases[_i].rule != NULL);
	if (cases[_i].rule)
		ck_assert_msg(bf_trial_found(&r, cases[_i].rule), "%s", r.text);
	bf_trial_exhaust(&spec, &(struct bf_trial_exhaust_opts){ .delays = 2, .stalls = 1 }, &again, &r);
	ck_assert_uint_eq(again.runs, covered.runs);
	ck_assert_str_eq(again.choices, covered.choices);
}
END_TEST

/* The root cause by name, the smallest run, and a text that has it all. */
START_TEST(missing_fences_are_named)
{
	static const struct {
		enum bug bug;
		const char *rule;
	} cases[] = { { NO_ENTRY_FENCE, "MLX5-ENTRY-ORDER" }, { NO_DOORBELL_FENCE, "MLX5-DBREC-ORDER" } };
	struct config c = { .bug = cases[_i].bug };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r, again;
	char which[80];

	ck_assert(!bf_trial_search(&spec, NULL, &r));
	ck_assert_ptr_nonnull(r.root);
	ck_assert_str_eq(r.root->id, cases[_i].rule);
	ck_assert(r.finding[0].root && r.finding[0].rule == r.root);
	ck_assert(bf_trial_found(&r, cases[_i].rule));
	ck_assert(!bf_trial_found(&r, "MLX5-RNR-EXCEEDED"));
	ck_assert_uint_lt(r.size[0], 12);
	snprintf(which, sizeof(which), "seed %u, ordering %s, messages %u", (unsigned)r.seed,
		 bf_ordering_name(r.ordering), (unsigned)r.size[0]);
	ck_assert_msg(strstr(r.text, which) && strstr(r.text, r.finding[0].text) && strstr(r.text, r.root->fix), "%s",
		      r.text);

	/* That run alone says the same. */
	spec.world.seed = r.seed;
	spec.world.ordering = r.ordering;
	spec.sizes = &(struct bf_trial_size){ "messages", r.size[0], 1 };
	ck_assert(!bf_trial_run(&spec, &again));
	ck_assert_int_eq(again.verdict, r.verdict);
	ck_assert_ptr_eq(again.root, r.root);
	ck_assert_uint_eq(again.world.hash, r.world.hash);
	ck_assert_uint_eq(again.runs, 1);
}
END_TEST

/* Smaller runs that fail by another mistake are not smaller forms of this one. */
START_TEST(shrinking_keeps_the_cause)
{
	static const enum bf_ordering weak[] = { BF_ORDER_ADVERSARIAL };
	const struct bf_trial_search_opts opts = { .orderings = weak, .norderings = 1 };
	struct config c = { .bug = TWO };
	const struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	ck_assert(!bf_trial_search(&spec, &opts, &r));
	ck_assert_int_eq(r.verdict, BF_TRIAL_WRONG);
	ck_assert_msg(r.root && strcmp(r.root->id, "MLX5-ENTRY-ORDER") == 0, "%s", r.text);
	ck_assert_uint_eq(r.size[0], 3);
}
END_TEST

START_TEST(threads_do_not_change_the_outcome)
{
	struct config c = { .bug = NO_ENTRY_FENCE };
	const struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_search_opts opts = { .seeds = 20, .no_shrinking = true };
	struct bf_trial_result one, four;

	ck_assert(!bf_trial_search(&spec, &opts, &one));
	ck_assert_uint_eq(one.size[0], 12); /* as it was found */
	opts.jobs = 4;
	ck_assert(!bf_trial_search(&spec, &opts, &four));
	ck_assert_str_eq(four.text, one.text);
	ck_assert_uint_eq(four.world.hash, one.world.hash);
}
END_TEST

/* Orderings are those that are asked for. */
START_TEST(orderings_can_be_chosen)
{
	static const enum bf_ordering strong[] = { BF_ORDER_SC, BF_ORDER_TSO };
	struct config c = { .bug = NO_ENTRY_FENCE };
	const struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	ck_assert_msg(
	    bf_trial_search(&spec, &(struct bf_trial_search_opts){ .seeds = 20, .orderings = strong, .norderings = 2 },
			    &r),
	    "%s", r.text);
	ck_assert_uint_eq(r.runs, 40);
}
END_TEST

/* Each way to fail, by its verdict and reason. */
START_TEST(verdicts)
{
	static const struct {
		enum bug bug;
		enum bf_ordering ordering;
		enum bf_trial_verdict verdict;
		const char *text;
	} cases[] = {
		{ WRONG_DATA, BF_ORDER_SC, BF_TRIAL_WRONG,
		  "the copy: byte 70 is 0x48 and should be 0x49 (1 of 768 bytes are wrong)" },
		{ WRONG_DATA, BF_ORDER_SC, BF_TRIAL_WRONG,
		  "cause: no rule knows one\nthe last entry that a device took, nic0.qp0x100:11:" },
		{ NEVER_RUNG, BF_ORDER_SC, BF_TRIAL_STUCK, "'pe0.b0.w0.l0' waits for completion" },
		{ NEVER_RUNG, BF_ORDER_ADVERSARIAL, BF_TRIAL_STUCK, "cause: MLX5-NOT-RUNG" },
		{ WILD, BF_ORDER_TSO, BF_TRIAL_STOPPED, "pe0.b0.w0.l0" },
		{ FOR_EVER, BF_ORDER_SC, BF_TRIAL_LIMIT, "time limit" },
	};
	struct config c = { .bug = cases[_i].bug };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	spec.world.ordering = cases[_i].ordering;
	spec.world.limit_ps = BF_MS;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(r.verdict == cases[_i].verdict, "%s", r.text);
	ck_assert_msg(strstr(r.text, cases[_i].text), "%s", r.text);
	ck_assert_msg(strstr(r.text, bf_trial_verdict_name(r.verdict)), "%s", r.text);
}
END_TEST

/* What keeps a trial from running is a failure with a text, not a crash. */
START_TEST(trials_that_cannot_run)
{
	static const struct bf_trial_size many[BF_TRIAL_SIZES + 1] = { { "messages", 1, 1 } };
	struct config c = { .setup_error = -ENODEV };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	ck_assert(!bf_trial_search(&spec, NULL, &r));
	ck_assert_int_eq(r.verdict, BF_TRIAL_NOT_RUN);
	ck_assert_uint_eq(c.setups, 1);
	ck_assert_ptr_nonnull(strstr(r.text, "setup failed without a reason"));

	c.setup_error = 0;
	spec.world.npes = 1;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(strstr(r.text, "two PEs"), "%s", r.text);
	spec.world.npes = 5000;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(strstr(r.text, "5000"), "%s", r.text);
	spec.world.npes = 2;
	spec.accept = "MLX5-NO-SUCH-RULE because";
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(strstr(r.text, "MLX5-NO-SUCH-RULE"), "%s", r.text);
	spec.accept = NULL;
	spec.setup = NULL;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(strstr(r.text, "no setup"), "%s", r.text);
	spec.setup = setup;
	spec.sizes = many;
	spec.nsizes = BF_TRIAL_SIZES + 1;
	ck_assert(!bf_trial_search(&spec, NULL, &r));
	ck_assert_msg(strstr(r.text, "sizes"), "%s", r.text);
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_msg(strstr(r.text, "9 sizes"), "%s", r.text);
	spec.nsizes = 0;
	ck_assert(!bf_trial_search(
	    &spec, &(struct bf_trial_search_opts){ .orderings = (enum bf_ordering[]){ BF_ORDER_SC } }, &r));
	ck_assert_msg(strstr(r.text, "no ordering"), "%s", r.text);
}
END_TEST

START_TEST(verify_may_fail_without_a_reason)
{
	struct config c = { .shy = true };
	const struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_int_eq(r.verdict, BF_TRIAL_WRONG);
	ck_assert_str_eq(r.reason, "verify failed without a reason");
}
END_TEST

/* A late entry that nothing came of is still an error, unless it is accepted. */
static int never_wrong(struct bf_trial *t, void *state)
{
	(void)t;
	(void)state;
	return 0;
}

static struct bf_trial_result lucky_run(struct bf_trial_spec *spec)
{
	struct bf_trial_result r = { 0 };

	spec->verify = never_wrong;
	for (spec->world.seed = 1; spec->world.seed < 200; spec->world.seed++) {
		bf_trial_run(spec, &r);
		if (r.verdict == BF_TRIAL_FOUND)
			break;
	}
	return r;
}

START_TEST(luck_does_not_count)
{
	struct config c = { .bug = NO_ENTRY_FENCE };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	spec.world.ordering = BF_ORDER_ADVERSARIAL;
	r = lucky_run(&spec);
	ck_assert_int_eq(r.verdict, BF_TRIAL_FOUND);
	ck_assert(bf_trial_found(&r, "MLX5-ENTRY-ORDER"));
	spec.accept = "MLX5-* this is a test of the harness";
	ck_assert_msg(bf_trial_run(&spec, &r), "%s", r.text);
	ck_assert(!bf_trial_found(&r, "MLX5-ENTRY-ORDER"));
}
END_TEST

/* The trace of the failed run has its records and its cause. */
START_TEST(failed_runs_leave_traces)
{
	struct config c = { .bug = NO_DOORBELL_FENCE };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;
	struct bf_rules *rules;
	struct bf_error err;
	struct bf_trace *t;
	char path[64];

	snprintf(path, sizeof(path), "trial-%d.bft", (int)getpid());
	spec.trace = path;
	ck_assert(!bf_trial_search(&spec, NULL, &r));
	ck_assert_ptr_nonnull(strstr(r.text, path));
	ck_assert_msg(!bf_trace_open(path, NULL, &t, &err), "%s", err.text);
	ck_assert_ptr_nonnull(strstr(bf_trace_meta_get(t, "command"), "trial writes, seed "));
	ck_assert_ptr_nonnull(bf_trace_meta_get(t, "ordering"));
	ck_assert_str_eq(bf_trace_meta_get(t, "verdict"), bf_trial_verdict_name(r.verdict));
	ck_assert_str_eq(bf_trace_meta_get(t, "cause"), r.finding[0].text);
	ck_assert_int_eq(bf_rules_create(NULL, &rules, &err), 0);
	ck_assert_int_eq(bf_rules_trace(rules, t, &err), 0);
	bf_rules_finish(rules, true);
	ck_assert_str_eq(bf_rules_root(rules)->rule->id, "MLX5-DBREC-ORDER");
	bf_rules_destroy(rules);
	bf_trace_close(t);
	unlink(path);
}
END_TEST

/* ---- NVMe ---- */

static uint32_t command(struct bf_thread *t, struct run *r, uint32_t opcode, uint64_t lba)
{
	uint32_t dw[16] = { opcode | r->produced << 16, r->ssd.nsid }, word;
	uint8_t *sqe = r->ssd.sq + r->produced % SQES * 64;
	const uint8_t *cqe = r->ssd.cq + r->consumed % SQES * 16;

	bf_put_le64(&dw[6], r->data.va);
	bf_put_le64(&dw[10], lba);
	for (uint32_t i = 0; i < 16; i++)
		bf_st_weak32(t, sqe + i * 4, dw[i]);
	r->produced++;
	if (r->bug != NO_ENTRY_FENCE)
		bf_fence_sys(t);
	bf_mmio_st32(t, r->ssd.sq_tail, r->produced % SQES);
	while (word = bf_ld_acquire32(t, cqe + 12, BF_AT_SYS), (word >> 16 & 1) == (r->consumed / SQES & 1))
		bf_spin(t, cqe + 12, "completion");
	r->consumed++;
	bf_mmio_st32(t, r->ssd.cq_head, r->consumed % SQES);
	return word >> 17;
}

static void nvme_user(struct bf_thread *t, void *arg)
{
	struct run *r = arg;

	for (uint32_t i = 0; i < r->messages && !r->bad; i++)
		r->bad = command(t, r, i % 2 ? BF_NVME_IO_READ : BF_NVME_IO_WRITE, i / 2);
}

static int nvme_setup(struct bf_trial *t, void *state)
{
	const struct config *c = bf_trial_arg(t);
	struct run *r = state;
	int rc = bf_trial_nvme(t, 0, &(struct bf_trial_nvme_opts){ .entries = SQES });

	if (!rc)
		rc = bf_trial_nvme_queue(t, 0, 0, &r->ssd);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_HOST, 4096, "data", &r->data);
	if (rc)
		return rc;
	ck_assert_uint_eq(r->ssd.entries, SQES);
	ck_assert_uint_gt(r->ssd.blocks, 100);
	ck_assert_uint_eq(r->ssd.block_bytes % 512, 0);
	r->bug = c->bug;
	r->messages = (uint32_t)bf_trial_size(t, 0);
	return bf_trial_launch_cpu(t, 0, 1, nvme_user, r);
}

static int nvme_verify(struct bf_trial *t, void *state)
{
	const struct run *r = state;

	bf_trial_check(t, r->bad == 0, "status 0x%x", r->bad);
	return 0;
}

START_TEST(nvme)
{
	struct config c = { .bug = _i ? NO_ENTRY_FENCE : NONE };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	spec.world.npes = 1;
	spec.world.devices = BF_DEVICE_NVME;
	spec.setup = nvme_setup;
	spec.verify = nvme_verify;
	spec.sizes = &(struct bf_trial_size){ "commands", 40, 1 };
	ck_assert_msg(bf_trial_search(&spec, &(struct bf_trial_search_opts){ .seeds = 5 }, &r) == !_i, "%s", r.text);
	ck_assert_int_eq(bf_trial_found(&r, "NVME-ENTRY-ORDER"), _i);
	ck_assert_msg(!_i || strcmp(r.root->id, "NVME-ENTRY-ORDER") == 0, "%s", r.text);

	spec.world.devices = BF_DEVICE_MLX5;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_int_eq(r.verdict, BF_TRIAL_NOT_RUN);
	ck_assert_msg(strstr(r.text, "NVMe"), "%s", r.text);
}
END_TEST

/* What is not there cannot be had, and the first reason is the one that is told. */
static int wrong_setup(struct bf_trial *t, void *state)
{
	struct run *r = state;

	ck_assert_int_eq(bf_trial_mlx5_queue(t, 0, 1, 0, &r->q), -EINVAL); /* before bf_trial_mlx5() */
	ck_assert_ptr_null(r->q.sq);
	ck_assert_int_eq(bf_trial_mlx5(t, &(struct bf_trial_mlx5_opts){ .wqebbs = 128, .collapsed = true }), 0);
	ck_assert_int_eq(bf_trial_mlx5(t, NULL), -EEXIST);
	ck_assert_int_eq(bf_trial_mlx5_queue(t, 1, 0, 0, &r->q), 0);
	ck_assert_uint_eq(r->q.wqebbs, 128);
	ck_assert_int_eq(bf_trial_mlx5_queue(t, 1, 1, 0, &r->q), -EINVAL);
	ck_assert_int_eq(bf_trial_mlx5_queue(t, 0, 1, 1, &r->q), -EINVAL);
	ck_assert_int_eq(bf_trial_mlx5_queue(t, 2, 1, 0, &r->q), -EINVAL);
	ck_assert_int_eq(bf_trial_nvme_queue(t, 0, 0, &r->ssd), -EINVAL);
	ck_assert_int_eq(bf_trial_nvme(t, 7, NULL), -EINVAL);
	ck_assert_int_lt(bf_trial_memory(t, 9, BF_PLACE_HOST, 4096, "m", &r->data), 0);
	ck_assert_int_lt(bf_trial_launch(t, 0, 0, 1, writer, r), 0);
	ck_assert_int_lt(bf_trial_launch_cpu(t, 0, 0, writer, r), 0);
	ck_assert_uint_eq(bf_trial_size(t, 1), 0);
	ck_assert_uint_eq(bf_trial_seed(t), 1);
	ck_assert_str_eq(bf_trial_backend(t)->name, "sim");
	ck_assert_ptr_nonnull(bf_trial_world(t));
	return 0;
}

START_TEST(helpers_say_what_is_wrong)
{
	struct config c = { 0 };
	struct bf_trial_spec spec = spec_of(&c);
	struct bf_trial_result r;

	spec.setup = wrong_setup;
	ck_assert(!bf_trial_run(&spec, &r));
	ck_assert_int_eq(r.verdict, BF_TRIAL_NOT_RUN);
	ck_assert_str_eq(r.reason, "PE 0 has no queue 0 to PE 1");
}
END_TEST

START_TEST(version)
{
	char text[32];

	snprintf(text, sizeof(text), "%d.%d.%d", BELFRY_VERSION_MAJOR, BELFRY_VERSION_MINOR, BELFRY_VERSION_PATCH);
	ck_assert_str_eq(bf_version(), text);
	ck_assert(BELFRY_VERSION_AT_LEAST(0, 0, 9) && BELFRY_VERSION_AT_LEAST(0, 1, 0));
	ck_assert(!BELFRY_VERSION_AT_LEAST(99, 0, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trial");
	TCase *tc = tcase_create("trial");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, right_code_is_good_everywhere);
	tcase_add_loop_test(tc, every_run_is_tried, 0, 3);
	tcase_add_loop_test(tc, missing_fences_are_named, 0, 2);
	tcase_add_test(tc, orderings_can_be_chosen);
	tcase_add_test(tc, shrinking_keeps_the_cause);
	tcase_add_test(tc, threads_do_not_change_the_outcome);
	tcase_add_loop_test(tc, verdicts, 0, 6);
	tcase_add_test(tc, trials_that_cannot_run);
	tcase_add_test(tc, verify_may_fail_without_a_reason);
	tcase_add_test(tc, luck_does_not_count);
	tcase_add_test(tc, failed_runs_leave_traces);
	tcase_add_loop_test(tc, nvme, 0, 2);
	tcase_add_test(tc, helpers_say_what_is_wrong);
	tcase_add_test(tc, version);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
