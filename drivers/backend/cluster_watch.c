/*
 * What is known of a run beside what the hardware knows: which barrier is which, whose arrivals it counts, who has made
 * them and who has not; which wait was given up; which bytes were read before their store had been released. None of
 * this changes a run. It makes records for the rules (records_cluster.h), and the report of a run that failed
 * (cluster_report.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"
#include "models/hopper/records.h"
#include "traces/records/cluster.h"

static void hazard_by(const struct bf_cluster_lane *l, uint32_t event, const struct bf_cta_of *at, uint32_t address,
		      uint32_t by_rank, uint32_t by)
{
	const struct bf_cta_of *own = l->warp->cta;
	struct bf_sim *sim = bf_cluster_sim_of(own);

	BF_EMIT(sim, l->thread.agent->actor, hopper_hazard, .sm = at->model ? bf_hopper_cta_sm(at->model) : UINT32_MAX,
		.address = bf_shared_offset(address), .rank = at->rank, .block = own->block, .warp = l->warp->index,
		.by_rank = by_rank, .by = by, .event = event);
}

static void hazard(const struct bf_cluster_lane *l, uint32_t event, const struct bf_cta_of *at, uint32_t address,
		   const struct bf_granule *g)
{
	hazard_by(l, event, at, address, g ? g->rank : 0, g ? g->thread : 0);
}

void bf_watch_nobody(struct bf_cluster_lane *l, uint32_t address)
{
	struct bf_cta_of *cta = bf_cta_named(l->warp->cta, address);

	if (cta)
		hazard(l, BF_HAZARD_NOBODY, cta, address, NULL);
}

struct bf_watched *bf_watch_of(struct bf_cta_of *cta, uint32_t address)
{
	const uint32_t at = bf_shared_offset(address) / 8;

	return cta && at < BF_WATCH_BARRIERS ? &cta->watched[at] : NULL;
}

/* "full[1] of block 0"; an address when it has no name. */
const char *bf_watch_name(struct bf_cta_of *cta, uint32_t address, char *buf, size_t cap)
{
	const struct bf_watched *w = bf_watch_of(cta, address);

	if (w && w->labelled)
		snprintf(buf, cap, "%s[%" PRIu32 "] of block %" PRIu32, w->label.name, w->label.index, cta->block);
	else
		snprintf(buf, cap, "barrier 0x%" PRIx32 " of block %" PRIu32, bf_shared_offset(address),
			 cta ? cta->block : 0);
	return buf;
}

uint32_t bf_watch_phases(const struct bf_cta_of *cta, uint32_t address)
{
	return bf_sync_history(cta->cluster->grid->world->sm[bf_hopper_cta_sm(cta->model)].unit,
			       bf_hopper_cta_base(cta->model) + bf_shared_offset(address))
	    .phases;
}

uint64_t bf_watch_word(const struct bf_cta_of *cta, uint32_t address)
{
	return bf_sync_peek(bf_hopper_cta_unit(cta->model), bf_hopper_cta_base(cta->model) + bf_shared_offset(address),
			    NULL);
}

/* ---- while it runs ---- */

static bool track(struct bf_watched *w, const struct bf_cluster_grid *g)
{
	if (!w->arrived)
		w->arrived = calloc((size_t)g->ctas * g->warps, sizeof(uint32_t));
	return w->arrived != NULL;
}

void bf_watch_label(struct bf_cluster_lane *l, uint32_t bar, const struct bf_bar_label *label)
{
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_watched *w = bf_watch_of(cta, bar);
	struct bf_sim *sim = bf_cluster_sim_of(cta);

	if (bf_probe(sim, BF_CLASS_QUEUE)) {
		struct bf_rec_hopper_label r = {
			.sm = bf_hopper_cta_sm(cta->model),
			.address = bf_shared_offset(bar),
			.block = cta->block,
			.rank = cta->rank,
			.expected = bf_mbar_expected(bf_watch_word(cta, bar)),
			.index = label->index,
			.ranks = label->ranks,
			.warps = label->warps,
			.each = label->each,
			.free = label->free,
		};

		snprintf(r.name, sizeof(r.name), "%s", label->name);
		snprintf(r.who, sizeof(r.who), "%s", label->who);
		BF_EMIT_MADE(sim, l->thread.agent->actor, hopper_label, r, NULL, 0);
	}
	if (!w || !track(w, &cta->cluster->grid->opts))
		return;
	w->label = *label;
	w->labelled = 1;
}

