#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define MANY 8u

struct state {
	uint64_t fetched; /* when the last READ or atomic was done */
	uint64_t count, waited;
};

static bool asks(uint64_t opcode)
{
	return opcode >= BF_MLX5_OP_RDMA_READ && opcode <= BF_MLX5_OP_ATOMIC_MASKED_FA;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	if (e->kind == BF_SEEN_wqe_done) {
		if (asks(e->wqe_done.opcode))
			s->fetched = q->fetched.upto;
		return;
	}
	if (!asks(e->wqe_start.opcode))
		return;
	s->count++;
	/* It was there when the one before was done, and had not begun. */
	s->waited += (int16_t)((uint16_t)s->fetched - (uint16_t)e->wqe_start.index) > 0;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct state *s = bf_rule_queue_state(r, queue);
	struct bf_finding *f = q->max_reads == 1 && s->waited >= MANY ? bf_rule_find(r, NULL, queue) : NULL;

	(void)complete;
	if (f)
		bf_finding_say(
		    f,
		    "%" PRIu64 " of %" PRIu64 " READs and atomics of QP 0x%" PRIx64 " on PE %" PRIu32
		    " waited for the answer to the one before: the queue pair may have 1 in flight (log_sra_max 0)",
		    s->waited, s->count, queue->number, queue->pe);
}

const struct bf_rule bf_rule_mlx5_read_serial = {
	.about = {
		.id = "MLX5-READ-SERIAL",
		.family = "mlx5",
		.title = "reads and atomics go one round trip at a time",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A requester has as many READs and atomics in flight as RTR2RTS says (log_sra_max). If "
			    "nobody sets the field, that is one.",
		.wrong = "It works, but each signal, counter and get waits for the one before: one round trip each.",
		.fix = "Set max_rd_atomic and, at the other end, max_dest_rd_atomic to what the device offers, most often 16.",
		.sources = "openucx/ucx#11099; meta-pytorch/torchcomms#3926; deepseek-ai/DeepEP#437",
		.example = "run gin-get --messages 32 --batch 16 --bug gin-depth-1",
		.twin = "run gin-get --messages 32 --batch 16",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(wqe_start, wqe_done),
	.queue_bytes = sizeof(struct state),
	.needs = BF_SEES(qp_path),
	.on = on,
	.end_queue = end_queue,
};
