#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/mlx5/mlx5.h"

static void report(struct bf_rule_run *r, const struct bf_seen *e, uint64_t index, uint64_t says)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, index);
	bf_finding_say(f,
		       "the control segment of WQE %" PRIu64 " in the ring of QP 0x%" PRIx64 " on PE %" PRIu32
		       " names QP 0x%" PRIx64,
		       index, e->queue->number, e->queue->pe, says);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	/* All zeros: nothing was ever stored to the slot, and MLX5-ENTRY-INDEX says so. */
	if (e->kind == BF_SEEN_wqe_fetch && q->fetch.what == BF_MLX5_FETCHED_OTHER &&
	    (e->wqe_fetch.ctrl_qpn || (e->tail_len >= 8 && bf_get_be64(e->tail))) &&
	    e->wqe_fetch.ctrl_index == e->wqe_fetch.index && e->wqe_fetch.ctrl_qpn != e->queue->number)
		report(r, e, e->wqe_fetch.index, e->wqe_fetch.ctrl_qpn);
	else if (e->kind == BF_SEEN_capture_wqe && e->tail_len >= 16 && bf_get_be24(e->tail + 4) != e->queue->number)
		report(r, e, e->capture_wqe.index & 0xffff, bf_get_be24(e->tail + 4));
}

const struct bf_rule bf_rule_mlx5_entry_qpn = {
	.about = {
		.id = "MLX5-ENTRY-QPN",
		.family = "mlx5",
		.title = "an entry names another queue pair",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bytes 4-6 of the control segment hold the QPN of the queue that the entry is in.",
		.wrong = "The entry was built for another queue pair: a table was read with another layout, or a "
			 "pointer is wrong.",
		.fix = "qpn_ds = htobe32(qpn << 8 | ds) with the QPN of the ring that the entry is stored to.",
		.sources = "mlx5 PRM, Control Segment; deepseek-ai/DeepEP PR#564",
		.example = "run ibgda-put --messages 2 --bug entry-qpn",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(wqe_fetch, capture_wqe),
	.on = on,
};
