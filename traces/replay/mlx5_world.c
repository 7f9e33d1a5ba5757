/*
 * Devices, memory and queues for a replay, through nothing but command mailboxes: the captured side as captured, the
 * other end as it must have been.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bits.h"
#include "traces/replay/mlx5_internal.h"

#define MEMORY_MAX (1ull << 30)
#define ACK_TIMEOUT 14u /* 4.096 us << 14 = 67 ms, what perftest and ibv_rc_pingpong ask for */
#define PEER_SQ 64u

static int world_error(struct bf_replay *r, int rc, const char *what)
{
	return bf_fail(r->err, rc, "cannot build %s: %.200s", what, r->sim->error.text);
}

/* ---- memory ---- */

static int new_region(struct bf_replay *r, struct bf_replay_side_state *host, const char *name, uint64_t va,
		      uint64_t size, struct bf_region **out)
{
	const struct bf_region_opts o = { .name = name, .kind = BF_MEM_DRAM, .size = size, .va = va };
	int rc = bf_region_create(&host->space, &o, out);

	if (!rc)
		rc = bf_ioas_map_region(&host->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
	return rc ? world_error(r, rc, name) : 0;
}

static int by_address(const void *a, const void *b)
{
	const struct bf_replay_span *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Pages under the spans, merged where they touch. */
static void merge_spans(struct bf_replay_spans *s)
{
	size_t n = 0;

	if (s->count == 0)
		return;
	qsort(s->span, s->count, sizeof(*s->span), by_address);
	for (size_t i = 0; i < s->count; i++) {
		struct bf_replay_span p = {
			.lo = s->span[i].lo & ~(uint64_t)(BF_PAGE - 1),
			.hi = (s->span[i].hi + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1),
		};

		if (n && p.lo <= s->span[n - 1].hi) {
			if (p.hi > s->span[n - 1].hi)
				s->span[n - 1].hi = p.hi;
		} else {
			s->span[n++] = p;
		}
	}
	s->count = n;
}

static int build_memory(struct bf_replay *r, struct bf_replay_side_state *host)
{
	uint64_t total = r->max_scratch;

	merge_spans(&host->memory);
	for (size_t i = 0; i < host->memory.count; i++) {
		total += host->memory.span[i].hi - host->memory.span[i].lo;
		if (total > MEMORY_MAX)
			return bf_fail(r->err, -E2BIG,
				       "the captured entries reach over more than %" PRIu64 " MiB of memory",
				       (uint64_t)(MEMORY_MAX >> 20));
	}
	for (size_t i = 0; i < host->memory.count; i++) {
		const struct bf_replay_span *s = &host->memory.span[i];
		struct bf_region *region;
		int rc = new_region(r, host, "captured", s->lo, s->hi - s->lo, &region);

		if (rc)
			return rc;
	}
	return 0;
}

static uint8_t *new_record(struct bf_replay_side_state *host)
{
	return host->records->bytes + BF_MLX5_DBR_BYTES * host->records_used++;
}

/* ---- commands ---- */

/* Runs a command whose input is in `in`; `number` gets what it created (may be NULL). */
static int command(struct bf_replay *r, struct bf_replay_side_state *host, uint8_t *in, size_t len, uint32_t opcode,
		   uint32_t *number)
{
	uint8_t out[256] = { 0 };
	uint32_t status;
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	rc = bf_mlx5_cmd(host->dev, in, len, out, sizeof(out));
	if (rc)
		return bf_fail(r->err, rc, "command 0x%" PRIx32 " was not understood", opcode);
	status = BF_MLX5_GET(out, BF_CMD_OUT_STATUS);
	if (status)
		return bf_fail(r->err, -EINVAL,
			       "command 0x%" PRIx32 " failed with status 0x%" PRIx32 ", syndrome 0x%" PRIx32, opcode,
			       status, BF_MLX5_GET(out, BF_CMD_OUT_SYNDROME));
	if (number)
		*number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return 0;
}

static int take_number(struct bf_replay *r, struct bf_replay_side_state *host, enum bf_mlx5_object kind,
		       uint32_t number, const char *what)
{
	int rc = bf_mlx5_next_number(host->dev, kind, number);

	if (rc)
		return bf_fail(r->err, rc, "%s 0x%" PRIx32 " cannot be created: the number is %s", what, number,
			       rc == -EEXIST ? "taken already" : "beyond the device's limit");
	return 0;
}

static int create_key(struct bf_replay *r, struct bf_replay_side_state *host, const struct bf_replay_key *k,
		      uint32_t *key)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 };
	uint8_t *mkc = in + BF_CREATE_MKEY_MKC;
	uint32_t index;
	int rc;

	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, (k->access & BF_CAPTURE_LOCAL_WRITE) != 0);
	BF_MLX5_SET(mkc, BF_MKC_RW, (k->access & BF_CAPTURE_REMOTE_WRITE) != 0);
	BF_MLX5_SET(mkc, BF_MKC_RR, (k->access & BF_CAPTURE_REMOTE_READ) != 0);
	BF_MLX5_SET(mkc, BF_MKC_A, (k->access & BF_CAPTURE_REMOTE_ATOMIC) != 0);
	BF_MLX5_SET(mkc, BF_MKC_RELAXED_WRITE, (k->access & BF_CAPTURE_RELAXED) != 0);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffffu);
	BF_MLX5_SET(mkc, BF_MKC_KEY, k->key & 0xff);
	BF_MLX5_SET(mkc, BF_MKC_PD, host->pd);
	bf_put_be64(mkc + BF_MKC_START, k->lo);
	bf_put_be64(mkc + BF_MKC_SIZE, k->hi - k->lo);
	rc = k->key ? take_number(r, host, BF_MLX5_OBJ_MKEY, k->key >> 8, "key") : 0;
	if (!rc)
		rc = command(r, host, in, sizeof(in), BF_MLX5_CMD_CREATE_MKEY, &index);
	if (!rc && key)
		*key = index << 8;
	return rc;
}

