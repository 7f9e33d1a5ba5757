#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

/* Copies under way that write shared memory, or read it; the oldest are forgotten. */
#define COPIES 64u
struct copy {
	uint64_t number; /* plus one; 0: none */
	uint64_t at_ps, record;
	uint32_t cluster, ranks, shared, bytes, cta, warp;
	bool reads;
};
struct state {
	struct copy copies[COPIES];
	uint32_t next;
};

static struct copy copy_of(const struct bf_seen *e, const struct bf_hopper_rule_block *from)
{
	const struct bf_seen_hopper_bulk *c = &e->hopper_bulk;
	const bool reads = c->kind == BF_BULK_STORE;

	return (struct copy){
		.number = c->copy + 1,
		.at_ps = e->time_ps,
		.record = e->number,
		.cluster = (uint32_t)c->cta - from->rank,
		.ranks = c->ranks && !reads ? (uint32_t)c->ranks : 1u << from->rank % 32,
		.shared = (uint32_t)c->shared & 0xffffff,
		.bytes = (uint32_t)c->bytes,
		.cta = (uint32_t)c->cta,
		.warp = (uint32_t)c->warp - from->first_slot,
		.reads = reads,
	};
}

static bool overlap(const struct copy *a, const struct copy *b)
{
	return a->number && !(a->reads && b->reads) && a->cluster == b->cluster && a->ranks & b->ranks &&
	       a->shared < b->shared + b->bytes && b->shared < a->shared + a->bytes;
}

static void begin(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_hopper_rule_run *run = bf_hopper_rule_run(r);
	struct state *s = r->state;
	struct copy mine;

	if (e->hopper_bulk.kind == BF_BULK_PEER || e->hopper_bulk.cta >= run->nblocks ||
	    !run->blocks[e->hopper_bulk.cta].known)
		return;
	mine = copy_of(e, &run->blocks[e->hopper_bulk.cta]);
	for (uint32_t i = 0; i < COPIES; i++) {
		const struct copy *c = &s->copies[i];
		struct bf_finding *f = overlap(c, &mine) ? bf_rule_find(r, e, NULL) : NULL;

		if (!f)
			continue;
		bf_finding_since(f, c->at_ps, c->record);
		bf_finding_say(f,
			       "warp %" PRIu32 " of block %" PRIu32 " starts a copy %s 0x%" PRIx32 " (%" PRIu32
			       " bytes) of shared memory while one of warp %" PRIu32 " of block %" PRIu32
			       " %s 0x%" PRIx32 " (%" PRIu32 " bytes) is still under way: what comes of it is chance",
			       mine.warp, mine.cta, mine.reads ? "from" : "to", mine.shared, mine.bytes, c->warp,
			       c->cta, c->reads ? "from" : "to", c->shared, c->bytes);
	}
	s->copies[s->next++ % COPIES] = mine;
}

/* A store has no more use for its source once that has been read. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->kind == BF_SEEN_hopper_bulk) {
		begin(r, e);
		return;
	}
	for (uint32_t i = 0; i < COPIES; i++)
		if (s->copies[i].number == e->hopper_bulk_end.copy + 1 &&
		    (s->copies[i].reads || e->hopper_bulk_end.event == BF_HOPPER_BULK_ENDED))
			s->copies[i].number = 0;
}

const struct bf_rule bf_rule_hopper_copy_overlap = {
	.about = {
		.id = "HOPPER-COPY-OVERLAP",
		.family = "hopper",
		.title = "a bulk copy writes shared memory that another one under way uses",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bulk copies run in parallel and end in any order. A barrier counts a copy's bytes, " "wherever they landed.",
		.wrong = "Two stages of a ring overlap, or a stage is filled again before its last copy has ended or "
			 "its result has been read: every barrier completes, and the tile is a mixture.",
		.fix = "Stages lie as far apart as a tile is long, alignment included; a stage is filled again only "
		       "when its empty barrier says so.",
		.sources = "PTX ISA 9.0, cp.async.bulk; NVIDIA/cutlass include/cutlass/pipeline/sm90_pipeline.hpp",
		.example = "run mbarrier-pipeline --bug stages-meet",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(hopper_bulk, hopper_bulk_end),
	.state_bytes = sizeof(struct state),
	.on = on,
};
