#include "tools/workloads/gpu_nvme.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/platform/platform_sim.h"

#include "drivers/nvme/device.h"
#include "models/nvme/nvme.h"
#include "sim/iommufd.h"

#define THREADS_MAX 64u
#define ENTRIES 16u
#define BLOCK 512u
#define GIVE_UP_NS 20000000u /* a poller's patience, and as long as the host pokes registers */
#define POKE_NS 20000u

const struct bf_gpu_nvme_opts bf_gpu_nvme_default = {
	.ordering = BF_ORDER_GPU,
	.seed = 1,
	.records = BF_CLASS_ALL,
	.threads = 8,
	.pages = 4,
	.mtype = BF_GPU_MTYPE_UC,
	.engine = BF_GPU_GART_ENGINE,
	.flush_type = BF_GPU_FLUSH_HEAVYWEIGHT,
	.vmids = 1,
};

struct actor {
	struct bf_thread thread;
	struct bf_view *view;
	struct machine *m;
	bf_kernel_fn *main;
};

struct machine {
	const struct bf_gpu_nvme_opts *opts;
	struct bf_gpu_nvme_result *result;
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas kernel; /* what the controller had before IOMMUFD took over */
	struct bf_nvme *ssd;
	struct bf_gpu *gpu;
	struct bf_domain *level, *block;
	struct bf_iommufd *fd;
	struct bf_dmabuf *bufs[4]; /* references to drop */
	struct bf_gpu_bo *result_bo, *queues_bo, *file_bo, *heir;
	struct bf_dmabuf_attach *bar; /* the GPU's mapping of BAR0 */
	struct bf_region *host;       /* admin rings, Identify data, words between threads */
	uint64_t host_iova, result_iova, queues_iova, file_iova;
	uint32_t ioas, device, nbufs, nactors, step;
	struct actor actors[THREADS_MAX + 2];
	struct bf_nvme_drv_ctrl ctrl;
	struct bf_nvme_drv_boot boot;
	struct bf_nvme_drv_qp qps[THREADS_MAX];
	uint32_t done, bad; /* GPU threads */
	int failure;
	bool has_space, has_ioas;
};

/* Where things lie in the host memory: pages. */
enum { AT_ASQ, AT_ACQ, AT_SCRATCH, AT_WORDS = 4, HOST_PAGES };

static void BF_PRINTF(2, 3) tell(struct machine *m, const char *fmt, ...)
{
	va_list args;

	if (!m->opts->story)
		return;
	fprintf(m->opts->story, "%2u  %9llu ns  ", ++m->step, m->sim->now_ps / BF_NS);
	va_start(args, fmt);
	vfprintf(m->opts->story, fmt, args);
	va_end(args);
	fputc('\n', m->opts->story);
}

static void actor_main(struct bf_agent *self, void *arg)
{
	struct actor *a = arg;

	a->thread.agent = self;
	a->main(&a->thread, a->m);
}

static int start(struct machine *m, bool on_gpu, const char *name, bf_kernel_fn *main)
{
	struct actor *a = &m->actors[m->nactors];
	const enum bf_ordering cpu = m->opts->ordering == BF_ORDER_SC ? BF_ORDER_SC : BF_ORDER_TSO;
	const struct bf_view_opts v = { .ordering = on_gpu ? m->opts->ordering : cpu,
					.space = &m->space,
					.domain = on_gpu ? m->block : NULL,
					.cost = on_gpu ? &bf_cost_gpu : &bf_cost_cpu,
					.name = name };
	struct bf_agent_opts opts = { .name = name, .main = actor_main, .arg = a };
	struct bf_agent *agent;
	int rc = bf_view_create(m->sim, &v, &a->view);

	if (rc)
		return rc;
	*a = (struct actor){ .view = a->view, .m = m, .main = main, .thread = { .block = m->nactors, .blocks = 1 } };
	m->nactors++;
	opts.view = a->view;
	return bf_agent_create(m->sim, &opts, &agent);
}

/* The GPU's page tables take another device's BAR: it follows moves, and takes P2P addresses. */
static void bar_moves(struct bf_dmabuf_attach *a)
{
	bf_dmabuf_unmap(a);
}

