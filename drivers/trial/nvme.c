/* NVMe queues for trials, made by the host side of our driver. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/nvme/host.h"
#include "drivers/trial/nvme.h"
#include "drivers/trial/trial_internal.h"

/* The controller of a PE. */
struct controller {
	struct bf_nvme_drv_host *host; /* NULL: it is not up */
	uint32_t queues;
};

static void close_controllers(struct bf_trial *t, void *state, bool ended)
{
	struct controller *c = state;

	for (uint32_t pe = 0; pe < t->npes; pe++) {
		if (ended)
			bf_nvme_drv_host_close(c[pe].host);
		else
			bf_nvme_drv_host_abandon(c[pe].host);
	}
}

int bf_trial_nvme(struct bf_trial *t, uint32_t pe, const struct bf_trial_nvme_opts *opts)
{
	const struct bf_trial_nvme_opts zero = { 0 }, *o = opts ? opts : &zero;
	const struct bf_nvme_drv_host_opts host = {
		.nqps = o->queues ? o->queues : 1,
		.entries = o->entries,
		.place = o->place,
	};

	struct controller *c = bf_trial_part(t, close_controllers);

	if (!c)
		c = bf_trial_add_part(t, close_controllers, t->npes * sizeof(*c));
	if (!c)
		return bf_trial_fail(t, -ENOMEM, "no memory for queues");
	if (pe >= t->npes || c[pe].host)
		return bf_trial_fail(t, -EINVAL, "PE %u %s", pe,
				     pe < t->npes ? "has its NVMe queues already" : "is not there");
	if (bf_nvme_drv_host_open(t->be, t->world, pe, &host, &t->err, &c[pe].host))
		return bf_trial_fail(t, t->err.code ? t->err.code : -EIO, "NVMe queues: %s", t->err.text);
	c[pe].queues = host.nqps;
	return 0;
}

int bf_trial_nvme_queue(struct bf_trial *t, uint32_t pe, uint32_t i, struct bf_trial_nvme_queue *out)
{
	const struct controller *c = bf_trial_part(t, close_controllers);
	const struct bf_nvme_drv_ctrl *ctrl;
	const struct bf_nvme_drv_qp *qp;

	memset(out, 0, sizeof(*out));
	if (!c || pe >= t->npes || !c[pe].host || i >= c[pe].queues)
		return bf_trial_fail(t, -EINVAL, "PE %u has no NVMe queue pair %u", pe, i);
	ctrl = bf_nvme_drv_host_ctrl(c[pe].host);
	qp = &bf_nvme_drv_host_qps(c[pe].host)[i];
	*out = (struct bf_trial_nvme_queue){
		.id = qp->sq.no,
		.entries = qp->sq.entries,
		.sq = qp->sq.vaddr,
		.cq = qp->cq.vaddr,
		.sq_tail = qp->sq.db,
		.cq_head = qp->cq.db,
		.nsid = ctrl->nsid,
		.block_bytes = 1u << ctrl->lba_shift,
		.blocks = ctrl->nsze,
	};
	return 0;
}
