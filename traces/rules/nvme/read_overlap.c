#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_run *run = r->facts;
	const struct bf_nvme_rule_command *c = bf_nvme_rule_command(bf_nvme_rule_of(run->overlap), run->overlap_cid);
	struct bf_finding *f = c ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_since(f, c->fetched_ps, c->fetched_record);
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_nvme_rule_say_both(f, "read", c->slot, run->overlap, (uint32_t)e->nvme_fetch.slot, e->queue);
	bf_finding_say(
	    f, " are in flight together and both deliver to 0x%" PRIx64 ": what one brings the other overwrites",
	    bf_get_le64(e->tail + 24));
}

const struct bf_rule bf_rule_nvme_read_overlap = {
	.about = {
		.id = "NVME-READ-OVERLAP",
		.family = "nvme",
		.title = "two reads in flight deliver into one buffer",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A controller writes the data of a read whenever it likes until it completes, in pieces "
			    "and in any order; completions come in any order, too.",
		.wrong = "A thread that reads the buffer after the first completion may find the other read's data, or "
			 "some of both. Only a benchmark that discards its data may do this.",
		.fix = "One buffer for each command identifier, free again when its own completion has come.",
		.sources = "NVM Express Base 2.0, Command Submission and Completion",
		.example = "run nvme-read --commands 8 --depth 4 --size 512 --bug buffer-shared",
		.twin = "run nvme-read --commands 8 --depth 4 --size 512",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_OVERLAP,
	.whens = 1,
	.on = on,
};
