/*
 * Two (or more) mlx5 devices on one fabric, and a poster that writes WQEs, doorbell records and doorbells as bytes, the
 * way a driver does. For tests and benchmarks of the model; no agent, no driver code.
 */
#ifndef BELFRY_TESTS_MLX5_RIG_H
#define BELFRY_TESTS_MLX5_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/device_internal.h"
#include "models/mlx5/mlx5.h"
#include "models/mlx5/wqe.h"

#define RIG_NODES 2
#define RIG_MEM (16u << 20)
#define RIG_VECTORS 4
#define RIG_DATA (1u << 20) /* data buffer of a node, covered by one key with all rights */
#define RIG_MUST(x)                                                                                                    \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct rig_node {
	struct rig *rig;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_mlx5 *dev;
	struct bf_region *mem;
	uint64_t used;
	uint32_t pd, uar, ipv4;
	uint8_t *data;
	uint64_t data_va;
	uint32_t key; /* of the data buffer */
	uint32_t eqn; /* that CQs get from now on; 0: none */
	uint32_t irqs[RIG_VECTORS];
};

struct rig {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct rig_node node[RIG_NODES];
	uint32_t ports, uar_pages; /* of each device; 0: what it is by itself */
};

struct rig_cq {
	struct rig_node *node;
	uint32_t cqn, entries, ci;
	uint8_t *ring;
	uint8_t *dbr;
	bool collapsed;
};

struct rig_qp_opts {
	uint32_t log_sq, log_rq, log_stride;
	uint32_t mtu;     /* 1..5; 0: 5 */
	uint32_t psn;     /* both directions */
	uint32_t timeout; /* 0: 8 (1 ms) */
	uint32_t retry, rnr_retry, rnr_timer;
	uint32_t log_rd; /* both limits */
	uint32_t no_access, atomic_mode;
	bool no_retry, no_rq, no_timeout;
	uint32_t port; /* 0: 1; the peer is reached at the same */
	uint32_t st;   /* BF_QPC_ST_* */
	uint32_t qkey;
	uint32_t log_streams, log_errored;
	bool full;      /* handshake */
	bool block_own; /* multicasts */
	uint32_t srqn;  /* with no_rq */
	uint32_t cs_req, cs_res;
	uint32_t dbr_mode, order; /* BF_DBR_*, BF_DP_ORDERING_* */
	bool companion, force;
	uint32_t *status; /* of CREATE_QP, which must succeed where nobody asks */
};

struct rig_qp {
	struct rig_node *node;
	struct rig_cq *scq, *rcq;
	uint32_t qpn, sq_size, rq_size, stride;
	uint8_t *sq, *rq, *dbr;
	uint16_t sq_pi, rq_pi;
	uint32_t bf_half;
};

/*
 * Whoever is refused is told why: which field, what it was, what is allowed. Without a word are commands by which
 * drivers find out what there is (registers, addresses of ports, kinds of objects); an unknown one says it by its
 * status.
 */
static inline void rig_says_why(const struct rig_node *n, uint32_t opcode, uint32_t status)
{
	const bool asks = opcode == BF_MLX5_CMD_ACCESS_REG || opcode == BF_MLX5_CMD_QUERY_ROCE_ADDRESS ||
			  opcode == BF_MLX5_CMD_CREATE_GENERAL_OBJECT;

	if (!status || status == BF_MLX5_CMD_BAD_OP || asks || n->dev->refusal[0])
		return;
	fprintf(stderr, "command 0x%x: status 0x%x, and no word why\n", opcode, status);
	abort();
}

static inline uint32_t rig_cmd(struct rig_node *n, const void *in, size_t in_len, void *out, size_t out_len)
{
	uint32_t status;

	RIG_MUST(!bf_mlx5_cmd(n->dev, in, in_len, out, out_len));
	status = BF_MLX5_GET(out, BF_CMD_OUT_STATUS);
	rig_says_why(n, BF_MLX5_GET(in, BF_CMD_OPCODE), status);
	return status;
}

/* A command that must succeed; returns the number in its answer. */
static inline uint32_t rig_do(struct rig_node *n, uint32_t opcode, uint8_t *in, size_t in_len)
{
	uint8_t out[16];
	uint32_t status;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	status = rig_cmd(n, in, in_len, out, sizeof(out));
	if (status)
		fprintf(stderr, "command 0x%x: status 0x%x\n", opcode, status);
	RIG_MUST(!status);
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
}

