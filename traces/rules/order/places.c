/* What is kept by address: lines with the last store to each word, locations that order, GPUs' memory. */
#include <string.h>

#include "sim/grow.h"
#include "traces/rules/order/order_internal.h"

#define PLACES_MAX (1u << 14) /* more locations that order, and nothing is judged from there on */

#define KEY(number) ((const uint64_t[3]){ number })

struct bf_order_line *bf_order_line_at(const struct bf_order *o, uint64_t number)
{
	const uint64_t at = bf_number_get(&o->line_of, KEY(number));

	return at ? &o->lines[at - 1] : NULL;
}

static void forget_lines(struct bf_order *o)
{
	bf_number_map_free(&o->line_of);
	memset(o->lines, 0, o->nlines * sizeof(*o->lines));
	o->nlines = 0;
}

struct bf_order_line *bf_order_make_line(struct bf_order *o, uint64_t number)
{
	struct bf_order_line *l = bf_order_line_at(o, number);

	if (l)
		return l;
	if (o->nlines == BF_ORDER_LINES_MAX)
		forget_lines(o);
	if (BF_GROW(o->lines, o->lines_cap, o->nlines + 1) || bf_number_put(&o->line_of, KEY(number), o->nlines + 1)) {
		bf_order_no_memory(o);
		return NULL;
	}
	l = &o->lines[o->nlines++];
	l->number = number;
	return l;
}

struct bf_order_place *bf_order_place_at(const struct bf_order *o, uint64_t va)
{
	const uint64_t at = bf_number_get(&o->place_of, KEY(va));

	return at ? &o->places[at - 1] : NULL;
}

struct bf_order_place *bf_order_make_place(struct bf_order *o, uint64_t va)
{
	struct bf_order_place *p = bf_order_place_at(o, va);

	if (p)
		return p;
	if (o->nplaces == PLACES_MAX) {
		o->gave_up = true;
		return NULL;
	}
	if (BF_GROW(o->places, o->places_cap, o->nplaces + 1) || bf_number_put(&o->place_of, KEY(va), o->nplaces + 1)) {
		bf_order_no_memory(o);
		return NULL;
	}
	p = &o->places[o->nplaces++];
	p->va = va;
	return p;
}

void bf_order_note_region(struct bf_order *o, const struct bf_seen *e)
{
	uint32_t i;

	if (e->region.kind != BF_MEM_VRAM)
		return;
	if (BF_GROW(o->regions, o->regions_cap, o->nregions + 1)) {
		bf_order_no_memory(o);
		return;
	}
	for (i = o->nregions++; i && o->regions[i - 1].va > e->region.va; i--)
		o->regions[i] = o->regions[i - 1];
	o->regions[i] = (struct bf_order_region){ .va = e->region.va, .end = e->region.va + e->region.size };
}

bool bf_order_in_vram(const struct bf_order *o, uint64_t va)
{
	uint32_t low = 0, high = o->nregions;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;

		if (o->regions[mid].end <= va)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->nregions && o->regions[low].va <= va;
}
