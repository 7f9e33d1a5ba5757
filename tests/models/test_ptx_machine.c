/* The machine around the PTX core: launches, memory, barriers, what goes wrong and how it is told. */
#include <errno.h>
#include <inttypes.h>

#include "tests/models/ptx_machine_rig.h"

static const enum bf_ordering orderings[] = { BF_ORDER_SC, BF_ORDER_TSO, BF_ORDER_GPU, BF_ORDER_ADVERSARIAL };

/* ---- what a kernel does ---- */

/* out[i] = the sum over the block of (i ^ 5) by shuffles and shared memory; out[1024] counts threads. */
static const char sums[] =
    PTX_HEADER ".visible .entry sums(.param .u64 out)\n{\n"
	       "  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>;\n"
	       "  .shared .align 4 .b8 part[128];\n"
	       "  ld.param.u64 %rd1, [out];\n"
	       "  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
	       "  mad.lo.u32 %r4, %r2, %r3, %r1;\n"
	       "  xor.b32 %r5, %r4, 5;\n"
	       "  shfl.sync.bfly.b32 %r6, %r5, 16, 31, -1; add.u32 %r5, %r5, %r6;\n"
	       "  shfl.sync.bfly.b32 %r6, %r5, 8, 31, -1; add.u32 %r5, %r5, %r6;\n"
	       "  shfl.sync.bfly.b32 %r6, %r5, 4, 31, -1; add.u32 %r5, %r5, %r6;\n"
	       "  shfl.sync.bfly.b32 %r6, %r5, 2, 31, -1; add.u32 %r5, %r5, %r6;\n"
	       "  shfl.sync.bfly.b32 %r6, %r5, 1, 31, -1; add.u32 %r5, %r5, %r6;\n"
	       "  mov.u32 %r7, %laneid; setp.ne.u32 %p1, %r7, 0;\n"
	       "  shr.u32 %r8, %r1, 5; shl.b32 %r8, %r8, 2; mov.u32 %r9, part; add.u32 %r9, %r9, %r8;\n"
	       "  @!%p1 st.shared.u32 [%r9], %r5;\n"
	       "  bar.sync 0;\n"
	       "  mov.u32 %r10, 0; mov.u32 %r11, part; shr.u32 %r12, %r3, 5;\n"
	       "loop:\n"
	       "  ld.shared.u32 %r13, [%r11]; add.u32 %r10, %r10, %r13; add.u32 %r11, %r11, 4;\n"
	       "  sub.u32 %r12, %r12, 1; setp.ne.u32 %p2, %r12, 0; @%p2 bra loop;\n"
	       "  mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r10;\n"
	       "  atom.global.add.u32 %r14, [%rd1+4096], 1;\n"
	       "  ret;\n}\n";

START_TEST(loads_stores_barriers)
{
	struct ptx_rig r;

	rig_open(&r, 1, orderings[_i], sums);
	rig_good(&r, "sums", 4, 128);
	for (uint32_t i = 0; i < 512; i++) {
		uint32_t want = 0;

		for (uint32_t j = i / 128 * 128; j < i / 128 * 128 + 128; j++)
			want += j ^ 5;
		ck_assert_uint_eq(word_at(&r, i), want);
	}
	ck_assert_uint_eq(word_at(&r, 1024), 512);
	ck_assert_uint_eq(r.ended, 1);
	ck_assert_uint_eq(bf_ptx_device_busy(r.device), 0);
	ck_assert_uint_eq(bf_ptx_device_counts(r.device)->blocks, 4);
	ck_assert_uint_gt(bf_ptx_device_counts(r.device)->instructions, 512 * 30);
	rig_close(&r);
}
END_TEST

/* More blocks than the GPU has room for, each of them of 1024 threads. */
START_TEST(more_blocks_than_fit)
{
	static const char count[] =
	    PTX_HEADER ".visible .entry count(.param .u64 out)\n{\n"
		       "  .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<2>;\n"
		       "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0;\n"
		       "  bar.sync 0;\n"
		       "  @%p1 ret;\n"
		       "  red.relaxed.gpu.global.add.u32 [%rd1], 1;\n"
		       "  ret;\n}\n";
	struct ptx_rig r;

	rig_open(&r, 1, BF_ORDER_SC, count);
	rig_good(&r, "count", 600, 1024);
	ck_assert_uint_eq(word_at(&r, 0), 600);
	rig_close(&r);
}
END_TEST

