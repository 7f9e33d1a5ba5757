#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

struct state {
	bool off;
	uint64_t since_ps, since_record;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_nvme_state) {
		if (e->nvme_state.state != BF_NVME_BUS_MASTER)
			return;
		s->off = !e->nvme_state.value;
		s->since_ps = e->time_ps;
		s->since_record = e->number;
		return;
	}
	f = s->off ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_since(f, s->since_ps, s->since_record);
	bf_finding_say(f, "%s waits for queue %" PRIu64 ", and the controller has been no bus master for %s",
		       bf_rule_actor(r->rules, e->actor), e->nvm_timeout.qid,
		       bf_span_of(e->time_ps - s->since_ps).text);
}

const struct bf_rule bf_rule_nvme_bus_master = {
	.about = {
		.id = "NVME-BUS-MASTER",
		.family = "nvme",
		.title = "bus mastering is off",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Without Bus Master Enable in the PCI command register a function starts no transfers: it "
			    "takes doorbells, fetches nothing and posts nothing.",
		.wrong = "The bit was never set, or a reset cleared it, and the driver waits for a completion that "
			 "cannot leave.",
		.fix = "Set Bus Master Enable (bit 2 of the command register) after enabling the device and after "
		       "each reset.",
		.sources = "PCI Express Base 4.0, 7.5.1.1.3; docs/hardware/pcie.md#configuration-space-2",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "Backends switch bus mastering on before the driver has the controller.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(nvme_state, nvm_timeout),
	.on = on,
	.state_bytes = sizeof(struct state),
};
