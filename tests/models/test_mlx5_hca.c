/*
 * The mlx5 device behind PCI: registers, the command queue with good and bad mailboxes, the life from ENABLE_HCA to
 * TEARDOWN_HCA, resets, events.
 */
#include <check.h>

#include "tests/models/mlx5_hca_rig.h"

static struct host h;

static void setup(void)
{
	host_open(&h);
}

static void teardown(void)
{
	host_close(&h);
}

static void nothing(struct bf_event *ev)
{
	(void)ev;
}

START_TEST(segment)
{
	struct bf_event later;
	uint64_t done;
	uint32_t before;

	ck_assert_uint_eq(host_read(&h, BF_SEG_FW_REV), 39u << 16 | 28);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDIF_REV), 5u << 16 | 1002);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDQ_LOW), 0x56); /* 32 entries of 64 bytes */
	ck_assert_uint_eq(host_read(&h, BF_SEG_INITIALIZING), 0);
	ck_assert_uint_eq(host_read(&h, BF_SEG_HEALTH_SYNDROME), 0);
	before = host_read(&h, BF_SEG_HEALTH_COUNTER);
	bf_event_init(&later, nothing);
	bf_sim_after(h.sim, &later, BF_S);
	bf_sim_run(h.sim, BF_NEVER);
	ck_assert_uint_gt(host_read(&h, BF_SEG_HEALTH_COUNTER), before);
	ck_assert_uint_eq(h.sim->now_ps, BF_S);
	ck_assert_uint_eq(host_read(&h, BF_SEG_TIMER_LOW), BF_S / BF_NS);
	/* Bytes are where the big-endian dword has them; a quadword is two dwords. */
	ck_assert_uint_eq(bf_mmio_load(bf_mlx5_hca_bar0(h.hca), BF_SEG_FW_REV + 3, 1, &done), 28);
	ck_assert_uint_eq(bf_swap64(bf_mmio_load(bf_mlx5_hca_bar0(h.hca), 0, 8, &done)),
			  (39ull << 16 | 28) << 32 | 5ull << 16 | 1002);
	host_write(&h, BF_SEG_CMDQ_HIGH, 0x12);
	host_write(&h, BF_SEG_CMDQ_LOW, 0x34567000);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDQ_HIGH), 0x12);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDQ_LOW), 0x34567056);
	/* What is read-only stays; pages that nobody has swallow what is stored. */
	host_write(&h, BF_SEG_FW_REV, 7);
	for (uint32_t at = 0x2000; at < 0x40000; at += 0x800)
		host_write(&h, at, 0xffffffff);
	ck_assert_uint_eq(host_read(&h, BF_SEG_FW_REV), 39u << 16 | 28);
	ck_assert_uint_eq(host_read(&h, 0x20800), 0);
}
END_TEST

