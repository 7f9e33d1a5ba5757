/* What GPU threads, CPU threads and devices see of VRAM, one against the other. */
#include "tests/models/gpu_rig.h"

static const enum bf_ordering orderings[] = { BF_ORDER_SC, BF_ORDER_TSO, BF_ORDER_GPU, BF_ORDER_ADVERSARIAL };

static struct gpu_rig rig;

/* Runs one GPU thread to its end. */
static void run(bf_agent_fn *fn, void *arg)
{
	gpu_rig_thread(&rig, true, "lane", fn, arg);
	ck_assert_int_eq(bf_sim_run(rig.sim, 100 * BF_MS), BF_RUN_IDLE);
}

static void arrival(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;

	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	gpu_rig_dma_write(&rig, self, uc->va, 7);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes + 60, true), 0);
	ck_assert_uint_eq(bf_get_le32(uc->bytes), 7);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, uc->va), 7);
	bf_fence(self, BF_SCOPE_SYS);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	gpu_rig_reg(&rig, self, BF_GPU_GCVM_INVALIDATE_ENG17_REQ, GPU_RIG_FLUSH);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 7);
	/* A store of the GPU beside an unseen write goes to memory, and the write stays unseen. */
	gpu_rig_dma_write(&rig, self, uc->va + 4, 8);
	gpu_rig_store(self, uc->bytes + 8, 9, true);
	bf_fence(self, BF_SCOPE_SYS);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes + 4, true), 0);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes + 8, true), 9);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, uc->va + 8), 9);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, uc->va + 4), 8);
}

START_TEST(a_write_arrives_long_before_it_is_visible)
{
	gpu_rig_open(&rig, 1, orderings[_i], NULL);
	run(arrival, gpu_rig_vram(&rig, "uc", BF_PAGE, BF_GPU_MTYPE_UC));
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->arrived, 2);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->visible, 1);
	ck_assert_uint_ge(bf_gpu_stats(rig.gpu)->stale_loads, 3);
	gpu_rig_close(&rig);
}
END_TEST

static void late_entry(struct bf_agent *self, void *arg)
{
	struct bf_region *rw = arg;

	gpu_rig_store(self, rw->bytes, 1, false);
	bf_fence(self, BF_SCOPE_GPU);
	bf_agent_delay(self, 2 * BF_MS); /* long after every store buffer has drained */
	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes, false), 1);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va), 0);
	bf_fence(self, BF_SCOPE_SYS);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va), 1);
	/* A release of system scope takes along what was stored before it. */
	gpu_rig_store(self, rw->bytes, 2, false);
	bf_store(self, rw->bytes + 512, &(uint32_t){ 3 }, 4, BF_RELEASE, BF_SCOPE_SYS);
	bf_agent_delay(self, 2 * BF_MS);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va + 512), 3);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va), 2);
	/* So does an atomic, and one of GPU scope does not. */
	gpu_rig_store(self, rw->bytes, 4, false);
	bf_atomic(self, rw->bytes + 256, 4, BF_ATOMIC_ADD, 5, 0, BF_RELEASE, BF_SCOPE_SYS);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va), 4);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va + 256), 5);
	/* So does a releasing store to a device. */
	gpu_rig_store(self, rw->bytes, 6, false);
	bf_mmio_store(self, bf_gpu_regs(rig.gpu)->bytes, &(uint32_t){ 0 }, 4, BF_RELEASE);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va), 6);
}

START_TEST(a_cached_store_needs_a_fence_of_system_scope)
{
	gpu_rig_open(&rig, 1, orderings[_i], NULL);
	run(late_entry, gpu_rig_vram(&rig, "rw", BF_PAGE, BF_GPU_MTYPE_RW));
	ck_assert_uint_ge(bf_gpu_stats(rig.gpu)->late_stores, 1);
	gpu_rig_close(&rig);
}
END_TEST

static void add_one(struct bf_dma_op *op, void *bytes)
{
	(void)op;
	bf_put_le32(bytes, bf_get_le32(bytes) + 1);
}

static void cpu_store(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;

	gpu_rig_store(self, uc->bytes, 3, false);
	bf_fence(self, BF_SCOPE_SYS);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, false), 3);
}

