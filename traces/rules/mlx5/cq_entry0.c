#include <inttypes.h>

#include "traces/rules/mlx5/cqs.h"

/* Of the run: its completion queues, and whether the driver is one that polls all of them as rings (GIN's). */
struct run {
	struct bf_mlx5_rule_cqs cqs;
	bool rings;
};

/* Of a queue pair. */
struct state {
	uint64_t slot; /* of the last completion */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct run *run = r->state;

	if (e->kind == BF_SEEN_cq_config)
		bf_mlx5_rule_note_cq(&run->cqs, e);
	else if (e->kind == BF_SEEN_gin_queue)
		run->rings = true;
	else
		((struct state *)bf_rule_queue_state(r, e->queue))->slot = e->cqe.slot;
}

/* All is done, the last completion lies behind entry 0, and pollers stand where entry 0 has left them. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct run *run = r->state;
	const struct bf_mlx5_rule_cq *cq = bf_mlx5_rule_find_cq(&run->cqs, queue, q->send_cqn);
	struct bf_finding *f;

	if (!complete || !cq || cq->collapsed || !cq->overrun_ignore || !q->driver_speaks || !s->slot || run->rings ||
	    q->done.upto < q->posted.upto || q->polled.upto >= q->posted.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->done.at_ps;
	bf_finding_since(f, q->done.at_ps, q->done.record);
	bf_finding_say(f,
		       "the last completion of QP 0x%" PRIx64 " on PE %" PRIu32 " lies in entry %" PRIu64
		       " of CQ 0x%" PRIx32 ", which is a ring of %" PRIu32
		       ", and its pollers look at entry 0, where they saw those below %" PRIu64 " done",
		       queue->number, queue->pe, s->slot, cq->cqn, cq->cqes, q->polled.upto);
}

const struct bf_rule bf_rule_mlx5_cq_entry0 = {
	.about = {
		.id = "MLX5-CQ-ENTRY-0",
		.family = "mlx5",
		.title = "pollers look at entry 0 of a completion queue that is a ring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Only a collapsed CQ (cc) has its completions written over entry 0. In any other the "
			    "next one goes into the next entry, with an owner bit that changes each time round.",
		.wrong = "Device code that reads nothing but entry 0 sees the first completion and no other.",
		.fix = "Create the CQ with cc and oi, or poll it as a ring: by consumer index and owner bit, giving "
			    "entries back.",
		.sources = "NVIDIA/nvshmem#20; NVIDIA/nccl#1636; mlx5 PRM, Completion Queue Context",
		.example = "run ibgda-put --bug cq-not-collapsed",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_SET_UP + 4,
	.records = BF_SEES(cq_config, cqe, gin_queue),
	.needs = BF_SEES(cq_config, cqe, ibgda_build),
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