START_TEST(life)
{
	uint8_t in[BF_DRIVER_VERSION + BF_DRIVER_VERSION_LEN] = { 0 }, out[16 + 8 * 16];
	uint32_t boot, init, taken = 0;

	host_queue(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_QUERY_ISSI, 0, 0, NULL), BF_MLX5_CMD_BAD_OUTP_LEN);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_QUERY_PAGES, BF_PAGES_BOOT, 0, NULL), BF_MLX5_CMD_BAD_SYS_STATE);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	boot = host_pages_wanted(&h, BF_PAGES_BOOT);
	ck_assert_uint_gt(boot, 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_QUERY_PAGES, 0, 0, NULL), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(host_give(&h, 0x1001, boot), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(host_give(&h, 0x1000, boot), 0);
	ck_assert_uint_eq(host_pages_wanted(&h, BF_PAGES_BOOT), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_INIT_HCA, 0, 0, NULL), BF_MLX5_CMD_NO_RES);
	init = host_pages_wanted(&h, BF_PAGES_INIT);
	ck_assert_uint_eq(host_give(&h, 1ull << 40, init), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, NULL), BF_MLX5_CMD_BAD_SYS_STATE);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_INIT_HCA, 0, 0, NULL), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, NULL), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DISABLE_HCA, 0, 0, NULL), BF_MLX5_CMD_BAD_SYS_STATE);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_SET_DRIVER_VERSION);
	strcpy((char *)in + BF_DRIVER_VERSION, "test,1\n");
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	ck_assert_str_eq(bf_mlx5_hca_driver(h.hca), "test,1?");
	/* While it runs it keeps them. */
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MANAGE_PAGES);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_PAGES_TAKE);
	BF_MLX5_SET(in, BF_MANAGE_PAGES_IN_COUNT, 16);
	ck_assert_uint_eq(host_cmd(&h, in, 16, out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_MANAGE_PAGES_OUT_COUNT), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_TEARDOWN_HCA, 0, 0, NULL), 0);
	do {
		ck_assert_uint_eq(host_cmd(&h, in, 16, out, sizeof(out)), 0);
		for (uint32_t i = 0; i < BF_MLX5_GET(out, BF_MANAGE_PAGES_OUT_COUNT); i++, taken++)
			ck_assert(bf_get_be64(out + BF_MANAGE_PAGES_PAS + 8ull * i) ==
				  (taken < init ? (1ull << 40) + (init - 1 - taken) * 4096ull
						: 0x1000 + (boot - 1 - (taken - init)) * 4096ull));
	} while (BF_MLX5_GET(out, BF_MANAGE_PAGES_OUT_COUNT));
	ck_assert_uint_eq(taken, boot + init);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DISABLE_HCA, 0, 0, NULL), 0);
}
END_TEST

/* Objects go with TEARDOWN_HCA and with resets, so that numbers begin anew. */
START_TEST(resets)
{
	uint32_t first, pd;

	host_start(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &first), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &pd), 0);
	ck_assert_uint_ne(first, pd);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_TEARDOWN_HCA, 0, 0, NULL), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_INIT_HCA, 0, 0, NULL), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &pd), 0);
	ck_assert_uint_eq(pd, first);
	/* A reset with a command under way: the entry stays the device's, nothing is written any more. */
	host_put(&h, 0, (uint8_t[16]){ 0 }, 16, 16);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1);
	bf_mlx5_hca_reset(h.hca);
	host_run(&h);
	ck_assert_uint_eq(host_entry(&h, 0)->status_own, BF_CMD_OWN_HW);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDQ_LOW), 0x56);
	host_start(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &pd), 0);
	ck_assert_uint_eq(pd, first);
	/* The driver's own reset; then the function is off until a queue is told. */
	host_write(&h, BF_SEG_CMDQ_LOW, HOST_QUEUE | BF_SEG_NIC_RESET << 8);
	ck_assert_uint_eq(host_read(&h, BF_SEG_CMDQ_LOW) >> 8 & 7, BF_SEG_NIC_DISABLED);
	host_start(&h);
	/* Disabled by the driver: commands wait. */
	host_write(&h, BF_SEG_CMDQ_LOW, HOST_QUEUE | BF_SEG_NIC_DISABLED << 8);
	host_put(&h, 0, (uint8_t[16]){ 0x08 }, 16, 16);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1);
	host_run(&h);
	ck_assert_uint_eq(host_entry(&h, 0)->status_own, BF_CMD_OWN_HW);
}
END_TEST

