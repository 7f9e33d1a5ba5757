#include "sim/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/agent_internal.h"
#include "sim/coro.h"
#include "sim/image.h"
#include "sim/known_internal.h"
#include "sim/notice_internal.h"
#include "sim/pcie.h"
#include "sim/pool.h"
#include "sim/records_io.h"

/* Regions of at least this size start on a multiple of it, so that spaces with 2 MiB I/O pages can map them. */
#define LARGE_PAGE (2ull << 20)
#define VA_LIMIT (1ull << 56)
#define GUARDED_REGIONS 1024u
#define NAME_CHARS 39u /* of a region: what records have room for */

int bf_space_init(struct bf_space *sp, struct bf_sim *sim, const char *name, uint32_t index)
{
	if (((uint64_t)index + 2) << 40 > VA_LIMIT)
		return bf_fail(&sim->error, -EINVAL, "space '%s': index %u is out of range", name, index);
	*sp = (struct bf_space){ .sim = sim, .next_va = ((uint64_t)index + 1) << 40 };
	strncpy(sp->name, name, sizeof(sp->name) - 1);
	return 0;
}

void bf_space_fini(struct bf_space *sp)
{
	while (sp->count)
		bf_region_destroy(sp->by_va[sp->count - 1]);
	free(sp->by_va);
	bf_pool_give(sp->sim, sp->by_host, sp->cap * sizeof(*sp->by_host));
	*sp = (struct bf_space){ 0 };
}

