#include <inttypes.h>

#include "traces/rules/mlx5.h"

#define SYNDROME 0x15u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;
	char why[40];

	if (e->qp_error.syndrome != SYNDROME || e->qp_error.side != 0)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_seen_text(e, "why", why, sizeof(why));
	bf_finding_say(f,
		       "WQE %" PRIu64 " on %s failed with syndrome %02x, vendor %02" PRIx64
		       ": %s%s%s: the path is dead, and later flushes are its consequence",
		       e->qp_error.index, bf_rule_actor(r->rules, e->actor), SYNDROME, e->qp_error.vendor,
		       bf_mlx5_syndrome(SYNDROME), why[0] ? ", " : "", why);
}

const struct bf_rule bf_rule_mlx5_retry_exceeded = {
	.about = {
		.id = "MLX5-RETRY-EXCEEDED",
		.family = "mlx5",
		.title = "the path is dead: nobody answered any of the retries",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A requester that gets no acknowledgement sends again after its time-out, retry_cnt "
			    "times, and then fails the queue pair with syndrome 15, vendor 81.",
		.wrong = "The peer is gone, its queue pair is not ready or has failed, or packets are lost on the "
			 "way. What follows on this queue pair is flushed with 05/f9 and tells nothing.",
		.fix = "Look at the other side first: its queue pair's state and its first error; then at the path "
		       "(GID, VLAN, MTU, PFC, link).",
		.sources = "NVIDIA/nccl#426, #1405, #1664; openucx/ucx#6669; InfiniBand Architecture vol. 1, 9.7.6",
		.example = "run ibgda-put --faults 'drop prob=1' --retries 2 --ack-timeout 5 --limit 1s",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_EFFECT,
	.records = (const uint8_t[]){ BF_SEEN_qp_error, 0 },
	.on = on,
};
