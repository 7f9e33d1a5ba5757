#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* The same by what it gives back, of a driver that says nothing. */
static void on_error(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t slot;
	const struct bf_nvme_rule_slot *s = bf_nvme_rule_took_old(e, &slot);
	struct bf_finding *f = s && !s->posted ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, slot);
	bf_finding_say(f,
		       "head %" PRIu64 " on CQ %" PRIu64 " gives back slot %" PRIu32
		       ", where a thread has looked and the controller had not posted anything yet: it waits for the "
		       "other phase tag, or for anything but zeros",
		       e->nvme_driver_error.value, e->queue->number, slot);
}

static void taken(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s = bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f;

	if (e->nvm_completion.stray || !s || s->posted)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "%s took slot %" PRIu64 " of CQ %" PRIu64 " for a completion before the controller had posted "
		       "anything there: it waits for the other phase tag",
		       bf_rule_actor(r->rules, e->actor), e->nvm_completion.slot, e->queue->number);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_nvme_driver_error)
		on_error(r, e);
	else
		taken(r, e);
}

const struct bf_rule bf_rule_nvme_phase = {
	.about = {
		.id = "NVME-PHASE",
		.family = "nvme",
		.title = "the poller treats old entries as new",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion is new when its phase tag differs from what the slot held before: 1 in "
			    "the first lap, then 0, in turn. Memory starts as zeros.",
		.wrong = "The driver waits for the other phase tag, so it takes a slot that the controller has not "
			 "written.",
		.fix = "Start with phase 1 and invert it each time the head wraps; clear the queue's memory before "
		       "creating it.",
		.sources = "NVM Express Base 2.0, 3.3.3.2; docs/hardware/nvme.md#phase-1",
		.example = "run nvme-verify --commands 8 --size 512 --bug phase-inverted",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(nvm_completion, nvme_driver_error),
	.on = on,
};
