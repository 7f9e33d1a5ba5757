/*
 * Backend "vfio": a real NVMe controller, driven by threads of this process through VFIO.
 *
 * The kernel hands over registers and an I/O address space, and has no driver on the device. Memory is this process's,
 * mapped for the device's DMA at addresses of our choice; completions are polled, so there are no interrupts to set up.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/nvme_world.h"
#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/workers_internal.h"
#include "models/nvme/profile.h"

/*
 * Where addresses for DMA begin, if the IOMMU has room there: offsets, lengths and addresses cut to 32 bits that are
 * mistaken for one are then never mapped. NVMe controllers reach 64 bits; the IOMMU's ranges are the limit.
 */
#define IOVA_FLOOR (4ull << 30)
#define IOVA_FLOOR_LOW (1ull << 20)

#define FAULTS_MAX 8u

struct piece {
	struct piece *next;
	char name[40];
	void *at;
	uint64_t size, iova;
	bool mapped;
};

struct fault {
	uint64_t iova; /* the first in its page */
	bool write;
};

struct vfio_world {
	struct bf_world m; /* without a simulation */
	struct bf_vfio_device dev;
	struct piece *pieces;
	uint64_t next[BF_VFIO_RANGES_MAX]; /* free addresses of each of the IOMMU's ranges begin there */
	int log;                           /* the kernel's log, for faults; negative: why it cannot be read */
	struct fault fault[FAULTS_MAX];
	uint32_t nfaults;
	struct bf_workers workers;
	bool has_device, has_workers;
};

static struct vfio_world *world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(m, struct vfio_world, m);
}

static const struct bf_vfio_sys *sys_of(const struct vfio_world *w)
{
	return w->dev.sys;
}

/* ---- opening ---- */

static int check(const struct bf_world_opts *o, struct bf_error *err)
{
	const struct bf_nvme_world_opts none = { 0 }, *given = o->device_opts[BF_DEVICE_AT_NVME];
	const struct bf_nvme_world_opts *nvme = given ? given : &none;

	if (o->devices != BF_DEVICE_NVME)
		return bf_fail(err, -ENOTSUP, "backend vfio has NVMe controllers only");
	if (o->npes != 1)
		return bf_fail(err, -ENOTSUP, "backend vfio drives one controller: 1 PE, not %" PRIu32, o->npes);
	if (o->faults || nvme->media_errors)
		return bf_fail(err, -ENOTSUP, "backend vfio cannot inject faults or media errors: the device is real");
	if (nvme->ns && nvme->ns->file)
		return bf_fail(err, -ENOTSUP, "backend vfio: the medium is the device's, not a file");
	if (nvme->cmb_bytes)
		return bf_fail(err, -ENOTSUP,
			       "backend vfio does not use controller memory buffers: queues lie in host memory");
	return 0;
}

static void free_piece(struct vfio_world *w, struct piece *p)
{
	if (p->mapped)
		bf_vfio_unmap(&w->dev, p->iova, p->size);
	if (p->at)
		sys_of(w)->munmap(sys_of(w)->arg, p->at, p->size);
	free(p);
}

/* The device is silenced before its mappings go, and these before the files that they belong to. */
static void world_close(struct bf_world *m)
{
	struct vfio_world *w = m ? world_of(m) : NULL;
	struct piece *p;
	struct bf_grid *g;

	if (!w)
		return;
	if (w->has_device)
		bf_vfio_device_quiet(&w->dev);
	while ((p = w->pieces)) {
		w->pieces = p->next;
		free_piece(w, p);
	}
	if (w->has_device)
		bf_vfio_device_close(&w->dev);
	if (w->log >= 0)
		sys_of(w)->close(sys_of(w)->arg, w->log);
	while ((g = bf_machine_next_grid(&w->m)))
		free(g);
	if (w->has_workers)
		bf_workers_fini(&w->workers);
	free(w);
}

int bf_vfio_open(const struct bf_vfio_sys *sys, const struct bf_world_opts *opts, struct bf_error *err,
		 struct bf_world **out)
{
	struct bf_vfio_spot spot;
	struct vfio_world *w;
	int rc = check(opts, err);

	*out = NULL;
	if (!rc)
		rc = bf_vfio_find(sys, opts->device, &spot, err);
	if (rc)
		return rc;
	w = calloc(1, sizeof(*w));
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	w->m = (struct bf_world){ .err = err, .npes = 1, .count = 1, .devices = BF_DEVICE_NVME };
	w->m.grids_tail = &w->m.grids;
	w->m.limit_ps = opts->limit_ps ? opts->limit_ps : BF_NEVER;
	w->dev.sys = sys;
	w->log = sys->log_open(sys->arg);
	rc = bf_vfio_device_open(&w->dev, sys, &spot, err);
	w->has_device = !rc;
	if (!rc) {
		rc = bf_workers_init(&w->workers);
		w->has_workers = !rc;
	}
	if (rc) {
		world_close(&w->m);
		return rc;
	}
	*out = &w->m;
	return 0;
}

