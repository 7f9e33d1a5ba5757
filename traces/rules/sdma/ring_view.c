#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

#define KEPT 128u /* stores that are known at least, bf_stores_recent() */

/* The reservation that a thread publishes now; NULL: it is not kept, or is padding. */
static const struct bf_sdma_rule_span *reserved(const struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	const struct bf_sdma_rule_span *s;

	for (uint64_t back = 0; (s = bf_sdma_rule_reserve(q, back)) != NULL; back++)
		if (s->from == e->sdma_publish.from && s->actor == e->actor)
			return s->pad ? NULL : s;
	return NULL;
}

/* What the thread has stored since: into the place at `va`, or, when that is all known and not so, where else first. */
static bool stored_elsewhere(struct bf_rules *r, const struct bf_sdma_rule_span *s, uint64_t va, uint64_t *elsewhere)
{
	const struct bf_store *x;
	uint32_t back;

	*elsewhere = 0;
	for (back = 0; (x = bf_stores_recent(bf_rule_stores(r), back)) != NULL; back++) {
		if (x->record < s->record)
			return *elsewhere != 0;
		if (x->actor != s->actor || x->len < 4)
			continue;
		if (va - x->va < x->len)
			return false;
		*elsewhere = x->va;
	}
	return back < KEPT && *elsewhere; /* all that there ever was */
}

/* Packets wait in the ring that was, and the engine goes on in another one. */
static void on_resume(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_sdma_rule_queue *q)
{
	struct bf_finding *f;

	if (!q->w || q->announced.upto <= q->decoded.upto ||
	    (e->sdma_queue.ring == q->address && e->sdma_queue.bytes == q->bytes))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, q->decoded.upto);
	bf_finding_say(f,
		       "%s was resumed with a ring of %" PRIu64 " bytes at 0x%" PRIx64
		       "; the packets of its bytes %" PRIu64 " to %" PRIu64
		       " were published before and lie in the ring of %" PRIu64 " bytes at 0x%" PRIx64,
		       bf_rule_queue_name(r->rules, e->queue), e->sdma_queue.bytes, e->sdma_queue.ring, q->decoded.upto,
		       q->announced.upto - 1, q->bytes, q->address);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s = e->kind == BF_SEEN_sdma_publish && q->w && q->bytes ? reserved(q, e) : NULL;
	const uint64_t va = s ? q->address + s->from % q->bytes : 0;
	struct bf_finding *f;
	uint64_t elsewhere;

	if (e->kind == BF_SEEN_sdma_queue && e->sdma_queue.event == BF_SDMA_QUEUE_RESUMED)
		on_resume(r, e, q);
	f = s && stored_elsewhere(r->rules, s, va, &elsewhere) ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, s->from);
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_say(f,
		       "%s published byte %" PRIu64 " of %s and stored its packet from 0x%" PRIx64
		       " on; the engine looks for it at 0x%" PRIx64 ", in its ring of %" PRIu64 " bytes at 0x%" PRIx64
		       ": base or size of the ring differ between driver and engine",
		       bf_rule_actor(r->rules, e->actor), s->from, bf_rule_queue_name(r->rules, e->queue), elsewhere,
		       va, q->bytes, q->address);
}

const struct bf_rule bf_rule_sdma_ring_view = {
	.about = {
		.id = "SDMA-RING-VIEW",
		.family = "sdma",
		.title = "driver and engine disagree about where a ring lies, or how large it is",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine has base and size of the ring from the queue's creation, and fetches byte i at base + "
			    "i mod size.",
		.wrong = "The driver's pointer or size comes from other numbers, or from another queue: packets lie where "
			 "the engine does not look, and it executes what lies where it does.",
		.fix = "Take base and size from one place for the creating call and for the writer.",
		.sources = "Linux kfd_ioctl.h struct kfd_ioctl_create_queue_args; docs/hardware/sdma.md#submission-1",
		.test = "tests/traces/test_rules_order.c",
		.why = "The driver takes both from one place.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(sdma_publish, sdma_queue),
	.needs = BF_SEES(sdma_publish, sdma_reserve, sdma_queue, store),
	.on = on,
};