static inline uint32_t rig_simple(struct rig_node *n, uint32_t opcode, uint32_t number)
{
	uint8_t in[16] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	return rig_cmd(n, in, sizeof(in), out, sizeof(out));
}

static inline uint64_t rig_va(const struct rig_node *n, const void *p)
{
	return bf_va(n->mem, p);
}

static inline uint8_t *rig_alloc(struct rig_node *n, uint64_t bytes)
{
	uint8_t *p = n->mem->bytes + n->used;

	n->used += (bytes + 4095) & ~4095ull;
	RIG_MUST(n->used <= n->mem->size);
	return p;
}

#define RIG_ALL_RIGHTS 0x7c00u /* A RW RR LW LR in the first dword of the context */

static inline uint32_t rig_mkey(struct rig_node *n, uint32_t pd, uint64_t va, uint64_t len, uint32_t rights,
				uint8_t variant)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;

	bf_put_be32(mkc, rights);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_KEY, variant);
	BF_MLX5_SET(mkc, BF_MKC_EN_RINVAL, 1);
	BF_MLX5_SET(mkc, BF_MKC_PD, pd);
	bf_put_be64(mkc + BF_MKC_START, va);
	bf_put_be64(mkc + BF_MKC_SIZE, len);
	return rig_do(n, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in)) << 8 | variant;
}

#define RIG_PORT_IPV4(ipv4, port) ((ipv4) + ((port)-1) * 0x10000)

static inline void rig_irq(void *node, uint32_t vector)
{
	((struct rig_node *)node)->irqs[vector % RIG_VECTORS]++;
}

static inline void rig_open_node(struct rig *r, uint32_t i, const struct bf_mlx5_profile *profile)
{
	struct rig_node *n = &r->node[i];
	struct bf_mlx5_opts opts = { .profile = profile, .space = &n->space, .ioas = &n->ioas, .fabric = r->fabric };
	struct bf_region_opts mem = { .name = "host", .kind = BF_MEM_DRAM, .size = RIG_MEM };
	uint8_t in[16] = { 0 };
	char name[16];

	snprintf(name, sizeof(name), "nic%u", i);
	n->rig = r;
	n->ipv4 = opts.ipv4[0] = 0x0a000001 + i;
	opts.ipv4[1] = RIG_PORT_IPV4(n->ipv4, 2);
	opts.ports = r->ports;
	opts.uar_pages = r->uar_pages;
	opts.name = name;
	opts.irq = rig_irq;
	opts.irq_owner = n;
	RIG_MUST(!bf_space_init(&n->space, r->sim, name, i));
	RIG_MUST(!bf_ioas_init(&n->ioas, r->sim, name, 4096));
	RIG_MUST(!bf_region_create(&n->space, &mem, &n->mem));
	RIG_MUST(!bf_ioas_map_region(&n->ioas, n->mem, BF_IOMMU_READ | BF_IOMMU_WRITE));
	RIG_MUST(!bf_mlx5_create(r->sim, &opts, &n->dev));
	n->pd = rig_do(n, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in));
	memset(in, 0, sizeof(in));
	n->uar = rig_do(n, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));
	n->data = rig_alloc(n, RIG_DATA);
	n->data_va = rig_va(n, n->data);
	n->key = rig_mkey(n, n->pd, n->data_va, RIG_DATA, RIG_ALL_RIGHTS, 0x11);
}

static inline void rig_open_as(struct rig *r, uint64_t seed, const struct bf_mlx5_profile *profile, uint32_t ports,
			       uint32_t uar_pages)
{
	memset(r, 0, sizeof(*r));
	r->ports = ports;
	r->uar_pages = uar_pages;
	RIG_MUST(!bf_sim_create(seed, &r->sim));
	RIG_MUST(!bf_fabric_create(r->sim, &r->fabric));
	for (uint32_t i = 0; i < RIG_NODES; i++)
		rig_open_node(r, i, profile);
}

static inline void rig_open_ports(struct rig *r, uint64_t seed, const struct bf_mlx5_profile *profile, uint32_t ports)
{
	rig_open_as(r, seed, profile, ports, 0);
}

static inline void rig_open(struct rig *r, uint64_t seed, const struct bf_mlx5_profile *profile)
{
	rig_open_ports(r, seed, profile, 1);
}

