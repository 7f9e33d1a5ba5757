#include <inttypes.h>
#include <string.h>

#include "sim/mem.h"
#include "traces/rules/mlx5/cqs.h"

#define THREADS 4096u

/*
 * Memory that completions were written to. Of CQs and threads that share a place nothing is said of what was taken:
 * what is known of one is forgotten when the other comes.
 */
struct area {
	uint64_t from, to;
	uint32_t pe, cqn;
	bool shared;
	struct bf_rule_queue *queue;
};

/* By number. */
struct thread {
	uint32_t actor;
	bool used, shared;
	bool works;        /* it has stored or fenced itself: a warp that waits for its lanes has not */
	uint64_t lines[4]; /* of its last loads that are recorded, plus 1; the last one first */
	uint64_t polled;   /* the line of its last load that is recorded, which weak ones are not; plus 1 */
	uint64_t va, at_ps, record, times; /* where it waited without having polled there */
};

struct state {
	struct area area[BF_MLX5_CQS]; /* by hash */
	struct thread thread[THREADS];
	bool loads; /* the stream has loads at all */
};

static void note_cqe(struct state *s, const struct bf_seen *e)
{
	struct area *a = &s->area[bf_mlx5_rule_cq_place(e->pe, e->unit, e->cqe.cqn)];

	if (!a->queue || a->pe != e->pe || a->cqn != e->cqe.cqn)
		*a = (struct area){ e->cqe.iova,          e->cqe.iova,           e->pe,
				    (uint32_t)e->cqe.cqn, a->shared || a->queue, e->queue };
	if (e->cqe.iova < a->from)
		a->from = e->cqe.iova;
	if (e->cqe.iova + BF_LINE > a->to)
		a->to = e->cqe.iova + BF_LINE;
}

/* Waiting comes right after the load that found nothing. */
static void note_wait(struct thread *t, const struct bf_seen *e)
{
	if (e->agent_wait.lines != 1 || !e->agent_wait.va || t->polled == e->agent_wait.va / BF_LINE + 1)
		return;
	t->times++;
	t->va = e->agent_wait.va;
	t->at_ps = e->time_ps;
	t->record = e->number;
}

static void note_load(struct thread *t, uint64_t va)
{
	const uint64_t line = va / BF_LINE + 1;

	t->polled = line;
	if (t->lines[0] == line)
		return;
	memmove(t->lines + 1, t->lines, sizeof(t->lines) - sizeof(t->lines[0]));
	t->lines[0] = line;
}

/* A driver says that it takes completions: then it has just looked at them. */
static void took(struct bf_rule_run *r, const struct thread *t, const struct bf_seen *e)
{
	const struct state *s = r->state;
	const uint32_t cqn = bf_mlx5_rule_of(e->queue)->send_cqn;
	const struct area *a = &s->area[bf_mlx5_rule_cq_place(e->pe, e->queue->unit, cqn)];
	struct bf_finding *f;

	if (t->shared || a->shared || !s->loads || !a->queue || a->cqn != cqn || a->pe != e->pe ||
	    strstr(bf_rule_actor(r->rules, e->actor), ".cpu"))
		return;
	for (uint32_t i = 0; i < BF_ARRAY_LEN(t->lines); i++)
		if (t->lines[i] && (t->lines[i] - 1) * BF_LINE >= a->from / BF_LINE * BF_LINE &&
		    (t->lines[i] - 1) * BF_LINE < a->to)
			return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "%s takes entries of QP 0x%" PRIx64 " below %" PRIu64
			       " for complete, and has looked at CQ 0x%" PRIx32
			       " by weak loads alone: a copy in its cache may answer them forever, and nothing keeps "
			       "later loads after them",
			       bf_rule_actor(r->rules, e->actor), e->queue->number, e->ibgda_poll.done, cqn);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct thread *t;

	if (e->kind == BF_SEEN_cqe) {
		note_cqe(s, e);
		return;
	}
	t = &s->thread[e->actor % THREADS];
	if (t->actor != e->actor)
		*t = (struct thread){ .actor = e->actor, .shared = t->shared || t->used, .used = true };
	switch (e->kind) {
	case BF_SEEN_load:
		s->loads = true;
		note_load(t, e->load.va);
		break;
	case BF_SEEN_atomic:
		t->polled = e->atomic.va / BF_LINE + 1;
		break;
	case BF_SEEN_agent_wait:
		note_wait(t, e);
		break;
	case BF_SEEN_ibgda_poll:
		took(r, t, e);
		break;
	default:
		t->works = true;
		break;
	}
}

static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;

	(void)complete;
	for (uint32_t i = 0; i < THREADS; i++) {
		const struct thread *t = &s->thread[i];
		struct bf_finding *f;

		/* A processor has no stale copies; what its compiler makes of a plain load no record shows. */
		if (t->shared || !t->va || !t->works || strstr(bf_rule_actor(r->rules, t->actor), ".cpu"))
			continue;
		for (uint32_t k = 0; k < BF_MLX5_CQS; k++) {
			const struct area *a = &s->area[k];

			f = a->queue && t->va >= a->from && t->va < a->to ? bf_rule_find(r, NULL, a->queue) : NULL;
			if (!f)
				continue;
			f->found.at_ps = t->at_ps;
			bf_finding_since(f, t->at_ps, t->record);
			bf_finding_say(
			    f,
			    "%s waits for a completion of CQ 0x%" PRIx32 " at 0x%" PRIx64
			    " and looks there by weak loads alone: a copy in its cache may answer them forever, "
			    "and nothing keeps later loads after them",
			    bf_rule_actor(r->rules, t->actor), a->cqn, t->va);
		}
	}
}

const struct bf_rule bf_rule_mlx5_weak_poll = {
	.about = {
		.id = "MLX5-WEAK-POLL",
		.family = "mlx5",
		.title = "completions are polled with weak loads",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A GPU's first-level cache is not coherent: a weak load may be served from it however often it is "
			    "repeated, and the compiler may take it out of the loop. Loads after a weak one may be older "
			    "than it.",
		.wrong = "The thread may poll an old copy forever, or take the completion and then read data from before "
			 "it. That it did not happen in this run is luck.",
		.fix = "Poll with an acquiring load of system scope (ld.acquire.sys, cuda::atomic_ref::load), or with volatile "
		       "or relaxed loads and a fence after the one that found the completion.",
		.sources = "PTX ISA, Memory Consistency Model; NVIDIA/nvshmem ibgda_device.cuh ibgda_poll_cq; "
			   "docs/hardware/gpu.md#scopes-4",
		.example = "run ibgda-put --bug weak-poll",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_COMPLETION + 2,
	.records = BF_SEES(cqe, load, atomic, agent_wait, mmio_store, fence, ibgda_poll),
	.needs = BF_SEES(agent_wait, cqe, store),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
