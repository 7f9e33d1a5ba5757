#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

#define KEPT 4096u

/* Bytes that an entry wrote, at its peer or, of a READ, here. */
struct piece {
	struct bf_rule_queue *queue;
	uint64_t va, len, index, at_ps, record;
	uint8_t opcode;
};

struct state {
	struct piece piece[KEPT];
	uint64_t n; /* in all; the last ones are kept */
};

static void note(struct state *s, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const uint8_t opcode = (uint8_t)e->wqe_start.opcode;
	const bool read = opcode == BF_MLX5_OP_RDMA_READ;

	if (!read && opcode != BF_MLX5_OP_RDMA_WRITE && opcode != BF_MLX5_OP_RDMA_WRITE_IMM &&
	    (opcode < BF_MLX5_OP_ATOMIC_CS || opcode > BF_MLX5_OP_ATOMIC_MASKED_FA))
		return;
	s->piece[s->n++ % KEPT] =
	    (struct piece){ .queue = e->queue,
			    .va = read ? e->wqe_start.va : e->wqe_start.raddr,
			    .len = e->wqe_start.length,
			    .index = q->done.upto + (uint16_t)((uint16_t)e->wqe_start.index - (uint16_t)q->done.upto),
			    .at_ps = e->time_ps,
			    .record = e->number,
			    .opcode = opcode };
}

static uint64_t distance(const struct piece *p, uint64_t va)
{
	if (va - p->va < p->len)
		return 0;
	return va < p->va ? p->va - va : va - (p->va + p->len) + 1;
}

/* The last that wrote there, or else the nearest. */
static const struct piece *blame(const struct state *s, uint64_t va)
{
	const struct piece *best = NULL;

	for (uint64_t back = 1; back <= s->n && back <= KEPT; back++) {
		const struct piece *p = &s->piece[(s->n - back) % KEPT];

		if (!best || distance(p, va) < distance(best, va))
			best = p;
	}
	return best;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct piece *p;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_wqe_start) {
		note(r->state, e);
		return;
	}
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(f, "the first wrong byte of PE %" PRIu64 " lies at 0x%" PRIx64, e->ibgda_mismatch.pe,
		       e->ibgda_mismatch.va);
	if (e->tail_len)
		bf_finding_say(f, " (%.*s)", (int)e->tail_len, (const char *)e->tail);
	else
		bf_finding_say(f, ", as %s found", bf_rule_actor(r->rules, e->actor));
	p = blame(r->state, e->ibgda_mismatch.va);
	if (!p)
		return;
	bf_finding_since(f, p->at_ps, p->record);
	bf_finding_say(
	    f, "; %s is %s, %s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s",
	    distance(p, e->ibgda_mismatch.va) ? "no entry wrote it, the nearest" : "what wrote it last",
	    bf_mlx5_rule_entry(p->queue, p->index).text,
	    p->opcode == BF_MLX5_OP_RDMA_READ   ? "a READ"
	    : p->opcode >= BF_MLX5_OP_ATOMIC_CS ? "an atomic"
						: "a WRITE",
	    p->len, p->va,
	    distance(p, e->ibgda_mismatch.va)
		? "an address in an entry, or in a table that it is computed from, is another than was meant, "
		  "or a thread of the PE stored there"
		: "its source held something else, or it was meant for another place");
}

const struct bf_rule bf_rule_mlx5_wrong_bytes = {
	.about = {
		.id = "MLX5-WRONG-BYTES",
		.family = "mlx5",
		.title = "memory holds something else than the workload expects",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC moves exactly the bytes that its entries describe.",
		.wrong = "Everything was executed and the result is wrong: an address, a length or a value differs from what was "
			 "meant, in an entry or in a table of bases that it was computed from.",
		.fix = "Compare address and length of the entry that is named with what the call asked for, then where they are "
		       "computed: bases of heaps, offsets of buffers, strides.",
		.sources = "docs/rules.md",
		.test = "tests/traces/test_rules_ibgda.c",
		.why = "Every mistake that our workloads offer has a rule that says more.",
	},
	.rank = BF_RANK_NET - 2,
	.records = BF_SEES(wqe_start, ibgda_mismatch),
	.state_bytes = sizeof(struct state),
	.on = on,
};
