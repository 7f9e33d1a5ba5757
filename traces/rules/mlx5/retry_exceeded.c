#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	/* Vendor 83: the entry is an atomic (docs/hardware/mlx5.md#gpu-initiated-18). */
	const bool atomic = e->qp_error.vendor == 0x83u;

	bf_mlx5_rule_failed_with(
	    r, e, 0x15u,
	    atomic ? ": it is an atomic, which the other end may have executed all the same; who waits "
		     "for it must leave on the error, as success never comes"
		   : ": no retry was acknowledged, and later flushes follow from that");
}

const struct bf_rule bf_rule_mlx5_retry_exceeded = {
	.about = {
		.id = "MLX5-RETRY-EXCEEDED",
		.family = "mlx5",
		.title = "the path is dead: no retry was acknowledged",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A requester that gets no acknowledgement sends again after its time-out, retry_cnt "
			    "times, and then fails the queue pair with syndrome 15, vendor 81 (83 for an atomic).",
		.wrong = "The peer is gone, its queue pair is not ready or has failed, or packets are lost on the way. "
			 "Later entries on this queue pair are flushed with 05/f9: ignore those.",
		.fix = "Look at the other side first: its queue pair's state and its first error; then at the path "
		       "(GID, VLAN, MTU, PFC, link).",
		.sources = "NVIDIA/nccl#426, #1405, #1664; openucx/ucx#6669; InfiniBand Architecture vol. 1, 9.7.6",
		.example = "run ibgda-put --faults 'drop prob=1' --retries 2 --ack-timeout 5 --limit 1s",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.on = on,
};
