#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "tools/timing/rdma_internal.h"

#define LOG_CQ 12u
#define LOG_RQ 6u
#define ALL_RIGHTS 0x7c00u /* A RW RR LW LR in the first dword of a key's context */
#define KEY_VARIANT 0x11u
#define SIGNALLED 0x08u

static int command(struct bf_perf_pair *p, struct bf_perf_node *n, uint32_t opcode, uint8_t *in, size_t len,
		   uint32_t *number)
{
	uint8_t out[16] = { 0 };
	uint32_t status;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	if (bf_mlx5_cmd(n->dev, in, len, out, sizeof(out)))
		return bf_fail(p->err, -EINVAL, "the NIC does not know command 0x%x", opcode);
	status = BF_MLX5_GET(out, BF_CMD_OUT_STATUS);
	if (status)
		return bf_fail(p->err, -EINVAL, "command 0x%x: status 0x%x", opcode, status);
	if (number)
		*number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return 0;
}

static uint8_t *take(struct bf_perf_node *n, bool gpu, uint64_t bytes, uint64_t *va)
{
	struct bf_region *r = gpu ? n->vram : n->host;
	uint64_t *used = gpu ? &n->vram_used : &n->host_used;
	uint8_t *at = r->bytes + *used;

	*used += (bytes + 4095) & ~4095ull;
	if (*used > r->size)
		return NULL;
	if (va)
		*va = bf_va(r, at);
	return at;
}

static uint64_t va_of(const struct bf_perf_node *n, const uint8_t *at)
{
	const struct bf_region *v = n->vram;

	return at >= v->bytes && at < v->bytes + v->size ? bf_va(v, at) : bf_va(n->host, at);
}

/* One key for all memory of the node. */
static int open_key(struct bf_perf_pair *p, struct bf_perf_node *n)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;
	uint64_t from = n->host->va < n->vram->va ? n->host->va : n->vram->va;
	uint64_t host_end = n->host->va + n->host->size, vram_end = n->vram->va + n->vram->size;
	uint32_t index = 0;
	int rc;

	bf_put_be32(mkc, ALL_RIGHTS);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_KEY, KEY_VARIANT);
	BF_MLX5_SET(mkc, BF_MKC_PD, n->pd);
	bf_put_be64(mkc + BF_MKC_START, from);
	bf_put_be64(mkc + BF_MKC_SIZE, (host_end > vram_end ? host_end : vram_end) - from);
	rc = command(p, n, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in), &index);
	n->key = index << 8 | KEY_VARIANT;
	return rc;
}

static int open_cq(struct bf_perf_pair *p, struct bf_perf_node *n, uint8_t **ring, uint8_t **dbr, uint32_t *cqn)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, *cqc = in + BF_CREATE_CQ_CQC;

	*ring = take(n, p->run.gpu_queue, 64u << LOG_CQ, NULL);
	*dbr = take(n, p->run.gpu_queue, 8, NULL);
	if (!*ring || !*dbr)
		return bf_fail(p->err, -ENOMEM, "no room for a completion queue");
	memset(*ring, 0xff, 64u << LOG_CQ);
	BF_MLX5_SET(cqc, BF_CQC_OI, 1);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, LOG_CQ);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, n->uar);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, va_of(n, *dbr));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, va_of(n, *ring));
	return command(p, n, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in), cqn);
}

static int open_qp(struct bf_perf_pair *p, struct bf_perf_node *n, struct bf_perf_qp *q)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC;
	uint32_t scq = 0, rcq = 0;
	int rc = open_cq(p, n, &q->cq, &q->cq_dbr, &scq);

	if (!rc)
		rc = open_cq(p, n, &q->rcq, &q->rcq_dbr, &rcq);
	if (rc)
		return rc;
	q->rq = take(n, p->run.gpu_queue, (16u << LOG_RQ) + (64ull << p->log_sq), NULL);
	q->dbr = take(n, p->run.gpu_queue, 8, NULL);
	if (!q->rq || !q->dbr)
		return bf_fail(p->err, -ENOMEM, "no room for a queue pair");
	q->sq = q->rq + (16u << LOG_RQ);
	BF_MLX5_SET(qpc, BF_QPC_PD, n->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, LOG_RQ);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, p->log_sq);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, n->uar);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, scq);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, rcq);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_OWN);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, va_of(n, q->dbr));
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, va_of(n, q->rq));
	return command(p, n, BF_MLX5_CMD_CREATE_QP, in, sizeof(in), &q->qpn);
}

