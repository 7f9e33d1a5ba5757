/*
 * The doorbell path of UCX's GPU-initiated transport, step by step in our primitives, and a verdict on each of its
 * fences by all runs with delays. Two blocks of a GPU post one entry each to one queue pair, which lies in the GPU's
 * memory. Source of the steps: openucx/ucx src/uct/ib/mlx5/gdaki/gdaki.cuh (uct_rc_mlx5_gda_db), which calls NVIDIA's
 * GPUNetIO headers.
 */
#include <check.h>

#include "drivers/belfry.h"

#define MESSAGE 64u
#define THREADS 2u

/* Where a fence stands. */
enum site {
	BEFORE_PUBLISH, /* entry, then the ready index, by who leaves the doorbell to another thread */
	AFTER_PUBLISH,
	BEFORE_BELL,    /* the first doorbell, before the record */
	BEFORE_SECOND,  /* the record, then the second doorbell */
	AFTER_HANDOVER, /* behind the ready index, by who has rung */
	SITES
};

enum strength { NONE, BLOCK, GPU, SYSTEM };

struct shared { /* in the GPU's memory */
	uint64_t reserved, ready;
};

struct post {
	struct bf_trial_mlx5_queue hw;
	struct shared *shared;
	const enum strength *fence;
	bool leave; /* entry 0's thread leaves the doorbell to the other one */
	uint32_t errors;
};

static void fence(struct bf_thread *t, const struct post *p, enum site site)
{
	if (p->fence[site] == BLOCK)
		bf_fence_cta(t);
	else if (p->fence[site] == GPU)
		bf_fence_gpu(t);
	else if (p->fence[site] == SYSTEM)
		bf_fence_sys(t);
}

static struct bf_vec128 segment(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return (struct bf_vec128){ .w = { bf_htobe32(a), bf_htobe32(b), bf_htobe32(c), bf_htobe32(d) } };
}

static void build(struct bf_thread *t, const struct post *p, uint64_t index)
{
	const struct bf_trial_mlx5_queue *hw = &p->hw;
	const uint64_t from = hw->local_va + index * MESSAGE, to = hw->remote_va + index * MESSAGE;
	uint8_t *slot = hw->sq + index % hw->wqebbs * BF_MLX5_WQEBB;
	const uint32_t asks = index + 1 == THREADS ? BF_MLX5_CTRL_CQ_UPDATE : 0;

	bf_st_weak128(t, slot, segment((uint32_t)index << 8 | BF_MLX5_OP_RDMA_WRITE, hw->qpn << 8 | 3, asks, 0));
	bf_st_weak128(t, slot + 16, segment((uint32_t)(to >> 32), (uint32_t)to, hw->rkey, 0));
	bf_st_weak128(t, slot + 32, segment(MESSAGE, hw->lkey, (uint32_t)(from >> 32), (uint32_t)from));
}

static void ring(struct bf_thread *t, const struct post *p, uint64_t next)
{
	const uint64_t low = bf_htobe32((uint32_t)next << 8), high = bf_htobe32(p->hw.qpn << 8);

	bf_mmio_st64(t, p->hw.doorbell, high << 32 | low);
}

static void publish(struct bf_thread *t, const struct post *p, uint64_t index)
{
	fence(t, p, BEFORE_PUBLISH);
	while (bf_atomic_cas64(t, &p->shared->ready, index, index + 1, BF_AT_GPU) != index)
		bf_spin(t, &p->shared->ready, "the entries before");
	fence(t, p, AFTER_PUBLISH);
}

static void ring_for_all(struct bf_thread *t, const struct post *p, uint64_t index)
{
	while (bf_ld_relaxed64(t, &p->shared->ready, BF_AT_GPU) != index)
		bf_spin(t, &p->shared->ready, "the entries before");
	fence(t, p, BEFORE_BELL);
	ring(t, p, index + 1);
	bf_st_relaxed32(t, p->hw.dbrec, bf_htobe32((uint32_t)(index + 1) & 0xffff), BF_AT_SYS);
	fence(t, p, BEFORE_SECOND);
	ring(t, p, index + 1);
	bf_st_relaxed64(t, &p->shared->ready, index + 1, BF_AT_GPU);
	fence(t, p, AFTER_HANDOVER);
}

