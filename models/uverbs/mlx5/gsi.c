/*
 * Queue pair 1 of a device's port, which the kernel has to itself (IBA vol. 1 section 13.5, the General Services
 * Interface): its rings, its completion queue, and datagrams of management in and out.
 *
 * As drivers/infiniband/core/mad.c and hw/mlx5/gsi.c drive it, except that one queue pair sends and receives. It is
 * made when somebody first wants it. One that fails is started again; what was on its way then is lost, as datagrams
 * are.
 */
#include <stdlib.h>

#include "models/uverbs/mlx5/mlx5_ib_internal.h"
#include "models/uverbs/qp_internal.h"

#define QKEY 0x80010000u /* of queue pair 1 (IBA vol. 1 section 10.2.5) */
#define GRH_LEN 40u
#define GRH_IPV4_SRC 32u /* of the IPv4 header in its last 20 bytes */
#define HOP_LIMIT 64u
#define SGID_INDEX 3u /* RoCE v2, of the IPv4 address (gid.c) */
#define GRH_PRESENT (1u << 30)
#define MTU_4096 5u
#define LOG_MSG_UD 12u

#define SENDS 64u
#define WQEBBS_OF_SEND 2u
#define LOG_SQ 7u /* WQEBBs: room for SENDS */
#define LOG_RQ 8u
#define LOG_CQ 9u
#define RECEIVE_ROOM 320u
#define ANY_QP 0xffffffu
#define LOCAL_UIDX 0xffffffu

/* Where things lie in its memory. */
#define RQ_AT 0u
#define SQ_AT (RQ_AT + (BF_MLX5_DS << LOG_RQ))
#define CQ_AT (SQ_AT + (BF_MLX5_WQEBB << LOG_SQ))
#define QP_DBR_AT (CQ_AT + (sizeof(struct bf_mlx5_cqe) << LOG_CQ))
#define CQ_DBR_AT (QP_DBR_AT + 64u)
#define OUT_AT (QP_DBR_AT + BF_UV_PAGE)
#define IN_AT (OUT_AT + SENDS * BF_UVERBS_MAD)
#define MEM_SIZE (IN_AT + (RECEIVE_ROOM << LOG_RQ))

struct bf_mlx5_ib_gsi {
	struct bf_uverbs *u;
	struct bf_region *mem;
	bool mapped, has_pd, has_key, has_cq, has_qp, failed;
	uint32_t pdn, key, cqn, qpn;
	uint32_t ci, arm_sn;
	uint16_t sq_pi, sq_done, rq_pi;
	bf_uverbs_mad_fn *receive;
	void *owner;
};

static uint8_t *at(const struct bf_mlx5_ib_gsi *g, uint64_t offset)
{
	return g->mem->bytes + offset;
}

static void arm(struct bf_mlx5_ib_gsi *g)
{
	const uint32_t word = (g->arm_sn++ & 3) << 28 | (g->ci & 0xffffff);
	uint8_t bell[8];

	bf_put_be32(at(g, CQ_DBR_AT + 4 * BF_MLX5_CQ_DBR_ARM), word);
	bf_put_be32(bell, word);
	bf_put_be32(bell + 4, g->cqn);
	bf_mmio_post(bf_mlx5_uar(g->u->opts.device, bf_mlx5_ib_of(g->u)->uar), BF_MLX5_UAR_CQ_ARM, bell, sizeof(bell));
}

/* The receive entry of `slot` is the device's (again). */
static void post_receive(struct bf_mlx5_ib_gsi *g, uint32_t slot)
{
	uint8_t *wqe = at(g, RQ_AT + BF_MLX5_DS * slot);

	bf_put_be32(wqe, RECEIVE_ROOM);
	bf_put_be32(wqe + 4, g->key);
	bf_put_be64(wqe + 8, g->mem->va + IN_AT + (uint64_t)slot * RECEIVE_ROOM);
	bf_put_be32(at(g, QP_DBR_AT + 4 * BF_MLX5_DBR_RCV), ++g->rq_pi);
}

/* ---- states ---- */

