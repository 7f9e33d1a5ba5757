#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* The last stale load of a run. */
struct state {
	bool set;
	uint32_t actor;
	uint64_t va, at_ps, record;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_run *run = r->facts;
	struct state *s = r->state;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_gpu_stale_load) {
		*s = (struct state){ true, e->actor, e->gpu_stale_load.va, e->time_ps, e->number };
		return;
	}
	if (!s->set)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_say(f,
		       "%s found 0x%" PRIx64 " instead of 0x%" PRIx64 " in what SQ %" PRIu64
		       " had read, and a load of 0x%" PRIx64 " got what was there before the controller wrote: %s",
		       bf_rule_actor(r->rules, e->actor), e->nvm_mismatch.found, e->nvm_mismatch.wanted,
		       e->queue->number, s->va,
		       run->invalidated ? "the invalidation did not reach it" : "nobody invalidated");
}

const struct bf_rule bf_rule_nvme_data_stale = {
	.about = {
		.id = "NVME-DATA-STALE",
		.family = "nvme",
		.title = "stale data was read after DMA had written new data",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "What a controller writes to VRAM is not visible to the GPU until a heavyweight "
			    "invalidation (GCVM_INVALIDATE_ENG17_REQ, flush type 2); loads that pass caches do not "
			    "help.",
		.wrong = "The completion lay elsewhere and was seen at once, so the driver took it for a sign that "
			 "the data could be seen as well.",
		.fix = "Invalidate between the completion and the first load of the data, or put data where DMA is "
		       "coherent.",
		.sources = "docs/hardware/gpu.md#vram-1",
		.example = "run nvme-verify --commands 8 --size 512 --data-in vram-uc --bug no-invalidate",
		.twin = "run nvme-verify --commands 8 --size 512 --data-in vram-uc",
	},
	.rank = BF_RANK_COMPLETION + 2,
	.records = BF_SEES(gpu_stale_load, nvm_mismatch),
	.on = on,
	.state_bytes = sizeof(struct state),
};
