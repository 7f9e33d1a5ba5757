#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_run *run = r->facts;
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (f)
		bf_finding_say(
		    f,
		    "%s stored to 0x%" PRIx64 ", which Doorbell Buffer Config named as EventIdx (PRP2 0x%" PRIx64
		    "): that is the controller's to write, and shadow doorbells are looked for at 0x%" PRIx64,
		    bf_rule_actor(r->rules, e->actor), e->store.va, run->event, run->shadow);
}

const struct bf_rule bf_rule_nvme_shadow_swapped = {
	.about = {
		.id = "NVME-SHADOW-SWAPPED",
		.family = "nvme",
		.title = "shadow doorbells and event indices are exchanged",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbell Buffer Config: PRP1 is the page of shadow doorbells, which the host writes, "
			    "PRP2 that of the event indices, which the controller writes.",
		.wrong = "The host stores doorbells where the controller keeps its event indices, and reads its own "
			 "values back.",
		.fix = "PRP1 = shadow doorbells, PRP2 = EventIdx.",
		.sources = "NVM Express Base 2.0, Doorbell Buffer Config",
		.example = "run nvme-verify --commands 8 --size 512 --dbbuf --timeout 10ms --bug shadow-swapped",
		.twin = "run nvme-verify --commands 8 --size 512 --dbbuf --timeout 10ms",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(store),
	.when = BF_NVME_RULE_TO_EVENT,
	.whens = 1,
	.needs = BF_SEES(store, nvme_fetch),
	.on = on,
};
