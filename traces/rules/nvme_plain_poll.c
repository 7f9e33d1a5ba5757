#include <inttypes.h>

#include "traces/rules/nvme.h"

#define THREADS 4096u
#define ACQUIRE 2u
#define DEVICES 64u
#define MMIO 2u

/* Threads that have polled as they should, a bit each by number; threads that share a bit vouch for each other. */
struct state {
	uint8_t polled[THREADS / 8];
	struct {
		uint64_t va, size;
	} device[DEVICES]; /* memory of devices, which no cache holds */
	uint32_t ndevices;
};

static bool in_device(const struct state *s, uint64_t va)
{
	for (uint32_t i = 0; i < s->ndevices; i++)
		if (va - s->device[i].va < s->device[i].size)
			return true;
	return false;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	uint8_t *bits = &s->polled[e->actor % THREADS / 8];
	const uint8_t bit = (uint8_t)(1u << e->actor % 8);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_region && e->region.kind == MMIO && s->ndevices < DEVICES) {
		s->device[s->ndevices].va = e->region.va;
		s->device[s->ndevices++].size = e->region.size;
	}
	/* The dword that tells a completion. */
	if (e->kind == BF_SEEN_load && e->load.sem == ACQUIRE && e->load.va % 16 == 12)
		*bits |= bit;
	if (e->kind != BF_SEEN_nvm_completion || e->nvm_completion.stray || *bits & bit ||
	    in_device(s, bf_nvme_of(e->queue)->cq_base))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "%s took a completion from CQ %" PRIu64
			       " and never polled with an acquiring load: nothing keeps a "
			       "cache from serving what was there before, or later loads from being older",
			       bf_rule_actor(r->rules, e->actor), e->nvm_completion.qid);
}

const struct bf_rule bf_rule_nvme_plain_poll = {
	.about = {
		.id = "NVME-PLAIN-POLL",
		.family = "nvme",
		.title = "completions are polled with plain loads",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A plain load may be served by a cache or moved by compiler and processor; loads behind "
			    "it may be older than it.",
		.wrong = "It worked because nothing was cached or reordered this time.",
		.fix = "Poll the dword with the phase tag with an acquiring load of system scope.",
		.sources = "PTX ISA, Memory Consistency Model; reference nvme, section 12",
		.example = "run nvme-verify --commands 8 --size 512 --bug plain-load-poll",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_LUCK,
	.records = (const uint8_t[]){ BF_SEEN_nvm_completion, BF_SEEN_load, BF_SEEN_region, 0 },
	.on = on,
	.needs = (const uint8_t[]){ BF_SEEN_nvm_completion, BF_SEEN_store, 0 },
	.state_bytes = sizeof(struct state),
};
