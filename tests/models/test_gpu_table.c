/*
 * Who gets out of a polling loop: every combination of mapping, load, hub, engine, flush type and VMID mask, with what
 * the published experiment saw as the expectation; and what the other registers do.
 */
#include "sim/pcie.h"
#include "tests/models/gpu_rig.h"

static struct gpu_rig rig;

struct way {
	enum bf_gpu_mtype mtype;
	bool through; /* glc slc dlc */
	bool mm;      /* of the multimedia hub */
	uint32_t engine, flush_type, vmids;
	bool none; /* no request at all */
	struct bf_region *cq;
};

static void poll(struct bf_agent *self, void *arg)
{
	const struct way *w = arg;
	const void *line = w->cq->bytes;

	while (!gpu_rig_load(self, line, w->through))
		bf_agent_wait(self, &line, 1, BF_NEVER, bf_cost_gpu.poll, "completion");
}

static void complete_and_flush(struct bf_agent *self, void *arg)
{
	const struct way *w = arg;
	const uint32_t req = (uint32_t)(BF_FIELD_PREP(BF_GPU_INVALIDATE_FLUSH_TYPE, w->flush_type) |
					BF_FIELD_PREP(BF_GPU_INVALIDATE_VMIDS, w->vmids) | BF_GPU_INVALIDATE_L2_PTES);
	const uint32_t reg = w->mm ? bf_gpu_mmvm_invalidate_req(w->engine) : bf_gpu_gcvm_invalidate_req(w->engine);
	const uint32_t ack = w->mm ? bf_gpu_mmvm_invalidate_ack(w->engine) : bf_gpu_gcvm_invalidate_ack(w->engine);
	uint64_t done;

	bf_agent_delay(self, 10 * BF_US);
	gpu_rig_dma_write(&rig, self, w->cq->va, 1);
	if (w->none)
		return;
	gpu_rig_reg(&rig, self, reg, req);
	/* Whatever it is worth, each engine says when it is done. */
	ck_assert_uint_eq(bf_mmio_load(bf_gpu_regs(rig.gpu), ack, 4, &done), w->vmids);
	ck_assert_uint_eq(bf_mmio_load(bf_gpu_regs(rig.gpu), reg, 4, &done), req);
}

static enum bf_run_end try(struct way *w, enum bf_ordering ordering, uint64_t seed)
{
	enum bf_run_end end;

	gpu_rig_open(&rig, seed, ordering, NULL);
	w->cq = gpu_rig_vram(&rig, "cq", BF_PAGE, w->mtype);
	gpu_rig_thread(&rig, true, "poller", poll, w);
	gpu_rig_thread(&rig, false, "host", complete_and_flush, w);
	end = bf_sim_run(rig.sim, BF_S);
	gpu_rig_close(&rig);
	return end;
}

static void check_way(struct way *w)
{
	const bool shown = !w->none && !w->mm && w->engine == 17 && w->flush_type == 2 && w->vmids;
	const bool fresh = shown && (w->mtype == BF_GPU_MTYPE_UC || w->through);

	for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		ck_assert_msg(try(w, o, 3) == (fresh ? BF_RUN_IDLE : BF_RUN_DEADLOCK),
			      "%s %s load, %s engine %u, flush type %u, VMIDs 0x%x, ordering %s: should %s",
			      w->mtype ? "UC" : "RW", w->through ? "past-caches" : "plain", w->mm ? "MMVM" : "GCVM",
			      w->engine, w->flush_type, w->vmids, bf_ordering_name(o), fresh ? "get on" : "hang");
}

START_TEST(only_the_right_combination_gets_on)
{
	static const uint32_t engines[] = { 0, 16, 17 }, masks[] = { 0, 1, 0x8000, 0xffff };
	struct way w = { .mtype = _i & 1 ? BF_GPU_MTYPE_UC : BF_GPU_MTYPE_RW, .through = _i & 2, .none = true };

	check_way(&w);
	w.none = false;
	for (uint32_t mm = 0; mm < 2; mm++)
		for (uint32_t e = 0; e < BF_ARRAY_LEN(engines); e++)
			for (uint32_t type = 0; type < 8; type++)
				for (uint32_t m = 0; m < BF_ARRAY_LEN(masks); m++) {
					w.mm = mm;
					w.engine = engines[e];
					w.flush_type = type;
					w.vmids = masks[m];
					check_way(&w);
				}
}
END_TEST

static void hdp(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;
	uint64_t done;

	gpu_rig_dma_write(&rig, self, uc->va, 1);
	gpu_rig_reg(&rig, self, BF_GPU_HDP_FLUSH_REQ, 0xfff);
	ck_assert_uint_eq(bf_mmio_load(bf_gpu_regs(rig.gpu), BF_GPU_HDP_FLUSH_DONE, 4, &done), 0xfff);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	/* 64 bits wide is no access to a register, and an unknown register is nothing. */
	bf_mmio_store(self, bf_gpu_regs(rig.gpu)->bytes + BF_GPU_GCVM_INVALIDATE_ENG17_REQ,
		      &(uint64_t){ GPU_RIG_FLUSH }, 8, BF_RELEASE);
	gpu_rig_reg(&rig, self, 0, UINT32_MAX);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 0);
	gpu_rig_reg(&rig, self, BF_GPU_GCVM_INVALIDATE_ENG17_REQ, GPU_RIG_FLUSH);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 1);
}

