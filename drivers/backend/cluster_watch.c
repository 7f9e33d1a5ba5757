/*
 * What is known of a run beside what the hardware knows: which barrier is which, whose arrivals it counts, who has made
 * them and who has not; which wait was given up; which bytes were read before their store had been released. None of
 * this changes a run. It makes the report of one that failed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static struct bf_cluster_world *world_of(const struct bf_lane *l)
{
	return l->warp->cta->cluster->grid->world;
}

/* The first finding stays: what follows is often its consequence. */
static void BF_PRINTF(2, 3) find(struct bf_cluster_world *w, const char *fmt, ...)
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
static const char *name_of(struct bf_cta_of *cta, uint32_t address, char *buf, size_t cap)
{
	const struct bf_watched *w = bf_watch_of(cta, address);

	if (w && w->labelled)
		snprintf(buf, cap, "%s[%" PRIu32 "] of block %" PRIu32, w->label.name, w->label.index, cta->block);
	else
		snprintf(buf, cap, "barrier 0x%" PRIx32 " of block %" PRIu32, bf_shared_offset(address),
			 cta ? cta->block : 0);
	return buf;
}

static uint32_t phases_of(const struct bf_cta_of *cta, uint32_t address)
{
	return bf_sync_history(cta->cluster->grid->world->sm[bf_hopper_cta_sm(cta->model)].unit,
			       bf_hopper_cta_base(cta->model) + bf_shared_offset(address))
	    .phases;
}

static uint64_t word_of(const struct bf_cta_of *cta, uint32_t address)
{
	return bf_sync_peek(bf_hopper_cta_unit(cta->model), bf_hopper_cta_base(cta->model) + bf_shared_offset(address), NULL);
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
	const uint32_t parties = (uint32_t)(__builtin_popcount(label->ranks) * __builtin_popcount(label->warps)) * label->each;
	char name[64];

	if (!w || !track(w, &cta->cluster->grid->opts))
		return;
	w->label = *label;
	w->labelled = 1;
	if (parties && parties != bf_mbar_expected(word_of(cta, bar)))
		find(world_of(l),
		     "%s was initialised for %" PRIu32 " arrivals a phase, but its parties (%s) make %" PRIu32
		     ": %d block%s x %d warp%s x %" PRIu32,
		     name_of(cta, bar, name, sizeof(name)), bf_mbar_expected(word_of(cta, bar)), label->who, parties,
		     __builtin_popcount(label->ranks), __builtin_popcount(label->ranks) == 1 ? "" : "s",
		     __builtin_popcount(label->warps), __builtin_popcount(label->warps) == 1 ? "" : "s", label->each);
}

static void watch_init(struct bf_lane *l, struct bf_cta_of *cta, struct bf_watched *w, uint32_t bar)
{
	const struct bf_cluster_grid *g = &cta->cluster->grid->opts;
	char name[64];

	if (w->inits && l->warp->index != w->init_warp)
		find(world_of(l), "%s was initialised by warp %" PRIu32 " and again by warp %" PRIu32
		     ": arrivals and bytes that had come to it are lost",
		     name_of(cta, bar, name, sizeof(name)), w->init_warp, l->warp->index);
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
	phases = phases_of(cta, bar);
	if (phases > w->seen)
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " arrives on %s for phase %" PRIu32
		     " though nobody has waited for the phase before to end: whoever that phase told something goes on without it",
		     l->warp->index, l->warp->cta->block, name_of(cta, bar, name, sizeof(name)), phases);
	if (*n > w->label.each * (phases + 1))
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " arrived on %s once more than its share of a phase (%" PRIu32
		     "): that arrival was another barrier's, or came too early",
		     l->warp->index, l->warp->cta->block, name_of(cta, bar, name, sizeof(name)), w->label.each);
}

