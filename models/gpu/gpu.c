/* The GPU: its life, its profile, and what it says when its threads wait. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/gpu/gpu_internal.h"
#include "sim/agent.h"
#include "sim/stats.h"

/*
 * A Radeon RX 7900 XTX. L2 and Infinity Cache of 6 and 96 MB and lines of 128 bytes: AMD, "RDNA 3 Instruction Set
 * Architecture" and the board's data sheet. Sixteen lanes of PCIe 4.0; its latencies are those of our other links.
 * Assumed: the time of an invalidation, some microseconds being usual for a flush of translations; of its 24 GB of
 * memory as much as simulations need.
 */
const struct bf_gpu_profile bf_gpu_navi31 = {
	.name = "navi31",
	.pcie = { .latency_ps = 150 * BF_NS,
		  .mem_ps = 200 * BF_NS,
		  .ps_per_kib = 32500,
		  .max_payload = 256,
		  .max_read_request = 512,
		  .tlp_overhead = 24,
		  .relaxed_ps = 100 * BF_NS },
	.vram_bytes = 1ull << 30,
	.l2_bytes = 102ull << 20,
	.line = 128,
	.invalidate_ps = 2 * BF_US,
};

static int attach_stats(struct bf_gpu *gpu)
{
	const struct {
		const char *name;
		const uint64_t *field;
	} all[] = {
		{ "arrived", &gpu->stats.arrived },         { "visible", &gpu->stats.visible },
		{ "stale_loads", &gpu->stats.stale_loads }, { "invalidations", &gpu->stats.invalidations },
		{ "ignored", &gpu->stats.ignored },         { "hdp_flushes", &gpu->stats.hdp_flushes },
		{ "write_backs", &gpu->stats.write_backs }, { "late_stores", &gpu->stats.late_stores },
		{ "evictions", &gpu->stats.evictions },     { "stray_writes", &gpu->stats.stray_writes },
	};
	int rc = 0;

	gpu->has_stats = true;
	for (uint32_t i = 0; !rc && i < BF_ARRAY_LEN(all); i++)
		rc = bf_stats_attach_part(gpu->sim, gpu, gpu->name, all[i].name, "", all[i].field);
	return rc;
}

static int check_profile(struct bf_sim *sim, const char *name, const struct bf_gpu_profile *p)
{
	if (p->line != 64 && p->line != BF_GPU_LINE_MAX)
		return bf_fail(&sim->error, -EINVAL, "GPU '%s': lines of %u bytes: must be 64 or 128", name, p->line);
	if (!p->vram_bytes || p->vram_bytes % BF_PAGE || p->l2_bytes < p->line)
		return bf_fail(&sim->error, -EINVAL, "GPU '%s': VRAM of %llu bytes or L2 of %llu bytes is not a size",
			       name, (unsigned long long)p->vram_bytes, (unsigned long long)p->l2_bytes);
	return 0;
}

static int make_regions(struct bf_gpu *gpu)
{
	char regs[40], vram[40];
	struct bf_region_opts r = { .name = regs,
				    .kind = BF_MEM_MMIO,
				    .size = BF_GPU_REGS_SIZE,
				    .mmio = &bf_gpu_regs_ops,
				    .owner = gpu,
				    .link = &gpu->link };
	struct bf_region_opts v = { .name = vram, .kind = BF_MEM_VRAM, .size = gpu->profile.vram_bytes };
	int rc;

	snprintf(regs, sizeof(regs), "%s.regs", gpu->name);
	snprintf(vram, sizeof(vram), "%s.vram", gpu->name);
	rc = bf_region_create(gpu->space, &r, &gpu->regs);
	return rc ? rc : bf_region_create(gpu->space, &v, &gpu->aperture);
}

int bf_gpu_create(struct bf_sim *sim, const struct bf_gpu_opts *opts, struct bf_gpu **out)
{
	const struct bf_gpu_profile *profile = opts->profile ? opts->profile : &bf_gpu_navi31;
	int rc = check_profile(sim, opts->name, profile);
	struct bf_gpu *gpu;

	*out = NULL;
	if (rc)
		return rc;
	gpu = calloc(1, sizeof(*gpu));
	if (!gpu)
		return bf_fail(&sim->error, -ENOMEM, "GPU '%s': no memory", opts->name);
	gpu->cache.ops = &bf_gpu_cache_ops;
	gpu->sim = sim;
	gpu->space = opts->space;
	gpu->profile = *profile;
	gpu->no_pal = opts->no_pal;
	gpu->pal_without_pin = opts->pal_without_pin;
	gpu->bos_tail = &gpu->bos;
	snprintf(gpu->name, sizeof(gpu->name), "%s", opts->name);
	bf_gpu_cache_init(gpu);
	bf_gpu_regs_init(gpu);
	gpu->actor = bf_stream_actor(&sim->rec, "gpu", gpu->name);
	rc = gpu->actor ? bf_link_init(&gpu->link, sim, gpu->name, &profile->pcie) : -ENOMEM;
	gpu->has_link = !rc;
	if (!rc)
		rc = attach_stats(gpu);
	if (!rc)
		rc = make_regions(gpu);
	if (!rc)
		rc = bf_gpu_vram_init(gpu);
	if (rc) {
		bf_gpu_destroy(gpu);
		return bf_fail(&sim->error, rc, "GPU '%s': cannot make it: %s", opts->name, sim->error.text);
	}
	*out = gpu;
	return 0;
}