static int destroy_key(struct bf_replay *r, struct bf_replay_side_state *host, uint32_t key)
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, key >> 8);
	return command(r, host, in, sizeof(in), BF_MLX5_CMD_DESTROY_MKEY, NULL);
}

int bf_replay_change_key(struct bf_replay *r, const struct bf_capture_mkey *m)
{
	struct bf_replay_side_state *host = &r->host[0];
	struct bf_replay_key *now = bf_replay_find_key(&host->keys, m->key);
	struct bf_replay_key k = {
		.key = m->key,
		.access = m->access,
		.lo = m->addr,
		.hi = m->addr + m->length,
		.listed = true,
	};
	int rc;

	if (now->access == k.access && now->lo == k.lo && now->hi == k.hi)
		return 0;
	rc = destroy_key(r, host, k.key);
	if (!rc)
		rc = create_key(r, host, &k, NULL);
	if (!rc)
		*now = k; /* the first of its number is the one in force */
	return rc;
}

static int create_cq(struct bf_replay *r, struct bf_replay_side_state *host, uint32_t entries, struct bf_region *ring,
		     uint8_t *dbrec, bool ignore_overrun, uint32_t *cqn)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 };
	uint8_t *cqc = in + BF_CREATE_CQ_CQC;

	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, bf_log2_up(entries));
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, host->uar_page);
	BF_MLX5_SET(cqc, BF_CQC_OI, ignore_overrun);
	BF_MLX5_SET(cqc, BF_CQC_CC, ignore_overrun);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, bf_va(host->records, dbrec));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, ring->va);
	/* As libmlx5 fills a new CQ (rdma-core providers/mlx5/cq.c mlx5_init_cq_buf). */
	for (uint64_t at = 63; at < ring->size; at += 64)
		ring->bytes[at] = BF_MLX5_CQE_INVALID << 4;
	return command(r, host, in, sizeof(in), BF_MLX5_CMD_CREATE_CQ, cqn);
}

struct qp_shape {
	uint32_t sq_wqebbs, rq_wqes, rq_stride_log2, user_index, cqn_snd, cqn_rcv;
	const struct bf_replay_srq *srq;
	struct bf_region *ring;
	uint8_t *dbrec;
};

static int create_qp(struct bf_replay *r, struct bf_replay_side_state *host, const struct qp_shape *s)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 };
	uint8_t *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3); /* migrated: the only state a new QP may have */
	BF_MLX5_SET(qpc, BF_QPC_PD, host->pd);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, host->uar_page);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, s->user_index);
	BF_MLX5_SET(qpc, BF_QPC_NO_SQ, s->sq_wqebbs == 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, bf_log2_up(s->sq_wqebbs));
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, s->srq ? BF_QPC_RQ_SRQ : s->rq_wqes ? 0 : BF_QPC_RQ_NONE);
	BF_MLX5_SET(qpc, BF_QPC_SRQN, s->srq ? s->srq->number : 0);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, bf_log2_up(s->rq_wqes));
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_STRIDE, s->rq_wqes ? s->rq_stride_log2 - 4 : 0);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, s->cqn_snd);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, s->cqn_rcv);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, bf_va(host->records, s->dbrec));
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, s->ring->va);
	return command(r, host, in, sizeof(in), BF_MLX5_CMD_CREATE_QP, NULL);
}

