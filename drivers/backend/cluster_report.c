/*
 * The report of a run that failed: each barrier that somebody waits for, what its phase lacks, who should bring it and
 * where they are. The same standing goes into records, from which the rules (traces/rules/hopper*.c) name the cause.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"
#include "traces/records/cluster.h"

struct out {
	char *buf;
	size_t cap, len;
};

static void BF_PRINTF(2, 3) add(struct out *o, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (o->len >= o->cap)
		return;
	va_start(ap, fmt);
	n = vsnprintf(o->buf + o->len, o->cap - o->len, fmt, ap);
	va_end(ap);
	o->len += n > 0 ? (size_t)n : 0;
}

/* What a warp is at: a wait of one of its lanes, a meeting, or its end. */
static void add_warp(struct out *o, const struct bf_warp_of *w)
{
	char name[64];

	if (w->exited == BF_FULL_WARP) {
		add(o, "it has ended");
		return;
	}
	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_cluster_lane *l = &w->lane[i];

		if (!l->waits)
			continue;
		add(o, "it waits for %s",
		    bf_watch_name(bf_cta_named(w->cta, l->wait_bar), l->wait_bar, name, sizeof(name)));
		return;
	}
	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_cluster_lane *l = &w->lane[i];

		if (l->done || !bf_lane_waits_for(l))
			continue;
		add(o, "it waits for %s", l->met ? "the others at a block or cluster barrier" : bf_lane_waits_for(l));
		return;
	}
	add(o, "it runs");
}

/* Those whose arrivals the phase lacks. */
static void add_missing(struct out *o, struct bf_cta_of *cta, const struct bf_watched *w, uint32_t phases)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;

	for (uint32_t rank = 0; rank < g->ctas; rank++)
		for (uint32_t warp = 0; warp < g->warps && warp < 32; warp++) {
			const uint32_t made = w->arrived[rank * g->warps + warp], due = w->label.each * (phases + 1);

			if (!(w->label.ranks >> rank & 1) || !(w->label.warps >> warp & 1) || made >= due)
				continue;
			add(o,
			    "    %s, warp %" PRIu32 " of block %" PRIu32 ", has arrived %" PRIu32 " of %" PRIu32
			    " times; ",
			    w->label.who, warp, cta->cluster->cta[rank].block, made, due);
			add_warp(o, &cta->cluster->cta[rank].warp[warp]);
			add(o, "\n");
		}
}

static void add_waiters(struct out *o, const struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	uint64_t since = UINT64_MAX;
	uint32_t n = 0, parity = 0;

	for (uint32_t warp = 0; warp < g->warps; warp++)
		for (uint32_t i = 0; i < BF_LANES; i++) {
			const struct bf_cluster_lane *l = &cta->lane[warp * BF_LANES + i];

			if (!l->waits || bf_shared_offset(l->wait_bar) != offset)
				continue;
			add(o, "%s%" PRIu32, n++ ? ", " : "; waits: warp ", warp);
			parity = l->wait_parity;
			since = l->wait_since_ps < since ? l->wait_since_ps : since;
			break;
		}
	if (n)
		add(o, " (for the phase of parity %" PRIu32 ", since %" PRIu64 ".%03" PRIu64 " us)", parity,
		    (uint64_t)(since / BF_US), (uint64_t)(since % BF_US / BF_NS));
	add(o, "\n");
}

static void add_barrier(struct out *o, struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_watched *w = bf_watch_of(cta, offset);
	const uint64_t word = bf_watch_word(cta, offset);
	const uint32_t phases = bf_watch_phases(cta, offset), pending = bf_mbar_pending(word);
	char name[64];

	add(o,
	    "%s, phase %" PRIu32 " (parity %" PRIu32 "): %" PRIu32 " of %" PRIu32 " arrivals and %" PRId32
	    " bytes missing",
	    bf_watch_name(cta, offset, name, sizeof(name)), phases, bf_mbar_phase(word), pending,
	    bf_mbar_expected(word), bf_mbar_tx(word));
	add_waiters(o, cta, offset);
	if (!w || !w->labelled || !w->arrived)
		return;
	if (pending)
		add_missing(o, cta, w, phases);
	if (bf_mbar_tx(word))
		add(o, "    %" PRIu64 " bytes were expected since init and copies bring %" PRIu64 "\n", w->armed,
		    w->brought);
}

/* Whether a lane of the block waits for this barrier. */
static bool awaited(const struct bf_cta_of *cta, uint32_t offset)
{
	for (uint32_t i = 0; i < cta->cluster->grid->opts.warps * BF_LANES; i++)
		if (cta->lane[i].waits && bf_shared_offset(cta->lane[i].wait_bar) == offset)
			return true;
	return false;
}

static void add_awaited(struct out *o, const struct bf_sim_grid *g)
{
	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++)
			for (uint32_t i = 0; i < BF_WATCH_BARRIERS && g->cluster[c].cta[r].model; i++)
				if (awaited(&g->cluster[c].cta[r], 8 * i))
					add_barrier(o, &g->cluster[c].cta[r], 8 * i);
}

/* ---- records ---- */

static void record_standing(struct bf_sim *sim, const struct bf_warp_of *w)
{
	struct bf_rec_hopper_standing r = { .sm = w->cta->model ? bf_hopper_cta_sm(w->cta->model) : UINT32_MAX,
					    .block = w->cta->block,
					    .rank = w->cta->rank,
					    .warp = w->index,
					    .slot = w->cta->model ? bf_hopper_cta_slot(w->cta->model, w->index) : 0,
					    .ended = w->exited };

	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_cluster_lane *l = &w->lane[i];

		r.meets |= (uint32_t)(l->met || (!l->done && !l->waits && bf_lane_waits_for(l))) << i;
		if (!l->waits)
			continue;
		if (!r.waits) {
			r.address = bf_shared_offset(l->wait_bar);
			r.parity = l->wait_parity;
			r.waited_ps = l->wait_since_ps;
		}
		r.waits |= (uint32_t)(bf_shared_offset(l->wait_bar) == r.address) << i;
	}
	BF_EMIT_MADE(sim, w->lane[0].thread.agent->actor, hopper_standing, r, NULL, 0);
}

static void record_standings(struct bf_sim *sim, const struct bf_sim_grid *g)
{
	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++)
			for (uint32_t i = 0; i < g->opts.warps; i++)
				record_standing(sim, &g->cluster[c].cta[r].warp[i]);
}

void bf_watch_report(struct bf_cluster_world *w, struct bf_cluster_result *out)
{
	struct out o = { .buf = out->report, .cap = sizeof(out->report) };

	if (out->end == BF_CLUSTER_DONE)
		return;
	if (bf_probe(w->sim, BF_CLASS_AGENT))
		record_standings(w->sim, w->grid);
	if (out->end != BF_CLUSTER_FAULT) {
		add_awaited(&o, w->grid);
		if (o.len == 0)
			bf_agents_describe(w->sim, o.buf, o.cap);
		return;
	}
	if (!bf_hopper_fault(w->gpu))
		add(&o, "%s\n", w->sim->error.text);
	else if (bf_bulk_fault(w->bulk) != BF_BULK_OK)
		add(&o, "a bulk copy was refused: %s\n", bf_bulk_fault_name(bf_bulk_fault(w->bulk)));
	if (o.len < o.cap)
		bf_hopper_describe(w->gpu, o.buf + o.len, o.cap - o.len);
}
