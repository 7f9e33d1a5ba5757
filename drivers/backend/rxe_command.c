/*
 * Backend "rxe": command blocks. Numbers of queue pairs are those of the RDMA device, so that they mean the same to peers;
 * all others are this world's own. Keys are numbered over all PEs: a remote key is looked up like a local one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/rxe_internal.h"

#define CQE_BYTES 64u
#define BASE_STRIDE 16u
#define ANSWER_LEN 272u

struct block {
	struct bf_rxe_world *w;
	struct bf_verbs_nic *nic;
	const uint8_t *in;
	size_t in_len;
	uint8_t out[ANSWER_LEN];
	uint32_t opcode, number;
};

/* ---- tables ---- */

int bf_rxe_table_add(struct bf_rxe_table *t, void *p, uint32_t *number)
{
	uint32_t i = 0;
	void **grown;

	while (i < t->n && t->at[i])
		i++;
	if (i == t->n) {
		grown = realloc(t->at, (t->n + 64) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + t->n, 0, 64 * sizeof(*grown));
		t->at = grown;
		t->n += 64;
	}
	t->at[i] = p;
	*number = i + 1;
	return 0;
}

void *bf_rxe_table_get(const struct bf_rxe_table *t, uint32_t number)
{
	return number && number <= t->n ? t->at[number - 1] : NULL;
}

void bf_rxe_table_remove(struct bf_rxe_table *t, uint32_t number)
{
	t->at[number - 1] = NULL;
}

static void refuse(struct block *b, uint32_t status)
{
	BF_MLX5_SET(b->out, BF_CMD_OUT_STATUS, status);
}

/* Puts a new object into its table and its number into the answer; frees it when there is no room. */
static int add(struct block *b, struct bf_rxe_table *t, void *p)
{
	int rc = p ? bf_rxe_table_add(t, p, &b->number) : -ENOMEM;

	if (rc)
		free(p);
	BF_MLX5_SET(b->out, BF_CMD_OUT_NUMBER, b->number);
	return rc;
}

/* ---- what the device can do ---- */

static uint32_t log2_of(uint32_t v)
{
	return v ? 31u - (uint32_t)__builtin_clz(v) : 0;
}

/* RC only: verbs have no dynamically connected transport, and say so to who asks for one. */
static int query_caps(struct block *b)
{
	const uint32_t type = BF_MLX5_GET(b->in, BF_CMD_OP_MOD) >> 1;
	const struct bf_verbs_info *info = &b->nic->info;
	uint8_t *cap = b->out + BF_HCA_CAP;

	if (type == BF_HCA_CAP_ATOMIC) {
		BF_MLX5_SET(cap, BF_ATOMIC_CAP_8B_HOST, 1);
		BF_MLX5_SET(cap, BF_ATOMIC_CAP_OPERATIONS,
			    info->atomics ? BF_ATOMIC_CS | BF_ATOMIC_FA | BF_ATOMIC_MASKED_CS | BF_ATOMIC_MASKED_FA : 0);
		BF_MLX5_SET(cap, BF_ATOMIC_CAP_SIZE_QP, info->atomics ? 4 | 8 : 0);
		return 0;
	}
	if (type != BF_HCA_CAP_GENERAL)
		return 0;
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_QP_SZ, log2_of(info->max_qp_wr));
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_REQ_QP, log2_of(info->max_rd_atom));
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_RES_QP, log2_of(info->max_rd_atom));
	BF_MLX5_SET(cap, BF_CAP_NUM_PORTS, info->ports);
	BF_MLX5_SET(cap, BF_CAP_PORT_TYPE, 1);
	BF_MLX5_SET(cap, BF_CAP_CQE_VERSION, 1);
	BF_MLX5_SET(cap, BF_CAP_ROCE, 1);
	BF_MLX5_SET(cap, BF_CAP_ATOMIC, info->atomics);
	BF_MLX5_SET(cap, BF_CAP_CQ_OI, 1);
	BF_MLX5_SET(cap, BF_CAP_RC, 1);
	return 0;
}