static const struct bf_dmabuf_importer gpu_vm = {
	.name = "amdgpu VM", .types = { BF_DMABUF_SGT_P2P, BF_DMABUF_SGT }, .ntypes = 2, .move_notify = bar_moves
};

static int open_devices(struct machine *m)
{
	const struct bf_nvme_opts ssd = { .name = "ssd0", .space = &m->space, .ioas = &m->kernel };
	const struct bf_gpu_opts gpu = { .name = "gpu0", .space = &m->space, .pal_without_pin = !m->opts->pin };
	const struct bf_region_opts host = { .name = "host", .kind = BF_MEM_DRAM, .size = HOST_PAGES * BF_PAGE };
	int rc = bf_space_init(&m->space, m->sim, "host", 0);

	m->has_space = !rc;
	if (!rc)
		rc = bf_ioas_init(&m->kernel, m->sim, "kernel", BF_PAGE);
	m->has_ioas = m->has_space && !rc;
	if (!rc)
		rc = bf_nvme_create(m->sim, &ssd, &m->ssd);
	if (!rc)
		rc = bf_gpu_create(m->sim, &gpu, &m->gpu);
	if (!rc)
		rc = bf_region_create(&m->space, &host, &m->host);
	if (!rc)
		rc = bf_domain_create(m->sim, BF_SCOPE_GPU, NULL, &m->level);
	return rc ? rc : bf_domain_create(m->sim, BF_SCOPE_CTA, m->level, &m->block);
}

/* What user space does with /dev/iommu and /dev/vfio before it can touch the controller. */
static int open_iommufd(struct machine *m)
{
	struct bf_dmabuf *bar;
	uint32_t pt;
	int rc = bf_iommufd_open(m->sim, &m->space, &m->fd);

	if (!rc)
		rc = bf_iommufd_ioas_alloc(m->fd, &m->ioas);
	if (!rc)
		rc = bf_iommufd_bind(m->fd, "ssd0", bf_nvme_dma(m->ssd), &m->device);
	pt = m->ioas;
	if (!rc)
		rc = bf_iommufd_attach(m->fd, m->device, &pt);
	if (rc)
		return rc;
	tell(m, "IOAS %u allocated; ssd0 bound as device %u and attached (page table %u)", m->ioas, m->device, pt);
	rc = bf_iommufd_map(m->fd, m->ioas, BF_IOMMUFD_READABLE | BF_IOMMUFD_WRITEABLE, m->host->va, m->host->size,
			    &m->host_iova);
	if (rc)
		return rc;
	tell(m, "host memory for the admin queues mapped at I/O address 0x%" PRIx64, m->host_iova);
	rc = bf_dmabuf_export_bar(bf_nvme_bar0(m->ssd), 0, bf_nvme_bar0(m->ssd)->size, &bar);
	if (rc)
		return rc;
	m->bufs[m->nbufs++] = bar;
	rc = bf_dmabuf_attach(bar, &gpu_vm, m, &m->bar);
	if (!rc)
		rc = bf_dmabuf_map(m->bar);
	if (!rc)
		tell(m, "BAR0 exported as DMA-BUF; the GPU maps it (%s): its threads can ring doorbells",
		     bf_dmabuf_type_name(m->bar->type));
	return rc;
}

/* VRAM, exported, and mapped for the controller by its physical addresses. */
static int share_vram(struct machine *m, const char *name, uint64_t size, enum bf_gpu_mtype mtype,
		      struct bf_gpu_bo **bo, uint64_t *iova)
{
	struct bf_dmabuf *buf;
	int rc = bf_gpu_vram_alloc(m->gpu, name, size, mtype, bo);

	if (!rc)
		rc = bf_gpu_bo_export(*bo, &buf);
	if (rc)
		return rc;
	m->bufs[m->nbufs++] = buf;
	rc = bf_iommufd_map_file(m->fd, m->ioas, BF_IOMMUFD_READABLE | BF_IOMMUFD_WRITEABLE, buf, 0, buf->size, iova);
	if (!rc)
		tell(m,
		     "VRAM '%s' (%s) exported as DMA-BUF; IOMMU_IOAS_MAP_FILE takes it (PAL: 0x%" PRIx64
		     ", %u range%s) at I/O address 0x%" PRIx64,
		     name, mtype == BF_GPU_MTYPE_UC ? "MTYPE_UC" : "MTYPE_RW", bf_gpu_bo_paddr(*bo, 0),
		     buf->attached->count, buf->attached->count == 1 ? "" : "s", *iova);
	return rc;
}