static void outside(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;
	struct {
		struct bf_dma_op op;
		bool done;
	} add = { .op = { .iova = uc->va + 256, .len = 4, .done = gpu_rig_read_done, .modify = add_one } };

	bf_agent_delay(self, BF_MS); /* the CPU's store through the BAR has landed */
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	bf_dma_read(&rig.ssd, &add.op);
	bf_agent_delay(self, 10 * BF_US);
	ck_assert(add.done);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, uc->va + 256), 1);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes + 256, true), 0);
	gpu_rig_reg(&rig, self, BF_GPU_GCVM_INVALIDATE_ENG17_REQ, GPU_RIG_FLUSH);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 3);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes + 256, true), 1);
}

START_TEST(processors_and_atomics_write_from_outside_too)
{
	struct bf_region *uc;

	gpu_rig_open(&rig, 1, orderings[_i], NULL);
	uc = gpu_rig_vram(&rig, "uc", BF_PAGE, BF_GPU_MTYPE_UC);
	gpu_rig_thread(&rig, false, "cpu", cpu_store, uc);
	run(outside, uc);
	gpu_rig_close(&rig);
}
END_TEST

static void uncached_store(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;

	gpu_rig_store(self, uc->bytes, 1, false);
	bf_fence(self, BF_SCOPE_GPU); /* the store has left the thread; no cache keeps it */
	bf_agent_delay(self, 2 * BF_MS);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, uc->va), 1);
}

START_TEST(an_uncached_store_needs_none)
{
	gpu_rig_open(&rig, 1, orderings[_i], NULL);
	run(uncached_store, gpu_rig_vram(&rig, "uc", BF_PAGE, BF_GPU_MTYPE_UC));
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->late_stores, 0);
	gpu_rig_close(&rig);
}
END_TEST

/* Sixteen-byte entries of a completion queue share a line: a neighbour fetched before stays as it was. */
static void neighbours(struct bf_agent *self, void *arg)
{
	struct bf_region *rw = arg;

	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes, false), 0);
	gpu_rig_dma_write(&rig, self, rw->va + 64, 5);
	gpu_rig_reg(&rig, self, BF_GPU_GCVM_INVALIDATE_ENG17_REQ, GPU_RIG_FLUSH);
	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes + 64, true), 5);
}

static void weak_neighbour(struct bf_agent *self, void *arg)
{
	struct bf_region *rw = arg;
	const uint32_t line = *(const uint32_t *)(const void *)(rw->bytes + 128);

	neighbours(self, arg);
	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes + 64, false), line == 128 ? 0 : 5);
}

START_TEST(lines_have_the_size_of_the_profile)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_gpu_opts o = { .profile = &p };
	struct bf_region *rw;

	p.line = _i ? 128 : 64;
	gpu_rig_open(&rig, 1, BF_ORDER_SC, &o);
	rw = gpu_rig_vram(&rig, "rw", BF_PAGE, BF_GPU_MTYPE_RW);
	bf_put_le32(rw->bytes + 128, p.line);
	run(weak_neighbour, rw);
	gpu_rig_close(&rig);
}
END_TEST

static void fill_l2(struct bf_agent *self, void *arg)
{
	struct bf_region *rw = arg;

	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes, false), 0);
	gpu_rig_store(self, rw->bytes + 128, 6, false);
	gpu_rig_dma_write(&rig, self, rw->va, 5);
	for (uint32_t i = 2; i < 6; i++)
		gpu_rig_load(self, rw->bytes + 128 * i, false);
	ck_assert_uint_eq(gpu_rig_load(self, rw->bytes, false), 5); /* its line had to go, and with it the old bytes */
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va + 128), 0);
	for (uint32_t i = 0; i < 4; i++)
		gpu_rig_store(self, rw->bytes + 1024 + 128 * i, 1, false);
	ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, rw->va + 128), 6);
}

START_TEST(a_full_l2_makes_room)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_gpu_opts o = { .profile = &p };

	p.l2_bytes = 4 * 128;
	gpu_rig_open(&rig, 1, BF_ORDER_SC, &o);
	run(fill_l2, gpu_rig_vram(&rig, "rw", BF_PAGE, BF_GPU_MTYPE_RW));
	ck_assert_uint_ge(bf_gpu_stats(rig.gpu)->evictions, 2);
	gpu_rig_close(&rig);
}
END_TEST