/* Variables have their first values, at addresses that the host can look up; so have constants. */
START_TEST(variables)
{
	static const char text[] = PTX_HEADER
	    ".global .align 4 .u32 word = 41;\n"
	    ".global .align 8 .u64 table[3] = {7, 8, generic(word)};\n"
	    ".const .align 4 .u32 add[2] = {1, 100};\n"
	    ".visible .entry use(.param .u64 out)\n{\n"
	    "  .reg .b32 %r<6>; .reg .b64 %rd<6>;\n"
	    "  ld.param.u64 %rd1, [out];\n"
	    "  ld.global.u64 %rd2, [table+16]; ld.u32 %r1, [%rd2]; ld.const.u32 %r2, [add+4];\n"
	    "  add.u32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3; st.u32 [%rd2], %r3;\n"
	    "  mov.u64 %rd3, add; cvta.const.u64 %rd4, %rd3; ld.u32 %r4, [%rd4]; st.global.u32 [%rd1+4], %r4;\n"
	    "  ret;\n}\n";
	struct bf_region *where;
	struct ptx_rig r;
	uint64_t va, size;

	rig_open(&r, 1, orderings[_i], text);
	rig_good(&r, "use", 1, 1);
	ck_assert_uint_eq(word_at(&r, 0), 141);
	ck_assert_uint_eq(word_at(&r, 1), 1);
	ck_assert_int_eq(bf_ptx_library_variable(r.lib, "word", &va, &size), 0);
	ck_assert_uint_eq(size, 4);
	where = bf_space_find(&r.space, va);
	ck_assert_ptr_nonnull(where);
	ck_assert_mem_eq(bf_host(where, va), "\x8d\0\0\0", 4);
	ck_assert_int_eq(bf_ptx_library_variable(r.lib, "nothing", &va, &size), -ENOENT);
	rig_close(&r);
}
END_TEST

/* ---- orders ---- */

/*
 * Block 0 writes data, then a flag; block 1 polls the flag and reads the data into out[2]. mp: plain stores with a
 * fence between; mp_bad: without one. The flag and the data are on different lines.
 */
#define MP(name, fence)                                                                                                \
	".visible .entry " name "(.param .u64 out)\n{\n"                                                               \
	"  .reg .b32 %r<6>; .reg .b64 %rd<3>; .reg .pred %p<3>;\n"                                                     \
	"  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra reader;\n"               \
	"  st.global.u32 [%rd1+256], 7;\n"                                                                             \
	"  " fence "\n"                                                                                                \
	"  st.relaxed.gpu.global.u32 [%rd1+512], 1;\n"                                                                 \
	"  ret;\n"                                                                                                     \
	"reader:\n"                                                                                                    \
	"  ld.acquire.gpu.global.u32 %r2, [%rd1+512]; setp.eq.u32 %p2, %r2, 0; @%p2 bra reader;\n"                     \
	"  ld.global.u32 %r3, [%rd1+256]; st.global.u32 [%rd1+8], %r3;\n"                                              \
	"  ret;\n}\n"

static uint32_t seeds_that_fail(const char *kernel, enum bf_ordering o, uint32_t seeds)
{
	uint32_t failed = 0;

	for (uint32_t seed = 1; seed <= seeds; seed++) {
		struct ptx_rig r;

		rig_open(&r, seed, o, PTX_HEADER MP("mp", "fence.acq_rel.gpu;") MP("mp_bad", ""));
		rig_good(&r, kernel, 2, 1);
		failed += word_at(&r, 2) != 7;
		rig_close(&r);
	}
	return failed;
}