START_TEST(long_messages)
{
	static uint8_t in[BF_HCA_CAP + 0x1000], out[BF_HCA_CAP + 0x1000];

	host_queue(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ENABLE_HCA, 0, 0, NULL), 0);
	memset(in, 0, sizeof(in));
	memset(out, 0xee, sizeof(out));
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, 1);
	ck_assert_uint_eq(host_cmd(&h, in, 16, out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_HCA_CAP, BF_CAP_PORT_TYPE), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_HCA_CAP, BF_CAP_XRC), 1);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_HCA_CAP, BF_CAP_ROCE), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_HCA_CAP, BF_CAP_UARS_PER_PAGE), 1);
	ck_assert_uint_eq(out[sizeof(out) - 1], 0);
	memcpy(in + BF_HCA_CAP, out + BF_HCA_CAP, 0x1000);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_SET_HCA_CAP);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, 0);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	BF_MLX5_SET(in + BF_HCA_CAP, BF_CAP_CMDIF_CHECKSUM, 1);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(host_cmd(&h, in, 100, out, 16), BF_MLX5_CMD_BAD_INP_LEN);
	/* The least that Linux sends and takes: 12 bytes. */
	ck_assert_uint_eq(host_cmd(&h, in, 12, out, 12), BF_MLX5_CMD_BAD_INP_LEN);
}
END_TEST

enum {
	SIGNATURE,
	TYPE,
	RESERVED,
	SHORT_IN,
	LONG_IN,
	SHORT_OUT,
	LONG_OUT,
	IN_POINTER,
	IN_NEXT,
	IN_TOKEN,
	IN_NUMBER,
	IN_UNMAPPED,
	OUT_POINTER,
	OUT_NEXT,
	OUT_TOKEN,
	OUT_NUMBER,
	OUT_UNMAPPED,
	IN_LOOP,
	WRONGS
};

static const uint8_t deliveries[WRONGS] = {
	[SIGNATURE] = BF_MLX5_DELIVERY_SIGNATURE,     [TYPE] = BF_MLX5_DELIVERY_TYPE,
	[RESERVED] = BF_MLX5_DELIVERY_RESERVED,       [SHORT_IN] = BF_MLX5_DELIVERY_IN_LENGTH,
	[LONG_IN] = BF_MLX5_DELIVERY_IN_LENGTH,       [SHORT_OUT] = BF_MLX5_DELIVERY_OUT_LENGTH,
	[LONG_OUT] = BF_MLX5_DELIVERY_OUT_LENGTH,     [IN_POINTER] = BF_MLX5_DELIVERY_IN_POINTER,
	[IN_NEXT] = BF_MLX5_DELIVERY_IN_POINTER,      [IN_TOKEN] = BF_MLX5_DELIVERY_TOKEN,
	[IN_NUMBER] = BF_MLX5_DELIVERY_BLOCK_NUMBER,  [IN_UNMAPPED] = BF_MLX5_DELIVERY_FIRMWARE,
	[OUT_POINTER] = BF_MLX5_DELIVERY_OUT_POINTER, [OUT_NEXT] = BF_MLX5_DELIVERY_OUT_POINTER,
	[OUT_TOKEN] = BF_MLX5_DELIVERY_TOKEN,         [OUT_NUMBER] = BF_MLX5_DELIVERY_BLOCK_NUMBER,
	[OUT_UNMAPPED] = BF_MLX5_DELIVERY_FIRMWARE,   [IN_LOOP] = BF_MLX5_DELIVERY_BLOCK_NUMBER,
};

