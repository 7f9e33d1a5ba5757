/* Packets that move data, by bytes through ring and doorbell; and where other models read them differently. */
#include "models/sdma/decode.h"
#include "tests/models/sdma_packets.h"

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
 * Sub op 16 is COPY linear with block compression (navi10_sdma_pkt_open.h, SDMA_SUBOP_COPY_LINEAR_BC); rocjitsu takes
 * it for a broadcast. The queue stops at it and says that it is not modelled.
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