START_TEST(fences_are_needed)
{
	const enum bf_ordering o = orderings[_i];

	ck_assert_uint_eq(seeds_that_fail("mp", o, 40), 0);
	if (o == BF_ORDER_SC || o == BF_ORDER_TSO)
		ck_assert_uint_eq(seeds_that_fail("mp_bad", o, 40), 0);
	else
		ck_assert_uint_gt(seeds_that_fail("mp_bad", o, 40), 0);
}
END_TEST

/*
 * Block 1 reads the data twice: before block 0 has stored them, and after an acquire that says that it has. An ordinary
 * load finds them then. What a non-coherent load has found once may be found again (PTX ISA, "ld": .nc), unless it was
 * not to stay in the cache.
 */
#define TWICE(name, load)                                                                                              \
	".visible .entry " name "(.param .u64 out)\n{\n"                                                               \
	"  .reg .b32 %r<6>; .reg .b64 %rd<3>; .reg .pred %p<4>;\n"                                                     \
	"  ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra reader;\n"               \
	"writer:\n"                                                                                                    \
	"  ld.acquire.gpu.global.u32 %r2, [%rd1+768]; setp.eq.u32 %p2, %r2, 0; @%p2 bra writer;\n"                     \
	"  st.global.u32 [%rd1+256], 7; st.release.gpu.global.u32 [%rd1+512], 1;\n"                                    \
	"  ret;\n"                                                                                                     \
	"reader:\n"                                                                                                    \
	"  " load " %r3, [%rd1+256]; st.release.gpu.global.u32 [%rd1+768], 1;\n"                                       \
	"wait:\n"                                                                                                      \
	"  ld.acquire.gpu.global.u32 %r2, [%rd1+512]; setp.eq.u32 %p3, %r2, 0; @%p3 bra wait;\n"                       \
	"  " load " %r3, [%rd1+256]; st.global.u32 [%rd1+8], %r3;\n"                                                   \
	"  ret;\n}\n"

static uint32_t seeds_with_old_data(const char *kernel, enum bf_ordering o)
{
	uint32_t old = 0;

	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct ptx_rig r;

		rig_open(&r, seed, o,
			 PTX_HEADER TWICE("weak", "ld.global.u32") TWICE("nc", "ld.global.nc.u32")
			     TWICE("passing", "ld.global.nc.L1::no_allocate.u32"));
		rig_good(&r, kernel, 2, 1);
		old += word_at(&r, 2) != 7;
		rig_close(&r);
	}
	return old;
}

START_TEST(non_coherent_loads_stay_stale)
{
	const enum bf_ordering o = orderings[_i];

	ck_assert_uint_eq(seeds_with_old_data("weak", o), 0);
	ck_assert_uint_eq(seeds_with_old_data("passing", o), 0);
	if (o == BF_ORDER_SC || o == BF_ORDER_TSO)
		ck_assert_uint_eq(seeds_with_old_data("nc", o), 0);
	else
		ck_assert_uint_gt(seeds_with_old_data("nc", o), 0);
}
END_TEST

/* Before a lane's non-coherent load there was its own store: in order that is what it finds. */
START_TEST(a_lane_finds_its_own_store)
{
	static const char text[] =
	    PTX_HEADER ".visible .entry own(.param .u64 out)\n{\n  .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
		       "  ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+256], 7; ld.global.nc.u32 %r1, [%rd1+256];\n"
		       "  st.global.u32 [%rd1+8], %r1; ret;\n}\n";

	for (uint32_t seed = 1; seed <= 10; seed++) {
		struct ptx_rig r;

		rig_open(&r, seed, orderings[_i], text);
		rig_good(&r, "own", 1, 1);
		ck_assert_uint_eq(word_at(&r, 2), 7);
		rig_close(&r);
	}
}
END_TEST

/* ---- polls ---- */

