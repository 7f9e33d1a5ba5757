#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define CONTROLLERS 64u /* by the number of the PE */
#define FEATURE_QUEUES 7u

struct state {
	struct {
		uint32_t asked[2]; /* submission and completion queues; 0: it did not ask */
		uint64_t at_ps, record;
	} of[CONTROLLERS];
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const uint32_t i = e->pe % CONTROLLERS, kind = e->nvme_queue.queue & 1;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_nvme_fetch) {
		if (e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != BF_NVME_ADM_SET_FEATURES ||
		    e->tail[40] != FEATURE_QUEUES)
			return;
		s->of[i].asked[0] = bf_get_le16(e->tail + 44) + 1u;
		s->of[i].asked[1] = bf_get_le16(e->tail + 46) + 1u;
		s->of[i].at_ps = e->time_ps;
		s->of[i].record = e->number;
		return;
	}
	if (e->nvme_queue.what != BF_NVME_QUEUE_CREATED || !e->nvme_queue.qid || !s->of[i].asked[kind] ||
	    e->nvme_queue.qid <= s->of[i].asked[kind])
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_since(f, s->of[i].at_ps, s->of[i].record);
	bf_finding_say(f,
		       "%s %" PRIu64 " was created, and Set Features, Number of Queues had asked for %" PRIu32
		       ": this controller grants more than it is asked for, others do not",
		       kind ? "CQ" : "SQ", e->nvme_queue.qid, s->of[i].asked[kind]);
}

const struct bf_rule bf_rule_nvme_queue_count = {
	.about = {
		.id = "NVME-QUEUE-COUNT",
		.family = "nvme",
		.title = "more queues are created than were asked for",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Set Features, Number of Queues, requests numbers of submission and of completion queues, "
			    "each counted from 0. The controller grants as many as it likes, and refuses numbers above "
			    "that.",
		.wrong = "The two counts, in the low and the high half of dword 11, do not match the queues that are "
			 "created. It works as long as the controller grants more.",
		.fix = "Request both counts, less one each, and create at most what the answer grants.",
		.sources = "NVM Express Base 2.0, Number of Queues; docs/hardware/nvme.md#admin-commands-9",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "Every workload asks for what it creates.",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(nvme_fetch, nvme_queue),
	.needs = BF_SEES(nvme_fetch, nvme_queue),
	.state_bytes = sizeof(struct state),
	.on = on,
};
