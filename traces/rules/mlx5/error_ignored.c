#include <inttypes.h>

#include "traces/rules/mlx5/polls.h"

/* By the stores of a driver that says nothing: it has read the error, and goes on posting. */
static void on_laid(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_poller *t = &bf_mlx5_rule_polls_of(r->rules)->poller[e->actor % BF_MLX5_POLLERS];
	const struct bf_ring *ring =
	    t->actor == e->actor && t->error ? bf_stores_ring_at(bf_rule_stores(r->rules), e->store.va) : NULL;
	const struct bf_mlx5_rule_queue *q = ring && ring->queue == t->error ? bf_mlx5_rule_of(ring->queue) : NULL;
	struct bf_finding *f;

	if (!q || q->driver_speaks || !q->error_syndrome)
		return;
	f = bf_rule_find(r, e, ring->queue);
	if (!f)
		return;
	bf_finding_since(f, t->error_ps, t->error_record);
	bf_finding_index(f, t->error_index);
	bf_finding_say(
	    f,
	    "%s read the completion of %s, which is an error, syndrome %02x (%s), and then stored %s into the ring "
	    "as if it were a good one: what follows an error is flushed",
	    bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(ring->queue, t->error_index).text, q->error_syndrome,
	    bf_mlx5_rule_syndrome(q->error_syndrome), bf_mlx5_rule_entry(ring->queue, q->laid.index).text);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool quiet = e->kind == BF_SEEN_ibgda_quiet;
	const struct bf_mlx5_rule_queue *q;
	uint64_t below;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_store) {
		on_laid(r, e);
		return;
	}
	q = bf_mlx5_rule_of(e->queue);
	below = quiet ? e->ibgda_quiet.upto : e->ibgda_poll.done;
	if ((quiet ? e->ibgda_quiet.status != 0 : e->ibgda_poll.syndrome != 0) || !q->error_syndrome ||
	    below <= q->error_index)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, q->error_ps, q->error_record);
	bf_finding_index(f, q->error_index);
	bf_finding_say(f,
		       "%s took the entries of QP 0x%" PRIx64 " below %" PRIu64 " for complete although WQE %" PRIu64
		       " had failed with syndrome %02x (%s): it went by the counter of the "
		       "completion, and took its opcode and syndrome for those of a good one",
		       bf_rule_actor(r->rules, e->actor), e->queue->number, below, q->error_index, q->error_syndrome,
		       bf_mlx5_rule_syndrome(q->error_syndrome));
}

const struct bf_rule bf_rule_mlx5_error_ignored = {
	.about = {
		.id = "MLX5-ERROR-IGNORED",
		.family = "mlx5",
		.title = "a poller treats an error completion as success",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Opcode 13 (requester error) in a completion means that the entry failed; its counter "
			    "field looks like that of a good one.",
		.wrong = "The poller looks at the counter only, so the caller believes that its data has arrived.",
		.fix = "Look at the opcode (bits 7:4 of op_own) before the counter, stop on 13 and 14, and report "
		       "the syndrome.",
		.sources = "deepseek-ai/DeepEP#558; docs/hardware/mlx5.md#collapsed-cq-5",
		.example = "run ibgda-put --faults 'drop prob=1' --retries 2 --ack-timeout 5 --limit 1s --bug "
			   "ignore-error",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_COMPLETION + 1,
	.records = BF_SEES(store, ibgda_poll, ibgda_quiet),
	.when = BF_MLX5_TO_ENTRY,
	.whens = 1,
	.on = on,
};