static void spoil(struct bf_mlx5_cmd_entry *e, int wrong)
{
	struct bf_mlx5_cmd_block *in = host_box(&h, false, 1), *out = host_box(&h, true, 1);

	switch (wrong) {
	case TYPE:
		e->type = 6;
		break;
	case RESERVED:
		e->reserved_62 = 1;
		break;
	case SHORT_IN:
		e->in_len = bf_to_be32(7);
		break;
	case LONG_IN:
		e->in_len = bf_to_be32(0xffffffff);
		break;
	case SHORT_OUT:
		e->out_len = bf_to_be32(0);
		break;
	case LONG_OUT:
		e->out_len = bf_to_be32(0x80000000);
		break;
	case IN_POINTER:
		e->in_ptr = bf_to_be64(HOST_BOXES + 256);
		break;
	case IN_NEXT:
		host_box(&h, false, 0)->next = bf_to_be64(HOST_BOXES + 1024 + 8);
		break;
	case IN_TOKEN:
		in->token++;
		break;
	case IN_NUMBER:
		in->number = bf_to_be32(2);
		break;
	case IN_UNMAPPED:
		e->in_ptr = bf_to_be64(1ull << 50);
		break;
	case OUT_POINTER:
		e->out_ptr = bf_to_be64(HOST_OUT_BOXES + 1);
		break;
	case OUT_NEXT:
		host_box(&h, true, 0)->next = bf_to_be64(HOST_OUT_BOXES + 1024 + 64);
		break;
	case OUT_TOKEN:
		out->token++;
		break;
	case OUT_NUMBER:
		out->number = bf_to_be32(0);
		break;
	case OUT_UNMAPPED:
		host_box(&h, true, 0)->next = bf_to_be64(UINT64_MAX & ~1023ull);
		break;
	case IN_LOOP:
		host_box(&h, false, 0)->next = bf_to_be64(HOST_BOXES);
		break;
	default:
		break;
	}
	host_sign(e);
	if (wrong == SIGNATURE)
		e->signature ^= 1;
}

/* A message that does not come across is not executed, and the next one is. */
START_TEST(bad_mailboxes)
{
	static uint8_t in[2000], out[2000];
	uint32_t pd, last = 0;

	host_start(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &last), 0);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_PD);
	for (int wrong = 0; wrong < WRONGS; wrong++) {
		spoil(host_put(&h, 3, in, sizeof(in), sizeof(out)), wrong);
		host_write(&h, BF_SEG_CMD_DOORBELL, 1u << 3);
		host_run(&h);
		ck_assert_msg(host_answer(&h, 3, out, 16) == deliveries[wrong], "case %d: %u", wrong,
			      host_entry(&h, 3)->status_own >> 1);
		ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &pd), 0);
		ck_assert_uint_eq(pd, last + 1);
		last = pd;
	}
}
END_TEST

START_TEST(hostile_doorbells)
{
	uint8_t in[16] = { 0 }, out[16];

	/* No queue yet; then one where there is no memory. */
	host_write(&h, BF_SEG_CMD_DOORBELL, 0xffffffff);
	host_run(&h);
	host_write(&h, BF_SEG_CMDQ_HIGH, 0x7fffffff);
	host_write(&h, BF_SEG_CMDQ_LOW, 0xfffff000);
	host_run(&h);
	bf_mlx5_hca_reset(h.hca);
	host_start(&h);
	/* Entries that are the host's own are left alone. */
	memset(host_entry(&h, 5), 0x5a, 64);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1u << 5);
	host_run(&h);
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(((uint8_t *)host_entry(&h, 5))[i], 0x5a);
	/* Without bus mastering a command waits. */
	bf_mlx5_hca_bus_master(h.hca, false);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_PD);
	host_put(&h, 9, in, 16, 16);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1u << 9);
	host_run(&h);
	ck_assert_uint_eq(host_answer(&h, 9, out, 16), 0xff);
	bf_mlx5_hca_bus_master(h.hca, true);
	host_run(&h);
	ck_assert_uint_eq(host_answer(&h, 9, out, 16), 0);
	ck_assert_uint_eq(host_simple(&h, 0x7777, 0, 0, NULL), BF_MLX5_CMD_BAD_OP);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_RTS2SQD_QP, 3, 1, NULL), BF_MLX5_CMD_BAD_OP); /* MAD_IFC */
	/* Stores of odd kinds to the segment. */
	for (uint32_t len = 1; len <= 8; len++)
		for (uint32_t at = BF_SEG_CMD_DOORBELL - 2; at < BF_SEG_CMD_DOORBELL + 4; at++)
			if (at + len <= BF_SEG_CMD_DOORBELL + 4 && at >= BF_SEG_CMD_DOORBELL)
				bf_mmio_post(bf_mlx5_hca_bar0(h.hca), at, "\xff\xff\xff\xff\xff\xff\xff\xff", len);
	host_run(&h);
}
END_TEST