static void watch_wait_given_up(struct bf_lane *l)
{
	char name[64];

	if (l->waits && l->wait_tries)
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32
		     " went on although its wait on %s had come back false: try_wait may return before the phase is over and "
		     "belongs in a loop",
		     l->warp->index, l->warp->cta->block,
		     name_of(bf_cta_named(l->warp->cta, l->wait_bar), l->wait_bar, name, sizeof(name)));
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

	if (!w || !w->labelled || !w->passed || l->thread.lane) /* lane 0 stands for its warp: it waits, whoever else does */
		return;
	k = ++w->passed[l->warp->index];
	phases = phases_of(cta, bar);
	w->seen = phases > w->seen ? phases : w->seen;
	if (w->label.warps && k > phases + w->label.free)
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " passed its wait number %" PRIu32 " on %s when %" PRIu32
		     " phase%s had completed: the parity that it waits for is that of two phases before",
		     l->warp->index, cta->block, k, name_of(cta, bar, name, sizeof(name)), phases, phases == 1 ? "" : "s");
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
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " stored data at 0x%" PRIx32
		     ", where a barrier is alive: it takes an mbarrier.inval before, or the unit writes the barrier over them",
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
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " read shared memory at 0x%" PRIx32
		     " before the store there by warp %u lane %u of rank %u had been released to it: an arrival releases the "
		     "stores of its own thread only, and only as far as its scope (__syncwarp, or .release.cluster, is missing)",
		     l->warp->index, l->warp->cta->block, offset, g->thread / BF_LANES, g->thread % BF_LANES, g->rank);
	if (!g->async || l->warp->cta != from)
		return;
	other = &from->lane[g->thread];
	if (other->nclosed && g->copies > other->landed)
		find(world_of(l),
		     "warp %" PRIu32 " of block %" PRIu32 " read shared memory at 0x%" PRIx32
		     " which a cp.async of warp %u lane %u may still be filling: no group that was waited for holds that copy "
		     "(commit_group before the copies that it should cover)",
		     l->warp->index, l->warp->cta->block, offset, g->thread / BF_LANES, g->thread % BF_LANES);
}

