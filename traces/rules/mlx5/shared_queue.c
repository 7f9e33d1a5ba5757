#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define MANY 8u

struct state {
	uint32_t actors[MANY], n; /* the first threads that published */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->actors[i] == e->actor)
			return;
	if (s->n < MANY)
		s->actors[s->n++] = e->actor;
	if (s->n < MANY)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f, "at least %u threads publish entries of QP 0x%" PRIx64 " on PE %" PRIu32, MANY,
			       e->queue->number, e->queue->pe);
}

const struct bf_rule bf_rule_mlx5_shared_queue = {
	.about = {
		.id = "MLX5-SHARED-QUEUE",
		.family = "mlx5",
		.title = "many threads share one queue pair",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A queue pair executes in order, and all its threads share one lock, one record and one ring.",
		.wrong = "Correct, but slower than necessary: the threads wait for each other at the lock and at the ring.",
		.fix = "Spread threads over several queue pairs to the same peer (NVSHMEM_IBGDA_NUM_RC_PER_PE, a "
		       "handle for each warp or SM).",
		.sources = "deepseek-ai/DeepEP PR#181; NVIDIA/nvshmem NVSHMEM_IBGDA_RC_MAP_BY",
		.example = "run ibgda-put --warps 16 --messages 8 --qp-choice first",
		.twin = "run ibgda-put --warps 4 --qps 4",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(ibgda_publish),
	.on = on,
	.queue_bytes = sizeof(struct state),
};
