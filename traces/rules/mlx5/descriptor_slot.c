#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define WORDS 16u
#define SLOTS 4096u  /* of descriptors that are under way, by hash; of two that share a place the later one is kept */
#define WRITERS 256u /* likewise, threads that are about to store one */
#define QUEUES 512u  /* likewise */
#define PATIENCE_PS (100 * BF_US) /* a proxy that is at work comes round in less, many times over */

/* Where a descriptor lies, and who stores it. */
struct slot {
	uint64_t va, index, at_ps, record;
	struct bf_rule_queue *queue; /* NULL: free */
	uint32_t actor, words;       /* how many of its words were stored */
};

struct state {
	struct slot slot[SLOTS];
	struct {
		uint32_t actor;
		uint64_t index, at_ps, record;
		struct bf_rule_queue *queue;
		struct slot *slot; /* NULL: it has not stored the first word */
	} writer[WRITERS];
	struct {
		struct bf_rule_queue *queue;
		uint64_t asked, taken;
	} count[QUEUES];
};

static uint32_t place(uint64_t key, uint32_t n)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) % n;
}

static uint32_t queue_place(const struct bf_rule_queue *q)
{
	return q->place % QUEUES;
}

static void ask(struct state *s, const struct bf_seen *e)
{
	const uint32_t w = e->actor % WRITERS, q = queue_place(e->queue);

	s->writer[w].actor = e->actor;
	s->writer[w].index = e->gin_descriptor.index;
	s->writer[w].at_ps = e->time_ps;
	s->writer[w].record = e->number;
	s->writer[w].queue = e->queue;
	s->writer[w].slot = NULL;
	if (s->count[q].queue != e->queue) {
		s->count[q].queue = e->queue;
		s->count[q].asked = s->count[q].taken = 0;
	}
	s->count[q].asked++;
}

static void overwritten(struct bf_rule_run *r, const struct bf_seen *e, const struct slot *x, uint64_t index)
{
	struct bf_finding *f = bf_rule_find(r, e, x->queue);

	if (!f)
		return;
	bf_finding_since(f, x->at_ps, x->record);
	bf_finding_index(f, x->index);
	bf_finding_say(f,
		       "%s stored descriptor %" PRIu64 " at 0x%" PRIx64 ", over descriptor %" PRIu64 " of QP 0x%" PRIx64
		       " on PE %" PRIu32
		       ", which the proxy had not taken: nobody waited for room, or two queues lie in "
		       "one place",
		       bf_rule_actor(r->rules, e->actor), index, e->store.va, x->index, x->queue->number, x->queue->pe);
}

/* The first word says where the slot is; the others follow it. */
static void note_store(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const uint32_t w = e->actor % WRITERS;
	struct slot *x = s->writer[w].slot;

	if (!s->writer[w].queue || s->writer[w].actor != e->actor || e->store.len != 8)
		return;
	if (x) {
		if (e->store.va - x->va < 8ull * WORDS && ++x->words == WORDS)
			s->writer[w].queue = NULL;
		return;
	}
	x = &s->slot[place(e->store.va, SLOTS)];
	if (x->queue && x->va == e->store.va && (x->queue != s->writer[w].queue || x->index != s->writer[w].index))
		overwritten(r, e, x, s->writer[w].index);
	*x = (struct slot){ .va = e->store.va,
			    .index = s->writer[w].index,
			    .at_ps = s->writer[w].at_ps,
			    .record = s->writer[w].record,
			    .queue = s->writer[w].queue,
			    .actor = e->actor,
			    .words = 1 };
	s->writer[w].slot = x;
}

/* Words that the thread has stored and nobody could see, or has not stored yet. */
static uint32_t missing(const struct bf_stores *stores, const struct slot *x)
{
	uint32_t n = x->words < WORDS ? WORDS - x->words : 0;

	for (uint32_t i = 0; i < WORDS; i++) {
		const struct bf_store *late = bf_stores_late(stores, x->va + 8ull * i, 8);

		n += late && late->actor == x->actor; /* the proxy's own clear the slot */
	}
	return n;
}

