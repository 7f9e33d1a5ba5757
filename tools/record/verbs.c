/*
 * libbelfry-record.so: what `belfry record` loads into a program that uses a real ConnectX by libibverbs. All calls go
 * on to libmlx5; in passing, the entries that a post put into the ring are taken from there, and the completions that a
 * poll takes, and written as a capture (traces/import/capture.h).
 *
 * Functions of libibverbs that are exported are replaced by name, those that verbs.h calls through the context
 * (ibv_post_send, ibv_poll_cq, ibv_create_qp_ex and its like) in the context, the newer ibv_wr_complete() in the
 * queue pair, ibv_start_poll() and ibv_next_poll() in the completion queue. One lock is held around the real call and
 * the look behind it, so that the capture has the order of events; programs with several threads wait for each other
 * there. ibv_start_poll() is the exception: it takes a lock of libmlx5 that the thread keeps until ibv_end_poll().
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tools/record/verbs_internal.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define CQE_INVALID 0xfu
#define POLL_MAX 64

/* Contexts are few and live long: what they had is kept when they are closed. */
struct context {
	struct context *next;
	struct ibv_context *context;
	struct ibv_context_ops ops;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
};

/* An interposed process has one recorder, whoever calls. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct context *contexts;

static struct context *context_of(const struct ibv_context *context)
{
	struct context *c = contexts;

	while (c && c->context != context)
		c = c->next;
	return c;
}

void bf_record_real(const char *library, const char *name, void *function)
{
	void *found = dlsym(RTLD_NEXT, name), *lib = found ? NULL : dlopen(library, RTLD_NOW);

	if (lib)
		found = dlsym(lib, name);
	memcpy(function, &found, sizeof(found));
}

/* ---- what programs call through the context ---- */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct bf_record_qp *q;
	int rc;

	pthread_mutex_lock(&lock);
	rc = context_of(qp->context)->ops.post_send(qp, wr, bad);
	q = bf_record_qp_of(qp);
	if (q)
		bf_record_tell_sends(q);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct bf_record_qp *q;
	int rc;

	pthread_mutex_lock(&lock);
	rc = context_of(qp->context)->ops.post_recv(qp, wr, bad);
	q = bf_record_qp_of(qp);
	if (q)
		bf_record_tell_receives(q);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct bf_record_srq *s;
	int rc;

	pthread_mutex_lock(&lock);
	rc = context_of(srq->context)->ops.post_srq_recv(srq, wr, bad);
	s = bf_record_srq_of(srq);
	if (s)
		bf_record_tell_shared_receives(s);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct bf_record_qp *q;
	int rc;

	pthread_mutex_lock(&lock);
	q = bf_record_qp_of(&ex->qp_base);
	rc = q->wr_complete(ex);
	bf_record_tell_sends(q);
	pthread_mutex_unlock(&lock);
	return rc;
}

static void wrap_complete(struct bf_record_qp *q)
{
	if (!q->ex || q->ex->wr_complete == wr_complete)
		return;
	q->wr_complete = q->ex->wr_complete;
	q->ex->wr_complete = wr_complete;
}

static const uint8_t *cqe_at(const struct bf_record_cq *q, uint32_t number)
{
	/* Of 128 bytes the last 64 are the completion. */
	return (const uint8_t *)q->dv.buf + ((size_t)(number & (q->dv.cqe_cnt - 1)) + 1) * q->dv.cqe_size -
	       BF_RECORD_CQE_BYTES;
}

/* Written in this pass around the ring: the opcode is one, and the owner bit that of the pass. */
static bool is_written(const struct bf_record_cq *q, const uint8_t *cqe, uint32_t number)
{
	return cqe[BF_RECORD_CQE_BYTES - 1] >> 4 != CQE_INVALID &&
	       (cqe[BF_RECORD_CQE_BYTES - 1] & 1) == !!(number & q->dv.cqe_cnt);
}

