#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_dbrec_store *d = &bf_mlx5_rule_of(queue)->swapped;
	struct bf_finding *f;

	(void)complete;
	f = d->set ? bf_rule_find(r, NULL, queue) : NULL;
	if (!f)
		return;
	f->found.at_ps = d->store.issued_ps;
	bf_finding_index(f, d->value);
	bf_finding_since(f, d->store.issued_ps, d->store.record);
	bf_finding_say(f,
		       "%s stored %" PRIu16 " into the doorbell record of QP 0x%" PRIx64 " on PE %" PRIu32
		       " in the CPU's byte order (bytes %02x %02x %02x %02x): the device reads 0 there",
		       bf_rule_actor(r->rules, d->store.actor), d->value, queue->number, queue->pe, d->store.bytes[0],
		       d->store.bytes[1], d->store.bytes[2], d->store.bytes[3]);
}

const struct bf_rule bf_rule_mlx5_dbrec_endian = {
	.about = {
		.id = "MLX5-DBREC-ENDIAN",
		.family = "mlx5",
		.title = "the doorbell record's index is in the CPU's byte order",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell record is two big-endian words. The NIC takes the index from the last two bytes of its "
			    "word.",
		.wrong = "A little-endian processor's 1 is 01 00 00 00 in memory: the NIC finds 0 in the last two bytes, which "
			 "is nothing new, until the index reaches 65536. Nothing is fetched and nothing completes.",
		.fix = "Store htobe32(index of the next free slot & 0xffff), as rdma-core does.",
		.sources = "mlx5 PRM, Doorbell Record; linux-rdma/rdma-core providers/mlx5/qp.c post_send_db",
		.test = "tests/drivers/test_trial_own.c",
		.why = "The drivers of belfry share one function that stores the record.",
	},
	.rank = BF_RANK_ENTRY - 1,
	.needs = BF_SEES(store, dma_read, dbrec),
	.end_queue = end_queue,
};
