#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Which packet a piece belongs to is known when its copy is done. */
struct state {
	struct bf_store late;
	uint64_t record, read_ps;
	bool set, told;
};

static void note(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_piece *p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), 0);
	const struct bf_store *late = NULL;
	struct state *s = r->state;

	if (p && p->rec.src && !s->set)
		late = bf_stores_late(bf_rule_stores(r->rules), p->rec.src, bf_sdma_rule_extent(p->rec.src_pitch, p));
	if (late)
		*s = (struct state){ .late = *late, .record = e->number, .read_ps = e->time_ps, .set = true };
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	const struct bf_sdma_rule_piece *p;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_sdma_piece) {
		note(r, e);
		return;
	}
	for (uint64_t back = 0; s->set && !s->told && (p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), back)) != NULL;
	     back++) {
		const struct bf_sdma_rule_begun *k = p->record == s->record ? bf_sdma_rule_packet_of(p) : NULL;

		if (!k)
			continue;
		s->told = true;
		f = bf_rule_find(r, e, p->queue);
		if (!f)
			return;
		f->found.at_ps = s->read_ps;
		bf_finding_watch(r->rules, f, &s->late);
		bf_finding_index(f, k->index);
		f->n[0] = s->read_ps;
		bf_finding_say(f, "%s at byte %" PRIu64 " of %s", k->name, k->index,
			       bf_rule_queue_name(r->rules, p->queue));
	}
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	bf_finding_say(f,
		       " read 0x%" PRIx64
		       " before a store there by %s was visible, %s later: no fence stands between the data "
		       "and the doorbell",
		       f->late.va, bf_rule_actor(r->rules, f->late.actor), bf_store_lateness(&f->late, f->n[0]).text);
}

const struct bf_rule bf_rule_sdma_data_order = {
	.about = {
		.id = "SDMA-DATA-ORDER",
		.family = "sdma",
		.title = "a copy read data before a thread's stores were visible",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A copy reads memory past the buffers of the threads that wrote it.",
		.wrong = "The data was still in a store buffer when the engine read it: old bytes were copied.",
		.fix = "A release fence of system scope between the data and the doorbell.",
		.sources = "docs/hardware/sdma.md#submission-1; ROCR-Runtime amd_blit_sdma.cpp",
		.example = "run sdma-fence --ordering adversarial --limit 10ms --bug weak-data",
		.twin = "run sdma-fence --ordering adversarial --limit 10ms",
	},
	.rank = BF_RANK_INDEX + 3,
	.records = BF_SEES(sdma_piece, sdma_copied),
	.on = on,
	.state_bytes = sizeof(struct state),
	.tell = tell,
};