void bf_gpu_destroy(struct bf_gpu *gpu)
{
	if (!gpu)
		return;
	bf_gpu_regs_fini(gpu);
	bf_gpu_vram_fini(gpu);
	bf_gpu_cache_fini(gpu);
	if (gpu->aperture)
		bf_region_destroy(gpu->aperture);
	if (gpu->regs)
		bf_region_destroy(gpu->regs);
	if (gpu->has_stats)
		bf_stats_detach(gpu->sim, gpu);
	if (gpu->has_link)
		bf_link_fini(&gpu->link);
	if (gpu->space->cache == &gpu->cache)
		gpu->space->cache = NULL;
	free(gpu);
}

struct bf_region *bf_gpu_regs(struct bf_gpu *gpu)
{
	return gpu->regs;
}

struct bf_region *bf_gpu_aperture(struct bf_gpu *gpu)
{
	return gpu->aperture;
}

const struct bf_gpu_stats *bf_gpu_stats(const struct bf_gpu *gpu)
{
	return &gpu->stats;
}

/* A text that grows as far as it may and counts on. */
struct out {
	char *buf;
	size_t cap, len;
};

static void BF_PRINTF(2, 3) say(struct out *o, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(o->len < o->cap ? o->buf + o->len : NULL, o->len < o->cap ? o->cap - o->len : 0, fmt, args);
	va_end(args);
	o->len += n > 0 ? (size_t)n : 0;
}

/* Somebody who sleeps on the line of `copy`; NULL: nobody. */
static const struct bf_agent *waiter(const struct bf_gpu *gpu, const struct bf_gpu_copy *copy)
{
	const uint8_t *line = copy->bo->region->bytes + (uint64_t)copy->line * gpu->profile.line;
	const struct bf_agent *a = NULL;

	for (uint32_t at = 0; !a && at < gpu->profile.line; at += BF_LINE)
		a = bf_agents_waiter(gpu->sim, line + at);
	return a;
}

static void describe_copy(struct bf_gpu *gpu, const struct bf_gpu_copy *copy, struct out *o)
{
	const struct bf_gpu_bo *bo = copy->bo;
	const uint64_t offset = (uint64_t)copy->line * gpu->profile.line;
	const bool in_l2 = copy->list != BF_GPU_HELD;
	const struct bf_agent *a;

	if (copy->since_ps == BF_NEVER || (!in_l2 && bo->l2[copy->line] && bo->mtype == BF_GPU_MTYPE_RW))
		return; /* the L2's copy, which is also stale, tells it */
	a = waiter(gpu, copy);
	if (a)
		say(o, "%s: '%s' waits for %s: ", gpu->name, a->name, a->waits_for ? a->waits_for : "it");
	else if (copy->missed)
		say(o, "%s: missed by %u loads: ", gpu->name, copy->missed);
	else
		return;
	say(o, "what %s wrote is in memory since %llu ns, but the GPU%s serves line 0x%llx (%s+0x%llx) from before; ",
	    bf_stream_actor_name(&gpu->sim->rec, copy->by), (unsigned long long)(copy->since_ps / BF_NS),
	    in_l2 ? "'s L2" : "", (unsigned long long)bo->region->va + offset, bo->region->name,
	    (unsigned long long)offset);
	if (in_l2)
		say(o, "needs memory mapped MTYPE_UC or loads past the caches (glc slc dlc)%s",
		    bo->held[copy->line] ? ", and GCVM_INVALIDATE_ENG17_REQ flush_type 2 with a VMID mask" : "");
	else
		say(o, "needs GCVM_INVALIDATE_ENG17_REQ flush_type 2 with a VMID mask");
	say(o, "\n");
}

size_t bf_gpu_describe(struct bf_gpu *gpu, char *buf, size_t cap)
{
	struct out o = { buf, cap, 0 };

	if (cap)
		buf[0] = '\0';
	for (uint32_t list = 0; list < BF_GPU_UNUSED; list++)
		for (uint32_t i = gpu->list[list].first; i; i = gpu->copies[i - 1].next)
			describe_copy(gpu, &gpu->copies[i - 1], &o);
	for (uint32_t i = 0; i < gpu->strays; i++) {
		const struct bf_gpu_stray *s = &gpu->stray[i];

		say(&o,
		    "%s: %s wrote %u bytes at I/O address 0x%llx at %llu ns (writes in all: %u): it was given physical "
		    "address 0x%llx for '%s', which has moved away; %s%s%s\n",
		    gpu->name, bf_stream_actor_name(&gpu->sim->rec, s->by), s->len, (unsigned long long)s->iova,
		    (unsigned long long)(s->time_ps / BF_NS), s->count, (unsigned long long)s->paddr, s->meant,
		    s->owner[0] ? "the memory belongs to '" : "nobody owns the memory", s->owner,
		    s->owner[0] ? "' now" : "");
	}
	for (uint32_t i = 0; i < gpu->lates; i++) {
		const struct bf_gpu_late *l = &gpu->late[i];

		say(&o,
		    "%s: %s read 0x%llx ('%s') at %llu ns, and %u lines in all, while the L2 held what %s had stored "
		    "at "
		    "%llu ns: it got older bytes; needs a fence of system scope behind the store, or MTYPE_UC\n",
		    gpu->name, bf_stream_actor_name(&gpu->sim->rec, l->reader), (unsigned long long)l->va, l->buffer,
		    (unsigned long long)(l->time_ps / BF_NS), l->count, bf_stream_actor_name(&gpu->sim->rec, l->by),
		    (unsigned long long)(l->since_ps / BF_NS));
	}
	return o.len;
}
