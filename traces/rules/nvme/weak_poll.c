#include <inttypes.h>
#include <string.h>

#include "traces/rules/nvme/nvme.h"

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_nvme_rule_run *run = r->facts;

	(void)complete;
	for (uint32_t i = 0; i < BF_NVME_RULE_POLLERS; i++) {
		const struct bf_nvme_rule_poller *p = &run->poller[i];
		const struct bf_nvme_rule_queue *q = p->unseen_at ? bf_nvme_rule_of(p->unseen_at->queue) : NULL;
		struct bf_finding *f;

		/* Where one thread looks for others, these wait without a look. A processor has no stale copies. */
		if (!q || q->silent.looks || !bf_nvme_rule_is_silent(p->unseen_at->queue) ||
		    strstr(bf_rule_actor(r->rules, p->actor), ".cpu"))
			continue;
		f = bf_rule_find(r, NULL, p->unseen_at->queue);
		if (!f)
			continue;
		f->found.at_ps = p->unseen_ps;
		bf_finding_since(f, p->unseen_ps, p->unseen_record);
		bf_finding_say(f,
			       "%s waits for completions of CQ %" PRIu64
			       " and looks there by weak loads alone: a copy in its cache may answer them forever, and "
			       "nothing keeps later loads after them",
			       bf_rule_actor(r->rules, p->actor), p->unseen_at->queue->number);
	}
}

const struct bf_rule bf_rule_nvme_weak_poll = {
	.about = {
		.id = "NVME-WEAK-POLL",
		.family = "nvme",
		.title = "a GPU polls completions with weak loads",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A GPU's first-level cache is not coherent: a weak load may be served from it however often it is "
			    "repeated, and the compiler may take it out of the loop. Loads after a weak one may be older "
			    "than it.",
		.wrong = "The thread may poll an old copy forever, or take the completion and then read data from before "
			 "it. That it did not happen in this run is luck.",
		.fix = "Poll the dword with the phase tag by an acquiring load of system scope (ld.acquire.sys, "
		       "cuda::atomic_ref::load), or by volatile or relaxed loads and a fence after the one that found the "
		       "completion.",
		.sources = "PTX ISA, Memory Consistency Model; docs/hardware/gpu.md#scopes-4",
		.test = "tests/drivers/test_trial_own_nvme.c",
		.why = "Belfry's own driver says what it does, and is judged by NVME-PLAIN-POLL.",
	},
	.rank = BF_RANK_COMPLETION + 2,
	.needs = BF_SEES(agent_wait, nvme_queue, store),
	.end = end,
};
