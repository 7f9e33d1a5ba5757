#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

struct flush {
	bool open; /* writes were in flight at the last Flush */
	uint64_t cid, writes, at_ps, record;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct flush *last = bf_rule_queue_state(r, e->queue);

	if (!e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != BF_NVME_IO_FLUSH)
		return;
	*last = (struct flush){ .cid = bf_get_le16(e->tail + 2), .at_ps = e->time_ps, .record = e->number };
	for (uint32_t i = 0; i < q->in_flight; i++)
		last->writes += q->commands[i].entry[0] == BF_NVME_IO_WRITE && !(q->commands[i].entry[51] >> 6 & 1);
	last->open = last->writes != 0;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct flush *last = bf_rule_queue_state(r, queue);
	struct bf_finding *f = complete && last->open ? bf_rule_find(r, NULL, queue) : NULL;

	if (!f)
		return;
	f->found.at_ps = last->at_ps;
	bf_finding_since(f, last->at_ps, last->record);
	bf_finding_say(f,
		       "the last Flush on SQ %" PRIu64 ", command %" PRIu64 ", was fetched with %" PRIu64
		       " writes without FUA in flight, which it does not cover",
		       queue->number, last->cid, last->writes);
}

const struct bf_rule bf_rule_nvme_flush_early = {
	.about = {
		.id = "NVME-FLUSH-EARLY",
		.family = "nvme",
		.title = "a Flush does not cover the writes in flight",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "Flush makes durable what had completed before the controller got it. Commands of a queue "
			    "are not ordered among each other.",
		.wrong = "Writes were in flight when the last Flush of the queue was fetched: nothing says that they "
			 "are on the medium.",
		.fix = "Wait for the completions of the writes, then send Flush; or set FUA in the writes.",
		.sources = "NVM Express Base 2.0, Flush and Volatile Write Cache",
		.example = "run nvme-verify --commands 8 --size 512 --bug flush-early",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SPEED - 2,
	.records = BF_SEES(nvme_fetch),
	.on = on,
	.end_queue = end_queue,
	.queue_bytes = sizeof(struct flush),
};
