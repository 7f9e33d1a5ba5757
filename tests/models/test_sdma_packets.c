/* Every packet of a user queue, by bytes through ring and doorbell; and where other models read them differently. */
#include <check.h>

#include "models/sdma/decode.h"
#include "tests/models/sdma_rig.h"

static uint32_t word(const struct bf_region *region, uint64_t at)
{
	return bf_get_le32(region->bytes + at);
}

static uint64_t quad(const struct bf_region *region, uint64_t at)
{
	return bf_get_le64(region->bytes + at);
}

/* Bytes of a region that are not `value`. */
static uint64_t others(const struct bf_region *region, uint64_t from, uint64_t to, uint8_t value)
{
	uint64_t n = 0;

	for (uint64_t i = from; i < to; i++)
		n += region->bytes[i] != value;
	return n;
}

static void ramp(struct bf_region *region)
{
	for (uint64_t i = 0; i < region->size; i++)
		region->bytes[i] = (uint8_t)(i * 11 + i / 256 + 1);
}

#define VA(region, at) RIG_LO((region)->va + (at)), RIG_HI((region)->va + (at))

static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
							  &bf_sdma_v7_1 };

/* Header words of copies as KFDTest, ROCr and the kernel write them; odd addresses and lengths, all generations. */
START_TEST(copy_linear)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = profiles[_i] });
	ramp(r.host);
	RIG_PACKET(&r, BF_SDMA_OP_COPY, 4999, 0, VA(r.host, 3), VA(r.vram, 9));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_mem_eq(r.vram->bytes + 9, r.host->bytes + 3, 5000);
	ck_assert_uint_eq(others(r.vram, 0, 9, 0) + others(r.vram, 5009, 6000, 0), 0);
	ck_assert_uint_eq(rig_info(&r).bytes, 5000);
	rig_close(&r);
}
END_TEST

/* A count of 0 is one byte. */
START_TEST(copy_one_byte)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	r.host->bytes[5] = 0x42;
	RIG_PACKET(&r, BF_SDMA_OP_COPY, 0, 0, VA(r.host, 5), VA(r.vram, 0));
	rig_go(&r);
	ck_assert_uint_eq(r.vram->bytes[0], 0x42);
	ck_assert_uint_eq(r.vram->bytes[1], 0);
	rig_close(&r);
}
END_TEST

/* 22 bits of count before v6 (without gfx90a's and gfx10.3's wide one), 30 from then on. Bits above are reserved. */
START_TEST(copy_count_width)
{
	struct bf_sdma_packet p;
	const uint32_t dw[7] = { BF_SDMA_OP_COPY, 0x3fffffff };
	const struct {
		struct bf_sdma_dialect d;
		uint64_t count;
		uint32_t reserved;
	} cases[] = {
		{ { BF_SDMA_V4, false, false }, 0x3fffff, 2 },   { { BF_SDMA_V4, false, true }, 0x3fffffff, 0 },
		{ { BF_SDMA_V5, false, false }, 0x3fffff, 2 },   { { BF_SDMA_V5, false, true }, 0x3fffffff, 0 },
		{ { BF_SDMA_V6, false, false }, 0x3fffffff, 0 }, { { BF_SDMA_V7, true, false }, 0x3fffffff, 0 },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(bf_sdma_decode(&cases[i].d, dw, 7, &p), BF_SDMA_RUNS);
		ck_assert_uint_eq(p.count, cases[i].count);
		ck_assert_uint_eq(p.reserved, cases[i].reserved);
		ck_assert_uint_eq(bf_sdma_packet_bytes(&p), cases[i].count + 1);
	}
}
END_TEST