static int step(struct bf_mlx5_ib_gsi *g, uint32_t opcode)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, out[16], *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, g->qpn);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, BF_UV_PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, g->pdn);
	BF_MLX5_SET(qpc, BF_QPC_MTU, MTU_4096);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, LOG_MSG_UD);
	BF_MLX5_SET(qpc, BF_QPC_Q_KEY, QKEY);
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, 1);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, g->mem->va + QP_DBR_AT);
	return bf_mlx5_ib_cmd(g->u, opcode, in, sizeof(in), out, sizeof(out));
}

static int start(struct bf_mlx5_ib_gsi *g)
{
	int err = step(g, BF_MLX5_CMD_RST2INIT_QP);

	g->sq_pi = g->sq_done = g->rq_pi = 0;
	for (uint32_t i = 0; i < 1u << LOG_RQ; i++)
		post_receive(g, i);
	bf_put_be32(at(g, QP_DBR_AT + 4 * BF_MLX5_DBR_SND), 0);
	err = err ? err : step(g, BF_MLX5_CMD_INIT2RTR_QP);
	return err ? err : step(g, BF_MLX5_CMD_RTR2RTS_QP);
}

/* ---- completions ---- */

static void took(struct bf_mlx5_ib_gsi *g, const struct bf_mlx5_cqe *cqe)
{
	const uint32_t slot = bf_be16(cqe->wqe_counter) & ((1u << LOG_RQ) - 1);
	const uint8_t *in = at(g, IN_AT + (uint64_t)slot * RECEIVE_ROOM);
	uint8_t mad[BF_UVERBS_MAD];

	/* Its answer may need the entry: the datagram is copied out first. */
	memcpy(mad, in + GRH_LEN, sizeof(mad));
	if (bf_be32(cqe->byte_cnt) == GRH_LEN + BF_UVERBS_MAD) {
		const uint32_t from = bf_get_be32(in + GRH_IPV4_SRC);

		post_receive(g, slot);
		g->receive(g->owner, from, mad);
	} else {
		post_receive(g, slot);
	}
}

static void complete(struct bf_mlx5_ib_gsi *g, const struct bf_mlx5_cqe *cqe)
{
	switch (cqe->op_own >> 4) {
	case BF_MLX5_CQE_REQ:
		g->sq_done = (uint16_t)(bf_be16(cqe->wqe_counter) + WQEBBS_OF_SEND);
		break;
	case BF_MLX5_CQE_RESP_SEND:
		took(g, cqe);
		break;
	default:
		g->failed = true;
		break;
	}
}

void bf_mlx5_ib_gsi_poll(struct bf_mlx5_ib_gsi *g)
{
	for (;;) {
		struct bf_mlx5_cqe cqe;

		memcpy(&cqe, at(g, CQ_AT + sizeof(cqe) * (g->ci & ((1u << LOG_CQ) - 1))), sizeof(cqe));
		if (cqe.op_own >> 4 == BF_MLX5_CQE_INVALID || (cqe.op_own & 1) != (g->ci >> LOG_CQ & 1))
			break;
		g->ci++;
		bf_put_be32(at(g, CQ_DBR_AT + 4 * BF_MLX5_CQ_DBR_CI), g->ci & 0xffffff);
		complete(g, &cqe);
	}
	if (g->failed) {
		g->failed = false;
		step(g, BF_MLX5_CMD_2RST_QP);
		start(g);
	}
	arm(g);
}

bool bf_mlx5_ib_gsi_has(const struct bf_mlx5_ib_gsi *g, uint32_t cqn)
{
	return g && g->has_cq && g->cqn == cqn;
}

/* ---- sending ---- */