/* 32 lanes of one warp take one lock in turn; then lane l waits for lane l - 1's flag on a line of its own. */
static const char locks[] = PTX_HEADER
    ".visible .entry locks(.param .u64 out)\n{\n"
    "  .reg .b32 %r<10>; .reg .b64 %rd<6>; .reg .pred %p<4>;\n"
    "  ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid;\n"
    "again:\n"
    "  atom.acquire.gpu.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0; @%p1 bra again;\n"
    "  ld.relaxed.gpu.global.u32 %r3, [%rd1+64]; add.u32 %r3, %r3, 1; st.relaxed.gpu.global.u32 [%rd1+64], %r3;\n"
    "  st.release.gpu.global.u32 [%rd1], 0;\n"
    "  setp.eq.u32 %p2, %r1, 0; mul.wide.u32 %rd2, %r1, 64; add.u64 %rd3, %rd1, %rd2;\n"
    "  @%p2 bra go;\n"
    "turn:\n"
    "  ld.volatile.global.u32 %r4, [%rd3+960]; setp.eq.u32 %p3, %r4, 0; @%p3 bra turn;\n"
    "go:\n"
    "  add.u32 %r5, %r1, 1; st.volatile.global.u32 [%rd3+1024], %r5;\n"
    "  ret;\n}\n";

START_TEST(lanes_wait_for_lanes)
{
	struct ptx_rig r;

	rig_open(&r, 3, orderings[_i], locks);
	rig_good(&r, "locks", 1, 32);
	ck_assert_uint_eq(word_at(&r, 16), 32);
	for (uint32_t i = 0; i < 32; i++)
		ck_assert_uint_eq(word_at(&r, (1024 + 64 * i) / 4), i + 1);
	rig_close(&r);
}
END_TEST

/* A time-out of the program's own comes, and soon: a loop over the clock sleeps with growing steps. */
START_TEST(a_time_out_of_its_own)
{
	static const char text[] = PTX_HEADER
	    ".visible .entry late(.param .u64 out)\n{\n"
	    "  .reg .b32 %r<3>; .reg .b64 %rd<6>; .reg .pred %p<4>;\n"
	    "  ld.param.u64 %rd1, [out]; mov.u64 %rd2, %clock64;\n"
	    "wait:\n"
	    "  ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 bra done;\n"
	    "  mov.u64 %rd3, %clock64; sub.u64 %rd4, %rd3, %rd2; setp.gt.u64 %p2, %rd4, 200000000; @%p2 trap;\n"
	    "  bra wait;\n"
	    "done:\n  ret;\n}\n";
	const struct bf_ptx_fault *f;
	struct ptx_rig r;

	rig_open(&r, 1, BF_ORDER_SC, text);
	ck_assert_int_eq(rig_run(&r, "late", 1, 1), BF_RUN_IDLE);
	f = bf_ptx_device_fault(r.device);
	ck_assert_ptr_nonnull(f);
	ck_assert_msg(f->kind == BF_PTX_FAULT_TRAP, "%s", f->text);
	ck_assert_uint_gt(r.sim->now_ps, 100 * BF_MS);
	ck_assert_uint_lt(r.sim->events, 100000);
	ck_assert_uint_eq(r.failed, 1);
	rig_close(&r);
}
END_TEST

/* Nobody ever sets the flag: the report names warp, lanes, kernel, line and what is there. */
START_TEST(deadlock_is_told)
{
	static const char text[] =
	    PTX_HEADER ".file 1 \"my_kernel.cu\"\n"
		       ".visible .entry stuck(.param .u64 out)\n{\n"
		       "  .reg .b32 %r<3>; .reg .b64 %rd<6>; .reg .pred %p<4>;\n"
		       "  .loc 1 40 3\n"
		       "  ld.param.u64 %rd1, [out];\n"
		       "wait:\n"
		       "  .loc 1 41 3\n"
		       "  ld.acquire.sys.global.u32 %r1, [%rd1+64]; setp.eq.u32 %p1, %r1, 5; @%p1 bra wait;\n"
		       "  ret;\n}\n";
	struct ptx_rig r;
	char report[2048];

	rig_open(&r, 1, orderings[_i], text);
	r.mem->bytes[64] = 5;
	ck_assert_int_eq(rig_run(&r, "stuck", 1, 64), BF_RUN_DEADLOCK);
	bf_agents_describe(r.sim, report, sizeof(report));
	ck_assert_msg(strstr(report, "pe0.b0.w1"), "%s", report);
	ck_assert_msg(strstr(report, "stuck at my_kernel.cu:41"), "%s", report);
	ck_assert_msg(strstr(report, "lanes 0xffffffff"), "%s", report);
	ck_assert_msg(strstr(report, "mem+0x40 (holds 0x5)"), "%s", report);
	rig_close(&r);
}
END_TEST

