#include <inttypes.h>

#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/far.h"

/* The first one of a queue, index plus one. */
struct mine {
	uint64_t index, at_ps, record;
	uint8_t syndrome, vendor;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct mine *m = bf_rule_queue_state(r, e->queue);

	if (!e->cqe.syndrome || m->index ||
	    (e->cqe.syndrome == BF_MLX5_SYND_WR_FLUSH && bf_mlx5_rule_of(e->queue)->stopped))
		return;
	*m = (struct mine){ .index = e->cqe.index + 1,
			    .at_ps = e->time_ps,
			    .record = e->number,
			    .syndrome = (uint8_t)e->cqe.syndrome,
			    .vendor = (uint8_t)e->cqe.vendor };
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct mine *m = bf_rule_queue_state(r, queue);
	struct bf_finding *f;

	(void)complete;
	f = m->index && bf_rule_silent(r, queue) ? bf_rule_find(r, NULL, queue) : NULL;
	if (!f)
		return;
	f->found.at_ps = m->at_ps;
	bf_finding_since(f, m->at_ps, m->record);
	bf_finding_index(f, m->index - 1);
	bf_finding_say(f, "%s completed with syndrome %02x, vendor %02x: %s",
		       bf_mlx5_rule_entry(queue, m->index - 1).text, m->syndrome, m->vendor,
		       bf_mlx5_rule_syndrome(m->syndrome));
	bf_mlx5_rule_say_far(r->rules, f, queue);
}

const struct bf_rule bf_rule_mlx5_error_completion = {
	.about = {
		.id = "MLX5-ERROR-COMPLETION",
		.family = "mlx5",
		.title = "a completion reports an error, and no rule knows why",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Opcode 13 or 14 in a completion means that an entry failed. Syndrome 05 alone is a flush: an earlier error, or a command, moved the queue pair to error state.",
		.wrong = "What the entry asked for was refused on the way or at the other end; the trace does not say by whom.",
		.fix = "belfry rules with the syndrome and vendor syndrome, \"13/88\" for instance, tells likely causes. Record both ends.",
		.sources = "mlx5 PRM, Completion Queue Entry; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It speaks where none of the other rules does, and each error that a workload can have is known to one.",
	},
	.rank = BF_RANK_NET,
	.net = 2,
	.records = BF_SEES(cqe),
	.on = on,
	.queue_bytes = sizeof(struct mine),
	.end_queue = end_queue,
};
