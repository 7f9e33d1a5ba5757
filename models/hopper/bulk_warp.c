/* Bulk copies as a warp's program has them. */
#include "models/hopper/bulk.h"
#include "models/hopper/program.h"

static void until(struct bf_warp *w, uint64_t when_ps)
{
	if (when_ps > bf_agent_now(w->agent))
		bf_agent_delay(w->agent, when_ps - bf_agent_now(w->agent));
}

void bf_warp_copy(struct bf_warp *w, struct bf_bulk_copy *copy)
{
	bf_agent_sync(w->agent);
	copy->warp = w->warp;
	copy->lane = (uint32_t)__builtin_ctz(w->active);
	bf_bulk_issue(w->cta, copy);
	until(w, copy->next_ps);
}

struct group_wait {
	struct bf_copy_wait wait;
	struct bf_warp *warp;
	bool over;
};

static void wait_over(struct bf_copy_wait *wait)
{
	struct group_wait *g = BF_CONTAINER_OF(wait, struct group_wait, wait);

	g->over = true;
	bf_agent_unpark(g->warp->agent);
}

bool bf_warp_copy_wait(struct bf_warp *w, uint32_t keep, bool read)
{
	struct group_wait g = {
		.wait = { .warp = w->warp, .lanes = w->active, .keep = keep, .read = read, .done = wait_over },
		.warp = w,
	};

	bf_agent_sync(w->agent);
	bf_bulk_wait(w->cta, &g.wait);
	while (!g.over)
		bf_agent_park(w->agent, "a group of bulk copies");
	return !g.wait.killed;
}

void bf_warp_copy_fence(struct bf_warp *w)
{
	bf_agent_sync(w->agent);
	until(w, bf_bulk_fence(w->cta, w->warp));
}
