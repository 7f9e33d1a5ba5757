#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	const struct bf_hopper_rule_barrier *b = n->bar;
	const bool over = e->kind == BF_SEEN_hopper_op ? e->hopper_op.op >= BF_SYNC_TEST_PARITY && e->hopper_op.result
						       : e->hopper_wait.event == BF_HOPPER_WOKEN;
	struct bf_finding *f;

	if (!over || !b || !n->party || !b->labelled || !b->warps || n->party->passed <= b->phases + b->free)
		return;
	f = bf_rule_find(r, e, n->queue);
	if (!f)
		return;
	bf_finding_index(f, b->address);
	bf_finding_say(f,
		       "%s passed its wait number %" PRIu32 " on %s when %" PRIu32
		       " phase%s had ended: the parity that it waits for is that of two phases before",
		       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s, n->party->passed,
		       bf_hopper_rule_bar_text(b).s, b->phases, b->phases == 1 ? "" : "s");
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete)
{
	const struct bf_hopper_rule_barrier *b = bf_rule_facts(q);
	struct bf_finding *f;
	uint32_t block, warp;

	f = complete ? bf_hopper_rule_find_lack(r, q, BF_LACK_PARITY, &block, &warp) : NULL;
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu32 " of block %" PRIu32 " waits on %s with parity %" PRIu32 " when %" PRIu32
		       " phase%s had ended, of which the last was never waited for: the parity does not follow the "
		       "barrier's phase",
		       warp, block, bf_hopper_rule_bar_text(b).s, b->waiter_parity, b->phases,
		       b->phases == 1 ? "" : "s");
}

const struct bf_rule bf_rule_hopper_parity = {
	.about = {
		.id = "HOPPER-PARITY",
		.family = "hopper",
		.title = "a wait uses the parity of two phases before",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A wait with a parity is over when the barrier's phase has the other one. It knows the current phase and the one before; an older one looks like one that is over.",
		.wrong = "A warp has gone past more waits than phases have ended, or has left out one that ended: its parity does not follow the barrier's phase.",
		.fix = "Flip the parity each time the stage index wraps, and only then; two groups that take turns begin with opposite parities.",
		.sources = "docs/hardware/hopper.md#symptoms-5; tile-ai/tilelang#3087; tile-ai/tilelang#2927",
		.example = "run mbarrier-pipeline --bug two-behind",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_INDEX + 2,
	.records = BF_SEES(hopper_op, hopper_wait),
	.needs = BF_SEES(hopper_label),
	.on = on,
	.end_queue = end_queue,
};