/* ---- memory ---- */

static int create_umem(struct block *b)
{
	struct bf_rxe_umem *u = malloc(sizeof(*u));

	if (u)
		*u = (struct bf_rxe_umem){
			.at = (uint8_t *)(uintptr_t)(bf_get_be64(b->in + BF_CREATE_UMEM_MTT) & ~(uint64_t)(BF_PAGE - 1)),
			.size = (uint64_t)BF_MLX5_GET(b->in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT) * BF_PAGE,
		};
	return add(b, &b->w->umems, u);
}

static uint32_t access_of(const uint8_t *mkc)
{
	return (BF_MLX5_GET(mkc, BF_MKC_LW) ? BF_VERBS_LOCAL_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RR) ? BF_VERBS_REMOTE_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RW) ? BF_VERBS_REMOTE_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_A) ? BF_VERBS_ATOMIC : 0);
}

static int create_key(struct block *b)
{
	const uint8_t *mkc = b->in + BF_CREATE_MKEY_MKC;
	struct bf_rxe_key *k = calloc(1, sizeof(*k));
	int rc;

	if (!k)
		return -ENOMEM;
	k->nic = b->nic;
	k->va = bf_get_be64(mkc + BF_MKC_START);
	k->len = bf_get_be64(mkc + BF_MKC_SIZE);
	k->variant = (uint8_t)BF_MLX5_GET(mkc, BF_MKC_KEY);
	rc = b->w->v.api->mr_create(b->nic->dev, (void *)(uintptr_t)k->va, k->len, access_of(mkc), &k->lkey, &k->rkey,
				    &k->mr);
	if (rc) {
		free(k);
		return rc;
	}
	return add(b, &b->w->keys, k);
}

/* ---- queues ---- */

static uint8_t *in_umem(const struct block *b, uint32_t id, uint64_t offset, uint64_t len)
{
	const struct bf_rxe_umem *u = bf_rxe_table_get(&b->w->umems, id);

	return u && offset <= u->size && len <= u->size - offset ? u->at + offset : NULL;
}

