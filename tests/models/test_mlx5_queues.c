/* Rings and doorbells: wraps, BlueFlame, what a record covers, rings in pieces. */
#include <check.h>
#include <sys/mman.h>

#include "models/mlx5/records.h"
#include "tests/models/mlx5_pair.h"

static void setup(void)
{
	o = (struct rig_qp_opts){ .log_sq = 4, .log_rq = 3, .log_stride = 2, .log_rd = 2 };
	open_pair();
}

static uint16_t write_inline(uint64_t raddr, const uint8_t *data, uint32_t len)
{
	uint8_t w[1024] = { 0 };

	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, raddr, b->key);
	bf_put_be32(w + 32, BF_MLX5_INLINE_FLAG | len);
	memcpy(w + 36, data, len);
	return rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_WRITE, 0, 2 + (len + 4 + 15) / 16);
}

/* Inline data that begins before the ring's end and goes on at its start, at every distance from the end. */
START_TEST(inline_across_the_ring_end)
{
	static const uint32_t lengths[] = { 1, 12, 13, 60, 100, 300, 700, 900 };

	for (int k = 0; k < _i; k++)
		write64(0);
	for (size_t i = 0; i < BF_ARRAY_LEN(lengths); i++) {
		uint16_t index = write_inline(b->data_va + 1000 * i, a->data + i, lengths[i]);

		ring_and_run();
		ck_assert_uint_eq(bf_be32(expect_good(&p.scq[0], index)->byte_cnt), lengths[i]);
		ck_assert_mem_eq(b->data + 1000 * i, a->data + i, lengths[i]);
	}
}
END_TEST

/* A list of SGEs that wraps. */
START_TEST(list_across_the_ring_end)
{
	uint8_t w[512] = { 0 };
	uint32_t at = 16;

	for (int k = 0; k < 14; k++)
		write64(0);
	ring_and_run();
	w[11] = RIG_CQE;
	at += rig_put_raddr(w + at, b->data_va, b->key);
	for (uint32_t i = 0; i < 20; i++)
		at += rig_put_data(w + at, 100 + i, a->key, a->data_va + 1000 * i);
	rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_WRITE, 0, at / 16);
	ring_and_run();
	expect_good(&p.scq[0], 14);
	for (uint32_t i = 0, to = 0; i < 20; to += 100 + i++)
		ck_assert_mem_eq(b->data + to, a->data + 1000 * i, 100 + i);
}
END_TEST

/* Past 65536 WQEBBs the index starts over: every WRITE leaves its number behind and every CQE names its WQE. */
START_TEST(counters_wrap)
{
	uint32_t posted = 0;

	while (posted < 70000) {
		uint16_t index = 0;

		for (int k = 0; k < 10; k++, posted++) {
			bf_put_le32(a->data + k * 4, posted);
			index = rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, (unsigned)k * 4, b->data_va + (unsigned)k * 4,
					 b->key, 4, k == 9 ? RIG_CQE : 0);
		}
		ck_assert_uint_eq(index, (uint16_t)(posted - 1));
		ring_and_run();
		expect_good(&p.scq[0], index);
		ck_assert_mem_eq(b->data, a->data, 40);
	}
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

/* Receive queue and PSN around their ends at once: PSNs start 100 before 2^24. */
START_TEST(psn_and_receive_ring_wrap)
{
	o.psn = 0xffffff - 100;
	o.mtu = 1;
	again();
	for (uint32_t i = 0; i < 40; i++) {
		rig_recv(&p.q[1], i * 2048, 2048);
		rig_send(&p.q[0], BF_MLX5_OP_SEND, i, 2000, 0, 0);
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, 0x80000, b->data_va + i * 2048, b->key, 2000, RIG_CQE | 0x40);
		ring_and_run();
		expect_good(&p.scq[0], (uint16_t)(2 * i + 1));
		expect_good(&p.rcq[1], (uint16_t)i);
		ck_assert_mem_eq(b->data + i * 2048, a->data + i, 2000);
		ck_assert_mem_eq(a->data + 0x80000, a->data + i, 2000);
	}
}
END_TEST

