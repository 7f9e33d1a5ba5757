/*
 * Captured events out of a trace of the model's own (`belfry exec --trace`): its records hold everything that a
 * recorder beside a device would have seen.
 *
 *   uverbs_mr             -> mkey
 *   qp_config, qp_path    -> qp, when it became ready to send
 *   dbrec                 -> sq_doorbell
 *   wqe_fetch             -> wqe
 *   recv_wqe_fetch        -> recv_wqe, or srq_wqe: when it was taken, since nobody sees it posted
 *   srq_config, srq_take  -> srq, before the first entry that the queue pair takes
 *   cqe                   -> cqe
 *
 * What is the kernel's own (uverbs_qp1) a recorder of the program would not see.
 */
#include "traces/import/capture_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "sim/bits.h"
#include "sim/grow.h"

#define KERNELS_MAX 16u

struct bf_capture_model {
	struct bf_capture_qp *qps; /* as created */
	struct srq {
		uint32_t srqn, wqes, stride_log2;
	} * srqs;
	struct bf_capture_srq *takers; /* queue pairs that have taken from one */
	struct cq {
		uint32_t cqn, cqes;
	} * cqs;
	uint32_t nqps, qps_cap, ncqs, cqs_cap, nsrqs, srqs_cap, ntakers, takers_cap;
	struct kernels {
		uint32_t qpn, cqn;
	} kernels[KERNELS_MAX]; /* one a device */
	uint32_t nkernels;
	uint16_t next;       /* of the entry that was taken from an SRQ just now */
	uint8_t entry[1024]; /* it, with the link that its fetch does not show */
};

int bf_capture_model_create(struct bf_capture_model **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void bf_capture_model_destroy(struct bf_capture_model *m)
{
	if (!m)
		return;
	free(m->qps);
	free(m->cqs);
	free(m->srqs);
	free(m->takers);
	free(m);
}

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t value = 0;

	bf_trace_field_u64(rec, name, &value);
	return value;
}

static int note_qp(struct bf_capture_model *m, const struct bf_trace_record *rec)
{
	if (BF_GROW(m->qps, m->qps_cap, m->nqps + 1))
		return -ENOMEM;
	m->qps[m->nqps++] = (struct bf_capture_qp){
		.qpn = (uint32_t)field(rec, "qpn"),
		.sq_wqebbs = (uint32_t)field(rec, "sq_wqebbs"),
		.rq_wqes = (uint32_t)field(rec, "rq_wqes"),
		.rq_stride_log2 = bf_log2_up(field(rec, "rq_stride")),
		.send_cqn = (uint32_t)field(rec, "send_cqn"),
		.recv_cqn = (uint32_t)field(rec, "recv_cqn"),
	};
	return 0;
}

static int note_cq(struct bf_capture_model *m, const struct bf_trace_record *rec)
{
	if (BF_GROW(m->cqs, m->cqs_cap, m->ncqs + 1))
		return -ENOMEM;
	m->cqs[m->ncqs++] = (struct cq){ (uint32_t)field(rec, "cqn"), (uint32_t)field(rec, "cqes") };
	return 0;
}

static int note_srq(struct bf_capture_model *m, const struct bf_trace_record *rec)
{
	if (BF_GROW(m->srqs, m->srqs_cap, m->nsrqs + 1))
		return -ENOMEM;
	m->srqs[m->nsrqs++] = (struct srq){ (uint32_t)field(rec, "srqn"), (uint32_t)field(rec, "wqes"),
					    bf_log2_up(field(rec, "stride")) };
	return 0;
}

static const struct bf_capture_srq *srq_of(const struct bf_capture_model *m, uint32_t qpn)
{
	for (uint32_t i = m->ntakers; i-- > 0;)
		if (m->takers[i].qpn == qpn)
			return &m->takers[i];
	return NULL;
}

static int note_taker(struct bf_capture_model *m, const struct bf_trace_record *rec, struct bf_capture_event *ev)
{
	const uint32_t qpn = (uint32_t)field(rec, "qpn"), srqn = (uint32_t)field(rec, "srqn");
	const struct bf_capture_srq *known = srq_of(m, qpn);

	m->next = (uint16_t)field(rec, "next");
	if (known && known->srqn == srqn)
		return 0;
	for (uint32_t i = m->nsrqs; i-- > 0;) {
		if (m->srqs[i].srqn != srqn)
			continue;
		if (BF_GROW(m->takers, m->takers_cap, m->ntakers + 1))
			return -ENOMEM;
		ev->kind = BF_CAPTURE_SRQ;
		ev->srq = (struct bf_capture_srq){ srqn, qpn, m->srqs[i].wqes, m->srqs[i].stride_log2 };
		m->takers[m->ntakers++] = ev->srq;
		return 1;
	}
	return 0;
}

