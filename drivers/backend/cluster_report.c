/*
 * The report of a run that failed: each barrier that somebody waits for, what its phase lacks, who should bring it and
 * where they are; and what is likely wrong, if nothing was found on the way.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"

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
		const struct bf_lane *l = &w->lane[i];

		if (!l->waits)
			continue;
		add(o, "it waits for %s",
		    bf_watch_name(bf_cta_named(w->cta, l->wait_bar), l->wait_bar, name, sizeof(name)));
		return;
	}
	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_lane *l = &w->lane[i];

		if (l->done || !l->thread.agent->waits_for)
			continue;
		add(o, "it waits for %s",
		    l->met ? "the others at a block or cluster barrier" : l->thread.agent->waits_for);
		return;
	}
	add(o, "it runs");
}

/* Those whose arrivals the phase lacks. Returns how many arrivals are theirs. */
static uint32_t add_missing(struct out *o, struct bf_cta_of *cta, const struct bf_watched *w, uint32_t phases)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	uint32_t lacking = 0;

	for (uint32_t rank = 0; rank < g->ctas; rank++)
		for (uint32_t warp = 0; warp < g->warps && warp < 32; warp++) {
			const uint32_t made = w->arrived[rank * g->warps + warp], due = w->label.each * (phases + 1);

			if (!(w->label.ranks >> rank & 1) || !(w->label.warps >> warp & 1) || made >= due)
				continue;
			lacking += due - made;
			add(o,
			    "    %s, warp %" PRIu32 " of block %" PRIu32 ", has arrived %" PRIu32 " of %" PRIu32
			    " times; ",
			    w->label.who, warp, cta->cluster->cta[rank].block, made, due);
			add_warp(o, &cta->cluster->cta[rank].warp[warp]);
			add(o, "\n");
		}
	return lacking;
}

/* What bytes say: those that were expected against those that copies bring. */
static void add_bytes(struct out *o, struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t bar,
		      const struct bf_watched *w, uint64_t word)
{
	char name[64];

	if (!bf_mbar_tx(word))
		return;
	add(o, "    %" PRIu64 " bytes were expected since init and copies bring %" PRIu64 "\n", w->armed, w->brought);
	if (w->armed > w->brought)
		bf_watch_find(world,
			      "%s expects %" PRIu64 " bytes that no copy brings: the count of expect_tx is too large",
			      bf_watch_name(cta, bar, name, sizeof(name)), w->armed - w->brought);
	else if (w->armed < w->brought)
		bf_watch_find(world,
			      "copies bring %" PRIu64
			      " bytes more to %s than were expected: the count of expect_tx is too small, and a "
			      "phase ends at zero, not below",
			      w->brought - w->armed, bf_watch_name(cta, bar, name, sizeof(name)));
}