static uint32_t make_eq(uint64_t mask, uint32_t uar, uint64_t ring, uint32_t vector)
{
	uint8_t in[BF_CREATE_EQ_PAS + 8] = { 0 }, out[16], *eqc = in + BF_EQ_EQC;

	for (uint32_t i = 0; i < 16; i++)
		((struct bf_mlx5_eqe *)(void *)host_at(&h, ring))[i].owner = 1;
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_EQ);
	BF_MLX5_SET(eqc, BF_EQC_LOG_SIZE, 4);
	BF_MLX5_SET(eqc, BF_EQC_UAR_PAGE, uar);
	BF_MLX5_SET(eqc, BF_EQC_INTR, vector);
	bf_put_be64(in + BF_CREATE_EQ_MASK, mask);
	bf_put_be64(in + BF_CREATE_EQ_PAS, ring);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
}

static void arm_eq(uint32_t uar, uint32_t eqn, uint32_t consumer)
{
	host_write(&h, uar * BF_MLX5_UAR_BYTES + BF_MLX5_UAR_EQ_ARM, eqn << 24 | consumer);
	host_run(&h);
}

START_TEST(command_events)
{
	const uint64_t ring = host_page(&h);
	const struct bf_mlx5_eqe *eqe = (const void *)host_at(&h, ring);
	uint8_t in[16] = { 0 }, out[16];
	uint32_t uar, eqn;

	host_start(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_UAR, 0, 0, &uar), 0);
	ck_assert_uint_ge(uar, BF_SEG_BYTES / BF_MLX5_UAR_BYTES); /* not where the segment is */
	eqn = make_eq(1ull << BF_MLX5_EVENT_CMD, uar, ring, 5);
	arm_eq(uar, eqn, 0);
	ck_assert_uint_eq(eqe[0].owner, 1); /* its own creation is no event */
	ck_assert_uint_eq(h.irqs[5], 0);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_PD);
	host_put(&h, 4, in, 16, 16);
	host_put(&h, 30, in, 16, 16);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1u << 4 | 1u << 30);
	host_run(&h);
	ck_assert_uint_eq(host_answer(&h, 4, out, 16), 0);
	ck_assert_uint_eq(host_answer(&h, 30, out, 16), 0);
	ck_assert_uint_eq(eqe[0].type, BF_MLX5_EVENT_CMD);
	ck_assert_uint_eq(eqe[0].owner, 0);
	ck_assert_uint_eq(bf_get_be32(eqe[0].data + BF_EQE_CMD_VECTOR), 1u << 4);
	ck_assert_uint_eq(bf_get_be32(eqe[1].data + BF_EQE_CMD_VECTOR), 1u << 30);
	ck_assert_uint_eq(h.irqs[5], 1);
	/* One that is refused is done as well. */
	host_put(&h, 7, in, 16, 16)->signature ^= 1;
	arm_eq(uar, eqn, 2);
	host_write(&h, BF_SEG_CMD_DOORBELL, 1u << 7);
	host_run(&h);
	ck_assert_uint_eq(bf_get_be32(eqe[2].data + BF_EQE_CMD_VECTOR), 1u << 7);
	ck_assert_uint_eq(h.irqs[5], 2);
	/* The queue's own end is none again. */
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DESTROY_EQ, 0, eqn, NULL), 0);
	ck_assert_uint_eq(eqe[3].owner, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_hca");
	TCase *tc = tcase_create("function");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, segment);
	tcase_add_test(tc, life);
	tcase_add_test(tc, resets);
	tcase_add_test(tc, long_messages);
	tcase_add_test(tc, bad_mailboxes);
	tcase_add_test(tc, hostile_doorbells);
	tcase_add_test(tc, command_events);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
