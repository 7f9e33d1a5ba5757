#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

void bf_mlx5_rule_early_build(struct bf_rule_run *r, const struct bf_seen *e, bool published)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const struct bf_mlx5_rule_slot *slot;
	struct bf_finding *f;

	if (!q->depth)
		return;
	slot = &q->slots[(e->kind == BF_SEEN_wqe_fetch ? q->fetch.index : e->ibgda_build.index) % q->depth];
	/* The entry had been built when the fetch ended, or it is built now: after it was fetched. */
	if (!slot->early_index || slot->early_index != slot->built[0].index ||
	    (slot->early_published || slot->early_beyond) != published)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, slot->early_index - 1);
	bf_finding_since(f, slot->early_ps, slot->early_record);
	f->found.at_ps = slot->early_ps;
	if (slot->built[0].at_ps > slot->early_ps)
		bf_finding_say(f, "the device fetched %s %s before %s wrote it: it was announced too early",
			       bf_mlx5_rule_entry(e->queue, slot->early_index - 1).text,
			       bf_span_of(slot->built[0].at_ps - slot->early_ps).text,
			       bf_rule_actor(r->rules, slot->built[0].actor));
	else
		bf_finding_say(
		    f,
		    "%s published %s before it wrote it, and the device fetched it %s after the last store into it, "
		    "which was in a store buffer: it was announced too early",
		    bf_rule_actor(r->rules, slot->built[0].actor),
		    bf_mlx5_rule_entry(e->queue, slot->early_index - 1).text,
		    bf_span_of(slot->early_ps - slot->built[0].at_ps).text);
}

/* Whether or not the device was there in between. */
static void built_late(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, e->ibgda_build.index);
	bf_finding_say(f, "%s wrote %s after it had published it: from then on the device may fetch it",
		       bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, e->ibgda_build.index).text);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	bf_mlx5_rule_early_build(r, e, true);
	if (e->kind == BF_SEEN_ibgda_build && q->depth &&
	    q->slots[e->ibgda_build.index % q->depth].built[0].after_publish)
		built_late(r, e);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);

	for (uint32_t i = 0; complete && q->driver_speaks && q->slots && i < q->depth; i++) {
		const struct bf_mlx5_rule_slot *slot = &q->slots[i];
		struct bf_finding *f;

		/* Blocks of a longer entry have no build of their own; only wrong bytes make one suspect. */
		if (slot->early_index <= slot->built[0].index || !slot->early_wrong)
			continue;
		f = bf_rule_find(r, NULL, queue);
		if (!f)
			continue;
		bf_finding_index(f, slot->early_index - 1);
		bf_finding_since(f, slot->early_ps, slot->early_record);
		f->found.at_ps = slot->early_ps;
		bf_finding_say(f, "the device fetched %s, which was announced and never written",
			       bf_mlx5_rule_entry(queue, slot->early_index - 1).text);
	}
}

const struct bf_rule bf_rule_mlx5_entry_early = {
	.about = {
		.id = "MLX5-ENTRY-EARLY",
		.family = "mlx5",
		.title = "an entry was announced before it was written",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The doorbell record is a promise: every WQE below the index in it is complete. The NIC "
			    "fetches up to there at once.",
		.wrong = "It fetched a slot whose entry had not been stored, so it executed what was there before: "
			 "an entry of an earlier lap, again, or zeros.",
		.fix = "Write all entries of a reservation, fence, and only then publish it (ready_head); a "
		       "submitter rings for what is published, never for what is merely reserved.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests; deepseek-ai/DeepEP#181; docs/hardware/mlx5.md#variants-5",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "wqe-after-ready",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch, ibgda_build),
	.needs = BF_SEES(ibgda_build, wqe_fetch, qp_config),
	.on = on,
	.end_queue = end_queue,
};
