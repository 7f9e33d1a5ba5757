#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/view.h"
#include "traces/rules/mlx5/mlx5.h"

#define PLACES 256u /* of each table; what shares a place is forgotten */

/*
 * Of drivers that say nothing: words that atomics of block scope changed last, and by whom, and which queue pair a
 * thread has stored an entry of.
 */
struct run {
	struct word {
		uint64_t va;
		uint32_t actor, block;
	} words[PLACES];
	struct {
		uint32_t actor;
		struct bf_rule_queue *queue;
	} threads[PLACES];
	struct met {
		uint64_t va, ps, record;
		uint32_t first, second;
	} met[8];
	uint32_t nmet;
};

struct state {
	uint32_t actor, block, mode;
	bool used;
};

enum { EXCLUSIVE, CTA, GPU };

/* The block of a thread by its name, "pe0.b1.w2.l3"; plus one, 0: none. */
static uint32_t block_of(const struct bf_rules *rules, uint32_t actor)
{
	const char *at = strstr(bf_rule_actor(rules, actor), ".b");

	return at ? (uint32_t)strtoul(at + 2, NULL, 10) + 1 : 0;
}

static void on_atomic(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct run *run = r->state;
	struct word *w = &run->words[e->atomic.va / 4 % PLACES];
	const uint32_t block = block_of(r->rules, e->actor);

	if (!block)
		return;
	if (w->va == e->atomic.va && w->actor != e->actor && w->block != block && run->nmet < BF_ARRAY_LEN(run->met))
		run->met[run->nmet++] = (struct met){
			.va = w->va, .ps = e->time_ps, .record = e->number, .first = w->actor, .second = e->actor
		};
	*w = (struct word){ .va = e->atomic.va, .actor = e->actor, .block = block };
}

static struct bf_rule_queue *posts_to(const struct run *run, uint32_t actor)
{
	return run->threads[actor % PLACES].actor == actor ? run->threads[actor % PLACES].queue : NULL;
}

/* Two blocks that post to one queue pair have met at a word by atomics that end at the block. */
static void end(struct bf_rule_run *r, bool complete)
{
	const struct run *run = r->state;

	(void)complete;
	for (uint32_t i = 0; i < run->nmet; i++) {
		const struct met *m = &run->met[i];
		struct bf_rule_queue *queue = posts_to(run, m->first);
		struct bf_finding *f;

		if (!queue || queue != posts_to(run, m->second) || bf_mlx5_rule_of(queue)->driver_speaks)
			continue;
		f = bf_rule_find(r, NULL, queue);
		if (!f)
			continue;
		f->found.at_ps = m->ps;
		bf_finding_since(f, m->ps, m->record);
		bf_finding_say(f,
			       "%s and %s both post to QP 0x%" PRIx64 " and change the word at 0x%" PRIx64
			       " by atomics of block scope, of two blocks: the mode is cta",
			       bf_rule_actor(r->rules, m->first), bf_rule_actor(r->rules, m->second), queue->number,
			       m->va);
	}
}

static void note_post(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r->rules), e->store.va);
	struct run *run = r->state;

	if (!ring || bf_mlx5_rule_of(ring->queue)->driver_speaks)
		return;
	run->threads[e->actor % PLACES].actor = e->actor;
	run->threads[e->actor % PLACES].queue = ring->queue;
}

static void tell_queue(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	const uint32_t mode = (uint32_t)e->gin_queue.sharing, block = (uint32_t)e->gin_queue.block;
	const bool another = s->used && s->actor != e->actor, far = another && s->block != block;
	const uint32_t narrow = mode < s->mode ? mode : s->mode;
	struct bf_finding *f;

	if ((another && narrow == EXCLUSIVE) || (far && narrow == CTA) || (another && mode != s->mode)) {
		f = bf_rule_find(r, e, e->queue);
		if (f)
			bf_finding_say(f, "%s and %s both use QP 0x%" PRIx64 ", which %s for its own: the mode is %s",
				       bf_rule_actor(r->rules, s->actor), bf_rule_actor(r->rules, e->actor),
				       e->queue->number, narrow == CTA ? "a block takes" : "each takes",
				       narrow == EXCLUSIVE ? "exclusive"
				       : narrow == CTA     ? "cta"
							   : "not the same for both");
	}
	if (!s->used)
		*s = (struct state){ .actor = e->actor, .block = block, .mode = mode, .used = true };
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_store)
		note_post(r, e);
	else if (e->kind == BF_SEEN_gin_queue)
		tell_queue(r, e);
	else if (e->atomic.scope == BF_SCOPE_CTA)
		on_atomic(r, e);
}

const struct bf_rule bf_rule_mlx5_sharing = {
	.about = {
		.id = "MLX5-SHARING-MODE",
		.family = "mlx5",
		.title = "a queue pair is shared by more threads than its calls say",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Plain loads and stores of two threads, and atomics of block scope of two blocks, do not see "
			    "each other: both get the same slots.",
		.wrong = "GPUNetIO's sharing mode is an argument of each call, not a property of the queue pair. A "
			 "mode narrower than the sharers hands out slots twice and loses published ones, without an "
			 "error.",
		.fix = "One mode for all calls on a queue pair: exclusive for one thread, cta for one block, else gpu; or a "
		       "queue pair for each block.",
		.sources = "aws/aws-ofi-nccl#1279; NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_qp.cuh",
		.example = "run gin-put --blocks 2 --messages 1 --size 8 --bug gin-wrong-sharing",
		.twin = "run gin-put --blocks 2 --messages 1 --size 8",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(store, gin_queue, atomic),
	.when = BF_MLX5_TO_ENTRY,
	.whens = 1,
	.state_bytes = sizeof(struct run),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
