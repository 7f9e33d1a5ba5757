#include "sim/iommu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fault.h"
#include "sim/pool.h"
#include "sim/records_io.h"

struct bf_iomap {
	uint64_t iova;
	uint64_t last; /* inclusive, so that a map may end with the address space */
	uint8_t *host;
	struct bf_region *region;
	uint32_t perm;
};

int bf_ioas_init(struct bf_ioas *as, struct bf_sim *sim, const char *name, uint64_t page_bytes)
{
	if (page_bytes < BF_PAGE || (page_bytes & (page_bytes - 1)))
		return bf_fail(&sim->error, -EINVAL, "IOAS '%s': page size %llu is not a power of two of at least 4096",
			       name, (unsigned long long)page_bytes);
	*as = (struct bf_ioas){ .sim = sim, .page = page_bytes };
	strncpy(as->name, name, sizeof(as->name) - 1);
	return 0;
}

void bf_ioas_fini(struct bf_ioas *as)
{
	bf_pool_give(as->sim, as->maps, as->cap * sizeof(*as->maps));
	*as = (struct bf_ioas){ 0 };
}

/* Index of the first map that ends at or above `iova`. */
static uint32_t first_reaching(const struct bf_ioas *as, uint64_t iova)
{
	uint32_t lo = 0, hi = as->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (as->maps[mid].last < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int reserve_map(struct bf_ioas *as)
{
	uint32_t cap = as->cap ? as->cap * 2 : 16;
	struct bf_iomap *grown;

	if (as->count < as->cap)
		return 0;
	grown = bf_pool_take(as->sim, cap * sizeof(*grown));
	if (!grown)
		return bf_fail(&as->sim->error, -ENOMEM, "IOAS '%s': no memory for a map", as->name);
	if (as->count)
		memcpy(grown, as->maps, as->count * sizeof(*grown));
	bf_pool_give(as->sim, as->maps, as->cap * sizeof(*grown));
	as->maps = grown;
	as->cap = cap;
	return 0;
}

static void insert_map(struct bf_ioas *as, uint32_t at, const struct bf_iomap *map)
{
	memmove(&as->maps[at + 1], &as->maps[at], (as->count - at) * sizeof(*map));
	as->maps[at] = *map;
	as->count++;
}

static bool range_is_valid(const struct bf_ioas *as, uint64_t iova, uint64_t len)
{
	return len && !((iova | len) & (as->page - 1)) && iova + (len - 1) >= iova;
}

int bf_ioas_map(struct bf_ioas *as, uint64_t iova, struct bf_region *r, uint64_t offset, uint64_t len, uint32_t perm)
{
	struct bf_error *err = &as->sim->error;
	struct bf_iomap map;
	uint32_t at;
	int rc;

	if (!range_is_valid(as, iova, len) || offset & (as->page - 1))
		return bf_fail(err, -EINVAL, "IOAS '%s': map of 0x%llx bytes at 0x%llx, offset 0x%llx is unaligned",
			       as->name, (unsigned long long)len, (unsigned long long)iova, (unsigned long long)offset);
	if (offset > r->size || len > r->size - offset)
		return bf_fail(err, -EINVAL, "IOAS '%s': map at 0x%llx reaches out of region '%s'", as->name,
			       (unsigned long long)iova, r->name);
	if (!perm || perm & ~(BF_IOMMU_READ | BF_IOMMU_WRITE))
		return bf_fail(err, -EINVAL, "IOAS '%s': permissions 0x%x are not valid", as->name, perm);
	map = (struct bf_iomap){
		.iova = iova, .last = iova + (len - 1), .host = r->bytes + offset, .region = r, .perm = perm
	};
	at = first_reaching(as, iova);
	if (at < as->count && as->maps[at].iova <= map.last)
		return bf_fail(err, -EEXIST, "IOAS '%s': map at 0x%llx overlaps one at 0x%llx", as->name,
			       (unsigned long long)iova, (unsigned long long)as->maps[at].iova);
	rc = reserve_map(as);
	if (!rc)
		insert_map(as, at, &map);
	return rc;
}

int bf_ioas_map_region(struct bf_ioas *as, struct bf_region *r, uint32_t perm)
{
	return bf_ioas_map(as, r->va, r, 0, r->size, perm);
}

/* Takes [iova, last] out of map `at`; a piece that stays above becomes a map of its own (room is reserved). */
static void cut_map(struct bf_ioas *as, uint32_t at, uint64_t iova, uint64_t last)
{
	struct bf_iomap *m = &as->maps[at], above = *m;

	if (last < m->last) {
		above.host += last + 1 - m->iova;
		above.iova = last + 1;
		if (m->iova < iova)
			insert_map(as, at + 1, &above);
		else
			*m = above;
	}
	if (m->iova < iova)
		as->maps[at].last = iova - 1;
}

int bf_ioas_unmap(struct bf_ioas *as, uint64_t iova, uint64_t len)
{
	uint32_t at, end;
	uint64_t last = iova + (len - 1);
	int rc;

	if (!range_is_valid(as, iova, len))
		return bf_fail(&as->sim->error, -EINVAL, "IOAS '%s': unmap of 0x%llx bytes at 0x%llx is unaligned",
			       as->name, (unsigned long long)len, (unsigned long long)iova);
	at = first_reaching(as, iova);
	if (at == as->count || as->maps[at].iova > last)
		return bf_fail(&as->sim->error, -ENOENT, "IOAS '%s': nothing is mapped at 0x%llx", as->name,
			       (unsigned long long)iova);
	rc = reserve_map(as);
	if (rc)
		return rc;
	as->generation++;
	if (as->maps[at].iova < iova)
		cut_map(as, at++, iova, last);
	for (end = at; end < as->count && as->maps[end].last <= last; end++)
		;
	memmove(&as->maps[at], &as->maps[end], (as->count - end) * sizeof(*as->maps));
	as->count -= end - at;
	if (at < as->count && as->maps[at].iova <= last)
		cut_map(as, at, iova, last);
	return 0;
}

int64_t BF_NOINLINE bf_ioas_fault(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor,
				  enum bf_iommu_reason reason)
{
	as->faults++;
	as->last_fault = (struct bf_iommu_fault){
		.iova = iova, .time_ps = as->sim->now_ps, .access = access, .reason = reason, .actor = actor
	};
	BF_EMIT(as->sim, actor, iommu_fault, .iova = iova, .len = len, .access = access, .reason = reason);
	return -EFAULT;
}

/* Bytes from `iova` on, at most `len`, that the map at index `at` and the maps that continue it cover. */
static uint64_t run_length(const struct bf_ioas *as, uint32_t at, uint64_t iova, uint64_t len, uint32_t access)
{
	const struct bf_iomap *m = &as->maps[at];
	uint64_t run = m->last - iova + 1; /* 0 for the whole 64-bit space, which no region fills */

	while (run < len && ++at < as->count) {
		const struct bf_iomap *next = &as->maps[at];

		if (next->iova != m->last + 1 || next->region != m->region ||
		    next->host != m->host + (m->last - m->iova) + 1 || (next->perm & access) != access)
			break;
		m = next;
		run = m->last - iova + 1;
	}
	return run < len ? run : len;
}

int64_t bf_ioas_lookup(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor, void **host,
		       struct bf_region **region)
{
	uint16_t *hint = &as->hints[(iova / BF_PAGE) % BF_IOAS_HINTS];
	uint32_t at = *hint;
	const struct bf_iomap *m;

	if (BF_UNLIKELY(at >= as->count || iova < as->maps[at].iova || iova > as->maps[at].last)) {
		at = first_reaching(as, iova);
		if (at == as->count || iova < as->maps[at].iova)
			return bf_ioas_fault(as, iova, len, access, actor, BF_IOMMU_UNMAPPED);
		*hint = (uint16_t)at;
	}
	m = &as->maps[at];
	if (BF_UNLIKELY((m->perm & access) != access))
		return bf_ioas_fault(as, iova, len, access, actor, BF_IOMMU_PERM);
	*host = m->host + (iova - m->iova);
	*region = m->region;
	if (BF_LIKELY(len - 1 <= m->last - iova))
		return (int64_t)len;
	return (int64_t)run_length(as, at, iova, len, access);
}

const void *bf_ioas_likely(const struct bf_ioas *as, uint64_t iova)
{
	const uint32_t at = as->hints[(iova / BF_PAGE) % BF_IOAS_HINTS];
	const struct bf_iomap *m;

	if (BF_UNLIKELY(at >= as->count))
		return NULL;
	m = &as->maps[at];
	return BF_LIKELY(iova >= m->iova && iova <= m->last) ? m->host + (iova - m->iova) : NULL;
}

int64_t bf_ioas_translate(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor, void **host,
			  struct bf_region **region)
{
	struct bf_fault injected;

	if (bf_fault_check(as->sim, BF_FAULT_DMA, actor, 0, &injected))
		return bf_ioas_fault(as, iova, len, access, actor, BF_IOMMU_INJECTED);
	return bf_ioas_lookup(as, iova, len, access, actor, host, region);
}
