#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* The last ATOMIC that went there; NULL. */
static const struct bf_sdma_rule_begun *counted(struct bf_rule_run *r, uint64_t va, struct bf_rule_queue **by)
{
	const struct bf_sdma_rule_begun *k, *last = NULL;
	struct bf_rule_queue *queue;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++)
		for (uint64_t back = 0; queue->family == &bf_rules_sdma &&
					(k = bf_sdma_rule_packet_back(bf_sdma_rule_of(queue), back)) != NULL;
		     back++)
			if (k->kind == BF_SDMA_KIND_ATOMIC && k->dst == va && (!last || k->at_ps > last->at_ps)) {
				last = k;
				*by = queue;
			}
	return last;
}

/* Signals count down to 0, and are waited for until they are there. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue = NULL;
	const struct bf_sdma_rule_begun *k = e->deadlock.value >> 63 ? counted(r, e->deadlock.va, &queue) : NULL;
	struct bf_finding *f = k ? bf_rule_find(r, e, queue) : NULL;

	if (!f)
		return;
	f->found.at_ps = k->at_ps;
	bf_finding_since(f, k->at_ps, k->record);
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "%s waits for the signal at 0x%" PRIx64 ", which the ATOMIC at byte %" PRIu64
		       " of %s has counted past 0, to -%" PRIu64
		       ": it was counted down by more than one, or more often "
		       "than somebody waits for",
		       bf_rule_actor(r->rules, e->actor), e->deadlock.va, k->index, bf_rule_queue_name(r->rules, queue),
		       0 - e->deadlock.value);
}

const struct bf_rule bf_rule_sdma_signal_value = {
	.about = {
		.id = "SDMA-SIGNAL-VALUE",
		.family = "sdma",
		.title = "a signal was counted past the value that is waited for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An ATOMIC adds what the packet says, modulo 2^64. A POLL_REGMEM or a thread that waits for 0 "
			    "does not see that the word has been there, or beyond.",
		.wrong = "The step is not one, or more submissions count the signal down than it was initialised for.",
		.fix = "Add ~0 (minus one) once for each submission that the signal stands for, and initialise it with "
		       "their number.",
		.sources = "ROCm/ROCR-Runtime amd_blit_sdma.cpp BlitSdma::BuildAtomicDecrementCommand; HSA Runtime "
			   "Specification, 2.4 Signals",
		.example = "run sdma-copy --commands 1 --bug signal-step",
		.twin = "run sdma-copy --commands 1",
	},
	.rank = BF_RANK_STUCK - 2,
	.records = BF_SEES(deadlock),
	.on = on,
};