static int create_cq(struct block *b)
{
	const uint8_t *cqc = b->in + BF_CREATE_CQ_CQC;
	const uint32_t entries = 1u << BF_MLX5_GET(cqc, BF_CQC_LOG_SIZE);
	const bool collapsed = BF_MLX5_GET(cqc, BF_CQC_CC);
	struct bf_rxe_cq *cq;
	uint8_t *ring, *dbr;

	ring = in_umem(b, BF_MLX5_GET(b->in, BF_CREATE_CQ_UMEM_ID), bf_get_be64(b->in + BF_CREATE_CQ_UMEM_OFFSET),
		       (collapsed ? 1u : (uint64_t)entries) * CQE_BYTES);
	dbr = in_umem(b, BF_MLX5_GET(cqc, BF_CQC_DBR_UMEM_ID), bf_get_be64(cqc + BF_CQC_DBR_ADDR), BF_MLX5_DBR_BYTES);
	if (!ring || !dbr) {
		refuse(b, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	cq = malloc(sizeof(*cq));
	if (cq)
		*cq = (struct bf_rxe_cq){ .nic = b->nic,
					  .ring = (struct bf_mlx5_cqe *)(void *)ring,
					  .dbr = (const uint32_t *)(const void *)dbr,
					  .entries = entries,
					  .collapsed = collapsed,
					  .ignore_overrun = BF_MLX5_GET(cqc, BF_CQC_OI) };
	return add(b, &b->w->cqs, cq);
}

static void free_qp(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	if (qp->vqp)
		w->v.api->qp_destroy(qp->vqp);
	if (qp->scratch_mr)
		w->v.api->mr_destroy(qp->scratch_mr);
	if (qp->scratch)
		munmap(qp->scratch, BF_PAGE);
	free(qp->entry);
	free(qp);
}

/* Where the rings are, as the device reads its context: receives first, then sends (models/mlx5/cmd_qp.c). */
static bool take_rings(struct block *b, struct bf_rxe_qp *qp)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	const uint64_t offset = bf_get_be64(b->in + BF_CREATE_QP_UMEM_OFFSET);
	uint64_t rq = 0;

	qp->depth = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SQ_SIZE);
	if (BF_MLX5_GET(qpc, BF_QPC_RQ_TYPE) == BF_QPC_RQ_OWN) {
		qp->rq_depth = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_SIZE);
		qp->rq_stride = BASE_STRIDE << BF_MLX5_GET(qpc, BF_QPC_LOG_RQ_STRIDE);
		rq = ((uint64_t)qp->rq_depth * qp->rq_stride + BF_MLX5_WQEBB - 1) & ~(uint64_t)(BF_MLX5_WQEBB - 1);
	}
	qp->rq = in_umem(b, BF_MLX5_GET(b->in, BF_CREATE_QP_UMEM_ID), offset, rq + (uint64_t)qp->depth * BF_MLX5_WQEBB);
	qp->sq = qp->rq ? qp->rq + rq : NULL;
	qp->dbr = (const uint32_t *)(const void *)in_umem(b, BF_MLX5_GET(qpc, BF_QPC_DBR_UMEM_ID),
							 bf_get_be64(qpc + BF_QPC_DBR_ADDR), BF_MLX5_DBR_BYTES);
	qp->send_cq = bf_rxe_table_get(&b->w->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_SND));
	qp->recv_cq = bf_rxe_table_get(&b->w->cqs, BF_MLX5_GET(qpc, BF_QPC_CQN_RCV));
	qp->uar = bf_rxe_table_get(&b->w->uars, BF_MLX5_GET(qpc, BF_QPC_UAR_PAGE));
	return qp->sq && qp->dbr && qp->send_cq && qp->recv_cq && qp->uar;
}

static int open_qp(struct block *b, struct bf_rxe_qp *qp)
{
	const struct bf_verbs_api *api = b->w->v.api;
	const struct bf_verbs_qp_opts opts = {
		.sends = qp->depth < BF_RXE_SENDS_MAX ? qp->depth : BF_RXE_SENDS_MAX,
		.receives = qp->rq_depth,
		.inline_bytes = BF_RXE_INLINE,
	};
	uint32_t rkey;
	int rc;

	qp->entry = calloc(qp->depth, sizeof(*qp->entry));
	qp->scratch = mmap(NULL, BF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (qp->scratch == MAP_FAILED)
		qp->scratch = NULL;
	if (!qp->entry || !qp->scratch)
		return -ENOMEM;
	rc = api->mr_create(b->nic->dev, qp->scratch, BF_PAGE, BF_VERBS_LOCAL_WRITE, &qp->scratch_lkey, &rkey,
			    &qp->scratch_mr);
	return rc ? rc : api->qp_create(b->nic->dev, &opts, &qp->qpn, &qp->vqp);
}

static int create_qp(struct block *b)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	struct bf_rxe_qp *qp;
	int rc;

	if (BF_MLX5_GET(qpc, BF_QPC_ST) != BF_QPC_ST_RC) {
		refuse(b, BF_MLX5_CMD_BAD_PARAM);
		return 0;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->nic = b->nic;
	qp->user_index = BF_MLX5_GET(qpc, BF_QPC_USER_INDEX);
	if (!take_rings(b, qp)) {
		refuse(b, BF_MLX5_CMD_BAD_RES);
		free(qp);
		return 0;
	}
	rc = open_qp(b, qp);
	if (rc) {
		free_qp(b->w, qp);
		return rc;
	}
	qp->next = b->w->qps;
	b->w->qps = qp;
	BF_MLX5_SET(b->out, BF_CMD_OUT_NUMBER, qp->qpn);
	return 0;
}

static struct bf_rxe_qp *find_qp(const struct block *b)
{
	struct bf_rxe_qp *qp = b->w->qps;

	while (qp && (qp->nic != b->nic || qp->qpn != b->number || !qp->vqp))
		qp = qp->next;
	return qp;
}

/* Its memory stays until the end: a device may still tell of it. */
static int destroy_qp(struct block *b, struct bf_rxe_qp *qp)
{
	int rc = b->w->v.api->qp_destroy(qp->vqp);

	if (!rc)
		qp->vqp = NULL;
	return rc;
}

/* ---- transitions ---- */

static void take_rtr(const struct block *b, struct bf_verbs_path *p)
{
	const uint8_t *qpc = b->in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;
	const uint32_t reads = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX);
	const struct bf_verbs_port *port;

	p->port = (uint8_t)BF_MLX5_GET(path, BF_PATH_PORT);
	port = &b->nic->port[p->port && p->port <= BF_NIC_PORTS_MAX ? p->port - 1 : 0];
	p->remote_qpn = BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN);
	p->next_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_RCV_PSN);
	p->mtu = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MTU);
	if (p->mtu > port->mtu)
		p->mtu = port->mtu;
	p->min_rnr = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_MIN_RNR_NAK);
	p->reads = (uint8_t)(reads < b->nic->info.max_rd_atom ? reads : b->nic->info.max_rd_atom);
	p->hop_limit = (uint8_t)BF_MLX5_GET(path, BF_PATH_HOP_LIMIT);
	p->tclass = (uint8_t)(BF_MLX5_GET(path, BF_PATH_DSCP) << 2);
	p->sl = (uint8_t)BF_MLX5_GET(path, BF_PATH_ETH_PRIO);
	p->gid_index = port->gid_index;
	memcpy(p->gid, path + BF_PATH_RGID, sizeof(p->gid));
}

