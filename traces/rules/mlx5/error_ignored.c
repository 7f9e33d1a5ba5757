#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool quiet = e->kind == BF_SEEN_ibgda_quiet;
	const struct bf_mlx5_queue *q = bf_mlx5_of(e->queue);
	const uint64_t below = quiet ? e->ibgda_quiet.upto : e->ibgda_poll.done;
	struct bf_finding *f;

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
		       bf_mlx5_syndrome(q->error_syndrome));
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
	.records = BF_SEES(ibgda_poll, ibgda_quiet),
	.on = on,
};