static inline void rig_close(struct rig *r)
{
	for (uint32_t i = 0; i < RIG_NODES; i++)
		bf_mlx5_destroy(r->node[i].dev);
	bf_fabric_destroy(r->fabric);
	for (uint32_t i = 0; i < RIG_NODES; i++) {
		bf_ioas_fini(&r->node[i].ioas);
		bf_space_fini(&r->node[i].space);
	}
	bf_sim_destroy(r->sim);
}

/* `flags` 1: collapsed with overrun ignored (as NVSHMEM), 2: 128-byte CQEs, 4: overrun ignored. */
static inline void rig_cq_open(struct rig_node *n, struct rig_cq *cq, uint32_t log_size, uint32_t flags)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, *cqc = in + BF_CREATE_CQ_CQC;
	uint32_t size = flags & 0xa ? 128 : 64;

	*cq = (struct rig_cq){ .node = n, .entries = 1u << log_size, .collapsed = flags & 1 };
	cq->ring = rig_alloc(n, (uint64_t)size << log_size);
	cq->dbr = rig_alloc(n, 8);
	memset(cq->ring, 0xff, (size_t)size << log_size);
	BF_MLX5_SET(cqc, BF_CQC_CC, flags & 1);
	BF_MLX5_SET(cqc, BF_CQC_OI, (flags & 5) != 0);
	BF_MLX5_SET(cqc, BF_CQC_CQE_SZ, flags & 8 ? 2 : (flags & 2) != 0);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log_size);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, n->uar);
	BF_MLX5_SET(cqc, BF_CQC_EQN, n->eqn);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, rig_va(n, cq->dbr));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, rig_va(n, cq->ring));
	cq->cqn = rig_do(n, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in));
}

static inline void rig_qp_open(struct rig_node *n, struct rig_qp *q, struct rig_cq *scq, struct rig_cq *rcq,
			       const struct rig_qp_opts *o)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC;

	*q = (struct rig_qp){ .node = n,
			      .scq = scq,
			      .rcq = rcq,
			      .sq_size = 1u << o->log_sq,
			      .rq_size = o->no_rq ? 0 : 1u << o->log_rq,
			      .stride = 16u << o->log_stride };
	q->rq = rig_alloc(n, q->rq_size * q->stride + q->sq_size * 64 + 64);
	q->sq = q->rq + ((q->rq_size * q->stride + 63) & ~63u);
	q->dbr = rig_alloc(n, 8);
	BF_MLX5_SET(qpc, BF_QPC_ST, o->st);
	BF_MLX5_SET(qpc, BF_QPC_LOG_DCI_STREAMS, o->log_streams);
	BF_MLX5_SET(qpc, BF_QPC_LOG_DCI_ERRORED, o->log_errored);
	BF_MLX5_SET(qpc, BF_QPC_FULL_HANDSHAKE, o->full);
	BF_MLX5_SET(qpc, BF_QPC_BLOCK_LB_MC, o->block_own);
	BF_MLX5_SET(qpc, BF_QPC_PD, n->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, o->log_rq);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_STRIDE, o->log_stride);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, o->log_sq);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, n->uar);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, 0x77);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, scq->cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, rcq ? rcq->cqn : 0);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, o->srqn ? BF_QPC_RQ_SRQ : o->no_rq ? BF_QPC_RQ_NONE : BF_QPC_RQ_OWN);
	BF_MLX5_SET(qpc, BF_QPC_SRQN, o->srqn);
	BF_MLX5_SET(qpc, BF_QPC_CS_REQ, o->cs_req);
	BF_MLX5_SET(qpc, BF_QPC_CS_RES, o->cs_res);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, rig_va(n, q->dbr));
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, rig_va(n, q->rq));
	BF_MLX5_SET(qpc, BF_QPC_SEND_DBR_MODE, o->dbr_mode);
	BF_MLX5_SET(qpc, BF_QPC_CD_MASTER, o->companion);
	BF_MLX5_SET(qpc, BF_QPC_DP_ORDERING_0, o->order & 1);
	BF_MLX5_SET(qpc, BF_QPC_DP_ORDERING_1, o->order >> 1);
	BF_MLX5_SET(qpc, BF_QPC_DP_ORDERING_FORCE, o->force);
	if (o->status) {
		uint8_t out[16];

		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_QP);
		*o->status = rig_cmd(n, in, sizeof(in), out, sizeof(out));
		q->qpn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
		return;
	}
	q->qpn = rig_do(n, BF_MLX5_CMD_CREATE_QP, in, sizeof(in));
}

