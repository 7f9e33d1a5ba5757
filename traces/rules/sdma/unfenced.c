#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

#define RECENT 16u
#define SPANS 32u

/* The last bytes of the queue that the thread has reserved; NULL. */
static const struct bf_sdma_rule_span *own_span(const struct bf_sdma_rule_queue *q, uint32_t actor)
{
	const struct bf_sdma_rule_span *s;

	if (!bf_sdma_rule_reserved_by(q, actor))
		return NULL;
	for (uint64_t back = 0; back < SPANS && (s = bf_sdma_rule_reserve(q, back)) != NULL; back++)
		if (s->actor == actor)
			return s;
	return NULL;
}

/* A store into these bytes by the thread that nobody can see yet; NULL. */
static const struct bf_store *own_late(struct bf_rule_run *r, uint32_t actor, uint64_t va, uint64_t len)
{
	const struct bf_store *late = bf_stores_late(bf_rule_stores(r->rules), va, len);

	return late && late->actor == actor ? late : NULL;
}

/* The write pointer gets what the doorbell says, just before. */
static const struct bf_store *late_pointer(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint64_t value = e->tail_len == 8 ? bf_get_le64(e->tail) : bf_get_le32(e->tail);

	for (uint32_t back = 1; back < RECENT; back++) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r->rules), back);

		if (!s)
			return NULL;
		if (s->actor == e->actor && s->len == 8 && bf_get_le64(s->bytes) == value)
			return own_late(r, e->actor, s->va, s->len);
	}
	return NULL;
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue,
		  const struct bf_sdma_rule_span *s)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const uint64_t ring = q->ring ? q->ring->va : 0;
	const struct bf_store *late = ring ? own_late(r, e->actor, ring + s->from % q->bytes, s->to - s->from) : NULL;
	const bool packets = late != NULL;
	struct bf_finding *f;

	if (!late)
		late = late_pointer(r, e);
	f = late ? bf_rule_find(r, e, queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, s->from);
	bf_finding_since(f, late->issued_ps, late->record);
	bf_finding_watch(r->rules, f, late);
	bf_finding_say(f,
		       "%s rang the doorbell of %s when its store of %s at 0x%" PRIx64
		       " was still in a store buffer: no fence stands between the two",
		       bf_rule_actor(r->rules, e->actor), bf_rule_queue_name(r->rules, queue),
		       packets ? "a packet" : "the write pointer", late->va);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;

	/* The doorbell itself is one of them. */
	if ((e->tail_len != 4 && e->tail_len != 8) || bf_stores_waiting(bf_rule_stores(r->rules), e->actor) < 2)
		return;
	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++) {
		const struct bf_sdma_rule_span *s =
		    queue->family == &bf_rules_sdma ? own_span(bf_sdma_rule_of(queue), e->actor) : NULL;

		if (s)
			judge(r, e, queue, s);
	}
}

const struct bf_rule bf_rule_sdma_unfenced = {
	.about = {
		.id = "SDMA-UNFENCED",
		.family = "sdma",
		.title = "nothing orders the doorbell after the packets and the write pointer",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "The engine fetches the ring when the doorbell arrives. Stores of a weakly ordered processor "
			    "to memory and to a device overtake each other unless a fence stands between.",
		.wrong = "The packets or the write pointer were in a store buffer when the doorbell was stored. They "
			 "came in time in this run. If they do not, the result is SDMA-RING-ORDER.",
		.fix = "A release fence of system scope between the last store into ring and write pointer and the " "doorbell; a fence after the doorbell is too late.",
		.sources = "ROCm/ROCR-Runtime amd_blit_sdma.cpp BlitSdma::UpdateWriteAndDoorbellRegister",
		.example = "run sdma-copy --commands 1 --bug no-fence",
		.twin = "run sdma-copy --commands 1",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(mmio_store),
	.needs = BF_SEES(store, mmio_store, sdma_reserve),
	.on = on,
};