/* The doorbell record is what counts: a doorbell without it starts nothing, and one covers what several stored. */
START_TEST(producer_comes_from_the_record)
{
	struct bf_mlx5_qp_info info;
	uint16_t real;

	write64(RIG_CQE);
	real = p.q[0].sq_pi;
	p.q[0].sq_pi = 0;
	ring_and_run(); /* record still 0, doorbell index irrelevant */
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	p.q[0].sq_pi = real;
	write64(RIG_CQE);
	write64(RIG_CQE);
	ring_and_run();
	for (uint16_t i = 0; i < 3; i++)
		expect_good(&p.scq[0], i);
	ck_assert(!bf_mlx5_qp_info(a->dev, p.q[0].qpn, &info));
	ck_assert_uint_eq(info.doorbells, 2);
	ck_assert_uint_eq(info.sq_producer, 3);
	ck_assert_uint_eq(info.sq_completed, 3);
}
END_TEST

/* A record that went back is not followed; a WQE of two WQEBBs waits until the record covers both. */
START_TEST(record_covers_part_of_a_wqe)
{
	uint8_t data[100];

	memset(data, 0x3c, sizeof(data));
	write_inline(b->data_va, data, sizeof(data));
	ck_assert_uint_eq(p.q[0].sq_pi, 3);
	p.q[0].sq_pi = 1;
	ring_and_run();
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	p.q[0].sq_pi = 3;
	ring_and_run();
	expect_good(&p.scq[0], 0);
	p.q[0].sq_pi = 2;
	ring_and_run();
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	p.q[0].sq_pi = 3;
	write64(RIG_CQE);
	ring_and_run();
	expect_good(&p.scq[0], 3);
}
END_TEST

/* Fetches of WQE bytes that came from the ring and from BlueFlame, counted from the records. */
struct sources {
	struct bf_sink sink;
	uint32_t ring, blueflame;
};

static int count_sources(struct bf_sink *s, const void *records, size_t len)
{
	struct sources *n = BF_CONTAINER_OF(s, struct sources, sink);
	const uint8_t *at = records, *end = at + len;

	while (at < end) {
		struct bf_rec_header h;
		struct bf_rec_wqe_fetch f;

		memcpy(&h, at, sizeof(h));
		if (h.type == BF_REC_ID_wqe_fetch) {
			memcpy(&f, at + sizeof(h), sizeof(f));
			n->ring += f.source == 0;
			n->blueflame += f.source == 1;
		}
		at += (sizeof(h) + h.fixed + h.tail + 7) & ~7u;
	}
	return 0;
}

/*
 * A whole WQE by BlueFlame: in one piece, or in pieces in either order. What is in the ring is garbage, so only the
 * pushed bytes can have been executed. In the second half of a register just as well.
 */
START_TEST(blueflame)
{
	struct sources n = { .sink = {
				 .declare_type = ignore_type, .declare_actor = ignore_actor, .write = count_sources } };

	ck_assert(!bf_stream_open(&p.rig.sim->rec, &p.rig.sim->now_ps, BF_CLASS_QUEUE, &n.sink));
	for (uint16_t round = 0; round < 5; round++) {
		uint32_t offset = BF_MLX5_UAR_BF + (round & 3u) * BF_MLX5_BF_BUF;
		uint8_t wqe[64];
		uint16_t index = write64(RIG_CQE);

		memcpy(wqe, p.q[0].sq + index * 64u, 64);
		memset(p.q[0].sq + index * 64u, 0xee, 64);
		bf_put_be32(p.q[0].dbr + 4, p.q[0].sq_pi);
		if (round == 0) {
			bell(offset, wqe, 64);
		} else if (round == 1) {
			bell(offset, wqe, 16);
			bell(offset + 16, wqe + 16, 48);
		} else if (round == 2) {
			bell(offset + 32, wqe + 32, 32);
			bell(offset, wqe, 32);
		} else if (round == 3) {
			bell(offset, wqe, 4);
			bell(offset + 4, wqe + 4, 60);
		} else {
			bell(offset + 32, wqe + 32, 32);
			bell(offset + BF_MLX5_BF_BUF + 32, p.q[0].sq + index * 64u, 32); /* another buffer's */
			bell(offset, wqe, 32);
		}
		rig_run(&p.rig);
		expect_good(&p.scq[0], index);
		ck_assert_mem_eq(b->data, a->data, 64);
	}
	ck_assert(!bf_stream_close(&p.rig.sim->rec));
	ck_assert_uint_eq(n.blueflame, 5);
	ck_assert_uint_eq(n.ring, 0);
}
END_TEST

