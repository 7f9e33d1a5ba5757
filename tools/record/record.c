/*
 * libbelfry-record.so: what `belfry record` loads into a program that uses a real ConnectX by libibverbs. All calls go
 * on to libmlx5; in passing, the entries that a post put into the ring are taken from there, and the completions that a
 * poll takes, and written as a capture (traces/capture.h).
 *
 * Functions of libibverbs that are exported are replaced by name, those that verbs.h calls through the context
 * (ibv_post_send, ibv_poll_cq, ibv_create_qp_ex and its like) in the context, the newer ibv_wr_complete() in the
 * queue pair, ibv_start_poll() and ibv_next_poll() in the completion queue. Where the rings lie says
 * mlx5dv_init_obj(). One lock is held around the real call and the look behind it, so that the capture has the order of
 * events; programs with several threads wait for each other there. ibv_start_poll() is the exception: it takes a lock
 * of libmlx5 that the thread keeps until ibv_end_poll().
 */
#include <dlfcn.h>
#include <endian.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/record/record.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define VERBS "libibverbs.so.1"
#define MLX5 "libmlx5.so.1"

#define WQEBB 64u
#define CQE_BYTES 64u
#define CQE_INVALID 0xfu
#define POLL_MAX 64

struct cq {
	struct cq *next;
	struct ibv_cq *cq;
	struct mlx5dv_cq dv;
	uint32_t consumer;
	/* Of those that ibv_create_cq_ex() made. */
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
};

/* Its entries are a list; new ones go into the place that the last one names. */
struct srq {
	struct srq *next;
	struct ibv_srq *srq;
	struct mlx5dv_srq dv;
	uint32_t wqes, place;
	uint16_t posted;
};

struct qp {
	struct qp *next;
	struct ibv_qp *qp;
	struct mlx5dv_qp dv;
	uint32_t sent, received; /* blocks and entries that the capture has */
	struct ibv_qp_ex *ex; /* the same for those who use the newer calls */
	int (*wr_complete)(struct ibv_qp_ex *qp);
};

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
static struct {
	pthread_mutex_t lock;
	FILE *to;
	uint64_t origin_ns;
	struct context *contexts;
	struct qp *qps;
	struct cq *cqs;
	struct srq *srqs;
	int (*init_obj)(struct mlx5dv_obj *obj, uint64_t type);
} recorder = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The function of that name which this library stands before. Plugins may have loaded its library for themselves alone.
 */
static void real(const char *library, const char *name, void *function)
{
	void *found = dlsym(RTLD_NEXT, name), *lib = found ? NULL : dlopen(library, RTLD_NOW);

	if (lib)
		found = dlsym(lib, name);
	memcpy(function, &found, sizeof(found));
}

/* ---- the capture ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* "%p" in the name is the process. */
static bool open_capture(void)
{
	const char *name = getenv(BF_RECORD_ENV_FILE), *mark = name ? strstr(name, "%p") : NULL;
	char path[4096];

	if (recorder.to || !name)
		return recorder.to != NULL;
	if (mark)
		snprintf(path, sizeof(path), "%.*s%ld%s", (int)(mark - name), name, (long)getpid(), mark + 2);
	else
		snprintf(path, sizeof(path), "%s", name);
	recorder.to = fopen(path, "we");
	if (!recorder.to) {
		fprintf(stderr, "belfry record: cannot write %s\n", path);
		unsetenv(BF_RECORD_ENV_FILE);
		return false;
	}
	setvbuf(recorder.to, NULL, _IOLBF, 0); /* a program that crashes leaves whole lines */
	recorder.origin_ns = now_ns();
	return true;
}

static void begin(const char *event)
{
	fprintf(recorder.to, "{\"t_ns\":%" PRIu64 ",\"ev\":\"%s\"", now_ns() - recorder.origin_ns, event);
}

/* Bytes of a ring, from `at` on, around its end. */
static void end_with(const uint8_t *ring, size_t size, size_t at, size_t len)
{
	fputs(",\"bytes\":\"", recorder.to);
	for (size_t i = 0; i < len; i++)
		fprintf(recorder.to, "%02x", ring[(at + i) % size]);
	fputs("\"}\n", recorder.to);
}

/* ---- what is known ---- */

static bool find_init_obj(void)
{
	if (!recorder.init_obj)
		real(MLX5, "mlx5dv_init_obj", &recorder.init_obj);
	return recorder.init_obj != NULL;
}