START_TEST(a_flush_of_the_host_data_path_does_nothing)
{
	struct bf_region *uc;

	gpu_rig_open(&rig, 1, BF_ORDER_SC, NULL);
	uc = gpu_rig_vram(&rig, "uc", BF_PAGE, BF_GPU_MTYPE_UC);
	gpu_rig_thread(&rig, true, "lane", hdp, uc);
	ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_IDLE);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->hdp_flushes, 1);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->invalidations, 1);
	gpu_rig_close(&rig);
}
END_TEST

static void kill_gpu(struct bf_agent *self, void *arg)
{
	gpu_rig_reg(&rig, self, *(const uint32_t *)arg, 0);
	ck_abort_msg("a GPU that was reset went on");
}

START_TEST(two_registers_reset_the_gpu)
{
	uint32_t reg = _i ? BF_GPU_GCR_GENERAL_CNTL : BF_GPU_GCVM_L2_CNTL2;

	gpu_rig_open(&rig, 1, BF_ORDER_SC, NULL);
	gpu_rig_thread(&rig, true, "lane", kill_gpu, &reg);
	ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_STOPPED);
	ck_assert_int_eq(rig.sim->error.code, -EIO);
	ck_assert_ptr_nonnull(strstr(rig.sim->error.text, _i ? "GCR_GENERAL_CNTL" : "GCVM_L2_CNTL2"));
	gpu_rig_close(&rig);
}
END_TEST

/* A request that comes while another is under way. */
static void two_requests(struct bf_agent *self, void *arg)
{
	struct bf_region *uc = arg;
	const uint32_t flush = GPU_RIG_FLUSH, no_vmid = flush & ~0xffffu;
	void *reg = bf_gpu_regs(rig.gpu)->bytes + BF_GPU_GCVM_INVALIDATE_ENG17_REQ;

	gpu_rig_dma_write(&rig, self, uc->va, 1);
	bf_mmio_store(self, reg, &flush, 4, BF_RELAXED);
	bf_mmio_store(self, reg, &no_vmid, 4, BF_RELAXED);
	bf_agent_delay(self, 10 * BF_US);
	ck_assert_uint_eq(gpu_rig_load(self, uc->bytes, true), 1);
}

START_TEST(a_second_request_does_not_undo_the_first)
{
	struct bf_region *uc;

	gpu_rig_open(&rig, 1, BF_ORDER_SC, NULL);
	uc = gpu_rig_vram(&rig, "uc", BF_PAGE, BF_GPU_MTYPE_UC);
	gpu_rig_thread(&rig, true, "lane", two_requests, uc);
	ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_IDLE);
	gpu_rig_close(&rig);
}
END_TEST

/* Same seed, same records; another seed, others (the weak orderings draw). */
static uint64_t hash_of(uint64_t seed, enum bf_ordering ordering)
{
	struct way w = { .mtype = BF_GPU_MTYPE_UC, .engine = 17, .flush_type = 2, .vmids = 1 };
	uint64_t hash;

	gpu_rig_open(&rig, seed, ordering, NULL);
	ck_assert_int_eq(bf_stream_open(&rig.sim->rec, &rig.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	w.cq = gpu_rig_vram(&rig, "cq", BF_PAGE, w.mtype);
	gpu_rig_thread(&rig, true, "poller", poll, &w);
	gpu_rig_thread(&rig, false, "host", complete_and_flush, &w);
	ck_assert_int_eq(bf_sim_run(rig.sim, BF_S), BF_RUN_IDLE);
	hash = bf_stream_hash(&rig.sim->rec);
	gpu_rig_close(&rig);
	return hash;
}

START_TEST(runs_are_deterministic)
{
	ck_assert_uint_eq(hash_of(1, BF_ORDER_ADVERSARIAL), hash_of(1, BF_ORDER_ADVERSARIAL));
	ck_assert_uint_ne(hash_of(1, BF_ORDER_ADVERSARIAL), hash_of(2, BF_ORDER_ADVERSARIAL));
	ck_assert_uint_eq(hash_of(1, BF_ORDER_SC), hash_of(2, BF_ORDER_SC));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gpu_table");
	TCase *tc = tcase_create("registers");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, only_the_right_combination_gets_on, 0, 4);
	tcase_add_test(tc, a_flush_of_the_host_data_path_does_nothing);
	tcase_add_loop_test(tc, two_registers_reset_the_gpu, 0, 2);
	tcase_add_test(tc, a_second_request_does_not_undo_the_first);
	tcase_add_test(tc, runs_are_deterministic);
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
