#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

struct state {
	uint64_t handed, at_ps, record;
	uint32_t actor;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);

	if (e->ibgda_handoff.to > s->handed)
		*s = (struct state){ e->ibgda_handoff.to, e->time_ps, e->number, e->actor };
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct state *s = bf_rule_queue_state(r, queue);
	struct bf_finding *f;

	if (!complete || s->handed <= q->posted.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, q->posted.upto);
	bf_finding_say(f,
		       "%s handed the entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
		       " to the CPU's thread, which has rung for those below %" PRIu64,
		       bf_rule_actor(r->rules, s->actor), queue->number, queue->pe, s->handed, q->posted.upto);
}

const struct bf_rule bf_rule_mlx5_proxy_idle = {
	.about = {
		.id = "MLX5-PROXY-IDLE",
		.family = "mlx5",
		.title = "the CPU proxy never rings for the GPU's entries",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A GPU that cannot reach doorbell pages leaves the index in memory, and a CPU thread rings "
			    "for it. The NIC sees nothing until that thread rings.",
		.wrong = "The thread looks at another slot than the GPU writes to, has ended, or was never started. "
			 "The GPU waits for completions of entries that the NIC does not know of.",
		.fix = "Number slots in one place for both sides, leave out endpoints that do not exist, and end the "
			    "thread after the last quiet.",
		.sources = "deepseek-ai/DeepEP commit 91848ed; NVIDIA/nvshmem ibgda.cpp ibgda_rc_progress",
		.example = "run ibgda-put --proxy --limit 10ms --bug proxy-slot-zero",
		.twin = "run ibgda-put --proxy --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(ibgda_handoff),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