/* Of several with that number the last is meant. */
static uint32_t cqes_of(const struct bf_capture_model *m, uint32_t cqn)
{
	for (uint32_t i = m->ncqs; i-- > 0;)
		if (m->cqs[i].cqn == cqn)
			return m->cqs[i].cqes;
	return 0;
}

static bool ready(const struct bf_capture_model *m, const struct bf_trace_record *rec, struct bf_capture_qp *qp)
{
	const uint32_t qpn = (uint32_t)field(rec, "qpn");

	for (uint32_t i = m->nqps; i-- > 0;) {
		if (m->qps[i].qpn != qpn)
			continue;
		*qp = m->qps[i];
		qp->dest_qpn = (uint32_t)field(rec, "remote_qpn");
		qp->send_cqes = cqes_of(m, qp->send_cqn);
		qp->recv_cqes = cqes_of(m, qp->recv_cqn);
		qp->state = 3; /* RTS */
		return true;
	}
	return false;
}

static int note_kernels(struct bf_capture_model *m, const struct bf_trace_record *rec)
{
	if (m->nkernels < KERNELS_MAX)
		m->kernels[m->nkernels++] =
		    (struct kernels){ (uint32_t)field(rec, "qpn"), (uint32_t)field(rec, "cqn") };
	return 0;
}

static bool is_kernels(const struct bf_capture_model *m, const struct bf_trace_record *rec, bool cqe)
{
	for (uint32_t i = 0; i < m->nkernels; i++)
		if (cqe ? m->kernels[i].cqn == field(rec, "cqn") : m->kernels[i].qpn == field(rec, "qpn"))
			return true;
	return false;
}

static int with_link(struct bf_capture_model *m, const struct bf_capture_srq *srq, struct bf_capture_event *ev)
{
	struct bf_mlx5_srq_next link = { .next_wqe_index = bf_to_be16(m->next) };

	if (!ev->len || ev->len > sizeof(m->entry) - sizeof(link))
		return 0;
	memcpy(m->entry, &link, sizeof(link));
	memcpy(m->entry + sizeof(link), ev->bytes, ev->len);
	ev->queue.srqn = srq->srqn;
	ev->bytes = m->entry;
	ev->len += (uint32_t)sizeof(link);
	return 1;
}

int bf_capture_from_model(struct bf_capture_model *m, const struct bf_trace_record *rec, struct bf_capture_event *ev)
{
	const char *name = rec->type->name;
	const struct bf_capture_srq *srq = NULL;

	*ev = (struct bf_capture_event){ .t_ns = rec->time_ps / 1000, .line = (uint32_t)rec->number + 1 };
	if (!strcmp(name, "qp_config"))
		return note_qp(m, rec);
	if (!strcmp(name, "cq_config"))
		return note_cq(m, rec);
	if (!strcmp(name, "srq_config"))
		return note_srq(m, rec);
	if (!strcmp(name, "srq_take"))
		return note_taker(m, rec, ev);
	if (!strcmp(name, "uverbs_qp1"))
		return note_kernels(m, rec);
	if (m->nkernels && is_kernels(m, rec, !strcmp(name, "cqe")))
		return 0;
	if (!strcmp(name, "qp_path")) {
		ev->kind = BF_CAPTURE_QP;
		return ready(m, rec, &ev->qp);
	}
	if (!strcmp(name, "uverbs_mr")) {
		ev->kind = BF_CAPTURE_MKEY;
		ev->mkey = (struct bf_capture_mkey){ .addr = field(rec, "iova"),
						     .length = field(rec, "length"),
						     .key = (uint32_t)field(rec, "lkey"),
						     .access = (uint32_t)field(rec, "access") };
		return 1;
	}
	ev->queue.qpn = (uint32_t)field(rec, "qpn");
	if (!strcmp(name, "dbrec")) {
		ev->kind = BF_CAPTURE_DOORBELL;
		ev->queue.dbrec = (uint32_t)field(rec, "producer");
		return !field(rec, "verdict");
	}
	ev->bytes = rec->tail;
	ev->len = rec->tail_len;
	ev->queue.index = (uint32_t)field(rec, "index");
	if (!strcmp(name, "wqe_fetch"))
		ev->kind = BF_CAPTURE_WQE;
	else if (!strcmp(name, "recv_wqe_fetch"))
		ev->kind = (srq = srq_of(m, ev->queue.qpn)) ? BF_CAPTURE_SRQ_WQE : BF_CAPTURE_RECV_WQE;
	else if (!strcmp(name, "cqe"))
		ev->kind = BF_CAPTURE_CQE;
	else
		return 0;
	if (ev->kind == BF_CAPTURE_CQE) {
		ev->queue = (struct bf_capture_queue){ .cqn = (uint32_t)field(rec, "cqn"),
						       .index = (uint32_t)field(rec, "count") };
		return !field(rec, "verdict"); /* in memory, for the program to see */
	}
	return srq ? with_link(m, srq, ev) : ev->len != 0;
}
