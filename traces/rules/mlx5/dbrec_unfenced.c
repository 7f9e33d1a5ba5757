#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "sim/mem.h"
#include "traces/rules/mlx5/mlx5.h"

/* A doorbell carries the index in bytes 1-2 and the queue pair in 4-6, like a control segment. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_dbrec_store *d;
	const struct bf_store *late;
	struct bf_rule_queue *queue;
	struct bf_finding *f;

	if (e->tail_len != 8 || e->mmio_store.va % BF_PAGE != BF_MLX5_UAR_BF)
		return;
	queue = bf_rule_queue(r->rules, &bf_rules_mlx5, e->pe, bf_get_be24(e->tail + 4), false);
	d = queue ? &bf_mlx5_rule_of(queue)->most : NULL;
	if (!d || !d->set || d->store.actor != e->actor || d->value != bf_get_be16(e->tail + 1))
		return;
	late = bf_stores_late(bf_rule_stores(r->rules), d->store.va, d->store.len);
	if (!late || late->actor != d->store.actor || late->seq != d->store.seq)
		return;
	f = bf_rule_find(r, e, queue);
	if (!f)
		return;
	bf_finding_index(f, d->value);
	bf_finding_since(f, d->store.issued_ps, d->store.record);
	bf_finding_watch(r->rules, f, late);
	bf_finding_say(f,
		       "%s rang the doorbell of QP 0x%" PRIx64 " on PE %" PRIu32 " when its store of %" PRIu16
		       " into the doorbell record was still in a store buffer: no fence "
		       "stands between the two",
		       bf_rule_actor(r->rules, e->actor), queue->number, queue->pe, d->value);
}

const struct bf_rule bf_rule_mlx5_dbrec_unfenced = {
	.about = {
		.id = "MLX5-DBREC-UNFENCED",
		.family = "mlx5",
		.title = "nothing orders the doorbell after the doorbell record",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "The NIC reads the record when the doorbell arrives. Stores of a weakly ordered processor "
			    "to memory and to a device overtake each other unless a fence stands between.",
		.wrong = "The record was in a store buffer when the doorbell was stored. It came in time in this run. "
			 "If it does not, the result is MLX5-DBREC-ORDER.",
		.fix = "A fence of the scope that reaches the NIC between the record and the doorbell; a fence after " "the doorbell is too late.",
		.sources = "mlx5 PRM, Ringing Doorbell; NVIDIA/nvshmem ibgda_device.cuh ibgda_post_send; PTX ISA, "
			   "Memory Consistency Model",
		.example = "run ibgda-put --messages 2 --warps 2 --ordering tso --bug no-dbrec-fence",
		.twin = "run ibgda-put --messages 2 --warps 2 --ordering tso",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(mmio_store),
	.needs = BF_SEES(store, mmio_store),
	.on = on,
};
