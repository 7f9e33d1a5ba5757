#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

#define FEWEST 8u

struct state {
	uint64_t src, dst, count, src_step, dst_step, first, rows;
	uint64_t packets; /* of the queue, the last copy included */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_back(q, 0);
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	if (!k)
		return;
	if (q->w->npackets != s->packets + 1 || k->broadcast)
		s->rows = 0;
	s->packets = q->w->npackets;
	if (k->broadcast)
		return;
	if (s->rows && k->count == s->count && k->src - s->src > k->count && k->dst - s->dst > k->count &&
	    (s->rows == 1 || (k->src - s->src == s->src_step && k->dst - s->dst == s->dst_step)) &&
	    (k->src - s->src != k->count + 1 || k->dst - s->dst != k->count + 1)) {
		s->src_step = k->src - s->src;
		s->dst_step = k->dst - s->dst;
		s->rows++;
	} else {
		s->first = k->index;
		s->rows = 1;
	}
	s->src = k->src;
	s->dst = k->dst;
	s->count = k->count;
	f = s->rows == FEWEST && bf_sdma_rule_reserve_of(q, s->first) == bf_sdma_rule_reserve_of(q, k->index)
		? bf_rule_find(r, e, e->queue)
		: NULL;
	if (!f)
		return;
	bf_finding_index(f, s->first);
	bf_finding_say(f,
		       "%u copies of %" PRIu64 " bytes one after the other from byte %" PRIu64 " of %s on, %" PRIu64
		       " and %" PRIu64 " bytes apart: one sub-window copy does that",
		       FEWEST, s->count + 1, s->first, bf_rule_queue_name(r->rules, e->queue), s->src_step,
		       s->dst_step);
}

const struct bf_rule bf_rule_sdma_row_copies = {
	.about = {
		.id = "SDMA-ROW-COPIES",
		.family = "sdma",
		.title = "a rectangle is copied row by row",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A linear copy costs a packet, a start and an end; a sub-window copy costs them once for "
"all rows.",
		.wrong = "Many copies of one length at equal distances: correct, but about 60 times slower than one " "sub-window copy.",
		.fix = "One COPY_RECT; where a pitch is not a multiple of 4, pad the surface.",
		.sources = "ROCm/rocm-systems#5646, #6910; ROCm/clr#277, rocblit.cpp copyBufferRect",
		.example = "run sdma-memcpy3d",
		.twin = "run sdma-tiles",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_COPY,
	.whens = 1,
	.on = on,
	.queue_bytes = sizeof(struct state),
};