static void set_path(struct bf_replay *r, uint8_t *path, uint32_t remote_ipv4, uint32_t qpn)
{
	uint8_t mac[6] = { 0 };

	bf_fabric_resolve(r->fabric, remote_ipv4, mac);
	BF_MLX5_SET(path, BF_PATH_ACK_TIMEOUT, ACK_TIMEOUT);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, 64);
	/* IPv4-mapped GID: ::ffff:a.b.c.d (RoCEv2 annex A17). */
	bf_put_be16(path + BF_PATH_RGID + 10, 0xffff);
	bf_put_be32(path + BF_PATH_RGID + 12, remote_ipv4);
	/* Flow entropy from the queue pair, as Linux does (rdma_get_udp_sport): 0xc000 up. */
	BF_MLX5_SET(path, BF_PATH_UDP_SPORT, 0xc000u | (qpn & 0x3fff));
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, (uint32_t)mac[0] << 8 | mac[1]);
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, bf_get_be32(mac + 2));
}

/* RESET to INIT to RTR, and to RTS when it shall send. */
static int connect_qp(struct bf_replay *r, struct bf_replay_side_state *host, uint32_t qpn, uint32_t remote_qpn,
		      uint32_t remote_ipv4, bool sends, bool rnr_error)
{
	static const uint32_t steps[] = { BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_RTR2RTS_QP };
	int rc = 0;

	for (int i = 0; i < (sends ? 3 : 2) && !rc; i++) {
		uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
		uint8_t *qpc = in + BF_QP_QPC;

		BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
		BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
		BF_MLX5_SET(qpc, BF_QPC_MTU, bf_log2_up(r->mtu) - 7);
		BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 30);
		BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, remote_qpn);
		set_path(r, qpc + BF_QPC_PATH, remote_ipv4, qpn);
		BF_MLX5_SET(qpc, BF_QPC_LOG_SRA_MAX, 4);
		BF_MLX5_SET(qpc, BF_QPC_LOG_RRA_MAX, 4);
		BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, 7);
		BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, rnr_error ? 1 : 7); /* 7: for ever */
		BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, 12);
		BF_MLX5_SET(qpc, BF_QPC_ATOMIC_MODE, 3);
		BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
		BF_MLX5_SET(qpc, BF_QPC_RAE, 1);
		rc = command(r, host, in, sizeof(in), steps[i], NULL);
	}
	return rc;
}

/* ---- devices ---- */

static int open_host(struct bf_replay *r, int i, const char *name, uint32_t records)
{
	struct bf_replay_side_state *host = &r->host[i];
	struct bf_mlx5_profile profile = r->opts->profile ? *r->opts->profile : bf_mlx5_cx7;
	uint8_t in[16] = { 0 };
	char text[24];
	int rc;

	/* Numbers are the capture's: whatever fits into the fields shall exist. */
	profile.log_max_qp = profile.log_max_cq = profile.log_max_mkey = 24;
	host->ipv4 = 0x0a000001u + (uint32_t)i;
	rc = bf_space_init(&host->space, r->sim, name, (uint32_t)i);
	if (rc)
		return world_error(r, rc, name);
	host->space_ready = true;
	rc = bf_ioas_init(&host->ioas, r->sim, name, BF_PAGE);
	if (rc)
		return world_error(r, rc, name);
	host->ioas_ready = true;
	snprintf(text, sizeof(text), "nic%d", i);
	const struct bf_mlx5_opts o = {
		.name = text,
		.profile = &profile,
		.space = &host->space,
		.ioas = &host->ioas,
		.fabric = r->fabric,
		.ipv4 = { host->ipv4 },
	};
	/* Captured addresses are fixed, everything else lies where they leave room. */
	rc = build_memory(r, host);
	if (rc)
		return rc;
	rc = bf_mlx5_create(r->sim, &o, &host->dev);
	if (rc)
		return world_error(r, rc, "the device");
	rc = command(r, host, in, sizeof(in), BF_MLX5_CMD_ALLOC_PD, &host->pd);
	memset(in, 0, sizeof(in));
	if (!rc)
		rc = command(r, host, in, sizeof(in), BF_MLX5_CMD_ALLOC_UAR, &host->uar_page);
	if (rc)
		return rc;
	host->uar = bf_mlx5_uar(host->dev, host->uar_page);
	return new_region(r, host, "doorbell records", 0, (uint64_t)records * BF_MLX5_DBR_BYTES, &host->records);
}

