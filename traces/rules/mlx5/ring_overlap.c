#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"
#include "traces/rules/regions.h"

#define RINGS 2048u

/* A ring as the device has it. That of a completion queue shows with its first completion. */
struct ring {
	uint64_t base, bytes, number;
	uint32_t pe, unit, with; /* index + 1 of a younger one that overlaps it; 0: none */
	bool cq;
};

struct state {
	struct ring ring[RINGS];
	uint32_t n, suspects;
	struct {
		uint32_t pe, unit, cqn, cqes, size;
		bool collapsed, known;
	} cq[RINGS]; /* by hash; of two that share a place the later one is kept */
	struct bf_rule_regions regions;
};

static uint32_t place(const struct bf_seen *e, uint64_t cqn)
{
	return (uint32_t)(((uint64_t)e->pe << 28 ^ (uint64_t)e->unit << 24 ^ cqn) * 0x9e3779b97f4a7c15ull >> 40) %
	       RINGS;
}

static void outside(struct bf_rule_run *r, const struct bf_seen *e, const struct ring *mine)
{
	const struct state *s = r->state;
	const struct bf_rule_region *x = bf_rule_regions_left(&s->regions, mine->base, mine->bytes);
	struct bf_finding *f = x ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "the %s of %s 0x%" PRIx64 " on PE %" PRIu32 " has %" PRIu64 " bytes at 0x%" PRIx64
			       ", and its memory (\"%s\") ends %" PRIu64 " bytes behind that address",
			       mine->cq ? "ring" : "send ring", mine->cq ? "CQ" : "QP", mine->number, mine->pe,
			       mine->bytes, mine->base, x->name, x->end - mine->base);
}

static void add(struct bf_rule_run *r, const struct bf_seen *e, const struct ring *mine)
{
	struct state *s = r->state;
	struct ring *own = NULL;

	if (!mine->base || !mine->bytes)
		return;
	outside(r, e, mine);
	for (uint32_t i = 0; i < s->n && !own; i++) {
		struct ring *x = &s->ring[i];

		if (x->pe != mine->pe || x->unit != mine->unit || x->cq != mine->cq || x->number != mine->number)
			continue;
		if (x->base == mine->base && x->bytes == mine->bytes)
			return;
		own = x; /* a number that was given out again */
	}
	if (!own && s->n < RINGS)
		own = &s->ring[s->n++];
	if (!own)
		return;
	s->suspects -= own->with != 0;
	*own = *mine;
	for (uint32_t i = 0; i < s->n; i++) {
		struct ring *x = &s->ring[i];

		if (x == own || x->pe != mine->pe || x->base >= mine->base + mine->bytes ||
		    mine->base >= x->base + x->bytes)
			continue;
		s->suspects += !x->with;
		x->with = (uint32_t)(own - s->ring) + 1;
	}
}

/* Memory of a queue that is gone may be another's. One that works on while the younger one is there has not gone. */
static void works(struct bf_rule_run *r, const struct bf_seen *e, bool cq, uint64_t number)
{
	struct state *s = r->state;

	for (uint32_t i = 0; i < s->n; i++) {
		struct ring *x = &s->ring[i];
		const struct ring *y = &s->ring[x->with ? x->with - 1 : 0];
		struct bf_finding *f;

		if (!x->with || x->pe != e->pe || x->unit != e->unit || x->cq != cq || x->number != number)
			continue;
		x->with = 0;
		s->suspects--;
		f = bf_rule_find(r, e, e->queue);
		if (f)
			bf_finding_say(f,
				       "the %s of %s 0x%" PRIx64 " on PE %" PRIu32 ", %" PRIu64 " bytes at 0x%" PRIx64
				       ", overlaps the %s of %s 0x%" PRIx64 ", %" PRIu64 " bytes at 0x%" PRIx64,
				       y->cq ? "ring" : "send ring", y->cq ? "CQ" : "QP", y->number, y->pe, y->bytes,
				       y->base, x->cq ? "ring" : "send ring", x->cq ? "CQ" : "QP", x->number, x->bytes,
				       x->base);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct ring mine = { .pe = e->pe, .unit = e->unit };

	if (e->kind == BF_SEEN_region) {
		bf_rule_regions_note(&s->regions, e);
		return;
	}
	if (e->kind == BF_SEEN_cq_config) {
		const uint32_t i = place(e, e->cq_config.cqn);

		s->cq[i].pe = e->pe;
		s->cq[i].unit = e->unit;
		s->cq[i].cqn = (uint32_t)e->cq_config.cqn;
		s->cq[i].cqes = (uint32_t)e->cq_config.cqes;
		s->cq[i].size = (uint32_t)e->cq_config.cqe_size;
		s->cq[i].collapsed = e->cq_config.collapsed != 0;
		s->cq[i].known = true;
		return;
	}
	if (e->kind == BF_SEEN_wqe_fetch) {
		if (s->suspects && e->queue)
			works(r, e, false, e->queue->number);
		return;
	}
	if (e->kind == BF_SEEN_qp_config) {
		mine.base = e->qp_config.sq;
		mine.bytes = e->qp_config.sq_wqebbs * BF_MLX5_WQEBB;
		mine.number = e->queue->number;
	} else {
		const uint32_t i = place(e, e->cqe.cqn);

		if (s->suspects)
			works(r, e, true, e->cqe.cqn);
		if (!s->cq[i].known || s->cq[i].pe != e->pe || s->cq[i].unit != e->unit || s->cq[i].cqn != e->cqe.cqn)
			return;
		s->cq[i].known = false; /* the first completion is enough */
		mine.cq = true;
		mine.number = e->cqe.cqn;
		mine.base = e->cqe.iova - (s->cq[i].collapsed ? 0 : e->cqe.slot * s->cq[i].size);
		mine.bytes = (uint64_t)s->cq[i].size * (s->cq[i].collapsed ? 1 : s->cq[i].cqes);
	}
	add(r, e, &mine);
}

const struct bf_rule bf_rule_mlx5_ring_overlap = {
	.about = {
		.id = "MLX5-RING-OVERLAP",
		.family = "mlx5",
		.title = "a ring lies in memory that is not its own",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC uses the ring addresses that it is given. It does not check whether they overlap.",
		.wrong = "Rings were carved too close to each other or at the same offset: entries or completions of one queue "
			 "overwrite those of another.",
		.fix = "A send ring takes 64 bytes per WQEBB, behind its receive ring. A completion queue takes 64 "
		       "bytes per entry (a collapsed one 64 bytes in all). Compute offset and size from the same "
		       "numbers.",
		.sources = "mlx5 PRM, Queue Pair Context and Completion Queue Context",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The driver carves the rings out of one allocation, one after the other.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(qp_config, cq_config, wqe_fetch, cqe, region),
	.state_bytes = sizeof(struct state),
	.on = on,
};
