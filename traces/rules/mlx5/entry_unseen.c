#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/rules/mlx5/mlx5.h"

/* The doorbell record as it was read last. */
struct state {
	uint64_t place; /* 0: not known for sure */
	uint16_t producer;
};

/*
 * A thread whose stores are recorded rings, and what the device then reads is of nobody: a plain store, memcpy(), or
 * code in another library wrote it. No other rule can judge such bytes.
 */
static void on_fetch(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const struct bf_mlx5_rule_slot *slot;
	struct bf_finding *f;

	if (!q->rung || !q->depth || !q->fetch.slot_va || e->wqe_fetch.source != BF_MLX5_FROM_RING || e->tail_len < 8)
		return;
	slot = &q->slots[q->fetch.index % q->depth];
	if (slot->laid || slot->begun || bf_get_be24(e->tail + 4) != e->queue->number)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, q->fetch.index);
	bf_finding_since(f, q->fetch.sampled_ps, q->fetch.record);
	bf_finding_say(f,
		       "the device fetched %s at 0x%" PRIx64
		       ", and no store that was recorded had written it: fences and order of "
		       "these bytes were not looked at",
		       bf_mlx5_rule_entry(e->queue, q->fetch.index).text, q->fetch.slot_va);
}

/* A record that has moved since the device read it last, at a place that is known since then. */
static void on_dbrec(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint64_t place = q->dbrec_ring ? q->dbrec_ring->va + 4 * BF_MLX5_DBR_SND : 0;
	const bool moved = s->place && s->place == place && s->producer != e->dbrec.producer;
	struct bf_finding *f;

	s->place = place == q->dbrec_read ? place : 0;
	s->producer = (uint16_t)e->dbrec.producer;
	/* Who resets a queue pair clears its record by plain stores, as its memory was cleared before the run. */
	if (!q->rung || !moved || (q->was_reset && !e->dbrec.producer) || q->most.set || q->dbrec_shown ||
	    e->dbrec.verdict == BF_MLX5_DBREC_FAILED)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->dbrec.producer);
	bf_finding_say(f,
		       "the device read %" PRIu64 " in the doorbell record of QP 0x%" PRIx64 " on PE %" PRIu32
		       " at 0x%" PRIx64 ", and no store that was recorded had written there: fences and order of these "
		       "bytes were not looked at",
		       e->dbrec.producer, e->queue->number, e->queue->pe, place);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_dbrec)
		on_dbrec(r, e);
	else
		on_fetch(r, e);
}

const struct bf_rule bf_rule_mlx5_entry_unseen = {
	.about = {
		.id = "MLX5-ENTRY-UNSEEN",
		.family = "mlx5",
		.title = "the device read what no recorded store had written",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC fetches what is in the ring. It cannot tell who wrote it, or by which "
			    "instruction.",
		.wrong = "A plain store or memcpy() into the ring or the doorbell record bypasses the simulated "
			 "processor. It is visible at once, so a missing fence does no harm here and is not found. On "
			 "a real GPU nothing orders it.",
		.fix = "Store through the platform: bf_st_weak32() and its like, then bf_fence_sys(). Or compile the "
 "code with gcc's -fsanitize=thread and link it with libbelfry-plain (docs/embedding.md): its plain loads and stores then go there.",
		.sources = "drivers/platform/platform.h; PTX ISA, Memory Consistency Model",
		.test = "tests/drivers/test_trial_own.c",
		.why = "The drivers of belfry store through the platform.",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(wqe_fetch, dbrec),
	.needs = BF_SEES(store, mmio_store, dma_read, wqe_fetch),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
