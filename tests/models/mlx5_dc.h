/* DC targets and WQEs of DC initiators as bytes, on top of the rig. */
#ifndef BELFRY_TESTS_MLX5_DC_H
#define BELFRY_TESTS_MLX5_DC_H

#include "tests/models/mlx5_rig.h"

#define DC_KEY 0x5623ceafull /* what NVSHMEM uses */

struct dc_target {
	struct rig_node *node;
	struct rig_cq *cq;
	uint32_t dctn, port;
	uint64_t key;
};

struct dc_target_opts {
	uint32_t port;      /* 0: 1 */
	uint32_t no_access; /* 1 read, 2 write, 4 atomics */
	uint32_t mtu;       /* 0: 5 */
	bool full;          /* refuses half handshakes */
	uint32_t srqn;      /* 0: none */
};

static inline void dc_target_open(struct rig_node *n, struct dc_target *t, struct rig_cq *cq, uint64_t key,
				  const struct dc_target_opts *o)
{
	uint8_t in[BF_CREATE_DCT_LEN] = { 0 }, *dctc = in + BF_DCT_DCTC;

	*t = (struct dc_target){ .node = n, .cq = cq, .port = o->port ? o->port : 1, .key = key };
	BF_MLX5_SET(dctc, BF_DCTC_CQN, cq->cqn);
	BF_MLX5_SET(dctc, BF_DCTC_PD, n->pd);
	BF_MLX5_SET(dctc, BF_DCTC_SRQN, o->srqn);
	BF_MLX5_SET(dctc, BF_DCTC_USER_INDEX, 0xdc7);
	BF_MLX5_SET(dctc, BF_DCTC_ATOMIC_MODE, 3);
	BF_MLX5_SET(dctc, BF_DCTC_RRE, !(o->no_access & 1));
	BF_MLX5_SET(dctc, BF_DCTC_RWE, !(o->no_access & 2));
	BF_MLX5_SET(dctc, BF_DCTC_RAE, !(o->no_access & 4));
	BF_MLX5_SET(dctc, BF_DCTC_FULL_HANDSHAKE, o->full);
	BF_MLX5_SET(dctc, BF_DCTC_MTU, o->mtu ? o->mtu : 5);
	BF_MLX5_SET(dctc, BF_DCTC_PORT, o->port);
	BF_MLX5_SET(dctc, BF_DCTC_HOP_LIMIT, 64);
	bf_put_be64(dctc + BF_DCTC_ACCESS_KEY, key);
	t->dctn = rig_do(n, BF_MLX5_CMD_CREATE_DCT, in, sizeof(in));
}

static inline void dc_query(struct rig_node *n, uint32_t dctn, uint8_t out[BF_DCT_DCTC + BF_DCTC_LEN])
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_DCT);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, dctn);
	RIG_MUST(!rig_cmd(n, in, sizeof(in), out, BF_DCT_DCTC + BF_DCTC_LEN));
}

/* An initiator in RTS. */
static inline void dc_initiator_open(struct rig_node *n, struct rig_qp *q, struct rig_cq *cq,
				     const struct rig_qp_opts *o)
{
	struct rig_qp_opts dci = *o;

	dci.st = BF_QPC_ST_DCI;
	dci.no_rq = true;
	rig_qp_open(n, q, cq, cq, &dci);
	rig_connect(q, q, &dci);
}

#define DC_FULL 1u    /* address vector of 48 bytes */
#define DC_STREAM 16u /* times the stream channel */

/* Writes control segment's flags and the address vector. Returns where the next segment begins. */
static inline uint32_t dc_head(uint8_t *w, const struct dc_target *t, uint8_t flags, uint32_t form)
{
	struct bf_port_info info;

	bf_port_info(bf_mlx5_port(t->node->dev, t->port), &info);
	bf_put_be16(w + 9, (uint16_t)(form / DC_STREAM));
	w[11] = flags;
	bf_put_be64(w + 16, t->key);
	bf_put_be32(w + 24, t->dctn | (form & DC_FULL ? BF_MLX5_AV_EXT : 0));
	if (!(form & DC_FULL)) {
		bf_put_be16(w + 30, (uint16_t)info.ipv4);
		return 32;
	}
	memcpy(w + 36, info.mac, 6);
	w[43] = 64;
	w[58] = w[59] = 0xff;
	bf_put_be32(w + 60, info.ipv4);
	return 64;
}

/* WRITE or READ. Offsets are into the nodes' data buffers. */
static inline uint16_t dc_rdma(struct rig_qp *q, const struct dc_target *t, uint32_t form, uint32_t opcode,
			       uint64_t local, uint64_t remote, uint32_t len, uint8_t flags)
{
	uint8_t w[128] = { 0 };
	uint32_t at = dc_head(w, t, flags, form);

	at += rig_put_raddr(w + at, t->node->data_va + remote, t->node->key);
	if (len)
		at += rig_put_data(w + at, len, q->node->key, q->node->data_va + local);
	return rig_post(q, w, opcode, 0, at / 16);
}

/* SEND. */
static inline uint16_t dc_send(struct rig_qp *q, const struct dc_target *t, uint32_t form, uint64_t local, uint32_t len,
			       uint8_t flags)
{
	uint8_t w[128] = { 0 };
	uint32_t at = dc_head(w, t, flags, form);

	at += rig_put_data(w + at, len, q->node->key, q->node->data_va + local);
	return rig_post(q, w, BF_MLX5_OP_SEND, 0, at / 16);
}

/* WRITE with inline data. */
static inline uint16_t dc_inline(struct rig_qp *q, const struct dc_target *t, uint32_t form, uint64_t remote,
				 const void *data, uint32_t len, uint8_t flags)
{
	uint8_t w[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB] = { 0 };
	uint32_t at = dc_head(w, t, flags, form);

	at += rig_put_raddr(w + at, t->node->data_va + remote, t->node->key);
	bf_put_be32(w + at, BF_MLX5_INLINE_FLAG | len);
	memcpy(w + at + 4, data, len);
	return rig_post(q, w, BF_MLX5_OP_RDMA_WRITE, 0, at / 16 + (4 + len + 15) / 16);
}

/* Fetch-and-add of 8 bytes. */
static inline uint16_t dc_add(struct rig_qp *q, const struct dc_target *t, uint32_t form, uint64_t local,
			      uint64_t remote, uint64_t value, uint8_t flags)
{
	uint8_t w[128] = { 0 };
	uint32_t at = dc_head(w, t, flags, form);

	at += rig_put_raddr(w + at, t->node->data_va + remote, t->node->key);
	bf_put_be64(w + at, value);
	at += 16;
	at += rig_put_data(w + at, 8, q->node->key, q->node->data_va + local);
	return rig_post(q, w, BF_MLX5_OP_ATOMIC_FA, 0, at / 16);
}

#endif
