/* Packets that wait, signal, count and branch, by bytes through ring and doorbell. */
#include "models/sdma/decode.h"
#include "tests/models/sdma_packets.h"

/* ROCr's headers: mtype 3 from gfx10 on; KFDTest adds sys and snp. None of them is a reserved bit there. */
START_TEST(fence)
{
	struct rig r;
	const struct bf_sdma_dialect v6 = { .gen = BF_SDMA_V6 };
	struct bf_sdma_packet p;
	const uint32_t kfd[4] = { 0x00530005, 0x1000, 0, 1 };

	rig_open(&r, &(struct rig_opts){ 0 });
	memset(r.host->bytes, 0xff, 16);
	RIG_PACKET(&r, 0x00030005, VA(r.host, 4), 0x12345678);
	rig_go(&r);
	ck_assert_uint_eq(quad(r.host, 0), 0x12345678ffffffff);
	ck_assert_uint_eq(quad(r.host, 8), UINT64_MAX); /* a 32-bit store */
	RIG_PACKET(&r, 0x00030005, VA(r.host, 6), 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_MISALIGNED);
	ck_assert_uint_eq(rig_info(&r).fault.dword, 1);
	rig_close(&r);
	ck_assert_int_eq(bf_sdma_decode(&v6, kfd, 4, &p), BF_SDMA_RUNS);
	ck_assert_uint_eq(p.reserved, 0);
}
END_TEST

START_TEST(fence_64)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v7_1 });
	RIG_PACKET(&r, 0x03130205, VA(r.host, 8), 0x55667788, 0x11223344);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(quad(r.host, 8), 0x1122334455667788);
	rig_close(&r);
	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v7 }); /* not there before */
	RIG_PACKET(&r, 0x03130205, VA(r.host, 8), 0x55667788, 0x11223344);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_BAD_OPCODE);
	rig_close(&r);
}
END_TEST

/* A poll that holds goes on, one that does not waits and says so; memory changes by another queue's, or a CPU's, hand.
 */
static bool goes_on(uint32_t func, uint32_t memory, uint32_t reference, uint32_t mask)
{
	struct rig r;
	bool on;

	rig_open(&r, &(struct rig_opts){ 0 });
	bf_put_le32(r.host->bytes, memory);
	RIG_PACKET(&r, (uint32_t)(BF_SDMA_OP_POLL_REGMEM | BF_SDMA_POLL_MEM) | func << 28, VA(r.host, 0), reference,
		   mask, 0x0FFF0004);
	rig_fence(&r, r.host->va + 8, 1);
	rig_bell(&r);
	bf_sim_run(r.sim, BF_MS);
	on = word(r.host, 8) == 1;
	if (!on)
		ck_assert_str_eq(rig_info(&r).waits, "POLL_REGMEM");
	rig_close(&r);
	return on;
}

START_TEST(poll_functions)
{
	static const uint32_t held[7][3] = {
		/* memory 4, 5, 6 against 5 */
		{ 1, 1, 1 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 }, { 1, 0, 1 }, { 0, 1, 1 }, { 0, 0, 1 },
	};

	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(goes_on((uint32_t)_i, 4 + i, 5, UINT32_MAX), held[_i][i] != 0);
}
END_TEST

/*
 * Memory is masked, the reference is not: "FUNC(mem_data & MASK, REFERENCE)" is how ROCr's header words the 64-bit
 * form, and tinygrad's mock does the same for the 32-bit one. rocjitsu masks both, gem5 neither. A reference with bits
 * outside of the mask therefore never equals.
 */
START_TEST(poll_masks_memory_only)
{
	ck_assert(goes_on(BF_SDMA_EQ, 0xabcd1234, 0x1234, 0xffff));      /* gem5 would wait */
	ck_assert(!goes_on(BF_SDMA_EQ, 0xabcd1234, 0xabcd1234, 0xffff)); /* rocjitsu and gem5 would go on */
}
END_TEST

START_TEST(poll_sees_the_change)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, 0xB0000008, VA(r.host, 0), 7, UINT32_MAX, 0x0FFF0004);
	rig_fence(&r, r.host->va + 8, 1);
	rig_bell(&r);
	bf_sim_run(r.sim, BF_MS);
	ck_assert_uint_eq(word(r.host, 8), 0);
	bf_put_le32(r.host->bytes, 7);
	bf_sim_run(r.sim, 2 * BF_MS);
	ck_assert_uint_eq(word(r.host, 8), 1);
	ck_assert_ptr_null(rig_info(&r).waits);
	rig_close(&r);
}
END_TEST

