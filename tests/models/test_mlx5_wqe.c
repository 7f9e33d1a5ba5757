/* Decoders and printers, on bytes that unmodified libmlx5 posted and CQEs that real cards wrote. */
#include <check.h>
#include <stdlib.h>

#include "models/mlx5/wqe.h"

static uint32_t unhex(const char *text, uint8_t *out)
{
	uint32_t n = 0;

	for (unsigned v; sscanf(text, "%2x", &v) == 1; text += 2)
		out[n++] = (uint8_t)v;
	return n;
}

/* Work requests posted by libmlx5 (rdma-core 44.0) to an emulated device: one of each opcode. */
static const struct {
	const char *hex;
	uint8_t opcode, wqebbs, fm;
	uint16_t index;
	uint32_t qpn, length, nsge, inline_len, imm;
	uint64_t raddr, first_va, add, compare;
} captured[] = {
	{ "000000081000010500000008000000000000557c2a17d109000011010000000000000074000010000000557c2a16b1e9"
	  "00000344000010000000557c2a169e71000000c1000010000000557c2a16950a",
	  BF_MLX5_OP_RDMA_WRITE, 2, 0, 0, 0x100001, 0x74 + 0x344 + 0xc1, 3, 0, 0, 0x557c2a17d109, 0x557c2a16b1e9, 0,
	  0 },
	{ "0000020b100001040000000a000abc0100000234000010000000557c2a16ce5b000000f1000010000000557c2a16dd76"
	  "00000305000010000000557c2a168d62",
	  BF_MLX5_OP_SEND_IMM, 1, 0, 2, 0x100001, 0x234 + 0xf1 + 0x305, 3, 0, 0xabc01, 0, 0x557c2a16ce5b, 0, 0 },
	{ "000003121000010400000008000000000000557c2a17c668000011010000000000000000000000020000000000000000"
	  "00000008000010000000557c2a16bda0",
	  BF_MLX5_OP_ATOMIC_FA, 1, 0, 3, 0x100001, 8, 1, 0, 0, 0x557c2a17c668, 0x557c2a16bda0, 2, 0 },
	{ "00000c11100001040000000a000000000000557c2a17d898000011010000000000000000000000180000000000000008"
	  "00000008000010000000557c2a16b438",
	  BF_MLX5_OP_ATOMIC_CS, 1, 0, 12, 0x100001, 8, 1, 0, 0, 0x557c2a17d898, 0x557c2a16b438, 0x18, 8 },
	{ "00001f101000010300000088000000000000557c2a17cce60000110100000000000000f5000010000000557c2a169a45",
	  BF_MLX5_OP_RDMA_READ, 1, 4, 31, 0x100001, 0xf5, 1, 0, 0, 0x557c2a17cce6, 0x557c2a169a45, 0, 0 },
	{ "00000f0910000104000000080000000a0000557c2a17b5d9000011010000000000000183000010000000557c2a16a828"
	  "000001d2000010000000557c2a16cbf1",
	  BF_MLX5_OP_RDMA_WRITE_IMM, 1, 0, 15, 0x100001, 0x183 + 0x1d2, 2, 0, 10, 0x557c2a17b5d9, 0x557c2a16a828, 0,
	  0 },
	{ "0000040a1000010300000008000000000000031a000010000000557c2a16ee07000000d4000010000000557c2a16ef28",
	  BF_MLX5_OP_SEND, 1, 0, 4, 0x100001, 0x31a + 0xd4, 2, 0, 0, 0, 0x557c2a16ee07, 0, 0 },
	{ "00000208100001060000000800000000000056155b41d114000011010000000080000039070707070707070707070707"
	  "07070707070707070707070707070707070707070707070707070707070707070707070707070707070707070700000000",
	  BF_MLX5_OP_RDMA_WRITE, 2, 0, 2, 0x100001, 0x39, 0, 0x39, 0, 0x56155b41d114, 0, 0, 0 },
	{ "00000008101001030000000800000000000055e6aa5370000000100000000000800000080000000000000001",
	  BF_MLX5_OP_RDMA_WRITE, 1, 0, 0, 0x101001, 8, 0, 8, 0, 0x55e6aa537000, 0, 0, 0 },
};

