/* The PTX core: lanes that part and meet, calls, instructions among lanes, predicates, carry, memory of a thread. */
#include <check.h>

#include "tests/models/ptx_rig.h"

#define HEAD ".version 8.4\n.target sm_90a\n.address_size 64\n"
/* Kernel k(out): %to is out + 4 * tid, %t is tid. */
#define KERNEL(functions, body)                                                                                        \
	HEAD functions ".visible .entry k(.param .u64 out) {\n"                                                        \
		       ".reg .b32 %t, %r<16>; .reg .b64 %out, %to, %rd<8>; .reg .pred %p<8>; .reg .b16 %h<4>;\n"       \
		       "mov.u32 %t, %tid.x; ld.param.u64 %out, [out]; mad.wide.u32 %to, %t, 4, %out;\n" body "\n}\n"

static struct rig rig;

static const uint32_t *run(const char *text, uint32_t block)
{
	const uint64_t out = RIG_GLOBAL;

	ck_assert_msg(rig_open(&rig, "t.ptx", text, strlen(text), 65536), "%s", rig.text);
	memcpy(rig.params, &out, 8);
	ck_assert_msg(rig_run(&rig, "k", 1, block, 8), "%s", rig.text);
	return (const uint32_t *)(const void *)rig.global;
}

/* Runs to a trap of this kind, whose text begins so. */
static void run_trapped(const char *text, enum bf_ptx_trap kind, const char *begin)
{
	const uint64_t out = RIG_GLOBAL;

	ck_assert_msg(rig_open(&rig, "t.ptx", text, strlen(text), 65536), "%s", rig.text);
	memcpy(rig.params, &out, 8);
	ck_assert(!rig_run(&rig, "k", 1, 32, 8));
	ck_assert_msg(rig.trapped, "%s", rig.text);
	ck_assert_int_eq(rig.trap, kind);
	ck_assert_msg(strncmp(rig.text, begin, strlen(begin)) == 0, "%s", rig.text);
	rig_close(&rig);
}