/* gfx12: with cpv the kernel's packet has an eighth dword, without it ROCr's has seven. */
START_TEST(copy_with_dcc_dword)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v7 });
	ramp(r.host);
	RIG_PACKET(&r, (uint32_t)(BF_SDMA_OP_COPY | BF_SDMA_COPY_CPV), 63, 0, VA(r.host, 0), VA(r.vram, 0), 0);
	RIG_PACKET(&r, BF_SDMA_OP_COPY, 63, 0, VA(r.host, 64), VA(r.vram, 64));
	rig_fence(&r, r.host->va + 4096, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_mem_eq(r.vram->bytes, r.host->bytes, 128);
	ck_assert_uint_eq(word(r.host, 4096), 1);
	ck_assert_uint_eq(rig_info(&r).packets, 3);
	rig_close(&r);
}
END_TEST

/*
 * Broadcast is bit 27: Linux's headers of all generations and KFDTest's struct, which runs on hardware, have it there;
 * rocjitsu reads bit 28 in its legacy dialect. With bit 28 the packet is a plain copy with a reserved bit.
 */
START_TEST(broadcast_is_bit_27)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = profiles[_i] });
	ramp(r.host);
	RIG_PACKET(&r, BF_SDMA_OP_COPY | 1u << 27, 2999, 0, VA(r.host, 0), VA(r.vram, 0), VA(r.vram, 8192));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_mem_eq(r.vram->bytes, r.host->bytes, 3000);
	ck_assert_mem_eq(r.vram->bytes + 8192, r.host->bytes, 3000);
	ck_assert_uint_eq(rig_info(&r).packets, 1);
	RIG_PACKET(&r, BF_SDMA_OP_COPY | 1u << 28, 63, 0, VA(r.host, 64), VA(r.vram, 32768));
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(rig_info(&r).packets, 2);
	ck_assert_mem_eq(r.vram->bytes + 32768, r.host->bytes + 64, 64);
	rig_close(&r);
}
END_TEST

/*
 * Sub op 16 is COPY linear with block compression (navi10_sdma_pkt_open.h, SDMA_SUBOP_COPY_LINEAR_BC); rocjitsu takes it
 * for a broadcast. The queue stops at it and says that it is not modelled.
 */
START_TEST(sub_op_16_is_no_broadcast)
{
	struct bf_sdma_queue_info info;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = &bf_sdma_v5 });
	RIG_PACKET(&r, BF_SDMA_OP_COPY | 16u << 8, 63, 0, VA(r.host, 0), VA(r.vram, 0), VA(r.vram, 4096));
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, BF_SDMA_UNMODELLED);
	ck_assert_uint_eq(info.fault.dword, 0);
	rig_close(&r);
}
END_TEST

START_TEST(write_linear)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, BF_SDMA_OP_WRITE, VA(r.host, 8), 2, 0x11111111, 0x22222222, 0x33333333);
	rig_go(&r);
	ck_assert_uint_eq(quad(r.host, 8), 0x2222222211111111);
	ck_assert_uint_eq(quad(r.host, 16), 0x33333333);
	rig_close(&r);
}
END_TEST

/* Longer than what one fetch brings, and than the window that fetches go to. */
START_TEST(write_longer_than_a_fetch)
{
	struct rig r;
	const uint32_t n = 40000;
	uint32_t *dw = calloc(4 + n, 4);

	rig_open(&r, &(struct rig_opts){ .ring = 1u << 18 });
	dw[0] = BF_SDMA_OP_WRITE;
	dw[1] = RIG_LO(r.host->va);
	dw[2] = RIG_HI(r.host->va);
	dw[3] = n - 1;
	for (uint32_t i = 0; i < n; i++)
		dw[4 + i] = i * 2654435761u;
	rig_packet(&r, dw, 4 + n);
	rig_fence(&r, r.vram->va, 3);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_mem_eq(r.host->bytes, dw + 4, n * 4);
	ck_assert_uint_eq(word(r.vram, 0), 3);
	free(dw);
	rig_close(&r);
}
END_TEST

/*
 * The count of a fill is bytes minus one: Mesa, KFDTest and the kernel write it so. ROCr writes (dwords - 1) * 4 and
 * relies on the two low bits being ignored for dword fills. A model that takes count + 1 bytes literally is three bytes
 * short for ROCr; one that multiplies by the fill size overruns. Both forms must give the same bytes.
 */
