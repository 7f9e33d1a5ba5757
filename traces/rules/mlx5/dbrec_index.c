#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->ibgda_post.dbrec == (e->ibgda_post.to & 0xffff))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->ibgda_post.to - 1);
	bf_finding_say(f,
		       "%s stored %" PRIu64 " into the doorbell record of QP 0x%" PRIx64
		       ", where the index of the next free slot belongs, %" PRIu64 ": the last entry is never fetched",
		       bf_rule_actor(r->rules, e->actor), e->ibgda_post.dbrec, e->queue->number,
		       e->ibgda_post.to & 0xffff);
}

/* Whatever the driver says that it stored: the device has read the furthest index that anybody did, and it is short. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->dbrec.set || !q->most.set || !q->most.value || q->after.set || q->swapped.set ||
	    q->failed || q->fetched.upto >= q->posted.upto || q->dbrec.at_ps < q->posted.at_ps ||
	    q->dbrec.producer != q->most.value || q->dbrec.producer != (uint16_t)q->fetched.upto ||
	    q->dbrec_read != q->most.store.va)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->most.store.issued_ps;
	bf_finding_since(f, q->most.store.issued_ps, q->most.store.record);
	bf_finding_index(f, q->fetched.upto);
	bf_finding_say(f,
		       "%s stored %" PRIu16 " into the doorbell record of QP 0x%" PRIx64 " on PE %" PRIu32
		       ", nobody a later index, and entries below %" PRIu64
		       " were rung for: the device stops at the index that it reads",
		       bf_rule_actor(r->rules, q->most.store.actor), q->most.value, queue->number, queue->pe,
		       q->posted.upto);
}

const struct bf_rule bf_rule_mlx5_dbrec_index = {
	.about = {
		.id = "MLX5-DBREC-INDEX",
		.family = "mlx5",
		.title = "the doorbell record does not hold the index of the next free slot",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The send counter of the doorbell record counts WQEBBs modulo 65536: it is the index after the " "last entry, in bits 15:0, big-endian.",
		.wrong = "With the last entry's own index there, the NIC stops one entry short, and that entry "
			 "waits for the next post.",
		.fix = "Store htobe32(index of the next free slot & 0xffff).",
		.sources = "mlx5 PRM, Doorbell Record; rdma-core providers/mlx5/qp.c post_send_db; NVIDIA/nvshmem "
			   "ibgda_device.cuh ibgda_update_dbr",
		.example = "run ibgda-put --bug dbrec-index",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_ENTRY - 1, /* entries that are fetched too early are its consequence */
	.records = BF_SEES(ibgda_post),
	.needs = BF_SEES(ibgda_build),
	.on = on,
	.end_queue = end_queue,
};
