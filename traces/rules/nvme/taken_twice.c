#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f = s ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "%s took the completion of command %" PRIu64 " in slot %" PRIu64 " of CQ %" PRIu64
		       ", which %s had taken already: two threads poll without a lock between them",
		       bf_rule_actor(r->rules, e->actor), e->nvm_completion.cid, e->nvm_completion.slot,
		       e->queue->number, bf_rule_actor(r->rules, s->taker[1]));
}

const struct bf_rule bf_rule_nvme_taken_twice = {
	.about = {
		.id = "NVME-TAKEN-TWICE",
		.family = "nvme",
		.title = "two threads take one completion",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion queue has one head, which its driver keeps; the controller cannot tell who "
			    "took an entry.",
		.wrong = "Two threads looked at the same head and both went on from it: a command ends twice, the "
			 "head moves by one for two, and slots are given back too often.",
		.fix = "One poller at a time: a lock around looking, taking and moving the head, with the head read "
		       "inside it.",
		.sources = "NVM Express Base 2.0, Queue Model; ZaidQureshi/bam nvm_parallel_queue.h",
		.example = "run nvme-read --threads 4 --share 4 --commands 16 --size 512 --limit 400ms --timeout 20ms "
			   "--bug cq-unlocked",
		.twin = "run nvme-read --threads 4 --share 4 --commands 16 --size 512 --limit 400ms --timeout 20ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(nvm_completion),
	.when = BF_NVME_RULE_TWICE,
	.whens = 1,
	.needs = BF_SEES(nvm_completion, nvme_completion, nvme_queue),
	.on = on,
};
