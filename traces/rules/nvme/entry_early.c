#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_build.slot);
	struct bf_finding *f;

	if (!s || (!s->early && bf_nvme_rule_rung(bf_nvme_rule_of(e->queue), e->nvm_build.slot) < s->nbuilt))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	if (!s->early) {
		bf_finding_index(f, e->nvm_build.slot);
		bf_finding_say(f,
			       "the doorbell for slot %" PRIu64 " of SQ %" PRIu64
			       " was rung before %s had stored an entry there",
			       e->nvm_build.slot, e->queue->number, bf_rule_actor(r->rules, e->actor));
		return;
	}
	s->early = false;
	f->found.at_ps = s->fetched_ps;
	bf_finding_since(f, s->fetched_ps, s->fetched_record);
	bf_finding_index(f, e->nvm_build.slot);
	bf_finding_say(f,
		       "the controller fetched slot %" PRIu64 " of SQ %" PRIu64
		       " %s before %s had stored an entry there: it was announced too early",
		       e->nvm_build.slot, e->queue->number, bf_span_of(e->time_ps - s->fetched_ps).text,
		       bf_rule_actor(r->rules, e->actor));
}

/* Nobody has stored one since. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);

	for (uint32_t i = 0; complete && q->driver_speaks && i < q->nblocks * BF_NVME_RULE_BLOCK; i++) {
		const struct bf_nvme_rule_slot *s = bf_nvme_rule_slot_known(q, i);
		struct bf_finding *f = s && s->early ? bf_rule_find(r, NULL, queue) : NULL;

		if (!f)
			continue;
		f->found.at_ps = s->fetched_ps;
		bf_finding_since(f, s->fetched_ps, s->fetched_record);
		bf_finding_index(f, i);
		bf_finding_say(f,
			       "the controller fetched slot %" PRIu32 " of SQ %" PRIu64
			       ", which was announced, and no entry had been stored there since it was fetched last",
			       i, queue->number);
	}
}

const struct bf_rule bf_rule_nvme_entry_early = {
	.about = {
		.id = "NVME-ENTRY-EARLY",
		.family = "nvme",
		.title = "an entry was announced before it was stored",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The tail doorbell is a promise: every slot before it holds a command. The controller "
			    "fetches at once.",
		.wrong = "The controller fetched a slot before the driver had stored an entry there, so it executed "
			 "what an earlier lap left.",
		.fix = "Store the whole entry, fence, then ring; threads that share a queue ring only for slots "
		       "that are filled.",
		.sources = "NVM Express Base 2.0, Queue Model; docs/hardware/nvme.md#queues",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-first",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(nvm_build),
	.on = on,
	.end_queue = end_queue,
};