static void poster(struct bf_thread *t, void *arg)
{
	struct post *p = arg;
	const uint64_t index = bf_atomic_add64(t, &p->shared->reserved, 1, BF_AT_GPU);
	const uint8_t *last = p->hw.cq + 60;
	uint32_t word;

	build(t, p, index);
	if (p->leave && index + 1 < THREADS)
		publish(t, p, index);
	else
		ring_for_all(t, p, index);
	if (index + 1 < THREADS)
		return;
	while ((word = bf_ld_acquire32(t, last, BF_AT_SYS)) >> 28 == BF_MLX5_CQE_INVALID)
		bf_spin(t, last, "the completion");
	p->errors += word >> 28 != 0;
}

struct variant {
	enum strength fence[SITES];
	bool leave, in_host; /* where the queue pair lies */
};

static int setup(struct bf_trial *t, void *state)
{
	const struct variant *v = bf_trial_arg(t);
	struct bf_memory memory;
	struct post *p = state;
	int rc = bf_trial_mlx5(t, &(struct bf_trial_mlx5_opts){ .rings_in_host = v->in_host });

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &p->hw);
	if (!rc)
		rc = bf_trial_memory(t, 0, BF_PLACE_GPU, 4096, "indices", &memory);
	if (rc)
		return rc;
	p->shared = memory.ptr;
	p->fence = v->fence;
	p->leave = v->leave;
	for (uint32_t i = 0; i < THREADS * MESSAGE; i++)
		p->hw.local[i] = (uint8_t)(i * 7 + 1);
	return bf_trial_launch(t, 0, THREADS, 1, poster, p);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct post *p = state;

	bf_trial_check(t, p->errors == 0, "a write failed");
	bf_trial_equal(t, "what arrived", bf_trial_heap(t, 1).ptr, p->hw.local, THREADS * MESSAGE);
	return 0;
}

/* Whether all runs with two delays, one of them a stall, are good. */
static bool holds(struct variant *v, struct bf_trial_covered *covered, struct bf_trial_result *r)
{
	const struct bf_trial_spec spec = { .name = "doorbell path",
					    .world = { .seed = 1, .npes = 2, .lanes = 1 },
					    .setup = setup,
					    .verify = verify,
					    .state_bytes = sizeof(struct post),
					    .accept = "MLX5-* the search judges by what arrived",
					    .arg = v };
	const struct bf_trial_exhaust_opts opts = { .delays = 2, .stalls = 1, .runs = 20000 };
	const bool good = bf_trial_exhaust(&spec, &opts, covered, r);

	ck_assert_msg(r->verdict != BF_TRIAL_NOT_RUN, "%s", r->text);
	ck_assert(!good || covered->whole);

	return good;
}

/* With these fences it is good, and with each of them any weaker it is not. */
static const struct variant cases[] = {
	/* As UCX has them, in the GPU's memory, less the two behind the ready index. */
	{ { NONE, NONE, GPU, GPU, NONE }, .leave = false },
	{ { GPU, NONE, GPU, GPU, NONE }, .leave = true },
	/* In the host's memory the device looks where only fences of system scope reach. */
	{ { NONE, NONE, SYSTEM, SYSTEM, NONE }, .leave = false, .in_host = true },
	{ { GPU, NONE, SYSTEM, SYSTEM, NONE }, .leave = true, .in_host = true },
};

START_TEST(each_fence_is_needed_and_enough)
{
	static struct bf_trial_result r;
	struct bf_trial_covered covered;
	struct variant v = cases[_i];

	ck_assert_msg(holds(&v, &covered, &r), "%s", r.text);
	ck_assert_uint_gt(covered.runs, 20);
	for (uint32_t site = 0; site < SITES; site++) {
		for (enum strength weaker = NONE; weaker < cases[_i].fence[site]; weaker++) {
			v = cases[_i];
			v.fence[site] = weaker;
			ck_assert_msg(!holds(&v, &covered, &r), "fence %u holds at strength %d", site, weaker);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("UCX's doorbell path");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, each_fence_is_needed_and_enough, 0, BF_ARRAY_LEN(cases));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