static void set_queue(struct bf_nvme_drv_queue *q, uint32_t no, uint32_t entries, uint8_t *vaddr, uint64_t ioaddr)
{
	*q = (struct bf_nvme_drv_queue){ .no = no, .entries = entries, .phase = 1, .vaddr = vaddr, .ioaddr = ioaddr };
}

static void set_ctrl(struct machine *m)
{
	const struct bf_region *bar = bf_nvme_bar0(m->ssd);

	m->ctrl = (struct bf_nvme_drv_ctrl){
		.regs = bar->bytes,
		.regs_bytes = bar->size,
		.page = BF_PAGE,
		.timeout_ns = GIVE_UP_NS,
		.bugs = (m->opts->plain ? BF_NVME_DRV_BUG_PLAIN_POLL : 0) |
			(m->opts->no_fence ? BF_NVME_DRV_BUG_NO_FENCE : 0),
		.scratch = { .vaddr = m->host->bytes + AT_SCRATCH * BF_PAGE,
			     .ioaddr = m->host_iova + AT_SCRATCH * BF_PAGE,
			     .bytes = 2 * BF_PAGE },
	};
	set_queue(&m->ctrl.admin.sq, 0, ENTRIES, m->host->bytes + AT_ASQ * BF_PAGE, m->host_iova + AT_ASQ * BF_PAGE);
	set_queue(&m->ctrl.admin.cq, 0, ENTRIES, m->host->bytes + AT_ACQ * BF_PAGE, m->host_iova + AT_ACQ * BF_PAGE);
	m->boot =
	    (struct bf_nvme_drv_boot){ .ctrl = &m->ctrl, .qps = m->qps, .nqps = m->opts->threads, .page = BF_PAGE };
}

/* One word in host memory by which the CPU and GPU threads tell each other where they are. */
static uint32_t *word(struct machine *m, uint32_t i)
{
	return (uint32_t *)(void *)(m->host->bytes + AT_WORDS * BF_PAGE + 64 * i);
}

enum { WORD_SUBMITTED, WORD_READY, WORD_DONE };

/* The shader of the experiment's first part: one thread, one store. */
static void ring_doorbell(struct bf_thread *t, void *arg)
{
	struct machine *m = arg;

	while (!bf_ld_acquire32(t, word(m, WORD_SUBMITTED), BF_AT_SYS))
		bf_spin(t, word(m, WORD_SUBMITTED), "the CPU's command");
	tell(m, "GPU thread stores 1 to the doorbell of the admin queue");
	bf_mmio_st32(t, m->ctrl.admin.sq.db, 1);
}

static void text_of(char *out, const uint8_t *from, size_t len)
{
	memcpy(out, from, len);
	out[len] = '\0';
	for (size_t i = len; i && out[i - 1] == ' '; i--)
		out[i - 1] = '\0';
}

static void show_identify(struct machine *m, const uint8_t *id)
{
	char serial[21], model[41], firmware[9];

	text_of(serial, id + 4, 20);
	text_of(model, id + 24, 40);
	text_of(firmware, id + 64, 8);
	tell(m, "the CPU copies it from VRAM: vendor 0x%04x, serial %s, model %s, firmware %s", bf_get_le16(id), serial,
	     model, firmware);
}

/* The CPU's part: enable, lay an Identify into the admin queue, let the GPU ring, poll the completion queue. */
static void identify(struct bf_thread *t, void *arg)
{
	struct machine *m = arg;
	struct bf_nvme_drv_ctrl *ctrl = &m->ctrl;
	struct bf_nvme_drv_completion done;
	struct bf_nvme_drv_cmd c;

	m->failure = bf_nvme_drv_disable(t, ctrl);
	if (!m->failure)
		m->failure = bf_nvme_drv_enable(t, ctrl);
	if (m->failure)
		return;
	tell(m, "controller enabled, CSTS.RDY");
	bf_nvme_drv_cmd_identify(ctrl, &c, 1, 0, m->result_iova);
	bf_nvme_drv_enqueue(t, ctrl, &ctrl->admin.sq, &c, 1);
	tell(m, "Identify laid into the admin queue, PRP1 = 0x%" PRIx64 " (VRAM)", m->result_iova);
	bf_st_release32(t, word(m, WORD_SUBMITTED), 1, BF_AT_SYS);
	if (!bf_nvme_drv_wait(t, ctrl, &ctrl->admin, bf_clock_ns(t) + GIVE_UP_NS, &done)) {
		m->failure = BF_NVME_DRV_TIMEOUT;
		return;
	}
	tell(m, "the CPU sees the completion: CID %u, status 0x%x", done.cid, done.status);
	m->failure = (int)done.status;
	if (!done.status)
		show_identify(m, bf_gpu_bo_region(m->result_bo)->bytes);
}

