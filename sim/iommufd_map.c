/* IOMMUFD: the areas of an IOAS, and which addresses they may have. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/iommufd_internal.h"

#define MAP_FLAGS (BF_IOMMUFD_FIXED_IOVA | BF_IOMMUFD_WRITEABLE | BF_IOMMUFD_READABLE)

/* Index of the first area that ends at or above `iova`. */
static uint32_t first_reaching(const struct bf_iommufd_ioas *ioas, uint64_t iova)
{
	uint32_t at = 0;

	while (at < ioas->nareas && ioas->areas[at].last < iova)
		at++;
	return at;
}

static bool overlaps(uint64_t first, uint64_t last, uint64_t other_first, uint64_t other_last)
{
	return first <= other_last && other_first <= last;
}

static bool is_reserved(const struct bf_iommufd_ioas *ioas, uint64_t first, uint64_t last)
{
	return ioas->devices && (overlaps(first, last, BF_MSI_FIRST, BF_MSI_LAST) || last > BF_APERTURE_LAST);
}

int bf_iommufd_check_reserved(struct bf_iommufd_ioas *ioas)
{
	struct bf_error *err = &ioas->fd->sim->error;

	for (uint32_t i = 0; i < ioas->nareas; i++)
		if (overlaps(ioas->areas[i].iova, ioas->areas[i].last, BF_MSI_FIRST, BF_MSI_LAST) ||
		    ioas->areas[i].last > BF_APERTURE_LAST)
			return bf_fail(err, -EADDRINUSE, "IOMMUFD: the area at 0x%llx is where the device cannot go",
				       (unsigned long long)ioas->areas[i].iova);
	for (uint32_t i = 0; i < ioas->nallowed; i++)
		if (overlaps(ioas->allowed[i].start, ioas->allowed[i].last, BF_MSI_FIRST, BF_MSI_LAST) ||
		    ioas->allowed[i].last > BF_APERTURE_LAST)
			return bf_fail(err, -EADDRINUSE, "IOMMUFD: allowed addresses from 0x%llx are reserved",
				       (unsigned long long)ioas->allowed[i].start);
	return 0;
}

static int check_call(struct bf_iommufd *fd, uint32_t flags, uint64_t len, uint64_t iova)
{
	struct bf_error *err = &fd->sim->error;

	if (flags & ~MAP_FLAGS)
		return bf_fail(err, -EOPNOTSUPP, "IOMMUFD: flags 0x%x are not known", flags);
	if (len == UINT64_MAX || ((flags & BF_IOMMUFD_FIXED_IOVA) && iova == UINT64_MAX))
		return bf_fail(err, -EOVERFLOW, "IOMMUFD: addresses end before that");
	if (!(flags & (BF_IOMMUFD_WRITEABLE | BF_IOMMUFD_READABLE)))
		return bf_fail(err, -EINVAL, "IOMMUFD: neither readable nor writeable");
	if (!len || len % BF_PAGE)
		return bf_fail(err, -EINVAL, "IOMMUFD: a length of 0x%llx is no whole pages", (unsigned long long)len);
	return 0;
}

/* An address that the caller chose. */
static int check_fixed(struct bf_iommufd_ioas *ioas, uint64_t iova, uint64_t len)
{
	struct bf_error *err = &ioas->fd->sim->error;
	const uint64_t last = iova + (len - 1);
	uint32_t at;

	if (iova % BF_PAGE)
		return bf_fail(err, -EINVAL, "IOMMUFD: I/O address 0x%llx is unaligned", (unsigned long long)iova);
	if (last < iova)
		return bf_fail(err, -EOVERFLOW, "IOMMUFD: the area at 0x%llx goes past the last address",
			       (unsigned long long)iova);
	if (is_reserved(ioas, iova, last))
		return bf_fail(err, -EINVAL, "IOMMUFD: the area at 0x%llx is in a reserved range",
			       (unsigned long long)iova);
	at = first_reaching(ioas, iova);
	if (at < ioas->nareas && ioas->areas[at].iova <= last)
		return bf_fail(err, -EEXIST, "IOMMUFD: the area at 0x%llx overlaps one at 0x%llx",
			       (unsigned long long)iova, (unsigned long long)ioas->areas[at].iova);
	return 0;
}

