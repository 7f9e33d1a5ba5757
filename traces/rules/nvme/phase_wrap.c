#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* The same by what it gives back, of a driver that says nothing. */
static void on_error(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint32_t slot;
	const struct bf_nvme_rule_slot *s = bf_nvme_rule_took_old(e, &slot);
	struct bf_finding *f = s && s->posted ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, slot);
	bf_finding_say(
	    f,
	    "head %" PRIu64 " on CQ %" PRIu64 " gives back slot %" PRIu32
	    ", where a thread has looked and found the completion of command 0x%x, from the lap before: its phase "
	    "tag is %u, and a new one there has %u",
	    e->nvme_driver_error.value, e->queue->number, slot, (unsigned)s->posted_cid, (unsigned)s->posted_phase,
	    s->posted_phase ^ 1u);
}

static void taken(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s =
	    e->nvm_completion.stray ? NULL : bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f;

	if (!s || !s->nposted || s->ntaken <= s->nposted)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "%s took slot %" PRIu64 " of CQ %" PRIu64 " more often (%" PRIu64
		       ") than the controller has posted there (%" PRIu64 "): the entry is from the lap before",
		       bf_rule_actor(r->rules, e->actor), e->nvm_completion.slot, e->queue->number, s->ntaken,
		       s->nposted);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_nvme_driver_error)
		on_error(r, e);
	else
		taken(r, e);
}

const struct bf_rule bf_rule_nvme_phase_wrap = {
	.about = {
		.id = "NVME-PHASE-WRAP",
		.family = "nvme",
		.title = "completions of the previous lap are treated as new",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller inverts the phase tag each time it wraps. Entries of the last lap stay in memory " "with the other tag.",
		.wrong = "The driver went on with the tag of the lap before, so each old entry looks new: commands that " "are still in flight look finished.",
		.fix = "Invert the expected phase when the head wraps to 0, and nowhere else.",
		.sources = "NVM Express Base 2.0, 3.3.3.2",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --bug phase-not-flipped",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(nvm_completion, nvme_driver_error),
	.needs = BF_SEES(nvme_completion),
	.on = on,
};