static void take_rts(const struct block *b, struct bf_verbs_path *p)
{
	const uint8_t *qpc = b->in + BF_QP_QPC;
	const uint32_t reads = 1u << BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX);

	p->next_psn = BF_MLX5_GET(qpc, BF_QPC_NEXT_SEND_PSN);
	p->timeout = (uint8_t)BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT);
	p->retries = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT);
	p->rnr_retries = (uint8_t)BF_MLX5_GET(qpc, BF_QPC_RNR_RETRY);
	p->reads = (uint8_t)(reads < b->nic->info.max_rd_atom ? reads : b->nic->info.max_rd_atom);
}

/* A life ends: what the device has of it does not count any more. */
static void reset(struct bf_rxe_world *w, struct bf_rxe_qp *qp)
{
	struct bf_rxe_nic *load = bf_rxe_load(w, qp->nic);

	load->sends -= qp->sends;
	load->receives -= (uint16_t)(qp->given - qp->received);
	qp->epoch++;
	qp->sends = qp->head = qp->tail = 0;
	qp->producer = qp->fetched = qp->received = qp->given = 0;
	qp->emulation.runs = qp->refused = false;
}

static int modify(struct block *b, struct bf_rxe_qp *qp)
{
	uint8_t from = qp->state, to;
	int rc;

	switch (b->opcode) {
	case BF_MLX5_CMD_RST2INIT_QP:
		from = BF_MLX5_QPS_RST;
		to = BF_MLX5_QPS_INIT;
		qp->path.port = (uint8_t)BF_MLX5_GET(b->in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_PORT);
		break;
	case BF_MLX5_CMD_INIT2RTR_QP:
		from = BF_MLX5_QPS_INIT;
		to = BF_MLX5_QPS_RTR;
		take_rtr(b, &qp->path);
		break;
	case BF_MLX5_CMD_RTR2RTS_QP:
		from = BF_MLX5_QPS_RTR;
		to = BF_MLX5_QPS_RTS;
		take_rts(b, &qp->path);
		break;
	case BF_MLX5_CMD_2RST_QP:
		to = BF_MLX5_QPS_RST;
		break;
	default:
		bf_rxe_qp_error(b->w, qp);
		return 0;
	}
	if (qp->state != from) {
		refuse(b, BF_MLX5_CMD_BAD_QP_STATE);
		return 0;
	}
	rc = b->w->v.api->qp_modify(qp->vqp, to, &qp->path);
	if (rc)
		return rc;
	qp->state = to;
	if (to == BF_MLX5_QPS_RST)
		reset(b->w, qp);
	return 0;
}

