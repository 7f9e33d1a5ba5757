/* The engine: creation, destruction, and what reports may ask. */
#include "models/sdma/engine_internal.h"

#include <errno.h>
#include <stdlib.h>

static const char *profile_fault(const struct bf_sdma_profile *p)
{
	if ((unsigned)p->gen >= BF_SDMA_GENS)
		return "gen";
	if (!p->copies || p->copies > BF_SDMA_MAX_COPIES)
		return "copies";
	if (!p->queues || p->queues > BF_SDMA_MAX_QUEUES)
		return "queues";
	if (p->fetch_bytes < 4 * BF_SDMA_MAX_FIXED || p->fetch_bytes % 4 || p->fetch_bytes > 1u << 20)
		return "fetch_bytes";
	return p->packet_ps ? NULL : "packet_ps";
}

static int attach(struct bf_sdma *dev, const struct bf_sdma_opts *opts)
{
	struct bf_region_opts bells = { .kind = BF_MEM_MMIO,
					.size = BF_SDMA_BELL_BYTES,
					.mmio = &bf_sdma_bell_ops,
					.owner = dev,
					.link = &dev->link };
	char name[40];
	int status;

	snprintf(name, sizeof(name), "%s.pcie", dev->name);
	status = bf_link_init(&dev->link, dev->sim, name, &dev->profile.link);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%s.dma", dev->name);
	status = bf_dma_port_init(&dev->dma, dev->sim, name, &dev->link, opts->ioas);
	if (status)
		return status;
	dev->dma.loops = true; /* an engine may ring: KFDTest, KFDQMTest.GPUDoorbellWrite */
	snprintf(name, sizeof(name), "%s.doorbells", dev->name);
	bells.name = name;
	return bf_region_create(opts->space, &bells, &dev->bells);
}

int bf_sdma_create(struct bf_sim *sim, const struct bf_sdma_opts *opts, struct bf_sdma **out)
{
	const struct bf_sdma_profile *profile = opts->profile ? opts->profile : &bf_sdma_v6;
	const char *bad = profile_fault(profile);
	struct bf_sdma *dev;
	char stream[48];
	int status;

	*out = NULL;
	if (bad)
		return bf_fail(&sim->error, -EINVAL, "%s: profile '%s': %s is out of range", opts->name, profile->name,
			       bad);
	dev = calloc(1, sizeof(*dev));
	if (dev) {
		dev->queues = calloc(profile->queues, sizeof(struct bf_sdma_queue *));
		dev->jobs = calloc(profile->copies, sizeof(*dev->jobs));
	}
	if (!dev || !dev->queues || !dev->jobs) {
		bf_sdma_destroy(dev);
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory", opts->name);
	}
	dev->sim = sim;
	dev->profile = *profile;
	dev->dialect = (struct bf_sdma_dialect){ .gen = profile->gen,
						 .wide_rect = profile->wide_rect,
						 .wide_count = profile->wide_count };
	dev->trap = opts->trap;
	dev->trap_arg = opts->trap_arg;
	snprintf(dev->name, sizeof(dev->name), "%s", opts->name);
	snprintf(stream, sizeof(stream), "sdma:%s", dev->name);
	bf_rng_init(&dev->rng, sim->seed, stream);
	bf_sdma_jobs_init(dev);
	dev->actor = bf_stream_actor(&sim->rec, "device", dev->name);
	status = dev->actor ? attach(dev, opts) : bf_fail(&sim->error, -ENOMEM, "%s: no memory", opts->name);
	if (status) {
		bf_sdma_destroy(dev);
		return status;
	}
	*out = dev;
	return 0;
}

void bf_sdma_destroy(struct bf_sdma *dev)
{
	if (!dev)
		return;
	dev->going = true;
	for (uint32_t i = 0; dev->queues && i < dev->profile.queues; i++)
		if (dev->queues[i])
			bf_sdma_queue_destroy(dev->queues[i]);
	if (dev->dma.rings)
		bf_dma_port_fini(&dev->dma); /* no read comes back from here on */
	while (dev->zombies) {
		struct bf_sdma_queue *q = dev->zombies;

		dev->zombies = q->next_zombie;
		q->op_busy = q->ring.fetching = q->ib.fetching = false;
		bf_sdma_queue_bury(q);
	}
	if (dev->bells)
		bf_region_destroy(dev->bells);
	if (dev->link.mmio)
		bf_link_fini(&dev->link);
	free(dev->queues);
	free(dev->jobs);
	free(dev);
}

void bf_sdma_queue_info(struct bf_sdma_queue *q, struct bf_sdma_queue_info *out)
{
	*out = (struct bf_sdma_queue_info){
		.id = q->id,
		.doorbell = q->published,
		.fetched = q->ring.fetched,
		.retired = q->retired,
		.copies = q->running,
		.packets = q->count.packets,
		.bytes = q->count.bytes,
		.paused = q->paused,
		.waits = q->waits,
		.fault = q->fault,
	};
}