/* ---- when it has failed ---- */

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
		    name_of(bf_cta_named(w->cta, l->wait_bar), l->wait_bar, name, sizeof(name)));
		return;
	}
	for (uint32_t i = 0; i < BF_LANES; i++) {
		const struct bf_lane *l = &w->lane[i];

		if (l->done || !l->thread.agent->waits_for)
			continue;
		add(o, "it waits for %s", l->met ? "the others at a block or cluster barrier" : l->thread.agent->waits_for);
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
			add(o, "    %s, warp %" PRIu32 " of block %" PRIu32 ", has arrived %" PRIu32 " of %" PRIu32 " times; ",
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
		find(world, "%s expects %" PRIu64 " bytes that no copy brings: the count of expect_tx is too large",
		     name_of(cta, bar, name, sizeof(name)), w->armed - w->brought);
	else if (w->armed < w->brought)
		find(world,
		     "copies bring %" PRIu64 " bytes more to %s than were expected: the count of expect_tx is too small, and a "
		     "phase ends at zero, not below",
		     w->brought - w->armed, name_of(cta, bar, name, sizeof(name)));
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
		add(o, " (for the phase of parity %" PRIu32 ", since %" PRIu64 ".%03" PRIu64 " us)", parity, (uint64_t)(since / BF_US),
		    (uint64_t)(since % BF_US / BF_NS));
	add(o, "\n");
}

static void add_barrier(struct out *o, struct bf_cluster_world *world, struct bf_cta_of *cta, uint32_t offset)
{
	const struct bf_watched *w = bf_watch_of(cta, offset);
	const uint64_t word = word_of(cta, offset);
	const uint32_t phases = phases_of(cta, offset), pending = bf_mbar_pending(word);
	uint32_t lacking = 0;
	char name[64];

	add(o, "%s, phase %" PRIu32 " (parity %" PRIu32 "): %" PRIu32 " of %" PRIu32 " arrivals and %" PRId32
	    " bytes missing",
	    name_of(cta, offset, name, sizeof(name)), phases, bf_mbar_phase(word), pending, bf_mbar_expected(word),
	    bf_mbar_tx(word));
	add_waiters(o, cta, offset);
	if (!w || !w->labelled || !w->arrived)
		return;
	if (pending)
		lacking = add_missing(o, cta, w, phases);
	add_bytes(o, world, cta, offset, w, word);
	if (pending && !lacking && w->label.warps)
		find(world, "%s expects %" PRIu32 " arrivals a phase, more than its parties make", name,
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
	phases = phases_of(cta, offset);
	passed = w->passed[l->warp->index];
	name_of(cta, offset, name, sizeof(name));
	if (w->label.free && phases == 0 && passed == 0)
		find(world,
		     "the first wait of warp %" PRIu32 " on %s is for the phase of parity 0, which ends only when %s have used what "
		     "this warp has yet to give: what begins empty is waited for with parity 1 first",
		     l->warp->index, name, w->label.who);
	else if (w->expects > phases && w->brought)
		find(world,
		     "%s got bytes by expect_tx without an arrival: expect_tx arrives nowhere, mbarrier.arrive.expect_tx does",
		     name);
	else if (w->async_incs && w->label.each)
		find(world,
		     "cp.async.mbarrier.arrive on %s counts itself, so the %" PRIu32 " arrivals of its init never come: the "
		     "form that an init counts is .noinc",
		     name, bf_mbar_expected(word_of(cta, offset)));
	else if (passed < phases + w->label.free)
		find(world,
		     "warp %" PRIu32 " waits on %s with parity %" PRIu32 " after %" PRIu32 " waits there, though %" PRIu32
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
			    made >= w->label.each * (phases_of(cta, offset) + 1))
				continue;
			find(world,
			     "warp %" PRIu32 " of block %" PRIu32 " has finished its work after %" PRIu32 " arrivals on %s, "
			     "where %" PRIu32 " are due: the parties do not go round equally often",
			     warp, other->block, made, name_of(cta, offset, name, sizeof(name)),
			     w->label.each * (phases_of(cta, offset) + 1));
			return;
		}
}

static void for_each_awaited(struct bf_cluster_world *world, struct out *o,
			     void (*fn)(struct out *o, struct bf_cluster_world *w, struct bf_cta_of *cta, uint32_t offset))
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

			if (cta->model && bf_hopper_cta_sm(cta->model) == sm && slot >= bf_hopper_cta_slot(cta->model, 0) &&
			    slot < bf_hopper_cta_slot(cta->model, 0) + g->opts.warps)
				return &cta->warp[slot - bf_hopper_cta_slot(cta->model, 0)];
		}
	return NULL;
}

/* The block and address that a fault speaks of: a copy's signal has that of the SM, an instruction the block's. */
static struct bf_cta_of *fault_at(struct bf_cluster_world *w, const struct bf_hopper_fault *f, const struct bf_warp_of *warp,
				  uint32_t *address)
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

	name_of(cta, address, name, sizeof(name));
	if (f->kind == BF_HOPPER_FAULT_GONE)
		find(w, "warp %" PRIu32 " of block %" PRIu32 " arrives in the block of rank %" PRIu32
		     ", which has exited: a block of a cluster may end only when nobody will reach it any more",
		     warp ? warp->index : f->warp, warp ? warp->cta->block : 0, address >> BF_SHARED_RANK_SHIFT);
	else if (f->kind == BF_HOPPER_FAULT_BARRIER && f->barrier == BF_MBAR_FAULT_UNINITIALISED)
		find(w, "%s was used (%s) before its init: a %s barrier belongs between init and use", name,
		     bf_sync_op_name(f->op), w->grid->opts.ctas > 1 ? "cluster" : "block");
	else if (f->kind == BF_HOPPER_FAULT_BARRIER && f->barrier == BF_MBAR_FAULT_OVER_ARRIVAL)
		find(w, "%s got more arrivals in a phase than it was initialised for", name);
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
		find(w, "bulk copies read %" PRIu64 " bytes of shared memory as they were before plain stores that no "
		     "fence.proxy.async had made visible to them", stale);
	memcpy(out->finding, w->finding, sizeof(out->finding));
}