START_TEST(fill_count_forms)
{
	static const uint32_t counts[] = { 4 * 100 - 1, (100 - 1) * 4, (100 - 1) * 4 + 2 };
	struct rig r;

	for (size_t i = 0; i < BF_ARRAY_LEN(counts); i++) {
		rig_open(&r, &(struct rig_opts){ .profile = profiles[_i] });
		RIG_PACKET(&r, BF_SDMA_OP_CONST_FILL | 2u << 30, VA(r.vram, 16), 0xa1b2c3d4, counts[i]);
		ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
		for (uint32_t k = 0; k < 100; k++)
			ck_assert_uint_eq(word(r.vram, 16 + 4 * k), 0xa1b2c3d4);
		ck_assert_uint_eq(word(r.vram, 12), 0);
		ck_assert_uint_eq(word(r.vram, 16 + 400), 0);
		rig_close(&r);
	}
}
END_TEST

START_TEST(fill_sizes)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, BF_SDMA_OP_CONST_FILL, VA(r.vram, 3), 0xaabbccdd, 9999);
	RIG_PACKET(&r, BF_SDMA_OP_CONST_FILL | 1u << 30, VA(r.vram, 16386), 0xaabbccdd, 9999);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(others(r.vram, 3, 10003, 0xdd), 0);
	ck_assert_uint_eq(others(r.vram, 0, 3, 0) + others(r.vram, 10003, 16386, 0), 0);
	for (uint32_t i = 0; i < 10000; i += 2)
		ck_assert_uint_eq(bf_get_le16(r.vram->bytes + 16386 + i), 0xccdd);
	ck_assert_uint_eq(r.vram->bytes[26386], 0);
	RIG_PACKET(&r, BF_SDMA_OP_CONST_FILL | 3u << 30, VA(r.vram, 0), 0, 3);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RESERVED);
	rig_close(&r);
}
END_TEST

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

/* ROCr's cache requests around a copy: time passes, bytes do not change. Six dwords on gfx1250, none before v5. */
START_TEST(gcr_request)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = profiles[_i] });
	if (_i == 4)
		RIG_PACKET(&r, 0x111, 0, 0, 0xC000, 0, 0);
	else
		RIG_PACKET(&r, 0x111, 0, 0xC3C00000, 0, 0);
	rig_fence(&r, r.host->va, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, _i ? BF_SDMA_RUNS : BF_SDMA_BAD_OPCODE);
	ck_assert_uint_eq(word(r.host, 0), _i ? 1 : 0);
	rig_close(&r);
}
END_TEST

/* What a user queue must not do, what is not modelled, and what there is not. */
START_TEST(refused)
{
	static const struct {
		uint32_t header;
		enum bf_sdma_reason reason;
	} cases[] = {
		{ 0xF000000E, BF_SDMA_PRIVILEGED }, { 0x00C, BF_SDMA_PRIVILEGED }, { 0x10C, BF_SDMA_PRIVILEGED },
		{ 0x20C, BF_SDMA_PRIVILEGED },      { 0x30C, BF_SDMA_PRIVILEGED }, { 0x408, BF_SDMA_PRIVILEGED },
		{ 0x108, BF_SDMA_PRIVILEGED },      { 0x801, BF_SDMA_PRIVILEGED }, { 0x101, BF_SDMA_UNMODELLED },
		{ 0x501, BF_SDMA_UNMODELLED },      { 0x007, BF_SDMA_UNMODELLED }, { 0x003, BF_SDMA_BAD_OPCODE },
		{ 0x0ff, BF_SDMA_BAD_OPCODE },      { 0x105, BF_SDMA_BAD_OPCODE }, { 0x1201, BF_SDMA_BAD_OPCODE },
	};
	struct bf_sdma_queue_info info;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, 0);
	RIG_PACKET(&r, cases[_i].header, 0, 0);
	rig_fence(&r, r.host->va, 1);
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, cases[_i].reason);
	ck_assert_uint_eq(info.fault.index, 4);
	ck_assert_uint_eq(info.fault.dword, 0);
	ck_assert_uint_eq(info.fault.value, cases[_i].header);
	ck_assert_uint_eq(word(r.host, 0), 0);
	rig_close(&r);
}
END_TEST

