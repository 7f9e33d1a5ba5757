#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

struct state {
	bool by_index; /* CQE i is that of entry i */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_gin_queue) {
		s->by_index = true;
		return;
	}
	if (!s->by_index || (e->wqe_done.signalled && (uint16_t)(e->wqe_done.next - e->wqe_done.index) == 1))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->wqe_done.index);
	bf_finding_say(f,
		       "entry %" PRIu64 " of QP 0x%" PRIx64
		       " %s, and its pollers take CQE i for that of entry i: from here on each CQE is another entry's",
		       e->wqe_done.index, e->queue->number,
		       e->wqe_done.signalled ? "takes more than one block of the ring" : "asked for no CQE");
}

const struct bf_rule bf_rule_mlx5_cqe_not_asked = {
	.about = {
		.id = "MLX5-CQE-INDEX",
		.family = "mlx5",
		.title = "an entry has no CQE of its index, and pollers count on it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The device writes a CQE for each entry that asks for one, one behind the other. Nothing ties "
			    "the place of a CQE to the index of its entry.",
		.wrong = "GPUNetIO polls the CQE of entry i at place i. One entry that asks for no CQE, or that takes two "
			 "blocks, moves all later ones: waits get another entry's answer, or never one.",
		.fix = "CQ_UPDATE (0x08) in each entry, and entries of one block; or another way to poll.",
		.sources = "NVIDIA/nvshmem#85; NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_cq.cuh",
		.example = "run gin-put --messages 2 --size 8 --bug gin-unsignaled",
		.twin = "run gin-put --messages 2 --size 8",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(gin_queue, wqe_done),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
