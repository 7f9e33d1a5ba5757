/* A PE's NVMe controller: its part of the modelled machine. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "drivers/backend/machine_internal.h"

static int open_ssd(struct bf_world *m, uint32_t index, const struct bf_world_opts *world)
{
	struct bf_pe *pe = &m->pe[index];
	char name[16];
	const struct bf_nvme_opts opts = {
		.name = name,
		.profile = world->nvme,
		.space = &pe->space,
		.ioas = &pe->ioas,
		.ns = world->nvme_ns,
		.nns = world->nvme_ns ? 1 : 0,
		.cmb_bytes = world->nvme_cmb,
		.media_errors = world->nvme_errors,
	};

	snprintf(name, sizeof(name), "ssd%u", index);
	return bf_nvme_create(m->sim, &opts, &pe->ssd);
}

static void close_ssd(struct bf_pe *pe)
{
	if (pe->ssd)
		bf_nvme_destroy(pe->ssd);
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
	if (pe->ssd)
		bf_nvme_each_queue(pe->ssd, describe_queue, &d);
}

int bf_machine_alloc_cmb(struct bf_world *m, uint32_t pe, uint64_t size, const char *name, struct bf_memory *out)
{
	struct bf_pe *p = &m->pe[pe];
	struct bf_region *r = p->ssd ? bf_nvme_cmb(p->ssd) : NULL;

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

int bf_machine_nvme_bar(struct bf_world *m, uint32_t pe, struct bf_nvme_bar *out)
{
	struct bf_region *r;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!m->pe[pe].ssd)
		return bf_fail(m->err, -ENODEV, "PE %u has no NVMe controller", pe);
	r = bf_nvme_bar0(m->pe[pe].ssd);
	*out = (struct bf_nvme_bar){ .regs = r->bytes, .size = r->size };
	return 0;
}

const struct bf_part bf_part_nvme = {
	.device = BF_DEVICE_NVME,
	.kind = "nvme",
	.open = open_ssd,
	.close = close_ssd,
	.describe = describe_ssd,
};