/* The lowest free address in [first, last]: 0 when there is none. Each obstacle is passed once. */
static uint64_t lowest_free(const struct bf_iommufd_ioas *ioas, uint64_t first, uint64_t last, uint64_t len,
			    uint64_t align)
{
	uint64_t at = first;

	for (;;) {
		uint32_t i;

		at = (at + align - 1) & ~(align - 1);
		if (at < first || at > last || len - 1 > last - at)
			return 0;
		i = first_reaching(ioas, at);
		if (i < ioas->nareas && ioas->areas[i].iova <= at + (len - 1))
			at = ioas->areas[i].last + 1;
		else if (ioas->devices && overlaps(at, at + (len - 1), BF_MSI_FIRST, BF_MSI_LAST))
			at = BF_MSI_LAST + 1;
		else
			return at;
	}
}

/*
 * An address of our choice, as Linux chooses: the lowest, aligned like the length or the memory, whichever is less, and
 * never 0 (iopt_alloc_iova() in drivers/iommu/iommufd/io_pagetable.c).
 */
static int choose(struct bf_iommufd_ioas *ioas, uint64_t addr, uint64_t len, uint64_t *iova)
{
	const uint64_t end = ioas->devices ? BF_APERTURE_LAST : UINT64_MAX - BF_PAGE;
	uint64_t align = BF_PAGE, found = 0;

	while (align < len && align < 1ull << 62 && !(addr & align))
		align *= 2;
	if (!ioas->nallowed)
		found = lowest_free(ioas, BF_PAGE, end, len, align);
	for (uint32_t i = 0; !found && i < ioas->nallowed; i++) {
		const struct bf_iova_range *r = &ioas->allowed[i];

		found = lowest_free(ioas, r->start > BF_PAGE ? r->start : BF_PAGE, r->last < end ? r->last : end, len,
				    align);
	}
	if (!found)
		return bf_fail(&ioas->fd->sim->error, -ENOSPC, "IOMMUFD: no free I/O addresses for 0x%llx bytes",
			       (unsigned long long)len);
	*iova = found;
	return 0;
}

static void put_pages(struct bf_iommufd_pages *p)
{
	if (!p || --p->refs)
		return;
	if (p->attach)
		bf_dmabuf_detach(p->attach);
	free(p);
}

/* Devices can reach the area. */
static int fill(struct bf_iommufd_ioas *ioas, const struct bf_iommufd_area *a)
{
	const uint64_t len = a->last - a->iova + 1;

	if (a->pages->attach)
		return bf_dmabuf_enter(a->pages->attach, &ioas->table, a->iova, a->start, len, a->perm);
	return bf_ioas_map(&ioas->table, a->iova, a->pages->region, a->pages->offset + a->start, len, a->perm);
}

static void unfill(struct bf_iommufd_ioas *ioas, const struct bf_iommufd_area *a)
{
	const uint64_t len = a->last - a->iova + 1;

	if (a->pages->attach)
		bf_dmabuf_leave(a->pages->attach, &ioas->table, a->iova, len);
	else
		bf_ioas_unmap(&ioas->table, a->iova, len);
}

/* Enters an area at an address that is known to be free. Takes a reference to its pages. */
static int add_area(struct bf_iommufd_ioas *ioas, const struct bf_iommufd_area *area)
{
	const uint32_t at = first_reaching(ioas, area->iova);
	int rc;

	if (BF_GROW(ioas->areas, ioas->cap, ioas->nareas + 1))
		return bf_fail(&ioas->fd->sim->error, -ENOMEM, "IOMMUFD: no memory for an area");
	rc = fill(ioas, area);
	if (rc)
		return rc;
	memmove(&ioas->areas[at + 1], &ioas->areas[at], (ioas->nareas - at) * sizeof(*area));
	ioas->areas[at] = *area;
	ioas->nareas++;
	area->pages->refs++;
	return 0;
}

