#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void reserved_again(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_mlx5_rule_queue *q)
{
	const uint64_t base = e->ibgda_reserve.base;

	for (uint64_t i = base; i < base + e->ibgda_reserve.count && i < base + q->depth; i++) {
		struct bf_finding *f = q->slots[i % q->depth].times > 1 ? bf_rule_find(r, e, e->queue) : NULL;

		if (!f)
			continue;
		bf_finding_index(f, i);
		bf_finding_say(f,
			       "%s was given %" PRIu64 " slots from %" PRIu64 " on, and slot %" PRIu64
			       " of QP 0x%" PRIx64 " on PE %" PRIu32 " had been given to somebody already",
			       bf_rule_actor(r->rules, e->actor), e->ibgda_reserve.count, base, i, e->queue->number,
			       e->queue->pe);
		return;
	}
}

static void built_outside(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_mlx5_rule_queue *q)
{
	const uint64_t index = e->ibgda_build.index, end = index + (e->ibgda_build.ds + 3) / 4;
	const struct bf_mlx5_rule_slot *slot = &q->slots[index % q->depth];
	const bool twice = slot->built[1].index == index + 1, beyond = end > q->reserved.upto;
	struct bf_finding *f = q->reserved.upto && (twice || beyond) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, index);
	if (beyond) {
		bf_finding_say(f,
			       "%s laid %s over slots up to %" PRIu64 ", when those below %" PRIu64
			       " had been reserved: the next reservation gets the same ones",
			       bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, index).text, end,
			       q->reserved.upto);
		return;
	}
	bf_finding_since(f, slot->built[1].at_ps, slot->built[1].record);
	bf_finding_say(f, "%s laid %s where %s had laid an entry %s before: both think that the slot is theirs",
		       bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, index).text,
		       bf_rule_actor(r->rules, slot->built[1].actor),
		       bf_span_of(e->time_ps - slot->built[1].at_ps).text);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	if (!q->depth)
		return;
	if (e->kind == BF_SEEN_ibgda_reserve)
		reserved_again(r, e, q);
	else
		built_outside(r, e, q);
}

/* By the stores of a driver that says nothing of its entries. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_laid_twice *t = &q->twice;
	struct bf_finding *f = t->set && !q->driver_speaks ? bf_rule_find(r, NULL, queue) : NULL;

	(void)complete;
	if (!f)
		return;
	f->found.at_ps = t->ps;
	bf_finding_since(f, t->first_ps, t->first_record);
	bf_finding_index(f, t->index);
	bf_finding_say(
	    f, "%s stored %s where %s had stored an entry of the same index %s before: both were given the slot",
	    bf_rule_actor(r->rules, t->second), bf_mlx5_rule_entry(queue, t->index).text,
	    bf_rule_actor(r->rules, t->first), bf_span_of(t->ps - t->first_ps).text);
}

const struct bf_rule bf_rule_mlx5_slot_shared = {
	.about = {
		.id = "MLX5-SLOT-SHARED",
		.family = "mlx5",
		.title = "two entries in one slot of the same lap",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A WQE is as many 64-byte blocks of the ring as its segments need. The NIC steps from one to the " "next by the size in the control segment; only the driver knows whose slots they are.",
		.wrong = "A reservation was smaller than what was written there, or the common counter was moved by less " "than was taken: two threads write into the same slot, and one entry is lost or torn.",
		.fix = "Compute the number of blocks of a group once, entries, signals and trailing NOP or DUMP "
		       "included, and use it for the reservation, for each entry's place and for the publication.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_reserve_wqe_slots; mlx5 PRM, WQE Format",
		.example = "run ibgda-put --messages 2 --per-lane --lanes 2 --bug reserve-short",
		.twin = "run ibgda-put --messages 2 --per-lane --lanes 2",
	},
	.rank = BF_RANK_ENTRY - 2,
	.records = BF_SEES(ibgda_reserve, ibgda_build),
	.needs = BF_SEES(store, qp_config),
	.on = on,
	.end_queue = end_queue,
};
