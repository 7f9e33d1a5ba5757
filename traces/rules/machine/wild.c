#include <errno.h>

#include "traces/rules/machine/machine.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->run_failed.code == EFAULT ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f, "%.*s", (int)e->tail_len, (const char *)e->tail);
}

const struct bf_rule bf_rule_machine_wild = {
	.about = {
		.id = "MACHINE-WILD",
		.family = "machine",
		.title = "a thread accessed an address where nothing is mapped",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A processor stops a thread that accesses an unmapped address, accesses device registers "
			    "as memory, or divides by zero. A GPU ends the whole program (CUDA error 700).",
		.wrong = "A pointer, or an index into a table that device code reads, leads outside. The table is "
			 "shorter or in another order than the code expects, an entry was never filled, or set-up and "
			 "user disagree about a base or a size.",
		.fix = "The text names the thread, and the memory whose end was passed if there is one. Compare the "
		       "number of entries that set-up fills with the index that the code computes, and look for "
		       "pointers that only some paths of set-up store.",
		.sources = "CUDA Toolkit Documentation, cudaErrorIllegalAddress; Linux man page signal(7), SIGSEGV",
		.test = "tests/traces/test_rules_waits.c",
		.why = "The drivers of belfry do not crash; the test has the record of one that does; tests/tools/test_wild.c has threads that do.",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(run_failed),
	.on = on,
};
