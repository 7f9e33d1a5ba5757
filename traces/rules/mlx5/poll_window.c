#include <inttypes.h>
#include <string.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/mlx5.h"

struct state {
	bool deadlock;
	struct bf_pe_set polls; /* one of its threads waits for a completion, forever */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	char what[48];

	s->deadlock = true;
	if (bf_mlx5_rule_is_completion(bf_seen_text(e, "what", what, sizeof(what))))
		bf_pe_set_add(&s->polls, e->pe);
}

/* True as well where nobody says what threads wait for, as in a run without an end that was cut short. */
static bool polls(struct bf_rule_run *r, uint32_t pe)
{
	const struct state *s = r->state;
	const struct bf_machine *m = bf_rule_run_facts(r->rules, &bf_rules_machine);
	uint64_t waiting = 0;

	if (s->deadlock)
		return bf_pe_set_has(&s->polls, pe);
	return !m || !bf_machine_waits(m, &waiting) || bf_mlx5_rule_completion_awaited(r->rules, pe);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	/*
	 * A completion that was written: one that was lost, or not asked for, has a rule of its own. Who sees an error
	 * is right not to take it for "done"; who waits for entries that nobody rang for does not wait for this one;
	 * and where all have ended, or wait for something else, nobody looks for it.
	 */
	if (!complete || q->covered < q->done.upto || q->published.upto > q->posted.upto ||
	    bf_mlx5_rule_all_ended(r->rules) || !polls(r, queue->pe) || !q->posted.upto ||
	    q->done.upto != q->posted.upto || q->polled.upto >= q->posted.upto || q->cqe_verdict != 0 || q->failed ||
	    q->error_syndrome)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->done.at_ps;
	bf_finding_since(f, q->done.at_ps, q->done.record);
	bf_finding_index(f, q->cqe_counter);
	bf_finding_say(f,
		       "the device completed all entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
		       ", and no poller takes the counter of the last completion, %" PRIu16 ", for that",
		       queue->number, queue->pe, q->posted.upto, q->cqe_counter);
}

const struct bf_rule bf_rule_mlx5_poll_window = {
	.about = {
		.id = "MLX5-POLL-WINDOW",
		.family = "mlx5",
		.title = "a completion arrived, but no poller recognises it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion's counter is 16 bits and wraps. The collapsed CQ's slot starts as the "
			    "driver left it, usually 0xff.",
		.wrong = "The poller's comparison in 16 bits takes \"done\" for \"not yet\": off by the size of an "
			 "entry, or with the initial value inside the window.",
		.fix = "Compare as NVSHMEM does: (uint16_t)(wanted - counter - 2) >= number of slots means done; or "
		       "widen the counter and compare in 64 bits.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_poll_cq; deepseek-ai/DeepEP PR#371; "
			   "NVIDIA/nvshmem#20",
		.example = "run ibgda-put --bug poll-no-minus2",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(deadlock),
	.needs = BF_SEES(ibgda_build, wqe_fetch),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