/* Retries that run out: the queue goes on, which the record and the statistic show. */
START_TEST(poll_gives_up)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, 0xB0000008, VA(r.host, 0), 7, UINT32_MAX, 5u << 16 | 4);
	rig_fence(&r, r.host->va + 8, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(word(r.host, 8), 1);
	rig_close(&r);
}
END_TEST

START_TEST(poll_64)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v7_1 });
	bf_put_le64(r.host->bytes, 0x1122334400000000);
	RIG_PACKET(&r, 0x30000508, VA(r.host, 0), 0, 0x11220000, 0, 0xffff0000, 0);
	rig_fence(&r, r.host->va + 8, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(word(r.host, 8), 1);
	rig_close(&r);
}
END_TEST

/* ROCr's six dwords; the address would fault if it were taken for one. The kernel's register polls are privileged. */
START_TEST(hdp_flush)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v4 });
	RIG_PACKET(&r, 8, 0, 0x80000000, 0, 0, 0);
	rig_fence(&r, r.host->va, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(word(r.host, 0), 1);
	RIG_PACKET(&r, 0x34000008, 0x1000, 0x1004, 1, 1, 0x0fff000a);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_PRIVILEGED);
	rig_close(&r);
}
END_TEST

/* Every operation, 32 and 64 bits, with and without return, against the definition of the cache's atomics. */
START_TEST(atomics)
{
	static const struct {
		uint32_t op;
		uint64_t memory, source, compare, after32, after64;
	} cases[] = {
		{ 7, 5, 9, 0, 9, 9 },
		{ 8, 5, 9, 5, 9, 9 },
		{ 8, 5, 9, 6, 5, 5 },
		{ 15, UINT64_MAX, 2, 0, 1, 1 },
		{ 16, 1, 2, 0, UINT32_MAX, UINT64_MAX },
		{ 17, UINT64_MAX, 1, 0, UINT32_MAX, UINT64_MAX }, /* -1 < 1 */
		{ 18, UINT64_MAX, 1, 0, 1, 1 },
		{ 19, UINT64_MAX, 1, 0, 1, 1 },
		{ 20, UINT64_MAX, 1, 0, UINT32_MAX, UINT64_MAX },
		{ 21, 0xc, 0xa, 0, 8, 8 },
		{ 22, 0xc, 0xa, 0, 0xe, 0xe },
		{ 23, 0xc, 0xa, 0, 6, 6 },
		{ 24, 4, 5, 0, 5, 5 },
		{ 24, 5, 5, 0, 0, 0 },
		{ 25, 4, 5, 0, 3, 3 },
		{ 25, 0, 5, 0, 5, 5 },
		{ 25, 6, 5, 0, 5, 5 },
	};
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = profiles[_i], .ring = 1u << 16 });
	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		for (uint32_t form = 0; form < 4; form++) {
			const uint64_t keep = 0xfeedfacecafebeef;
			const bool wide = form & 1;

			memset(r.host->bytes, 0, 16);
			bf_put_le64(r.host->bytes,
				    wide ? cases[i].memory : (cases[i].memory & UINT32_MAX) | keep << 32);
			RIG_PACKET(&r, 10u | (cases[i].op + form * 32) << 25, VA(r.host, 0), RIG_LO(cases[i].source),
				   RIG_HI(cases[i].source), RIG_LO(cases[i].compare), RIG_HI(cases[i].compare), 0);
			ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
			ck_assert_uint_eq(quad(r.host, 0), wide ? cases[i].after64 : cases[i].after32 | keep << 32);
		}
	}
	rig_close(&r);
}
END_TEST

/* ROCr's signal decrement. */
START_TEST(signal_decrement)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	bf_put_le64(r.host->bytes, 2);
	RIG_PACKET(&r, 0x5E00000A, VA(r.host, 0), ~0u, ~0u, 0, 0, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(quad(r.host, 0), 1);
	RIG_PACKET(&r, 0x5E00000A, VA(r.host, 4), ~0u, ~0u, 0, 0, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_MISALIGNED);
	rig_close(&r);
}
END_TEST

START_TEST(atomic_unknown_operation)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, 10u | 1u << 25, VA(r.host, 0), 0, 0, 0, 0, 0);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RESERVED);
	rig_close(&r);
}
END_TEST