/* KFDExceptionTest.SdmaQueueException: a write to an unmapped address gives that page. */
START_TEST(unmapped_addresses)
{
	static const struct {
		uint32_t dw[8], n, dword;
	} cases[] = {
		{ { BF_SDMA_OP_WRITE, 0x70000123 & ~3u, 0x7f, 0, 1 }, 5, 1 },
		{ { BF_SDMA_OP_COPY, 63, 0, 0x70000000, 0x7f, 0, 0 }, 7, 3 },
		{ { BF_SDMA_OP_FENCE, 0x70000000, 0x7f, 1 }, 4, 1 },
		{ { 0xB0000008, 0x70000000, 0x7f, 1, 1, 0x0fff0004 }, 6, 1 },
		{ { 0x5E00000A, 0x70000000, 0x7f, 1, 1, 1, 1, 0 }, 8, 1 },
		{ { BF_SDMA_OP_CONST_FILL | 2u << 30, 0x70000000, 0x7f, 1, 255 }, 5, 1 },
		{ { 0x20D, 0x70000000, 0x7f }, 3, 1 },
	};
	struct bf_sdma_queue_info info;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_packet(&r, cases[_i].dw, cases[_i].n);
	rig_fence(&r, r.host->va, 1);
	info = rig_go(&r);
	ck_assert_int_eq(info.fault.reason, BF_SDMA_MEMORY);
	ck_assert_uint_eq(info.fault.address, 0x7f70000000);
	ck_assert_uint_eq(info.fault.dword, cases[_i].dword);
	ck_assert_uint_eq(info.fault.index, 0);
	ck_assert_uint_eq(word(r.host, 0), 0);
	rig_close(&r);
}
END_TEST

/* The second megabyte of a copy is not mapped: the first one was copied, the page is the first bad one. */
START_TEST(fault_in_the_middle)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .mem = 1u << 20 });
	memset(r.host->bytes, 3, 1u << 20);
	rig_copy(&r, r.vram->va, r.host->va + 65536, 1u << 20);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_MEMORY);
	ck_assert_uint_eq(rig_info(&r).fault.address, r.host->va + (1u << 20));
	ck_assert_uint_eq(rig_info(&r).fault.dword, 3);
	ck_assert_uint_eq(rig_info(&r).copies, 0);
	rig_close(&r);
}
END_TEST

/* A zero dword is a NOP; a count skips payload, which may look like anything. */
START_TEST(nops)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	RIG_PACKET(&r, 0);
	RIG_PACKET(&r, 0);
	RIG_PACKET(&r, 3u << 16, BF_SDMA_OP_FENCE, 0xffffffff, 0x12345678);
	rig_fence(&r, r.host->va, 1);
	ck_assert_int_eq(rig_go(&r).fault.reason, BF_SDMA_RUNS);
	ck_assert_uint_eq(rig_info(&r).packets, 4);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sdma packets");
	TCase *t = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, copy_linear, 0, 5);
	tcase_add_test(t, copy_one_byte);
	tcase_add_test(t, copy_count_width);
	tcase_add_test(t, copy_with_dcc_dword);
	tcase_add_loop_test(t, broadcast_is_bit_27, 0, 5);
	tcase_add_test(t, sub_op_16_is_no_broadcast);
	tcase_add_test(t, write_linear);
	tcase_add_test(t, write_longer_than_a_fetch);
	tcase_add_loop_test(t, fill_count_forms, 0, 5);
	tcase_add_test(t, fill_sizes);
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
	tcase_add_loop_test(t, gcr_request, 0, 5);
	tcase_add_loop_test(t, refused, 0, 15);
	tcase_add_loop_test(t, unmapped_addresses, 0, 7);
	tcase_add_test(t, fault_in_the_middle);
	tcase_add_test(t, nops);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
