#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

/* Whatever the device does next: the entry that was there before is not complete. */
static void on_build(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_queue *q = bf_mlx5_of(e->queue);
	const uint64_t end = e->ibgda_build.index + (e->ibgda_build.ds + 3) / 4;
	struct bf_finding *f;

	if (!q->depth || !q->done_record || end <= q->done + q->depth || q->failed || q->error_syndrome)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->ibgda_build.index);
	bf_finding_say(f,
		       "%s laid %s over an entry that the device had not completed: the ring holds %" PRIu32
		       ", and those below %" PRIu64 " were done",
		       bf_rule_actor(r->rules, e->actor), bf_mlx5_entry(e->queue, e->ibgda_build.index).text, q->depth,
		       q->done);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_queue *q = bf_mlx5_of(e->queue);
	const struct bf_mlx5_rule_fetch *w = &q->fetch;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_ibgda_build) {
		on_build(r, e);
		return;
	}
	if (w->what != BF_MLX5_FETCHED_OVERWRITTEN)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, w->index);
	bf_finding_since(f, w->over.at_ps, w->over.record);
	bf_finding_say(f,
		       "%s overwrote %s with WQE %" PRIu64 ", %s before the device fetched it: the ring holds %" PRIu32
		       " and nobody waited for room",
		       bf_rule_actor(r->rules, w->over.actor), bf_mlx5_entry(e->queue, w->index).text,
		       w->over.index - 1, bf_span_of(w->sampled_ps - w->over.at_ps).text, q->depth);
}

const struct bf_rule bf_rule_mlx5_ring_overrun = {
	.about = {
		.id = "MLX5-RING-OVERRUN",
		.family = "mlx5",
		.title = "entries were overwritten before the device had executed them",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The send ring holds a fixed number of WQEBBs and the NIC keeps no copy of those that wait. " "Nothing in hardware stops a driver from storing into a slot that is still pending.",
		.wrong = "More entries were reserved than the ring has room for, so the NIC executes the newer entry " "twice and the older one never.",
		.fix = "Before writing, wait until reserved index - completed index fits the ring: poll the CQ in "
		       "the reservation, not only in quiet. Counters of 16 bits must be widened before they are "
		       "compared.",
		.sources = "deepseek-ai/DeepEP#180; ROCm/mori#20, PR#622; NVIDIA/nvshmem ibgda_device.cuh "
			   "ibgda_reserve_wqe_slots",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --depth 16 --batch 4 --messages 64 "
			   "--ordering adversarial --bug no-overflow-wait",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --depth 16 --batch 4 --messages 64 "
			"--ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch, ibgda_build),
	.needs = BF_SEES(ibgda_build, wqe_fetch, qp_config),
	.on = on,
};