void bf_watch_init_fence(struct bf_cluster_lane *l)
{
	const struct bf_cta_of *cta = l->warp->cta;
	struct bf_sim *sim = bf_cluster_sim_of(cta);

	BF_EMIT(sim, l->thread.agent->actor, hopper_init_fence, .sm = bf_hopper_cta_sm(cta->model),
		.warp = l->warp->index);
}

static void watch_init(struct bf_cta_of *cta, struct bf_watched *w)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;

	w->inits++;
	w->armed = w->brought = 0;
	if (w->arrived)
		memset(w->arrived, 0, (size_t)g->ctas * g->warps * sizeof(uint32_t));
}

void bf_watch_arrival(struct bf_cluster_lane *l, struct bf_cta_of *cta, uint32_t bar, uint32_t count)
{
	struct bf_watched *w = bf_watch_of(cta, bar);

	if (w && w->arrived)
		w->arrived[l->warp->cta->rank * cta->cluster->grid->opts.warps + l->warp->index] += count;
}

/* Once for each wait: what follows is told by its results. */
void bf_watch_given_up(struct bf_cluster_lane *l)
{
	if (!l->waits || !l->wait_tries)
		return;
	l->wait_tries = false;
	hazard(l, BF_HAZARD_WENT_ON, l->warp->cta, l->wait_bar, NULL);
}

/* Meetings of a lane with others of its warp, its block or its cluster. */
static uint32_t met_others(const struct bf_cluster_lane *l)
{
	return l->meetings + bf_team_met(l->warp->team.team, l->thread.lane);
}

/* How often it asked for something else than before: how far it has come in its program. */
static void note_ask(struct bf_cluster_lane *l, const struct bf_bar_request *r)
{
	l->asks += !l->asks || l->asked_bar != r->bar || l->asked_token != r->token + r->count;
	l->asked_bar = r->bar;
	l->asked_token = r->token + r->count;
}

/*
 * One lane speaks for its warp: the others must have met it since they touched shared memory. One that has waited more
 * often is ahead of it, and so is what it touched.
 */
static void speaks_for_others(const struct bf_cluster_lane *l, const struct bf_cta_of *at, uint32_t address)
{
	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_cluster_lane *other = &l->warp->lane[i];

		if (other != l && other->touched == met_others(other) + 1 && other->asks <= l->asks) {
			hazard_by(l, BF_HAZARD_FOR_OTHERS, at, address, l->warp->cta->rank,
				  l->warp->index * BF_LANES + i);
			return;
		}
	}
}

void bf_watch_bulk_store(struct bf_cluster_lane *l, uint32_t shared)
{
	speaks_for_others(l, l->warp->cta, shared);
}

void bf_watch_request(struct bf_cluster_lane *l, const struct bf_bar_request *r)
{
	struct bf_cta_of *cta = bf_cta_named(l->warp->cta, r->bar);
	struct bf_watched *w = bf_watch_of(cta, r->bar);

	if (r->op < BF_BAR_TEST_PARITY || r->bar != l->wait_bar)
		bf_watch_given_up(l);
	if (r->op >= BF_BAR_TEST_PARITY)
		note_ask(l, r);
	if (!w)
		return;
	switch (r->op) {
	case BF_BAR_INIT:
		watch_init(cta, w);
		break;
	case BF_BAR_ARRIVE:
	case BF_BAR_DROP:
		w->armed += r->tx;
		bf_watch_arrival(l, cta, r->bar, r->count);
		if (w->labelled && w->label.each == 1 && !r->tx)
			speaks_for_others(l, cta, r->bar);
		break;
	case BF_BAR_EXPECT_TX:
		w->armed += r->tx;
		break;
	case BF_BAR_COMPLETE_TX:
		w->brought += r->tx;
		break;
	case BF_BAR_INVAL:
		w->labelled = 0;
		w->inits = 0;
		break;
	default:
		break;
	}
}

void bf_watch_brings(struct bf_cta_of *to, uint32_t bar, uint32_t bytes)
{
	struct bf_watched *w = bf_watch_of(to, bar);

	if (w)
		w->brought += bytes;
}

void bf_watch_store(struct bf_cluster_lane *l, struct bf_cta_of *to, uint32_t offset, const void *data, uint32_t len)
{
	struct bf_granule *g = &to->granule[offset / BF_WATCH_GRANULE];
	const uint32_t at = offset % BF_WATCH_GRANULE;

	l->touched = met_others(l) + 1;
	g->filler = 0;
	if (at + len > BF_WATCH_GRANULE)
		return;
	if (offset / 8 < BF_WATCH_BARRIERS && to->watched[offset / 8].inits)
		hazard(l, BF_HAZARD_STORED, to, offset, NULL);
	memcpy(g->bytes + at, data, len);
	g->valid = (uint16_t)(g->valid | ((1u << len) - 1) << at);
	g->rank = (uint16_t)l->warp->cta->rank;
	g->thread = (uint16_t)(l->warp->index * BF_LANES + l->thread.lane);
}

