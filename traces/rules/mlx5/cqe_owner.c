#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/polls.h"

/* The same by the word of a driver that tells what it takes: entries of which the device has not spoken yet. */
static void taken(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const struct bf_mlx5_rule_polled_cq *cq =
	    bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), e->queue, q->send_cqn);
	struct bf_finding *f;

	/* In the first lap there is nothing old to take. */
	if (e->ibgda_poll.done <= q->done.upto || !cq || cq->written < cq->cqes)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, q->done.at_ps, q->done.record);
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f,
		       "%s took all entries of QP 0x%" PRIx64 " below %" PRIu64
		       " for complete when the device had completed those below %" PRIu64 " and written %" PRIu64
		       " completions into the %" PRIu32 " slots of CQ 0x%" PRIx32
		       ": it read on into those of the lap before, whose owner bit says that they are old",
		       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_poll.done, q->done.upto,
		       cq->written, cq->cqes, cq->cqn);
}

/* A completion was taken that is not there. */
static void on_store(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(r->rules);
	const struct bf_mlx5_rule_polled_cq *cq = p->early;
	struct bf_finding *f = bf_rule_find(r, e, cq->queue);

	if (!f)
		return;
	bf_finding_index(f, cq->written);
	bf_finding_say(f,
		       "%s says that it has taken %" PRIu32 " completions from CQ 0x%" PRIx32
		       " when the device had written %" PRIu64 ": slot %" PRIu64
		       " still held the completion of the lap before, whose owner bit is %" PRIu64 " and not %" PRIu64,
		       bf_rule_actor(r->rules, e->actor), p->early_taken, cq->cqn, cq->written, cq->written % cq->cqes,
		       (cq->written / cq->cqes & 1) ^ 1, cq->written / cq->cqes & 1);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_store)
		on_store(r, e);
	else
		taken(r, e);
}

/* It waits at a completion that has come, and has looked at its owner bit. */
static void judge(struct bf_rule_run *r, const struct bf_mlx5_rule_poller *t, const struct bf_mlx5_rule_polled_cq *cq)
{
	const uint64_t at = cq->area->va + (uint64_t)(t->slot + 1) * cq->size - 1 - t->load_va; /* op_own */
	struct bf_finding *f;
	uint64_t number;
	uint8_t own;

	if ((t->wait_va - cq->area->va) / cq->size != t->slot || at >= t->load_len || at >= 8 ||
	    !bf_mlx5_rule_last_in(cq, t->slot, &number))
		return;
	own = (uint8_t)(t->value >> at * 8);
	/* A poller that has taken the last one waits at the next slot; where that is far, nobody took this one. */
	if ((number < cq->cqes && !t->wait_more) || own >> 4 == BF_MLX5_CQE_INVALID ||
	    (own & BF_MLX5_CQE_OWNER) != (number / cq->cqes & 1) || cq->written - number > cq->cqes / 2)
		return;
	f = bf_rule_find(r, NULL, cq->queue);
	if (!f)
		return;
	f->found.at_ps = t->wait_ps;
	bf_finding_since(f, t->load_ps, t->wait_record);
	bf_finding_index(f, number);
	bf_finding_say(f,
		       "%s waits at slot %" PRIu32 " of CQ 0x%" PRIx32 ", where it has read completion %" PRIu64
		       " (op_own 0x%02x): in lap %" PRIu64 " of the ring the owner bit is %" PRIu64
		       ", and the poller takes that for an old one",
		       bf_rule_actor(r->rules, t->actor), t->slot, cq->cqn, number, own, number / cq->cqes,
		       number / cq->cqes & 1);
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(r->rules);

	for (uint32_t i = 0; complete && i < BF_MLX5_POLLERS; i++) {
		const struct bf_mlx5_rule_poller *t = &p->poller[i];
		const struct bf_mlx5_rule_polled_cq *cq = t->wait_va && t->cq ? &p->cq[t->cq - 1] : NULL;

		if (cq && cq->slots && t->wait_va - cq->area->va < (uint64_t)cq->cqes * cq->size)
			judge(r, t, cq);
	}
}

const struct bf_rule bf_rule_mlx5_cqe_owner = {
	.about = {
		.id = "MLX5-CQE-OWNER",
		.family = "mlx5",
		.title = "a poller misreads the owner bit of completions",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The device writes completions round the ring and clears nothing. Bit 0 of op_own, the owner bit, "
			    "is 0 in the first lap, 1 in the second, and so on; that tells a new completion from the one "
			    "that was there a lap ago.",
		.wrong = "A poller that looks at the opcode alone takes completions of the lap before for new ones, and "
			 "frees slots and buffers that are in use. One that does not turn the bit it expects at the end of "
			 "the ring waits forever at a completion that is there.",
		.fix = "A completion is new when its opcode is not 15 and its owner bit is (consumer index / entries of the "
		       "ring) & 1.",
		.sources = "mlx5 PRM, Completion Queue Entry, Ownership; linux-rdma/rdma-core providers/mlx5/cq.c get_sw_cqe",
		.example = "run ibgda-put --plain-cq --depth 16 --batch 4 --messages 100 --limit 10ms --bug owner-ignored",
		.twin = "run ibgda-put --plain-cq --depth 16 --batch 4 --messages 100 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY - 1, /* before what follows from entries that were taken early */
	.records = BF_SEES(store, ibgda_poll),
	.when = BF_MLX5_TOOK_EARLY,
	.whens = 1,
	.needs = BF_SEES(cq_config, cqe, store, load),
	.on = on,
	.end = end,
};