/* ---- faults ---- */

static const char faults[] = PTX_HEADER
    ".file 1 \"my_kernel.cu\"\n"
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"
    ".global .align 1 .b8 msg[6] = {120, 32, 62, 32, 48, 0};\n"
    ".global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"
    ".visible .entry far(.param .u64 out)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "  .loc 1 10 1\n  ld.param.u64 %rd1, [out]; mov.u64 %rd2, 4096;\n"
    "  .loc 1 11 1\n  ld.global.u32 %r1, [%rd2];\n  st.global.u32 [%rd1], %r1; ret;\n}\n"
    ".visible .entry odd(.param .u64 out)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "  ld.param.u64 %rd1, [out];\n  .loc 1 21 1\n  st.global.u32 [%rd1+2], 1; ret;\n}\n"
    ".visible .entry over(.param .u64 out)\n{\n  .reg .b32 %r<3>;\n  .shared .align 4 .b8 s[64];\n"
    "  mov.u32 %r1, s;\n  .loc 1 31 1\n  st.shared.u32 [%r1+64], 1; ret;\n}\n"
    ".visible .entry traps(.param .u64 out)\n{\n  .loc 1 51 1\n  trap;\n  ret;\n}\n"
    ".visible .entry asserts(.param .u64 out)\n{\n  .reg .b64 %rd<5>;\n"
    "  mov.u64 %rd1, msg; cvta.global.u64 %rd2, %rd1; mov.u64 %rd3, file; cvta.global.u64 %rd4, %rd3;\n"
    "  {\n  .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 p1; st.param.b64 [p1], %rd4;\n"
    "  .param .b32 p2; st.param.b32 [p2], 77; .param .b64 p3; st.param.b64 [p3], %rd2;\n"
    "  .param .b64 p4; st.param.b64 [p4], 1;\n  .loc 1 61 1\n"
    "  call.uni __assertfail, (p0, p1, p2, p3, p4);\n  }\n  ret;\n}\n";

START_TEST(faults_are_told)
{
	static const struct {
		const char *kernel;
		enum bf_ptx_fault_kind kind;
		uint32_t line;
		const char *text;
	} of[] = {
		{ "far", BF_PTX_FAULT_ADDRESS, 11, "4 bytes at 0x1000 are nobody's memory" },
		{ "odd", BF_PTX_FAULT_MISALIGNED, 21, "not a multiple" },
		{ "over", BF_PTX_FAULT_ADDRESS, 31, "a block has 0x400 to 0x440" },
		{ "traps", BF_PTX_FAULT_TRAP, 51, "trap" },
		{ "asserts", BF_PTX_FAULT_ASSERT, 61, "assertion `x > 0` failed" },
	};
	const struct bf_ptx_fault *f;
	struct ptx_rig r;
	const uint64_t at = 0;

	rig_open(&r, 1, BF_ORDER_SC, faults);
	rig_run(&r, of[_i].kernel, 1, 1);
	f = bf_ptx_device_fault(r.device);
	ck_assert_ptr_nonnull(f);
	ck_assert_msg(f->kind == of[_i].kind, "%s", f->text);
	ck_assert_msg(strstr(f->text, of[_i].text), "%s", f->text);
	ck_assert_str_eq(f->kernel, of[_i].kernel);
	ck_assert_str_eq(f->file, "my_kernel.cu");
	ck_assert_uint_eq(f->line, of[_i].line);
	ck_assert_uint_eq(r.failed, 1);
	ck_assert_int_eq(rig_launch(&r, "far", 1, 1, &at, 1), -EIO);
	if (f->kind == BF_PTX_FAULT_ASSERT)
		ck_assert_str_eq(r.printed,
				 "a.cu:77: x > 0: block: [0,0,0], thread: [0,0,0] Assertion `x > 0` failed.\n");
	rig_close(&r);
}
END_TEST