static void remove_area(struct bf_iommufd_ioas *ioas, uint32_t at)
{
	struct bf_iommufd_pages *pages = ioas->areas[at].pages;

	unfill(ioas, &ioas->areas[at]);
	memmove(&ioas->areas[at], &ioas->areas[at + 1], (ioas->nareas - at - 1) * sizeof(*ioas->areas));
	ioas->nareas--;
	put_pages(pages);
}

void bf_iommufd_clear(struct bf_iommufd_ioas *ioas)
{
	while (ioas->nareas)
		remove_area(ioas, ioas->nareas - 1);
}

static uint32_t perm_of(uint32_t flags)
{
	return (flags & BF_IOMMUFD_READABLE ? BF_IOMMU_READ : 0) | (flags & BF_IOMMUFD_WRITEABLE ? BF_IOMMU_WRITE : 0);
}

/* One area of `pages` from `start` on, at *iova or an address to be found for memory at `addr`. */
static int map_pages(struct bf_iommufd_ioas *ioas, struct bf_iommufd_pages *pages, uint64_t start, uint64_t len,
		     uint32_t flags, uint64_t addr, uint64_t *iova)
{
	struct bf_iommufd_area area = { .pages = pages, .start = start, .perm = perm_of(flags) };
	uint64_t at = *iova;
	int rc = flags & BF_IOMMUFD_FIXED_IOVA ? check_fixed(ioas, at, len) : choose(ioas, addr, len, &at);

	if (rc)
		return rc;
	area.iova = at;
	area.last = at + (len - 1);
	rc = add_area(ioas, &area);
	if (!rc)
		*iova = at;
	return rc;
}

static int user_pages(struct bf_iommufd *fd, uint64_t user_va, uint64_t len, struct bf_iommufd_pages **out)
{
	struct bf_region *r = bf_space_find(fd->space, user_va);

	if (user_va % BF_PAGE)
		return bf_fail(&fd->sim->error, -EINVAL, "IOMMUFD: address 0x%llx is unaligned",
			       (unsigned long long)user_va);
	if (!r || r->kind != BF_MEM_DRAM || len > r->size - (user_va - r->va))
		return bf_fail(&fd->sim->error, -EFAULT, "IOMMUFD: no host memory of 0x%llx bytes at 0x%llx",
			       (unsigned long long)len, (unsigned long long)user_va);
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return bf_fail(&fd->sim->error, -ENOMEM, "IOMMUFD: no memory for an area");
	**out = (struct bf_iommufd_pages){ .refs = 1, .region = r, .offset = user_va - r->va };
	return 0;
}

int bf_iommufd_map(struct bf_iommufd *fd, uint32_t ioas_id, uint32_t flags, uint64_t user_va, uint64_t len,
		   uint64_t *iova)
{
	struct bf_rec_iommufd rec = {
		.what = BF_IOMMUFD_MAP, .object = ioas_id, .addr = user_va, .len = len, .perm = (uint16_t)perm_of(flags)
	};
	struct bf_iommufd_pages *pages = NULL;
	struct bf_iommufd_ioas *ioas;
	int rc = check_call(fd, flags, len, *iova);

	if (!rc && !(ioas = bf_iommufd_find(fd, ioas_id, BF_IOMMUFD_IOAS)))
		rc = -ENOENT;
	if (!rc)
		rc = user_pages(fd, user_va, len, &pages);
	if (!rc)
		rc = map_pages(ioas, pages, 0, len, flags, user_va, iova);
	put_pages(pages);
	rec.iova = *iova;
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, !rc ? pages->region->name : NULL);
}

