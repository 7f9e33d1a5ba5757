/* Compressed CQEs: blocks that a reader as Linux' mlx5/core/en_rx.c takes apart, for both kinds of queues. */
#include <check.h>

#include "tests/models/uverbs_program.h"

static int request_cq(struct uv_rig *r, const struct uv_world *w, struct uv_cq *cq, uint32_t cqe, uint8_t on,
		      uint8_t format, uint32_t cqe_size)
{
	struct mlx5_ib_create_cq *uhw;

	uv_cq_request(r, cq, cqe, 0, 0, w->uar.page, 0x900);
	uhw = uv_host(r, uv_find(r, UVERBS_ATTR_UHW_IN)->data);
	uhw->cqe_comp_en = on;
	uhw->cqe_comp_res_format = format;
	uhw->cqe_size = cqe_size;
	return uv_call(r);
}

static struct uv_cq make_cq(struct uv_rig *r, const struct uv_world *w)
{
	struct uv_cq cq;

	ck_assert_int_eq(request_cq(r, w, &cq, 63, 1, MLX5_IB_CQE_RES_FORMAT_HASH, 64), 0);
	cq.handle = (uint32_t)uv_find(r, UVERBS_ATTR_CREATE_CQ_HANDLE)->data;
	cq.cqe = uv_answer32(r, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
	cq.cqn = uv_answer32(r, UVERBS_ATTR_UHW_OUT);
	return cq;
}

struct entry {
	uint32_t bytes, qpn;
	uint16_t index;
	uint8_t opcode;
};

static uint8_t *slot(struct uv_rig *r, const struct uv_cq *cq, uint32_t at)
{
	return uv_host(r, cq->ring + 64ull * (at & cq->cqe));
}

static struct entry from_cqe(const struct bf_mlx5_cqe *e)
{
	return (struct entry){ bf_be32(e->byte_cnt), bf_be32(e->sop_drop_qpn) & 0xffffff, bf_be16(e->wqe_counter),
			       e->op_own >> 4 };
}

/* The block at the consumer index; its slots are made the device's. */
static uint32_t take_block(struct uv_rig *r, struct uv_cq *cq, const struct bf_mlx5_cqe *title, struct entry *out)
{
	const uint32_t n = bf_be32(title->byte_cnt);
	struct bf_mlx5_mini_cqe array[BF_MLX5_MINI_CQES];

	ck_assert_uint_le((cq->ci & cq->cqe) + n, cq->cqe + 1); /* DPDK reads on without looking for the ring's end */
	for (uint32_t i = 0; i < n; i++) {
		if (i % BF_MLX5_MINI_CQES == 0)
			memcpy(array, slot(r, cq, cq->ci + (i ? i : 1)), sizeof(array));
		out[i] = from_cqe(title);
		out[i].bytes = bf_be32(array[i % BF_MLX5_MINI_CQES].byte_cnt);
		out[i].index = (uint16_t)(out[i].index + i);
		if (out[i].opcode == BF_MLX5_CQE_REQ)
			out[i].index = bf_be16(array[i % BF_MLX5_MINI_CQES].wqe_counter);
	}
	for (uint32_t i = 0; i < n; i++)
		slot(r, cq, cq->ci + i)[63] = (uint8_t)(((cq->ci + i) & (cq->cqe + 1)) != 0);
	cq->ci += n - 1; /* the poll that found it has counted one */
	bf_put_be32(uv_host(r, cq->dbr), cq->ci & 0xffffff);
	return n;
}

static uint32_t take(struct uv_rig *r, struct uv_cq *cq, struct entry *out, uint32_t *blocks)
{
	const struct bf_mlx5_cqe *e;
	uint32_t n = 0;

	*blocks = 0;
	while ((e = uv_poll(r, cq))) {
		if ((e->op_own & BF_MLX5_CQE_COMPRESSED) != BF_MLX5_CQE_COMPRESSED) {
			out[n++] = from_cqe(e);
			continue;
		}
		cq->ci--;
		n += take_block(r, cq, e, out + n);
		cq->ci++;
		bf_put_be32(uv_host(r, cq->dbr), cq->ci & 0xffffff);
		++*blocks;
	}
	return n;
}

/* SENDs of 10, 11, 12.. bytes, all announced by one doorbell. */
static void send(struct uv_rig *r, struct uv_world *w, struct uv_qp *from, struct uv_qp *to, uint32_t n)
{
	uint8_t bell[8];

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *wqe = uv_host(r, from->sq + 64ull * (from->pi & (UV_SQ - 1)));
		uint8_t *rx = uv_host(r, to->rq + ((uint64_t)(to->rpi & (UV_RQ - 1)) << UV_RQ_SHIFT));

		bf_put_be32(rx, 256);
		bf_put_be32(rx + 4, w->mr.lkey);
		bf_put_be64(rx + 8, w->data + 4096);
		bf_put_be32(rx + 20, BF_MLX5_INVALID_LKEY);
		to->rpi++;
		memset(wqe, 0, 64);
		bf_put_be32(wqe, (uint32_t)from->pi << 8 | BF_MLX5_OP_SEND);
		bf_put_be32(wqe + 4, from->qpn << 8 | 2);
		wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
		bf_put_be32(wqe + 16, 10 + i);
		bf_put_be32(wqe + 20, w->mr.lkey);
		bf_put_be64(wqe + 24, w->data);
		memcpy(bell, wqe, 8);
		from->pi++;
	}
	bf_put_be32(uv_host(r, to->dbr), to->rpi);
	bf_put_be32(uv_host(r, from->dbr + 4), from->pi);
	bf_mmio_post(w->uar.map.region, BF_MLX5_UAR_BF, bell, sizeof(bell));
	uv_run(r);
}

