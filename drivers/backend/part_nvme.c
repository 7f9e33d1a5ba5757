/* A PE's NVMe controller: its part of the modelled machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "drivers/backend/machine_internal.h"
#include "drivers/backend/nvme_world.h"
#include "models/nvme/nvme.h"

/* The controller of a PE, and how much of its memory buffer was handed out. */
struct ssd {
	struct bf_nvme *nvme;
	uint64_t cmb_used;
};

static struct ssd *ssd_of(const struct bf_pe *pe)
{
	return pe->part[BF_DEVICE_AT_NVME];
}

static int open_ssd(struct bf_world *m, uint32_t index, const struct bf_world_opts *world)
{
	const struct bf_nvme_world_opts none = { 0 }, *given = world->device_opts[BF_DEVICE_AT_NVME];
	const struct bf_nvme_world_opts *o = given ? given : &none;
	struct bf_pe *pe = &m->pe[index];
	struct ssd *ssd = calloc(1, sizeof(*ssd));
	char name[16];
	const struct bf_nvme_opts opts = {
		.name = name,
		.profile = o->profile,
		.space = &pe->space,
		.ioas = &pe->ioas,
		.ns = o->ns,
		.nns = o->ns ? 1 : 0,
		.cmb_bytes = o->cmb_bytes,
		.media_errors = o->media_errors,
	};

	pe->part[BF_DEVICE_AT_NVME] = ssd;
	if (!ssd)
		return bf_fail(&m->sim->error, -ENOMEM, "no memory for an NVMe controller");
	snprintf(name, sizeof(name), "ssd%u", index);
	return bf_nvme_create(m->sim, &opts, &ssd->nvme);
}

static void close_ssd(struct bf_pe *pe)
{
	struct ssd *ssd = ssd_of(pe);

	if (ssd && ssd->nvme)
		bf_nvme_destroy(ssd->nvme);
	free(ssd);
	pe->part[BF_DEVICE_AT_NVME] = NULL;
}

static int expose_ssd(struct bf_world *m, struct bf_pe *pe)
{
	const struct ssd *ssd = ssd_of(pe);

	return ssd ? bf_machine_expose(m, bf_nvme_bar0(ssd->nvme)) : 0;
}

/* The first look fills the registers in, before anybody loads them. */
static int poll_ssd(struct bf_pe *pe)
{
	const struct ssd *ssd = ssd_of(pe);

	return ssd ? bf_nvme_poll_bar(ssd->nvme) : 0;
}

struct describe {
	struct bf_queue_report *report;
	const char *pe;
};

/* One that has work left. The driver that waits may have forgotten the doorbell, so also one that it never rang. */
static void describe_queue(void *arg, const struct bf_nvme_queue_info *q)
{
	struct describe *d = arg;

	if (q->sq_tail == q->sq_head && !q->executing && !q->held && !q->errors && q->cq_tail == q->cq_head)
		return;
	bf_report_queue(d->report,
			"%s SQ %u: tail doorbell %u, fetched up to %u of %u, executing %u, completed %" PRIu64
			" (%" PRIu64 " with an error); CQ %u: posted up to %u, head doorbell %u of %u, held back %u\n",
			d->pe, q->qid, q->sq_tail, q->sq_head, q->sq_size, q->executing, q->completed, q->errors,
			q->cqid, q->cq_tail, q->cq_head, q->cq_size, q->held);
}

static void describe_ssd(struct bf_world *m, const struct bf_pe *pe, struct bf_queue_report *report)
{
	struct describe d = { .report = report, .pe = pe->name };

	(void)m;
	if (ssd_of(pe))
		bf_nvme_each_queue(ssd_of(pe)->nvme, describe_queue, &d);
}

static int alloc_cmb(struct bf_world *m, uint32_t pe, uint64_t size, const char *name, struct bf_memory *out)
{
	struct ssd *p = ssd_of(&m->pe[pe]);
	struct bf_region *r = p ? bf_nvme_cmb(p->nvme) : NULL;

	size = (size + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
	if (!r || size > r->size - p->cmb_used)
		return bf_fail(m->err, r ? -ENOSPC : -ENODEV,
			       "PE %u, '%s' of %" PRIu64 " bytes in the controller memory buffer: it has %" PRIu64
			       " bytes left",
			       pe, name, size, r ? r->size - p->cmb_used : 0);
	*out = (struct bf_memory){ .ptr = r->bytes + p->cmb_used, .va = r->va + p->cmb_used, .size = size };
	p->cmb_used += size;
	return 0;
}

static int map_bar(struct bf_world *m, uint32_t pe, struct bf_nvme_bar *out)
{
	struct bf_region *r;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!ssd_of(&m->pe[pe]))
		return bf_fail(m->err, -ENODEV, "PE %u has no NVMe controller", pe);
	r = bf_nvme_bar0(ssd_of(&m->pe[pe])->nvme);
	*out = (struct bf_nvme_bar){ .regs = r->bytes, .size = r->size };
	return 0;
}

extern const struct bf_nvme_world_ops bf_part_nvme_ops;
const struct bf_nvme_world_ops bf_part_nvme_ops = { .bar = map_bar };

extern const struct bf_part bf_part_nvme;
const struct bf_part bf_part_nvme = {
	.device = BF_DEVICE_NVME,
	.kind = "nvme",
	.actor = "ssd",
	.open = open_ssd,
	.close = close_ssd,
	.expose = expose_ssd,
	.poll = poll_ssd,
	.alloc = alloc_cmb,
	.describe = describe_ssd,
};
