#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

struct state {
	uint32_t actor, block, mode;
	bool used;
};

enum { EXCLUSIVE, CTA, GPU };

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint32_t mode = (uint32_t)e->gin_queue.sharing, block = (uint32_t)e->gin_queue.block;
	const bool another = s->used && s->actor != e->actor, far = another && s->block != block;
	const uint32_t narrow = mode < s->mode ? mode : s->mode;
	struct bf_finding *f;

	if ((another && narrow == EXCLUSIVE) || (far && narrow == CTA) || (another && mode != s->mode)) {
		f = bf_rule_find(r, e, e->queue);
		if (f)
			bf_finding_say(f, "%s and %s both use QP 0x%" PRIx64 ", which %s for its own: the mode is %s",
				       bf_rule_actor(r->rules, s->actor), bf_rule_actor(r->rules, e->actor),
				       e->queue->number, narrow == CTA ? "a block takes" : "each takes",
				       narrow == EXCLUSIVE ? "exclusive"
				       : narrow == CTA     ? "cta"
							   : "not the same for both");
	}
	if (!s->used)
		*s = (struct state){ .actor = e->actor, .block = block, .mode = mode, .used = true };
}

const struct bf_rule bf_rule_mlx5_sharing = {
	.about = {
		.id = "MLX5-SHARING-MODE",
		.family = "mlx5",
		.title = "a queue pair is shared by more threads than its calls say",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Plain loads and stores of two threads, and atomics of block scope of two blocks, do not see "
			    "each other: both get the same slots.",
		.wrong = "GPUNetIO's sharing mode is an argument of each call and no property of the queue pair. A mode "
			 "narrower than the sharers gives slots twice and loses published ones, without an error.",
		.fix = "One mode for all calls on a queue pair: exclusive for one thread, cta for one block, else gpu; or a "
		       "queue pair for each block.",
		.sources = "aws/aws-ofi-nccl#1279; NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_qp.cuh",
		.example = "run gin-put --blocks 2 --messages 1 --size 8 --bug gin-wrong-sharing",
		.twin = "run gin-put --blocks 2 --messages 1 --size 8",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(gin_queue),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