static struct qp *qp_of(const struct ibv_qp *qp)
{
	struct qp *q = recorder.qps;

	while (q && q->qp != qp)
		q = q->next;
	return q;
}

static struct cq *cq_of(const struct ibv_cq *cq)
{
	struct cq *q = recorder.cqs;

	while (q && q->cq != cq)
		q = q->next;
	return q;
}

static struct srq *srq_of(const struct ibv_srq *srq)
{
	struct srq *s = recorder.srqs;

	while (s && s->srq != srq)
		s = s->next;
	return s;
}

static struct context *context_of(const struct ibv_context *context)
{
	struct context *c = recorder.contexts;

	while (c && c->context != context)
		c = c->next;
	return c;
}

static void add_cq(struct ibv_cq *cq)
{
	struct cq *q = cq && find_init_obj() && !cq_of(cq) ? calloc(1, sizeof(*q)) : NULL;
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = q ? &q->dv : NULL } };

	if (!q)
		return;
	q->cq = cq;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_CQ)) {
		free(q);
		return;
	}
	q->next = recorder.cqs;
	recorder.cqs = q;
}

static void add_qp(struct ibv_qp *qp)
{
	struct qp *q = qp && find_init_obj() && !qp_of(qp) ? calloc(1, sizeof(*q)) : NULL;
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = q ? &q->dv : NULL } };

	if (!q)
		return;
	q->qp = qp;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_QP)) {
		free(q);
		return;
	}
	q->next = recorder.qps;
	recorder.qps = q;
	add_cq(qp->send_cq); /* created before the recorder knew, or by a way that it does not know */
	add_cq(qp->recv_cq);
}

/* Of a new one all places are linked, from the head to the tail. */
static void add_srq(struct ibv_srq *srq)
{
	struct srq *s = srq && find_init_obj() ? calloc(1, sizeof(*s)) : NULL;
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = s ? &s->dv : NULL } };

	if (!s)
		return;
	s->srq = srq;
	s->dv.comp_mask = MLX5DV_SRQ_MASK_SRQN;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_SRQ) || !(s->dv.comp_mask & MLX5DV_SRQ_MASK_SRQN)) {
		free(s);
		return;
	}
	s->wqes = s->dv.tail + 1;
	s->place = s->dv.head;
	s->next = recorder.srqs;
	recorder.srqs = s;
}

static void drop_srq(const struct ibv_srq *srq)
{
	for (struct srq **at = &recorder.srqs; *at; at = &(*at)->next) {
		struct srq *s = *at;

		if (s->srq != srq)
			continue;
		*at = s->next;
		free(s);
		return;
	}
}

static void drop_qp(const struct ibv_qp *qp)
{
	for (struct qp **at = &recorder.qps; *at; at = &(*at)->next) {
		struct qp *q = *at;

		if (q->qp != qp)
			continue;
		*at = q->next;
		free(q);
		return;
	}
}

static void drop_cq(const struct ibv_cq *cq)
{
	for (struct cq **at = &recorder.cqs; *at; at = &(*at)->next) {
		struct cq *q = *at;

		if (q->cq != cq)
			continue;
		*at = q->next;
		free(q);
		return;
	}
}

/* ---- events ---- */

static void tell_key(const struct ibv_mr *mr, uint64_t iova, unsigned access)
{
	pthread_mutex_lock(&recorder.lock);
	if (mr && open_capture()) {
		begin("mkey");
		fprintf(recorder.to, ",\"key\":\"0x%" PRIx32 "\",\"addr\":\"0x%" PRIx64 "\",\"length\":%zu,\"access\":%u}\n",
			mr->lkey, iova, mr->length, access);
	}
	pthread_mutex_unlock(&recorder.lock);
}

static uint32_t log2_of(uint32_t power)
{
	return power ? (uint32_t)__builtin_ctz(power) : 0;
}