static int fill_address(const struct bf_uverbs *u, uint32_t ipv4, uint8_t *to)
{
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };
	struct bf_mlx5_av av = {
		.dc_key = bf_to_be64((uint64_t)QKEY << 32),
		.dqp_dct = bf_to_be32(BF_MLX5_AV_EXT | 1),
		.hop_limit = HOP_LIMIT,
		.grh_gid_fl = bf_to_be32(GRH_PRESENT | SGID_INDEX << 20),
	};
	int err = 0;

	bf_put_be32(gid + 12, ipv4);
	if (u->opts.infiniband) {
		av.rlid = bf_to_be16((uint16_t)ipv4);
		av.grh_gid_fl = bf_to_be32(0);
	} else {
		err = bf_uv_gid_resolve(gid, av.rgid, av.rmac);
	}
	memcpy(to, &av, sizeof(av));
	return err;
}

int bf_mlx5_ib_mad_send(struct bf_uverbs *u, uint32_t ipv4, const uint8_t mad[BF_UVERBS_MAD])
{
	struct bf_mlx5_ib_gsi *g = bf_mlx5_ib_of(u)->gsi;
	const uint32_t place = g ? g->sq_pi & ((1u << LOG_SQ) - 1) : 0, slot = place / WQEBBS_OF_SEND;
	uint8_t *wqe, *data;
	int err;

	if (!g)
		return -ENODEV;
	if ((uint16_t)(g->sq_pi - g->sq_done) >= SENDS * WQEBBS_OF_SEND)
		return -EAGAIN;
	wqe = at(g, SQ_AT + (uint64_t)place * BF_MLX5_WQEBB);
	data = wqe + sizeof(struct bf_mlx5_ctrl) + sizeof(struct bf_mlx5_av);
	memset(wqe, 0, WQEBBS_OF_SEND * BF_MLX5_WQEBB);
	err = fill_address(u, ipv4, wqe + sizeof(struct bf_mlx5_ctrl));
	if (err)
		return err;
	memcpy(at(g, OUT_AT + (uint64_t)slot * BF_UVERBS_MAD), mad, BF_UVERBS_MAD);
	bf_put_be32(wqe, (uint32_t)g->sq_pi << 8 | BF_MLX5_OP_SEND);
	bf_put_be32(wqe + 4, g->qpn << 8 | (uint32_t)(data + BF_MLX5_DS - wqe) / BF_MLX5_DS);
	wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
	bf_put_be32(data, BF_UVERBS_MAD);
	bf_put_be32(data + 4, g->key);
	bf_put_be64(data + 8, g->mem->va + OUT_AT + (uint64_t)slot * BF_UVERBS_MAD);
	g->sq_pi += WQEBBS_OF_SEND;
	bf_put_be32(at(g, QP_DBR_AT + 4 * BF_MLX5_DBR_SND), g->sq_pi);
	bf_mmio_post(bf_mlx5_uar(u->opts.device, bf_mlx5_ib_of(u)->uar), BF_MLX5_UAR_BF, wqe, 8);
	return 0;
}

/* ---- opening and closing ---- */

static int open_memory(struct bf_mlx5_ib_gsi *g)
{
	struct bf_region_opts mem = { .name = "queue pair 1",
				      .kind = BF_MEM_DRAM,
				      .size = (MEM_SIZE + BF_UV_PAGE - 1) & ~(uint64_t)(BF_UV_PAGE - 1) };
	int err = bf_region_create(g->u->opts.space, &mem, &g->mem);

	if (!err)
		err = bf_ioas_map_region(g->u->opts.ioas, g->mem, BF_IOMMU_READ | BF_IOMMU_WRITE);
	g->mapped = !err;
	return err;
}

static int open_key(struct bf_mlx5_ib_gsi *g)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, out[16], *mkc = in + BF_CREATE_MKEY_MKC;
	int err;

	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, ANY_QP);
	BF_MLX5_SET(mkc, BF_MKC_PD, g->pdn);
	BF_MLX5_SET(mkc, BF_MKC_LOG_PAGE_SIZE, 12);
	bf_put_be64(mkc + BF_MKC_START, g->mem->va);
	bf_put_be64(mkc + BF_MKC_SIZE, g->mem->size);
	err = bf_mlx5_ib_cmd(g->u, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in), out, sizeof(out));
	g->key = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8;
	g->has_key = !err;
	return err;
}

