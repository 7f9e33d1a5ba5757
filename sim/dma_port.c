/* A device's DMA port: what it has under way, and what of it is due next. */
#include <errno.h>
#include <string.h>

#include "sim/dma_internal.h"
#include "sim/pool.h"
#include "sim/stats.h"
#include "sim/train.h"

static void on_due(struct bf_event *ev);
static void ahead(const struct bf_event *ev, bool first);

static int attach_stats(struct bf_dma_port *p, const char *name)
{
	if (bf_stats_attach_part(p->sim, p, name, "reads", "", &p->reads) ||
	    bf_stats_attach_part(p->sim, p, name, "writes", "", &p->writes))
		return -ENOMEM;
	return bf_stats_attach_part(p->sim, p, name, "faults", "", &p->ioas->faults);
}

int bf_dma_port_init(struct bf_dma_port *p, struct bf_sim *sim, const char *name, struct bf_link *link,
		     struct bf_ioas *ioas)
{
	struct bf_dma_rings *r = bf_pool_take(sim, sizeof(*r));
	uint32_t actor = r ? bf_stream_actor(&sim->rec, "dma", name) : 0;
	char stream[64] = "dma:";

	if (!actor) {
		bf_pool_give(sim, r, sizeof(*r));
		return bf_fail(&sim->error, -ENOMEM, "DMA port '%s': no memory", name);
	}
	strncat(stream, name, sizeof(stream) - 5);
	bf_rng_init(&r->rng, sim->seed, stream);
	bf_event_init(&r->event, on_due);
	bf_sim_look_ahead(sim, on_due, ahead);
	r->port = p;
	r->ioas = ioas;
	for (int i = 0; i < BF_DMA_DUES; i++)
		r->due[i] = BF_NEVER;
	*p = (struct bf_dma_port){ .sim = sim, .link = link, .ioas = ioas, .actor = actor, .rings = r };
	if (attach_stats(p, name)) {
		bf_dma_port_fini(p);
		return bf_fail(&sim->error, -ENOMEM, "DMA port '%s': no memory", name);
	}
	return 0;
}

void bf_dma_port_fini(struct bf_dma_port *p)
{
	struct bf_dma_rings *r = p->rings;

	if (r) {
		if (r->far)
			r->far->far->cancel(r->far, p);
		bf_stats_detach(p->sim, p);
		bf_sim_cancel(p->sim, &r->event);
		for (int i = 0; i < BF_DMA_LANES; i++)
			bf_pool_give(p->sim, r->lanes[i].buf, r->lanes[i].cap);
		bf_pool_give(p->sim, r->ops, r->cap * sizeof(*r->ops));
		bf_pool_give(p->sim, r, sizeof(*r));
	}
	*p = (struct bf_dma_port){ 0 };
}

int bf_dma_check_rest(struct bf_dma_port *p, uint64_t iova, uint64_t len, uint32_t access)
{
	while (len) {
		struct bf_region *region;
		void *host;
		int64_t run = bf_ioas_lookup(p->ioas, iova, len, access, p->actor, &host, &region);

		if (run < 0)
			return -EFAULT;
		if (bf_dma_is_own(p, region))
			return (int)bf_ioas_fault(p->ioas, iova, len, access, p->actor, BF_IOMMU_OWN);
		iova += (uint64_t)run;
		len -= (uint64_t)run;
	}
	return 0;
}

void BF_NOINLINE bf_dma_tell_cache(struct bf_dma_port *p, struct bf_region *region, const void *host, uint64_t iova,
				   uint32_t len, bool write)
{
	const struct bf_visitor by = { .ioas = p->ioas, .iova = iova, .actor = p->actor };
	struct bf_cache *c = region->cache;

	if (c)
		(write ? c->ops->landing : c->ops->sampled)(c, region, bf_va(region, host) - region->va, len, &by);
}

/* What is due first, by the order of the lanes at equal times; `*when` gets its time, BF_NEVER if nothing is due. */
static int earliest(const struct bf_dma_rings *r, uint64_t *when)
{
	uint64_t least = r->due[0];
	int first = 0;

	for (int i = 1; i < BF_DMA_DUES; i++) {
		first = r->due[i] < least ? i : first;
		least = r->due[i] < least ? r->due[i] : least;
	}
	*when = least;
	return first;
}

static void ahead(const struct bf_event *ev, bool first)
{
	const struct bf_dma_rings *r = BF_CONTAINER_OF(ev, struct bf_dma_rings, event);
	uint64_t when;
	int which = earliest(r, &when);

	if (which < BF_DMA_LANES)
		bf_dma_land_ahead(r, which, first);
	else
		bf_dma_read_ahead(r, which, first);
	if (first) {
		__builtin_prefetch(r->port, 1);
		__builtin_prefetch(r->ioas, 1);
	} else {
		__builtin_prefetch(r->port->link, 1);
		__builtin_prefetch((const char *)r->port->link + BF_LINE, 1);
	}
}

static void on_due(struct bf_event *ev)
{
	struct bf_dma_rings *r = BF_CONTAINER_OF(ev, struct bf_dma_rings, event);
	struct bf_dma_port *p = r->port;
	uint64_t when;
	int which = earliest(r, &when);

	r->busy = true;
	do {
		if (which < BF_DMA_LANES)
			bf_dma_land(p, which);
		else if (which == BF_DMA_DUE_READ_AT_MEMORY)
			bf_dma_read_at_memory(p);
		else
			bf_dma_read_returned(p);
		which = earliest(r, &when);
		/* On a link where nothing takes time, what is due now goes on in this event. */
	} while (when != BF_NEVER &&
		 ((!p->link->profile.latency_ps && bf_sim_again(p->sim, when)) || bf_sim_step(p->sim, ev, when)));
	r->busy = false;
}
