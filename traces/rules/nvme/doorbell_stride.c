#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == BF_NVME_WRONG_STRIDE ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "a doorbell was rung at 0x%" PRIx64 " of BAR0, where none is: they lie %" PRIu64
			       " bytes apart (CAP.DSTRD)",
			       e->nvme_driver_error.value, e->nvme_driver_error.limit);
}

const struct bf_rule bf_rule_nvme_doorbell_stride = {
	.about = {
		.id = "NVME-DOORBELL-STRIDE",
		.family = "nvme",
		.title = "doorbells are addressed with the wrong stride",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbell n lies at 1000h + n * (4 << CAP.DSTRD). QEMU and most drives have DSTRD 0; others do " "not.",
		.wrong = "A driver that assumes DSTRD 0 rings other queues, or writes where there is no register.",
		.fix = "Read CAP.DSTRD and multiply; map as much of BAR0 as the last doorbell needs.",
		.sources = "NVM Express Base 2.0, 3.1.3.1; docs/hardware/nvme.md#doorbells-5",
		.example = "run nvme-verify --commands 8 --size 512 --profile 970pro,dstrd=1 --bug doorbell-stride",
		.twin = "run nvme-verify --commands 8 --size 512 --profile 970pro,dstrd=1",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
