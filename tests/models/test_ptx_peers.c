/* Two GPUs that have mapped each other's memory: loads, stores and atomics reach it, and what orders them is a scope.
 */
#include "sim/compiler.h"
#include "tests/models/ptx_machine_rig.h"

/* `give` stores to the peer's memory and says so; `take`, on the other GPU, waits for the word in its own memory. */
static const char kernels[] =
    PTX_HEADER ".visible .entry give(.param .u64 peer)\n{\n"
	       "  .reg .b32 %r<4>; .reg .b64 %rd<3>;\n"
	       "  ld.param.u64 %rd1, [peer]; atom.add.sys.global.u32 %r1, [%rd1+8], 5;\n"
	       "  ld.global.u32 %r2, [%rd1+12]; st.global.u32 [%rd1+256], %r2;\n"
	       "  st.release.sys.global.u32 [%rd1+512], 1; ret;\n}\n"
	       ".visible .entry take(.param .u64 own)\n{\n"
	       "  .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;\n"
	       "  ld.param.u64 %rd1, [own];\nwait:\n"
	       "  ld.acquire.sys.global.u32 %r1, [%rd1+512]; setp.eq.u32 %p1, %r1, 0; @%p1 bra wait;\n"
	       "  ld.global.u32 %r2, [%rd1+256]; st.global.u32 [%rd1], %r2; ret;\n}\n";

struct peers {
	struct ptx_rig own; /* whose memory both mean */
	struct bf_space space;
	struct bf_ptx_device *device;
	struct bf_ptx_library *lib;
};

static void peers_open(struct peers *p, uint64_t seed, enum bf_ordering ordering, bool mapped)
{
	struct bf_ptx_device_opts opts = { .name = "pe1.", .ordering = ordering, .print = rig_print };
	const uint32_t first = 10;

	rig_open(&p->own, seed, ordering, kernels);
	ck_assert_int_eq(bf_space_init(&p->space, p->own.sim, "pe1", 1), 0);
	if (mapped)
		bf_space_map(&p->own.space, &p->space);
	opts.space = &p->space;
	opts.print_arg = &p->own;
	ck_assert_int_eq(bf_ptx_device_create(p->own.sim, &opts, &p->device), 0);
	ck_assert_int_eq(bf_ptx_device_load_again(p->device, p->own.lib, &p->lib), 0);
	memcpy(p->own.mem->bytes + 8, &first, sizeof(first));
	memcpy(p->own.mem->bytes + 12, &first, sizeof(first));
}

static void peers_close(struct peers *p)
{
	bf_ptx_device_destroy(p->device);
	bf_ptx_device_destroy(p->own.device);
	bf_space_fini(&p->space);
	bf_space_fini(&p->own.space);
	bf_sim_destroy(p->own.sim);
}

/* Runs both; `address`: how `give` names the memory. */
static enum bf_run_end run(struct peers *p, uint64_t address)
{
	const struct bf_ptx_launch l = { .kernel = "give",
					 .grid = { 1 },
					 .block = { 1 },
					 .params = &address,
					 .param_bytes = 8,
					 .done = rig_done,
					 .arg = &p->own };
	const uint64_t own = p->own.mem->va;

	ck_assert_int_eq(rig_launch(&p->own, "take", 1, 1, &own, 1), 0);
	ck_assert_int_eq(bf_ptx_device_launch(p->device, p->lib, &l), 0);
	return bf_sim_run(p->own.sim, BF_S);
}

static const enum bf_ordering orderings[] = { BF_ORDER_SC, BF_ORDER_TSO, BF_ORDER_GPU, BF_ORDER_ADVERSARIAL };

/* Seeds with which `take` does not find what `give` stored before its release. */
static uint32_t seeds_with_old_data(enum bf_ordering ordering)
{
	uint32_t old = 0;

	for (uint32_t seed = 1; seed <= 40; seed++) {
		struct peers p;

		peers_open(&p, seed, ordering, true);
		ck_assert_int_eq(run(&p, seed & 1 ? p.own.mem->va : (uint64_t)(uintptr_t)p.own.mem->bytes),
				 BF_RUN_IDLE);
		ck_assert_ptr_null(bf_ptx_device_fault(p.device));
		ck_assert_uint_eq(word_at(&p.own, 2), 15);
		old += word_at(&p.own, 0) != 10;
		peers_close(&p);
	}
	return old;
}

START_TEST(memory_of_a_peer_is_ordered_by_a_release)
{
	ck_assert_uint_eq(seeds_with_old_data(orderings[_i]), 0);
}
END_TEST

START_TEST(memory_that_is_not_mapped_is_nobodys)
{
	struct peers p;
	const struct bf_ptx_fault *f;

	peers_open(&p, 1, BF_ORDER_SC, false);
	run(&p, p.own.mem->va);
	f = bf_ptx_device_fault(p.device);
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(strstr(f->text, "nobody's memory"));
	peers_close(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx_peers");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(t, memory_of_a_peer_is_ordered_by_a_release, 0, BF_ARRAY_LEN(orderings));
	tcase_add_test(t, memory_that_is_not_mapped_is_nobodys);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
