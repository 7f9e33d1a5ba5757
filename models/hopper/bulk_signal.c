/*
 * From landed bytes to complete_tx. A request's sectors land one after the other; what has landed for one barrier goes
 * to the sync unit together. The first bytes wait a little for company, and the unit takes one update in a while: so
 * small copies make about one update a request, large ones about one in 200 bytes (row kind tx_partial).
 */
#include "models/hopper/bulk_internal.h"
#include "models/hopper/records_bulk.h"

#include <assert.h>

/* Bytes of the piece that have landed by `now_ps`: whole sectors of its source. */
static uint32_t landed_bytes(const struct bf_bulk_sm *s, const struct bf_bulk_piece *p, uint64_t now_ps)
{
	const uint64_t sector_ps = bf_bulk_ps(s, s->bulk->gpu->profile.bulk_sector_mc);
	const uint64_t sectors =
	    sector_ps ? (now_ps - p->landed_ps) / sector_ps + 1 : BF_BULK_LINE / BF_BULK_SECTOR + 1;
	const uint64_t bytes = sectors * BF_BULK_SECTOR - p->lead;

	return bytes < p->bytes ? (uint32_t)bytes : p->bytes;
}

/* When the next sector of the piece lands, or has landed, that is not signalled. */
static uint64_t next_sector_ps(const struct bf_bulk_sm *s, const struct bf_bulk_piece *p)
{
	const uint32_t sector = (p->signalled + p->lead) / BF_BULK_SECTOR;

	return p->landed_ps + (p->signalled ? sector : 0) * bf_bulk_ps(s, s->bulk->gpu->profile.bulk_sector_mc);
}

/* Sees to it that bytes which land at `when_ps` are signalled. */
static void arrange(struct bf_bulk_sm *s, uint64_t when_ps)
{
	const struct bf_hopper_profile *p = &s->bulk->gpu->profile;

	when_ps += bf_bulk_ps(s, p->bulk_gather_mc + bf_rng_below(&s->rng, p->bulk_gather_spread_mc + 1u));
	if (when_ps < s->signal_free_ps)
		when_ps = s->signal_free_ps;
	if (!bf_event_pending(&s->signal) || when_ps < s->signal.when)
		bf_sim_at(s->bulk->gpu->sim, &s->signal, when_ps);
}

void bf_bulk_signal_later(struct bf_bulk_sm *s, struct bf_bulk_piece *p)
{
	p->next = NULL;
	*s->landing_tail = p;
	s->landing_tail = &p->next;
	arrange(s, p->landed_ps);
}

/* Takes what has landed for `barrier` from the list; returns the bytes. */
static uint32_t gather(struct bf_bulk_sm *s, uint32_t barrier, uint64_t now_ps)
{
	struct bf_bulk_piece **link = &s->landing, *p;
	uint32_t bytes = 0, ended = 0;

	while ((p = *link)) {
		if (p->barrier == barrier) {
			const uint32_t landed = landed_bytes(s, p, now_ps);

			bytes += landed - p->signalled;
			p->signalled = (uint16_t)landed;
			if (landed == p->bytes) {
				*link = p->next;
				bf_bulk_piece_done(p);
				ended++;
				continue;
			}
		}
		link = &p->next;
	}
	s->landing_tail = link;
	s->bulk->counts.merged += ended > 1 ? ended - 1 : 0;
	return bytes;
}

static void update(struct bf_bulk_sm *s, uint32_t barrier, uint32_t bytes, uint32_t slot)
{
	struct bf_hopper *gpu = s->bulk->gpu;
	enum bf_mbar_fault fault = BF_MBAR_OK;

	s->bulk->counts.signals++;
	bf_sync_update(s->sm->unit, BF_SYNC_COMPLETE_TX, barrier, 0, bytes, slot, &fault);
	if (fault) {
		const struct bf_hopper_fault f = {
			.kind = BF_HOPPER_FAULT_BARRIER,
			.barrier = fault,
			.op = BF_SYNC_COMPLETE_TX,
			.sm = s->sm->id,
			.warp = slot,
			.address = barrier,
			.word = bf_sync_peek(s->sm->unit, barrier, NULL),
		};

		bf_hopper_raise(gpu, &f);
	} else
		BF_EMIT(gpu->sim, s->sm->actor, hopper_bulk_signal, .word = bf_sync_peek(s->sm->unit, barrier, NULL),
			.address = barrier, .bytes = bytes);
}

void bf_bulk_signal(struct bf_event *ev)
{
	struct bf_bulk_sm *s = BF_CONTAINER_OF(ev, struct bf_bulk_sm, signal);
	struct bf_hopper *gpu = s->bulk->gpu;
	const uint64_t now = gpu->sim->now_ps;
	const struct bf_bulk_piece *first = s->landing;
	uint64_t next = BF_NEVER;
	uint32_t bytes, barrier, slot;

	if (gpu->fault.kind)
		return;
	assert(first); /* the event is due only while something lands */
	/* Whose bytes came first is served first. */
	for (const struct bf_bulk_piece *p = first; p; p = p->next)
		if (next_sector_ps(s, p) < next_sector_ps(s, first))
			first = p;
	barrier = first->barrier;
	slot = first->job->slot;
	bytes = gather(s, barrier, now);
	s->signal_free_ps = now + bf_bulk_ps(s, gpu->profile.bulk_signal_mc);
	if (bytes)
		update(s, barrier, bytes, slot);
	for (const struct bf_bulk_piece *p = s->landing; p; p = p->next)
		if (next_sector_ps(s, p) < next)
			next = next_sector_ps(s, p);
	if (next != BF_NEVER && !gpu->fault.kind)
		arrange(s, next);
}