static int run_identify(struct machine *m)
{
	const uint8_t *id;
	bool filled;
	int rc = share_vram(m, "result", BF_PAGE, m->opts->mtype, &m->result_bo, &m->result_iova);
	const uint64_t old = rc ? 0 : bf_gpu_bo_paddr(m->result_bo, 0);

	if (!rc && m->opts->work == BF_GPU_NVME_MOVED) {
		rc = bf_gpu_bo_move(m->result_bo, BF_GPU_IN_VRAM);
		tell(m,
		     rc ? "the GPU's driver wants to move 'result' and cannot: it is pinned"
			: "the GPU's driver moves 'result', which nobody pinned, from 0x%" PRIx64 " to 0x%" PRIx64,
		     old, bf_gpu_bo_paddr(m->result_bo, 0));
		rc = bf_gpu_vram_alloc(m->gpu, "weights", BF_PAGE, BF_GPU_MTYPE_RW, &m->heir);
		if (!rc) {
			memset(bf_gpu_bo_region(m->heir)->bytes, 0x77, BF_PAGE);
			tell(m, "'weights' of somebody else are allocated at 0x%" PRIx64, bf_gpu_bo_paddr(m->heir, 0));
		}
	}
	if (!rc)
		rc = start(m, false, "cpu", identify);
	if (!rc)
		rc = start(m, true, "shader", ring_doorbell);
	if (rc)
		return rc;
	bf_sim_run(m->sim, BF_S);
	id = bf_gpu_bo_region(m->result_bo)->bytes;
	filled = id[24] != 0;
	m->result->good = !m->failure && filled;
	snprintf(m->result->verdict, sizeof(m->result->verdict), "%s",
		 m->failure == BF_NVME_DRV_TIMEOUT ? "timeout"
		 : m->failure                      ? "the command failed"
		 : filled                          ? "Identify data in VRAM"
						   : "success, but the data are not in the buffer");
	return 0;
}

/* The experiment's helper: stores to an invalidation register for as long as GPU threads work. */
static void poke(struct bf_thread *t, void *arg)
{
	struct machine *m = arg;
	const struct bf_gpu_nvme_opts *o = m->opts;
	const uint32_t reg = o->mm ? bf_gpu_mmvm_invalidate_req(o->engine) : bf_gpu_gcvm_invalidate_req(o->engine);
	const uint32_t value = (uint32_t)(BF_FIELD_PREP(BF_GPU_INVALIDATE_FLUSH_TYPE, o->flush_type) |
					  BF_FIELD_PREP(BF_GPU_INVALIDATE_VMIDS, o->vmids));
	const uint64_t until = bf_clock_ns(t) + GIVE_UP_NS;

	tell(m, "the host stores 0x%x to %s_INVALIDATE_ENG%u_REQ every %u us", value, o->mm ? "MMVM" : "GCVM",
	     o->engine, POKE_NS / 1000);
	while (m->done < m->opts->threads && bf_clock_ns(t) < until) {
		bf_mmio_st32(t, bf_gpu_regs(m->gpu)->bytes + reg, value);
		bf_pause(t, POKE_NS);
	}
}

static void bring_up(struct bf_thread *t, void *arg)
{
	struct machine *m = arg;

	m->failure = bf_nvme_drv_bring_up(t, &m->boot);
	if (m->failure)
		return;
	tell(m, "controller up, %u queue pairs in VRAM created", m->boot.nqps);
	bf_st_release32(t, word(m, WORD_READY), 1, BF_AT_SYS);
	if (!m->opts->no_flush)
		poke(t, m);
}

