#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_back(q, 0);
	struct bf_sdma_packet p;
	struct bf_finding *f;

	if (!k || k->kind != BF_SDMA_KIND_POLL)
		return;
	bf_sdma_rule_whole(q, k, &p);
	if (p.func == BF_SDMA_ALWAYS || (p.mask && !(p.reference & ~p.mask)))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f, "%s at byte %" PRIu64 " of %s waits for (0x%" PRIx64 " & 0x%" PRIx64 ") %s 0x%" PRIx64 ": %s",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), k->dst, p.mask,
		       bf_sdma_func_name((uint32_t)p.func), p.reference,
		       p.mask ? "the mask hides bits that the reference has" : "no bit is compared");
}

const struct bf_rule bf_rule_sdma_poll_mask = {
	.about = {
		.id = "SDMA-POLL-MASK",
		.family = "sdma",
		.title = "a poll compares bits that its mask hides",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "POLL_REGMEM compares memory AND mask to the reference. Whether the reference is masked as "
"well differs between descriptions.",
		.wrong = "With a mask of 0 every value looks like 0, and the poll holds at once; with bits of the "
"reference outside of the mask it never holds.",
		.fix = "A mask of all ones, or reference & mask == reference.",
		.sources = "docs/hardware/sdma.md#other-packets-5; ROCR-Runtime amd_blit_sdma.cpp BuildPollCommand; ROCm/rocm-systems emulation/rocjitsu; tinygrad/tinygrad test/mockgpu; gem5/gem5 src/dev/amdgpu/sdma_engine.cc",
		.example = "run sdma-fence --limit 10ms --bug poll-mask",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_POLL,
	.whens = 1,
	.on = on,
};
