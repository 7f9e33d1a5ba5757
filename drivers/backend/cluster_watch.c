/*
 * What is known of a run beside what the hardware knows: which barrier is which, whose arrivals it counts, who has made
 * them and who has not; which wait was given up; which bytes were read before their store had been released. None of
 * this changes a run. It makes the report of one that failed (cluster_report.c).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"

static struct bf_cluster_world *world_of(const struct bf_lane *l)
{
	return l->warp->cta->cluster->grid->world;
}

/* The first finding stays: what follows is often its consequence. */
void bf_watch_find(struct bf_cluster_world *w, const char *fmt, ...)
{
	va_list ap;

	if (w->finding[0])
		return;
	va_start(ap, fmt);
	vsnprintf(w->finding, sizeof(w->finding), fmt, ap);
	va_end(ap);
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
	if (!w->passed)
		w->passed = calloc(g->warps, sizeof(uint32_t));
	return w->arrived && w->passed;
}

void bf_watch_label(struct bf_lane *l, uint32_t bar, const struct bf_bar_label *label)
{
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_watched *w = bf_watch_of(cta, bar);
	const uint32_t parties =
	    (uint32_t)(__builtin_popcount(label->ranks) * __builtin_popcount(label->warps)) * label->each;
	char name[64];

	if (!w || !track(w, &cta->cluster->grid->opts))
		return;
	w->label = *label;
	w->labelled = 1;
	if (parties && parties != bf_mbar_expected(bf_watch_word(cta, bar)))
		bf_watch_find(world_of(l),
			      "%s was initialised for %" PRIu32 " arrivals a phase, but its parties (%s) make %" PRIu32
			      ": %d block%s x %d warp%s x %" PRIu32,
			      bf_watch_name(cta, bar, name, sizeof(name)), bf_mbar_expected(bf_watch_word(cta, bar)),
			      label->who, parties, __builtin_popcount(label->ranks),
			      __builtin_popcount(label->ranks) == 1 ? "" : "s", __builtin_popcount(label->warps),
			      __builtin_popcount(label->warps) == 1 ? "" : "s", label->each);
}

static void watch_init(struct bf_lane *l, struct bf_cta_of *cta, struct bf_watched *w, uint32_t bar)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	char name[64];

	if (w->inits && l->warp->index != w->init_warp)
		bf_watch_find(world_of(l),
			      "%s was initialised by warp %" PRIu32 " and again by warp %" PRIu32
			      ": arrivals and bytes that had come to it are lost",
			      bf_watch_name(cta, bar, name, sizeof(name)), w->init_warp, l->warp->index);
	w->inits++;
	w->init_warp = l->warp->index;
	w->armed = w->brought = w->expects = w->async_incs = 0;
	w->seen = 0;
	if (w->arrived)
		memset(w->arrived, 0, (size_t)g->ctas * g->warps * sizeof(uint32_t));
	if (w->passed)
		memset(w->passed, 0, g->warps * sizeof(uint32_t));
}

void bf_watch_arrival(struct bf_lane *l, struct bf_cta_of *cta, uint32_t bar, uint32_t count)
{
	struct bf_watched *w = bf_watch_of(cta, bar);
	const uint32_t warps = cta ? cta->cluster->grid->opts.warps : 0;
	uint32_t *n = w && w->arrived ? &w->arrived[l->warp->cta->rank * warps + l->warp->index] : NULL;
	uint32_t phases;
	char name[64];

	if (!n || !cta->model)
		return;
	*n += count;
	if (!w->labelled || !w->label.warps)
		return;
	phases = bf_watch_phases(cta, bar);
	if (phases > w->seen)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32 " arrives on %s for phase %" PRIu32
			      " though nobody has waited for the phase before to end: whoever that phase told "
			      "something goes on without it",
			      l->warp->index, l->warp->cta->block, bf_watch_name(cta, bar, name, sizeof(name)), phases);
	if (*n > w->label.each * (phases + 1))
		bf_watch_find(
		    world_of(l),
		    "warp %" PRIu32 " of block %" PRIu32 " arrived on %s once more than its share of a phase (%" PRIu32
		    "): that arrival was another barrier's, or came too early",
		    l->warp->index, l->warp->cta->block, bf_watch_name(cta, bar, name, sizeof(name)), w->label.each);
}

static void watch_wait_given_up(struct bf_lane *l)
{
	char name[64];

	if (l->waits && l->wait_tries)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32
			      " went on although its wait on %s had come back false: try_wait may return before the "
			      "phase is over and "
			      "belongs in a loop",
			      l->warp->index, l->warp->cta->block,
			      bf_watch_name(bf_cta_named(l->warp->cta, l->wait_bar), l->wait_bar, name, sizeof(name)));
}

