#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define FEWEST 32u
#define BLOCKS 8u /* of 512 bytes in 4 KiB */

struct counts {
	uint64_t writes, partial;
	bool large_blocks;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct counts *c = bf_rule_queue_state(r, e->queue);
	uint64_t slba, blocks;

	if (!e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || e->tail[0] != BF_NVME_IO_WRITE)
		return;
	slba = bf_get_le64(e->tail + 40);
	blocks = bf_get_le16(e->tail + 48) + 1ull;
	c->writes++;
	c->partial += slba % BLOCKS || blocks % BLOCKS;
	/* A write of less than eight blocks that names two pages behind the first has larger blocks. */
	c->large_blocks |= blocks < BLOCKS && bf_get_le64(e->tail + 32) && bf_get_le64(e->tail + 24) % 4096 == 0;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct counts *c = bf_rule_queue_state(r, queue);
	struct bf_finding *f;

	(void)complete;
	if (c->writes < FEWEST || c->large_blocks || c->partial * 4 <= c->writes * 3)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f,
			       "%" PRIu64 " of %" PRIu64 " writes on SQ %" PRIu64
			       " are not multiples of eight blocks at a multiple of eight",
			       c->partial, c->writes, queue->number);
}

const struct bf_rule bf_rule_nvme_small_io = {
	.about = {
		.id = "NVME-SMALL-IO",
		.family = "nvme",
		.title = "transfers that are smaller than a page of the medium, or lie across two",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "Flash is written in pages of 4 KiB and more, whatever the size of a logical block. A "
			    "write of less, or one that is not aligned to 4 KiB, makes the controller read, change "
			    "and write.",
		.wrong = "Correct, but slower: each command moves a page for a part of it, and wears the medium.",
		.fix = "Transfer multiples of 4 KiB at multiples of 4 KiB, or format the namespace with blocks of "
		       "4096 bytes.",
		.sources = "NVM Command Set 1.0, NPWG and NPWA",
		.example = "run nvme-write --size 512 --commands 64",
		.twin = "run nvme-write --size 4096 --commands 64",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(nvme_fetch),
	.on = on,
	.end_queue = end_queue,
	.queue_bytes = sizeof(struct counts),
};
