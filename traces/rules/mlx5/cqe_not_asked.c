#include <inttypes.h>

#include "traces/rules/mlx5/polls.h"

struct state {
	bool by_index; /* CQE i is that of entry i */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_gin_queue) {
		s->by_index = true;
		return;
	}
	if (!s->by_index || (e->wqe_done.signalled && (uint16_t)(e->wqe_done.next - e->wqe_done.index) == 1))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->wqe_done.index);
	bf_finding_say(f,
		       "entry %" PRIu64 " of QP 0x%" PRIx64
		       " %s, and its pollers take CQE i for that of entry i: from here on each CQE is another entry's",
		       e->wqe_done.index, e->queue->number,
		       e->wqe_done.signalled ? "takes more than one block of the ring" : "asked for no CQE");
}

/* Who waits beyond the completion that comes next; it lies in a slot that stays as it is. */
static const struct bf_mlx5_rule_poller *waits_ahead(struct bf_rule_run *r, const struct bf_mlx5_rule_polled_cq *cq,
						     uint64_t entries, uint64_t *slot)
{
	const uint64_t most = cq->cqes / 2;

	for (uint64_t n = cq->written; n < entries && n < cq->written + most; n++) {
		const struct bf_mlx5_rule_poller *t = bf_mlx5_rule_awaited_slot(r->rules, cq, n % cq->cqes);

		*slot = n;
		if (t)
			return t;
	}
	return NULL;
}

/* By the loads of a driver that says nothing: all is done, and there are fewer completions than entries. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_polled_cq *cq =
	    bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), queue, q->send_cqn);
	const struct bf_mlx5_rule_poller *waits;
	struct bf_finding *f;
	uint64_t slot = 0;

	if (s->by_index || q->driver_speaks || !cq || !cq->slots || cq->written != q->cqes || q->was_reset ||
	    q->failed || q->done.upto < q->fetched.upto || q->done.upto <= cq->written)
		return;
	waits = complete ? waits_ahead(r, cq, q->done.upto, &slot) : NULL;
	/* What comes next may be the answer to an entry that asked for none: MLX5-UNSIGNALLED. */
	if (!cq->skipped && (!waits || (slot == cq->written && q->covered < q->done.upto)))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	if (cq->skipped) {
		f->found.at_ps = cq->ahead_ps;
		bf_finding_since(f, cq->ahead_ps, cq->ahead_record);
		bf_finding_index(f, cq->ahead);
		bf_finding_say(f,
			       "%s took completion %" PRIu64 " of CQ 0x%" PRIx32 " and left out the %" PRIu64
			       " before it, as who takes it for that of entry %" PRIu64
			       ": it is that of entry %" PRIu64,
			       bf_rule_actor(r->rules, cq->ahead_actor), cq->ahead, cq->cqn, cq->skipped, cq->ahead,
			       cq->slots[cq->ahead % cq->cqes].done - 1);
		return;
	}
	f->found.at_ps = waits->wait_ps;
	bf_finding_since(f, waits->wait_ps, waits->wait_record);
	bf_finding_index(f, slot);
	bf_finding_say(f,
		       "%s waits for completion %" PRIu64 " of CQ 0x%" PRIx32 ", as for that of entry %" PRIu64
		       ": the device has executed all %" PRIu64 " entries of QP 0x%" PRIx64 " and written %" PRIu64
		       " completions, since not each asked for one",
		       bf_rule_actor(r->rules, waits->actor), slot, cq->cqn, slot, q->done.upto, queue->number,
		       cq->written);
}

const struct bf_rule bf_rule_mlx5_cqe_not_asked = {
	.about = {
		.id = "MLX5-CQE-INDEX",
		.family = "mlx5",
		.title = "an entry has no CQE of its index, and pollers count on it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The device writes a CQE for each entry that asks for one, in order. Nothing ties the "
			    "place of a CQE to the index of its entry.",
		.wrong = "GPUNetIO polls the CQE of entry i at place i. One entry that asks for no CQE, or that takes "
			 "two blocks, shifts all later ones: waits get another entry's answer, or none.",
		.fix = "CQ_UPDATE (0x08) in each entry, and entries of one block; or another way to poll.",
		.sources = "NVIDIA/nvshmem#85; NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_cq.cuh",
		.example = "run gin-put --messages 2 --size 8 --bug gin-unsignaled",
		.twin = "run gin-put --messages 2 --size 8",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(gin_queue, wqe_done),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