/* The buffer is gone for good: devices fault from now on, the areas stay. */
static void on_revoked(struct bf_dmabuf_attach *a)
{
	struct bf_iommufd *fd = a->arg;

	for (uint32_t i = 0; i < fd->cap; i++) {
		struct bf_iommufd_ioas *ioas = (struct bf_iommufd_ioas *)(void *)fd->objects[i];

		if (!ioas || ioas->obj.kind != BF_IOMMUFD_IOAS)
			continue;
		for (uint32_t j = 0; j < ioas->nareas; j++) {
			const struct bf_iommufd_area *area = &ioas->areas[j];
			struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_REVOKED,
						      .object = ioas->obj.id,
						      .iova = area->iova,
						      .len = area->last - area->iova + 1 };

			if (area->pages->attach != a)
				continue;
			unfill(ioas, area);
			bf_iommufd_done(fd, &rec, a->buf->name);
		}
	}
}

/* Page tables need bare addresses, and IOMMUFD cannot follow a move: it counts on PAL to pin. */
static const struct bf_dmabuf_importer importer = {
	.name = "iommufd",
	.types = { BF_DMABUF_PAL },
	.ntypes = 1,
	.pins = true,
	.revoked = on_revoked,
};

static int file_pages(struct bf_iommufd *fd, struct bf_dmabuf *buf, uint64_t start, uint64_t len,
		      struct bf_iommufd_pages **out)
{
	struct bf_dmabuf_attach *a;
	int rc;

	if (!buf)
		return bf_fail(&fd->sim->error, -EBADF, "IOMMUFD: that is not a file");
	if (start % BF_PAGE || start > buf->size || len > buf->size - start)
		return bf_fail(&fd->sim->error, -EINVAL, "IOMMUFD: 0x%llx bytes from 0x%llx are not in '%s'",
			       (unsigned long long)len, (unsigned long long)start, buf->name);
	rc = bf_dmabuf_attach(buf, &importer, fd, &a);
	if (rc)
		return rc;
	rc = bf_dmabuf_map(a);
	*out = rc ? NULL : calloc(1, sizeof(**out));
	if (!*out) {
		bf_dmabuf_detach(a);
		return rc ? rc : bf_fail(&fd->sim->error, -ENOMEM, "IOMMUFD: no memory for an area");
	}
	**out = (struct bf_iommufd_pages){ .refs = 1, .attach = a };
	return 0;
}

int bf_iommufd_map_file(struct bf_iommufd *fd, uint32_t ioas_id, uint32_t flags, struct bf_dmabuf *buf, uint64_t start,
			uint64_t len, uint64_t *iova)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_MAP_FILE,
				      .object = ioas_id,
				      .addr = start,
				      .len = len,
				      .perm = (uint16_t)perm_of(flags) };
	struct bf_iommufd_pages *pages = NULL;
	struct bf_iommufd_ioas *ioas;
	int rc = check_call(fd, flags, len, *iova);

	if (!rc && !(ioas = bf_iommufd_find(fd, ioas_id, BF_IOMMUFD_IOAS)))
		rc = -ENOENT;
	if (!rc)
		rc = file_pages(fd, buf, start, len, &pages);
	if (!rc)
		rc = map_pages(ioas, pages, start, len, flags, start, iova);
	put_pages(pages);
	rec.iova = *iova;
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, buf ? buf->name : NULL);
}

/* How much of [iova, iova + len) is mapped without a gap, counted from its start. */
static uint64_t covered(const struct bf_iommufd_ioas *ioas, uint64_t iova, uint64_t len)
{
	uint64_t done = 0;

	for (uint32_t i = first_reaching(ioas, iova); i < ioas->nareas && done < len; i++) {
		const struct bf_iommufd_area *a = &ioas->areas[i];

		if (a->iova > iova + done)
			break;
		done = a->last - iova + 1;
	}
	return done < len ? done : len;
}