static void add_waiters(struct out *o, const struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	uint64_t since = UINT64_MAX;
	uint32_t n = 0, parity = 0;

	for (uint32_t warp = 0; warp < g->warps; warp++)
		for (uint32_t i = 0; i < BF_LANES; i++) {
			const struct bf_lane *l = &cta->lane[warp * BF_LANES + i];

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

static void add_barrier(struct out *o, struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_watched *w = bf_watch_of(cta, offset);
	const uint64_t word = bf_watch_word(cta, offset);
	const uint32_t phases = bf_watch_phases(cta, offset), pending = bf_mbar_pending(word);
	uint32_t lacking = 0;
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
		lacking = add_missing(o, cta, w, phases);
	add_bytes(o, world, cta, offset, w, word);
	if (pending && !lacking && w->label.warps)
		bf_watch_find(world, "%s expects %" PRIu32 " arrivals a phase, more than its parties make", name,
			      bf_mbar_expected(word));
}

/* Whether a lane of the block waits for this barrier. */
static bool awaited(const struct bf_cta_of *cta, uint32_t offset, const struct bf_lane **who)
{
	for (uint32_t i = 0; i < cta->cluster->grid->opts.warps * BF_LANES; i++)
		if (cta->lane[i].waits && bf_shared_offset(cta->lane[i].wait_bar) == offset) {
			*who = &cta->lane[i];
			return true;
		}
	return false;
}

/* What the standing of an awaited barrier alone tells. */
static void find_at_barrier(struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_watched *w = bf_watch_of(cta, offset);
	const struct bf_lane *l = NULL;
	char name[64];
	uint32_t phases, passed;

	if (!w || !w->labelled || !w->label.warps || !awaited(cta, offset, &l))
		return;
	phases = bf_watch_phases(cta, offset);
	passed = w->passed[l->warp->index];
	bf_watch_name(cta, offset, name, sizeof(name));
	if (w->label.free && phases == 0 && passed == 0)
		bf_watch_find(world,
			      "the first wait of warp %" PRIu32
			      " on %s is for the phase of parity 0, which ends only when %s have used what "
			      "this warp has yet to give: what begins empty is waited for with parity 1 first",
			      l->warp->index, name, w->label.who);
	else if (w->expects > phases && w->brought)
		bf_watch_find(world,
			      "%s got bytes by expect_tx without an arrival: expect_tx arrives nowhere, "
			      "mbarrier.arrive.expect_tx does",
			      name);
	else if (w->async_incs && w->label.each)
		bf_watch_find(world,
			      "cp.async.mbarrier.arrive on %s counts itself, so the %" PRIu32
			      " arrivals of its init never come: the "
			      "form that an init counts is .noinc",
			      name, bf_mbar_expected(bf_watch_word(cta, offset)));
	else if (passed < phases + w->label.free)
		bf_watch_find(world,
			      "warp %" PRIu32 " waits on %s with parity %" PRIu32 " after %" PRIu32
			      " waits there, though %" PRIu32
			      " phase%s had ended: the parity does not follow the barrier's phase",
			      l->warp->index, name, l->wait_parity, passed, phases, phases == 1 ? "" : "s");
}

static void find_ended(struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	const struct bf_watched *w = bf_watch_of(cta, offset);
	const struct bf_lane *l;
	char name[64];

	if (!w || !w->labelled || !w->arrived || !awaited(cta, offset, &l))
		return;
	for (uint32_t rank = 0; rank < g->ctas; rank++)
		for (uint32_t warp = 0; warp < g->warps && warp < 32; warp++) {
			const struct bf_cta_of *other = &cta->cluster->cta[rank];
			const uint32_t made = w->arrived[rank * g->warps + warp];
			bool leaves = other->warp[warp].exited == BF_FULL_WARP;

			for (uint32_t i = 0; i < BF_LANES; i++)
				leaves |= other->warp[warp].lane[i].met;
			if (!(w->label.ranks >> rank & 1) || !(w->label.warps >> warp & 1) || !leaves ||
			    made >= w->label.each * (bf_watch_phases(cta, offset) + 1))
				continue;
			bf_watch_find(world,
				      "warp %" PRIu32 " of block %" PRIu32 " has finished its work after %" PRIu32
				      " arrivals on %s, "
				      "where %" PRIu32 " are due: the parties do not go round equally often",
				      warp, other->block, made, bf_watch_name(cta, offset, name, sizeof(name)),
				      w->label.each * (bf_watch_phases(cta, offset) + 1));
			return;
		}
}

static void for_each_awaited(struct bf_cluster_world *world, struct out *o,
			     void (*fn)(struct out *o, struct bf_cluster_world *w, struct bf_cta_of *cta,
					uint32_t offset))
{
	const struct bf_sim_grid *g = world->grid;
	const struct bf_lane *l;

	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++)
			for (uint32_t i = 0; i < BF_WATCH_BARRIERS && g->cluster[c].cta[r].model; i++)
				if (awaited(&g->cluster[c].cta[r], 8 * i, &l))
					fn(o, world, &g->cluster[c].cta[r], 8 * i);
}

static void find_standing(struct out *o, struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	(void)o;
	find_at_barrier(world, cta, offset);
}
static void find_ended_parties(struct out *o, struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	(void)o;
	find_ended(world, cta, offset);
}

/* ---- faults ---- */

static struct bf_warp_of *warp_at(const struct bf_sim_grid *g, uint32_t sm, uint32_t slot)
{
	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++) {
			struct bf_cta_of *cta = &g->cluster[c].cta[r];

			if (cta->model && bf_hopper_cta_sm(cta->model) == sm &&
			    slot >= bf_hopper_cta_slot(cta->model, 0) &&
			    slot < bf_hopper_cta_slot(cta->model, 0) + g->opts.warps)
				return &cta->warp[slot - bf_hopper_cta_slot(cta->model, 0)];
		}
	return NULL;
}

