#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"
#include "models/nvme/prm.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint64_t at = e->nvme_driver_error.value, len = e->nvme_driver_error.limit;
	struct bf_finding *f;

	if (e->nvme_driver_error.wrong != BF_NVME_WRONG_ACCESS || at < BF_NVME_DOORBELLS || len == 4)
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(f, "a store of %" PRIu64 " bytes hit the doorbell at 0x%" PRIx64 " of BAR0", len, at);
}

const struct bf_rule bf_rule_nvme_doorbell_width = {
	.about = {
		.id = "NVME-DOORBELL-WIDTH",
		.family = "nvme",
		.title = "a doorbell is not a store of four bytes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Doorbells are 32-bit registers. What other sizes do is undefined: controllers ignore "
			    "them, or take the second dword for the neighbouring doorbell.",
		.wrong = "The store was wider or narrower, so nothing was announced, or the other queue of the pair "
			 "was rung too.",
		.fix = "Store exactly 32 bits to the doorbell (volatile uint32_t, st.mmio.relaxed.sys.u32).",
		.sources = "NVM Express Base 2.0, 3.1.3; docs/hardware/nvme.md#doorbells-3",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-64bit",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.needs = BF_SEES(nvme_doorbell),
	.on = on,
};
