/* Rings of libmlx5, where mlx5dv_init_obj() says that they lie, and the capture of what is put into them. */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/bits.h"
#include "sim/compiler.h"
#include "tools/record/record.h"
#include "tools/record/verbs_internal.h"

#define WQEBB 64u
#define LINE_MAX_BYTES 8192u /* more than an entry of 16 blocks takes: an event is one write() */

/* An interposed process has one recorder, whoever calls. */
static struct {
	FILE *to;
	char path[4096];
	uint64_t origin_ns;
	off_t whole; /* bytes of the capture up to the end of the last event that is there */
	bool lost;   /* an event could not be written: there is no capture behind it */
	struct bf_record_object *qps, *cqs, *srqs;
	int (*init_obj)(struct mlx5dv_obj *obj, uint64_t type);
} recorder;

/* ---- the capture ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The capture ends behind the last event that is there whole. Whoever reads the exit code is told, too. */
static void lose(int why)
{
	const int fd = fileno(recorder.to);

	fprintf(stderr, "belfry record: cannot write %s: %s; the capture ends here, the program goes on\n",
		recorder.path, strerror(why));
	recorder.lost = true;
	__fpurge(recorder.to);
	if (ftruncate(fd, recorder.whole) != 0 && errno != EINVAL) /* what is no file has no length */
		fprintf(stderr, "belfry record: its last line may be cut\n");
	fclose(recorder.to);
	recorder.to = NULL;
}

/* The program has ended with `status`. Behind a loss a good one would say that the capture is good, too. */
static void at_exit(int status, void *unused)
{
	(void)unused;
	if (!recorder.lost || status)
		return;
	fflush(NULL);
	_exit(BF_RECORD_EXIT_LOST);
}

/* "%p" in the name is the process. */
static bool open_capture(void)
{
	const char *name = getenv(BF_RECORD_ENV_FILE), *mark = name ? strstr(name, "%p") : NULL;

	if (recorder.to || recorder.lost || !name)
		return recorder.to != NULL;
	if (mark)
		snprintf(recorder.path, sizeof(recorder.path), "%.*s%ld%s", (int)(mark - name), name, (long)getpid(),
			 mark + 2);
	else
		snprintf(recorder.path, sizeof(recorder.path), "%s", name);
	on_exit(at_exit, NULL);
	recorder.to = fopen(recorder.path, "we");
	if (!recorder.to) {
		fprintf(stderr, "belfry record: cannot write %s: %s\n", recorder.path, strerror(errno));
		recorder.lost = true;
		return false;
	}
	setvbuf(recorder.to, NULL, _IOLBF, LINE_MAX_BYTES); /* a program that crashes leaves whole lines */
	recorder.origin_ns = now_ns();
	return true;
}

static void begin(const char *event)
{
	recorder.whole = ftello(recorder.to);
	fprintf(recorder.to, "{\"t_ns\":%" PRIu64 ",\"ev\":\"%s\"", now_ns() - recorder.origin_ns, event);
}