START_TEST(captured_wqes)
{
	uint8_t bytes[256] = { 0 };
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };

	unhex(captured[_i].hex, bytes);
	ck_assert_msg(!bf_mlx5_wqe_decode(bytes, captured[_i].wqebbs * 64u, &w, &err), "%s", err.text);
	ck_assert_uint_eq(w.opcode, captured[_i].opcode);
	ck_assert_uint_eq(w.wqebbs, captured[_i].wqebbs);
	ck_assert_uint_eq(w.fm, captured[_i].fm);
	ck_assert_uint_eq(w.ce, 2);
	ck_assert_uint_eq(w.index, captured[_i].index);
	ck_assert_uint_eq(w.qpn, captured[_i].qpn);
	ck_assert_uint_eq(w.length, captured[_i].length);
	ck_assert_uint_eq(w.nsge, captured[_i].nsge);
	ck_assert_uint_eq(w.inline_len, captured[_i].inline_len);
	ck_assert_uint_eq(w.imm, captured[_i].imm);
	ck_assert_uint_eq(w.raddr, captured[_i].raddr);
	ck_assert_uint_eq(w.swap_add, captured[_i].add);
	ck_assert_uint_eq(w.compare, captured[_i].compare);
	if (w.nsge)
		ck_assert_uint_eq(w.sge[0].va, captured[_i].first_va);
	if (w.has_inline && w.inline_len == 0x39)
		ck_assert_uint_eq(bytes[w.inline_offset + w.inline_len - 1], 0x07);
}
END_TEST

/* Every truncation of a good WQE is refused with a reason, and read no further than its length (sanitizers watch). */
START_TEST(truncated_wqes)
{
	uint8_t bytes[256] = { 0 };
	struct bf_mlx5_wqe w;
	uint32_t n;

	unhex(captured[_i].hex, bytes);
	n = (bytes[7] & 63u) * 16;
	for (uint32_t len = 0; len < n; len++) {
		uint8_t *exact = malloc(len ? len : 1);
		struct bf_error err = { 0 };

		memcpy(exact, bytes, len);
		ck_assert_int_eq(bf_mlx5_wqe_decode(exact, len, &w, &err), -22);
		ck_assert_uint_gt(strlen(err.text), 10);
		ck_assert(len < 16 || w.index == captured[_i].index);
		free(exact);
	}
}
END_TEST

static void expect_reason(const char *hex, const char *reason)
{
	uint8_t bytes[1024] = { 0 };
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };

	unhex(hex, bytes);
	ck_assert_int_eq(bf_mlx5_wqe_decode(bytes, sizeof(bytes), &w, &err), -22);
	ck_assert_msg(strstr(err.text, reason), "'%s' does not say '%s'", err.text, reason);
}

START_TEST(malformed_wqes)
{
	expect_reason("00000008000000000000000000000000", "DS is 0");
	expect_reason("000000ff000001020000000000000000", "opcode 0xff is unknown");
	expect_reason("00000008000001010000000000000000", "remote address segment at byte 16");
	expect_reason("00000012000001020000000000000000", "atomic segment at byte 32");
	expect_reason("55000014000001050000000000000000", "opmod 0x55");
	expect_reason("0000000a000001020000000000000000800003ff", "1023 bytes do not fit");
	expect_reason("0000000a000001030000000000000000", "more than 4 GiB");
	expect_reason("000000230000010100000000000000", "no data segment");
}
END_TEST

START_TEST(extended_atomics)
{
	uint8_t bytes[128] = { 0 };
	struct bf_mlx5_wqe w;

	unhex("0900001400000106000000080000000000000000000010000000aa0000000000"
	      "11111111111111112222222222222222333333333333333344444444444444440000000800000001000000000000beef",
	      bytes);
	bytes[7] = 5;
	ck_assert(!bf_mlx5_wqe_decode(bytes, 128, &w, NULL));
	ck_assert_uint_eq(w.atomic_size, 8);
	ck_assert_uint_eq(w.swap_add, 0x1111111111111111);
	ck_assert_uint_eq(w.compare, 0x2222222222222222);
	ck_assert_uint_eq(w.swap_mask, 0x3333333333333333);
	ck_assert_uint_eq(w.compare_mask, 0x4444444444444444);
	ck_assert_uint_eq(w.sge[0].va, 0xbeef);
	memset(bytes, 0, sizeof(bytes));
	unhex("0800001500000104000000080000000000000000000010000000aa0000000000"
	      "01020304800000000000000000000000000000040000000100000000000000ff",
	      bytes);
	ck_assert(!bf_mlx5_wqe_decode(bytes, 64, &w, NULL));
	ck_assert_uint_eq(w.atomic_size, 4);
	ck_assert_uint_eq(w.swap_add, 0x01020304);
	ck_assert_uint_eq(w.compare_mask, 0x80000000);
}
END_TEST