static void wait_for(struct bf_agent *self, void *arg)
{
	struct bf_region *r = arg;
	const void *line = r->bytes;

	while (!gpu_rig_load(self, r->bytes, false))
		bf_agent_wait(self, &line, 1, BF_NEVER, bf_cost_gpu.poll, "CQE of the test");
}

static void write_late(struct bf_agent *self, void *arg)
{
	struct bf_region *r = arg;

	bf_agent_delay(self, 100 * BF_US);
	gpu_rig_dma_write(&rig, self, r->va, 1);
}

START_TEST(other_work_on_the_gpu_unsticks_a_poller)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_gpu_opts o = { .profile = &p };
	struct bf_region *r;
	uint64_t when[3];

	*(_i % 2 ? &p.evict_ps : &p.background_ps) = BF_MS;
	for (uint32_t seed = 0; seed < 3; seed++) {
		gpu_rig_open(&rig, seed / 2, orderings[_i / 2], &o);
		r = gpu_rig_vram(&rig, "rw", BF_PAGE, BF_GPU_MTYPE_RW);
		gpu_rig_thread(&rig, true, "poller", wait_for, r);
		gpu_rig_thread(&rig, false, "cpu", write_late, r);
		ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_IDLE);
		when[seed] = rig.sim->now_ps;
		gpu_rig_close(&rig);
	}
	ck_assert_uint_eq(when[0], when[1]);
	ck_assert_uint_ne(when[0], when[2]);
}
END_TEST

START_TEST(a_stuck_poller_is_told_why)
{
	char text[1024];
	struct bf_region *r;

	gpu_rig_open(&rig, 1, orderings[_i], NULL);
	r = gpu_rig_vram(&rig, "cq1", BF_PAGE, BF_GPU_MTYPE_UC);
	gpu_rig_thread(&rig, true, "poller", wait_for, r);
	gpu_rig_thread(&rig, false, "cpu", write_late, r);
	ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_DEADLOCK);
	bf_gpu_describe(rig.gpu, text, sizeof(text));
	ck_assert_msg(strstr(text, "'poller' waits for CQE of the test: what ssd wrote is in memory since 100") &&
			  strstr(text, "cq1+0x0") &&
			  strstr(text, "needs GCVM_INVALIDATE_ENG17_REQ flush_type 2 with a VMID mask"),
		      "%s", text);
	ck_assert_uint_eq(bf_gpu_describe(rig.gpu, NULL, 0), strlen(text));
	gpu_rig_close(&rig);
}
END_TEST

/*
 * The reference: memory, what the GPU may see of it, and an L2 of unlimited size, in whole words and whole lines. No
 * sharing of code or of ideas with the model.
 */
#define WORDS 128u
#define LINE_WORDS 32u

struct reference {
	uint32_t memory[WORDS], seen[WORDS], l2[WORDS];
	bool present[WORDS / LINE_WORDS], dirty[WORDS];
};

static void fetch(struct reference *f, uint32_t w)
{
	const uint32_t line = w / LINE_WORDS;

	if (!f->present[line])
		memcpy(&f->l2[line * LINE_WORDS], &f->seen[line * LINE_WORDS], LINE_WORDS * 4);
	f->present[line] = true;
}

struct random_run {
	struct bf_region *r;
	struct reference f;
	struct bf_rng rng;
	bool cached;
};

static uint32_t expect_load(struct random_run *x, uint32_t w, bool through)
{
	struct reference *f = &x->f;

	if (x->cached && !through)
		fetch(f, w);
	return (x->cached && !through) || f->dirty[w] ? f->l2[w] : f->seen[w];
}

static void expect_store(struct random_run *x, uint32_t w, uint32_t v, bool through)
{
	struct reference *f = &x->f;

	if (x->cached && !through) {
		fetch(f, w);
		f->l2[w] = v;
		f->dirty[w] = true;
		return;
	}
	f->memory[w] = f->seen[w] = f->l2[w] = v;
	f->dirty[w] = false;
}