static int modify(struct bf_perf_pair *p, struct bf_perf_node *n, uint32_t opcode, const struct bf_perf_qp *q,
		  struct bf_perf_node *peer, const struct bf_perf_qp *to)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
	struct bf_port_info info;

	bf_port_info(bf_mlx5_port(peer->dev, 1), &info);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->qpn);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
	BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
	BF_MLX5_SET(qpc, BF_QPC_RAE, 1);
	BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, 3);
	BF_MLX5_SET(qpc, BF_QPC_MTU, p->run.mtu);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 30);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, to->qpn);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, 12);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, 4);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, 4);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, 7);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, 7);
	BF_MLX5_SET(path, BF_PATH_ACK_TIMEOUT, 14);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, 64);
	path[BF_PATH_RGID + 10] = path[BF_PATH_RGID + 11] = 0xff;
	bf_put_be32(path + BF_PATH_RGID + 12, info.ipv4);
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, bf_get_be16(info.mac));
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(info.mac + 2));
	return command(p, n, opcode, in, sizeof(in), NULL);
}

static int connect_qp(struct bf_perf_pair *p, uint32_t from, uint32_t q)
{
	static const uint32_t steps[] = { BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_RTR2RTS_QP };
	struct bf_perf_node *n = &p->node[from], *peer = &p->node[!from];
	int rc = 0;

	for (size_t i = 0; !rc && i < BF_ARRAY_LEN(steps); i++)
		rc = modify(p, n, steps[i], &n->qp[q], peer, &peer->qp[q]);
	return rc;
}

static int open_region(struct bf_perf_node *n, const char *name, enum bf_mem_kind kind, uint64_t bytes,
		       struct bf_region **out)
{
	const struct bf_region_opts o = { .name = name, .kind = kind, .size = bytes };
	int rc = bf_region_create(&n->space, &o, out);

