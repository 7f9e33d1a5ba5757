#include "drivers/nvme/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/nvme_world.h"
#include "models/gpu/prm.h"
#include "models/nvme/prm.h"

/* libnvm's: what fits into a page. Admin commands go one at a time, so the ring only has to wrap now and then. */
#define ADMIN_SQ_ENTRIES 64u
#define ADMIN_CQ_ENTRIES 256u
#define SERVICE_ENTRIES 64u

struct bf_nvme_drv_host {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_error *err;
	const struct bf_nvme_drv_kernels *kernels;
	struct bf_nvme_drv_host_opts opts; /* defaults filled in */
	uint32_t pe;
	struct bf_nvme_drv_ctrl *ctrl;
	struct bf_nvme_drv_boot *boot;
	struct bf_nvme_drv_qp *qps; /* [nqps + 1] */
	struct bf_nvme_drv_share *shares;
};

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

int bf_nvme_drv_host_room(struct bf_nvme_drv_host *h, enum bf_placement place, uint64_t bytes, const char *name,
			  struct bf_nvme_drv_room *out)
{
	const uint64_t page = h->opts.page;
	struct bf_memory m;
	uint64_t skip;
	int rc;

	if (!bytes) {
		*out = (struct bf_nvme_drv_room){ 0 };
		return 0;
	}
	/* The backend aligns to 4 KiB. */
	rc = h->be->alloc(h->world, h->pe, place, bytes + (page > 4096 ? page : 0), name, &m);
	if (rc)
		return rc;
	skip = round_up(m.va, page) - m.va;
	*out = (struct bf_nvme_drv_room){ .vaddr = (uint8_t *)m.ptr + skip, .ioaddr = m.va + skip, .bytes = bytes };
	return 0;
}

static int check_options(struct bf_nvme_drv_host *h)
{
	struct bf_nvme_drv_host_opts *o = &h->opts;

	if (!o->entries)
		o->entries = 64;
	if (!o->cq_entries)
		o->cq_entries = o->entries;
	if (!o->page)
		o->page = 4096;
	if (!o->timeout_ns)
		o->timeout_ns = 1000000000u;
	if (o->entries < 2 || o->entries > 65536 || o->cq_entries < 2 || o->cq_entries > 65536)
		return bf_fail(h->err, -EINVAL, "queues of %u and %u entries: must be 2 to 65536", o->entries,
			       o->cq_entries);
	if (o->page < 4096 || o->page > 1u << 27 || o->page & (o->page - 1))
		return bf_fail(h->err, -EINVAL, "pages of %u bytes: must be a power of two from 4096", o->page);
	if (o->nqps < 1 || o->nqps > 65534)
		return bf_fail(h->err, -EINVAL, "%u queue pairs: must be 1 to 65534", o->nqps);
	return 0;
}

/* Controller, boot and queue pairs, one behind the other. */
static int alloc_state(struct bf_nvme_drv_host *h)
{
	const uint64_t boot = round_up(sizeof(struct bf_nvme_drv_ctrl), 64);
	const uint64_t qps = boot + round_up(sizeof(struct bf_nvme_drv_boot), 64);
	const uint64_t shares = qps + (h->opts.nqps + 1ull) * sizeof(struct bf_nvme_drv_qp);
	const uint64_t each = h->opts.cids ? round_up(h->opts.entries * 4ull, 64) + h->opts.cids * 8ull : 0;
	const uint64_t end =
	    shares + (h->opts.cids ? h->opts.nqps * (sizeof(struct bf_nvme_drv_share) + round_up(each, 64)) : 0);
	struct bf_memory m;
	uint8_t *base, *tables;
	int rc = h->be->alloc(h->world, h->pe, BF_PLACE_HOST, end, "nvme state", &m);

	if (rc)
		return rc;
	base = m.ptr;
	h->ctrl = (struct bf_nvme_drv_ctrl *)(void *)base;
	h->boot = (struct bf_nvme_drv_boot *)(void *)(base + boot);
	h->qps = (struct bf_nvme_drv_qp *)(void *)(base + qps);
	if (!h->opts.cids)
		return 0;
	h->shares = (struct bf_nvme_drv_share *)(void *)(base + shares);
	tables = base + shares + h->opts.nqps * sizeof(struct bf_nvme_drv_share);
	for (uint32_t i = 0; i < h->opts.nqps; i++, tables += round_up(each, 64)) {
		h->shares[i] = (struct bf_nvme_drv_share){
			.cq_phase = 1,
			.filled = (uint32_t *)(void *)tables,
			.done = (uint64_t *)(void *)(tables + round_up(h->opts.entries * 4ull, 64)),
			.cids = h->opts.cids,
		};
		h->qps[i].share = &h->shares[i];
	}
	return 0;
}

