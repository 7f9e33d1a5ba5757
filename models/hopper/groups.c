#include "models/hopper/groups_internal.h"

void bf_groups_add(struct bf_groups *g, struct bf_group_item *item, uint32_t slot, uint32_t lanes)
{
	struct bf_groups_warp *w = &g->warp[slot];

	item->lanes = lanes;
	item->warp = slot;
	item->read = false;
	for (uint32_t left = lanes; left; left &= left - 1)
		item->group[__builtin_ctz(left)] = w->open[__builtin_ctz(left)];
	item->next = w->items;
	item->link = &w->items;
	if (item->next)
		item->next->link = &item->next;
	w->items = item;
}

/* Group numbers wrap: what counts is the distance. */
static bool holds_up(const struct bf_group_item *item, const struct bf_copy_wait *w)
{
	if (w->read && item->read)
		return false;
	for (uint32_t left = item->lanes & w->lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		if ((int32_t)(item->group[lane] - w->before[lane]) < 0)
			return true;
	}
	return false;
}

static bool is_over(const struct bf_groups_warp *gw, const struct bf_copy_wait *w)
{
	for (const struct bf_group_item *i = gw->items; i; i = i->next)
		if (holds_up(i, w))
			return false;
	return true;
}

static void end_wait(struct bf_event *ev)
{
	struct bf_copy_wait *w = BF_CONTAINER_OF(ev, struct bf_copy_wait, event);

	w->done(w);
}

static void check_waits(struct bf_groups *g, uint32_t slot)
{
	struct bf_copy_wait **link = &g->warp[slot].waits, *w;

	while ((w = *link)) {
		if (!is_over(&g->warp[slot], w)) {
			link = &w->next;
			continue;
		}
		*link = w->next;
		bf_sim_after(g->sim, &w->event, w->cost_ps);
	}
}

void bf_groups_read(struct bf_groups *g, struct bf_group_item *item)
{
	item->read = true;
	if (item->lanes)
		check_waits(g, item->warp);
}

void bf_groups_done(struct bf_groups *g, struct bf_group_item *item)
{
	if (!item->lanes)
		return;
	*item->link = item->next;
	if (item->next)
		item->next->link = item->link;
	item->lanes = 0;
	check_waits(g, item->warp);
}

uint32_t bf_groups_commit(struct bf_groups *g, uint32_t slot, uint32_t lanes)
{
	struct bf_groups_warp *w = &g->warp[slot];
	const uint32_t first = lanes ? w->open[__builtin_ctz(lanes)] : 0;

	for (uint32_t left = lanes; left; left &= left - 1)
		w->open[__builtin_ctz(left)]++;
	return first;
}

void bf_groups_wait(struct bf_groups *g, struct bf_copy_wait *w, bool open, uint64_t cost_ps)
{
	const struct bf_groups_warp *gw = &g->warp[w->slot];

	for (uint32_t left = w->lanes; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		w->before[lane] = open ? gw->open[lane] + 1 : gw->open[lane] - w->keep;
	}
	w->sim = g->sim;
	w->cost_ps = cost_ps;
	bf_event_init(&w->event, end_wait);
	if (w->killed || is_over(gw, w)) {
		bf_sim_after(g->sim, &w->event, cost_ps);
		return;
	}
	w->next = g->warp[w->slot].waits;
	g->warp[w->slot].waits = w;
}

void bf_groups_forget(struct bf_groups *g, uint32_t first, uint32_t warps)
{
	for (uint32_t s = first; s < first + warps; s++) {
		struct bf_groups_warp *w = &g->warp[s];

		for (struct bf_group_item *i = w->items; i; i = i->next)
			i->lanes = 0;
		*w = (struct bf_groups_warp){ .items = NULL };
	}
}

void bf_groups_kill(struct bf_groups *g)
{
	for (uint32_t s = 0; s < BF_ARRAY_LEN(g->warp); s++) {
		struct bf_copy_wait *next;

		for (struct bf_copy_wait *w = g->warp[s].waits; w; w = next) {
			next = w->next;
			w->killed = true;
			bf_sim_after(g->sim, &w->event, 0);
		}
		g->warp[s].waits = NULL;
	}
}
