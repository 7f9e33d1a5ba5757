#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

#define WIDEST 16u /* bytes of an access */

/* The block that is reached, by the rank in its cluster; NULL: nothing is known of it. */
static const struct bf_hopper_rule_block *reached(const struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const uint64_t own = e->hopper_hazard.block < run->nblocks ? run->blocks[e->hopper_hazard.block].rank : 0;
	const uint64_t number = e->hopper_hazard.block - own + e->hopper_hazard.rank;

	return number < run->nblocks && run->blocks[number].known ? &run->blocks[number] : NULL;
}

bool bf_hopper_rule_beyond(const struct bf_hopper_rule_run *run, const struct bf_seen *e)
{
	const struct bf_hopper_rule_block *block = reached(run, e);

	return block && block->here && block->bytes && e->hopper_hazard.address + WIDEST > block->bytes;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);
	struct bf_finding *f;

	if (e->hopper_hazard.event != BF_HAZARD_NOBODY || !bf_hopper_rule_beyond(run, e))
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(f,
			       "%s accesses byte 0x%" PRIx64 " of the shared memory of block %" PRIu64 " (rank %" PRIu64
			       "), which has %" PRIu32 " bytes",
			       bf_rule_actor(r->rules, e->actor), e->hopper_hazard.address, e->hopper_hazard.block,
			       e->hopper_hazard.rank, reached(run, e)->bytes);
}

const struct bf_rule bf_rule_hopper_shared_end = {
	.about = {
		.id = "HOPPER-SHARED-END",
		.family = "hopper",
		.title = "an access beyond the end of a block's shared memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A block has as much dynamic shared memory as its launch asked for; an access beyond it faults.",
		.wrong = "The launch asks for fewer bytes than the kernel lays out: a stage, a store buffer or the barriers were not "
			 "counted, or an offset is too large.",
		.fix = "Compute the size that is asked for and the offsets in the kernel from the same numbers.",
		.sources = "CUDA C++ Programming Guide, Dynamic Shared Memory; docs/hardware/hopper.md#symptoms-16",
		.test = "tests/traces/test_rules_order.c",
		.why = "Host and kernel take the layout from one header.",
	},
	.rank = BF_RANK_REFUSED - 1,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