/* Fills a modify command for the step `opcode`, towards `peer`. */
static inline void rig_modify_fill(uint8_t in[BF_MODIFY_QP_LEN], uint32_t opcode, const struct rig_qp *q,
				   const struct rig_qp *peer, const struct rig_qp_opts *o)
{
	uint8_t *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
	uint32_t port = o->port ? o->port : 1;
	struct bf_port_info info;

	memset(in, 0, BF_MODIFY_QP_LEN);
	bf_port_info(bf_mlx5_port(peer->node->dev, port), &info);
	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->qpn);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(path, BF_PATH_PORT, port);
	BF_MLX5_SET(qpc, BF_QPC_RRE, !(o->no_access & 1));
	BF_MLX5_SET(qpc, BF_QPC_RWE, !(o->no_access & 2));
	BF_MLX5_SET(qpc, BF_QPC_RAE, !(o->no_access & 4));
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, o->atomic_mode ? o->atomic_mode : 3);
	BF_MLX5_SET(qpc, BF_QPC_MTU, o->mtu ? o->mtu : 5);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 30);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, peer->qpn);
	BF_MLX5_SET(qpc, BF_QPC_Q_KEY, o->qkey);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_RCV_PSN, o->psn);
	BF_MLX5_SET(qpc, BF_QPC_NEXT_SEND_PSN, o->psn);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, o->rnr_timer ? o->rnr_timer : 1);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, o->log_rd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, o->log_rd);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, o->no_retry ? 0 : o->retry ? o->retry : 7);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, o->no_retry ? 0 : o->rnr_retry ? o->rnr_retry : 7);
	BF_MLX5_SET(path, BF_PATH_ACK_TIMEOUT, o->no_timeout ? 0 : o->timeout ? o->timeout : 8);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, 64);
	path[BF_PATH_RGID + 10] = path[BF_PATH_RGID + 11] = 0xff;
	bf_put_be32(path + BF_PATH_RGID + 12, info.ipv4);
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, bf_get_be16(info.mac));
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(info.mac + 2));
}

static inline uint32_t rig_modify(struct rig_qp *q, uint32_t opcode, const struct rig_qp *peer,
				  const struct rig_qp_opts *o)
{
	uint8_t in[BF_MODIFY_QP_LEN], out[16];

	rig_modify_fill(in, opcode, q, peer, o);
	return rig_cmd(q->node, in, sizeof(in), out, sizeof(out));
}

static inline void rig_connect(struct rig_qp *q, const struct rig_qp *peer, const struct rig_qp_opts *o)
{
	RIG_MUST(!rig_modify(q, BF_MLX5_CMD_RST2INIT_QP, peer, o));
	RIG_MUST(!rig_modify(q, BF_MLX5_CMD_INIT2RTR_QP, peer, o));
	RIG_MUST(!rig_modify(q, BF_MLX5_CMD_RTR2RTS_QP, peer, o));
}

/* Writes `ds` * 16 bytes of WQE with wrap, its control segment's first two words filled in. Returns its index. */
static inline uint16_t rig_post(struct rig_qp *q, uint8_t *wqe, uint32_t opcode, uint32_t opmod, uint32_t ds)
{
	uint16_t index = q->sq_pi;

	bf_put_be32(wqe, opmod << 24 | (uint32_t)index << 8 | opcode);
	bf_put_be32(wqe + 4, q->qpn << 8 | ds);
	for (uint32_t i = 0; i < ds * 16; i += 16)
		memcpy(q->sq + (((uint32_t)index * 64 + i) & (q->sq_size * 64 - 1)), wqe + i, 16);
	q->sq_pi = (uint16_t)(q->sq_pi + (ds + 3) / 4);
	return index;
}

static inline void rig_db(struct rig_qp *q)
{
	uint8_t bell[8];

	bf_put_be32(q->dbr + 4, q->sq_pi);
	bf_put_be32(bell, (uint32_t)q->sq_pi << 8);
	bf_put_be32(bell + 4, q->qpn << 8);
	bf_mmio_post(bf_mlx5_uar(q->node->dev, q->node->uar), BF_MLX5_UAR_BF + q->bf_half, bell, 8);
	q->bf_half ^= BF_MLX5_BF_BUF;
}

