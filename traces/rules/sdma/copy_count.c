#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* A byte in [va, va + n) that is a copy's last one, beyond a whole number of dwords. */
static const struct bf_sdma_rule_begun *one_too_many(struct bf_rule_run *r, uint64_t va, uint64_t n, uint64_t *at)
{
	const struct bf_sdma_rule_piece *p;
	struct bf_sdma_packet whole;

	for (uint64_t back = 0; (p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), back)) != NULL; back++) {
		const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_of(p);

		if (!k || k->kind != BF_SDMA_KIND_COPY || !k->count || k->count % 4)
			continue;
		*at = k->dst + k->count;
		if (*at >= va && *at < va + n)
			return k;
		if (!k->broadcast)
			continue;
		bf_sdma_rule_whole(bf_sdma_rule_of(p->queue), k, &whole);
		*at = whole.dst2 + k->count;
		if (*at >= va && *at < va + n)
			return k;
	}
	return NULL;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool byte = e->kind == BF_SEEN_sdma_mismatch;
	uint64_t at;
	const struct bf_sdma_rule_begun *k =
	    one_too_many(r, byte ? e->sdma_mismatch.va : e->deadlock.va, byte ? 1 : 8, &at);
	struct bf_finding *f = k ? bf_rule_find(r, e, NULL) : NULL;

	if (!f)
		return;
	if (!bf_sdma_rule_blame(r, f, at))
		f->dropped = true;
	bf_finding_say(f,
		       ". That byte is its last one: the count is 0x%" PRIx64 ", which looks like the bytes themselves",
		       k->count);
}

const struct bf_rule bf_rule_sdma_copy_count = {
	.about = {
		.id = "SDMA-COPY-COUNT",
		.family = "sdma",
		.title = "a copy's count is not one less than its bytes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The count of a linear copy is its bytes minus one from v4 on; v2 and v3 had the bytes "
"themselves.",
		.wrong = "The copy moves one byte too many, the first byte after the destination.",
		.fix = "Store bytes - 1 (SizeToCountOffset is -1 from gfx9 on).",
		.sources = "docs/hardware/sdma.md#copy-4; ROCR-Runtime amd_blit_sdma.cpp BlitSdmaV2V3, BlitSdmaV4 (SizeToCountOffset)",
		.example = "run sdma-copy --limit 10ms --bug copy-count",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_EFFECT - 12,
	.records = BF_SEES(sdma_mismatch, deadlock),
	.on = on,
};
