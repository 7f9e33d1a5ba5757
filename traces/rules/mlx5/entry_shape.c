#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

/* A capture has the blocks of an entry up to the next one's. */
static void on_captured(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t ds;
	struct bf_finding *f;

	if (e->tail_len < BF_MLX5_DS)
		return;
	ds = e->tail[7] & 0x3fu;
	f = !ds || ds * BF_MLX5_DS > e->tail_len ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, e->capture_wqe.index & 0xffff);
	bf_finding_say(f,
		       "the control segment of %s (line %" PRIu64 " of the capture) says %" PRIu32
		       " segments of 16 bytes, and the entry is %" PRIu32 " bytes long",
		       bf_mlx5_rule_entry(e->queue, e->capture_wqe.index & 0xffff).text, e->capture_wqe.line, ds,
		       e->tail_len);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_fetch *w = &bf_mlx5_rule_of(e->queue)->fetch;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_capture_wqe) {
		on_captured(r, e);
		return;
	}
	/* Of bytes that do not belong there at all, others speak. A NOP has nothing that is read behind its first
	 * segment. */
	if (w->what != BF_MLX5_FETCHED_GOOD || w->own.index != w->index + 1 || !e->wqe_fetch.ds ||
	    w->own.ds == e->wqe_fetch.ds || e->wqe_fetch.opcode == BF_MLX5_OP_NOP)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, w->index);
	bf_finding_since(f, w->own.at_ps, w->own.record);
	bf_finding_say(f,
		       "the control segment of %s says %" PRIu64 " segments of 16 bytes, and %s had laid %" PRIu16
		       " of them there",
		       bf_mlx5_rule_entry(e->queue, w->index).text, e->wqe_fetch.ds,
		       bf_rule_actor(r->rules, w->own.actor), w->own.ds);
}

const struct bf_rule bf_rule_mlx5_entry_shape = {
	.about = {
		.id = "MLX5-ENTRY-SHAPE",
		.family = "mlx5",
		.title = "an entry's control segment gives a wrong size",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC knows an entry's length, and so the place of the next entry, only from the number "
			    "of 16-byte segments in the control segment (DS). A WRITE without a data segment is legal "
			    "and sends nothing.",
		.wrong = "With too few segments the message goes out short, or empty, and completes. With too many, "
			 "the NIC reads what lies behind it as a segment.",
		.fix = "Take DS from the code that wrote the segments, not from a separate constant.",
		.sources = "mlx5 PRM, Control Segment; linux-rdma/rdma-core providers/mlx5/qp.c",
		.example = "run ibgda-put --messages 2 --bug entry-short",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch, capture_wqe),
	.on = on,
};
