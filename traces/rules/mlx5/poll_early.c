#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct bf_finding *f;

	if (e->ibgda_poll.done <= q->done.upto)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	if (q->done.record)
		bf_finding_since(f, q->done.at_ps, q->done.record);
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f,
		       "%s took all entries of QP 0x%" PRIx64 " below %" PRIu64
		       " for complete when the device had completed those below %" PRIu64
		       ": it misread the completion's counter",
		       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_poll.done, q->done.upto);
}

const struct bf_rule bf_rule_mlx5_poll_early = {
	.about = {
		.id = "MLX5-POLL-EARLY",
		.family = "mlx5",
		.title = "a poller treated unfinished entries as complete",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion names the first WQEBB of its entry by 16 bits. A collapsed CQ has one "
			    "slot, which is written over: before the first completion it holds what the driver put "
			    "there.",
		.wrong = "The poller computed a larger index than the NIC had reached: a stale or unwritten "
			 "counter, or one widened against the wrong base. What follows reuses memory and slots that "
			 "are still in use.",
		.fix = "Widen the counter against an index that is at most 65535 behind, treat the initial 0xffff "
		       "as \"none\", and let pollers move the common counter forward only (atomic maximum).",
		.sources = "ROCm/mori PR#622, PR#607; deepseek-ai/DeepEP PR#702, PR#371; ROCm/rocm-systems PR#4698",
		.example = "run ibgda-put --warps 8 --qp-choice first --depth 16 --batch 4 --size 65536 --bug "
			   "poll-widen",
		.twin = "run ibgda-put --warps 8 --qp-choice first --depth 16 --batch 4 --size 65536",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(ibgda_poll),
	.needs = BF_SEES(ibgda_build, wqe_fetch),
	.on = on,
};