static void expect_fence(struct reference *f)
{
	for (uint32_t w = 0; w < WORDS; w++) {
		if (f->dirty[w])
			f->memory[w] = f->seen[w] = f->l2[w];
		f->dirty[w] = false;
	}
}

/*
 * The reference has no store buffers. Under the weaker orders a store may wait in one, so that a fence comes before
 * each look at memory from outside; what the thread sees by itself is the same under all.
 */
static void settle(struct bf_agent *self, struct random_run *x)
{
	if (rig.ordering == BF_ORDER_SC)
		return;
	bf_fence(self, BF_SCOPE_SYS);
	expect_fence(&x->f);
}

/* What the reference holds as "seen" of a line must stand still under writes from outside; it does, by words. */
static void random_ops(struct bf_agent *self, void *arg)
{
	struct random_run *x = arg;

	for (uint32_t i = 0; i < 400; i++) {
		/* Most of them hit two words again and again. */
		const uint32_t w = (uint32_t)bf_rng_below(&x->rng, bf_rng_chance(&x->rng, 700000) ? 2 : WORDS);
		const uint32_t v = (uint32_t)bf_rng_next(&x->rng);
		const bool through = bf_rng_chance(&x->rng, 500000);
		uint8_t *p = x->r->bytes + 4 * w;

		switch (bf_rng_below(&x->rng, 8)) {
		case 0:
		case 1:
			ck_assert_uint_eq(gpu_rig_load(self, p, through), expect_load(x, w, through));
			break;
		case 2:
		case 3:
			gpu_rig_store(self, p, v, through);
			expect_store(x, w, v, through);
			break;
		case 4:
			bf_fence(self, BF_SCOPE_SYS);
			expect_fence(&x->f);
			break;
		case 5:
			settle(self, x);
			gpu_rig_dma_write(&rig, self, x->r->va + 4 * w, v);
			x->f.memory[w] = v;
			break;
		case 6:
			settle(self, x);
			ck_assert_uint_eq(gpu_rig_dma_read(&rig, self, x->r->va + 4 * w), x->f.memory[w]);
			break;
		default:
			if (bf_rng_chance(&x->rng, 700000))
				break;
			settle(self, x);
			bf_mmio_store(self, bf_gpu_regs(rig.gpu)->bytes + BF_GPU_GCVM_INVALIDATE_ENG17_REQ,
				      &(uint32_t){ GPU_RIG_FLUSH }, 4, BF_RELAXED);
			settle(self, x); /* the store to the register must arrive before its effect is waited for */
			bf_agent_delay(self, 10 * BF_US);
			settle(self, x);
			memcpy(x->f.seen, x->f.memory, sizeof(x->f.seen));
		}
	}
}

START_TEST(random_accesses_agree_with_a_reference)
{
	for (uint32_t seed = 0; seed < 40; seed++) {
		struct random_run x = { .cached = seed % 2 };

		gpu_rig_open(&rig, seed, orderings[_i], NULL);
		bf_rng_init(&x.rng, seed, "test");
		x.r = gpu_rig_vram(&rig, "r", BF_PAGE, x.cached ? BF_GPU_MTYPE_RW : BF_GPU_MTYPE_UC);
		run(random_ops, &x);
		gpu_rig_close(&rig);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gpu_cache");
	TCase *tc = tcase_create("cache");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, a_write_arrives_long_before_it_is_visible, 0, 4);
	tcase_add_loop_test(tc, a_cached_store_needs_a_fence_of_system_scope, 0, 4);
	tcase_add_loop_test(tc, an_uncached_store_needs_none, 0, 4);
	tcase_add_loop_test(tc, processors_and_atomics_write_from_outside_too, 0, 4);
	tcase_add_loop_test(tc, lines_have_the_size_of_the_profile, 0, 2);
	tcase_add_test(tc, a_full_l2_makes_room);
	tcase_add_loop_test(tc, other_work_on_the_gpu_unsticks_a_poller, 0, 8);
	tcase_add_loop_test(tc, a_stuck_poller_is_told_why, 0, 4);
	tcase_add_loop_test(tc, random_accesses_agree_with_a_reference, 0, 4);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
