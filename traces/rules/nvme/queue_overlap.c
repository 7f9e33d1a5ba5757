#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"
#include "traces/rules/regions.h"

#define QUEUES 1024u

struct ring {
	uint64_t base, bytes;
	uint32_t pe, unit, qid;
	bool cq, live;
};

struct state {
	struct ring ring[QUEUES];
	uint32_t n;
	struct bf_rule_regions regions;
};

/* Memory ends before the queue does. */
static void on_end(struct bf_rule_run *r, const struct bf_seen *e, const struct ring *mine,
		   const struct bf_rule_region *x)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (f)
		bf_finding_say(f,
			       "%s %" PRIu32 " was created at 0x%" PRIx64 " with %" PRIu64
			       " bytes, and its memory (\"%s\") ends %" PRIu64 " bytes behind that address",
			       mine->cq ? "CQ" : "SQ", mine->qid, mine->base, mine->bytes, x->name,
			       x->end - mine->base);
}

static struct ring *place_of(struct state *s, const struct bf_seen *e)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct ring *x = &s->ring[i];

		if (x->pe == e->pe && x->unit == e->unit && x->qid == e->nvme_queue.qid && x->cq == e->nvme_queue.queue)
			return x;
	}
	return s->n < QUEUES ? &s->ring[s->n++] : NULL;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool cq = e->nvme_queue.queue;
	struct state *s = r->state;
	const struct bf_rule_region *left;
	struct bf_finding *f;
	struct ring *mine;

	if (e->kind == BF_SEEN_region) {
		bf_rule_regions_note(&s->regions, e);
		return;
	}
	mine = place_of(s, e);
	if (!mine)
		return;
	*mine = (struct ring){ .base = e->nvme_queue.base,
			       .bytes = e->nvme_queue.size * (cq ? 16u : 64u),
			       .pe = e->pe,
			       .unit = e->unit,
			       .qid = (uint32_t)e->nvme_queue.qid,
			       .cq = cq,
			       /* One of several pages lies wherever they do. */
			       .live = e->nvme_queue.what == BF_NVME_QUEUE_CREATED && e->nvme_queue.flags & 1 };
	left = mine->live ? bf_rule_regions_left(&s->regions, mine->base, mine->bytes) : NULL;
	if (left)
		on_end(r, e, mine, left);
	for (uint32_t i = 0; mine->live && i < s->n; i++) {
		const struct ring *x = &s->ring[i];

		if (x == mine || !x->live || x->pe != mine->pe || x->base >= mine->base + mine->bytes ||
		    mine->base >= x->base + x->bytes)
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (f)
			bf_finding_say(f,
				       "%s %" PRIu32 " was created at 0x%" PRIx64 " with %" PRIu64
				       " bytes, which overlap %s %" PRIu32 " at 0x%" PRIx64 " with %" PRIu64 " bytes",
				       cq ? "CQ" : "SQ", mine->qid, mine->base, mine->bytes, x->cq ? "CQ" : "SQ",
				       x->qid, x->base, x->bytes);
	}
}

const struct bf_rule bf_rule_nvme_queue_overlap = {
	.about = {
		.id = "NVME-QUEUE-OVERLAP",
		.family = "nvme",
		.title = "a queue lies in memory that is not its own",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller uses the ring addresses that it is given. It does not check whether they "
			    "overlap.",
		.wrong = "Rings were carved too close to each other, or at the same address: completions overwrite commands, or "
			 "the commands and completions of another queue; or a ring is longer than the memory that was allocated.",
		.fix = "A submission queue takes 64 bytes an entry, a completion queue 16, each rounded up to a page.",
		.sources = "NVM Express Base 2.0, 5.4 and 5.5",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The driver carves the rings out of one allocation, one after the other.",
	},
	.rank = BF_RANK_SET_UP + 6, /* wrong sizes make queues overlap, too */
	.records = BF_SEES(nvme_queue, region),
	.state_bytes = sizeof(struct state),
	.on = on,
};
