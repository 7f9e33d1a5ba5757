#include <inttypes.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/mlx5.h"

/* Between its reservation and its first entry a thread waits for room in the ring, and for nothing else. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_slot *slot = q->depth && q->slots ? &q->slots[q->published.upto % q->depth] : NULL;
	const struct bf_machine *m = bf_rule_run_facts(r->rules, &bf_rules_machine);
	const struct bf_machine_thread *t;
	struct bf_finding *f;

	/* All that was published is complete, so that the whole ring is free. */
	if (!complete || !m || !slot || q->failed || q->error_syndrome || q->was_reset || q->moved ||
	    slot->reserved != q->published.upto + 1 || slot->built[0].index == q->published.upto + 1 ||
	    q->done.upto < q->published.upto || slot->count > q->depth)
		return;
	t = &m->thread[slot->reserver % BF_MACHINE_THREADS];
	if (t->actor != slot->reserver || !t->runs || !t->waits || t->since_ps < q->reserved.at_ps)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->actor = t->actor;
	f->found.at_ps = t->since_ps;
	bf_finding_since(f, q->reserved.at_ps, q->reserved.record);
	bf_finding_index(f, q->published.upto);
	bf_finding_say(f,
		       "%s has %" PRIu32 " slots of QP 0x%" PRIx64 " on PE %" PRIu32 " from %" PRIu64
		       " on, waits for %s since %" PRIu64 " ps and has laid no entry, and the ring of %" PRIu32
		       " WQEBBs is empty: all entries below are complete. It believes in a smaller ring, or looks at "
		       "another count",
		       bf_rule_actor(r->rules, t->actor), slot->count, queue->number, queue->pe, slot->first,
		       t->what[0] ? t->what : "something", t->since_ps, q->depth);
}

const struct bf_rule bf_rule_mlx5_room = {
	.about = {
		.id = "MLX5-ROOM",
		.family = "mlx5",
		.title = "a thread waits for room in a send ring that is empty",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A send ring has as many WQEBBs as its context says (log_sq_size), and all of them are free when all "
			    "entries are complete.",
		.wrong = "The driver's number of WQEBBs is smaller than the ring's or 0 (a field that is too narrow for it), or "
			 "the count of completed entries is not the one that pollers store.",
		.fix = "Take the number from where the context takes it, in a field that holds 65536; wait for the count that the "
		       "pollers move.",
		.sources = "mlx5 PRM, Queue Pair Context; NVIDIA/nvshmem ibgda_device.cuh ibgda_wait_for_slot_availability",
		.test = "tests/traces/test_rules_waits.c",
		.why = "The driver takes both from one place.",
	},
	.rank = BF_RANK_STUCK - 4,
	.needs = BF_SEES(ibgda_reserve, qp_config, agent_wait),
	.end_queue = end_queue,
};
