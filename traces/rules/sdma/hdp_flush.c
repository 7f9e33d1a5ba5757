#include <inttypes.h>

#include <string.h>

#include "traces/rules/sdma/sdma.h"

#define STORES 64u

struct state {
	struct wrote {
		uint64_t va, len, at_ps, record;
		uint32_t actor, pe;
	} stores[STORES]; /* of processors into GPU memory, the last ones */
	uint64_t n;
};

static void stored(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (bf_sdma_rule_in_vram(bf_sdma_rule_run(r), e->store.va) && strstr(bf_rule_actor(r->rules, e->actor), ".cpu"))
		s->stores[s->n++ % STORES] =
		    (struct wrote){ e->store.va, e->store.len, e->time_ps, e->number, e->actor, e->pe };
}

static const struct wrote *read_by(const struct state *s, const struct bf_sdma_rule_piece *p)
{
	for (uint64_t i = 0; i < s->n && i < STORES; i++) {
		const struct wrote *w = &s->stores[(s->n - 1 - i) % STORES];

		if (w->at_ps < p->at_ps && w->va < p->rec.src + bf_sdma_rule_extent(p->rec.src_pitch, p) &&
		    p->rec.src < w->va + w->len)
			return w;
	}
	return NULL;
}

static void copied(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_run *run = bf_sdma_rule_run(r);
	const struct bf_sdma_rule_piece *p;
	struct bf_finding *f;

	for (uint64_t i = 0; run->copied && (p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), i)) != NULL; i++) {
		const struct wrote *w =
		    p->rec.src && bf_sdma_rule_packet_of(p) == run->copied ? read_by(r->state, p) : NULL;

		if (p->at_ps < run->copied->at_ps)
			return;
		f = w ? bf_rule_find(r, e, e->queue) : NULL;
		if (!f)
			continue;
		bf_finding_since(f, w->at_ps, w->record);
		bf_finding_index(f, run->copied->index);
		bf_finding_say(f,
			       "%s at byte %" PRIu64 " of %s read 0x%" PRIx64
			       ", GPU memory where %s had stored %s before, and no HDP flush came between",
			       run->copied->name, run->copied->index, bf_rule_queue_name(r->rules, e->queue), w->va,
			       bf_rule_actor(r->rules, w->actor), bf_span_of(p->at_ps - w->at_ps).text);
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k;

	if (e->kind == BF_SEEN_store) {
		stored(r, e);
	} else if (e->kind == BF_SEEN_sdma_copied) {
		/* Nobody says which parts of v5 are gfx10.1. */
		if (((struct state *)r->state)->n && bf_sdma_rule_of(e->queue)->dialect.gen != BF_SDMA_V5)
			copied(r, e);
	} else if ((k = bf_sdma_rule_packet_back(bf_sdma_rule_of(e->queue), 0)) && k->kind == BF_SDMA_KIND_HDP_FLUSH) {
		((struct state *)r->state)->n = 0;
	}
}

const struct bf_rule bf_rule_sdma_hdp_flush = {
	.about = {
		.id = "SDMA-HDP-FLUSH",
		.family = "sdma",
		.title = "a copy reads GPU memory that a processor wrote, without an HDP flush",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Stores of a processor into GPU memory pass the host data path, which holds them back "
"until it is flushed. ROCr flushes it by six fixed dwords before each body, except on "
"gfx10.1 and to peers over xGMI.",
		.wrong = "Between the store and the copy nobody flushed: the copy may read what was there before. This "
"model has no such buffer, so the run looks right.",
		.fix = "The HDP flush packet (8, 0, 0x80000000, 0, 0, 0) before the body, after the polls of what it "
"depends on.",
		.sources = "docs/hardware/sdma.md#other-packets-12; ROCR-Runtime amd_blit_sdma.cpp (hdp_flush_cmd); ROCm/rocm-systems KFDMemoryTest.DeviceHdpFlush",
		.example = "run sdma-fence --place gpu --limit 10ms --bug no-hdp-flush",
		.twin = "run sdma-fence --place gpu --limit 10ms",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(store, sdma_packet, sdma_copied),
	.when = BF_SDMA_RULE_HAS_VRAM,
	.whens = 3,
	.on = on,
	.state_bytes = sizeof(struct state),
};
