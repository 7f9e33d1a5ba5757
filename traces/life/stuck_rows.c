/* Captured events, barriers and threads. */
#include "models/hopper/word.h"
#include "models/hopper/unit.h"
#include "models/mlx5/prm.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

/* ---- captures ---- */

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

/* ---- barriers ---- */

ROW(on_hopper_op)
{
	struct bf_stuck_barrier *b = bf_stuck_barrier_of(s, rec->actor, bf_stuck_field(rec, "address"));
	const uint64_t op = bf_stuck_field(rec, "op"), before = bf_stuck_field(rec, "before"),
		       after = bf_stuck_field(rec, "after");
	const uint64_t warp = 1ull << (bf_stuck_field(rec, "warp") & 63);

	(void)actor;
	s->ran = true;
	if (!b)
		return bf_stuck_no_memory(s);
	if (op >= BF_SYNC_TEST_PARITY && op <= BF_SYNC_TRY_STATE) {
		if (bf_stuck_field(rec, "result"))
			b->asking &= ~warp;
		else if (!(b->asking & warp))
			b->asking |= warp;
		return 0;
	}
	if (op > BF_SYNC_ARRIVE_DROP + 2)
		return 0;
	b->word = after;
	b->live = op != BF_SYNC_INVAL;
	if (op == BF_SYNC_INIT) {
		b->phases = b->parked = b->asking = b->arrived = b->arrived_before = 0;
		b->since_ps = rec->time_ps;
	} else if (op == BF_SYNC_ARRIVE || op == BF_SYNC_ARRIVE_DROP) {
		b->arrived |= bf_stuck_field(rec, "remote") ? 0 : warp;
	}
	if (op != BF_SYNC_INIT && bf_mbar_phase(before) != bf_mbar_phase(after)) {
		b->phases++;
		b->arrived_before = b->arrived;
		b->arrived = b->asking = 0;
		b->since_ps = rec->time_ps;
	}
	return 0;
}

ROW(on_hopper_wait)
{
	struct bf_stuck_barrier *b = bf_stuck_barrier_of(s, rec->actor, bf_stuck_field(rec, "address"));
	const uint64_t event = bf_stuck_field(rec, "event"), warp = 1ull << (bf_stuck_field(rec, "warp") & 63);

	(void)actor;
	if (!b)
		return bf_stuck_no_memory(s);
	if (event == 0)
		b->parked |= warp;
	else if (event >= 2 && event != 5)
		b->parked &= ~warp;
	return 0;
}

/* ---- threads ---- */

ROW(on_agent_wait)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	t->waits = true;
	t->since_ps = rec->time_ps;
	t->va = bf_stuck_field(rec, "va");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

ROW(on_agent_wake)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (t)
		t->waits = false;
	return t ? 0 : bf_stuck_no_memory(s);
}

ROW(on_agent_end)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	t->waits = false;
	t->ended = true;
	return 0;
}

ROW(on_deadlock)
{
	struct bf_stuck_thread *t = bf_stuck_thread_of(s, rec->actor);

	(void)actor;
	if (!t)
		return bf_stuck_no_memory(s);
	s->deadlock = true;
	t->waits = t->deadlock = true;
	t->since_ps = bf_stuck_field(rec, "since");
	t->va = bf_stuck_field(rec, "va");
	t->value = bf_stuck_field(rec, "value");
	bf_trace_field_text(rec, "what", t->what, sizeof(t->what));
	return 0;
}

const struct bf_stuck_row bf_stuck_other_rows[] = {
	{ "capture_doorbell", on_capture_doorbell },
	{ "capture_wqe", on_capture_wqe },
	{ "capture_cqe", on_capture_cqe },
	{ "hopper_op", on_hopper_op },
	{ "hopper_wait", on_hopper_wait },
	{ "agent_wait", on_agent_wait },
	{ "agent_wake", on_agent_wake },
	{ "agent_end", on_agent_end },
	{ "deadlock", on_deadlock },
	{ NULL, NULL },
};