static void set_queue(struct bf_nvme_drv_queue *q, uint32_t no, uint32_t entries, const struct bf_nvme_drv_room *rings,
		      uint64_t offset)
{
	q->no = no;
	q->entries = entries;
	q->vaddr = rings->vaddr + offset;
	q->ioaddr = rings->ioaddr + offset;
}

/* Each ring begins a page: the controller takes no other. */
static int alloc_rings(struct bf_nvme_drv_host *h)
{
	const struct bf_nvme_drv_host_opts *o = &h->opts;
	const uint64_t sq = round_up((uint64_t)o->entries * BF_NVME_DRV_SQE, o->page);
	const uint64_t cq = round_up((uint64_t)o->cq_entries * BF_NVME_DRV_CQE, o->page);
	struct bf_nvme_drv_room scratch;
	const uint64_t own = round_up(SERVICE_ENTRIES * BF_NVME_DRV_SQE, o->page);
	const uint64_t admin = round_up((uint64_t)ADMIN_SQ_ENTRIES * BF_NVME_DRV_SQE, o->page);
	enum bf_placement place = o->place;
	struct bf_nvme_drv_room io, host;
	int rc;

	if (o->bugs & BF_NVME_DRV_BUG_CACHED_SQ && place == BF_PLACE_GPU_UC)
		place = BF_PLACE_GPU_CACHED;
	rc = bf_nvme_drv_host_room(h, place, o->nqps * (sq + cq), "nvme queues", &io);
	if (!rc) /* admin pair, own pair, shadow doorbells and EventIdx */
		rc = bf_nvme_drv_host_room(h, BF_PLACE_HOST, 2 * admin + 2 * own + 2ull * o->page, "nvme admin", &host);
	if (!rc)
		rc = bf_nvme_drv_host_room(h, o->data, 2ull * o->page, "nvme identify", &scratch);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < o->nqps; i++) {
		set_queue(&h->qps[i].sq, i + 1, o->entries, &io, i * sq);
		set_queue(&h->qps[i].cq, i + 1, o->cq_entries, &io, o->nqps * sq + i * cq);
		h->qps[i].sq.device = h->qps[i].cq.device = o->place == BF_PLACE_CMB;
		if (o->bugs & BF_NVME_DRV_BUG_QUEUE_UNMAPPED)
			h->qps[i].sq.ioaddr = o->page + i * sq;
	}
	set_queue(&h->ctrl->admin.sq, 0, ADMIN_SQ_ENTRIES, &host, 0);
	set_queue(&h->ctrl->admin.cq, 0, ADMIN_CQ_ENTRIES, &host, admin);
	set_queue(&h->qps[o->nqps].sq, o->nqps + 1, SERVICE_ENTRIES, &host, 2 * admin);
	set_queue(&h->qps[o->nqps].cq, o->nqps + 1, SERVICE_ENTRIES, &host, 2 * admin + own);
	h->ctrl->scratch = scratch;
	if (o->dbbuf) {
		h->boot->dbbuf = (uint32_t *)(void *)(host.vaddr + 2 * admin + 2 * own);
		h->boot->dbbuf_ioaddr = host.ioaddr + 2 * admin + 2 * own;
	}
	if (o->place == BF_PLACE_CMB)
		h->boot->cmb = io.ioaddr;
	return 0;
}

/* Memory in which a GPU does not see by itself what DMA has written. */
static bool hidden(enum bf_placement place)
{
	return place == BF_PLACE_GPU_CACHED || place == BF_PLACE_GPU_UC;
}

/* The register that makes DMA's writes to VRAM visible, where that is needed. */
static int find_invalidate(struct bf_nvme_drv_host *h)
{
	uint32_t type = h->opts.bugs & BF_NVME_DRV_BUG_FLUSH_TYPE ? BF_GPU_FLUSH_LEGACY : BF_GPU_FLUSH_HEAVYWEIGHT;
	void *regs;
	int rc;

	if (!hidden(h->opts.place) && !hidden(h->opts.data))
		return 0;
	h->ctrl->data_hidden = !hidden(h->opts.place);
	if (!h->be->gpu_regs)
		return bf_fail(h->err, -ENOTSUP, "backend %s has no GPU registers", h->be->name);
	rc = h->be->gpu_regs(h->world, h->pe, &regs);
	if (rc)
		return rc;
	h->ctrl->invalidate = (uint32_t *)(void *)((uint8_t *)regs + BF_GPU_GCVM_INVALIDATE_ENG17_REQ);
	h->ctrl->invalidate_value =
	    (uint32_t)(BF_FIELD_PREP(BF_GPU_INVALIDATE_FLUSH_TYPE, type) |
		       BF_FIELD_PREP(BF_GPU_INVALIDATE_VMIDS, h->opts.bugs & BF_NVME_DRV_BUG_FLUSH_VMID ? 0 : 0xffff));
	return 0;
}