/* The block and address that a fault speaks of: a copy's signal has that of the SM, an instruction the block's. */
static struct bf_cta_of *fault_at(struct bf_cluster_world *w, const struct bf_hopper_fault *f,
				  const struct bf_warp_of *warp, uint32_t *address)
{
	const uint32_t rank = f->address >> BF_SHARED_RANK_SHIFT;

	*address = f->address;
	if (f->op != BF_SYNC_COMPLETE_TX)
		return warp && rank < w->grid->opts.ctas ? &warp->cta->cluster->cta[rank] : NULL;
	for (struct bf_cta_of *cta = w->sm[f->sm].ctas; cta; cta = cta->next)
		if (f->address - bf_hopper_cta_base(cta->model) < w->grid->opts.shared_bytes) {
			*address = f->address - bf_hopper_cta_base(cta->model);
			return cta;
		}
	return NULL;
}

static void find_fault_cause(struct bf_cluster_world *w, const struct bf_hopper_fault *f, const struct bf_warp_of *warp)
{
	uint32_t address;
	struct bf_cta_of *cta = fault_at(w, f, warp, &address);
	char name[64];

	bf_watch_name(cta, address, name, sizeof(name));
	if (f->kind == BF_HOPPER_FAULT_GONE)
		bf_watch_find(
		    w,
		    "warp %" PRIu32 " of block %" PRIu32 " arrives in the block of rank %" PRIu32
		    ", which has exited: a block of a cluster may end only when nobody will reach it any more",
		    warp ? warp->index : f->warp, warp ? warp->cta->block : 0, address >> BF_SHARED_RANK_SHIFT);
	else if (f->kind == BF_HOPPER_FAULT_BARRIER && f->barrier == BF_MBAR_FAULT_UNINITIALISED)
		bf_watch_find(w, "%s was used (%s) before its init: a %s barrier belongs between init and use", name,
			      bf_sync_op_name(f->op), w->grid->opts.ctas > 1 ? "cluster" : "block");
	else if (f->kind == BF_HOPPER_FAULT_BARRIER && f->barrier == BF_MBAR_FAULT_OVER_ARRIVAL)
		bf_watch_find(w, "%s got more arrivals in a phase than it was initialised for", name);
}

static void add_fault(struct out *o, struct bf_cluster_world *w)
{
	const struct bf_hopper_fault *f = bf_hopper_fault(w->gpu);
	const struct bf_warp_of *warp = f ? warp_at(w->grid, f->sm, f->warp) : NULL;

	if (!f) {
		add(o, "%s\n", w->sim->error.text);
		return;
	}
	if (bf_bulk_fault(w->bulk) != BF_BULK_OK)
		add(o, "a bulk copy was refused: %s\n", bf_bulk_fault_name(bf_bulk_fault(w->bulk)));
	find_fault_cause(w, f, warp);
}

void bf_watch_report(struct bf_cluster_world *w, struct bf_cluster_result *out)
{
	struct out o = { .buf = out->report, .cap = sizeof(out->report) };
	const uint64_t stale = bf_bulk_counts(w->bulk)->stale;

	if (out->end == BF_CLUSTER_FAULT) {
		add_fault(&o, w);
		if (o.len < o.cap)
			bf_hopper_describe(w->gpu, o.buf + o.len, o.cap - o.len);
	} else if (out->end != BF_CLUSTER_DONE) {
		for_each_awaited(w, &o, find_standing);
		for_each_awaited(w, &o, find_ended_parties);
		for_each_awaited(w, &o, add_barrier);
		if (o.len == 0)
			bf_agents_describe(w->sim, o.buf, o.cap);
	}
	if (stale)
		bf_watch_find(w,
			      "bulk copies read %" PRIu64
			      " bytes of shared memory as they were before plain stores that no "
			      "fence.proxy.async had made visible to them",
			      stale);
	memcpy(out->finding, w->finding, sizeof(out->finding));
}