static inline uint32_t rig_put_data(uint8_t *p, uint32_t len, uint32_t key, uint64_t va)
{
	bf_put_be32(p, len);
	bf_put_be32(p + 4, key);
	bf_put_be64(p + 8, va);
	return 16;
}

static inline uint32_t rig_put_raddr(uint8_t *p, uint64_t va, uint32_t key)
{
	bf_put_be64(p, va);
	bf_put_be32(p + 8, key);
	bf_put_be32(p + 12, 0);
	return 16;
}

/* WRITE, WRITE_IMM or READ with one buffer. Offsets are into the nodes' data buffers. */
static inline uint16_t rig_rdma(struct rig_qp *q, uint32_t opcode, uint64_t local, uint64_t raddr, uint32_t rkey,
				uint32_t len, uint8_t flags)
{
	uint8_t w[64] = { 0 };

	w[11] = flags;
	bf_put_be32(w + 12, opcode == BF_MLX5_OP_RDMA_WRITE_IMM ? 0x1234abcd : 0);
	rig_put_raddr(w + 16, raddr, rkey);
	if (len)
		rig_put_data(w + 32, len, q->node->key, q->node->data_va + local);
	return rig_post(q, w, opcode, 0, len ? 3 : 2);
}

static inline uint16_t rig_send(struct rig_qp *q, uint32_t opcode, uint64_t local, uint32_t len, uint32_t imm,
				uint8_t flags)
{
	uint8_t w[64] = { 0 };

	w[11] = flags;
	bf_put_be32(w + 12, imm);
	if (len)
		rig_put_data(w + 16, len, q->node->key, q->node->data_va + local);
	return rig_post(q, w, opcode, 0, len ? 2 : 1);
}

static inline void rig_recv_sge(struct rig_qp *q, uint32_t i, uint32_t len, uint32_t key, uint64_t va)
{
	uint8_t *p = q->rq + (q->rq_pi & (q->rq_size - 1)) * q->stride + i * 16;

	rig_put_data(p, len, key, va);
	if ((i + 1) * 16 < q->stride)
		rig_put_data(p + 16, 0, BF_MLX5_INVALID_LKEY, 0);
}

static inline void rig_recv_post(struct rig_qp *q)
{
	q->rq_pi++;
	bf_put_be32(q->dbr, q->rq_pi);
}

static inline void rig_recv(struct rig_qp *q, uint64_t local, uint32_t len)
{
	rig_recv_sge(q, 0, len, q->node->key, q->node->data_va + local);
	rig_recv_post(q);
}

/* The next CQE of a plain CQ, or NULL. Updates the consumer index. */
static inline const struct bf_mlx5_cqe *rig_poll(struct rig_cq *cq)
{
	const struct bf_mlx5_cqe *c = (const void *)(cq->ring + (cq->ci & (cq->entries - 1)) * 64);
	uint32_t owner = (cq->ci & cq->entries) != 0;

	if (c->op_own >> 4 == BF_MLX5_CQE_INVALID || (c->op_own & 1u) != owner)
		return NULL;
	cq->ci++;
	bf_put_be32(cq->dbr, cq->ci & 0xffffff);
	return c;
}

static inline void rig_run(struct rig *r)
{
	RIG_MUST(bf_sim_run(r->sim, BF_NEVER) == BF_RUN_IDLE);
}

/* One connected pair: q[0] on node 0, q[1] on node 1, CQs of their own. */
struct rig_pair {
	struct rig rig;
	struct rig_cq scq[2], rcq[2];
	struct rig_qp q[2];
};

static inline void rig_pair_open_with(struct rig_pair *p, uint64_t seed, const struct bf_mlx5_profile *profile,
				      const struct rig_qp_opts *o, uint32_t log_cqes)
{
	rig_open(&p->rig, seed, profile);
	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&p->rig.node[i], &p->scq[i], log_cqes, 0);
		rig_cq_open(&p->rig.node[i], &p->rcq[i], log_cqes, 0);
		rig_qp_open(&p->rig.node[i], &p->q[i], &p->scq[i], &p->rcq[i], o);
	}
	rig_connect(&p->q[0], &p->q[1], o);
	rig_connect(&p->q[1], &p->q[0], o);
}

static inline void rig_pair_open(struct rig_pair *p, uint64_t seed, const struct bf_mlx5_profile *profile,
				 const struct rig_qp_opts *o)
{
	rig_pair_open_with(p, seed, profile, o, 10);
}

#define RIG_CQE 0x08 /* signalled */

#endif
