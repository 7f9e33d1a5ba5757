#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/prm_hca.h"
#include "traces/rules/mlx5/mlx5.h"

#define EQS 256u
#define INDEX 0xffffffu             /* an event queue's indices have 24 bits */
#define PATIENCE_PS (10000 * BF_US) /* a handler comes sooner */

/* What the device told an event queue, and what its driver took. */
struct eq {
	uint32_t pe, unit, eqn;
	bool used, arms, interrupted; /* arms: its driver has armed it before */
	uint32_t taken, written;      /* entries below */
	uint64_t at_ps, record;       /* of the first entry that nobody took */
	uint32_t number;
};

struct state {
	struct eq eq[EQS]; /* by number; of two that share a place the later one counts */
};

static struct eq *eq_of(struct state *s, const struct bf_seen *e, uint32_t eqn)
{
	struct eq *q = &s->eq[(eqn + 61u * e->pe + 17u * e->unit) % EQS];

	if (!q->used || q->pe != e->pe || q->unit != e->unit || q->eqn != eqn)
		*q = (struct eq){ .used = true, .pe = e->pe, .unit = e->unit, .eqn = eqn };
	return q;
}

static void note_entry(struct eq *q, const struct bf_seen *e)
{
	if (e->eqe.verdict)
		return;
	if (q->taken == q->written) {
		q->at_ps = e->time_ps;
		q->record = e->number;
		q->number = (uint32_t)e->eqe.number;
		q->interrupted = false;
	}
	q->written = (e->eqe.count + 1) & INDEX;
	q->interrupted = q->interrupted || e->eqe.interrupt;
}

static void note_update(struct eq *q, const struct bf_seen *e)
{
	if (e->eq_update.verdict)
		return;
	q->taken = (uint32_t)e->eq_update.consumer & INDEX;
	q->arms = q->arms || e->eq_update.arm;
	if (e->eq_update.arm && q->taken != q->written) { /* those that were not seen interrupt at once */
		q->interrupted = true;
		q->at_ps = e->time_ps;
		q->record = e->number;
	}
}

/* Queues that are gone owe nothing. */
static void forget(struct state *s, const struct bf_seen *e)
{
	const bool all = e->cmd.opcode == BF_MLX5_CMD_TEARDOWN_HCA;

	for (uint32_t i = 0; i < EQS && (all || e->cmd.opcode == BF_MLX5_CMD_DESTROY_EQ); i++)
		if (s->eq[i].pe == e->pe && s->eq[i].unit == e->unit && (all || s->eq[i].eqn == e->cmd.number))
			s->eq[i].used = false;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_cmd)
		forget(r->state, e);
	else if (e->kind == BF_SEEN_eqe)
		note_entry(eq_of(r->state, e, (uint32_t)e->eqe.eqn), e);
	else
		note_update(eq_of(r->state, e, (uint32_t)e->eq_update.eqn), e);
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;

	for (uint32_t i = 0; complete && i < EQS; i++) {
		const struct eq *q = &s->eq[i];
		struct bf_finding *f;

		/* One that was never armed is polled, or left alone. */
		if (!q->used || !q->arms || q->taken == q->written || bf_rule_now(r->rules) - q->at_ps < PATIENCE_PS)
			continue;
		f = bf_rule_find(r, NULL, NULL);
		if (!f)
			return;
		f->found.at_ps = q->at_ps;
		bf_finding_since(f, q->at_ps, q->record);
		bf_finding_say(f,
			       "event queue %" PRIu32 " of NIC %" PRIu32 " on PE %" PRIu32 " has %" PRIu32
			       " entries that nobody took for %s, the first for CQ or QP 0x%" PRIx32 ": %s",
			       q->eqn, q->unit, q->pe, (q->written - q->taken) & INDEX,
			       bf_span_of(bf_rule_now(r->rules) - q->at_ps).text, q->number,
			       q->interrupted ? "the device raised its interrupt, and no handler came"
					      : "the queue was not armed, so that no interrupt was due");
	}
}

const struct bf_rule bf_rule_mlx5_no_interrupt = {
	.about = {
		.id = "MLX5-NO-INTERRUPT",
		.family = "mlx5",
		.title = "an event was written, and nobody came for it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An event queue raises its MSI-X vector when an entry is written and the queue is armed, or when it is "
			    "armed after the last entry. Arming is for one interrupt.",
		.wrong = "The vector is masked, routed to nobody, or its write was lost; or the handler left without arming the "
			 "queue again. Linux prints \"EQ recovered\" when it looks by itself later (mlx5_eq_poll_irq_disabled).",
		.fix = "Take all entries, then store the consumer index with the arm bit, once for each interrupt; look at the MSI-X "
		       "table's mask, /proc/interrupts and the vector's affinity.",
		.sources = "mlx5 PRM, Event Queues; Linux drivers/net/ethernet/mellanox/mlx5/core/eq.c mlx5_eq_poll_irq_disabled",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The drivers poll.",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(eqe, eq_update, cmd),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