/* ---- memory ---- */

static uint64_t round_up(uint64_t v, uint64_t to)
{
	return (v + to - 1) / to * to;
}

/* The next free addresses at or above `floor`; one unit stays free behind each piece, so that overruns fault. */
static bool take_iova(struct vfio_world *w, uint64_t floor, uint64_t size, uint64_t *out)
{
	const uint64_t unit = w->dev.alignment;

	for (uint32_t i = 0; i < w->dev.nranges; i++) {
		const struct bf_vfio_range *r = &w->dev.range[i];
		const uint64_t least = r->first > floor ? r->first : floor;
		const uint64_t at = round_up(least > w->next[i] ? least : w->next[i], unit);

		if (at < least || at > r->last || r->last - at < size - 1)
			continue;
		*out = at;
		w->next[i] = r->last - at - (size - 1) > unit ? at + size + unit : UINT64_MAX;
		return true;
	}
	return false;
}

static int alloc_piece(struct vfio_world *w, struct piece *p)
{
	struct bf_error why;
	int rc;

	if (!take_iova(w, IOVA_FLOOR, p->size, &p->iova) && !take_iova(w, IOVA_FLOOR_LOW, p->size, &p->iova))
		return bf_fail(w->m.err, -ENOSPC, "memory '%s' of %" PRIu64 " bytes: the IOMMU has no addresses left",
			       p->name, p->size);
	p->at = sys_of(w)->mmap(sys_of(w)->arg, p->size, -1, 0);
	if (!p->at)
		return bf_fail(w->m.err, -ENOMEM, "memory '%s': no %" PRIu64 " bytes", p->name, p->size);
	rc = bf_vfio_map(&w->dev, p->at, p->size, p->iova);
	p->mapped = !rc;
	if (!rc)
		return 0;
	why = *w->m.err;
	return bf_fail(w->m.err, rc, "memory '%s' of %" PRIu64 " bytes: %s", p->name, p->size, why.text);
}

static int alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		 struct bf_memory *out)
{
	struct vfio_world *w = world_of(m);
	struct piece *p;
	int rc;

	if (pe >= m->npes || !size || size > UINT64_MAX / 2)
		return bf_fail(m->err, -EINVAL, "memory '%s' of %" PRIu64 " bytes for PE %" PRIu32, name, size, pe);
	if (place != BF_PLACE_HOST)
		return bf_fail(m->err, -ENOTSUP, "memory '%s': backend vfio has host memory only, %s", name,
			       place == BF_PLACE_CMB ? "and leaves the controller's buffer alone" : "and no GPU");
	p = calloc(1, sizeof(*p));
	if (!p)
		return bf_fail(m->err, -ENOMEM, "no memory for '%s'", name);
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->size = round_up(size, w->dev.alignment);
	rc = alloc_piece(w, p);
	if (rc) {
		free_piece(w, p);
		return rc;
	}
	p->next = w->pieces;
	w->pieces = p;
	*out = (struct bf_memory){ .ptr = p->at, .va = p->iova, .size = p->size };
	return 0;
}

static bool reachable(struct bf_world *m, uint32_t pe, uint64_t va, uint64_t bytes)
{
	(void)pe;
	for (const struct piece *p = world_of(m)->pieces; p; p = p->next)
		if (va >= p->iova && va - p->iova < p->size && bytes <= p->size - (va - p->iova))
			return true;
	return false;
}

/* ---- the controller ---- */

static int nvme_bar(struct bf_world *m, uint32_t pe, struct bf_nvme_bar *out)
{
	struct vfio_world *w = world_of(m);

	if (pe >= m->npes)
		return bf_fail(m->err, -EINVAL, "no PE %" PRIu32 ": there are %" PRIu32, pe, m->npes);
	*out = (struct bf_nvme_bar){ .regs = w->dev.bar, .size = w->dev.bar_bytes };
	return 0;
}

static int nvme_bar_dmabuf(struct bf_world *m, uint32_t pe, uint64_t offset, uint64_t bytes)
{
	if (pe >= m->npes)
		return bf_fail(m->err, -EINVAL, "no PE %" PRIu32 ": there are %" PRIu32, pe, m->npes);
	return bf_vfio_export_bar(&world_of(m)->dev, offset, bytes);
}

static void describe(struct bf_world *m, uint32_t pe, char *buf, size_t cap)
{
	const struct bf_vfio_spot *s = &world_of(m)->dev.spot;

	(void)pe;
	snprintf(buf, cap, "%s by %s%s", s->address,
		 s->way == BF_VFIO_CDEV ? "IOMMUFD, /dev/vfio/devices/" : "group, /dev/vfio/",
		 s->way == BF_VFIO_CDEV ? s->node : s->group);
}

/* ---- running ---- */

