#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

#define IN_A_ROW 16u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_now *n = bf_hopper_rule_now(r);
	struct bf_finding *f;
	uint32_t *times;

	if (!n->bar || (e->hopper_op.op != BF_SYNC_TEST_PARITY && e->hopper_op.op != BF_SYNC_TEST_STATE))
		return;
	times = bf_rule_queue_state(r, n->queue);
	*times = e->hopper_op.result ? 0 : *times + 1;
	f = *times == IN_A_ROW ? bf_rule_find(r, e, NULL) : NULL;
	if (f)
		bf_finding_say(f, "%s was asked by test_wait %u times in a row; the last to ask is %s",
			       bf_hopper_rule_bar_text(n->bar).s, IN_A_ROW,
			       bf_hopper_rule_warp_text(bf_hopper_rule_run(r), n->sm, n->slot).s);
}

const struct bf_rule bf_rule_hopper_spin = {
	.about = {
		.id = "HOPPER-SPIN",
		.family = "hopper",
		.title = "a warp spins on test_wait",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "test_wait never waits. try_wait takes the warp off the issue slots until the phase ends, and answers about 30 cycles sooner.",
		.wrong = "Warps asked a barrier by test_wait many times in a row.",
		.fix = "try_wait in a loop (from sm_90 on).",
		.sources = "docs/hardware/hopper.md#timing-4; NVIDIA/cccl#6007; NVIDIA/cccl#6230",
		.example = "run mbarrier-pipeline --bug spin",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(hopper_op),
	.queue_bytes = sizeof(uint32_t),
	.on = on,
};