void bf_watch_request(struct bf_lane *l, const struct bf_bar_request *r)
{
	struct bf_cta_of *cta = bf_cta_named(l->warp->cta, r->bar);
	struct bf_watched *w = bf_watch_of(cta, r->bar);

	if (r->op < BF_BAR_TEST_PARITY || r->bar != l->wait_bar)
		watch_wait_given_up(l);
	if (!w)
		return;
	switch (r->op) {
	case BF_BAR_INIT:
		watch_init(l, cta, w, r->bar);
		break;
	case BF_BAR_ARRIVE:
	case BF_BAR_DROP:
		w->armed += r->tx;
		bf_watch_arrival(l, cta, r->bar, r->count);
		break;
	case BF_BAR_EXPECT_TX:
		w->armed += r->tx;
		w->expects++;
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

/* The k-th wait of a warp that is over needs k phases to be over, or one less where the first is free. */
void bf_watch_passed(struct bf_lane *l, uint32_t bar)
{
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_watched *w = bf_watch_of(cta, bar);
	char name[64];
	uint32_t k, phases;

	if (!w || !w->labelled || !w->passed ||
	    l->thread.lane) /* lane 0 stands for its warp: it waits, whoever else does */
		return;
	k = ++w->passed[l->warp->index];
	phases = bf_watch_phases(cta, bar);
	w->seen = phases > w->seen ? phases : w->seen;
	if (w->label.warps && k > phases + w->label.free)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32 " passed its wait number %" PRIu32
			      " on %s when %" PRIu32
			      " phase%s had completed: the parity that it waits for is that of two phases before",
			      l->warp->index, cta->block, k, bf_watch_name(cta, bar, name, sizeof(name)), phases,
			      phases == 1 ? "" : "s");
}

void bf_watch_brings(struct bf_cta_of *to, uint32_t bar, uint32_t bytes)
{
	struct bf_watched *w = bf_watch_of(to, bar);

	if (w)
		w->brought += bytes;
}

void bf_watch_store(struct bf_lane *l, struct bf_cta_of *to, uint32_t offset, const void *data, uint32_t len)
{
	struct bf_granule *g = &to->granule[offset / BF_WATCH_GRANULE];
	const uint32_t at = offset % BF_WATCH_GRANULE;

	if (at + len > BF_WATCH_GRANULE)
		return;
	if (offset / 8 < BF_WATCH_BARRIERS && to->watched[offset / 8].inits)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32 " stored data at 0x%" PRIx32
			      ", where a barrier is alive: it takes an mbarrier.inval before, or the unit writes the "
			      "barrier over them",
			      l->warp->index, l->warp->cta->block, offset);
	memcpy(g->bytes + at, data, len);
	g->valid = (uint16_t)(g->valid | ((1u << len) - 1) << at);
	g->rank = (uint16_t)l->warp->cta->rank;
	g->thread = (uint16_t)(l->warp->index * BF_LANES + l->thread.lane);
	g->async = 0;
}

void bf_watch_copied(struct bf_cta_of *to, uint32_t offset, uint32_t len)
{
	for (uint32_t at = offset / BF_WATCH_GRANULE;
	     at * BF_WATCH_GRANULE < offset + len && at * BF_WATCH_GRANULE < to->cluster->grid->opts.shared_bytes; at++)
		to->granule[at].valid = to->granule[at].async = 0;
}

void bf_watch_async(struct bf_lane *l, uint32_t offset, uint32_t len)
{
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_granule *g = &cta->granule[offset / BF_WATCH_GRANULE];

	if (offset + len > cta->cluster->grid->opts.shared_bytes)
		return;
	g->valid = 0;
	g->async = 1;
	g->thread = (uint16_t)(l->warp->index * BF_LANES + l->thread.lane);
	g->copies = ++l->copies;
}

void bf_watch_load(struct bf_lane *l, struct bf_cta_of *from, uint32_t offset, const void *data, uint32_t len)
{
	const struct bf_granule *g = &from->granule[offset / BF_WATCH_GRANULE];
	const uint32_t at = offset % BF_WATCH_GRANULE;
	const struct bf_lane *other;

	watch_wait_given_up(l);
	if (at + len > BF_WATCH_GRANULE)
		return;
	if ((g->valid >> at & ((1u << len) - 1)) == (1u << len) - 1 && memcmp(g->bytes + at, data, len) != 0)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32 " read shared memory at 0x%" PRIx32
			      " before the store there by warp %u lane %u of rank %u had been released to it: an "
			      "arrival releases the "
			      "stores of its own thread only, and only as far as its scope (__syncwarp, or "
			      ".release.cluster, is missing)",
			      l->warp->index, l->warp->cta->block, offset, g->thread / BF_LANES, g->thread % BF_LANES,
			      g->rank);
	if (!g->async || l->warp->cta != from)
		return;
	other = &from->lane[g->thread];
	if (other->nclosed && g->copies > other->landed)
		bf_watch_find(world_of(l),
			      "warp %" PRIu32 " of block %" PRIu32 " read shared memory at 0x%" PRIx32
			      " which a cp.async of warp %u lane %u may still be filling: no group that was waited for "
			      "holds that copy "
			      "(commit_group before the copies that it should cover)",
			      l->warp->index, l->warp->cta->block, offset, g->thread / BF_LANES, g->thread % BF_LANES);
}