static const char *number_after(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? at + strlen(word) : NULL;
}

/*
 * Intel (drivers/iommu/intel/dmar.c): "DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x1000 [...".
 * AMD (drivers/iommu/amd/iommu.c): "vfio-pci 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x1
 * address=0x1000 flags=0x20]"; flag 0x20: a write. Intel's leaves the segment out.
 */
bool bf_vfio_fault_line(const char *line, const char *address, uint64_t *iova, bool *write)
{
	const char *short_address = strlen(address) > 5 ? address + 5 : address;
	const char *at, *flags;

	if (!strstr(line, short_address))
		return false;
	if (strstr(line, "DMAR:") && (at = number_after(line, "fault addr ")) != NULL) {
		*write = strstr(line, "[DMA Write") != NULL;
	} else if (strstr(line, "IO_PAGE_FAULT") && (at = number_after(line, " address=")) != NULL) {
		flags = number_after(line, " flags=");
		*write = flags && strtoull(flags, NULL, 16) & 0x20;
	} else {
		return false;
	}
	*iova = strtoull(at, NULL, 16);
	return true;
}

static void keep_fault(struct vfio_world *w, uint64_t iova, bool write)
{
	for (uint32_t i = 0; i < w->nfaults; i++)
		if (w->fault[i].iova / w->dev.alignment == iova / w->dev.alignment && w->fault[i].write == write)
			return;
	if (w->nfaults < FAULTS_MAX)
		w->fault[w->nfaults++] = (struct fault){ iova, write };
}

static void append_fault(const struct vfio_world *w, const struct fault *f, char *report, size_t cap)
{
	const struct piece *below = NULL, *at = NULL;
	size_t used = strlen(report);

	for (const struct piece *p = w->pieces; p; p = p->next) {
		if (p->iova <= f->iova && (!below || p->iova > below->iova))
			below = p;
	}
	if (below && f->iova - below->iova < below->size)
		at = below;
	used += (size_t)snprintf(report + used, cap - used, "the IOMMU refused %s a %s at 0x%" PRIx64 ": ",
				 w->dev.spot.address, f->write ? "write" : "read", f->iova);
	if (used >= cap)
		return;
	if (at)
		snprintf(report + used, cap - used, "that is in '%s', mapped at 0x%" PRIx64 "\n", at->name, at->iova);
	else if (below)
		snprintf(report + used, cap - used,
			 "nothing was ever mapped there; the memory below it, '%s', ends at 0x%" PRIx64 "\n",
			 below->name, below->iova + below->size);
	else
		snprintf(report + used, cap - used, "nothing was ever mapped there or below\n");
}

/* What the IOMMU has said since the last time. */
static void report_faults(struct vfio_world *w, char *report, size_t cap)
{
	const struct bf_vfio_sys *sys = sys_of(w);
	char line[1024];
	uint64_t iova;
	bool write;

	w->nfaults = 0;
	while (w->log >= 0 && sys->log_read(sys->arg, w->log, line, sizeof(line)) == 0)
		if (bf_vfio_fault_line(line, w->dev.spot.address, &iova, &write))
			keep_fault(w, iova, write);
	for (uint32_t i = 0; i < w->nfaults; i++)
		append_fault(w, &w->fault[i], report, cap);
	if (w->log < 0)
		snprintf(report + strlen(report), cap - strlen(report),
			 "whether the IOMMU refused anything is not known: /dev/kmsg: %s\n", strerror(-w->log));
}

static int run(struct bf_world *m, struct bf_world_result *out)
{
	struct vfio_world *w = world_of(m);
	const int rc = bf_workers_run(&w->workers, m, out);

	report_faults(w, out->report, sizeof(out->report));
	return rc;
}

static struct bf_sim *no_sim(struct bf_world *m)
{
	(void)m;
	return NULL;
}

static int probe(char *why, size_t cap)
{
	return bf_vfio_probe(&bf_vfio_system, why, cap);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	return bf_vfio_open(&bf_vfio_system, opts, err, out);
}

static const struct bf_nvme_world_ops nvme_ops = { .bar = nvme_bar, .bar_dmabuf = nvme_bar_dmabuf };
static const void *const world_ops[BF_DEVICE_KINDS] = { [BF_DEVICE_AT_NVME] = &nvme_ops };

const struct bf_backend bf_backend_vfio = {
	BF_BACKEND_HEAD,
	.name = "vfio",
	.summary = "a real NVMe controller through VFIO and IOMMUFD",
	.devices = BF_DEVICE_NVME,
	.probe = probe,
	.open = world_open,
	.close = world_close,
	.alloc = alloc,
	.launch = bf_machine_launch,
	.launch_cpu = bf_machine_launch_cpu,
	.ops = world_ops,
	.reachable = reachable,
	.describe = describe,
	.run = run,
	.sim = no_sim,
	.platform = BF_PLATFORM_NATIVE,
};