static int build_keys(struct bf_replay *r, struct bf_replay_side_state *host, bool scratch)
{
	for (size_t i = 0; i < host->keys.count; i++) {
		const struct bf_replay_key *k = &host->keys.key[i];
		int rc;

		/* A key that the capture lists twice changes its meaning on the way. */
		if (bf_replay_find_key(&host->keys, k->key) != k)
			continue;
		rc = create_key(r, host, k, NULL);
		if (rc)
			return rc;
	}
	if (!scratch)
		return 0;
	int rc = new_region(r, host, "messages", 0, r->max_scratch ? r->max_scratch : 1, &host->scratch);
	if (rc)
		return rc;
	struct bf_replay_key k = {
		.access = BF_CAPTURE_LOCAL_WRITE | BF_CAPTURE_REMOTE_WRITE,
		.lo = host->scratch->va,
		.hi = host->scratch->va + host->scratch->size,
	};
	return create_key(r, host, &k, &host->scratch_key);
}

static int build_cqs(struct bf_replay *r)
{
	struct bf_replay_side_state *host = &r->host[0];

	for (size_t i = 0; i < r->ncqs; i++) {
		struct bf_replay_cq *cq = &r->cqs[i];
		char name[32];
		int rc;

		snprintf(name, sizeof(name), "ring of CQ 0x%" PRIx32, cq->cqn);
		cq->dbrec = new_record(host);
		rc = new_region(r, host, name, 0, (uint64_t)cq->entries * 64, &cq->ring);
		if (!rc)
			rc = take_number(r, host, BF_MLX5_OBJ_CQ, cq->cqn, "CQ");
		if (!rc)
			rc = create_cq(r, host, cq->entries, cq->ring, cq->dbrec, false, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static int build_srq(struct bf_replay *r, struct bf_replay_srq *srq)
{
	struct bf_replay_side_state *host = &r->host[0];
	uint8_t in[BF_CREATE_RMP_LEN] = { 0 }, *rmpc = in + BF_RMP_RMPC, *wq = rmpc + BF_RMPC_WQ;
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "ring of SRQ 0x%" PRIx32, srq->cap->srqn);
	srq->dbrec = new_record(host);
	rc = new_region(r, host, name, 0, (uint64_t)srq->cap->wqes << srq->cap->stride_log2, &srq->ring);
	if (rc)
		return rc;
	BF_MLX5_SET(rmpc, BF_RMPC_STATE, BF_RMPC_READY);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_LINKED_LIST);
	BF_MLX5_SET(wq, BF_WQ_PD, host->pd);
	BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, srq->cap->stride_log2);
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, bf_log2_up(srq->cap->wqes));
	bf_put_be64(wq + BF_WQ_DBR_ADDR, bf_va(host->records, srq->dbrec));
	bf_put_be64(wq + BF_WQ_UMEM_OFFSET, srq->ring->va);
	return command(r, host, in, sizeof(in), BF_MLX5_CMD_CREATE_RMP, &srq->number);
}

static int build_qp(struct bf_replay *r, struct bf_replay_qp *q)
{
	struct bf_replay_side_state *host = &r->host[0];
	const struct bf_capture_qp *c = q->cap;
	struct qp_shape s = {
		.sq_wqebbs = c->sq_wqebbs,
		.rq_wqes = c->rq_wqes,
		.rq_stride_log2 = c->rq_stride_log2,
		.user_index = c->user_index,
		.cqn_snd = c->send_cqn,
		.cqn_rcv = c->recv_cqn,
		.srq = q->srq,
	};
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "rings of QP 0x%" PRIx32, c->qpn);
	/* One buffer, receive queue first (rdma-core providers/mlx5/verbs.c mlx5_calc_wq_size). */
	rc = new_region(r, host, name, 0,
			((uint64_t)c->rq_wqes << c->rq_stride_log2) + (uint64_t)c->sq_wqebbs * BF_MLX5_WQEBB, &q->ring);
	q->dbrec = new_record(host);
	s.ring = q->ring;
	s.dbrec = q->dbrec;
	if (!rc)
		rc = take_number(r, host, BF_MLX5_OBJ_QP, c->qpn, "QP");
	return rc ? rc : create_qp(r, host, &s);
}

