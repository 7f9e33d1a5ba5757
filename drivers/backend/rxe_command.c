/*
 * Backend "rxe": command blocks. Numbers of queue pairs are those of the RDMA device, so that they mean the same to
 * peers; all others are this world's own. Keys are numbered over all PEs: a remote key is looked up like a local one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/rxe_internal.h"
#include "sim/grow.h"

/* ---- tables ---- */

int bf_rxe_table_add(struct bf_rxe_table *t, void *p, uint32_t *number)
{
	uint32_t i = 0;
	while (i < t->n && t->at[i])
		i++;
	if (BF_GROW(t->at, t->n, i + 1))
		return -ENOMEM;
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

void bf_rxe_refuse(struct bf_rxe_block *b, uint32_t status)
{
	BF_MLX5_SET(b->out, BF_CMD_OUT_STATUS, status);
}

int bf_rxe_add(struct bf_rxe_block *b, struct bf_rxe_table *t, void *p)
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
static int query_caps(struct bf_rxe_block *b)
{
	const uint32_t type = BF_MLX5_GET(b->in, BF_CMD_OP_MOD) >> 1;
	const struct bf_verbs_info *info = &b->nic->info;
	uint8_t *cap = b->out + BF_HCA_CAP;

	if (type == BF_HCA_CAP_ATOMIC) {
		BF_MLX5_SET(cap, BF_ATOMIC_CAP_8B_HOST, 1);
		BF_MLX5_SET(cap, BF_ATOMIC_CAP_OPERATIONS,
			    info->atomics ? BF_ATOMIC_CS | BF_ATOMIC_FA | BF_ATOMIC_MASKED_CS | BF_ATOMIC_MASKED_FA
					  : 0);
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

static int create_umem(struct bf_rxe_block *b)
{
	struct bf_rxe_umem *u = malloc(sizeof(*u));

	if (u)
		*u = (struct bf_rxe_umem){
			.at =
			    (uint8_t *)(uintptr_t)(bf_get_be64(b->in + BF_CREATE_UMEM_MTT) & ~(uint64_t)(BF_PAGE - 1)),
			.size = (uint64_t)BF_MLX5_GET(b->in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT) * BF_PAGE,
		};
	return bf_rxe_add(b, &b->w->umems, u);
}

static uint32_t access_of(const uint8_t *mkc)
{
	return (BF_MLX5_GET(mkc, BF_MKC_LW) ? BF_VERBS_LOCAL_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RR) ? BF_VERBS_REMOTE_READ : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_RW) ? BF_VERBS_REMOTE_WRITE : 0) |
	       (BF_MLX5_GET(mkc, BF_MKC_A) ? BF_VERBS_ATOMIC : 0);
}

static int create_key(struct bf_rxe_block *b)
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
	return bf_rxe_add(b, &b->w->keys, k);
}

/* ---- the way back ---- */

static int end_key(struct bf_rxe_world *w, struct bf_rxe_key *k)
{
	return w->v.api->mr_destroy(k->mr);
}

static int destroy(struct bf_rxe_block *b, struct bf_rxe_table *t)
{
	void *p = bf_rxe_table_get(t, b->number);
	int rc = 0;

	if (!p) {
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_RES);
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
		bf_rxe_free_qp(w, qp);
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

static int execute(struct bf_rxe_block *b)
{
	struct bf_rxe_world *w = b->w;

	switch (b->opcode) {
	case BF_MLX5_CMD_QUERY_HCA_CAP:
		return query_caps(b);
	case BF_MLX5_CMD_ACCESS_REG:
		return bf_verbs_port_register(&w->v, b->nic, b->in, b->in_len, b->out, sizeof(b->out));
	case BF_MLX5_CMD_ALLOC_PD:
		return bf_rxe_add(b, &w->pds, malloc(1));
	case BF_MLX5_CMD_CREATE_UMEM:
		return create_umem(b);
	case BF_MLX5_CMD_CREATE_MKEY:
		return create_key(b);
	case BF_MLX5_CMD_CREATE_CQ:
		return bf_rxe_create_cq(b);
	case BF_MLX5_CMD_CREATE_QP:
		return bf_rxe_create_qp(b);
	case BF_MLX5_CMD_QUERY_CQ:
		return bf_rxe_query_cq(b);
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
		return bf_rxe_on_qp(b);
	default:
		bf_rxe_refuse(b, BF_MLX5_CMD_BAD_OP);
		return 0;
	}
}

int bf_rxe_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		   size_t out_len)
{
	struct bf_rxe_world *w = bf_rxe_world_of(m);
	struct bf_rxe_block b = { .w = w, .nic = bf_verbs_nic(m, pe, nic), .in = in, .in_len = in_len };
	int rc = 0;

	if (!b.nic || in_len < 16 || out_len < 8)
		return -EINVAL;
	b.opcode = BF_MLX5_GET(in, BF_CMD_OPCODE);
	b.number = BF_MLX5_GET(in, BF_CMD_IN_NUMBER);
	if (in_len < least(b.opcode)) {
		bf_rxe_refuse(&b, BF_MLX5_CMD_BAD_INP_LEN);
	} else {
		pthread_mutex_lock(&w->v.lock);
		rc = execute(&b);
		pthread_mutex_unlock(&w->v.lock);
	}
	memset(out, 0, out_len);
	memcpy(out, b.out, out_len < sizeof(b.out) ? out_len : sizeof(b.out));
	return rc ? bf_fail(m->err, rc, "PE %u, %s: command 0x%x: %s", pe, b.nic->info.name, b.opcode, strerror(-rc))
		  : 0;
}

int bf_rxe_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	struct bf_rxe_world *w = bf_rxe_world_of(m);
	struct bf_rxe_block b = { .w = w, .nic = bf_verbs_nic(m, pe, nic) };
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
	rc = bf_rxe_add(&b, &w->uars, u);
	pthread_mutex_unlock(&w->v.lock);
	if (rc)
		munmap(out->page, BF_MLX5_UAR_BYTES);
	out->index = b.number;
	return rc ? bf_fail(m->err, rc, "no memory for a doorbell page") : 0;
}
