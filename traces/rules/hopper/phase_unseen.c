#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on_op(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const struct bf_hopper_rule_barrier *b = n->bar;
	struct bf_finding *f = n->too_soon ? bf_rule_find(r, e, n->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, b->address);
	bf_finding_say(f,
		       "%s arrives on %s for phase %" PRIu32 " when %" PRIu32 " phase%s had ended and %" PRIu32
		       " were seen by a wait: nobody has waited for the phase before, and whoever it told something "
		       "goes on without it",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, bf_hopper_rule_bar_text(b).s,
		       (n->party->arrivals - 1) / (b->each ? b->each : 1), b->phases - n->flips,
		       b->phases - n->flips == 1 ? "" : "s", b->seen);
}

/* All arrivals have come and bytes have not: one more is for the next phase. */
static void on_fault(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *q;
	struct bf_finding *f;
	uint32_t sm, address;

	if (e->hopper_fault.reason != BF_MBAR_FAULT_OVER_ARRIVAL || bf_mbar_pending(e->hopper_fault.word))
		return;
	q = bf_hopper_rule_fault_at(r, e, &sm, &address);
	f = q ? bf_rule_find(r, e, q) : NULL;
	if (!f)
		return;
	bf_finding_index(f, bf_hopper_rule_bar(q)->address);
	bf_finding_say(f,
		       "somebody arrives on %s for the next phase while this one still waits for %" PRId32
		       " bytes: nobody has waited for its end",
		       bf_hopper_rule_bar_text(bf_hopper_rule_bar(q)).s, bf_mbar_tx(e->hopper_fault.word));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_hopper_op)
		on_op(r, e);
	else
		on_fault(r, e);
}

const struct bf_rule bf_rule_hopper_phase_unseen = {
	.about = {
		.id = "HOPPER-PHASE-UNSEEN",
		.family = "hopper",
		.title = "a phase is used that nobody has waited for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A wait can tell only the current phase from the one before. Somebody must have seen a phase " "end, by a wait that returned true, before anybody arrives for the next; the hardware does not " "check it.",
		.wrong = "A thread arrives for a phase although nobody has waited for the end of the one before: whoever " "should have been told by that phase goes on without it, and data are overwritten.",
		.fix = "Wait for the stage to be empty before filling it: acquire (wait on empty), then arrive.expect_tx on full.",
		.sources = "docs/hardware/hopper.md#completion-3; tile-ai/tilelang#3087",
		.example = "run mbarrier-pipeline --bug no-empty-wait",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_INDEX + 2,
	.records = BF_SEES(hopper_op, hopper_fault),
	.on = on,
};