START_TEST(launches_are_checked)
{
	static const char text[] =
	    PTX_HEADER ".visible .entry fixed(.param .u64 out) .reqntid 64, 1, 1\n{\n  ret;\n}\n"
		       ".visible .entry most(.param .u64 out) .maxntid 128, 1, 1\n{\n  ret;\n}\n";
	const uint64_t at = 0;
	struct ptx_rig r;

	rig_open(&r, 1, BF_ORDER_SC, text);
	ck_assert_int_eq(rig_launch(&r, "nothing", 1, 64, &at, 1), -ENOENT);
	ck_assert_int_eq(rig_launch(&r, "fixed", 1, 32, &at, 1), -EINVAL);
	ck_assert_int_eq(rig_launch(&r, "fixed", 1, 64, &at, 0), -EINVAL);
	ck_assert_int_eq(rig_launch(&r, "most", 1, 160, &at, 1), -EINVAL);
	ck_assert_int_eq(rig_launch(&r, "most", 1, 2048, &at, 1), -EINVAL);
	ck_assert_int_eq(rig_launch(&r, "fixed", 1, 64, &at, 1), 0);
	ck_assert_int_eq(rig_launch(&r, "most", 1, 128, &at, 1), 0);
	ck_assert_int_eq(bf_sim_run(r.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(r.ended, 2);
	rig_close(&r);
}
END_TEST

/* ---- printf ---- */

START_TEST(prints)
{
	static const char text[] = PTX_HEADER
	    ".extern .func (.param .b32 ret) vprintf(.param .b64 a, .param .b64 b);\n"
	    ".global .align 1 .b8 fmt[16] = {37, 53, 100, 32, 37, 108, 120, 32, 37, 46, 50, 102, 33, 10, 0};\n"
	    ".visible .entry say(.param .u64 out)\n{\n  .reg .b64 %SP; .reg .b64 %SPL; .reg .b32 %r<4>; .reg .b64 "
	    "%rd<6>;\n"
	    "  .local .align 8 .b8 __local_depot0[24];\n"
	    "  mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL;\n"
	    "  ld.param.u64 %rd5, [out];\n"
	    "  st.local.u32 [%SPL], -42; st.local.u64 [%SPL+8], 0xabc; st.local.f64 [%SPL+16], 0d3FF8000000000000;\n"
	    "  mov.u64 %rd1, fmt; cvta.global.u64 %rd2, %rd1;\n"
	    "  {\n  .param .b64 p0; st.param.b64 [p0], %rd2; .param .b64 p1; st.param.b64 [p1], %SP;\n"
	    "  .param .b32 r0;\n  call.uni (r0), vprintf, (p0, p1);\n  ld.param.b32 %r1, [r0];\n  }\n"
	    "  st.global.u32 [%rd5], %r1;\n  ret;\n}\n";
	struct ptx_rig r;

	rig_open(&r, 1, BF_ORDER_SC, text);
	rig_good(&r, "say", 1, 1);
	ck_assert_str_eq(r.printed, "  -42 abc 1.50!\n");
	ck_assert_uint_eq(word_at(&r, 0), 3);
	rig_close(&r);
}
END_TEST

/* ---- streams ---- */

START_TEST(streams_keep_order)
{
	static const char text[] = PTX_HEADER
	    ".visible .entry twice(.param .u64 out)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
	    "  ld.param.u64 %rd1, [out]; nanosleep.u32 1000; ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, %r1;\n"
	    "  st.global.u32 [%rd1], %r1; ret;\n}\n"
	    ".visible .entry plus(.param .u64 out)\n{\n  .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
	    "  ld.param.u64 %rd1, [out]; ld.global.u32 %r1, [%rd1]; add.u32 %r1, %r1, 3;\n"
	    "  st.global.u32 [%rd1], %r1; ret;\n}\n";
	struct ptx_rig r;
	uint64_t at;

	rig_open(&r, 1, orderings[_i], text);
	at = r.mem->va;
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_int_eq(rig_launch(&r, "plus", 1, 1, &at, 1), 0);
		ck_assert_int_eq(rig_launch(&r, "twice", 1, 1, &at, 1), 0);
	}
	ck_assert(bf_ptx_stream_busy(r.device, 0));
	ck_assert(!bf_ptx_stream_busy(r.device, 1));
	ck_assert_int_eq(bf_sim_run(r.sim, BF_NEVER), BF_RUN_IDLE);
	ck_assert_uint_eq(word_at(&r, 0), 42);
	ck_assert_uint_eq(r.ended, 6);
	rig_close(&r);
}
END_TEST

static const char leaves_stores[] =
    PTX_HEADER ".visible .entry leave(.param .u64 mem)\n{\n"
	       "	.reg .b32 %r<6>;\n	.reg .b64 %rd<3>;\n	.reg .pred %p;\n"
	       "	.shared .align 128 .b8 room[4096];\n"
	       "	ld.param.u64 %rd1, [mem];\n	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, %ctaid.x;\n"
	       "	shl.b32 %r3, %r1, 2;\n	mov.u32 %r4, room;\n	add.u32 %r3, %r3, %r4;\n"
	       "	shl.b32 %r5, %r2, 10;\n	add.u32 %r5, %r5, %r1;\n	add.u32 %r5, %r5, 1;\n"
	       "	st.shared.u32 [%r3], %r5;\n	fence.proxy.async.shared::cta;\n	bar.sync 0;\n"
	       "	setp.ne.u32 %p, %r1, 0;\n	@%p ret;\n"
	       "	mul.wide.u32 %rd2, %r2, 4096;\n	add.u64 %rd2, %rd1, %rd2;\n"
	       "	cp.async.bulk.global.shared::cta.bulk_group [%rd2], [room], 4096;\n"
	       "	cp.async.bulk.commit_group;\n	ret;\n}\n";

static void count_words(void *arg, bool failed)
{
	struct ptx_rig *r = arg;

	r->failed += failed;
	for (uint32_t block = 0; block < 16; block++)
		for (uint32_t i = 0; i < 1024; i++)
			r->ended += word_at(r, 1024 * block + i) == 1024 * block + i + 1;
}

/* What a block's last bulk stores write is there when its grid has ended, though nobody waits for them. */
START_TEST(stores_end_before_the_grid)
{
	struct bf_ptx_launch l = {
		.kernel = "leave", .grid = { 16 }, .block = { 1024 }, .param_bytes = 8, .done = count_words
	};
	struct ptx_rig r;
	uint64_t at;

	rig_open(&r, 1, BF_ORDER_SC, leaves_stores);
	at = r.mem->va;
	l.params = &at;
	l.arg = &r;
	ck_assert_msg(bf_ptx_device_launch(r.device, r.lib, &l) == 0, "%s", r.sim->error.text);
	ck_assert_int_eq(bf_sim_run(r.sim, BF_S), BF_RUN_IDLE);
	ck_assert_uint_eq(r.failed, 0);
	ck_assert_uint_eq(r.ended, 16 * 1024);
	rig_close(&r);
}
END_TEST

static void rung(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	uint32_t *count = region->owner;

	(void)offset;
	(void)data;
	*count += len == 8;
}

/* Launches `blocks` of "ring" with the address of a doorbell and that of memory, and expects it to be rung so often. */
static void rings(const char *text, enum bf_ordering o, uint32_t blocks, uint32_t times)
{
	static const struct bf_mmio_ops ops = { .write = rung };

	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t count = 0;
		struct bf_region_opts bell = {
			.name = "bell", .kind = BF_MEM_MMIO, .size = 4096, .mmio = &ops, .owner = &count
		};
		struct bf_region *region;
		struct ptx_rig r;
		uint64_t at[2];

		rig_open(&r, seed, o, text);
		ck_assert_int_eq(bf_region_create(&r.space, &bell, &region), 0);
		at[0] = region->va;
		at[1] = r.mem->va;
		ck_assert_int_eq(rig_launch(&r, "ring", blocks, 1, at, 2), 0);
		ck_assert_int_eq(bf_sim_run(r.sim, BF_S), BF_RUN_IDLE);
		ck_assert_uint_eq(r.failed, 0);
		ck_assert_uint_eq(count, times);
		rig_close(&r);
	}
}

