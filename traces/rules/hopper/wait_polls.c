#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

#define IN_A_ROW 8u

/* Of the warp that tries: how often it came back false in a row. */
struct polls {
	uint64_t bar;
	uint32_t sm, slot, n;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct polls *p = n->queue ? bf_rule_queue_state(r, n->queue) : NULL;
	struct bf_finding *f;

	if (!p || e->hopper_op.op < BF_SYNC_TRY_PARITY || e->hopper_op.lanes == UINT32_MAX || !(e->hopper_op.lanes & 1))
		return;
	if (e->hopper_op.result || p->slot != n->slot)
		p->n = 0;
	p->slot = n->slot;
	p->n += !e->hopper_op.result;
	f = p->n == IN_A_ROW ? bf_rule_find(r, e, NULL) : NULL;
	if (f)
		bf_finding_say(f,
			       "lanes 0x%08" PRIx64
			       " of %s tried %u times in a row to wait on %s, and could not park without the rest of "
			       "their warp",
			       e->hopper_op.lanes, bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s,
			       IN_A_ROW, bf_hopper_rule_bar_text(n->bar).s);
}

const struct bf_rule bf_rule_hopper_wait_polls = {
	.about = {
		.id = "HOPPER-WAIT-POLLS",
		.family = "hopper",
		.title = "a warp that could park polls",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A warp parks in try_wait only when every lane that has not exited is in it, on one barrier and for one parity. Otherwise it gets false after about 66 cycles.",
		.wrong = "One lane of a warp waits for all, the others are at a warp barrier: the wait returns at once, again and again.",
		.fix = "Let all lanes of the warp wait.",
		.sources = "docs/hardware/hopper.md#try-wait-buffer-2",
		.example = "run mbarrier-ring --lane-waits",
		.twin = "run mbarrier-ring",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(hopper_op),
	.queue_bytes = sizeof(struct polls),
	.on = on,
};
