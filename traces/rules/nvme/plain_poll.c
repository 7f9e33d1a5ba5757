#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"
#include "sim/mem.h"
#include "sim/view.h"

#define THREADS 4096u
#define DEVICES 64u

/* By number; threads that share a place vouch for each other. */
struct state {
	bool polled[THREADS];     /* as they should */
	uint32_t silent[THREADS]; /* that run, where none has polled so yet */
	uint32_t nsilent;
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

/* Loads have something to tell while some thread runs that has not polled. */
static void count(struct bf_rule_run *r, int32_t more)
{
	struct state *s = r->state;

	s->nsilent += (uint32_t)more;
	bf_rule_spare(r, s->nsilent ? BF_SEEN_NONE : BF_SEEN_load);
}

static void polled(struct bf_rule_run *r, uint32_t place)
{
	struct state *s = r->state;

	if (!s->polled[place] && s->silent[place])
		count(r, -(int32_t)s->silent[place]);
	s->polled[place] = true;
}

static void took(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->nvm_completion.stray || in_device(r->state, bf_nvme_rule_of(e->queue)->cq_base))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "%s took a completion from CQ %" PRIu64
			       " and never polled with an acquiring load: nothing keeps a "
			       "cache from serving what was there before, or later loads from being older",
			       bf_rule_actor(r->rules, e->actor), e->nvm_completion.qid);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint32_t place = e->actor % THREADS;
	struct state *s = r->state;

	switch (e->kind) {
	case BF_SEEN_region:
		if (e->region.kind != BF_MEM_MMIO || s->ndevices == DEVICES)
			break;
		s->device[s->ndevices].va = e->region.va;
		s->device[s->ndevices++].size = e->region.size;
		break;
	case BF_SEEN_agent_start:
		if (s->polled[place])
			break;
		s->silent[place]++;
		count(r, 1);
		break;
	case BF_SEEN_agent_end:
		if (s->polled[place] || !s->silent[place])
			break;
		s->silent[place]--;
		count(r, -1);
		break;
	case BF_SEEN_load:
		/* The dword that tells a completion. */
		if (e->load.sem == BF_ACQUIRE && e->load.va % 16 == 12)
			polled(r, place);
		break;
	default:
		if (!s->polled[place])
			took(r, e);
		break;
	}
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
		.sources = "PTX ISA, Memory Consistency Model; docs/hardware/gpu.md#scopes-4",
		.example = "run nvme-verify --commands 8 --size 512 --bug plain-load-poll",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(nvm_completion, load, region, agent_start, agent_end),
	.on = on,
	.needs = BF_SEES(nvm_completion, store),
	.state_bytes = sizeof(struct state),
};