/* One page, written or read: submit and drain, as the experiment's shader does. Status, or BF_NVME_DRV_TIMEOUT. */
static int transfer(struct bf_thread *t, struct machine *m, struct bf_nvme_drv_qp *qp, uint32_t opcode, uint64_t page,
		    uint64_t ioaddr)
{
	struct bf_nvme_drv_completion done;
	struct bf_nvme_drv_cmd c;

	bf_nvme_drv_cmd_header(&m->ctrl, &c, opcode, m->ctrl.nsid);
	bf_nvme_drv_cmd_blocks(&m->ctrl, &c, page * (BF_PAGE / BLOCK), BF_PAGE / BLOCK, 0);
	bf_nvme_drv_cmd_data(&c, ioaddr, 0);
	if (bf_nvme_drv_enqueue(t, &m->ctrl, &qp->sq, &c, qp->sq.tail) < 0)
		return BF_NVME_DRV_FULL;
	bf_nvme_drv_submit(t, &m->ctrl, &qp->sq);
	if (!bf_nvme_drv_wait(t, &m->ctrl, qp, bf_clock_ns(t) + GIVE_UP_NS, &done))
		return BF_NVME_DRV_TIMEOUT;
	bf_nvme_drv_cq_update(t, &m->ctrl, &qp->cq);
	return (int)done.status;
}

static uint64_t file_word(uint64_t page, uint64_t i)
{
	return (page * 512 + i + 1) * 0x9e3779b97f4a7c15ull;
}

/* Page `page` of the file lies in VRAM in its first half; what is read comes into the second. */
static int move_page(struct bf_thread *t, struct machine *m, struct bf_nvme_drv_qp *qp, uint32_t page)
{
	uint8_t *base = bf_gpu_bo_region(m->file_bo)->bytes;
	const uint64_t from = (uint64_t)page * BF_PAGE,
		       to = from + (uint64_t)m->opts->threads * m->opts->pages * BF_PAGE;
	int rc;

	for (uint64_t i = 0; i < BF_PAGE / 8; i++)
		bf_st_weak64(t, base + from + 8 * i, file_word(page, i));
	rc = transfer(t, m, qp, BF_NVME_IO_WRITE, page, m->file_iova + from);
	if (!rc)
		rc = transfer(t, m, qp, BF_NVME_IO_READ, page, m->file_iova + to);
	for (uint64_t i = 0; !rc && i < BF_PAGE / 8; i++)
		if (bf_ld_relaxed64(t, base + to + 8 * i, BF_AT_SYS) != file_word(page, i))
			rc = BF_NVME_DRV_STRAY;
	return rc;
}

/* One GPU thread, one queue pair, one slice of the file. */
static void file_thread(struct bf_thread *t, void *arg)
{
	struct machine *m = arg;
	const uint32_t tid = t->block - 1;
	int rc = 0;

	while (!bf_ld_acquire32(t, word(m, WORD_READY), BF_AT_SYS))
		bf_spin(t, word(m, WORD_READY), "the controller");
	for (uint32_t i = 0; !rc && i < m->opts->pages; i++)
		rc = m->opts->work == BF_GPU_NVME_FILE
			 ? move_page(t, m, &m->qps[tid], tid * m->opts->pages + i)
			 : transfer(t, m, &m->qps[tid], BF_NVME_IO_WRITE, i, m->file_iova);
	if (rc && !m->bad++)
		m->failure = rc;
	m->done++;
}

