#include <inttypes.h>

#include "traces/rules/shmem/shmem.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->shmem_waited.found < e->shmem_waited.wanted ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "%s waited for a word to become %" PRIu64 " and went on when the last it had seen there "
			       "was %" PRIu64,
			       bf_rule_actor(r->rules, e->actor), e->shmem_waited.wanted, e->shmem_waited.found);
}

const struct bf_rule bf_rule_shmem_wait_early = {
	.about = {
		.id = "SHMEM-WAIT-EARLY",
		.family = "shmem",
		.title = "a wait ended before its word had the value",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A flag or a signal is a word that the NIC writes when it comes. Nothing else tells the "
			    "receiver that the data before it are there.",
		.wrong = "The thread went on with an older value: too early by one, or without having looked. What it "
			 "reads next may still be on its way.",
		.fix = "Load the word with acquire semantics until it has at least the value that stands for the data.",
		.sources = "OpenSHMEM 1.5, 9.11 Point-to-Point Synchronization Routines (SHMEM_WAIT_UNTIL)",
		.example = "run shmem-put-signal --rounds 2 --bug shmem-wait-short",
		.twin = "run shmem-put-signal --rounds 2",
	},
	.rank = BF_RANK_DATA - 2,
	.records = BF_SEES(shmem_waited),
	.on = on,
};