/* Runs one thread of the CPU to its end; the controller's answers stand in h->ctrl. */
static int run_one(struct bf_nvme_drv_host *h, bf_kernel_fn *kernel)
{
	struct bf_world_result r;
	char buf[32];
	int rc = h->be->launch_cpu(h->world, h->pe, 1, kernel, h->boot);

	if (!rc)
		rc = h->be->run(h->world, &r);
	if (rc)
		return rc;
	if (r.end != BF_END_DONE)
		return bf_fail(h->err, -ETIMEDOUT, "NVMe %s (%u) did not come to an end\n%s",
			       bf_nvme_drv_step_name(h->ctrl->step), h->ctrl->step_index, r.report);
	if (h->ctrl->failure == BF_NVME_DRV_UNSUITED && h->ctrl->step == BF_NVME_DRV_STEP_QUEUE_COUNT)
		return bf_fail(h->err, -ENOSPC, "the NVMe controller grants %u I/O queue pairs; %u are needed",
			       h->ctrl->step_index, h->boot->nqps);
	if (h->ctrl->failure == BF_NVME_DRV_UNSUITED && h->ctrl->step == BF_NVME_DRV_STEP_PAGE_SIZE)
		return bf_fail(h->err, -EINVAL,
			       "the NVMe controller takes pages of %u to %u bytes and queues of at most %u entries",
			       h->ctrl->mpsmin, 4096u << BF_FIELD_GET(BF_NVME_CAP_MPSMAX, h->ctrl->cap),
			       (unsigned)BF_FIELD_GET(BF_NVME_CAP_MQES, h->ctrl->cap) + 1);
	if (h->ctrl->failure)
		return bf_fail(h->err, h->ctrl->failure == BF_NVME_DRV_TIMEOUT ? -ETIMEDOUT : -EIO,
			       "NVMe %s (%u) failed: %s; CSTS 0x%x%s%.*s", bf_nvme_drv_step_name(h->ctrl->step),
			       h->ctrl->step_index, bf_nvme_drv_failure_text(h->ctrl->failure, buf, sizeof(buf)),
			       h->ctrl->csts, r.report[0] ? "; " : "", (int)strcspn(r.report, "\n"), r.report);
	return 0;
}

static int bring_up(struct bf_nvme_drv_host *h)
{
	const struct bf_nvme_world_ops *world = bf_nvme_world(h->be);
	struct bf_nvme_bar bar;
	int rc;

	h->kernels = bf_nvme_drv_kernels(h->be->platform);
	if (!h->kernels || !h->be->launch_cpu || !world)
		return bf_fail(h->err, -ENOTSUP, "backend %s has no NVMe controller, or no CPU threads to drive it",
			       h->be->name);
	rc = world->bar(h->world, h->pe, &bar);
	if (rc)
		return rc;
	rc = alloc_state(h);
	if (!rc)
		rc = alloc_rings(h);
	if (!rc)
		rc = find_invalidate(h);
	if (rc)
		return rc;
	h->ctrl->regs = bar.regs;
	h->ctrl->regs_bytes = bar.size;
	h->ctrl->bugs = h->opts.bugs;
	h->ctrl->timeout_ns = h->opts.timeout_ns;
	h->ctrl->page = h->opts.page;
	h->boot->ctrl = h->ctrl;
	h->boot->qps = h->qps;
	h->boot->nqps = h->opts.nqps + 1;
	h->boot->page = h->opts.page;
	h->boot->nsid = h->opts.nsid;
	return run_one(h, h->kernels->bring_up);
}

int bf_nvme_drv_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t pe,
			  const struct bf_nvme_drv_host_opts *opts, struct bf_error *err, struct bf_nvme_drv_host **out)
{
	struct bf_nvme_drv_host *h = calloc(1, sizeof(*h));
	int rc;

	*out = NULL;
	if (!h)
		return bf_fail(err, -ENOMEM, "no memory for NVMe's host side");
	h->be = be;
	h->world = w;
	h->pe = pe;
	h->err = err;
	h->opts = *opts;
	rc = check_options(h);
	if (!rc)
		rc = bring_up(h);
	if (rc) {
		free(h);
		return rc;
	}
	*out = h;
	return 0;
}

int bf_nvme_drv_host_close(struct bf_nvme_drv_host *h)
{
	int rc;

	if (!h)
		return 0;
	h->ctrl->failure = 0;
	rc = run_one(h, h->kernels->shut_down);
	free(h);
	return rc;
}

void bf_nvme_drv_host_abandon(struct bf_nvme_drv_host *h)
{
	free(h);
}

struct bf_nvme_drv_ctrl *bf_nvme_drv_host_ctrl(struct bf_nvme_drv_host *h)
{
	return h->ctrl;
}

struct bf_nvme_drv_qp *bf_nvme_drv_host_qps(struct bf_nvme_drv_host *h)
{
	return h->qps;
}
