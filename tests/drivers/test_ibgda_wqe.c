/*
 * Entries, byte for byte. Where libmlx5 builds the same shape, the expected bytes are what unmodified libmlx5 posted
 * (rdma-core 44.0 with perftest 4.5; file and WQE index at each vector); others are written out from
 * rdma-core providers/mlx5/mlx5dv.h and Linux include/linux/mlx5/qp.h.
 */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/device.h"
#include "models/mlx5/wqe.h"
#include "tests/drivers/rig.h"

static void expect(const struct bf_ibgda_wqe *w, uint32_t ds, const char *hex)
{
	uint8_t want[BF_IBGDA_WQE_DS * 16];
	const size_t len = strlen(hex) / 2;

	ck_assert_uint_eq(ds * 16, len);
	for (size_t i = 0; i < len; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		want[i] = (uint8_t)byte;
	}
	ck_assert_mem_eq(w->ds, want, len);
}

START_TEST(write_read)
{
	struct bf_ibgda_wqe w;
	uint32_t ds;

	/* mix_1.client, index 66 */
	ds = bf_ibgda_wqe_rdma(&w, BF_MLX5_OP_RDMA_WRITE, 0x100001, 66, 0x557c2a16e7b8, bf_htobe32(0x1000),
			       0x557c2a17c4d9, bf_htobe32(0x1101), 0x17b, BF_IBGDA_SIGNALLED, 0);
	expect(&w, ds,
	       "000042081000010300000008000000000000557c2a17c4d900001101000000000000017b000010000000557c2a16e7b8");
	/* write_bw_4k.client, index 0: not signalled */
	ds = bf_ibgda_wqe_rdma(&w, BF_MLX5_OP_RDMA_WRITE, 0x101001, 0, 0x557e820ad000, bf_htobe32(0x1000),
			       0x55d547302000, bf_htobe32(0x1000), 4096, 0, 0);
	expect(&w, ds,
	       "00000008101001030000000000000000000055d547302000000010000000000000001000000010000000557e820ad000");
	/* mix_1.client, index 34 */
	ds = bf_ibgda_wqe_rdma(&w, BF_MLX5_OP_RDMA_READ, 0x100001, 34, 0x557c2a16ecb4, bf_htobe32(0x1000),
			       0x557c2a17cc3e, bf_htobe32(0x1101), 0x258, BF_IBGDA_SIGNALLED, 0);
	expect(&w, ds,
	       "000022101000010300000008000000000000557c2a17cc3e00001101000000000000"
	       "0258000010000000557c2a16ecb4");
	/* mix_1.client, index 39: with immediate */
	ds = bf_ibgda_wqe_rdma(&w, BF_MLX5_OP_RDMA_WRITE_IMM, 0x100001, 39, 0x557c2a16d9af, bf_htobe32(0x1000),
			       0x557c2a17c20d, bf_htobe32(0x1101), 0x23e, BF_IBGDA_SIGNALLED, 0x1b);
	expect(&w, ds,
	       "0000270910000103000000080000001b"
	       "0000557c2a17c20d00001101000000000000023e000010000000557c2a16d9af");
}
END_TEST

START_TEST(inline_write)
{
	struct bf_ibgda_wqe w;
	uint32_t ds;

	/* write_lat_inline.client, index 0 */
	ds = bf_ibgda_wqe_inline(&w, BF_MLX5_OP_RDMA_WRITE, 0x101001, 0, 0x100000000000000, 8, 0x55e6aa537000,
				 bf_htobe32(0x1000), BF_IBGDA_SIGNALLED, 0);
	expect(&w, ds,
	       "00000008101001030000000800000000000055e6aa537000000010000000000080000008000000000000000100000000");
	/* Bytes beyond the size must not leak into the padding. */
	ds = bf_ibgda_wqe_inline(&w, BF_MLX5_OP_RDMA_WRITE_IMM, 0x2a, 0x10005, 0x1122334455667788, 2, 0x1000,
				 bf_htobe32(0x500), 0, 7);
	expect(&w, ds,
	       "0000050900002a030000000000000007000000000000100000000500000000008000000288770000"
	       "0000000000000000");
}
END_TEST

START_TEST(plain_atomics)
{
	struct bf_ibgda_wqe w;
	uint32_t ds;

	/* atomic_fa.client, index 99 */
	ds = bf_ibgda_wqe_amo(&w, BF_IBGDA_AMO_ADD, 8, 1, 0x101001, 99, 1, 0, 0x5581dd1128c0, bf_htobe32(0x1000),
			      0x563d84d0c8c0, bf_htobe32(0x1000), BF_IBGDA_SIGNALLED);
	expect(&w, ds,
	       "0000631210100104000000080000000000005581dd1128c0000010000000000000000000000000010000000000000000"
	       "00000008000010000000563d84d0c8c0");
	/* mix_1.client, index 35 */
	ds = bf_ibgda_wqe_amo(&w, BF_IBGDA_AMO_CAS, 8, 1, 0x100001, 35, 0x45, 0x17, 0x557c2a17dbf0, bf_htobe32(0x1101),
			      0x557c2a16bd28, bf_htobe32(0x1000), BF_IBGDA_SIGNALLED);
	expect(&w, ds,
	       "000023111000010400000008000000000000557c2a17dbf0000011010000000000000000000000450000000000000017"
	       "00000008000010000000557c2a16bd28");
}
END_TEST

