#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* The last poll of a queue that ended unsatisfied. */
struct state {
	uint64_t index, end, va, seen, at_ps, record;
	bool early;
};

static void ended(struct bf_rule_run *r, struct state *s, const struct bf_sdma_rule_queue *q, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_in(q, e->sdma_result.index, e->sdma_result.indirect);
	struct bf_sdma_packet p;

	if (!k || k->kind != BF_SDMA_KIND_POLL || e->sdma_result.verdict != BF_SDMA_DONE)
		return;
	bf_sdma_rule_whole(q, k, &p);
	if (bf_sdma_poll_holds((uint32_t)p.func, e->sdma_result.before, p.reference, p.mask))
		return;
	*s = (struct state){ .index = k->index,
			     .end = k->index + k->dwords * 4ull,
			     .va = k->dst,
			     .seen = e->sdma_result.before,
			     .at_ps = e->time_ps,
			     .record = e->number,
			     .early = true };
	bf_rule_spare(r, BF_SEEN_NONE);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct state *s = bf_rule_queue_state(r, e->queue);
	const struct bf_sdma_rule_begun *k;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_sdma_result) {
		ended(r, s, q, e);
		return;
	}
	k = s->early ? bf_sdma_rule_packet_back(q, 0) : NULL;
	s->early = false;
	if (!k || (k->index == s->end && k->kind == BF_SDMA_KIND_POLL && k->dst == s->va))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, s->index);
	bf_finding_say(f,
		       "the poll at byte %" PRIu64 " of %s ended while the word at 0x%" PRIx64 " was 0x%" PRIx64
		       ", which does not satisfy it, and %s at %" PRIu64 " ran: on this part a poll may return early",
		       s->index, bf_rule_queue_name(r->rules, e->queue), s->va, s->seen, k->name, k->index);
}

const struct bf_rule bf_rule_sdma_poll_early = {
	.about = {
		.id = "SDMA-POLL-EARLY",
		.family = "sdma",
		.title = "a poll returned early and nothing looked again",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "On gfx908 and its relatives (gfx9.0.x but 9.0.10) POLL_REGMEM may end although memory "
"does not hold what it waits for. ROCr submits every poll twice there.",
		.wrong = "The poll ended on a value that does not satisfy it, and the next packet was not the same "
"poll: what depends on the word ran too early.",
		.fix = "On those parts put each POLL_REGMEM into the ring twice.",
		.sources = "ROCm/rocm-systems#1469; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand",
		.example = "run sdma-fence --part gfx908 --limit 10ms --bug poll-once",
		.twin = "run sdma-fence --part gfx908 --limit 10ms",
	},
	.rank = BF_RANK_INDEX - 1,
	.records = BF_SEES(sdma_result, sdma_packet),
	.spares = BF_SEEN_sdma_packet, /* until some poll ends early */
	.on = on,
	.queue_bytes = sizeof(struct state),
};