static int query_cq(struct block *b)
{
	const struct bf_rxe_cq *cq = bf_rxe_table_get(&b->w->cqs, b->number);

	if (!cq)
		refuse(b, BF_MLX5_CMD_BAD_RES);
	else
		BF_MLX5_SET(b->out + BF_CREATE_CQ_CQC, BF_CQC_PRODUCER, cq->producer & 0xffffff);
	return 0;
}

static int on_qp(struct block *b)
{
	struct bf_rxe_qp *qp = find_qp(b);

	if (!qp) {
		refuse(b, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	if (b->opcode == BF_MLX5_CMD_DESTROY_QP)
		return destroy_qp(b, qp);
	if (b->opcode != BF_MLX5_CMD_QUERY_QP)
		return modify(b, qp);
	BF_MLX5_SET(b->out + BF_QP_QPC, BF_QPC_STATE, qp->state);
	return 0;
}

/* ---- the way back ---- */

static int end_key(struct bf_rxe_world *w, struct bf_rxe_key *k)
{
	return w->v.api->mr_destroy(k->mr);
}

static int destroy(struct block *b, struct bf_rxe_table *t)
{
	void *p = bf_rxe_table_get(t, b->number);
	int rc = 0;

	if (!p) {
		refuse(b, BF_MLX5_CMD_BAD_RES);
		return 0;
	}
	if (t == &b->w->keys)
		rc = end_key(b->w, p);
	if (t == &b->w->uars)
		munmap(((struct bf_rxe_uar *)p)->page, BF_MLX5_UAR_BYTES);
	if (rc)
		return rc;
	bf_rxe_table_remove(t, b->number);
	free(p);
	return 0;
}

static void empty(struct bf_rxe_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->at[i]);
	free(t->at);
	*t = (struct bf_rxe_table){ 0 };
}

void bf_rxe_close_objects(struct bf_rxe_world *w)
{
	struct bf_rxe_qp *qp;

	while ((qp = w->qps)) {
		w->qps = qp->next;
		free_qp(w, qp);
	}
	for (uint32_t i = 0; i < w->keys.n; i++)
		if (w->keys.at[i])
			end_key(w, w->keys.at[i]);
	for (uint32_t i = 0; i < w->uars.n; i++)
		if (w->uars.at[i])
			munmap(((struct bf_rxe_uar *)w->uars.at[i])->page, BF_MLX5_UAR_BYTES);
	empty(&w->umems);
	empty(&w->keys);
	empty(&w->cqs);
	empty(&w->uars);
	empty(&w->pds);
}

/* ---- all of them ---- */

/* Least lengths of those that bring a context. */
static size_t least(uint32_t opcode)
{
	switch (opcode) {
	case BF_MLX5_CMD_CREATE_UMEM:
		return BF_CREATE_UMEM_MTT + 8;
	case BF_MLX5_CMD_CREATE_MKEY:
		return BF_CREATE_MKEY_MKC + 64;
	case BF_MLX5_CMD_CREATE_CQ:
		return BF_CREATE_CQ_LEN;
	case BF_MLX5_CMD_CREATE_QP:
	case BF_MLX5_CMD_RST2INIT_QP:
	case BF_MLX5_CMD_INIT2RTR_QP:
	case BF_MLX5_CMD_RTR2RTS_QP:
		return BF_CREATE_QP_LEN;
	default:
		return 16;
	}
}

static int execute(struct block *b)
{
	struct bf_rxe_world *w = b->w;

	switch (b->opcode) {
	case BF_MLX5_CMD_QUERY_HCA_CAP:
		return query_caps(b);
	case BF_MLX5_CMD_ACCESS_REG:
		return bf_verbs_port_register(&w->v, b->nic, b->in, b->in_len, b->out, sizeof(b->out));
	case BF_MLX5_CMD_ALLOC_PD:
		return add(b, &w->pds, malloc(1));
	case BF_MLX5_CMD_CREATE_UMEM:
		return create_umem(b);
	case BF_MLX5_CMD_CREATE_MKEY:
		return create_key(b);
	case BF_MLX5_CMD_CREATE_CQ:
		return create_cq(b);
	case BF_MLX5_CMD_CREATE_QP:
		return create_qp(b);
	case BF_MLX5_CMD_QUERY_CQ:
		return query_cq(b);
	case BF_MLX5_CMD_DEALLOC_PD:
		return destroy(b, &w->pds);
	case BF_MLX5_CMD_DESTROY_UMEM:
		return destroy(b, &w->umems);
	case BF_MLX5_CMD_DESTROY_MKEY:
		return destroy(b, &w->keys);
	case BF_MLX5_CMD_DESTROY_CQ:
		return destroy(b, &w->cqs);
	case BF_MLX5_CMD_DEALLOC_UAR:
		return destroy(b, &w->uars);
	case BF_MLX5_CMD_RST2INIT_QP:
	case BF_MLX5_CMD_INIT2RTR_QP:
	case BF_MLX5_CMD_RTR2RTS_QP:
	case BF_MLX5_CMD_2ERR_QP:
	case BF_MLX5_CMD_2RST_QP:
	case BF_MLX5_CMD_QUERY_QP:
	case BF_MLX5_CMD_DESTROY_QP:
		return on_qp(b);
	default:
		refuse(b, BF_MLX5_CMD_BAD_OP);
		return 0;
	}
}

int bf_rxe_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		   size_t out_len)
{
	struct bf_rxe_world *w = bf_rxe_world_of(m);
	struct block b = { .w = w, .nic = bf_verbs_nic(m, pe, nic), .in = in, .in_len = in_len };
	int rc = 0;

	if (!b.nic || in_len < 16 || out_len < 8)
		return -EINVAL;
	b.opcode = BF_MLX5_GET(in, BF_CMD_OPCODE);
	b.number = BF_MLX5_GET(in, BF_CMD_IN_NUMBER);
	if (in_len < least(b.opcode)) {
		refuse(&b, BF_MLX5_CMD_BAD_INP_LEN);
	} else {
		pthread_mutex_lock(&w->v.lock);
		rc = execute(&b);
		pthread_mutex_unlock(&w->v.lock);
	}
	memset(out, 0, out_len);
	memcpy(out, b.out, out_len < sizeof(b.out) ? out_len : sizeof(b.out));
	return rc ? bf_fail(m->err, rc, "PE %u, %s: command 0x%x: %s", pe, b.nic->info.name, b.opcode, strerror(-rc)) : 0;
}

int bf_rxe_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	struct bf_rxe_world *w = bf_rxe_world_of(m);
	struct block b = { .w = w, .nic = bf_verbs_nic(m, pe, nic) };
	struct bf_rxe_uar *u;
	int rc;

	if (!b.nic)
		return -EINVAL;
	u = malloc(sizeof(*u));
	if (!u)
		return bf_fail(m->err, -ENOMEM, "no memory for a doorbell page");
	u->nic = b.nic;
	u->page = mmap(NULL, BF_MLX5_UAR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (u->page == MAP_FAILED) {
		free(u);
		return bf_fail(m->err, -ENOMEM, "no memory for a doorbell page");
	}
	out->page = u->page;
	pthread_mutex_lock(&w->v.lock);
	rc = add(&b, &w->uars, u);
	pthread_mutex_unlock(&w->v.lock);
	if (rc)
		munmap(out->page, BF_MLX5_UAR_BYTES);
	out->index = b.number;
	return rc ? bf_fail(m->err, rc, "no memory for a doorbell page") : 0;
}