/* The made-up end: room for as many messages as the captured one may have under way. */
static int build_peer(struct bf_replay *r, struct bf_replay_qp *q)
{
	struct bf_replay_side_state *host = &r->host[1];
	struct bf_replay_peer *p = calloc(1, sizeof(*p));
	struct qp_shape s = {
		.sq_wqebbs = PEER_SQ, .rq_stride_log2 = 4, .cqn_snd = r->peer_cqn, .cqn_rcv = r->peer_cqn
	};
	char name[40];
	int rc;

	if (!p)
		return bf_fail(r->err, -ENOMEM, "out of memory");
	q->peer = p;
	p->qpn = q->cap->dest_qpn;
	s.rq_wqes = q->cap->sq_wqebbs ? q->cap->sq_wqebbs : 1;
	p->sq_mask = s.sq_wqebbs - 1;
	p->rq_mask = s.rq_wqes - 1;
	snprintf(name, sizeof(name), "rings of peer QP 0x%" PRIx32, p->qpn);
	rc = new_region(r, host, name, 0, (uint64_t)s.rq_wqes * 16 + PEER_SQ * BF_MLX5_WQEBB, &p->ring);
	p->dbrec = new_record(host);
	s.ring = p->ring;
	s.dbrec = p->dbrec;
	if (!rc)
		rc = take_number(r, host, BF_MLX5_OBJ_QP, p->qpn, "the peer's QP");
	return rc ? rc : create_qp(r, host, &s);
}

static int build_peers(struct bf_replay *r)
{
	struct bf_replay_side_state *host = &r->host[1];
	struct bf_region *ring;
	uint8_t *dbrec;
	int rc;

	rc = open_host(r, 1, "peer", (uint32_t)r->nqps + 1);
	if (!rc)
		rc = build_keys(r, host, true);
	if (!rc)
		rc = new_region(r, host, "ring of the peer's CQ", 0, 64, &ring);
	if (rc)
		return rc;
	/* Nobody looks at the peer's completions: one collapsed entry, overrun ignored. */
	dbrec = new_record(host);
	rc = create_cq(r, host, 1, ring, dbrec, true, &r->peer_cqn);
	for (size_t i = 0; i < r->nqps && !rc; i++) {
		if (!r->qps[i].loop)
			rc = build_peer(r, &r->qps[i]);
	}
	return rc;
}

static int connect_all(struct bf_replay *r)
{
	int rc = 0;

	for (size_t i = 0; i < r->nqps && !rc; i++) {
		struct bf_replay_qp *q = &r->qps[i];
		uint32_t remote = r->host[q->loop ? 0 : 1].ipv4;
		bool sends = q->sends || q->cap->state == BF_MLX5_QPS_RTS;

		rc = connect_qp(r, &r->host[0], q->cap->qpn, q->cap->dest_qpn, remote, sends, q->rnr_error);
		if (!rc && q->peer)
			rc = connect_qp(r, &r->host[1], q->peer->qpn, q->cap->qpn, r->host[0].ipv4, true, false);
	}
	return rc;
}

int bf_replay_world_open(struct bf_replay *r)
{
	int rc = bf_fabric_create(r->sim, &r->fabric);

	if (rc)
		return world_error(r, rc, "the fabric");
	rc = open_host(r, 0, "host", (uint32_t)(r->nqps + r->ncqs + r->nsrqs));
	if (!rc)
		rc = build_keys(r, &r->host[0], r->needs_peer);
	if (!rc)
		rc = build_cqs(r);
	for (size_t i = 0; i < r->nsrqs && !rc; i++)
		rc = build_srq(r, &r->srqs[i]);
	for (size_t i = 0; i < r->nqps && !rc; i++)
		rc = build_qp(r, &r->qps[i]);
	if (!rc && r->needs_peer)
		rc = build_peers(r);
	return rc ? rc : connect_all(r);
}

void bf_replay_world_close(struct bf_replay *r)
{
	for (int i = 0; i < 2; i++) {
		if (r->host[i].dev)
			bf_mlx5_destroy(r->host[i].dev);
	}
	if (r->fabric)
		bf_fabric_destroy(r->fabric);
	for (int i = 0; i < 2; i++) {
		if (r->host[i].ioas_ready)
			bf_ioas_fini(&r->host[i].ioas);
		if (r->host[i].space_ready)
			bf_space_fini(&r->host[i].space);
	}
}