/* Pushed bytes that are not the next WQE are a doorbell like any other. */
START_TEST(blueflame_of_another_wqe)
{
	uint8_t wqe[64];

	write64(RIG_CQE);
	write64(RIG_CQE);
	memcpy(wqe, p.q[0].sq + 64, 64);
	bf_put_be32(p.q[0].dbr + 4, p.q[0].sq_pi);
	bell(BF_MLX5_UAR_BF, wqe, 64);
	rig_run(&p.rig);
	expect_good(&p.scq[0], 0);
	expect_good(&p.scq[0], 1);
}
END_TEST

static void open_timed(const struct bf_mlx5_profile *profile)
{
	teardown();
	rig_pair_open(&p, 1, profile, &o);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	for (uint32_t i = 0; i < 65536; i++)
		a->data[i] = (uint8_t)(i * 11 + 1);
}

/*
 * An entry of 256 bytes with its payload in it, by BlueFlame: a device that takes so much fetches nothing, also when
 * the ring has garbage. Without the last piece, or with pieces ahead of the first, and on a device that takes 64 bytes,
 * the rest comes from the ring.
 */
START_TEST(blueflame_of_a_whole_entry)
{
	struct sources n = { .sink = {
				 .declare_type = ignore_type, .declare_actor = ignore_actor, .write = count_sources } };
	static const uint32_t wrong[] = { 64, 0, 128, 192 };
	uint8_t wqe[256];
	uint16_t index;

	open_timed(_i == 3 ? &bf_mlx5_cx7 : &bf_mlx5_cx7_timed);
	ck_assert(!bf_stream_open(&p.rig.sim->rec, &p.rig.sim->now_ps, BF_CLASS_QUEUE, &n.sink));
	index = write_inline(b->data_va, a->data, 220);
	memcpy(wqe, p.q[0].sq + index * 64u, sizeof(wqe));
	if (_i == 0)
		memset(p.q[0].sq + index * 64u, 0xee, sizeof(wqe));
	bf_put_be32(p.q[0].dbr + 4, p.q[0].sq_pi);
	for (uint32_t piece = 0; piece < (_i == 1 ? 3 : 4); piece++) {
		const uint32_t at = _i == 2 ? wrong[piece] : piece * 64;

		bell(BF_MLX5_UAR_BF + at, wqe + at, 64);
	}
	rig_run(&p.rig);
	expect_good(&p.scq[0], index);
	ck_assert_mem_eq(b->data, a->data, 220);
	ck_assert(!bf_stream_close(&p.rig.sim->rec));
	ck_assert_uint_eq(n.blueflame, _i == 0 ? 1 : 0);
	ck_assert_uint_eq(n.ring, _i == 0 ? 0 : 1);
}
END_TEST

START_TEST(doorbells_that_ring_nothing)
{
	struct bf_mlx5_qp_info info;
	uint8_t in[16] = { 0 }, db[8] = { 0 };
	uint32_t other = rig_do(a, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));

	write64(RIG_CQE);
	bf_put_be32(p.q[0].dbr + 4, 1);
	bf_put_be32(db + 4, p.q[0].qpn << 8);
	bf_mmio_post(bf_mlx5_uar(a->dev, other), BF_MLX5_UAR_BF, db, 8); /* not this queue pair's page */
	bell(BF_MLX5_UAR_BF + 64, db, 8);                                /* not the start of a register's half */
	bell(0x100, db, 8);
	bf_put_be32(db + 4, 0xabcdef00); /* nobody */
	bell(BF_MLX5_UAR_BF, db, 8);
	rig_run(&p.rig);
	ck_assert(!bf_mlx5_qp_info(a->dev, p.q[0].qpn, &info));
	ck_assert_uint_eq(info.doorbells, 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

START_TEST(live_polling_takes_the_cell)
{
	uint8_t db[8] = { 0 }, *cell = bf_mlx5_uar(a->dev, a->uar)->bytes + BF_MLX5_UAR_BF + 256;

	/* In live mode whoever maps the pages makes them accessible. */
	ck_assert(!mprotect(bf_mlx5_uar(a->dev, a->uar)->bytes, 4096, PROT_READ | PROT_WRITE));
	write64(RIG_CQE);
	bf_put_be32(p.q[0].dbr + 4, 1);
	bf_put_be32(db + 4, p.q[0].qpn << 8);
	ck_assert_int_eq(bf_mlx5_poll_uars(a->dev), 0);
	memcpy(cell, db, 8);
	ck_assert_int_ne(bf_mlx5_poll_uars(a->dev), 0);
	ck_assert_uint_eq(bf_get_le64(cell), 0);
	ck_assert_int_eq(bf_mlx5_poll_uars(a->dev), 0);
	rig_run(&p.rig);
	expect_good(&p.scq[0], 0);
}
END_TEST

/* Two queue pairs of one device talk to each other, and one to itself. */
START_TEST(loopback)
{
	struct rig_qp q[2];

	for (uint32_t i = 0; i < 2; i++)
		rig_qp_open(a, &q[i], &p.scq[0], &p.rcq[0], &o);
	rig_connect(&q[0], &q[1], &o);
	rig_connect(&q[1], &q[0], &o);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, p.q[0].qpn), 0);
	rig_connect(&p.q[0], &p.q[0], &o);
	rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, a->data_va + 0x80000, a->key, 50000, RIG_CQE);
	rig_rdma(&q[1], BF_MLX5_OP_RDMA_READ, 0xa0000, a->data_va, a->key, 50000, RIG_CQE);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, a->data_va + 0xc0000, a->key, 50000, RIG_CQE);
	rig_db(&q[0]);
	rig_db(&q[1]);
	ring_and_run();
	for (int i = 0; i < 3; i++)
		expect_good(&p.scq[0], 0);
	for (int i = 0; i < 3; i++)
		ck_assert_mem_eq(a->data + 0x80000 + 0x20000 * i, a->data, 50000);
}
END_TEST

