#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	/* In the order of enum bf_nvme_fatal_reason. */
	static const char *const names[] = { NULL, "ASQ", "ACQ", "AQA", "CC.MPS", "CC.CSS", "CC.AMS" };
	const char *name = e->nvme_state.state == BF_NVME_FAILED && e->nvme_state.reason < BF_ARRAY_LEN(names)
			       ? names[e->nvme_state.reason]
			       : NULL;
	struct bf_finding *f = name ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f, "the controller did not become ready (CSTS 0x%" PRIx64 ") because of %s, 0x%" PRIx64,
			       e->nvme_state.csts, name, e->nvme_state.value);
}

const struct bf_rule bf_rule_nvme_enable_refused = {
	.about = {
		.id = "NVME-ENABLE-REFUSED",
		.family = "nvme",
		.title = "the controller refuses its configuration",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "When CC.EN goes to 1 the controller looks at CC, AQA, ASQ and ACQ. If one of them is invalid, " "CSTS.CFS is set and CSTS.RDY stays 0.",
		.wrong = "One of these registers holds a value that the controller does not support.",
		.fix = "CC.MPS within CAP.MPSMIN and MPSMAX, CC.CSS and CC.AMS as CAP says, ASQ and ACQ on a page, "
		       "AQA with at least two entries each.",
		.sources = "NVM Express Base 2.0, Controller Initialization; docs/hardware/nvme.md#enable-3",
		.example = "run nvme-verify --commands 8 --size 512 --bug cc-mps",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(nvme_state),
	.on = on,
};
