/* Where the queues of a modelled machine stand, for the reports of runs that did not end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"

/* Queues have at most this part of a report: the threads that wait for them come after. */
#define QUEUES_PART(cap) ((cap) / 2)

struct describe {
	const struct bf_pe *pe;
	char *report;
	size_t cap;
	uint32_t nic, nics;
	uint32_t left_out;
};

static bool has_room(struct describe *d)
{
	if (strlen(d->report) < QUEUES_PART(d->cap))
		return true;
	d->left_out++;
	return false;
}

static void describe_qp(void *arg, const struct bf_mlx5_qp_info *q)
{
	static const char *const states[] = { "RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR" };
	struct describe *d = arg;
	const size_t used = strlen(d->report);
	char nic[8] = "";

	if ((q->sq_completed == q->sq_producer && !q->syndrome && q->state == BF_MLX5_QPS_RTS) || !has_room(d))
		return;
	if (d->nics > 1)
		snprintf(nic, sizeof(nic), ".nic%u", d->nic % BF_NICS_MAX);
	snprintf(
	    d->report + used, d->cap - used,
	    "%s%s QP 0x%x %s: doorbell record %u, fetched %u, started %u, completed %u; PSN next %u, acknowledged %u; "
	    "%u doorbells, %u retries",
	    d->pe->name, nic, q->qpn, q->state < BF_ARRAY_LEN(states) ? states[q->state] : "?", q->sq_producer,
	    q->sq_fetched, q->sq_started, q->sq_completed, q->send_psn, q->acked_psn, q->doorbells, q->retries);
	if (q->syndrome)
		snprintf(d->report + strlen(d->report), d->cap - strlen(d->report), "; syndrome 0x%02x vendor 0x%02x",
			 q->syndrome, q->vendor_syndrome);
	snprintf(d->report + strlen(d->report), d->cap - strlen(d->report), "\n");
}

/* One that has work left. The driver that waits may have forgotten the doorbell, so also one that it never rang. */
static void describe_nvme_queue(void *arg, const struct bf_nvme_queue_info *q)
{
	struct describe *d = arg;
	const size_t used = strlen(d->report);

	if ((q->sq_tail == q->sq_head && !q->executing && !q->held && !q->errors && q->cq_tail == q->cq_head) ||
	    !has_room(d))
		return;
	snprintf(d->report + used, d->cap - used,
		 "%s SQ %u: tail doorbell %u, fetched up to %u of %u, executing %u, completed %" PRIu64 " (%" PRIu64
		 " with an error); CQ %u: posted up to %u, head doorbell %u of %u, held back %u\n",
		 d->pe->name, q->qid, q->sq_tail, q->sq_head, q->sq_size, q->executing, q->completed, q->errors,
		 q->cqid, q->cq_tail, q->cq_head, q->cq_size, q->held);
}

void bf_machine_describe_queues(struct bf_world *m, char *report, size_t cap)
{
	struct describe d = { .report = report, .cap = cap, .nics = m->nics };

	for (uint32_t i = 0; i < m->npes; i++) {
		d.pe = &m->pe[i];
		for (d.nic = 0; d.nic < BF_NICS_MAX && d.pe->nic[d.nic]; d.nic++)
			bf_mlx5_each_qp(d.pe->nic[d.nic], describe_qp, &d);
		if (d.pe->ssd)
			bf_nvme_each_queue(d.pe->ssd, describe_nvme_queue, &d);
		if (strlen(report) < QUEUES_PART(cap))
			bf_machine_describe_sdma(d.pe, report, cap);
		if (d.pe->model && m->model->describe)
			m->model->describe(d.pe->model, report + strlen(report), cap - strlen(report));
	}
	if (d.left_out)
		snprintf(report + strlen(report), cap - strlen(report), "(and %u more queues with work or an error)\n",
			 d.left_out);
}