	return rc ? rc : bf_ioas_map_region(&n->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

/* Memory first: a page of data at least, and the queues. */
static int open_memory(struct bf_perf_pair *p, struct bf_perf_node *n)
{
	const uint64_t data = (p->run.size + 8191) & ~4095ull;
	const uint64_t queue = (2 * (64ull << LOG_CQ) + 4 * 4096ull + (16ull << LOG_RQ) + (64ull << p->log_sq) + 4096);
	int rc = open_region(n, "host", BF_MEM_DRAM, 2 * data + p->run.qps * queue + 65536, &n->host);

	if (!rc)
		rc = open_region(n, "vram", BF_MEM_VRAM, 2 * data + p->run.qps * queue + 65536, &n->vram);
	if (rc)
		return rc;
	n->out = take(n, p->run.gpu_data || (p->run.gpu_source && n == &p->node[0]), data, &n->out_va);
	n->in = take(n, p->run.gpu_data, data, &n->in_va);
	return n->out && n->in ? 0 : -ENOMEM;
}

static int open_node(struct bf_perf_pair *p, uint32_t i)
{
	struct bf_perf_node *n = &p->node[i];
	const char *name = i ? "nic1" : "nic0";
	const struct bf_mlx5_opts opts = { .name = name,
					   .profile = p->run.nic,
					   .space = &n->space,
					   .ioas = &n->ioas,
					   .fabric = p->fabric,
					   .ipv4 = { 0x0a000001u + i } };
	uint8_t pd[16] = { 0 }, uar[16] = { 0 };
	int rc = bf_space_init(&n->space, p->sim, name, i);

	if (!rc)
		rc = bf_ioas_init(&n->ioas, p->sim, name, 4096);
	n->opened = !rc;
	if (!rc)
		rc = open_memory(p, n);
	if (!rc)
		rc = bf_mlx5_create(p->sim, &opts, &n->dev);
	if (rc)
		return bf_fail(p->err, rc, "%s", p->sim->error.text);
	rc = command(p, n, BF_MLX5_CMD_ALLOC_PD, pd, sizeof(pd), &n->pd);
	if (!rc)
		rc = command(p, n, BF_MLX5_CMD_ALLOC_UAR, uar, sizeof(uar), &n->uar);
	if (!rc)
		rc = open_key(p, n);
	n->qp = calloc(p->run.qps, sizeof(*n->qp));
	for (uint32_t q = 0; !rc && q < p->run.qps; q++)
		rc = open_qp(p, n, &n->qp[q]);
	return rc;
}

int bf_perf_pair_open(struct bf_perf_pair *p, const struct bf_perf_run *run, struct bf_error *err)
{
	uint32_t blocks;
	int rc;

	*p = (struct bf_perf_pair){ .run = *run, .err = err, .log_sq = 6 };
	p->run.qps = run->qps ? run->qps : 1;
	p->run.depth = run->depth ? run->depth : 1;
	blocks = p->run.depth * (run->inline_max >= run->size ? 5 : 1) + 16;
	while (1u << p->log_sq < blocks && p->log_sq < 15)
		p->log_sq++;
	rc = bf_sim_create(1, &p->sim);
	if (!rc)
		rc = bf_fabric_create(p->sim, &p->fabric);
	for (uint32_t i = 0; !rc && i < 2; i++)
		rc = open_node(p, i);
	for (uint32_t q = 0; !rc && q < p->run.qps; q++)
		for (uint32_t i = 0; !rc && i < 2; i++)
			rc = connect_qp(p, i, q);
	if (rc)
		bf_perf_pair_close(p);
	return rc;
}

void bf_perf_pair_close(struct bf_perf_pair *p)
{
	for (uint32_t i = 0; i < 2; i++)
		if (p->node[i].dev)
			bf_mlx5_destroy(p->node[i].dev);
	bf_fabric_destroy(p->fabric);
	for (uint32_t i = 0; i < 2; i++) {
		if (p->node[i].opened) {
			bf_ioas_fini(&p->node[i].ioas);
			bf_space_fini(&p->node[i].space);
		}
		free(p->node[i].qp);
	}
	if (p->sim)
		bf_sim_destroy(p->sim);
}

/* ---- posting ---- */

static uint8_t opcode_of(enum bf_perf_op op)
{
	static const uint8_t codes[] = { [BF_PERF_WRITE] = BF_MLX5_OP_RDMA_WRITE,
					 [BF_PERF_WRITE_IMM] = BF_MLX5_OP_RDMA_WRITE_IMM,
					 [BF_PERF_SEND] = BF_MLX5_OP_SEND,
					 [BF_PERF_READ] = BF_MLX5_OP_RDMA_READ,
					 [BF_PERF_FETCH_ADD] = BF_MLX5_OP_ATOMIC_FA };

	return codes[op];
}

/* Behind the control segment. Returns the bytes so far. */
static uint32_t put_segments(struct bf_perf_pair *p, const struct bf_perf_node *n, const struct bf_perf_node *peer,
			     uint8_t *w)
{
	const bool in_entry = p->run.size && p->run.size <= p->run.inline_max && p->run.op <= BF_PERF_SEND;
	const bool pulls = p->run.op == BF_PERF_READ;
	uint32_t at = 16;

	if (p->run.op != BF_PERF_SEND) {
		bf_put_be64(w + at, pulls ? peer->out_va : peer->in_va);
		bf_put_be32(w + at + 8, peer->key);
		at += 16;
	}
	if (p->run.op == BF_PERF_FETCH_ADD) {
		bf_put_be64(w + at, 1);
		at += 16;
	}
	if (in_entry) {
		bf_put_be32(w + at, 0x80000000u | (uint32_t)p->run.size);
		memcpy(w + at + 4, n->out, p->run.size);
		return at + 4 + (uint32_t)p->run.size;
	}
	if (p->run.size) {
		bf_put_be32(w + at, (uint32_t)p->run.size);
		bf_put_be32(w + at + 4, n->key);
		bf_put_be64(w + at + 8, pulls || p->run.op == BF_PERF_FETCH_ADD ? n->in_va : n->out_va);
		at += 16;
	}
	return at;
}

/* libmlx5 stores an entry with its payload in it as a whole, where the buffer takes it. */
static void ring(struct bf_perf_pair *p, struct bf_perf_node *n, struct bf_perf_qp *q, const uint8_t *entry,
		 uint32_t len)
{
	const uint64_t at = BF_MLX5_UAR_BF + q->bf_half;
	uint8_t bell[8];

	bf_put_be32(q->dbr + 4, q->sq_pi);
	bf_put_be32(bell, (uint32_t)q->sq_pi << 8);
	bf_put_be32(bell + 4, q->qpn << 8);
	bf_mmio_post(bf_mlx5_uar(n->dev, n->uar), at, p->run.blueflame ? entry : bell, p->run.blueflame ? 64 : 8);
	for (uint32_t i = 64; p->run.blueflame && len <= BF_MLX5_BF_BUF && i < len; i += 64)
		bf_mmio_post(bf_mlx5_uar(n->dev, n->uar), at + i, entry + i, 64);
	q->bf_half ^= BF_MLX5_BF_BUF;
}

void bf_perf_post(struct bf_perf_pair *p, uint32_t from, uint32_t qi, bool signalled, uint8_t mark)
{
	struct bf_perf_node *n = &p->node[from];
	struct bf_perf_qp *q = &n->qp[qi];
	uint8_t w[BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB] = { 0 };
	const uint32_t mask = (64u << p->log_sq) - 1;
	uint32_t len, ds;

	if (p->run.size && p->run.op <= BF_PERF_SEND)
		n->out[p->run.size - 1] = mark;
	len = put_segments(p, n, &p->node[!from], w);
	ds = (len + 15) / 16;
	bf_put_be32(w, (uint32_t)q->sq_pi << 8 | opcode_of(p->run.op));
	bf_put_be32(w + 4, q->qpn << 8 | ds);
	w[11] = signalled ? SIGNALLED : 0;
	for (uint32_t i = 0; i < ds * 16; i += 16)
		memcpy(q->sq + (((uint32_t)q->sq_pi * 64 + i) & mask), w + i, 16);
	q->sq_pi = (uint16_t)(q->sq_pi + (ds + 3) / 4);
	q->posted++;
	ring(p, n, q, w, ds * 16);
}

void bf_perf_post_recv(struct bf_perf_pair *p, uint32_t i, uint32_t qi)
{
	struct bf_perf_node *n = &p->node[i];
	struct bf_perf_qp *q = &n->qp[qi];
	uint8_t *at = q->rq + (q->rq_pi & ((1u << LOG_RQ) - 1)) * 16u;

	bf_put_be32(at, (uint32_t)p->run.size);
	bf_put_be32(at + 4, n->key);
	bf_put_be64(at + 8, n->in_va);
	q->rq_pi++;
	bf_put_be32(q->dbr, q->rq_pi);
}

static int poll_ring(struct bf_perf_pair *p, const uint8_t *ring, uint8_t *dbr, uint32_t *ci)
{
	int n = 0;

	for (;; n++) {
		const uint8_t *c = ring + (*ci & ((1u << LOG_CQ) - 1)) * 64ull;
		uint8_t opcode = c[63] >> 4;

		if (opcode == BF_MLX5_CQE_INVALID || (c[63] & 1u) != (*ci >> LOG_CQ & 1u))
			break;
		if (opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR)
			return bf_fail(p->err, -EIO, "a completion with syndrome 0x%x", c[55]);
		++*ci;
	}
	if (n)
		bf_put_be32(dbr, *ci & 0xffffff);
	return n;
}

int bf_perf_sends_done(struct bf_perf_pair *p, uint32_t n, uint32_t q)
{
	struct bf_perf_qp *qp = &p->node[n].qp[q];

	return poll_ring(p, qp->cq, qp->cq_dbr, &qp->cqe_at);
}

int bf_perf_recvs_done(struct bf_perf_pair *p, uint32_t n, uint32_t q)
{
	struct bf_perf_qp *qp = &p->node[n].qp[q];

	return poll_ring(p, qp->rcq, qp->rcq_dbr, &qp->recv_at);
}
