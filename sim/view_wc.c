/*
 * Write combining: BlueFlame pages.
 *
 * Stores gather in one 64-byte buffer per thread, which leaves as a single burst when it is full. Whatever drives it
 * out before that sends pieces of at most 8 bytes, in no promised order (Intel SDM vol. 1, "Write Combining (WC)
 * Memory": a partially filled buffer may be evicted at any time, as several partial writes, and only full ones are
 * one transaction).
 */
#include <string.h>

#include "sim/pcie.h"
#include "sim/records_agent.h"
#include "sim/view_internal.h"
#include "sim/where_internal.h"

#define EVICT_SC (1 * BF_US) /* sc knows no chance: a forgotten flush costs this */
#define PIECE 8u

static void send(struct bf_view_full *v, uint32_t first, uint32_t len, enum bf_wc_cause cause)
{
	struct bf_wc *wc = &v->wc;
	const uint64_t offset = wc->offset + first;

	BF_EMIT_TAIL(v->sim, wc->actor, wc_evict, wc->data + first, len, .va = wc->region->va + offset, .len = len,
		     .cause = cause);
	bf_mmio_post(wc->region, offset, wc->data + first, len);
}

/* The runs of present bytes in one aligned piece. */
static void send_piece(struct bf_view_full *v, uint32_t piece, enum bf_wc_cause cause)
{
	const uint32_t end = (piece + 1) * PIECE;

	for (uint32_t i = piece * PIECE; i < end;) {
		uint32_t n = 0;

		while (i + n < end && (v->wc.mask >> (i + n) & 1))
			n++;
		if (n)
			send(v, i, n, cause);
		i += n + 1;
	}
}

void bf_wc_evict(struct bf_view_full *v, enum bf_wc_cause cause)
{
	struct bf_wc *wc = &v->wc;
	uint32_t order[BF_LINE / PIECE];

	if (!wc->mask)
		return;
	bf_sim_cancel(v->sim, &wc->evict);
	if (wc->mask == UINT64_MAX) {
		send(v, 0, BF_LINE, cause);
	} else {
		for (uint32_t i = 0; i < BF_ARRAY_LEN(order); i++) {
			const uint32_t j = v->pub.ordering == BF_ORDER_SC ? i : (uint32_t)bf_rng_below(&v->rng, i + 1);

			if (j != i)
				order[i] = order[j];
			order[j] = i;
		}
		for (uint32_t i = 0; i < BF_ARRAY_LEN(order); i++)
			send_piece(v, order[i], cause);
	}
	wc->mask = 0;
}

static void evict_event(struct bf_event *ev)
{
	struct bf_wc *wc = BF_CONTAINER_OF(ev, struct bf_wc, evict);

	bf_wc_evict(BF_CONTAINER_OF(wc, struct bf_view_full, wc), BF_WC_DRAIN);
}

void bf_wc_init(struct bf_view_full *v)
{
	bf_event_init(&v->wc.evict, evict_event);
}

static uint64_t evict_delay(struct bf_view_full *v)
{
	if (BF_UNLIKELY(v->sim->chooser))
		return bf_choose_named(v->sim, BF_CHOICE_COMBINE, 2,
				       bf_view_key(BF_CHOICE_COMBINE, v->wc.actor, 0, v->asked++))
			   ? BF_CHOSEN_LATE
			   : EVICT_SC;
	switch (v->pub.ordering) {
	case BF_ORDER_SC:
		return EVICT_SC;
	case BF_ORDER_ADVERSARIAL:
		return bf_rng_chance(&v->rng, 500000) ? bf_rng_below(&v->rng, 20 * BF_NS) : bf_view_late(&v->rng);
	default:
		return bf_rng_below(&v->rng, BF_US);
	}
}

static void gather(struct bf_agent *a, struct bf_region *r, uint64_t offset, const uint8_t *data, uint32_t len)
{
	struct bf_view_full *v = bf_view_full(a->view);
	struct bf_wc *wc = &v->wc;
	const uint64_t line = offset & ~(uint64_t)(BF_LINE - 1);

	if (wc->mask && (wc->region != r || wc->offset != line))
		bf_wc_evict(v, BF_WC_OTHER_LINE);
	wc->region = r;
	wc->offset = line;
	wc->actor = a->actor;
	memcpy(wc->data + (offset - line), data, len);
	wc->mask |= (len == BF_LINE ? UINT64_MAX : (1ull << len) - 1) << (offset - line);
	if (wc->mask == UINT64_MAX)
		bf_wc_evict(v, BF_WC_FULL);
	else if (!bf_event_pending(&wc->evict))
		bf_sim_after(v->sim, &wc->evict, evict_delay(v));
}

void bf_wc_store(struct bf_agent *a, void *p, const void *data, uint32_t len)
{
	struct bf_region *r = bf_view_region(a, p, len, true);
	const uint8_t *from = data;

	bf_agent_delay(a, a->view->cost->store);
	if (!r)
		return;
	BF_WHERE(a);
	for (uint64_t offset = bf_va(r, p) - r->va; len;) {
		const uint32_t room = BF_LINE - (uint32_t)(offset & (BF_LINE - 1));
		const uint32_t n = len < room ? len : room;

		gather(a, r, offset, from, n);
		offset += n;
		from += n;
		len -= n;
	}
}

void bf_wc_flush(struct bf_agent *a)
{
	bf_agent_delay(a, a->view->cost->mmio);
	bf_wc_evict(bf_view_full(a->view), BF_WC_FLUSH);
}