/*
 * libmlx5 takes entries in ring order and gives their places back: what is there is copied before, and what came in
 * between after. A poll may return fewer than were asked for, so no more are asked for than there is room to copy.
 */
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	uint8_t copies[POLL_MAX][BF_RECORD_CQE_BYTES];
	struct bf_record_cq *q;
	int rc;

	n = n < POLL_MAX ? n : POLL_MAX;
	pthread_mutex_lock(&lock);
	q = bf_record_cq_of(cq);
	for (int i = 0; q && i < n; i++)
		memcpy(copies[i], cqe_at(q, q->consumer + (uint32_t)i), BF_RECORD_CQE_BYTES);
	rc = context_of(cq->context)->ops.poll_cq(cq, n, wc);
	for (int i = 0; q && i < rc && i < n; i++) {
		if (!is_written(q, copies[i], q->consumer))
			memcpy(copies[i], cqe_at(q, q->consumer), BF_RECORD_CQE_BYTES);
		bf_record_tell_cqe(q, copies[i]);
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

static struct bf_record_cq *known_cq(const struct ibv_cq_ex *ex)
{
	struct bf_record_cq *q;

	pthread_mutex_lock(&lock);
	q = bf_record_cq_of(ibv_cq_ex_to_cq((struct ibv_cq_ex *)ex));
	pthread_mutex_unlock(&lock);
	return q;
}

/* An entry taken so keeps its place in the ring until ibv_end_poll(), and is looked at there. */
static int took_one(struct bf_record_cq *q, int rc)
{
	if (rc)
		return rc;
	pthread_mutex_lock(&lock);
	bf_record_tell_cqe(q, cqe_at(q, q->consumer));
	pthread_mutex_unlock(&lock);
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct bf_record_cq *q = known_cq(ex);

	return took_one(q, q->start_poll(ex, attr));
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct bf_record_cq *q = known_cq(ex);

	return took_one(q, q->next_poll(ex));
}

static struct ibv_cq_ex *wrap_cq(struct ibv_cq_ex *ex)
{
	struct ibv_cq *cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	struct bf_record_cq *q;

	pthread_mutex_lock(&lock);
	bf_record_add_cq(cq);
	q = bf_record_cq_of(cq);
	if (ex && q) {
		q->start_poll = ex->start_poll;
		q->next_poll = ex->next_poll;
		ex->start_poll = start_poll;
		ex->next_poll = next_poll;
	}
	pthread_mutex_unlock(&lock);
	return ex;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	return wrap_cq(context_of(context)->create_cq_ex(context, attr));
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = context_of(context)->create_qp_ex(context, attr);

	pthread_mutex_lock(&lock);
	bf_record_add_qp(qp);
	pthread_mutex_unlock(&lock);
	return qp;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = context_of(context)->create_srq_ex(context, attr);

	pthread_mutex_lock(&lock);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC)
		bf_record_add_srq(srq);
	pthread_mutex_unlock(&lock);
	return srq;
}

