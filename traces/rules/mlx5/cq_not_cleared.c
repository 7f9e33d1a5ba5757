#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct bf_finding *f;

	if (!e->ibgda_poll.syndrome || q->error_syndrome)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_say(f,
		       "%s read syndrome %02" PRIx64 " from the CQ of QP 0x%" PRIx64
		       " when the device had written %" PRIu64
		       " completions there and no error: it is what the memory held before",
		       bf_rule_actor(r->rules, e->actor), e->ibgda_poll.syndrome, e->queue->number, q->cqes);
}

const struct bf_rule bf_rule_mlx5_cq_not_cleared = {
	.about = {
		.id = "MLX5-CQ-NOT-CLEARED",
		.family = "mlx5",
		.title = "a completion queue starts with old bytes in its memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC writes completions and nothing else: what an entry holds before its first one "
			    "is what its memory held when the CQ was created.",
		.wrong = "A poller takes those bytes for a completion: an error with a syndrome that does not exist, "
			    "or a counter that says that entries are done.",
		.fix = "Fill the buffer with 0xff before CREATE_CQ: opcode 15 is \"invalid\", and counter 0xffff "
			    "reads as \"nothing completed\".",
		.sources = "ROCm/rocSHMEM#313; NVIDIA/nvshmem ibgda.cpp ibgda_create_cq",
		.example = "run ibgda-put --messages 4 --quiet-every 1 --bug cq-not-cleared",
		.twin = "run ibgda-put --messages 4 --quiet-every 1",
	},
	.rank = BF_RANK_SET_UP + 4,
	.records = BF_SEES(ibgda_poll),
	.needs = BF_SEES(ibgda_poll, cqe),
	.on = on,
};