/* LOOP: a compare-and-swap that goes on when it has swapped; the queue says what it waits for. */
START_TEST(atomic_loop)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	bf_put_le32(r.host->bytes, 1);
	RIG_PACKET(&r, (uint32_t)BF_SDMA_ATOMIC_LOOP | 10u | 8u << 25, VA(r.host, 0), 2, 0, 0, 0, 100);
	rig_fence(&r, r.host->va + 8, 1);
	rig_bell(&r);
	bf_sim_run(r.sim, BF_MS);
	ck_assert_str_eq(rig_info(&r).waits, "ATOMIC");
	ck_assert_uint_eq(word(r.host, 8), 0);
	bf_put_le32(r.host->bytes, 0); /* the lock is free */
	bf_sim_run(r.sim, 2 * BF_MS);
	ck_assert_uint_eq(word(r.host, 0), 2);
	ck_assert_uint_eq(word(r.host, 8), 1);
	rig_close(&r);
}
END_TEST

START_TEST(timestamps)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	r.sim->now_ps = 50 * BF_US;
	RIG_PACKET(&r, 0x20D, VA(r.host, 0));
	rig_copy(&r, r.vram->va, r.host->va + 4096, 65536);
	RIG_PACKET(&r, 0x20D, VA(r.host, 32));
	RIG_PACKET(&r, 0x00D, 1000, 0); /* set, then get */
	RIG_PACKET(&r, 0x10D, VA(r.host, 64));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	/* 10 ns ticks; the second one waits for the copy: 64 KiB take 2 us on the link. */
	ck_assert_uint_ge(quad(r.host, 0), 5000);
	ck_assert_uint_ge(quad(r.host, 32), quad(r.host, 0) + 200);
	ck_assert_uint_ge(quad(r.host, 64), 1000);
	ck_assert_uint_le(quad(r.host, 64), 1010);
	RIG_PACKET(&r, 0x20D, VA(r.host, 4));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_MISALIGNED);
	rig_close(&r);
}
END_TEST

/* The mailbox is in memory when the interrupt arrives. */
static void mailbox_is_there(struct rig *r, uint32_t id)
{
	ck_assert_uint_eq(word(r->host, 128), id);
}

START_TEST(trap_with_mailbox)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	r.on_trap = mailbox_is_there;
	for (uint32_t id = 1; id < 20; id++) {
		rig_copy(&r, r.vram->va, r.host->va + 4096, 4096);
		rig_fence(&r, r.host->va + 128, id);
		RIG_PACKET(&r, BF_SDMA_OP_TRAP, id);
	}
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(r.traps, 19);
	ck_assert_uint_eq(r.last_trap, 19);
	rig_close(&r);
}
END_TEST

START_TEST(lost_trap)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .faults = "lost-completion on=sdma0.q0" });
	RIG_PACKET(&r, BF_SDMA_OP_TRAP, 1);
	RIG_PACKET(&r, BF_SDMA_OP_TRAP, 2);
	rig_go(&r);
	ck_assert_uint_eq(r.traps, 1);
	ck_assert_uint_eq(r.last_trap, 2);
	rig_close(&r);
}
END_TEST

/* No interrupt. The opcode moved from 16 to 32 with v5, where 16 became a privileged packet. */
START_TEST(dummy_trap)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = profiles[_i] });
	RIG_PACKET(&r, _i ? 32 : 16, 1);
	rig_fence(&r, r.host->va, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(r.traps, 0);
	ck_assert_uint_eq(word(r.host, 0), 1);
	RIG_PACKET(&r, _i ? 16 : 32, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, _i ? BF_SDMA_PRIVILEGED : BF_SDMA_BAD_OPCODE);
	rig_close(&r);
}
END_TEST

START_TEST(cond_exe)
{
	struct rig r;

	for (uint32_t i = 0; i < 2; i++) {
		rig_open(&r, &(struct rig_opts){ 0 });
		bf_put_le32(r.host->bytes, i);
		RIG_PACKET(&r, BF_SDMA_OP_COND_EXE, VA(r.host, 0), 1, 8);
		rig_fence(&r, r.host->va + 8, 1);
		rig_fence(&r, r.host->va + 12, 2);
		rig_fence(&r, r.host->va + 16, 3);
		ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
		ck_assert_uint_eq(word(r.host, 8), i ? 1 : 0);
		ck_assert_uint_eq(word(r.host, 12), i ? 2 : 0);
		ck_assert_uint_eq(word(r.host, 16), 3);
		rig_close(&r);
	}
}
END_TEST