START_TEST(receive_wqes)
{
	uint8_t bytes[64] = { 0 };
	struct bf_mlx5_sge sge[4];
	uint64_t total;

	/* As libmlx5 posts it: two entries, then the terminator; four entries fill the stride without one. */
	unhex("00001000000011010000557c2a181000000000100000110100000000000000ff00000000000001000000000000000000",
	      bytes);
	ck_assert_uint_eq(bf_mlx5_recv_decode(bytes, 64, sge, 4, &total), 2);
	ck_assert_uint_eq(total, 0x1010);
	ck_assert_uint_eq(sge[0].va, 0x557c2a181000);
	for (int i = 0; i < 4; i++)
		unhex("000000010000110100000000000000aa", bytes + 16 * i);
	ck_assert_uint_eq(bf_mlx5_recv_decode(bytes, 64, sge, 4, &total), 4);
	ck_assert_uint_eq(bf_mlx5_recv_decode(bytes, 64, sge, 3, &total), 3);
	memset(bytes, 0, 4);
	bf_mlx5_recv_decode(bytes, 16, sge, 1, &total);
	ck_assert_uint_eq(total, 1ull << 31);
}
END_TEST

static char *printed_cqe(const char *hex)
{
	static char text[4096];
	uint8_t bytes[64];
	FILE *f = fmemopen(text, sizeof(text), "w");

	ck_assert_uint_eq(unhex(hex, bytes), 64);
	bf_mlx5_cqe_print(f, bytes);
	fclose(f);
	return text;
}

#define ZERO16 "00000000000000000000000000000000"
#define ZERO32 ZERO16 ZERO16

START_TEST(printed_cqes)
{
	/* openucx/ucx#6414 and spdk/spdk#264: dumps of real cards. */
	const char *t = printed_cqe(ZERO32 "00000001" ZERO16 "92005204"
					   "0a00082f0000c5d2");

	ck_assert_ptr_nonnull(strstr(t, "0x04 local protection error"));
	ck_assert_ptr_nonnull(strstr(t, "0x52 lkey look-up"));
	ck_assert_ptr_nonnull(strstr(t, "0x0a SEND\n"));
	ck_assert_ptr_nonnull(strstr(t, "0x82f"));
	ck_assert_ptr_nonnull(strstr(t, "REQ_ERR"));
	t = printed_cqe(ZERO32 "00000004" ZERO16 "00008813"
			       "10002c0200112cd2");
	ck_assert_ptr_nonnull(strstr(t, "0x13 remote access error"));
	ck_assert_ptr_nonnull(strstr(t, "0x10 RDMA_READ"));
	ck_assert_ptr_nonnull(strstr(t, "0x2c02"));
	ck_assert_ptr_nonnull(strstr(t, "17\n"));
}
END_TEST

START_TEST(printed_wqe)
{
	char text[4096] = { 0 };
	uint8_t bytes[256] = { 0 };
	FILE *f = fmemopen(text, sizeof(text), "w");

	unhex(captured[3].hex, bytes);
	bf_mlx5_wqe_print(f, bytes, 64);
	bytes[3] = 0xee;
	bf_mlx5_wqe_print(f, bytes, 64);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(text, "ATOMIC_CS"));
	ck_assert_ptr_nonnull(strstr(text, "swap           0x18"));
	ck_assert_ptr_nonnull(strstr(text, "compare        0x8"));
	ck_assert_ptr_nonnull(strstr(text, "solicited"));
	ck_assert_ptr_nonnull(strstr(text, "malformed: control segment at byte 3: opcode 0xee is unknown"));
}
END_TEST