void bf_watch_row_stored(struct bf_cta_of *to, uint32_t offset, uint32_t n)
{
	struct bf_granule *g = &to->granule[offset / BF_WATCH_GRANULE];

	for (uint32_t i = 0; i < n; i++)
		g[i].valid = g[i].filler = 0;
}

void bf_watch_row_loaded(const struct bf_cluster_lane *l, struct bf_cta_of *from, uint32_t offset, uint32_t n)
{
	struct bf_granule *g = &from->granule[offset / BF_WATCH_GRANULE];

	for (uint32_t i = 0; i < n; i++) {
		g[i].reader = (uint16_t)(l->warp->index + 1);
		g[i].fences = l->warp->fences;
	}
}

void bf_watch_copied(struct bf_cta_of *to, uint32_t offset, uint32_t len)
{
	for (uint32_t at = offset / BF_WATCH_GRANULE;
	     at * BF_WATCH_GRANULE < offset + len && at * BF_WATCH_GRANULE < to->cluster->grid->opts.shared_bytes; at++)
		to->granule[at].valid = to->granule[at].reader = to->granule[at].filler = 0;
}

void bf_watch_bulk(struct bf_cluster_lane *l, uint32_t offset, uint32_t len)
{
	const struct bf_cta_of *to = l->warp->cta;

	for (uint32_t at = offset / BF_WATCH_GRANULE;
	     at * BF_WATCH_GRANULE < offset + len && at * BF_WATCH_GRANULE < to->cluster->grid->opts.shared_bytes; at++)
		if (to->granule[at].reader == l->warp->index + 1 && to->granule[at].fences == l->warp->fences) {
			hazard(l, BF_HAZARD_READ, to, at * BF_WATCH_GRANULE, NULL);
			return;
		}
}

void bf_watch_ldgsts(struct bf_cluster_lane *l, uint32_t offset)
{
	struct bf_granule *g = &l->warp->cta->granule[offset / BF_WATCH_GRANULE];

	g->filler = (uint16_t)(l->warp->index * BF_LANES + l->thread.lane + 1);
	g->group = l->groups;
}

void bf_watch_async(struct bf_cluster_lane *l, const struct bf_async_request *r)
{
	if (r->op == BF_ASYNC_COMMIT)
		l->groups++;
	else if (r->op == BF_ASYNC_ARRIVE || r->op == BF_ASYNC_ARRIVE_NOINC)
		l->by_arrival = true;
	else if (r->op == BF_ASYNC_WAIT && l->groups > r->bytes && l->groups - r->bytes > l->groups_done)
		l->groups_done = l->groups - r->bytes;
}

/* The thread that copied here has yet to wait for it. */
static bool copying(const struct bf_cta_of *cta, const struct bf_granule *g)
{
	const struct bf_cluster_lane *filler = g->filler ? &cta->lane[g->filler - 1] : NULL;

	return filler && !filler->by_arrival && g->group >= filler->groups_done;
}

void bf_watch_load(struct bf_cluster_lane *l, struct bf_cta_of *from, uint32_t offset, const void *data, uint32_t len)
{
	struct bf_granule *g = &from->granule[offset / BF_WATCH_GRANULE];
	const uint32_t at = offset % BF_WATCH_GRANULE;

	bf_watch_given_up(l);
	if (offset / 8 < BF_WATCH_BARRIERS && from->watched[offset / 8].inits)
		hazard(l, BF_HAZARD_LOADED, from, offset, NULL);
	l->touched = met_others(l) + 1;
	if (copying(from, g))
		hazard_by(l, BF_HAZARD_COPYING, from, offset, from->rank, g->filler - 1u);
	if (from == l->warp->cta) {
		g->reader = (uint16_t)(l->warp->index + 1);
		g->fences = l->warp->fences;
	}
	if (at + len > BF_WATCH_GRANULE)
		return;
	if (((uint32_t)g->valid >> at & ((1u << len) - 1u)) == (1u << len) - 1u &&
	    memcmp(g->bytes + at, data, len) != 0)
		hazard(l, BF_HAZARD_UNRELEASED, from, offset, g);
}