/* A doorbell is a kernel's last act: it arrives, however late stores become visible. */
START_TEST(doorbells_outlive_the_kernel)
{
	rings(PTX_HEADER ".visible .entry ring(.param .u64 at, .param .u64 mem)\n{\n  .reg .b64 %rd<3>;\n"
			 "  ld.param.u64 %rd1, [at]; mov.u64 %rd2, 7;\n"
			 "  st.mmio.relaxed.sys.global.u64 [%rd1], %rd2; ret;\n}\n",
	      orderings[_i], 1, 1);
}
END_TEST

/* Many blocks ring, and each has read by a non-coherent load: one that ends takes no other's doorbell with it. */
START_TEST(doorbells_outlive_another_block)
{
	rings(PTX_HEADER
	      ".visible .entry ring(.param .u64 at, .param .u64 mem)\n{\n"
	      "  .reg .b32 %r<2>; .reg .b64 %rd<4>;\n"
	      "  ld.param.u64 %rd1, [at]; ld.param.u64 %rd3, [mem]; ld.global.nc.u32 %r1, [%rd3]; mov.u64 %rd2, 7;\n"
	      "  mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd3, %r1, 128; add.u64 %rd1, %rd1, %rd3;\n"
	      "  st.mmio.relaxed.sys.global.u64 [%rd1], %rd2; ret;\n}\n",
	      orderings[_i], 16, 16);
}
END_TEST