/* Here the line is written. A file that may not grow is our error: its signal would end the program. */
static void end(void)
{
	const struct timespec at_once = { 0 };
	sigset_t limit, before;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &limit, &before);
	fputs("}\n", recorder.to);
	if (BF_UNLIKELY(ferror(recorder.to))) {
		lose(errno);
		if (!sigismember(&before, SIGXFSZ))
			sigtimedwait(&limit, NULL, &at_once);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Bytes of a ring, from `at` on, around its end. */
static void end_with(const uint8_t *ring, size_t size, size_t at, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	fputs(",\"bytes\":\"", recorder.to);
	for (size_t i = 0; i < len; i++) {
		const uint8_t byte = ring[(at + i) % size];

		putc_unlocked(digits[byte >> 4], recorder.to);
		putc_unlocked(digits[byte & 15], recorder.to);
	}
	fputs("\"", recorder.to);
	end();
}

/* ---- what is known ---- */

static bool find_init_obj(void)
{
	if (!recorder.init_obj)
		bf_record_real(BF_RECORD_MLX5, "mlx5dv_init_obj", &recorder.init_obj);
	return recorder.init_obj != NULL;
}

static struct bf_record_object *find(struct bf_record_object *list, const void *object)
{
	while (list && list->object != object)
		list = list->next;
	return list;
}

static void add(struct bf_record_object **list, struct bf_record_object *o)
{
	o->next = *list;
	*list = o;
}

static void drop(struct bf_record_object **list, const void *object)
{
	struct bf_record_object *o;

	while ((o = *list) != NULL && o->object != object)
		list = &o->next;
	if (!o)
		return;
	*list = o->next;
	free(o);
}

struct bf_record_qp *bf_record_qp_of(const struct ibv_qp *qp)
{
	return (struct bf_record_qp *)find(recorder.qps, qp);
}

struct bf_record_cq *bf_record_cq_of(const struct ibv_cq *cq)
{
	return (struct bf_record_cq *)find(recorder.cqs, cq);
}

struct bf_record_srq *bf_record_srq_of(const struct ibv_srq *srq)
{
	return (struct bf_record_srq *)find(recorder.srqs, srq);
}

void bf_record_add_cq(struct ibv_cq *cq)
{
	struct bf_record_cq *q = cq && find_init_obj() && !bf_record_cq_of(cq) ? calloc(1, sizeof(*q)) : NULL;
	struct mlx5dv_obj obj = { .cq = { .in = cq, .out = q ? &q->dv : NULL } };

	if (!q)
		return;
	q->known.object = cq;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_CQ)) {
		free(q);
		return;
	}
	add(&recorder.cqs, &q->known);
}

void bf_record_add_qp(struct ibv_qp *qp)
{
	struct bf_record_qp *q = qp && find_init_obj() && !bf_record_qp_of(qp) ? calloc(1, sizeof(*q)) : NULL;
	struct mlx5dv_obj obj = { .qp = { .in = qp, .out = q ? &q->dv : NULL } };

	if (!q)
		return;
	q->known.object = q->qp = qp;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_QP)) {
		free(q);
		return;
	}
	add(&recorder.qps, &q->known);
	bf_record_add_cq(qp->send_cq); /* created before the recorder knew, or by a way that it does not know */
	bf_record_add_cq(qp->recv_cq);
}

/* Of a new one all places are linked, from the head to the tail. */
void bf_record_add_srq(struct ibv_srq *srq)
{
	struct bf_record_srq *s = srq && find_init_obj() ? calloc(1, sizeof(*s)) : NULL;
	struct mlx5dv_obj obj = { .srq = { .in = srq, .out = s ? &s->dv : NULL } };

	if (!s)
		return;
	s->known.object = srq;
	s->dv.comp_mask = MLX5DV_SRQ_MASK_SRQN;
	if (recorder.init_obj(&obj, MLX5DV_OBJ_SRQ) || !(s->dv.comp_mask & MLX5DV_SRQ_MASK_SRQN)) {
		free(s);
		return;
	}
	s->wqes = s->dv.tail + 1;
	s->place = s->dv.head;
	add(&recorder.srqs, &s->known);
}

void bf_record_drop_qp(const struct ibv_qp *qp)
{
	drop(&recorder.qps, qp);
}

void bf_record_drop_cq(const struct ibv_cq *cq)
{
	drop(&recorder.cqs, cq);
}

void bf_record_drop_srq(const struct ibv_srq *srq)
{
	drop(&recorder.srqs, srq);
}

/* ---- events ---- */

void bf_record_tell_key(const struct ibv_mr *mr, uint64_t iova, unsigned access)
{
	if (mr && open_capture()) {
		begin("mkey");
		fprintf(recorder.to,
			",\"key\":\"0x%" PRIx32 "\",\"addr\":\"0x%" PRIx64 "\",\"length\":%zu,\"access\":%u", mr->lkey,
			iova, mr->length, access);
		end();
	}
}

