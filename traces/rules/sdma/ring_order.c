#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_run *run = bf_sdma_rule_run(r);
	const struct bf_store *late =
	    run->read ? bf_stores_late(bf_rule_stores(r->rules), e->dma_read.va, e->dma_read.len) : NULL;
	struct bf_finding *f = late ? bf_rule_find(r, e, run->read_queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, run->read->index + (late->va - e->dma_read.va));
	bf_finding_watch(r->rules, f, late);
	f->n[0] = e->time_ps;
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	bf_finding_say(f,
		       "store of ring byte %" PRIu64
		       " of %s by %s became visible %s after the engine, told by the doorbell, had "
		       "fetched it: no fence stands between the packets and the doorbell",
		       f->found.index, bf_rule_queue_name(r->rules, f->queue), bf_rule_actor(r->rules, f->late.actor),
		       bf_store_lateness(&f->late, f->n[0]).text);
}

const struct bf_rule bf_rule_sdma_ring_order = {
	.about = {
		.id = "SDMA-RING-ORDER",
		.family = "sdma",
		.title = "no fence between packets and doorbell",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine fetches ring bytes by DMA: what memory shows, not what a store buffer "
			    "holds.",
		.wrong = "Part of a packet became visible after the engine had fetched it.",
		.fix = "A release fence of system scope between the packets and the write pointer, and another one "
		       "before the doorbell.",
		.sources = "docs/hardware/sdma.md#submission-1; ROCR-Runtime amd_blit_sdma.cpp",
		.example = "run sdma-copy --ordering adversarial --limit 10ms --bug no-fence",
		.twin = "run sdma-copy --ordering adversarial --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(dma_read),
	.on = on,
	.needs = BF_SEES(store, dma_read, sdma_fetch),
	.tell = tell,
};
