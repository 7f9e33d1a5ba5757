/* A PE's copy engine: its part of the modelled machine, its user queues, and the events that it signals. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"
#include "drivers/backend/sdma_world.h"
#include "models/sdma/decode.h"
#include "models/sdma/sdma.h"

#define QUEUES_MAX 64u
#define EVENTS_MAX 64u

struct event {
	uint32_t id;
	uint64_t traps;
};

struct engine {
	struct bf_sdma *sdma;
	struct bf_sdma_queue *queue[QUEUES_MAX]; /* by the number that the driver knows it by */
	struct bf_region *bells;                 /* once it is mapped, for engines that ring */
	struct event event[EVENTS_MAX];
	uint32_t nevents;
};

static struct engine *engine_of(const struct bf_pe *pe)
{
	return pe->part[BF_DEVICE_AT_SDMA];
}

/* Events beyond the table go uncounted: it is for drivers that ask, which use few. */
static void trapped(void *arg, uint32_t id)
{
	struct engine *s = arg;
	uint32_t i = 0;

	while (i < s->nevents && s->event[i].id != id)
		i++;
	if (i == EVENTS_MAX)
		return;
	if (i == s->nevents)
		s->event[s->nevents++] = (struct event){ .id = id };
	s->event[i].traps++;
}

static int open_engine(struct bf_world *m, uint32_t index, const struct bf_world_opts *world)
{
	struct bf_pe *pe = &m->pe[index];
	struct engine *s;
	char name[16];
	struct bf_sdma_opts opts = {
		.name = name,
		.profile = world->device_opts[BF_DEVICE_AT_SDMA],
		.space = &pe->space,
		.ioas = &pe->ioas,
		.trap = trapped,
	};

	snprintf(name, sizeof(name), "sdma%u", index);
	s = calloc(1, sizeof(*s));
	pe->part[BF_DEVICE_AT_SDMA] = s;
	if (!s)
		return bf_fail(&m->sim->error, -ENOMEM, "no memory for a copy engine");
	m->engines++;
	opts.trap_arg = s;
	return bf_sdma_create(m->sim, &opts, &s->sdma);
}

static void close_engine(struct bf_pe *pe)
{
	struct engine *s = engine_of(pe);

	if (!s)
		return;
	if (s->bells)
		bf_ioas_unmap(&pe->ioas, s->bells->va, s->bells->size);
	if (s->sdma)
		bf_sdma_destroy(s->sdma);
	free(s);
	pe->part[BF_DEVICE_AT_SDMA] = NULL;
}

static int poll_engine(struct bf_pe *pe)
{
	const struct engine *s = engine_of(pe);

	return s ? bf_sdma_poll_doorbells(s->sdma) : 0;
}

/* A copy engine reaches the memory of its peers as well (PCIe or xGMI), at the addresses that those have for it. */
static int share(struct bf_world *m, uint32_t owner, struct bf_region *r)
{
	int rc = 0;

	for (uint32_t pe = 0; m->engines && !rc && pe < m->npes; pe++)
		if (pe != owner && engine_of(&m->pe[pe]))
			rc = bf_ioas_map_region(&m->pe[pe].ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE);
	return rc;
}

/* The engine's part of PE `pe`, NULL with the world's error set. */
static struct engine *find_engine(struct bf_world *m, uint32_t pe)
{
	if (pe < m->npes && engine_of(&m->pe[pe]))
		return engine_of(&m->pe[pe]);
	bf_fail(m->err, -ENODEV, "PE %u has no copy engine", pe);
	return NULL;
}

static struct bf_sdma_queue *find_queue(struct bf_world *m, uint32_t pe, uint32_t id)
{
	struct engine *s = find_engine(m, pe);

	if (s && id < QUEUES_MAX && s->queue[id])
		return s->queue[id];
	if (s)
		bf_fail(m->err, -ENOENT, "PE %u has no SDMA queue %u", pe, id);
	return NULL;
}

static int create_queue(struct bf_world *m, uint32_t pe, struct bf_sdma_ring *ring)
{
	struct engine *s = find_engine(m, pe);
	const struct bf_sdma_queue_opts opts = {
		.ring = ring->ring.va,
		.bytes = ring->ring.size,
		.rptr = ring->rptr.va,
		.wptr = ring->wptr.va,
		.wrapped = ring->wrapped,
		.strict = ring->strict,
	};
	struct bf_region *r;
	uint64_t offset = 0;
	uint32_t id = 0;
	int rc;

	if (!s)
		return -ENODEV;
	while (id < QUEUES_MAX && s->queue[id])
		id++;
	if (id == QUEUES_MAX)
		return bf_fail(m->err, -ENOSPC, "PE %u: all %u SDMA queues are in use", pe, QUEUES_MAX);
	rc = bf_sdma_queue_create(s->sdma, &opts, &s->queue[id]);
	if (rc) {
		s->queue[id] = NULL;
		return bf_fail(m->err, rc, "PE %u, SDMA queue %u: %s", pe, id, m->sim->error.text);
	}
	r = bf_sdma_doorbell(s->queue[id], &offset);
	if (!s->bells) {
		rc = bf_ioas_map_region(&m->pe[pe].ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE);
		if (rc)
			return bf_fail(m->err, rc, "PE %u: cannot map the doorbells: %s", pe, m->sim->error.text);
		s->bells = r;
	}
	ring->doorbell = r->bytes + offset;
	ring->doorbell_va = r->va + offset;
	ring->id = id;
	return bf_machine_expose(m, r);
}

