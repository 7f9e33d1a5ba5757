#include <inttypes.h>

#include "traces/rules/mlx5/polls.h"

/* Whatever the device does next: the entry that was there before is not complete. */
static void on_build(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const uint64_t end = e->ibgda_build.index + (e->ibgda_build.ds + 3) / 4;
	struct bf_finding *f;

	if (!q->depth || !q->done.record || end <= q->done.upto + q->depth || q->failed || q->error_syndrome)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->ibgda_build.index);
	bf_finding_say(f,
		       "%s laid %s over an entry that the device had not completed: the ring holds %" PRIu32
		       ", and those below %" PRIu64 " were done",
		       bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, e->ibgda_build.index).text,
		       q->depth, q->done.upto);
}

/* The first entry that was laid over one whose completion nobody had seen. */
struct state {
	bool set;
	struct bf_mlx5_rule_laid laid;
	uint64_t seen, done, done_ps;
};

/* By the stores of a driver that says nothing of its entries. */
static void on_laid(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r->rules), e->store.va);
	const struct bf_mlx5_rule_queue *q = ring ? bf_mlx5_rule_of(ring->queue) : NULL;
	struct state *s = ring ? bf_rule_queue_state(r, ring->queue) : NULL;

	/* One that is far ahead was laid again, or is no index. */
	if (!q || s->set || q->driver_speaks || !q->configured || q->failed || q->error_syndrome ||
	    q->laid.index < q->seen_done + q->depth || q->laid.index >= q->done.upto + 2 * q->depth)
		return;
	*s = (struct state){ true, q->laid, q->seen_done, q->done.upto, q->done.at_ps };
}

static void say_laid(struct bf_rule_run *r, struct bf_rule_queue *queue, const struct state *s)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f = bf_rule_find(r, NULL, queue);

	if (!f)
		return;
	f->found.at_ps = s->laid.at_ps;
	bf_finding_since(f, s->laid.at_ps, s->laid.record);
	bf_finding_index(f, s->laid.index);
	bf_finding_say(f, "%s stored %s over WQE %" PRIu64 ", ", bf_rule_actor(r->rules, s->laid.actor),
		       bf_mlx5_rule_entry(queue, s->laid.index).text, s->laid.index - q->depth);
	if (s->laid.index >= s->done + q->depth)
		bf_finding_say(f,
			       "which the device had not completed: the ring holds %" PRIu32
			       ", and those below %" PRIu64 " were done",
			       q->depth, s->done);
	else
		bf_finding_say(f,
			       "whose completion nobody had looked at: the ring holds %" PRIu32
			       ", and the driver knew of those below %" PRIu64
			       "; the device happened to have done %" PRIu64,
			       q->depth, s->seen, s->done);
}

/* Who polls by loads that are not recorded may know more than shows. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_polled_cq *cq =
	    bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), queue, q->send_cqn);
	const struct state *s = bf_rule_queue_state(r, queue);

	(void)complete;
	if (s->set && (s->laid.index >= s->done + q->depth || (cq && cq->loads)))
		say_laid(r, queue, s);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q;
	const struct bf_mlx5_rule_fetch *w;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_store) {
		on_laid(r, e);
		return;
	}
	q = bf_mlx5_rule_of(e->queue);
	w = &q->fetch;
	if (e->kind == BF_SEEN_ibgda_build) {
		on_build(r, e);
		return;
	}
	if (w->what != BF_MLX5_FETCHED_OVERWRITTEN)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, w->index);
	bf_finding_since(f, w->over.at_ps, w->over.record);
	bf_finding_say(f,
		       "%s overwrote %s with WQE %" PRIu64 ", %s before the device fetched it: the ring holds %" PRIu32
		       " and nobody waited for room",
		       bf_rule_actor(r->rules, w->over.actor), bf_mlx5_rule_entry(e->queue, w->index).text,
		       w->over.index - 1, bf_span_of(w->sampled_ps - w->over.at_ps).text, q->depth);
}

const struct bf_rule bf_rule_mlx5_ring_overrun = {
	.about = {
		.id = "MLX5-RING-OVERRUN",
		.family = "mlx5",
		.title = "entries were overwritten before the device had executed them",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The send ring holds a fixed number of WQEBBs and the NIC keeps no copy of those that wait. " "Nothing in hardware stops a driver from storing into a slot that is still pending.",
		.wrong = "More entries were reserved than the ring has room for, so the NIC executes the newer entry " "twice and the older one never.",
		.fix = "Before writing, wait until reserved index - completed index fits the ring: poll the CQ in "
		       "the reservation, not only in quiet. Counters of 16 bits must be widened before they are "
		       "compared.",
		.sources = "deepseek-ai/DeepEP#180; ROCm/mori#20, PR#622; NVIDIA/nvshmem ibgda_device.cuh "
			   "ibgda_reserve_wqe_slots",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --depth 16 --batch 4 --messages 64 "
			   "--ordering adversarial --bug no-overflow-wait",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --depth 16 --batch 4 --messages 64 "
			"--ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(store, wqe_fetch, ibgda_build),
	.when = BF_MLX5_TO_ENTRY,
	.whens = 1,
	.queue_bytes = sizeof(struct state),
	.end_queue = end_queue,
	.needs = BF_SEES(store, wqe_fetch, qp_config),
	.on = on,
};
