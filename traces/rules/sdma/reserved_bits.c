#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_finding *f =
	    e->sdma_suspect.what == BF_SDMA_SUSPECT_RESERVED_BITS && k ? bf_rule_find(r, e, e->queue) : NULL;

	char gens[64];
	uint32_t mask, n;

	if (!f)
		return;
	n = bf_sdma_gens_of(k->dw, k->said < BF_ARRAY_LEN(k->dw) ? k->said : BF_ARRAY_LEN(k->dw), &mask, gens,
			    sizeof(gens));
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "dword %" PRIu64 " of %s at byte %" PRIu64 " of %s is 0x%08" PRIx64
		       ", with bits that %s does not define%s%s%s",
		       e->sdma_suspect.dword, k->name, k->index, bf_rule_queue_name(r->rules, e->queue),
		       e->sdma_suspect.value, bf_sdma_gen_name(bf_sdma_rule_of(e->queue)->dialect.gen),
		       n ? "; it is a packet of " : "", gens,
		       n > 1 ? ", which define them all"
		       : n   ? ", which defines them all"
			     : "");
}

const struct bf_rule bf_rule_sdma_reserved_bits = {
	.about = {
		.id = "SDMA-RESERVED-BITS",
		.family = "sdma",
		.title = "reserved bits of a packet are set",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Bits that a generation's header does not name are written 0. The next generation gives "
"them a meaning.",
		.wrong = "The packet runs here; on another part of the same generation, or with other firmware, it may "
"do something else.",
		.fix = "Clear the bits, and set fields only on the generations that have them (FENCE's mtype: gfx10 "
"and later).",
		.sources = "docs/hardware/sdma.md#opcodes-5; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-fence --gen v4 --limit 10ms --bug fence-mtype",
		.twin = "run sdma-fence --gen v4 --limit 10ms",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
