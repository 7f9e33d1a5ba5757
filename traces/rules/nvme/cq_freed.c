#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* Slots that are given back, and of which nobody has looked at the completion since it came. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	const struct bf_nvme_rule_slot *s;
	struct bf_finding *f;

	/* Where nobody looks by loads that are recorded, it is not known who has looked. */
	if (!e->nvme_doorbell.queue || !e->nvme_doorbell.accepted || !q->silent.looks ||
	    !bf_nvme_rule_is_silent(e->queue) || e->nvme_doorbell.value >= q->silent.cqes)
		return;
	for (uint64_t slot = e->nvme_doorbell.before % q->silent.cqes; slot != e->nvme_doorbell.value;
	     slot = (slot + 1) % q->silent.cqes) {
		s = bf_nvme_rule_slot_known(q, slot);
		if (!s || !s->posted || s->looked > s->posted_record)
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		bf_finding_index(f, slot);
		bf_finding_since(f, s->posted_ps, s->posted_record);
		bf_finding_say(
		    f,
		    "the head doorbell of CQ %" PRIu64 " gives back slot %" PRIu64
		    " with the completion of command 0x%x (status 0x%x), and no load that was recorded has looked at "
		    "it: the controller may post the next one there",
		    e->queue->number, slot, (unsigned)s->posted_cid, (unsigned)s->posted_status);
		return;
	}
}

const struct bf_rule bf_rule_nvme_cq_freed = {
	.about = {
		.id = "NVME-CQ-FREED",
		.family = "nvme",
		.title = "a completion is given back before anybody has looked at it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "From the head doorbell on the controller may post into the slots that it passes.",
		.wrong = "The doorbell was rung for entries that were not read yet: the next completions overwrite them, and "
			 "their status is never seen. One entry at the end of a batch proves that those before it have come, "
			 "not that they are good.",
		.fix = "Read status and command identifier of every entry first, then ring the head doorbell, once for the "
		       "batch.",
		.sources = "NVM Express Base 2.0, Queue Model; docs/hardware/nvme.md#doorbells-2",
		.test = "tests/drivers/test_trial_own_nvme.c",
		.why = "No workload of ours rings early; Belfry's own driver says what it takes.",
	},
	.rank = BF_RANK_COMPLETION,
	.records = BF_SEES(nvme_doorbell),
	.needs = BF_SEES(load, nvme_queue, nvme_doorbell),
	.on = on,
};
