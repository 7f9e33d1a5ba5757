#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r->rules), e->gpu_late_store.va);
	struct bf_finding *f;

	if (!ring)
		ring = bf_stores_ring_at(bf_rule_stores(r->rules), e->gpu_late_store.va + e->gpu_late_store.len - 1);
	if (!ring)
		return;
	f = bf_rule_find(r, e, ring->queue);
	if (f)
		bf_finding_say(
		    f,
		    "the controller fetched a submission queue entry from VRAM while the GPU's L2 held a newer "
		    "store by %s: the queue is mapped cached and there is no fence of system scope before the doorbell",
		    bf_rule_actor(r->rules, (uint32_t)e->gpu_late_store.by));
}

const struct bf_rule bf_rule_nvme_sq_cached = {
	.about = {
		.id = "NVME-SQ-CACHED",
		.family = "nvme",
		.title = "a submission queue in VRAM is behind the GPU's L2",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "What a GPU stores to cached VRAM stays in its L2 until a fence of system scope or an "
			    "eviction writes it back. DMA from outside reads VRAM.",
		.wrong = "The controller fetched an entry from VRAM while the L2 still held the newer store.",
		.fix = "Map the queue uncached (MTYPE UC), or put a fence of system scope, which writes the L2 "
		       "back, before the doorbell.",
		.sources = "docs/hardware/gpu.md#vram-5; Linux amdgpu VM_MTYPE",
		.example = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms --bug "
			   "cached-sq",
		.twin = "run nvme-verify --queues-in vram-uc --commands 8 --size 512 --timeout 1ms",
	},
	.rank = BF_RANK_SET_UP + 5,
	.records = BF_SEES(gpu_late_store),
	.on = on,
};