/* An INDIRECT packet at dword 2 ends on dword 8. */
static void indirect(struct rig *r, uint64_t base, uint32_t dwords)
{
	while (r->index / 4 % 8 != 2)
		RIG_PACKET(r, 0);
	RIG_PACKET(r, BF_SDMA_OP_INDIRECT, RIG_LO(base), RIG_HI(base), dwords, 0, 0);
}

static void put_buffer(struct rig *r, uint64_t at, const uint32_t *dw, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		bf_put_le32(r->host->bytes + at + 4 * i, dw[i]);
}

START_TEST(indirect_buffer)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	{
		const uint32_t dw[] = {
			BF_SDMA_OP_FENCE, VA(r.host, 0), 5, 0, BF_SDMA_OP_COPY, 63, 0, VA(r.host, 8192), VA(r.vram, 0),
			BF_SDMA_OP_FENCE, VA(r.host, 4), 6
		};

		put_buffer(&r, 4096, dw, BF_ARRAY_LEN(dw));
		memset(r.host->bytes + 8192, 9, 64);
		indirect(&r, r.host->va + 4096, BF_ARRAY_LEN(dw));
	}
	rig_fence(&r, r.host->va + 8, 7);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(word(r.host, 0), 5);
	ck_assert_uint_eq(word(r.host, 4), 6);
	ck_assert_uint_eq(word(r.host, 8), 7);
	ck_assert_uint_eq(others(r.vram, 0, 64, 9), 0);
	ck_assert_uint_eq(*r.rptr, r.index);
	rig_close(&r);
}
END_TEST

START_TEST(indirect_rules)
{
	struct bf_sdma_queue_info info;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	if (_i == 0) { /* ends on no multiple of eight dwords */
		RIG_PACKET(&r, BF_SDMA_OP_INDIRECT, VA(r.host, 4096), 8, 0, 0);
	} else if (_i == 1) { /* base not 32-byte aligned */
		indirect(&r, r.host->va + 4096 + 16, 8);
	} else if (_i == 2) { /* nesting */
		const uint32_t dw[8] = { 0, 0, BF_SDMA_OP_INDIRECT, VA(r.host, 4096), 8, 0, 0 };

		put_buffer(&r, 4096, dw, 8);
		indirect(&r, r.host->va + 4096, 8);
	} else if (_i == 3) { /* no dwords */
		indirect(&r, r.host->va + 4096, 0);
	} else if (_i == 4) { /* a packet that the buffer cuts off */
		const uint32_t dw[3] = { 0, BF_SDMA_OP_FENCE, 0x1000 };

		put_buffer(&r, 4096, dw, 3);
		indirect(&r, r.host->va + 4096, 3);
	} else { /* priv */
		while (r.index / 4 % 8 != 2)
			RIG_PACKET(&r, 0);
		RIG_PACKET(&r, BF_SDMA_OP_INDIRECT | 1u << 31, VA(r.host, 4096), 8, 0, 0);
	}
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, _i == 4   ? BF_SDMA_TRUNCATED
					    : _i == 5 ? BF_SDMA_PRIVILEGED
						      : BF_SDMA_INDIRECT_BAD);
	ck_assert_int_eq(info.fault.in_indirect, _i == 2 || _i == 4);
	ck_assert_uint_eq(info.fault.indirect, _i == 2 ? 8 : _i == 4 ? 4 : 0);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma sync");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, fence);
	tcase_add_test(t, fence_64);
	tcase_add_loop_test(t, poll_functions, 0, 7);
	tcase_add_test(t, poll_masks_memory_only);
	tcase_add_test(t, poll_sees_the_change);
	tcase_add_test(t, poll_gives_up);
	tcase_add_test(t, poll_64);
	tcase_add_test(t, hdp_flush);
	tcase_add_loop_test(t, atomics, 0, 5);
	tcase_add_test(t, signal_decrement);
	tcase_add_test(t, atomic_unknown_operation);
	tcase_add_test(t, atomic_loop);
	tcase_add_test(t, timestamps);
	tcase_add_test(t, trap_with_mailbox);
	tcase_add_test(t, lost_trap);
	tcase_add_loop_test(t, dummy_trap, 0, 5);
	tcase_add_test(t, cond_exe);
	tcase_add_test(t, indirect_buffer);
	tcase_add_loop_test(t, indirect_rules, 0, 6);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