START_TEST(blocks)
{
	struct entry got[64];
	struct uv_qp qp[2];
	struct uv_cq cq[2];
	struct uv_world w;
	struct uv_rig r;
	uint32_t in_blocks = 0, alone;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	for (uint32_t i = 0; i < 2; i++)
		cq[i] = make_cq(&r, &w);
	for (uint32_t i = 0; i < 2; i++) {
		const struct uv_qp_opts o = {
			.pd = w.pd.handle, .send_cq = cq[0].handle, .recv_cq = cq[1].handle, .page = w.uar.page
		};

		qp[i] = uv_qp(&r, &o);
	}
	for (uint32_t i = 0; i < 2; i++)
		uv_connect(&r, &qp[i], qp[1 - i].qpn, 1);
	/* Around the ring several times; of one message nothing is compressed. */
	for (uint32_t round = 0; round < 40; round++) {
		const uint32_t n = round % 8 + 1;
		const uint16_t first = qp[0].pi;

		send(&r, &w, &qp[0], &qp[1], n);
		for (uint32_t k = 0; k < 2; k++) {
			const uint32_t room = cq[k].cqe + 1 - (cq[k].ci & cq[k].cqe), before = n < room ? n : room;
			uint32_t seen;

			ck_assert_uint_eq(take(&r, &cq[k], got, &seen), n);
			ck_assert_uint_eq(seen, (before > 1u ? 1u : 0u) + (n - before > 1u ? 1u : 0u));
			in_blocks += seen;
			for (uint32_t i = 0; i < n; i++) {
				ck_assert_uint_eq(got[i].bytes, 10 + i);
				ck_assert_uint_eq(got[i].index, (uint16_t)(first + i));
				ck_assert_uint_eq(got[i].qpn, qp[k].qpn);
				ck_assert_uint_eq(got[i].opcode, k ? BF_MLX5_CQE_RESP_SEND : BF_MLX5_CQE_REQ);
			}
		}
	}
	ck_assert_uint_ge(in_blocks, 70); /* those of one message are none */
	/* An error is never part of a block. */
	uv_post_write(&r, &qp[0], &w.uar, w.data, 0xdead00, w.data, w.mr.rkey, 64);
	ck_assert_uint_eq(take(&r, &cq[0], got, &alone), 1);
	ck_assert_uint_eq(got[0].opcode, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(alone, 0);
	bf_uverbs_close(r.f);
	uv_rig_close(&r);
}
END_TEST

/* WRITEs need no receives, so that a block is longer than one array: the second begins eight slots behind the title. */
START_TEST(two_arrays)
{
	struct entry got[64];
	struct uv_qp qp[2];
	struct uv_world w;
	struct uv_rig r;
	struct uv_cq cq;
	uint32_t seen;
	uint8_t bell[8];

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	cq = make_cq(&r, &w);
	for (uint32_t i = 0; i < 2; i++)
		qp[i] = uv_qp(
		    &r, &(struct uv_qp_opts){
			    .pd = w.pd.handle, .send_cq = cq.handle, .recv_cq = w.rcq.handle, .page = w.uar.page });
	for (uint32_t i = 0; i < 2; i++)
		uv_connect(&r, &qp[i], qp[1 - i].qpn, 1);
	for (uint32_t i = 0; i < 13; i++) {
		uint8_t *wqe = uv_host(&r, qp[0].sq + 64ull * qp[0].pi);

		memset(wqe, 0, 64);
		bf_put_be32(wqe, (uint32_t)qp[0].pi << 8 | BF_MLX5_OP_RDMA_WRITE);
		bf_put_be32(wqe + 4, qp[0].qpn << 8 | 3);
		wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
		bf_put_be64(wqe + 16, w.data + 4096);
		bf_put_be32(wqe + 24, w.mr.rkey);
		bf_put_be32(wqe + 32, 100 + i);
		bf_put_be32(wqe + 36, w.mr.lkey);
		bf_put_be64(wqe + 40, w.data);
		memcpy(bell, wqe, 8);
		qp[0].pi++;
	}
	bf_put_be32(uv_host(&r, qp[0].dbr + 4), qp[0].pi);
	bf_mmio_post(w.uar.map.region, BF_MLX5_UAR_BF, bell, sizeof(bell));
	uv_run(&r);
	ck_assert_uint_eq(take(&r, &cq, got, &seen), 13);
	ck_assert_uint_eq(seen, 1);
	for (uint32_t i = 0; i < 13; i++) {
		ck_assert_uint_eq(got[i].bytes, 100 + i);
		ck_assert_uint_eq(got[i].index, i);
	}
	bf_uverbs_close(r.f);
	uv_rig_close(&r);
}
END_TEST

START_TEST(refusals)
{
	struct uv_world w;
	struct uv_rig r;
	struct uv_cq cq;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	ck_assert_int_eq(request_cq(&r, &w, &cq, 63, 1, MLX5_IB_CQE_RES_FORMAT_CSUM, 128), 0);
	ck_assert_int_eq(request_cq(&r, &w, &cq, 63, 1, MLX5_IB_CQE_RES_FORMAT_CSUM_STRIDX, 64), -EOPNOTSUPP);
	ck_assert_int_eq(request_cq(&r, &w, &cq, 63, 1, 0, 64), -EINVAL);
	/* One that is too small for arrays may ask, and gets none. DPDK's queue for what is dropped is such a one. */
	ck_assert_int_eq(request_cq(&r, &w, &cq, 1, 1, MLX5_IB_CQE_RES_FORMAT_HASH, 64), 0);
	ck_assert_int_eq(request_cq(&r, &w, &cq, 63, 2, MLX5_IB_CQE_RES_FORMAT_HASH, 64), -EINVAL);
	bf_uverbs_close(r.f);
	uv_rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs compressed");
	TCase *t = tcase_create("compressed");

	tcase_add_test(t, blocks);
	tcase_add_test(t, two_arrays);
	tcase_add_test(t, refusals);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
