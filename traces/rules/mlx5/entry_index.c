#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/mlx5/mlx5.h"

static void report(struct bf_rule_run *r, const struct bf_seen *e, uint64_t index, uint64_t says)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, index);
	if (index == says) {
		bf_finding_say(f,
			       "the slot of WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32
			       " holds zeros where a control segment belongs: no entry was stored there",
			       index, e->queue->number, e->queue->pe);
		return;
	}
	bf_finding_say(f,
		       "the control segment in the slot of WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32
		       " says index %" PRIu64 ": it is another entry's, or none was stored there",
		       index, e->queue->number, e->queue->pe, says);
}

/* The first eight bytes of the slot: index, opcode, queue pair, size. Queue pair 0 is no driver's. */
static bool is_empty(const struct bf_seen *e)
{
	return e->tail_len >= 8 ? !bf_get_be64(e->tail) : !e->wqe_fetch.ctrl_qpn;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	/* Where the wrong bytes came from is other rules' when the driver's records tell. */
	if (e->kind == BF_SEEN_wqe_fetch && q->fetch.what == BF_MLX5_FETCHED_OTHER &&
	    (e->wqe_fetch.ctrl_index != e->wqe_fetch.index || is_empty(e)))
		report(r, e, e->wqe_fetch.index, e->wqe_fetch.ctrl_index);
	else if (e->kind == BF_SEEN_capture_wqe && e->tail_len >= 16 &&
		 bf_get_be16(e->tail + 1) != (e->capture_wqe.index & 0xffff))
		report(r, e, e->capture_wqe.index & 0xffff, bf_get_be16(e->tail + 1));
}

const struct bf_rule bf_rule_mlx5_entry_index = {
	.about = {
		.id = "MLX5-ENTRY-INDEX",
		.family = "mlx5",
		.title = "an entry's index is not that of its slot",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bytes 1-2 of the control segment hold the entry's index in WQEBBs modulo 65536; the "
			    "NIC copies it into the completion.",
		.wrong = "The index was computed from another counter than the slot: completions then name other "
			 "entries, or none that exists.",
		.fix = "wqe_idx = index of the first WQEBB & 0xffff; entries of two blocks count two.",
		.sources = "mlx5 PRM, Control Segment; rdma-core providers/mlx5/wqe.h mlx5_wqe_ctrl_seg",
		.example = "run ibgda-put --messages 2 --bug entry-index",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(wqe_fetch, capture_wqe),
	.on = on,
};