START_TEST(texts)
{
	ck_assert_str_eq(bf_mlx5_syndrome_text(0x99), "unknown syndrome");
	ck_assert_str_eq(bf_mlx5_vendor_text(0x13, 0x77), "");
	ck_assert_str_eq(bf_mlx5_vendor_text(0x04, 0x93), "on-demand paging fault");
	ck_assert_str_eq(bf_mlx5_opcode_name(0xee), "?");
}
END_TEST

/* The same WRITE with both forms of address vector; nothing else of it changes. */
START_TEST(dc_address_vectors)
{
	for (uint32_t full = 0; full < 2; full++) {
		uint8_t bytes[128] = { 0 };
		uint32_t at = full ? 64 : 32, ds = at / 16 + 2;
		struct bf_mlx5_wqe w;
		struct bf_error err;
		char *text = NULL;
		size_t size = 0;
		FILE *f;

		bf_put_be32(bytes, 5u << 8 | BF_MLX5_OP_RDMA_WRITE);
		bf_put_be32(bytes + 4, 0x123u << 8 | ds);
		bf_put_be16(bytes + 9, 6);
		bf_put_be64(bytes + 16, 0x5623ceaf);
		bf_put_be32(bytes + 24, 0x400012 | (full ? BF_MLX5_AV_EXT : 0));
		bf_put_be16(bytes + 30, 0xc0de);
		if (full) {
			memcpy(bytes + 36, "\x02\x01\x0a\x00\x00\x07", 6);
			bytes[42] = 0x68;
			bytes[43] = 64;
			bf_put_be32(bytes + 60, 0x0a000007);
		}
		bf_put_be64(bytes + at, 0x7000);
		bf_put_be32(bytes + at + 8, 0x99);
		bf_put_be32(bytes + at + 16, 100);
		bf_put_be64(bytes + at + 24, 0x8000);
		ck_assert_msg(!bf_mlx5_dc_wqe_decode(bytes, sizeof(bytes), &w, &err), "%s", err.text);
		ck_assert_uint_eq(w.av_len, full ? 48 : 16);
		ck_assert_uint_eq(w.stream, 6);
		ck_assert_uint_eq(w.dct, 0x400012);
		ck_assert_uint_eq(w.dc_key, 0x5623ceaf);
		ck_assert_uint_eq(w.udp_sport, 0xc0de);
		ck_assert_uint_eq(w.raddr, 0x7000);
		ck_assert_uint_eq(w.rkey, 0x99);
		ck_assert_uint_eq(w.length, 100);
		ck_assert_uint_eq(w.wqebbs, full ? 2 : 1);
		if (full) {
			ck_assert_uint_eq(bf_get_be32(w.rgid + 12), 0x0a000007);
			ck_assert_uint_eq(w.rmac[5], 7);
			ck_assert_uint_eq(w.tclass, 0x68);
			ck_assert_uint_eq(w.hop_limit, 64);
		}
		f = open_memstream(&text, &size);
		bf_mlx5_dc_wqe_print(f, bytes, sizeof(bytes));
		fclose(f);
		ck_assert_ptr_nonnull(strstr(text, full ? "full address vector" : "compact address vector"));
		ck_assert_ptr_nonnull(strstr(text, "0x7000"));
		free(text);
		/* DS cuts the address vector. */
		bytes[7] = full ? 3 : 1;
		ck_assert_int_eq(bf_mlx5_dc_wqe_decode(bytes, sizeof(bytes), &w, &err), -22);
		ck_assert_ptr_nonnull(strstr(err.text, "address vector"));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_wqe");
	TCase *tc = tcase_create("decoders");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, captured_wqes, 0, BF_ARRAY_LEN(captured));
	tcase_add_loop_test(tc, truncated_wqes, 0, BF_ARRAY_LEN(captured));
	tcase_add_test(tc, malformed_wqes);
	tcase_add_test(tc, extended_atomics);
	tcase_add_test(tc, receive_wqes);
	tcase_add_test(tc, printed_cqes);
	tcase_add_test(tc, printed_wqe);
	tcase_add_test(tc, texts);
	tcase_add_test(tc, dc_address_vectors);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
