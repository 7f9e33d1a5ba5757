/* What a capture has of entries. */
#include "models/mlx5/prm.h"
#include "traces/life/stuck_internal.h"

/* A capture is of one host: its queue pairs and completion queues have names of their own. */
ROW(on_capture_doorbell)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, "capture", true, bf_stuck_field(rec, "qpn"));

	(void)actor;
	if (!q)
		return bf_stuck_no_memory(s);
	snprintf(q->name, sizeof(q->name), "qp0x%" PRIx64, q->number);
	q->dbrec = bf_stuck_field(rec, "dbrec") & 0xffff;
	q->known_dbrec = true;
	return 0;
}

ROW(on_capture_wqe)
{
	struct bf_stuck_queue *q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, "capture", true, bf_stuck_field(rec, "qpn"));
	struct bf_stuck_entry *e;

	(void)actor;
	if (!q)
		return bf_stuck_no_memory(s);
	snprintf(q->name, sizeof(q->name), "qp0x%" PRIx64, q->number);
	e = bf_stuck_begin(s, q, bf_stuck_field(rec, "index") & 0xffff, 0);
	if (!e)
		return bf_stuck_no_memory(s);
	e->line = (uint32_t)bf_stuck_field(rec, "line");
	/* Byte 11 of the control segment: whether it asks for a completion (mlx5dv.h, MLX5_WQE_CTRL_CQ_UPDATE). */
	e->signalled = rec->tail_len >= 12 && (rec->tail[11] & 0x0c) == 0x08;
	bf_stuck_pass(e, 0, rec);
	return 0;
}

ROW(on_capture_cqe)
{
	const struct bf_mlx5_cqe *c = (const void *)rec->tail;
	struct bf_stuck_queue *q;
	struct bf_stuck_entry *e;
	uint8_t kind;

	(void)actor;
	if (rec->tail_len != sizeof(*c))
		return 0;
	kind = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	if (kind != BF_MLX5_CQE_REQ && kind != BF_MLX5_CQE_REQ_ERR)
		return 0;
	q = bf_stuck_queue_of(s, BF_STUCK_CAPTURE, "capture", true,
			      BF_FIELD_GET(BF_MLX5_CQE_QPN, bf_be32(c->sop_drop_qpn)));
	e = q ? bf_stuck_find(s, q, bf_be16(c->wqe_counter), 0) : NULL;
	if (e)
		bf_stuck_end(s, e);
	return q ? 0 : bf_stuck_no_memory(s);
}

const struct bf_stuck_row bf_stuck_capture_rows[] = {
	{ "capture_doorbell", on_capture_doorbell },
	{ "capture_wqe", on_capture_wqe },
	{ "capture_cqe", on_capture_cqe },
	{ NULL, NULL },
};