/* Areas of [iova, iova + len) of `src`, at `at` of `dst`. The addresses are free; undone on failure. */
static int copy_areas(struct bf_iommufd_ioas *dst, struct bf_iommufd_ioas *src, uint64_t iova, uint64_t len,
		      uint32_t perm, uint64_t at)
{
	uint64_t done = 0;
	int rc = 0;

	while (!rc && done < len) {
		const struct bf_iommufd_area a = src->areas[first_reaching(src, iova + done)];
		const uint64_t into = iova + done - a.iova, room = a.last - a.iova + 1 - into;
		const uint64_t n = room < len - done ? room : len - done;
		const struct bf_iommufd_area copy = { .iova = at + done,
						      .last = at + done + (n - 1),
						      .pages = a.pages,
						      .start = a.start + into,
						      .perm = perm };

		rc = add_area(dst, &copy);
		if (!rc)
			done += n;
	}
	while (rc && done) { /* undone from the last on */
		const uint32_t i = first_reaching(dst, at + done - 1);

		done = dst->areas[i].iova - at;
		remove_area(dst, i);
	}
	return rc;
}

int bf_iommufd_copy(struct bf_iommufd *fd, uint32_t dst_id, uint32_t src_id, uint32_t flags, uint64_t len,
		    uint64_t src_iova, uint64_t *dst_iova)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_COPY,
				      .object = dst_id,
				      .other = src_id,
				      .addr = src_iova,
				      .len = len,
				      .perm = (uint16_t)perm_of(flags) };
	struct bf_iommufd_ioas *src = NULL, *dst = NULL;
	uint64_t at = *dst_iova;
	int rc = check_call(fd, flags, len, at);

	if (!rc && (src_iova % BF_PAGE || src_iova + (len - 1) < src_iova))
		rc = bf_fail(&fd->sim->error, src_iova % BF_PAGE ? -EINVAL : -EOVERFLOW,
			     "IOMMUFD: I/O address 0x%llx is unaligned or too high", (unsigned long long)src_iova);
	if (!rc && (!(src = bf_iommufd_find(fd, src_id, BF_IOMMUFD_IOAS)) ||
		    !(dst = bf_iommufd_find(fd, dst_id, BF_IOMMUFD_IOAS))))
		rc = -ENOENT;
	if (!rc && covered(src, src_iova, len) < len)
		rc = bf_fail(&fd->sim->error, -ENOENT, "IOMMUFD: IOAS %u maps only 0x%llx bytes from 0x%llx", src_id,
			     (unsigned long long)covered(src, src_iova, len), (unsigned long long)src_iova);
	if (!rc)
		rc = flags & BF_IOMMUFD_FIXED_IOVA ? check_fixed(dst, at, len) : choose(dst, src_iova, len, &at);
	if (!rc)
		rc = copy_areas(dst, src, src_iova, len, perm_of(flags), at);
	if (!rc)
		*dst_iova = at;
	rec.iova = at;
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, NULL);
}

static int unmap_areas(struct bf_iommufd_ioas *ioas, uint64_t iova, uint64_t last, uint64_t *unmapped)
{
	uint32_t at;

	while ((at = first_reaching(ioas, iova)) < ioas->nareas && ioas->areas[at].iova <= last) {
		const struct bf_iommufd_area *a = &ioas->areas[at];

		if (a->iova < iova || a->last > last)
			return bf_fail(&ioas->fd->sim->error, -ENOENT,
				       "IOMMUFD: the area at 0x%llx reaches over the ends of what is to be unmapped",
				       (unsigned long long)a->iova);
		*unmapped += a->last - a->iova + 1;
		remove_area(ioas, at);
	}
	return *unmapped ? 0 : -ENOENT;
}