static void tell_qp(const struct qp *q, uint32_t dest_qpn)
{
	const struct cq *send = cq_of(q->qp->send_cq), *recv = cq_of(q->qp->recv_cq);
	const struct srq *srq = q->qp->srq ? srq_of(q->qp->srq) : NULL;

	if (!send || !recv || !open_capture())
		return;
	if (srq) {
		begin("srq");
		fprintf(recorder.to,
			",\"srqn\":\"0x%" PRIx32 "\",\"qpn\":\"0x%" PRIx32 "\",\"wqes\":%" PRIu32
			",\"stride_log2\":%" PRIu32 "}\n",
			srq->dv.srqn, q->qp->qp_num, srq->wqes, log2_of(srq->dv.stride));
	}
	begin("qp");
	fprintf(recorder.to,
		",\"qpn\":\"0x%" PRIx32 "\",\"dest_qpn\":\"0x%" PRIx32 "\",\"sq_wqebbs\":%" PRIu32 ",\"rq_wqes\":%" PRIu32
		",\"rq_stride_log2\":%" PRIu32 ",\"user_index\":0,\"send_cqn\":\"0x%" PRIx32 "\",\"send_cqes\":%" PRIu32
		",\"recv_cqn\":\"0x%" PRIx32 "\",\"recv_cqes\":%" PRIu32 ",\"state\":3}\n",
		q->qp->qp_num, dest_qpn, q->dv.sq.wqe_cnt, q->dv.rq.wqe_cnt, log2_of(q->dv.rq.stride), send->dv.cqn,
		send->dv.cqe_cnt, recv->dv.cqn, recv->dv.cqe_cnt);
}

/* The entries between what the capture has and what the doorbell record says now. */
static void tell_sends(struct qp *q)
{
	const uint32_t producer = be32toh(q->dv.dbrec[1]) & 0xffff;
	const size_t size = (size_t)q->dv.sq.wqe_cnt * WQEBB;

	if (producer == (q->sent & 0xffff) || !size || !open_capture())
		return;
	begin("sq_doorbell");
	fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"dbrec\":%" PRIu32 "}\n", q->qp->qp_num, producer);
	while ((q->sent & 0xffff) != producer) {
		const size_t at = (size_t)q->sent * WQEBB % size;
		uint32_t qpn_ds, blocks;

		memcpy(&qpn_ds, (const uint8_t *)q->dv.sq.buf + at + 4, sizeof(qpn_ds));
		blocks = ((be32toh(qpn_ds) & 0x3f) * 16 + WQEBB - 1) / WQEBB;
		blocks = blocks ? blocks : 1;
		begin("wqe");
		fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->qp->qp_num, q->sent & 0xffff);
		end_with(q->dv.sq.buf, size, at, (size_t)blocks * WQEBB);
		q->sent += blocks;
	}
}

static void tell_receives(struct qp *q)
{
	const uint32_t producer = be32toh(q->dv.dbrec[0]) & 0xffff;
	const size_t size = (size_t)q->dv.rq.wqe_cnt * q->dv.rq.stride;

	while (size && (q->received & 0xffff) != producer && open_capture()) {
		begin("recv_wqe");
		fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->qp->qp_num, q->received & 0xffff);
		end_with(q->dv.rq.buf, size, (size_t)q->received * q->dv.rq.stride % size, q->dv.rq.stride);
		q->received++;
	}
}