static int update_queue(struct bf_world *m, uint32_t pe, uint32_t id, const struct bf_memory *ring)
{
	struct bf_sdma_queue *q = find_queue(m, pe, id);
	int rc;

	if (!q)
		return -ENOENT;
	rc = bf_sdma_queue_update(q, ring->ptr ? ring->va : 0, ring->ptr ? ring->size : 0);
	return rc ? bf_fail(m->err, rc, "PE %u, SDMA queue %u: %s", pe, id, m->sim->error.text) : 0;
}

static int destroy_queue(struct bf_world *m, uint32_t pe, uint32_t id)
{
	struct bf_sdma_queue *q = find_queue(m, pe, id);

	if (!q)
		return -ENOENT;
	bf_sdma_queue_destroy(q);
	engine_of(&m->pe[pe])->queue[id] = NULL;
	return 0;
}

static void fill_standing(struct bf_sdma_queue *q, struct bf_sdma_standing *out)
{
	struct bf_sdma_queue_info info;

	bf_sdma_queue_info(q, &info);
	*out = (struct bf_sdma_standing){
		.doorbell = info.doorbell,
		.fetched = info.fetched,
		.retired = info.retired,
		.packets = info.packets,
		.paused = info.paused,
		.reason = info.fault.reason,
	};
	if (info.waits)
		snprintf(out->waits, sizeof(out->waits), "%s", info.waits);
	if (info.fault.reason == BF_SDMA_MEMORY)
		snprintf(out->stopped, sizeof(out->stopped), "%s at 0x%" PRIx64 ", packet at %" PRIu64,
			 bf_sdma_reason_name(info.fault.reason), info.fault.address, info.fault.index);
	else if (info.fault.reason != BF_SDMA_RUNS)
		snprintf(out->stopped, sizeof(out->stopped), "%s: packet at %" PRIu64 ", dword %u = 0x%08x",
			 bf_sdma_reason_name(info.fault.reason), info.fault.index, info.fault.dword, info.fault.value);
}

static int queue_standing(struct bf_world *m, uint32_t pe, uint32_t id, struct bf_sdma_standing *out)
{
	struct bf_sdma_queue *q = find_queue(m, pe, id);

	if (!q)
		return -ENOENT;
	fill_standing(q, out);
	return 0;
}

static int count_traps(struct bf_world *m, uint32_t pe, uint32_t event, uint64_t *out)
{
	const struct engine *s = find_engine(m, pe);

	*out = 0;
	if (!s)
		return -ENODEV;
	for (uint32_t i = 0; i < s->nevents; i++)
		if (s->event[i].id == event)
			*out = s->event[i].traps;
	return 0;
}

static void describe_engine(struct bf_world *m, const struct bf_pe *pe, struct bf_queue_report *report)
{
	const struct engine *e = engine_of(pe);

	(void)m;
	for (uint32_t i = 0; e && i < QUEUES_MAX; i++) {
		struct bf_sdma_standing s;

		if (!e->queue[i])
			continue;
		fill_standing(e->queue[i], &s);
		if (s.retired == s.doorbell && !s.stopped[0] && !s.paused)
			continue;
		bf_report_queue(
		    report,
		    "%s SDMA queue %u: doorbell %" PRIu64 ", fetched %" PRIu64 ", retired %" PRIu64 "%s%s%s%s%s\n",
		    pe->name, i, s.doorbell, s.fetched, s.retired, s.paused ? "; paused" : "",
		    s.waits[0] ? "; waits for " : "", s.waits, s.stopped[0] ? "; stopped: " : "", s.stopped);
	}
}

extern const struct bf_sdma_world_ops bf_part_sdma_ops;
const struct bf_sdma_world_ops bf_part_sdma_ops = {
	.create = create_queue,
	.update = update_queue,
	.destroy = destroy_queue,
	.standing = queue_standing,
	.traps = count_traps,
};

extern const struct bf_part bf_part_sdma;
const struct bf_part bf_part_sdma = {
	.device = BF_DEVICE_SDMA,
	.kind = "sdma",
	.actor = "sdma",
	.open = open_engine,
	.close = close_engine,
	.poll = poll_engine,
	.share = share,
	.describe = describe_engine,
};