/* ---- records ---- */

/* The same seed gives the same records; each lane is an actor, its accesses carry the line. */
static uint64_t hash_of(uint64_t seed, enum bf_ordering o)
{
	struct ptx_rig r;
	uint64_t hash, at;

	rig_open(&r, seed, o, sums);
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	at = r.mem->va;
	ck_assert_int_eq(rig_launch(&r, "sums", 2, 64, &at, 1), 0);
	ck_assert_int_eq(bf_sim_run(r.sim, BF_S), BF_RUN_IDLE);
	bf_stream_flush(&r.sim->rec);
	hash = bf_stream_hash(&r.sim->rec);
	ck_assert_uint_gt(r.sim->rec.count, 100);
	bf_stream_close(&r.sim->rec);
	rig_close(&r);
	return hash;
}

START_TEST(runs_repeat)
{
	ck_assert_uint_eq(hash_of(5, orderings[_i]), hash_of(5, orderings[_i]));
	if (_i >= 2)
		ck_assert_uint_ne(hash_of(5, orderings[_i]), hash_of(6, orderings[_i]));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx machine");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, loads_stores_barriers, 0, 4);
	tcase_add_test(t, more_blocks_than_fit);
	tcase_add_loop_test(t, variables, 0, 4);
	tcase_add_loop_test(t, fences_are_needed, 0, 4);
	tcase_add_loop_test(t, non_coherent_loads_stay_stale, 0, 4);
	tcase_add_loop_test(t, a_lane_finds_its_own_store, 0, 2);
	tcase_add_loop_test(t, doorbells_outlive_another_block, 0, 4);
	tcase_add_loop_test(t, lanes_wait_for_lanes, 0, 4);
	tcase_add_test(t, a_time_out_of_its_own);
	tcase_add_loop_test(t, deadlock_is_told, 0, 4);
	tcase_add_loop_test(t, faults_are_told, 0, 5);
	tcase_add_test(t, launches_are_checked);
	tcase_add_test(t, prints);
	tcase_add_loop_test(t, streams_keep_order, 0, 4);
	tcase_add_test(t, stores_end_before_the_grid);
	tcase_add_loop_test(t, doorbells_outlive_the_kernel, 0, 4);
	tcase_add_loop_test(t, runs_repeat, 0, 4);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
