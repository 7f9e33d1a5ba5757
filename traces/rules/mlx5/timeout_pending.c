#include <inttypes.h>

#include "traces/rules/mlx5/far.h"

/* The last thing that happened on the queue pair. */
struct mine {
	uint64_t at_ps, record;
	bool started;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct mine *m = bf_rule_queue_state(r, e->queue);

	m->started = m->started || e->kind == BF_SEEN_wqe_start;
	m->at_ps = e->time_ps;
	m->record = e->number;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct mine *m = bf_rule_queue_state(r, queue);
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const uint64_t timeout = q->timeout && q->timeout < 32 ? 4096 * BF_NS << q->timeout : 0;
	const uint64_t since = bf_rule_now(r->rules) - m->at_ps;
	struct bf_finding *f;

	if (!complete || !m->started || q->failed || q->done.upto >= q->fetched.upto || !timeout ||
	    since > 4 * timeout || !bf_rule_silent(r, NULL))
		return;
	/* A program that destroys its queue pairs amid their work, with nobody waiting, wants no more of them. */
	if (q->destroyed && !bf_mlx5_rule_completion_awaited(r->rules, queue->pe))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = m->at_ps;
	bf_finding_since(f, m->at_ps, m->record);
	bf_finding_index(f, q->done.upto);
	bf_finding_say(
	    f,
	    "%s and what follows are not acknowledged; the records end %s after the last thing that "
	    "happened on this queue pair, and the NIC sends again after its time-out of %s (timeout %" PRIu32 ")",
	    bf_mlx5_rule_entry(queue, q->done.upto).text, bf_span_of(since).text, bf_span_of(timeout).text, q->timeout);
}

const struct bf_rule bf_rule_mlx5_timeout_pending = {
	.about = {
		.id = "MLX5-TIMEOUT-PENDING",
		.family = "mlx5",
		.title = "the run ended before the NIC would have sent again",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A packet or its acknowledgement that is lost is sent again after the local ACK time-out of the queue pair: 4.096 us * 2^timeout, twice to four times that on hardware.",
		.wrong = "The run was shorter than the time-out. Nothing is wrong with the entries: they would have gone on.",
		.fix = "Give the run more time, or the queue pair a shorter time-out (ibv_qp_attr.timeout, --ack-timeout).",
		.sources = "InfiniBand Architecture vol. 1, 9.7.6.1.3; man ibv_modify_qp",
		.example = "run ibgda-put --messages 200 --faults 'drop prob=0.05' --limit 1ms",
		.twin = "run ibgda-put --messages 200 --faults 'drop prob=0.05'",
	},
	.rank = BF_RANK_NET - 1,
	.net = 1,
	.records = BF_SEES(wqe_start, wqe_done, retransmit),
	.on = on,
	.queue_bytes = sizeof(struct mine),
	.end_queue = end_queue,
};