/* ---- what programs call by name ---- */

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*open)(struct ibv_device *) = NULL, *context;
	struct verbs_context *more;
	struct context *c;

	bf_record_real(BF_RECORD_VERBS, "ibv_open_device", &open);
	context = open(device);
	c = context ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return context;
	pthread_mutex_lock(&lock);
	*c = (struct context){ .next = contexts, .context = context, .ops = context->ops };
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
	context->ops.post_srq_recv = post_srq_recv;
	context->ops.poll_cq = poll_cq;
	more = verbs_get_ctx(context);
	if (more && more->create_qp_ex) {
		c->create_qp_ex = more->create_qp_ex;
		more->create_qp_ex = create_qp_ex;
	}
	if (more && more->create_cq_ex) {
		c->create_cq_ex = more->create_cq_ex;
		more->create_cq_ex = create_cq_ex;
	}
	if (more && more->create_srq_ex) {
		c->create_srq_ex = more->create_srq_ex;
		more->create_srq_ex = create_srq_ex;
	}
	contexts = c;
	pthread_mutex_unlock(&lock);
	return context;
}

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *more)
{
	struct ibv_cq_ex *(*create)(struct ibv_context *, struct ibv_cq_init_attr_ex *, struct mlx5dv_cq_init_attr *) =
	    NULL;

	bf_record_real(BF_RECORD_MLX5, "mlx5dv_create_cq", &create);
	return wrap_cq(create(context, attr, more));
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*create)(struct ibv_pd *, struct ibv_qp_init_attr *) = NULL, *qp;

	bf_record_real(BF_RECORD_VERBS, "ibv_create_qp", &create);
	qp = create(pd, attr);
	pthread_mutex_lock(&lock);
	bf_record_add_qp(qp);
	pthread_mutex_unlock(&lock);
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*convert)(struct ibv_qp *) = NULL, *ex;
	struct bf_record_qp *q;

	bf_record_real(BF_RECORD_VERBS, "ibv_qp_to_qp_ex", &convert);
	ex = convert(qp);
	pthread_mutex_lock(&lock);
	q = bf_record_qp_of(qp);
	if (q) {
		q->ex = ex;
		wrap_complete(q);
	}
	pthread_mutex_unlock(&lock);
	return ex;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) = NULL, rc;
	struct bf_record_qp *q;

	bf_record_real(BF_RECORD_VERBS, "ibv_modify_qp", &modify);
	rc = modify(qp, attr, mask);
	pthread_mutex_lock(&lock);
	q = bf_record_qp_of(qp);
	if (q)
		wrap_complete(q); /* libmlx5 chooses its functions anew when the state changes */
	if (!rc && q && mask & IBV_QP_DEST_QPN)
		bf_record_tell_qp(q, attr->dest_qp_num);
	pthread_mutex_unlock(&lock);
	return rc;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*destroy)(struct ibv_qp *) = NULL;

	bf_record_real(BF_RECORD_VERBS, "ibv_destroy_qp", &destroy);
	pthread_mutex_lock(&lock);
	bf_record_drop_qp(qp);
	pthread_mutex_unlock(&lock);
	return destroy(qp);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *(*create)(struct ibv_pd *, struct ibv_srq_init_attr *) = NULL, *srq;

	bf_record_real(BF_RECORD_VERBS, "ibv_create_srq", &create);
	srq = create(pd, attr);
	pthread_mutex_lock(&lock);
	bf_record_add_srq(srq);
	pthread_mutex_unlock(&lock);
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	int (*destroy)(struct ibv_srq *) = NULL;

	bf_record_real(BF_RECORD_VERBS, "ibv_destroy_srq", &destroy);
	pthread_mutex_lock(&lock);
	bf_record_drop_srq(srq);
	pthread_mutex_unlock(&lock);
	return destroy(srq);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int (*destroy)(struct ibv_cq *) = NULL;

	bf_record_real(BF_RECORD_VERBS, "ibv_destroy_cq", &destroy);
	pthread_mutex_lock(&lock);
	bf_record_drop_cq(cq);
	pthread_mutex_unlock(&lock);
	return destroy(cq);
}

static void keep_key(const struct ibv_mr *mr, uint64_t iova, unsigned access)
{
	pthread_mutex_lock(&lock);
	bf_record_tell_key(mr, iova, access);
	pthread_mutex_unlock(&lock);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, int) = NULL, *mr;

	bf_record_real(BF_RECORD_VERBS, "ibv_reg_mr", &reg);
	mr = reg(pd, addr, length, access);
	keep_key(mr, (uintptr_t)addr, (unsigned)access);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, uint64_t, int) = NULL, *mr;

	bf_record_real(BF_RECORD_VERBS, "ibv_reg_mr_iova", &reg);
	mr = reg(pd, addr, length, iova, access);
	keep_key(mr, iova, (unsigned)access);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, uint64_t, unsigned) = NULL, *mr;

	bf_record_real(BF_RECORD_VERBS, "ibv_reg_mr_iova2", &reg);
	mr = reg(pd, addr, length, iova, access);
	keep_key(mr, iova, access);
	return mr;
}