static void tell_shared_receives(struct srq *s)
{
	const uint16_t producer = (uint16_t)be32toh(*s->dv.dbrec);
	const size_t size = (size_t)s->wqes * s->dv.stride;

	while (s->posted != producer && open_capture()) {
		const size_t at = (size_t)s->place * s->dv.stride;
		uint16_t next;

		begin("srq_wqe");
		fprintf(recorder.to, ",\"srqn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, s->dv.srqn, s->place);
		end_with(s->dv.buf, size, at, s->dv.stride);
		memcpy(&next, (const uint8_t *)s->dv.buf + at + 2, sizeof(next));
		s->place = be16toh(next) % s->wqes;
		s->posted++;
	}
}

static void tell_cqe(struct cq *q, const uint8_t *cqe)
{
	begin("cqe");
	fprintf(recorder.to, ",\"cqn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->dv.cqn, q->consumer);
	end_with(cqe, CQE_BYTES, 0, CQE_BYTES);
	q->consumer++;
}

/* ---- what programs call through the context ---- */

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct qp *q;
	int rc;

	pthread_mutex_lock(&recorder.lock);
	rc = context_of(qp->context)->ops.post_send(qp, wr, bad);
	q = qp_of(qp);
	if (q)
		tell_sends(q);
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct qp *q;
	int rc;

	pthread_mutex_lock(&recorder.lock);
	rc = context_of(qp->context)->ops.post_recv(qp, wr, bad);
	q = qp_of(qp);
	if (q)
		tell_receives(q);
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct srq *s;
	int rc;

	pthread_mutex_lock(&recorder.lock);
	rc = context_of(srq->context)->ops.post_srq_recv(srq, wr, bad);
	s = srq_of(srq);
	if (s)
		tell_shared_receives(s);
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct qp *q;
	int rc;

	pthread_mutex_lock(&recorder.lock);
	q = qp_of(&ex->qp_base);
	rc = q->wr_complete(ex);
	tell_sends(q);
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

static void wrap_complete(struct qp *q)
{
	if (!q->ex || q->ex->wr_complete == wr_complete)
		return;
	q->wr_complete = q->ex->wr_complete;
	q->ex->wr_complete = wr_complete;
}

static const uint8_t *cqe_at(const struct cq *q, uint32_t number)
{
	/* Of 128 bytes the last 64 are the completion. */
	return (const uint8_t *)q->dv.buf + ((size_t)(number & (q->dv.cqe_cnt - 1)) + 1) * q->dv.cqe_size - CQE_BYTES;
}

/* Written in this pass around the ring: the opcode is one, and the owner bit that of the pass. */
static bool is_written(const struct cq *q, const uint8_t *cqe, uint32_t number)
{
	return cqe[CQE_BYTES - 1] >> 4 != CQE_INVALID && (cqe[CQE_BYTES - 1] & 1) == !!(number & q->dv.cqe_cnt);
}

/*
 * libmlx5 takes entries in ring order and gives their places back: what is there is copied before, and what came in
 * between after. A poll may return fewer than were asked for, so no more are asked for than there is room to copy.
 */
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	uint8_t copies[POLL_MAX][CQE_BYTES];
	struct cq *q;
	int rc;

	n = n < POLL_MAX ? n : POLL_MAX;
	pthread_mutex_lock(&recorder.lock);
	q = cq_of(cq);
	for (int i = 0; q && i < n; i++)
		memcpy(copies[i], cqe_at(q, q->consumer + (uint32_t)i), CQE_BYTES);
	rc = context_of(cq->context)->ops.poll_cq(cq, n, wc);
	for (int i = 0; q && i < rc && open_capture(); i++) {
		if (!is_written(q, copies[i], q->consumer))
			memcpy(copies[i], cqe_at(q, q->consumer), CQE_BYTES);
		tell_cqe(q, copies[i]);
	}
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

static struct cq *known_cq(const struct ibv_cq_ex *ex)
{
	struct cq *q;

	pthread_mutex_lock(&recorder.lock);
	q = cq_of(ibv_cq_ex_to_cq((struct ibv_cq_ex *)ex));
	pthread_mutex_unlock(&recorder.lock);
	return q;
}

/* An entry taken so keeps its place in the ring until ibv_end_poll(), and is looked at there. */
static int took_one(struct cq *q, int rc)
{
	if (rc)
		return rc;
	pthread_mutex_lock(&recorder.lock);
	if (open_capture())
		tell_cqe(q, cqe_at(q, q->consumer));
	pthread_mutex_unlock(&recorder.lock);
	return 0;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct cq *q = known_cq(ex);

	return took_one(q, q->start_poll(ex, attr));
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct cq *q = known_cq(ex);

	return took_one(q, q->next_poll(ex));
}

static struct ibv_cq_ex *wrap_cq(struct ibv_cq_ex *ex)
{
	struct ibv_cq *cq = ex ? ibv_cq_ex_to_cq(ex) : NULL;
	struct cq *q;

	pthread_mutex_lock(&recorder.lock);
	add_cq(cq);
	q = cq_of(cq);
	if (q) {
		q->start_poll = ex->start_poll;
		q->next_poll = ex->next_poll;
		ex->start_poll = start_poll;
		ex->next_poll = next_poll;
	}
	pthread_mutex_unlock(&recorder.lock);
	return ex;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	return wrap_cq(context_of(context)->create_cq_ex(context, attr));
}

static struct ibv_qp *create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = context_of(context)->create_qp_ex(context, attr);

	pthread_mutex_lock(&recorder.lock);
	add_qp(qp);
	pthread_mutex_unlock(&recorder.lock);
	return qp;
}

static struct ibv_srq *create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq = context_of(context)->create_srq_ex(context, attr);

	pthread_mutex_lock(&recorder.lock);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC)
		add_srq(srq);
	pthread_mutex_unlock(&recorder.lock);
	return srq;
}