void bf_record_tell_qp(const struct bf_record_qp *q, uint32_t dest_qpn)
{
	const struct bf_record_cq *send = bf_record_cq_of(q->qp->send_cq), *recv = bf_record_cq_of(q->qp->recv_cq);
	const struct bf_record_srq *srq = q->qp->srq ? bf_record_srq_of(q->qp->srq) : NULL;

	if (!send || !recv || !open_capture())
		return;
	if (srq) {
		begin("srq");
		fprintf(recorder.to,
			",\"srqn\":\"0x%" PRIx32 "\",\"qpn\":\"0x%" PRIx32 "\",\"wqes\":%" PRIu32
			",\"stride_log2\":%" PRIu32,
			srq->dv.srqn, q->qp->qp_num, srq->wqes, bf_log2_up(srq->dv.stride));
		end();
	}
	if (!recorder.to)
		return;
	begin("qp");
	fprintf(recorder.to,
		",\"qpn\":\"0x%" PRIx32 "\",\"dest_qpn\":\"0x%" PRIx32 "\",\"sq_wqebbs\":%" PRIu32
		",\"rq_wqes\":%" PRIu32 ",\"rq_stride_log2\":%" PRIu32 ",\"user_index\":0,\"send_cqn\":\"0x%" PRIx32
		"\",\"send_cqes\":%" PRIu32 ",\"recv_cqn\":\"0x%" PRIx32 "\",\"recv_cqes\":%" PRIu32 ",\"state\":3",
		q->qp->qp_num, dest_qpn, q->dv.sq.wqe_cnt, q->dv.rq.wqe_cnt, bf_log2_up(q->dv.rq.stride), send->dv.cqn,
		send->dv.cqe_cnt, recv->dv.cqn, recv->dv.cqe_cnt);
	end();
}

/* How many entries came since `told`. Of more than the ring holds the first are gone. */
static uint32_t news(uint32_t *told, uint32_t producer, uint32_t holds)
{
	const uint32_t n = (producer - *told) & 0xffff;

	if (n <= holds)
		return n;
	*told += n - holds;
	return holds;
}

/* The entries between what the capture has and what the doorbell record says now. */
void bf_record_tell_sends(struct bf_record_qp *q)
{
	const uint32_t producer = be32toh(q->dv.dbrec[1]) & 0xffff;
	const size_t size = (size_t)q->dv.sq.wqe_cnt * WQEBB;
	uint32_t left;

	if (producer == (q->sent & 0xffff) || !size || !open_capture())
		return;
	begin("sq_doorbell");
	fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"dbrec\":%" PRIu32, q->qp->qp_num, producer);
	end();
	for (left = news(&q->sent, producer, q->dv.sq.wqe_cnt); recorder.to && left;) {
		const size_t at = (size_t)q->sent * WQEBB % size;
		uint32_t qpn_ds, blocks;

		memcpy(&qpn_ds, (const uint8_t *)q->dv.sq.buf + at + 4, sizeof(qpn_ds));
		blocks = ((be32toh(qpn_ds) & 0x3f) * 16 + WQEBB - 1) / WQEBB;
		blocks = blocks == 0     ? 1
			 : blocks < left ? blocks
					 : left; /* no step over the producer, which is the end */
		begin("wqe");
		fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->qp->qp_num, q->sent & 0xffff);
		end_with(q->dv.sq.buf, size, at, (size_t)blocks * WQEBB);
		q->sent += blocks;
		left -= blocks;
	}
}

void bf_record_tell_receives(struct bf_record_qp *q)
{
	const uint32_t producer = be32toh(q->dv.dbrec[0]) & 0xffff;
	const size_t size = (size_t)q->dv.rq.wqe_cnt * q->dv.rq.stride;

	for (uint32_t left = size ? news(&q->received, producer, q->dv.rq.wqe_cnt) : 0; left && open_capture();
	     left--) {
		begin("recv_wqe");
		fprintf(recorder.to, ",\"qpn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->qp->qp_num,
			q->received & 0xffff);
		end_with(q->dv.rq.buf, size, (size_t)q->received * q->dv.rq.stride % size, q->dv.rq.stride);
		q->received++;
	}
}

void bf_record_tell_shared_receives(struct bf_record_srq *s)
{
	const uint16_t producer = (uint16_t)be32toh(*s->dv.dbrec);
	const size_t size = (size_t)s->wqes * s->dv.stride;

	for (uint32_t left = news(&s->posted, producer, s->wqes); left && open_capture(); left--) {
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

void bf_record_tell_cqe(struct bf_record_cq *q, const uint8_t *cqe)
{
	if (!open_capture())
		return;
	begin("cqe");
	fprintf(recorder.to, ",\"cqn\":\"0x%" PRIx32 "\",\"index\":%" PRIu32, q->dv.cqn, q->consumer);
	end_with(cqe, BF_RECORD_CQE_BYTES, 0, BF_RECORD_CQE_BYTES);
	q->consumer++;
}
