#include <inttypes.h>
#include <string.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/polls.h"

#define LARGER 4u /* how many times the device's size a ring may be in a driver's eyes */

static bool waits(struct bf_rules *r, const struct bf_mlx5_rule_poller *t, uint32_t *pe)
{
	const struct bf_machine *m = bf_rule_run_facts(r, &bf_rules_machine);
	const struct bf_machine_thread *thread = m ? &m->thread[t->actor % BF_MACHINE_THREADS] : NULL;

	if (!thread || thread->actor != t->actor || !thread->runs || !thread->waits ||
	    !bf_mlx5_rule_is_completion(thread->what))
		return false;
	*pe = thread->pe;
	return true;
}

/* The ring of completions behind whose end the poller looks; NULL, too, where it looks into another one. */
static const struct bf_mlx5_rule_polled_cq *passed(const struct bf_mlx5_rule_polls *p, uint32_t pe, uint64_t va)
{
	const struct bf_mlx5_rule_polled_cq *nearest = NULL;

	for (uint32_t i = 0; i < BF_MLX5_CQS; i++) {
		const struct bf_mlx5_rule_polled_cq *cq = &p->cq[i];
		const uint64_t bytes = (uint64_t)cq->cqes * cq->size;

		if (!cq->cqes || !cq->slots || cq->pe != pe || va - cq->area->va >= LARGER * bytes)
			continue;
		if (va - cq->area->va < bytes)
			return NULL;
		if (!nearest || cq->area->va > nearest->area->va)
			nearest = cq;
	}
	return nearest;
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(r->rules);

	for (uint32_t i = 0; complete && i < BF_MLX5_POLLERS; i++) {
		const struct bf_mlx5_rule_poller *t = &p->poller[i];
		const struct bf_mlx5_rule_polled_cq *cq;
		struct bf_finding *f;
		uint32_t pe;

		if (!t->load_va || !waits(r->rules, t, &pe))
			continue;
		cq = passed(p, pe, t->load_va);
		f = cq ? bf_rule_find(r, NULL, cq->queue) : NULL;
		if (!f)
			continue;
		f->actor = t->actor;
		f->found.at_ps = t->load_ps;
		bf_finding_say(f,
			       "%s waits for a completion at 0x%" PRIx64 ", which would be slot %" PRIu64
			       " of CQ 0x%" PRIx32 " at 0x%" PRIx64 "; for the device that ring has %" PRIu32
			       " slots: its size differs between driver and device",
			       bf_rule_actor(r->rules, t->actor), t->load_va, (t->load_va - cq->area->va) / cq->size,
			       cq->cqn, cq->area->va, cq->cqes);
	}
}

const struct bf_rule bf_rule_mlx5_cq_view = {
	.about = {
		.id = "MLX5-CQ-VIEW",
		.family = "mlx5",
		.title = "driver and device disagree about how large a completion queue is",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CREATE_CQ tells the device log_cq_size; completion i goes into slot i mod size, and the owner bit "
			    "changes each time round.",
		.wrong = "The poller's mask comes from another number: it looks beyond the end of the ring, where the device "
			 "never writes.",
		.fix = "Take the number of entries for the context and for the poller's mask from one place.",
		.sources = "mlx5 PRM, Completion Queue Context; docs/hardware/mlx5.md#commands-3",
		.test = "tests/traces/test_rules_waits.c",
		.why = "The driver takes both from one place.",
	},
	.rank = BF_RANK_SET_UP + 2,
	.needs = BF_SEES(cq_config, cqe, load, agent_wait),
	.end = end,
};