/* Index of the first region that ends above `va`. */
static uint32_t first_above_va(const struct bf_space *sp, uint64_t va)
{
	uint32_t lo = 0, hi = sp->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (sp->by_va[mid]->va + sp->by_va[mid]->size <= va)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint32_t first_above_host(const struct bf_space *sp, uintptr_t p)
{
	uint32_t lo = 0, hi = sp->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (sp->by_host[mid].end <= p)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool va_is_free(const struct bf_space *sp, uint64_t va, uint64_t size, uint64_t *blocked_until)
{
	uint32_t i = first_above_va(sp, va);

	if (i == sp->count || sp->by_va[i]->va >= va + size)
		return true;
	*blocked_until = sp->by_va[i]->va + sp->by_va[i]->size;
	return false;
}

/* Finds the address that `opts` asks for. One unmapped page stays between automatic neighbours, to catch overruns. */
static int place(struct bf_space *sp, const struct bf_region_opts *opts, uint64_t size, uint64_t *va)
{
	struct bf_error *err = &sp->sim->error;
	uint64_t align = size >= LARGE_PAGE ? LARGE_PAGE : BF_PAGE, blocked = 0;

	if (opts->va) {
		if (opts->va % BF_PAGE || opts->va > VA_LIMIT - size)
			return bf_fail(err, -EINVAL, "region '%s': address 0x%llx is unaligned or out of range",
				       opts->name, (unsigned long long)opts->va);
		if (!va_is_free(sp, opts->va, size, &blocked))
			return bf_fail(err, -EEXIST, "region '%s': address 0x%llx is taken", opts->name,
				       (unsigned long long)opts->va);
		*va = opts->va;
		return 0;
	}
	*va = (sp->next_va + align - 1) & ~(align - 1);
	while (*va <= VA_LIMIT - size && !va_is_free(sp, *va, size, &blocked))
		*va = (blocked + align - 1) & ~(align - 1);
	if (*va > VA_LIMIT - size)
		return bf_fail(err, -ENOMEM, "region '%s': space '%s' has no addresses left", opts->name, sp->name);
	sp->next_va = *va + size + BF_PAGE;
	return 0;
}

/*
 * Bytes of its own: nobody dereferences device registers in virtual time, so these are addresses only. Of other regions
 * the first have a mapping each with an inaccessible page behind it, so that a driver that runs over the end stops
 * there. A process has room for 65,530 mappings (Linux vm.max_map_count), and a page that is different makes two: in
 * simulations with thousands of regions the later ones go without, and small ones share mappings.
 */
static bool is_pooled(const struct bf_region *r)
{
	return r->size <= BF_POOL_PAGES_MAX && (r->kind == BF_MEM_MMIO || r->space->sim->regions >= GUARDED_REGIONS);
}

static uint64_t mapped_bytes(const struct bf_region *r)
{
	return r->size + (r->guarded ? BF_PAGE : 0);
}

static int map_image(struct bf_region *r, const struct bf_image *image)
{
	r->bytes = bf_image_map(image);
	r->owns_bytes = r->bytes != NULL;
	r->space->sim->regions += r->owns_bytes;
	return r->bytes ? 0 : -ENOMEM;
}

/* From run to run, where somebody keeps it: memory with a guard behind it, which is no device's and no image's. */
static bool may_be_kept(const struct bf_region *r)
{
	return r->space->sim->stacks && r->guarded && r->kind != BF_MEM_MMIO;
}

static uint8_t *map_new(const struct bf_region *r, int prot)
{
	uint8_t *p = mmap(NULL, mapped_bytes(r), r->guarded ? PROT_NONE : prot,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (r->guarded && prot != PROT_NONE && mprotect(p, r->size, prot)) {
		munmap(p, mapped_bytes(r));
		return NULL;
	}
	return p;
}

static int map_bytes(struct bf_region *r)
{
	struct bf_sim *sim = r->space->sim;
	const bool mmio = r->kind == BF_MEM_MMIO;

	r->pooled = is_pooled(r);
	if (r->pooled) {
		r->bytes = bf_pool_pages_take(sim, r->size, mmio);
		return r->bytes ? 0 : -ENOMEM;
	}
	r->guarded = sim->regions < GUARDED_REGIONS;
	r->bytes = may_be_kept(r) ? bf_stacks_take_map(sim->stacks, r->size, mapped_bytes(r)) : NULL;
	if (!r->bytes)
		r->bytes = map_new(r, mmio ? PROT_NONE : PROT_READ | PROT_WRITE);
	r->owns_bytes = r->bytes != NULL;
	sim->regions += r->owns_bytes;
	return r->bytes ? 0 : -ENOMEM;
}

static void unmap_bytes(struct bf_region *r)
{
	struct bf_sim *sim = r->space->sim;

	if (r->pooled && r->bytes)
		bf_pool_pages_give(sim, r->bytes, r->size, r->kind == BF_MEM_MMIO);
	if (!r->owns_bytes)
		return;
	if (may_be_kept(r))
		bf_stacks_keep_map(sim->stacks, r->bytes, r->size, mapped_bytes(r));
	else
		munmap(r->bytes, mapped_bytes(r));
	sim->regions--;
}

/* By a quarter: there may be hundreds of spaces of hundreds of regions, and what is left free counts in each. */
static int reserve_slot(struct bf_space *sp)
{
	uint32_t cap = sp->cap + sp->cap / 4 + 16;
	struct bf_host_range *ranges;
	struct bf_region **grown;

	if (sp->count < sp->cap)
		return 0;
	grown = realloc(sp->by_va, cap * sizeof(struct bf_region *));
	if (!grown)
		return -ENOMEM;
	sp->by_va = grown;
	ranges = bf_pool_take(sp->sim, cap * sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	if (sp->count)
		memcpy(ranges, sp->by_host, sp->count * sizeof(*ranges));
	bf_pool_give(sp->sim, sp->by_host, sp->cap * sizeof(*ranges));
	sp->by_host = ranges;
	sp->cap = cap;
	return 0;
}

static void insert(struct bf_space *sp, struct bf_region *r, uint32_t at_va, uint32_t at_host)
{
	memmove(&sp->by_va[at_va + 1], &sp->by_va[at_va], (sp->count - at_va) * sizeof(sp->by_va[0]));
	memmove(&sp->by_host[at_host + 1], &sp->by_host[at_host], (sp->count - at_host) * sizeof(sp->by_host[0]));
	sp->by_va[at_va] = r;
	sp->by_host[at_host] = (struct bf_host_range){ .end = (uintptr_t)r->bytes + r->size, .region = r };
	sp->count++;
}

static void take_out(struct bf_space *sp, const struct bf_region *r)
{
	const uint32_t at_va = first_above_va(sp, r->va), at_host = first_above_host(sp, (uintptr_t)r->bytes);

	sp->count--;
	memmove(&sp->by_va[at_va], &sp->by_va[at_va + 1], (sp->count - at_va) * sizeof(sp->by_va[0]));
	memmove(&sp->by_host[at_host], &sp->by_host[at_host + 1], (sp->count - at_host) * sizeof(sp->by_host[0]));
}

static void record_region(const struct bf_region *r)
{
	struct bf_rec_region rec = { .va = r->va, .size = r->size, .kind = r->kind, .id = r->id };

	strncpy(rec.name, r->name, sizeof(rec.name) - 1);
	memcpy(rec.space, r->space->name, sizeof(r->space->name));
	BF_EMIT_MADE(r->space->sim, 0, region, rec, NULL, 0);
}

static int enter(struct bf_space *sp, struct bf_region *r)
{
	uint32_t at = first_above_host(sp, (uintptr_t)r->bytes);

	if (at < sp->count && (uintptr_t)sp->by_host[at].region->bytes < (uintptr_t)r->bytes + r->size)
		return bf_fail(&sp->sim->error, -EEXIST, "region '%s': its bytes overlap region '%s'", r->name,
			       sp->by_host[at].region->name);
	insert(sp, r, first_above_va(sp, r->va), at);
	r->id = ++sp->last_id;
	if (bf_probe(sp->sim, BF_CLASS_META))
		record_region(r);
	return 0;
}

static int check_opts(struct bf_space *sp, const struct bf_region_opts *opts)
{
	struct bf_error *err = &sp->sim->error;

	if (!opts->size || opts->size > VA_LIMIT)
		return bf_fail(err, -EINVAL, "region '%s': size 0x%llx is out of range", opts->name,
			       (unsigned long long)opts->size);
	if ((uintptr_t)opts->bytes % BF_PAGE || (opts->bytes && opts->size % BF_PAGE))
		return bf_fail(err, -EINVAL, "region '%s': borrowed bytes must be whole pages", opts->name);
	if (opts->image && (opts->bytes || opts->mmio || opts->size != opts->image->size))
		return bf_fail(err, -EINVAL, "region '%s': an image of 0x%llx bytes for 0x%llx bytes of its own memory",
			       opts->name, (unsigned long long)opts->image->size, (unsigned long long)opts->size);
	if ((opts->kind == BF_MEM_MMIO) != (opts->mmio != NULL) || (opts->far && !opts->mmio))
		return bf_fail(err, -EINVAL, "region '%s': MMIO regions, and only they, need mmio operations",
			       opts->name);
	return 0;
}

/* With its name. */
static size_t region_bytes(const char *name)
{
	return sizeof(struct bf_region) + strnlen(name, NAME_CHARS) + 1;
}

int bf_region_create(struct bf_space *sp, const struct bf_region_opts *opts, struct bf_region **out)
{
	const size_t bytes = region_bytes(opts->name);
	struct bf_region *r;
	char *name;
	int rc = check_opts(sp, opts);

	if (rc)
		return rc;
	r = bf_pool_take(sp->sim, bytes);
	if (!r || reserve_slot(sp)) {
		bf_pool_give(sp->sim, r, bytes);
		return bf_fail(&sp->sim->error, -ENOMEM, "region '%s': no memory", opts->name);
	}
	name = memcpy(r + 1, opts->name, bytes - sizeof(*r) - 1); /* the byte behind it is zero */
	*r = (struct bf_region){
		.name = name,
		.size = (opts->size + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1),
		.bytes = opts->bytes,
		.kind = opts->kind,
		.space = sp,
		.mmio = opts->mmio,
		.far = opts->far,
		.owner = opts->owner,
		.link = opts->link,
	};
	rc = sp->at_host && !opts->va ? 0 : place(sp, opts, r->size, &r->va);
	if (!rc && !r->bytes && (opts->image ? map_image(r, opts->image) : map_bytes(r)))
		rc = bf_fail(&sp->sim->error, -ENOMEM, "region '%s': no memory for %llu bytes", r->name,
			     (unsigned long long)r->size);
	if (!rc && !r->va)
		r->va = (uintptr_t)r->bytes;
	if (!rc && sp->sim->slow & BF_SLOW_KNOWN)
		rc = bf_known_take(r);
	if (!rc)
		rc = enter(sp, r);
	if (rc) {
		bf_known_drop(r);
		unmap_bytes(r);
		bf_pool_give(sp->sim, r, bytes);
		return rc;
	}
	*out = r;
	return 0;
}

void bf_region_set_cache(struct bf_region *r, struct bf_cache *cache)
{
	struct bf_sim *sim = r->space->sim;

	sim->caches = sim->caches + (cache != NULL) - (r->cache != NULL);
	sim->slow = sim->caches ? sim->slow | BF_SLOW_CACHE : sim->slow & ~BF_SLOW_CACHE;
	r->cache = cache;
	if (cache) {
		r->space->cache = cache;
		bf_known_drop(r);
	}
}

void bf_region_destroy(struct bf_region *r)
{
	struct bf_space *sp = r->space;

	if (r->cache)
		bf_region_set_cache(r, NULL);
	take_out(sp, r);
	if (sp->last == r)
		sp->last = NULL;
	if (r->link)
		bf_link_forget(r->link, r);
	bf_known_drop(r);
	unmap_bytes(r);
	bf_pool_give(sp->sim, r, region_bytes(r->name));
}

void bf_space_describe(const struct bf_space *sp)
{
	if (!bf_probe(sp->sim, BF_CLASS_META))
		return;
	for (uint32_t i = 0; i < sp->count; i++)
		record_region(sp->by_va[i]);
}

struct bf_region *bf_space_find(struct bf_space *sp, uint64_t va)
{
	struct bf_region *r = sp->last;
	uint32_t i;

	if (BF_LIKELY(r != NULL) && va - r->va < r->size)
		return r;
	i = first_above_va(sp, va);
	if (i == sp->count || va < sp->by_va[i]->va)
		return NULL;
	return sp->last = sp->by_va[i];
}

/* The same in the spaces that are mapped here. It is not kept as the last hit, which bf_space_find() uses as well. */
static struct bf_region *find_host_mapped(struct bf_space *sp, uintptr_t at)
{
	for (struct bf_space *o = sp->mapped; o && o != sp; o = o->mapped) {
		const uint32_t i = first_above_host(o, at);
		struct bf_region *r = i < o->count ? o->by_host[i].region : NULL;

		if (r && at >= (uintptr_t)r->bytes && r->kind != BF_MEM_MMIO)
			return r;
	}
	return NULL;
}

struct bf_region *bf_space_find_host(struct bf_space *sp, const void *p)
{
	struct bf_region *r = sp->last;
	uintptr_t at = (uintptr_t)p;
	uint32_t i;

	if (BF_LIKELY(r != NULL) && at - (uintptr_t)r->bytes < r->size)
		return r;
	i = first_above_host(sp, at);
	if (i == sp->count || at < (uintptr_t)sp->by_host[i].region->bytes)
		return BF_LIKELY(!sp->mapped) ? NULL : find_host_mapped(sp, at);
	return sp->last = sp->by_host[i].region;
}

void bf_space_map(struct bf_space *a, struct bf_space *b)
{
	b->mapped = a->mapped ? a->mapped : a;
	a->mapped = b;
}

struct bf_region *bf_space_find_mapped(struct bf_space *sp, uint64_t va)
{
	for (struct bf_space *o = sp->mapped; o && o != sp; o = o->mapped) {
		struct bf_region *r = bf_space_find(o, va);

		if (r && r->kind != BF_MEM_MMIO)
			return r;
	}
	return NULL;
}

const struct bf_region *bf_space_overrun(const struct bf_space *sp, const void *p)
{
	const uintptr_t at = (uintptr_t)p;
	const uint32_t i = first_above_host(sp, at);
	const struct bf_host_range *below = i ? &sp->by_host[i - 1] : NULL;

	return below && below->region->guarded && at - below->end < BF_PAGE ? below->region : NULL;
}

void bf_mem_touched_slow(struct bf_region *r, const void *p, uint64_t len)
{
	struct bf_sim *sim = r->space->sim;

	if (r->known)
		bf_known_wrote(r, p, len);
	if (bf_noticing(sim))
		bf_notice_write(sim, sim->agents->draining, p, len);
	if (sim->slow & BF_SLOW_WATCH)
		bf_agents_touched(sim, p, len);
}

void bf_mem_seen_slow(struct bf_region *r, const void *p, uint64_t len, uint32_t actor)
{
	if (r->known)
		bf_known_read(r, p, len, actor);
	if (bf_noticing(r->space->sim))
		bf_notice_read(r->space->sim, NULL, p, len);
}