static int open_cq(struct bf_mlx5_ib_gsi *g)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;
	int err;

	for (uint32_t i = 0; i < 1u << LOG_CQ; i++)
		((struct bf_mlx5_cqe *)(void *)at(g, CQ_AT))[i].op_own = BF_MLX5_CQE_INVALID << 4 | 1;
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, LOG_CQ);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, bf_mlx5_ib_of(g->u)->uar);
	BF_MLX5_SET(cqc, BF_CQC_EQN, bf_mlx5_ib_of(g->u)->eq[1].eqn);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, g->mem->va + CQ_DBR_AT);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, g->mem->va + CQ_AT);
	err = bf_mlx5_ib_cmd(g->u, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in), out, sizeof(out));
	g->cqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	g->has_cq = !err;
	return err;
}

static int open_qp(struct bf_mlx5_ib_gsi *g)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, out[16], *qpc = in + BF_QP_QPC;
	int err;

	BF_MLX5_SET(qpc, BF_QPC_ST, BF_QPC_ST_QP1);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, BF_UV_PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, g->pdn);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, bf_mlx5_ib_of(g->u)->uar);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, LOCAL_UIDX);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, g->cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, g->cqn);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, LOG_SQ);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, LOG_RQ);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_STRIDE, 0); /* one data segment */
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, g->mem->va + QP_DBR_AT);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, g->mem->va + RQ_AT);
	err = bf_mlx5_ib_cmd(g->u, BF_MLX5_CMD_CREATE_QP, in, sizeof(in), out, sizeof(out));
	g->qpn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	g->has_qp = !err;
	if (err)
		return err;
	BF_EMIT(g->u->sim, g->u->actor, uverbs_qp1, .qpn = g->qpn, .cqn = g->cqn);
	return start(g);
}

int bf_mlx5_ib_mad_open(struct bf_uverbs *u, bf_uverbs_mad_fn *receive, void *owner)
{
	struct bf_mlx5_ib_gsi *g;
	int err;

	if (bf_mlx5_ib_of(u)->gsi)
		return -EBUSY;
	g = calloc(1, sizeof(*g));
	if (!g)
		return bf_fail(&u->sim->error, -ENOMEM, "%s: no memory for queue pair 1", u->opts.name);
	*g = (struct bf_mlx5_ib_gsi){ .u = u, .receive = receive, .owner = owner };
	err = open_memory(g);
	if (!err)
		err = bf_mlx5_ib_simple(u, BF_MLX5_CMD_ALLOC_PD, 0, &g->pdn);
	g->has_pd = !err;
	err = err ? err : open_key(g);
	err = err ? err : open_cq(g);
	err = err ? err : open_qp(g);
	if (err) {
		bf_mlx5_ib_gsi_close(g);
		return bf_fail(&u->sim->error, err, "%s: the device refuses queue pair 1", u->opts.name);
	}
	bf_mlx5_ib_of(u)->gsi = g;
	arm(g);
	return 0;
}

void bf_mlx5_ib_gsi_close(struct bf_mlx5_ib_gsi *g)
{
	if (!g)
		return;
	if (g->has_qp)
		bf_mlx5_ib_simple(g->u, BF_MLX5_CMD_DESTROY_QP, g->qpn, NULL);
	if (g->has_cq)
		bf_mlx5_ib_simple(g->u, BF_MLX5_CMD_DESTROY_CQ, g->cqn, NULL);
	if (g->has_key)
		bf_mlx5_ib_simple(g->u, BF_MLX5_CMD_DESTROY_MKEY, g->key >> 8, NULL);
	if (g->has_pd)
		bf_mlx5_ib_simple(g->u, BF_MLX5_CMD_DEALLOC_PD, g->pdn, NULL);
	if (g->mapped)
		bf_ioas_unmap(g->u->opts.ioas, g->mem->va, g->mem->size);
	if (g->mem)
		bf_region_destroy(g->mem);
	free(g);
}

void bf_mlx5_ib_mad_close(struct bf_uverbs *u)
{
	bf_mlx5_ib_gsi_close(bf_mlx5_ib_of(u)->gsi);
	bf_mlx5_ib_of(u)->gsi = NULL;
}