/* ---- what programs call by name ---- */

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*open)(struct ibv_device *) = NULL, *context;
	struct verbs_context *more;
	struct context *c;

	real(VERBS, "ibv_open_device", &open);
	context = open(device);
	c = context ? calloc(1, sizeof(*c)) : NULL;
	if (!c)
		return context;
	pthread_mutex_lock(&recorder.lock);
	*c = (struct context){ .next = recorder.contexts, .context = context, .ops = context->ops };
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
	recorder.contexts = c;
	pthread_mutex_unlock(&recorder.lock);
	return context;
}

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *more)
{
	struct ibv_cq_ex *(*create)(struct ibv_context *, struct ibv_cq_init_attr_ex *, struct mlx5dv_cq_init_attr *) =
	    NULL;

	real(MLX5, "mlx5dv_create_cq", &create);
	return wrap_cq(create(context, attr, more));
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*create)(struct ibv_pd *, struct ibv_qp_init_attr *) = NULL, *qp;

	real(VERBS, "ibv_create_qp", &create);
	qp = create(pd, attr);
	pthread_mutex_lock(&recorder.lock);
	add_qp(qp);
	pthread_mutex_unlock(&recorder.lock);
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*convert)(struct ibv_qp *) = NULL, *ex;
	struct qp *q;

	real(VERBS, "ibv_qp_to_qp_ex", &convert);
	ex = convert(qp);
	pthread_mutex_lock(&recorder.lock);
	q = qp_of(qp);
	if (q) {
		q->ex = ex;
		wrap_complete(q);
	}
	pthread_mutex_unlock(&recorder.lock);
	return ex;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) = NULL, rc;
	struct qp *q;

	real(VERBS, "ibv_modify_qp", &modify);
	rc = modify(qp, attr, mask);
	pthread_mutex_lock(&recorder.lock);
	q = qp_of(qp);
	if (q)
		wrap_complete(q); /* libmlx5 chooses its functions anew when the state changes */
	if (!rc && q && mask & IBV_QP_DEST_QPN)
		tell_qp(q, attr->dest_qp_num);
	pthread_mutex_unlock(&recorder.lock);
	return rc;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*destroy)(struct ibv_qp *) = NULL;

	real(VERBS, "ibv_destroy_qp", &destroy);
	pthread_mutex_lock(&recorder.lock);
	drop_qp(qp);
	pthread_mutex_unlock(&recorder.lock);
	return destroy(qp);
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq *(*create)(struct ibv_pd *, struct ibv_srq_init_attr *) = NULL, *srq;

	real(VERBS, "ibv_create_srq", &create);
	srq = create(pd, attr);
	pthread_mutex_lock(&recorder.lock);
	add_srq(srq);
	pthread_mutex_unlock(&recorder.lock);
	return srq;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	int (*destroy)(struct ibv_srq *) = NULL;

	real(VERBS, "ibv_destroy_srq", &destroy);
	pthread_mutex_lock(&recorder.lock);
	drop_srq(srq);
	pthread_mutex_unlock(&recorder.lock);
	return destroy(srq);
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int (*destroy)(struct ibv_cq *) = NULL;

	real(VERBS, "ibv_destroy_cq", &destroy);
	pthread_mutex_lock(&recorder.lock);
	drop_cq(cq);
	pthread_mutex_unlock(&recorder.lock);
	return destroy(cq);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, int) = NULL, *mr;

	real(VERBS, "ibv_reg_mr", &reg);
	mr = reg(pd, addr, length, access);
	tell_key(mr, (uintptr_t)addr, (unsigned)access);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, uint64_t, int) = NULL, *mr;

	real(VERBS, "ibv_reg_mr_iova", &reg);
	mr = reg(pd, addr, length, iova, access);
	tell_key(mr, iova, (unsigned)access);
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct ibv_mr *(*reg)(struct ibv_pd *, void *, size_t, uint64_t, unsigned) = NULL, *mr;

	real(VERBS, "ibv_reg_mr_iova2", &reg);
	mr = reg(pd, addr, length, iova, access);
	tell_key(mr, iova, access);
	return mr;
}