#define HEAD8(opcode, ds)                                                                                              \
	"090007" opcode "00002a" ds "00000008000000000000000000002000"                                                 \
	"0000060000000000"
#define HEAD4(opcode, ds)                                                                                              \
	"080007" opcode "00002a" ds "00000008000000000000000000002000"                                                 \
	"0000060000000000"
#define DATA(bytes) "000000" bytes "000005000000000000003000"

static void expect_amo(enum bf_ibgda_amo_op op, uint32_t bytes, uint64_t operand, uint64_t compare, const char *hex)
{
	struct bf_ibgda_wqe w;
	const uint32_t ds = bf_ibgda_wqe_amo(&w, op, bytes, 0, 0x2a, 7, operand, compare, 0x2000, bf_htobe32(0x600),
					     0x3000, bf_htobe32(0x500), BF_IBGDA_SIGNALLED);

	ck_assert_uint_eq(ds, bf_ibgda_amo_ds(op, bytes));
	expect(&w, ds, hex);
}

START_TEST(masked_atomics)
{
	expect_amo(BF_IBGDA_AMO_ADD, 8, 0x1122, 0,
		   HEAD8("15", "04") "0000000000001122"
				     "0000000000000000" DATA("08"));
	expect_amo(BF_IBGDA_AMO_INC, 4, 0x77, 0,
		   HEAD4("15", "04") "00000001"
				     "00000000"
				     "0000000000000000" DATA("04"));
	expect_amo(BF_IBGDA_AMO_XOR, 8, 0x10, 0,
		   HEAD8("15", "04") "0000000000000010"
				     "ffffffffffffffff" DATA("08"));
	expect_amo(BF_IBGDA_AMO_SET, 8, 0x33, 0,
		   HEAD8("14", "05") "0000000000000033"
				     "0000000000000000"
				     "ffffffffffffffff"
				     "0000000000000000" DATA("08"));
	expect_amo(BF_IBGDA_AMO_AND, 4, 0x0f, 0,
		   HEAD4("14", "04") "0000000f"
				     "00000000"
				     "fffffff0"
				     "00000000" DATA("04"));
	expect_amo(BF_IBGDA_AMO_OR, 8, 0x80, 0,
		   HEAD8("14", "05") "0000000000000080"
				     "0000000000000000"
				     "0000000000000080"
				     "0000000000000000" DATA("08"));
	expect_amo(BF_IBGDA_AMO_CAS, 4, 5, 6,
		   HEAD4("14", "04") "00000005"
				     "00000006"
				     "ffffffff"
				     "ffffffff" DATA("04"));
	expect_amo(BF_IBGDA_AMO_FETCH, 4, 9, 0,
		   HEAD4("15", "04") "00000000"
				     "00000000"
				     "0000000000000000" DATA("04"));
}
END_TEST

START_TEST(nop_and_dump)
{
	struct bf_ibgda_wqe w;

	expect(&w, bf_ibgda_wqe_nop(&w, 0x2a, 0x1ffff, 2, BF_IBGDA_SIGNALLED), "00ffff0000002a020000000800000000");
	expect(&w, bf_ibgda_wqe_dump(&w, 0x2a, 3, 0x3000, bf_htobe32(0x500), 1, BF_IBGDA_SIGNALLED | BF_IBGDA_FENCED),
	       "0000032300002a020000004800000000"
	       "00000001000005000000000000003000");
}
END_TEST

/* Every builder's bytes decode to what was meant. */
START_TEST(decodes)
{
	struct bf_ibgda_wqe w;
	struct bf_error err = { 0 };
	struct bf_mlx5_wqe d;
	uint32_t ds;

	for (uint32_t op = 0; op < BF_IBGDA_AMO_OPS; op++)
		for (uint32_t bytes = 4; bytes <= 8; bytes += 4) {
			uint8_t ring[128] = { 0 };

			ds = bf_ibgda_wqe_amo(&w, (enum bf_ibgda_amo_op)op, bytes, 1, 5, 9, 3, 4, 0x4000, 0, 0x5000, 0,
					      0);
			memcpy(ring, w.ds, ds * 16);
			ck_assert_msg(!bf_mlx5_wqe_decode(ring, sizeof(ring), &d, &err), "op %u: %s", op, err.text);
			ck_assert_uint_eq(d.atomic_size, bytes);
			ck_assert_uint_eq(d.ds, ds);
			ck_assert_uint_eq(d.raddr, 0x4000);
			ck_assert_uint_eq(d.nsge, 1);
			ck_assert_uint_eq(d.sge[0].va, 0x5000);
			ck_assert_uint_eq(d.sge[0].len, bytes);
		}
}
END_TEST

RIG_MAIN("ibgda_wqe", write_read, inline_write, plain_atomics, masked_atomics, nop_and_dump, decodes)
