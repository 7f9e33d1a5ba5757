#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* A fill that goes on in the next packet is as long as one packet can be: it was cut in bytes. */
static bool goes_on(struct bf_rule_run *r, const struct bf_sdma_rule_begun *k)
{
	struct bf_rule_queue *queue;
	const struct bf_sdma_rule_begun *other;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++)
		for (uint64_t back = 0; queue->family == &bf_rules_sdma &&
					(other = bf_sdma_rule_packet_back(bf_sdma_rule_of(queue), back)) != NULL;
		     back++)
			if (other != k && other->kind == BF_SDMA_KIND_FILL && other->data == k->data &&
			    other->count == k->count)
				return true;
	return false;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint64_t va = e->sdma_mismatch.va;
	bool written;
	struct bf_sdma_packet whole;
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_near(r, va, &whole, &written);
	struct bf_finding *f;
	uint64_t bytes;

	if (written || !k || k->kind != BF_SDMA_KIND_FILL || whole.fill_size != BF_SDMA_FILL_WORDS)
		return;
	bytes = k->bytes;
	if (va < k->dst + bytes || va >= k->dst + (k->count + 1) * 4 || goes_on(r, k))
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	if (!bf_sdma_rule_blame(r, f, va))
		f->dropped = true;
	bf_finding_say(
	    f, ". The byte would be part of the fill if its count, 0x%" PRIx64 ", were in dwords: it is in bytes",
	    k->count);
}

const struct bf_rule bf_rule_sdma_fill_count = {
	.about = {
		.id = "SDMA-FILL-COUNT",
		.family = "sdma",
		.title = "a fill's count is in dwords",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The count of CONST_FILL is bytes minus one whatever the fill size; with dwords its low "
"two bits are ignored.",
		.wrong = "The fill ends after a quarter of what was meant.",
		.fix = "Store dwords * 4 - 1, or (dwords - 1) * 4 as ROCr does.",
		.sources = "docs/hardware/sdma.md#other-packets-2; Mesa src/amd/common/ac_cmdbuf_sdma.c; ROCR-Runtime amd_blit_sdma.cpp BuildFillCommand",
		.example = "run sdma-fill --limit 10ms --bug fill-count",
		.twin = "run sdma-fill --limit 10ms",
	},
	.rank = BF_RANK_EFFECT - 12,
	.records = BF_SEES(sdma_mismatch),
	.on = on,
};