int bf_iommufd_unmap(struct bf_iommufd *fd, uint32_t ioas_id, uint64_t iova, uint64_t len, uint64_t *unmapped)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_UNMAP, .object = ioas_id, .iova = iova };
	struct bf_iommufd_ioas *ioas = bf_iommufd_find(fd, ioas_id, BF_IOMMUFD_IOAS);
	const bool all = !iova && len == UINT64_MAX;
	uint64_t bytes = 0;
	int rc = 0;

	if (!ioas)
		rc = -ENOENT;
	else if (!all && (len == UINT64_MAX || iova == UINT64_MAX || (len && iova + (len - 1) < iova)))
		rc = bf_fail(&fd->sim->error, -EOVERFLOW, "IOMMUFD: addresses end before that");
	else if (!len)
		rc = bf_fail(&fd->sim->error, -EINVAL, "IOMMUFD: nothing to unmap");
	if (!rc)
		rc = unmap_areas(ioas, iova, all ? UINT64_MAX : iova + (len - 1), &bytes);
	if (rc == -ENOENT && ioas && all)
		rc = 0;
	else if (rc == -ENOENT && ioas && !bytes)
		bf_fail(&fd->sim->error, rc, "IOMMUFD: no whole area lies at 0x%llx", (unsigned long long)iova);
	if (unmapped)
		*unmapped = bytes;
	rec.len = bytes;
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, NULL);
}

int bf_iommufd_iova_ranges(struct bf_iommufd *fd, uint32_t ioas_id, struct bf_iova_range *out, uint32_t *count,
			   uint64_t *alignment)
{
	static const struct bf_iova_range all[] = { { 0, UINT64_MAX } };
	static const struct bf_iova_range cut[] = { { 0, BF_MSI_FIRST - 1 }, { BF_MSI_LAST + 1, BF_APERTURE_LAST } };
	struct bf_iommufd_ioas *ioas = bf_iommufd_find(fd, ioas_id, BF_IOMMUFD_IOAS);
	const uint32_t room = *count;
	const struct bf_iova_range *have;

	if (!ioas)
		return -ENOENT;
	have = ioas->devices ? cut : all;
	*count = ioas->devices ? BF_ARRAY_LEN(cut) : BF_ARRAY_LEN(all);
	*alignment = BF_PAGE;
	memcpy(out, have, (room < *count ? room : *count) * sizeof(*out));
	if (room < *count)
		return bf_fail(&fd->sim->error, -EMSGSIZE, "IOMMUFD: there are %u ranges", *count);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const uint64_t x = ((const struct bf_iova_range *)a)->start, y = ((const struct bf_iova_range *)b)->start;

	return (x > y) - (x < y);
}

/* Sorted in place. */
static int check_allowed(struct bf_iommufd_ioas *ioas, struct bf_iova_range *ranges, uint32_t count)
{
	struct bf_error *err = &ioas->fd->sim->error;

	qsort(ranges, count, sizeof(*ranges), by_start);
	for (uint32_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].last || (i && ranges[i].start <= ranges[i - 1].last))
			return bf_fail(err, -EINVAL, "IOMMUFD: the range at 0x%llx is empty or overlaps",
				       (unsigned long long)ranges[i].start);
		if (is_reserved(ioas, ranges[i].start, ranges[i].last))
			return bf_fail(err, -EADDRINUSE, "IOMMUFD: the range at 0x%llx is reserved",
				       (unsigned long long)ranges[i].start);
	}
	return 0;
}

int bf_iommufd_allow_iovas(struct bf_iommufd *fd, uint32_t ioas_id, const struct bf_iova_range *ranges, uint32_t count)
{
	struct bf_rec_iommufd rec = { .what = BF_IOMMUFD_ALLOW, .object = ioas_id };
	struct bf_iommufd_ioas *ioas = bf_iommufd_find(fd, ioas_id, BF_IOMMUFD_IOAS);
	struct bf_iova_range *copy = calloc(count ? count : 1, sizeof(*copy));
	int rc = ioas ? 0 : -ENOENT;

	if (!copy)
		return bf_fail(&fd->sim->error, -ENOMEM, "IOMMUFD: no memory for ranges");
	if (count)
		memcpy(copy, ranges, count * sizeof(*copy));
	if (!rc)
		rc = check_allowed(ioas, copy, count);
	if (rc) {
		free(copy);
	} else {
		free(ioas->allowed);
		ioas->allowed = copy;
		ioas->nallowed = count;
	}
	rec.status = rc;
	return bf_iommufd_done(fd, &rec, NULL);
}
