#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

struct state {
	bool offsets; /* its keys begin at 0: its driver is GIN, or such an access was served */
	bool named;
	uint64_t index; /* of the first entry that names address 0 */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;
	char opcode[32];

	if (e->kind == BF_SEEN_gin_queue) {
		s->offsets = true;
		return;
	}
	if (e->kind == BF_SEEN_wqe_done) {
		s->offsets = s->offsets || (s->named && e->wqe_done.index == s->index && !e->wqe_done.syndrome);
		return;
	}
	if (!e->wqe_start.rkey || e->wqe_start.raddr || s->offsets)
		return;
	if (!s->named)
		s->index = e->wqe_start.index;
	s->named = true;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->wqe_start.index);
	bf_finding_say(
	    f, "WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32 ", %s, names remote address 0 with key 0x%" PRIx64,
	    e->wqe_start.index, e->queue->number, e->queue->pe, bf_seen_text(e, "opcode", opcode, sizeof(opcode)),
	    e->wqe_start.rkey);
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const struct state *s = bf_rule_queue_state(r, f->queue);

	f->dropped = f->dropped || s->offsets;
}

const struct bf_rule bf_rule_mlx5_read_zero = {
	.about = {
		.id = "MLX5-RADDR-ZERO",
		.family = "mlx5",
		.title = "an access to remote address 0",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "The remote address segment holds what was put there; only zero-based keys begin at 0.",
		.wrong = "The address was never set, or came from a handle that was not exchanged.",
		.fix = "Check that the peer's base address was exchanged before the first access.",
		.sources = "meta-pytorch/monarch#3759",
		.example = "run ibgda-get --bug raddr-zero",
		.twin = "run ibgda-get",
	},
	.rank = BF_RANK_REFUSED - 3,
	.records = BF_SEES(wqe_start, wqe_done, gin_queue),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.tell = tell,
};