static int run_queues(struct machine *m)
{
	const struct bf_gpu_nvme_opts *o = m->opts;
	const uint64_t data = 2ull * o->threads * o->pages * BF_PAGE;
	int rc = share_vram(m, "queues", 2ull * o->threads * BF_PAGE, o->mtype, &m->queues_bo, &m->queues_iova);
	uint8_t *rings;

	if (!rc)
		rc = share_vram(m, "file", data, o->mtype, &m->file_bo, &m->file_iova);
	if (rc)
		return rc;
	rings = bf_gpu_bo_region(m->queues_bo)->bytes;
	for (uint32_t i = 0; i < o->threads; i++) {
		set_queue(&m->qps[i].sq, i + 1, ENTRIES, rings + 2ull * i * BF_PAGE,
			  m->queues_iova + 2ull * i * BF_PAGE);
		set_queue(&m->qps[i].cq, i + 1, ENTRIES, rings + (2ull * i + 1) * BF_PAGE,
			  m->queues_iova + (2ull * i + 1) * BF_PAGE);
	}
	rc = start(m, false, "cpu", bring_up);
	for (uint32_t i = 0; !rc && i < o->threads; i++) {
		char name[16];

		snprintf(name, sizeof(name), "lane%u", i % 100);
		rc = start(m, true, name, file_thread);
	}
	if (rc)
		return rc;
	bf_sim_run(m->sim, BF_S);
	tell(m, "%u of %u GPU threads are through, %u of them failed", m->done, o->threads, m->bad);
	m->result->good = m->done == o->threads && !m->failure;
	snprintf(m->result->verdict, sizeof(m->result->verdict), "%s",
		 m->result->good && m->opts->work == BF_GPU_NVME_POLL ? "progress: every completion was seen"
		 : m->result->good                                    ? "all data written and read back"
		 : m->failure == BF_NVME_DRV_TIMEOUT ? "timeout: a GPU thread polls a completion that does not come"
		 : m->failure == BF_NVME_DRV_STRAY   ? "wrong data read back"
						     : "a command failed");
	return 0;
}

static void close_machine(struct machine *m)
{
	if (m->bar)
		bf_dmabuf_detach(m->bar);
	bf_iommufd_close(m->fd);
	for (uint32_t i = 0; i < m->nbufs; i++)
		bf_dmabuf_put(m->bufs[i]);
	for (uint32_t i = 0; i < m->nactors; i++)
		bf_view_destroy(m->actors[i].view);
	bf_domain_destroy(m->block);
	bf_domain_destroy(m->level);
	if (m->ssd)
		bf_nvme_destroy(m->ssd);
	bf_gpu_destroy(m->gpu);
	if (m->has_ioas)
		bf_ioas_fini(&m->kernel);
	if (m->has_space)
		bf_space_fini(&m->space);
	if (m->sim) {
		bf_stream_close(&m->sim->rec);
		bf_sim_destroy(m->sim);
	}
	free(m);
}

static int check_opts(const struct bf_gpu_nvme_opts *o, struct bf_error *err)
{
	if (o->threads < 1 || o->threads > THREADS_MAX || o->pages < 1 || o->pages > 1024)
		return bf_fail(err, -EINVAL, "%u threads of %u pages: must be 1 to %u, 1 to 1024", o->threads, o->pages,
			       THREADS_MAX);
	if (o->engine >= BF_GPU_INVALIDATE_ENGINES || o->flush_type > 7 || o->vmids > 0xffff)
		return bf_fail(err, -EINVAL, "engine %u, flush type %u, VMIDs 0x%x: no such request", o->engine,
			       o->flush_type, o->vmids);
	return 0;
}

int bf_gpu_nvme_run(const struct bf_gpu_nvme_opts *opts, struct bf_gpu_nvme_result *out, struct bf_error *err)
{
	struct machine *m;
	int rc = check_opts(opts, err);

	*out = (struct bf_gpu_nvme_result){ 0 };
	if (rc)
		return rc;
	m = calloc(1, sizeof(*m));
	if (!m)
		return bf_fail(err, -ENOMEM, "no memory for the experiment");
	m->opts = opts;
	m->result = out;
	rc = bf_sim_create(opts->seed, &m->sim);
	if (!rc && opts->records)
		rc = bf_stream_open(&m->sim->rec, &m->sim->now_ps, opts->records, opts->sink);
	if (!rc)
		rc = open_devices(m);
	if (!rc)
		rc = open_iommufd(m);
	if (!rc) {
		set_ctrl(m);
		rc = opts->work == BF_GPU_NVME_IDENTIFY || opts->work == BF_GPU_NVME_MOVED ? run_identify(m)
											   : run_queues(m);
	}
	if (!rc) {
		bf_stream_flush(&m->sim->rec);
		out->time_ps = m->sim->now_ps;
		out->hash = bf_stream_hash(&m->sim->rec);
		out->records = m->sim->rec.count;
		if (!out->good)
			bf_gpu_describe(m->gpu, out->cause, sizeof(out->cause));
	} else {
		bf_fail(err, rc, "%s", m->sim ? m->sim->error.text : "no memory for a simulation");
	}
	close_machine(m);
	return rc;
}