/* Rings and records in a UMEM whose pages are scattered and out of order. */
START_TEST(scattered_umem)
{
	enum { PAGES = 8, RING = 4 * 4096 };
	uint8_t *mem = rig_alloc(a, PAGES * 4096);
	uint8_t in[BF_CREATE_UMEM_MTT + PAGES * 8] = { 0 }, qp[BF_CREATE_QP_LEN] = { 0 }, *qpc = qp + BF_QP_QPC;
	static const uint8_t order[PAGES] = { 5, 2, 7, 0, 3, 6, 1, 4 };
	uint32_t umem;
	struct rig_qp q = p.q[0];

	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, PAGES);
	for (uint32_t i = 0; i < PAGES; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + i * 8, rig_va(a, mem + order[i] * 4096) | 3);
	umem = rig_do(a, BF_MLX5_CMD_CREATE_UMEM, in, sizeof(in));
	BF_MLX5_SET(qpc, BF_QPC_PD, a->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, 8); /* 16 KiB */
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, a->uar);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, p.scq[0].cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, p.rcq[0].cqn);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, 3);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, umem);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, RING + 64);
	BF_MLX5_SET(qp, BF_CREATE_QP_UMEM_VALID, 1);
	BF_MLX5_SET(qp, BF_CREATE_QP_UMEM_ID, umem);
	q.qpn = rig_do(a, BF_MLX5_CMD_CREATE_QP, qp, sizeof(qp));
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_UMEM, umem), BF_MLX5_CMD_RES_BUSY);
	q.sq = mem; /* the ring as the driver would see it is virtually contiguous: post by page here */
	q.dbr = mem + order[4] * 4096 + 64;
	rig_qp_open(b, &p.q[1], &p.scq[1], &p.rcq[1], &o);
	rig_connect(&q, &p.q[1], &o);
	rig_connect(&p.q[1], &q, &o);
	for (uint32_t i = 0; i < 600; i++) {
		uint32_t slot = i & 255;

		bf_put_le32(a->data, i);
		q.sq = mem + order[slot / 64] * 4096 - (size_t)(slot & ~63u) * 64;
		q.sq_size = 256;
		rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va + i * 4, b->key, 4, RIG_CQE);
		rig_db(&q);
		rig_run(&p.rig);
		expect_good(&p.scq[0], (uint16_t)i);
		ck_assert_uint_eq(bf_get_le32(b->data + i * 4), i);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_queues");
	TCase *tc = tcase_create("queues");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, inline_across_the_ring_end, 0, 16);
	tcase_add_test(tc, list_across_the_ring_end);
	tcase_add_test(tc, counters_wrap);
	tcase_add_test(tc, psn_and_receive_ring_wrap);
	tcase_add_test(tc, producer_comes_from_the_record);
	tcase_add_test(tc, record_covers_part_of_a_wqe);
	tcase_add_test(tc, blueflame);
	tcase_add_test(tc, blueflame_of_another_wqe);
	tcase_add_loop_test(tc, blueflame_of_a_whole_entry, 0, 4);
	tcase_add_test(tc, doorbells_that_ring_nothing);
	tcase_add_test(tc, live_polling_takes_the_cell);
	tcase_add_test(tc, loopback);
	tcase_add_test(tc, scattered_umem);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
