#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/rules/mlx5/mlx5.h"

#define LAPS 2u /* where a ring ends shows in the second one */

/* Where the driver has just stored the control segment of entry `index`; 0: it is not among its last stores. */
static uint64_t laid_at(struct bf_rules *r, const struct bf_seen *e)
{
	for (uint32_t back = 0; back < 16; back++) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r), back);

		if (!s)
			return 0;
		if (s->actor != e->actor || s->len < 8 || s->va % BF_MLX5_WQEBB != 0)
			continue;
		/* The last block that was begun: another entry's, or one that is wrong in itself, says nothing. */
		return bf_get_be24(s->bytes + 4) == e->queue->number &&
			       bf_get_be16(s->bytes + 1) == (uint16_t)e->ibgda_build.index
			   ? s->va
			   : 0;
	}
	return 0;
}

/* The driver has laid the entry, and the device, which found none, read elsewhere: pages of the ring are others. */
static void on_fetch(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const struct bf_mlx5_rule_fetch *x = &q->fetch;
	struct bf_finding *f;

	/* Nothing lies where it read; an entry that is wrong in itself is another's to name. */
	if (!e->wqe_fetch.verdict || e->wqe_fetch.ctrl_qpn || e->wqe_fetch.ctrl_index || e->wqe_fetch.opcode ||
	    e->wqe_fetch.source == BF_MLX5_FROM_BLUEFLAME || !q->ring || q->assumed || !x->own.index || x->slot_va)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, x->index);
	bf_finding_since(f, x->own.at_ps, x->own.record);
	bf_finding_say(f,
		       "%s laid %s at 0x%" PRIx64
		       ", and the device read elsewhere when it fetched it: the list of pages "
		       "that the ring was registered with names others",
		       bf_rule_actor(r->rules, x->own.actor), bf_mlx5_rule_entry(e->queue, x->index).text,
		       q->ring->va + x->index % q->depth * BF_MLX5_WQEBB);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const uint64_t index = e->ibgda_build.index;
	struct bf_finding *f;
	uint64_t at, belongs;

	if (e->kind == BF_SEEN_wqe_fetch) {
		on_fetch(r, e);
		return;
	}
	if (!q->sq || !q->depth || index >= (uint64_t)LAPS * q->depth)
		return;
	at = laid_at(r->rules, e);
	belongs = q->sq + index % q->depth * BF_MLX5_WQEBB;
	f = at && at != belongs ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, index);
	bf_finding_say(f,
		       "%s laid %s at 0x%" PRIx64 "; the device looks for it at 0x%" PRIx64 ", in its ring of %" PRIu32
		       " WQEBBs at 0x%" PRIx64 ": base or size of the ring differ between driver and device",
		       bf_rule_actor(r->rules, e->actor), bf_mlx5_rule_entry(e->queue, index).text, at, belongs,
		       q->depth, q->sq);
}

const struct bf_rule bf_rule_mlx5_ring_view = {
	.about = {
		.id = "MLX5-RING-VIEW",
		.family = "mlx5",
		.title = "driver and device disagree about where a send ring lies, or how large it is",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CREATE_QP tells the device offset and log_sq_size; it fetches WQE i at base + i mod size, and "
			    "from nowhere else. The receive ring comes first.",
		.wrong = "The driver's pointer or mask comes from other numbers than the context: it stores entries where the "
			 "device does not look.",
		.fix = "Derive the pointer, the mask and the context from one place: base, receive bytes, number of WQEBBs.",
		.sources = "mlx5 PRM, Queue Pair Context; docs/hardware/mlx5.md#commands-3",
		.test = "tests/traces/test_rules_ibgda.c",
		.why = "The driver takes both from one place.",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(ibgda_build, wqe_fetch),
	.needs = BF_SEES(ibgda_build, qp_config, store),
	.on = on,
};