START_TEST(sides_of_a_branch_meet)
{
	const uint32_t *out =
	    run(KERNEL("", "setp.lt.u32 %p1, %t, 5; @%p1 bra A; mov.u32 %r1, 200; bra B;\n"
			   "A: mov.u32 %r1, 100; activemask.b32 %r2;\n"
			   "B: activemask.b32 %r3; st.global.u32 [%to], %r1; st.global.u32 [%to+128], %r2;\n"
			   "st.global.u32 [%to+256], %r3; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], l < 5 ? 100 : 200);
		ck_assert_uint_eq(out[32 + l], l < 5 ? 0x1f : 0);
		ck_assert_uint_eq(out[64 + l], ~0u);
	}
	rig_close(&rig);
}
END_TEST

/* Lanes leave a loop one by one, and are together behind it. */
START_TEST(loop_exits_meet)
{
	const uint32_t *out =
	    run(KERNEL("", "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
			   "L: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %t;\n"
			   "@%p1 bra L;\n"
			   "activemask.b32 %r3; st.global.u32 [%to], %r2; st.global.u32 [%to+256], %r3; ret;"),
		40);
	for (uint32_t l = 0; l < 40; l++) {
		ck_assert_uint_eq(out[l], l * (l + 1) / 2);
		ck_assert_uint_eq(out[64 + l], l < 32 ? ~0u : 0xff);
	}
	rig_close(&rig);
}
END_TEST

/* Lanes of a warp take turns at a word: the hand-over comes behind the loop that waits. Up, and down. */
#define TURNS(own)                                                                                                     \
	KERNEL("", own "L: ld.volatile.global.u32 %r1, [%out+1024]; setp.ne.u32 %p1, %r1, %r5; @%p1 bra L;\n"          \
		       "ld.volatile.global.u32 %r2, [%out+2048]; mad.lo.u32 %r2, %r2, 3, %t;\n"                        \
		       "st.volatile.global.u32 [%out+2048], %r2; add.u32 %r1, %r1, 1;\n"                               \
		       "st.volatile.global.u32 [%out+1024], %r1; st.global.u32 [%to], %r2; ret;")

START_TEST(lanes_take_turns)
{
	static const char *const texts[] = { TURNS("mov.u32 %r5, %t;\n"), TURNS("sub.u32 %r5, 31, %t;\n") };

	for (uint32_t k = 0; k < 2; k++) {
		const uint32_t *out = run(texts[k], 32);
		uint32_t want = 0;
		for (uint32_t turn = 0; turn < 32; turn++) {
			const uint32_t l = k == 0 ? turn : 31 - turn;
			want = want * 3 + l;
			ck_assert_uint_eq(out[l], want);
		}
		rig_close(&rig);
	}
}
END_TEST

/* Every lane of two warps takes one mutex, works behind the loop, and gives it back. */
START_TEST(lanes_share_a_lock)
{
	const uint32_t *out =
	    run(KERNEL("", "L: atom.acquire.gpu.global.cas.b32 %r1, [%out+1024], 0, 1; setp.ne.u32 %p1, %r1, 0;\n"
			   "@%p1 bra L;\n"
			   "ld.volatile.global.u32 %r2, [%out+2048]; add.u32 %r2, %r2, 1;\n"
			   "st.volatile.global.u32 [%out+2048], %r2;\n"
			   "fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%out+1024], 0; ret;"),
		64);
	ck_assert_uint_eq(out[512], 64);
	ck_assert_uint_eq(out[256], 0);
	rig_close(&rig);
}
END_TEST

/* A lane that spins without an end to its loop does not keep the others from what it waits for. */
START_TEST(lock_by_half_a_warp)
{
	const uint32_t *out =
	    run(KERNEL("", "setp.ge.u32 %p1, %t, 16; @%p1 bra SET;\n"
			   "L: ld.relaxed.gpu.global.u32 %r1, [%out+1024]; setp.eq.u32 %p2, %r1, 0; @%p2 bra L;\n"
			   "bra END;\n"
			   "SET: mov.u32 %r1, 9; st.relaxed.gpu.global.u32 [%out+1024], %r1;\n"
			   "END: bar.warp.sync 0xffffffff; st.global.u32 [%to], %r1; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++)
		ck_assert_uint_eq(out[l], 9);
	rig_close(&rig);
}
END_TEST

#define FIB                                                                                                            \
	".func (.param .b32 r) fib(.param .b32 n) {\n"                                                                 \
	".reg .b32 %a<8>; .reg .pred %q; ld.param.u32 %a1, [n]; setp.lt.u32 %q, %a1, 2; @%q bra SMALL;\n"              \
	"sub.u32 %a2, %a1, 1;\n"                                                                                       \
	"{ .param .b32 param0; st.param.b32 [param0+0], %a2; .param .b32 retval0;\n"                                   \
	"call.uni (retval0), fib, (param0); ld.param.b32 %a3, [retval0+0]; }\n"                                        \
	"sub.u32 %a2, %a1, 2;\n"                                                                                       \
	"{ .param .b32 param0; st.param.b32 [param0+0], %a2; .param .b32 retval0;\n"                                   \
	"call.uni (retval0), fib, (param0); ld.param.b32 %a4, [retval0+0]; }\n"                                        \
	"add.u32 %a1, %a3, %a4;\n"                                                                                     \
	"SMALL: st.param.b32 [r+0], %a1; ret; }\n"

START_TEST(recursion_that_diverges)
{
	const uint32_t *out =
	    run(KERNEL(FIB, "and.b32 %r1, %t, 15;\n"
			    "{ .param .b32 param0; st.param.b32 [param0+0], %r1; .param .b32 retval0;\n"
			    "call.uni (retval0), fib, (param0); ld.param.b32 %r2, [retval0+0]; }\n"
			    "activemask.b32 %r3; st.global.u32 [%to], %r2;\n"
			    "st.global.u32 [%to+256], %r3; ret;"),
		40);
	uint32_t fib[16] = { 0, 1 };
	for (uint32_t n = 2; n < 16; n++)
		fib[n] = fib[n - 1] + fib[n - 2];
	for (uint32_t l = 0; l < 40; l++) {
		ck_assert_uint_eq(out[l], fib[l & 15]);
		ck_assert_uint_eq(out[64 + l], l < 32 ? ~0u : 0xff);
	}
	rig_close(&rig);
}
END_TEST

#define TABLE                                                                                                          \
	".func (.param .b64 r) one(.param .b64 a, .param .b32 b) { .reg .b64 %x; .reg .b32 %y; ld.param.u64 %x, "      \
	"[a];\n"                                                                                                       \
	"ld.param.u32 %y, [b]; cvt.u64.u32 %x, %y; add.u64 %x, %x, 1000; st.param.b64 [r+0], %x; ret; }\n"             \
	".func (.param .b64 r) two(.param .b64 a, .param .b32 b) { .reg .b64 %x; ld.param.u64 %x, [a];\n"              \
	"shl.b64 %x, %x, 1; st.param.b64 [r+0], %x; ret; }\n"                                                          \
	".global .align 8 .u64 table[2] = { one, two };\n"

START_TEST(indirect_calls_that_diverge)
{
	const uint32_t *out =
	    run(KERNEL(TABLE,
		       "and.b32 %r1, %t, 1; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, table; add.s64 %rd1, %rd1, %rd2;\n"
		       "ld.global.u64 %rd3, [%rd1]; cvt.u64.u32 %rd4, %t;\n"
		       "{ .param .b64 param0; st.param.b64 [param0+0], %rd4; .param .b32 param1;\n"
		       "st.param.b32 [param1+0], %t; .param .b64 retval0;\n"
		       "prototype_1 : .callprototype (.param .b64 _) _ (.param .b64 _, .param .b32 _);\n"
		       "call (retval0), %rd3, (param0, param1), prototype_1; ld.param.b64 %rd5, [retval0+0]; }\n"
		       "activemask.b32 %r3; st.global.u32 [%to], %rd5; st.global.u32 [%to+256], %r3; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], l & 1 ? 2 * l : 1000 + l);
		ck_assert_uint_eq(out[64 + l], ~0u);
	}
	rig_close(&rig);
}
END_TEST

/* An argument of 20 bytes, written by words and read by bytes; the address of a parameter is one in .local memory. */
#define BYTES                                                                                                          \
	".func (.param .b32 r) pick(.param .align 4 .b8 s[20], .param .b32 n) { .reg .b32 %x<4>; .reg .b64 %p<4>;\n"   \
	".reg .b16 %h; mov.b64 %p1, s; cvta.local.u64 %p2, %p1; ld.param.u32 %x1, [n]; cvt.u64.u32 %p3, %x1;\n"        \
	"add.u64 %p2, %p2, %p3; ld.u8 %h, [%p2]; cvt.u32.u16 %x2, %h; st.param.b32 [r+0], %x2; ret; }\n"

START_TEST(struct_by_value)
{
	const uint32_t *out =
	    run(KERNEL(BYTES,
		       "mul.lo.u32 %r1, %t, 0x01010101; xor.b32 %r2, %r1, 0x04030201; and.b32 %r3, %t, 7;\n"
		       "{ .param .align 4 .b8 param0[20]; st.param.b32 [param0+0], %r1; st.param.b32 [param0+4], %r2;\n"
		       "st.param.b64 [param0+8], 0; .param .b32 param1; st.param.b32 [param1+0], %r3;\n"
		       ".param .b32 retval0; call.uni (retval0), pick, (param0, param1);\n"
		       "ld.param.b32 %r4, [retval0+0]; }\n"
		       "st.global.u32 [%to], %r4; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++)
		ck_assert_uint_eq(out[l], (l & 7) < 4 ? l : l ^ ((l & 7) - 3));
	rig_close(&rig);
}
END_TEST

START_TEST(sinks_and_packing)
{
	const uint32_t *out =
	    run(KERNEL("", "mov.b64 %rd1, {%t, 7}; mov.b64 {_, %r1}, %rd1; mov.b64 {%r2, _}, %rd1;\n"
			   "mov.b32 {%h1, %h2}, 0xabcd1234; mov.b32 %r3, {%h2, %h1};\n"
			   "setp.lt.u32 _|%p2, %t, 4; selp.b32 %r4, 1, 2, %p2;\n"
			   "atom.global.add.u32 _, [%out+1024], 1;\n"
			   "mov.b32 %r5, 0x55; mov.b32 {%h1, %h2}, %r5; mov.b32 %r5, {%h1, %h1};\n"
			   "st.global.u32 [%to], %r1; st.global.u32 [%to+128], %r2; st.global.u32 [%to+256], %r3;\n"
			   "st.global.u32 [%to+384], %r4; st.global.u32 [%to+512], %r5; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], 7);
		ck_assert_uint_eq(out[32 + l], l);
		ck_assert_uint_eq(out[64 + l], 0x1234abcd);
		ck_assert_uint_eq(out[96 + l], l < 4 ? 2 : 1);
		ck_assert_uint_eq(out[128 + l], 0x00550055);
	}
	ck_assert_uint_eq(out[256], 32);
	rig_close(&rig);
}
END_TEST

/* Comparisons of packed halves, packed floats, lop3 with a predicate. */
START_TEST(packed_pairs)
{
	const uint32_t *out =
	    run(KERNEL("", "mov.b32 %r1, 0x3c004000; mov.b32 %r2, 0x40003c00; set.gt.f16x2.f16x2 %r3, %r1, %r2;\n"
			   "setp.gt.f16x2 %p1|%p2, %r1, %r2; selp.b32 %r4, 1, 0, %p1; @%p2 add.u32 %r4, %r4, 2;\n"
			   "setp.lt.u32 %p3, %t, 8; and.b32 %r5, %t, 1; lop3.or.b32 %r6|%p4, %r5, 0, 0, 0xf0, %p3;\n"
			   "selp.b32 %r7, 1, 0, %p4; mov.b64 %rd1, {0x3f800000, 0x40000000};\n"
			   "add.rn.f32x2 %rd2, %rd1, %rd1; mov.b64 {%r8, %r9}, %rd2;\n"
			   "st.global.u32 [%to], %r3; st.global.u32 [%to+128], %r4; st.global.u32 [%to+256], %r7;\n"
			   "st.global.u32 [%to+384], %r8; st.global.u32 [%to+512], %r9; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], 0x00003c00);
		ck_assert_uint_eq(out[32 + l], 1);
		ck_assert_uint_eq(out[64 + l], l < 8 || (l & 1));
		ck_assert_uint_eq(out[96 + l], 0x40000000);
		ck_assert_uint_eq(out[128 + l], 0x40800000);
	}
	rig_close(&rig);
}
END_TEST

/* A mov packs or takes apart a power of two of equal parts of whole bytes; what else a module says is refused. */
START_TEST(vectors_of_odd_sizes)
{
	static const char *const texts[] = {
		KERNEL("", "mov.b64 %rd1, {%r1, %r2, %r3}; ret;"),
		KERNEL("", "mov.b64 %rd1, {%r1, %r2, %r3, %r4, %r5}; ret;"),
		KERNEL("", "mov.b64 {%r1, %r2, %r3}, %rd1; ret;"),
		KERNEL("", "mov.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, %r9; ret;"),
	};
	const struct bf_ptx_stmt *stmt;
	const char *why;
	uint32_t at = 0;

	ck_assert_msg(rig_open(&rig, "t.ptx", texts[_i], strlen(texts[_i]), 4096), "%s", rig.text);
	ck_assert(bf_ptx_code_refusal(rig.code, bf_ptx_find_func(rig.program, "k"), &at, &stmt, &why));
	ck_assert_msg(strstr(why, "a vector of this size"), "%s", why);
	rig_close(&rig);
}
END_TEST

/* Every refusal of a function, without a lane that gets there. */
START_TEST(refusals_beforehand)
{
	static const char text[] = KERNEL("", "bra E; prefetch.global.L2 [%out]; setp.lt.u32 %p1, %t, 4;\n"
					      "E: @%p1 prefetch.global.L1 [%out]; ret;");
	const struct bf_ptx_stmt *stmt;
	const char *why;
	uint32_t at = 0;

	ck_assert_msg(rig_open(&rig, "t.ptx", text, strlen(text), 4096), "%s", rig.text);
	const struct bf_ptx_func *fn = bf_ptx_find_func(rig.program, "k");
	ck_assert(bf_ptx_code_refusal(rig.code, fn, &at, &stmt, &why));
	ck_assert_uint_eq(stmt->line, 8);
	ck_assert_str_eq(why, "prefetch.global.L1: not in the rig");
	ck_assert(!bf_ptx_code_refusal(rig.code, fn, &at, &stmt, &why));
	rig_close(&rig);
}
END_TEST

/* The flag holds NOT borrow after a subtraction; mixing families shows it. */
START_TEST(carry_flag)
{
	const uint32_t *out = run(KERNEL("", "sub.cc.u32 %r1, 5, 7; addc.u32 %r1, 0, 0;\n"
					     "sub.cc.u32 %r2, 7, 5; addc.u32 %r2, 0, 0;\n"
					     "add.cc.u32 %r3, 0xffffffff, %t; addc.u32 %r3, 0, 0;\n"
					     "st.global.u32 [%to], %r1; st.global.u32 [%to+128], %r2;\n"
					     "st.global.u32 [%to+256], %r3; ret;"),
				  32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], 0);
		ck_assert_uint_eq(out[32 + l], 1);
		ck_assert_uint_eq(out[64 + l], l != 0);
	}
	rig_close(&rig);
}
END_TEST

/* Lanes 16 to 31 have ended: ballot, redux, match and shfl are without them. */
START_TEST(lanes_that_have_ended)
{
	const uint32_t *out =
	    run(KERNEL("", "setp.ge.u32 %p1, %t, 16; @%p1 exit; setp.ge.u32 %p2, %t, 0;\n"
			   "vote.sync.ballot.b32 %r1, %p2, 0xffffffff; redux.sync.add.u32 %r2, %t, 0xffffffff;\n"
			   "match.all.sync.b32 %r3|%p3, 5, 0xffffffff; add.u32 %r4, %t, 8;\n"
			   "shfl.sync.idx.b32 %r5|%p4, %r4, %r4, 0x1f, 0xffffffff; bar.sync 0;\n"
			   "st.global.u32 [%to], %r1; st.global.u32 [%to+128], %r2; st.global.u32 [%to+256], %r3;\n"
			   "st.global.u32 [%to+384], %r5; ret;"),
		32);
	for (uint32_t l = 0; l < 16; l++) {
		ck_assert_uint_eq(out[l], 0xffff);
		ck_assert_uint_eq(out[32 + l], 120);
		ck_assert_uint_eq(out[64 + l], 0xffff);
		ck_assert_uint_eq(out[96 + l], l + 8 < 16 ? l + 16 : 0);
	}
	rig_close(&rig);
}
END_TEST

/* Lanes of one mask meet at instructions in two places, and those of different masks pass one place apart. */
START_TEST(meeting_in_two_places)
{
	const uint32_t *out =
	    run(KERNEL("", "and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; mul.lo.u32 %r2, %t, 10; xor.b32 %r3, %t, 1;\n"
			   "@%p1 bra EVEN; shfl.sync.idx.b32 %r4, %r2, %r3, 0x1f, 0xffffffff; bra BOTH;\n"
			   "EVEN: add.u32 %r2, %r2, 1; shfl.sync.idx.b32 %r4, %r2, %r3, 0x1f, 0xffffffff;\n"
			   "BOTH: shr.u32 %r5, %t, 2; match.any.sync.b32 %r6, %r5, 0xffffffff;\n"
			   "redux.sync.max.u32 %r7, %t, %r6; bar.warp.sync %r6; activemask.b32 %r8;\n"
			   "st.global.u32 [%to], %r4; st.global.u32 [%to+128], %r6; st.global.u32 [%to+256], %r7;\n"
			   "st.global.u32 [%to+384], %r8; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], (l ^ 1) * 10 + ((l ^ 1) % 2 == 0));
		ck_assert_uint_eq(out[32 + l], 0xfu << (l & 28));
		ck_assert_uint_eq(out[64 + l], l | 3);
		ck_assert_uint_eq(out[96 + l], ~0u);
	}
	/* 21 statements a lane, give or take what a jump counts for. */
	ck_assert_uint_ge(rig.lane_instructions, 32 * 18);
	ck_assert_uint_le(rig.lane_instructions, 32 * 24);
	rig_close(&rig);
}
END_TEST

START_TEST(shuffles)
{
	const uint32_t *out = run(KERNEL("", "shfl.sync.up.b32 %r1|%p1, %t, 3, 0, 0xffffffff;\n"
					     "shfl.sync.down.b32 %r2|%p2, %t, 3, 0x1f, 0xffffffff;\n"
					     "shfl.sync.bfly.b32 %r3, %t, 5, 0x181f, 0xffffffff;\n"
					     "shfl.sync.idx.b32 %r4, %t, 37, 0x1f, 0xffffffff;\n"
					     "selp.b32 %r5, 1, 0, %p1; @%p2 add.u32 %r5, %r5, 2;\n"
					     "st.global.u32 [%to], %r1; st.global.u32 [%to+128], %r2;\n"
					     "st.global.u32 [%to+256], %r3; st.global.u32 [%to+384], %r4;\n"
					     "st.global.u32 [%to+512], %r5; ret;"),
				  32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], l >= 3 ? l - 3 : l);
		ck_assert_uint_eq(out[32 + l], l + 3 < 32 ? l + 3 : l);
		ck_assert_uint_eq(out[64 + l], l ^ 5);
		ck_assert_uint_eq(out[96 + l], 5);
		ck_assert_uint_eq(out[128 + l], (l >= 3 ? 1u : 0u) + (l + 3 < 32 ? 2u : 0u));
	}
	rig_close(&rig);
}
END_TEST

START_TEST(switch_by_index)
{
	const uint32_t *out =
	    run(KERNEL("", "and.b32 %r1, %t, 3; TS: .branchtargets A, B, C, A; brx.idx %r1, TS;\n"
			   "A: mov.u32 %r2, 10; bra E; B: mov.u32 %r2, 20; bra E; C: mov.u32 %r2, 30;\n"
			   "E: activemask.b32 %r3; st.global.u32 [%to], %r2; st.global.u32 [%to+128], %r3; ret;"),
		32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], (l & 3) == 1 ? 20 : (l & 3) == 2 ? 30 : 10);
		ck_assert_uint_eq(out[32 + l], ~0u);
	}
	rig_close(&rig);
}
END_TEST

/* .local memory: rows, bytes at places that differ by lane, generic addresses, alloca. */
START_TEST(local_memory)
{
	const uint32_t *out = run(
	    KERNEL("", ".local .align 16 .b8 depot[64]; mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;\n"
		       "st.local.v4.u32 [%rd1], {%t, 1, 2, 3}; and.b32 %r1, %t, 7; cvt.u64.u32 %rd3, %r1;\n"
		       "add.u64 %rd4, %rd2, %rd3; mov.u32 %r2, 0x99; st.u8 [%rd4+16], %r2; ld.u32 %r3, [%rd2+16];\n"
		       "ld.local.v2.u32 {%r4, %r5}, [%rd1]; add.u32 %r6, %r4, %r5;\n"
		       "mov.u64 %rd7, 32; alloca.u64 %rd5, %rd7, 16; cvta.local.u64 %rd5, %rd5; st.u32 [%rd5+4], %t;\n"
		       "ld.u32 %r7, [%rd5+4]; st.global.u32 [%to], %r3; st.global.u32 [%to+128], %r6;\n"
		       "st.global.u32 [%to+256], %r7; ret;"),
	    32);
	for (uint32_t l = 0; l < 32; l++) {
		ck_assert_uint_eq(out[l], (l & 7) < 4 ? 0x99u << 8 * (l & 7) : 0);
		ck_assert_uint_eq(out[32 + l], l + 1);
		ck_assert_uint_eq(out[64 + l], l);
	}
	rig_close(&rig);
}
END_TEST

START_TEST(traps)
{
	run_trapped(KERNEL("", "trap;"), BF_PTX_TRAP, "line 7: ");
	run_trapped(KERNEL("", "setp.lt.u32 %p1, %t, 4; @%p1 st.local.u32 [64], %t; ret;"), BF_PTX_TRAP_LOCAL,
		    "line 7: outside the thread's .local memory");
	run_trapped(KERNEL("", "mov.u64 %rd1, 3; { P: .callprototype _ (); call %rd1, (), P; } ret;"), BF_PTX_TRAP_CALL,
		    "line 7: the value called is not a function");
	run_trapped(KERNEL("", "setp.lt.u32 %p1, %t, 4; @%p1 nanosleep.u32 5; prefetch.global.L2 [%out]; ret;"),
		    BF_PTX_TRAP_REFUSE, "line 7: prefetch.global.L2: not in the rig");
	run_trapped(KERNEL(".func f() { { call f, (); } ret; }\n", "call f, (); ret;"), BF_PTX_TRAP_STACK,
		    "line 4: calls are nested too deeply");
	run_trapped(KERNEL("", "bar.warp.sync 1; ret;"), BF_PTX_TRAP_MASK, "line 7: a lane is not in the member mask");
}
END_TEST

/* What is never reached is never refused. */
START_TEST(unreached)
{
	run(KERNEL("", "setp.gt.u32 %p1, %t, 100; @%p1 prefetch.global.L2 [%out]; ret;"), 32);
	rig_close(&rig);
}
END_TEST

/* A group stops for a barrier while the rest of its warp goes on. */
START_TEST(barrier_by_halves)
{
	const uint32_t *out = run(
	    KERNEL("",
		   ".shared .align 4 .b32 word[64]; mul.lo.u32 %r9, %t, 4; mov.u32 %r8, word; add.u32 %r8, %r8, %r9;\n"
		   "setp.lt.u32 %p1, %t, 16; @%p1 bra LOW; st.shared.u32 [%r8], 5; barrier.sync 1, 64; bra END;\n"
		   "LOW: st.shared.u32 [%r8], 6; barrier.sync 1, 64;\n"
		   "END: ld.shared.u32 %r1, [word+60]; ld.shared.u32 %r2, [word+252]; add.u32 %r1, %r1, %r2;\n"
		   "st.global.u32 [%to], %r1; ret;"),
	    64);
	for (uint32_t l = 0; l < 64; l++)
		ck_assert_uint_eq(out[l], 11);
	rig_close(&rig);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ptx_exec");
	TCase *t = tcase_create("core");

	tcase_add_test(t, sides_of_a_branch_meet);
	tcase_add_test(t, loop_exits_meet);
	tcase_add_test(t, lanes_take_turns);
	tcase_add_test(t, lanes_share_a_lock);
	tcase_add_test(t, lock_by_half_a_warp);
	tcase_add_test(t, recursion_that_diverges);
	tcase_add_test(t, indirect_calls_that_diverge);
	tcase_add_test(t, struct_by_value);
	tcase_add_test(t, sinks_and_packing);
	tcase_add_test(t, packed_pairs);
	tcase_add_loop_test(t, vectors_of_odd_sizes, 0, 4);
	tcase_add_test(t, refusals_beforehand);
	tcase_add_test(t, carry_flag);
	tcase_add_test(t, lanes_that_have_ended);
	tcase_add_test(t, meeting_in_two_places);
	tcase_add_test(t, shuffles);
	tcase_add_test(t, switch_by_index);
	tcase_add_test(t, local_memory);
	tcase_add_test(t, traps);
	tcase_add_test(t, unreached);
	tcase_add_test(t, barrier_by_halves);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	const int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