static void take(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const uint32_t q = queue_place(e->queue);
	struct slot *x = NULL;
	struct bf_finding *f;
	uint32_t lacks;

	for (uint32_t i = 0; i < SLOTS && !x; i++)
		if (s->slot[i].queue == e->queue && s->slot[i].index == e->gin_taken.index)
			x = &s->slot[i];
	if (s->count[q].queue == e->queue)
		s->count[q].taken++;
	lacks = x ? missing(bf_rule_stores(r->rules), x) : 0;
	if (x)
		x->queue = NULL;
	else if (s->count[q].queue == e->queue && e->gin_taken.index < s->count[q].asked)
		return;
	f = lacks || !x ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, e->gin_taken.index);
	if (x) {
		bf_finding_since(f, x->at_ps, x->record);
		bf_finding_say(f,
			       "%s took descriptor %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32 " when %" PRIu32
			       " of its %u words were not there: each word has a flag of its own",
			       bf_rule_actor(r->rules, e->actor), e->gin_taken.index, e->queue->number, e->queue->pe,
			       lacks, WORDS);
	} else {
		bf_finding_say(
		    f,
		    "%s took descriptor %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32
		    ", which nobody had asked for: the slot held the words of an earlier one, which were not "
		    "cleared",
		    bf_rule_actor(r->rules, e->actor), e->gin_taken.index, e->queue->number, e->queue->pe);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	switch (e->kind) {
	case BF_SEEN_gin_descriptor:
		if (e->queue) {
			ask(r->state, e);
			bf_rule_spare(r, BF_SEEN_NONE);
		}
		break;
	case BF_SEEN_gin_taken:
		if (e->queue)
			take(r, e);
		break;
	default:
		note_store(r, e);
		break;
	}
}

/* It was asked for long ago, and the proxy does not find it. */
static void end(struct bf_rule_run *r, bool complete)
{
	const struct state *s = r->state;

	for (uint32_t i = 0; complete && i < SLOTS; i++) {
		const struct slot *x = &s->slot[i];
		const uint32_t q = x->queue ? queue_place(x->queue) : 0;
		struct bf_finding *f;

		if (!x->queue || s->count[q].queue != x->queue || x->index != s->count[q].taken ||
		    bf_rule_now(r->rules) - x->at_ps < (x->words < WORDS ? PATIENCE_PS / 10 : PATIENCE_PS))
			continue;
		f = bf_rule_find(r, NULL, x->queue);
		if (!f)
			continue;
		f->found.at_ps = x->at_ps;
		bf_finding_since(f, x->at_ps, x->record);
		bf_finding_index(f, x->index);
		bf_finding_say(f,
			       "%s stored %" PRIu32 " of the %u words of descriptor %" PRIu64 " of QP 0x%" PRIx64
			       " on PE %" PRIu32 " from 0x%" PRIx64
			       " on, and the proxy, which has taken those below %" PRIu64 ", never took it%s",
			       bf_rule_actor(r->rules, x->actor), x->words, WORDS, x->index, x->queue->number,
			       x->queue->pe, x->va, s->count[q].taken,
			       x->words < WORDS ? ": it waits for the rest" : ": it looks elsewhere, or has ended");
	}
}

const struct bf_rule bf_rule_mlx5_descriptor_slot = {
	.about = {
		.id = "MLX5-DESCRIPTOR-SLOT",
		.family = "mlx5",
		.title = "a GPU and its proxy disagree about a slot in their queue of requests",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "No hardware guards a queue of requests in memory. A slot belongs to the GPU from the time "
			    "that the proxy has cleared it until its words are stored, and to the proxy otherwise.",
		.wrong = "A request was stored over one that was not taken, in another slot than the proxy looks at, "
			 "or only in part. Or the proxy took what was not there.",
		.fix = "Number requests by an atomic add, wait while number - taken reaches the size, compute the slot as "
		       "number modulo size on both sides, take a word when its own flag is set, and clear all words.",
		.sources = "NVIDIA/nccl src/include/nccl_device/gin/proxy, GFD queue; docs/gin.md",
		.example = "run gin-put --handler gfd --messages 20 --bug gin-gfd-flag",
		.twin = "run gin-put --handler gfd --messages 20",
	},
	.rank = BF_RANK_ENTRY - 1,
	.records = BF_SEES(gin_descriptor, gin_taken, store),
	.spares = BF_SEEN_store, /* until there are requests at all */
	.needs = BF_SEES(store),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
