/*
 * Guest memory: what the client maps for the device.
 *
 * A monitor splits and joins its maps of one file again and again, down to one map a page with a virtual IOMMU. So a
 * file is mapped once, as a region of the guest's space, and a DMA map is a range of that region in the I/O address
 * space. Memory without a file is a far region of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "models/pci/vfio_user_internal.h"
#include "sim/grow.h"

static void record_map(struct bf_vfio_user *s, uint32_t what, uint64_t iova, uint64_t size, uint64_t offset,
		       uint32_t access)
{
	BF_EMIT(s->sim, s->actor, vfio_user_map, .iova = iova, .size = size, .offset = offset, .what = what,
		.access = access);
}

/* Files. --------------------------------------------------------------------------------------------------------- */

static void unmap_file(struct bf_vfu_file *f)
{
	if (!f->region)
		return;
	bf_region_destroy(f->region);
	munmap(f->bytes, f->size);
	*f = (struct bf_vfu_file){ 0 };
}

/* A place for one more; a file that no map refers to makes room. Maps come back soon, so they stay until then. */
static struct bf_vfu_file *free_slot(struct bf_vfio_user *s)
{
	struct bf_vfu_file *unused = NULL;

	for (uint32_t i = 0; i < BF_VFU_FILES; i++) {
		if (!s->files[i].region)
			return &s->files[i];
		if (!s->files[i].maps)
			unused = &s->files[i];
	}
	if (unused)
		unmap_file(unused);
	return unused;
}

static int map_file(struct bf_vfio_user *s, struct bf_vfu_file *f, int fd, const struct stat *st, bool writable)
{
	const int prot = PROT_READ | (writable ? PROT_WRITE : 0);
	const uint64_t size = (uint64_t)st->st_size & ~(uint64_t)(BF_PAGE - 1);
	char name[32];
	int rc;
	void *bytes = mmap(NULL, size, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (bytes == MAP_FAILED)
		return bf_vfu_refuse(s, -errno, "DMA_MAP: a file of 0x%llx bytes: %s", (unsigned long long)size,
				     strerror(errno));
	snprintf(name, sizeof(name), "guest%u", s->files_made);
	rc = bf_region_create(
	    &s->space, &(struct bf_region_opts){ .name = name, .kind = BF_MEM_DRAM, .size = size, .bytes = bytes },
	    &f->region);
	if (rc) {
		munmap(bytes, size);
		return bf_vfu_refuse(s, rc, "DMA_MAP: %s", s->sim->error.text);
	}
	s->files_made++;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->bytes = bytes;
	f->size = size;
	f->writable = writable;
	return 0;
}

/*
 * The file behind `fd`, mapped from its first byte to its end: `need` bytes at least. Bytes past its end would raise
 * SIGBUS when they are touched, so that a shorter file is refused.
 */
static int find_file(struct bf_vfio_user *s, int fd, uint64_t need, bool write, struct bf_vfu_file **out)
{
	const int flags = fcntl(fd, F_GETFL);
	const bool writable = (flags & O_ACCMODE) == O_RDWR;
	struct bf_vfu_file *f;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return bf_vfu_refuse(s, -EINVAL, "DMA_MAP: the descriptor is not a file");
	if ((flags & O_ACCMODE) == O_WRONLY || (write && !writable))
		return bf_vfu_refuse(s, -EACCES, "DMA_MAP: the descriptor does not allow what the map does");
	if (st.st_size < 0 || (uint64_t)st.st_size < need)
		return bf_vfu_refuse(s, -EINVAL, "DMA_MAP: up to byte 0x%llx of a file that has 0x%llx",
				     (unsigned long long)need, (unsigned long long)st.st_size);
	for (uint32_t i = 0; i < BF_VFU_FILES; i++) {
		f = &s->files[i];
		if (f->region && f->dev == st.st_dev && f->ino == st.st_ino && f->writable == writable &&
		    f->size >= need) {
			*out = f;
			return 0;
		}
	}
	*out = f = free_slot(s);
	if (!f)
		return bf_vfu_refuse(s, -ENOSPC, "DMA_MAP: more than %u files", BF_VFU_FILES);
	return map_file(s, f, fd, &st, writable);
}

/*
 * In a signal handler: the rest of the file becomes memory of nobody's. Large pages can only be replaced as a whole.
 * Closing the socket both ways wakes the loop, which finds the end there.
 */
bool bf_vfio_user_mend(struct bf_vfio_user *s, const void *address)
{
	const uintptr_t at = (uintptr_t)address & ~(uintptr_t)(BF_PAGE - 1);

	for (uint32_t i = 0; i < BF_VFU_FILES; i++) {
		const struct bf_vfu_file *f = &s->files[i];
		const uintptr_t first = (uintptr_t)f->bytes;
		const int prot = PROT_READ | PROT_WRITE,
			  flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

		if (!f->region || at < first || at - first >= f->size)
			continue;
		if (mmap((uint8_t *)f->bytes + (at - first), f->size - (at - first), prot, flags, -1, 0) ==
			MAP_FAILED &&
		    mmap(f->bytes, f->size, prot, flags, -1, 0) == MAP_FAILED)
			return false;
		__atomic_store_n(&s->lost, true, __ATOMIC_RELAXED);
		shutdown(s->fd, SHUT_RDWR);
		return true;
	}
	return false;
}

/* Memory without a file: addresses that only messages reach. */
static int make_far(struct bf_vfio_user *s, uint64_t iova, uint64_t size, struct bf_region **out)
{
	struct bf_vfu_far *far = malloc(sizeof(*far));
	char name[32];
	int rc;

	if (!far)
		return bf_vfu_refuse(s, -ENOMEM, "DMA_MAP: no memory");
	*far = (struct bf_vfu_far){ .server = s, .iova = iova };
	snprintf(name, sizeof(name), "far%u", s->far_made);
	rc = bf_region_create(&s->space,
			      &(struct bf_region_opts){ .name = name,
							.kind = BF_MEM_MMIO,
							.size = size,
							.mmio = &bf_vfu_far_mmio,
							.far = &bf_vfu_far_ops,
							.owner = far },
			      out);
	if (rc) {
		free(far);
		return bf_vfu_refuse(s, rc, "DMA_MAP: %s", s->sim->error.text);
	}
	s->far_made++;
	return 0;
}

static void destroy_far(struct bf_region *region)
{
	free(region->owner);
	bf_region_destroy(region);
}

/* Maps. ---------------------------------------------------------------------------------------------------------- */

/* Index of the first map that ends at or above `iova`. */
static uint32_t first_reaching(const struct bf_vfio_user *s, uint64_t iova)
{
	uint32_t lo = 0, hi = s->nmaps;

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (s->maps[mid].last < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool reserve(struct bf_vfio_user *s)
{
	return BF_GROW(s->maps, s->maps_cap, s->nmaps + 1) == 0;
}

static int check_map(struct bf_vfio_user *s, const struct bf_vfu_dma_map *a, uint32_t *at)
{
	const uint64_t offset = bf_get_le64(a->offset.b), iova = bf_get_le64(a->iova.b), size = bf_get_le64(a->size.b);
	const uint32_t flags = bf_get_le32(a->flags.b);

	if (bf_get_le32(a->argsz.b) < sizeof(*a) || !flags || flags & ~(BF_VFU_MAP_READ | BF_VFU_MAP_WRITE))
		return bf_vfu_refuse(s, -EINVAL, "DMA_MAP: flags 0x%x, argsz %u", flags, bf_get_le32(a->argsz.b));
	if (!size || (offset | iova | size) % BF_PAGE || iova + (size - 1) < iova || offset + size < size)
		return bf_vfu_refuse(s, -EINVAL, "DMA_MAP: 0x%llx bytes at 0x%llx, offset 0x%llx",
				     (unsigned long long)size, (unsigned long long)iova, (unsigned long long)offset);
	*at = first_reaching(s, iova);
	if (*at < s->nmaps && s->maps[*at].iova <= iova + (size - 1))
		return bf_vfu_refuse(s, -EEXIST, "DMA_MAP: 0x%llx bytes at 0x%llx overlap a map at 0x%llx",
				     (unsigned long long)size, (unsigned long long)iova,
				     (unsigned long long)s->maps[*at].iova);
	if (s->nmaps == BF_VFU_MAX_MAPS)
		return bf_vfu_refuse(s, -ENOSPC, "DMA_MAP: more than %u maps", BF_VFU_MAX_MAPS);
	if (!reserve(s))
		return bf_vfu_refuse(s, -ENOMEM, "DMA_MAP: no memory");
	return 0;
}

int bf_vfu_dma_map(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_dma_map *a = (const void *)m->payload;
	const uint64_t iova = bf_get_le64(a->iova.b), size = bf_get_le64(a->size.b);
	uint64_t offset = bf_get_le64(a->offset.b);
	const uint32_t flags = bf_get_le32(a->flags.b);
	const uint32_t perm =
	    (flags & BF_VFU_MAP_READ ? BF_IOMMU_READ : 0) | (flags & BF_VFU_MAP_WRITE ? BF_IOMMU_WRITE : 0);
	struct bf_vfu_map map = { .iova = iova, .last = iova + (size - 1) };
	uint32_t at = 0;
	int rc = check_map(s, a, &at);

	if (!rc && m->nfds) {
		rc = find_file(s, m->fd[0], offset + size, flags & BF_VFU_MAP_WRITE, &map.file);
		map.region = rc ? NULL : map.file->region;
	} else if (!rc) {
		offset = 0;
		rc = make_far(s, iova, size, &map.region);
	}
	if (rc)
		return rc;
	rc = bf_ioas_map(s->o.ioas, iova, map.region, offset, size, perm);
	if (rc) {
		if (!map.file)
			destroy_far(map.region);
		return bf_vfu_refuse(s, rc, "DMA_MAP: %s", s->sim->error.text);
	}
	memmove(&s->maps[at + 1], &s->maps[at], (s->nmaps - at) * sizeof(map));
	s->maps[at] = map;
	s->nmaps++;
	s->count.maps++;
	if (map.file)
		map.file->maps++;
	record_map(s, m->nfds ? 0 : 1, iova, size, offset, perm);
	return 0;
}

/* Maps [at, end) leave the I/O address space: all at once, unless they span all of it. */
static void unmap_iovas(struct bf_vfio_user *s, uint32_t at, uint32_t end)
{
	const uint64_t len = s->maps[end - 1].last - s->maps[at].iova + 1;

	if (len) {
		bf_ioas_unmap(s->o.ioas, s->maps[at].iova, len);
		return;
	}
	for (uint32_t i = at; i < end; i++)
		bf_ioas_unmap(s->o.ioas, s->maps[i].iova, s->maps[i].last - s->maps[i].iova + 1);
}

static void drop_maps(struct bf_vfio_user *s, uint32_t at, uint32_t end)
{
	for (uint32_t i = at; i < end; i++)
		if (!s->maps[i].file)
			bf_vfu_dma_abandon(s, s->maps[i].region);
	unmap_iovas(s, at, end);
	for (uint32_t i = at; i < end; i++) {
		const struct bf_vfu_map *map = &s->maps[i];

		if (map->file)
			map->file->maps--;
		else
			destroy_far(map->region);
		record_map(s, 2, map->iova, map->last - map->iova + 1, 0, 0);
	}
	s->count.unmaps += end - at;
	memmove(&s->maps[at], &s->maps[end], (s->nmaps - end) * sizeof(*s->maps));
	s->nmaps -= end - at;
}

/* Drops every map inside [iova, last]; holes are fine. -EINVAL, and nothing happens, when one reaches out of it. */
static int drop_range(struct bf_vfio_user *s, uint64_t iova, uint64_t last)
{
	const uint32_t at = first_reaching(s, iova);
	uint32_t end = at;

	for (; end < s->nmaps && s->maps[end].iova <= last; end++)
		if (s->maps[end].iova < iova || s->maps[end].last > last)
			return bf_vfu_refuse(s, -EINVAL, "DMA_UNMAP: 0x%llx to 0x%llx cuts the map at 0x%llx",
					     (unsigned long long)iova, (unsigned long long)last,
					     (unsigned long long)s->maps[end].iova);
	if (end > at)
		drop_maps(s, at, end);
	return 0;
}

int bf_vfu_dma_unmap(struct bf_vfio_user *s, struct bf_vfu_message *m)
{
	const struct bf_vfu_dma_unmap *a = (const void *)m->payload;
	const uint64_t iova = bf_get_le64(a->iova.b), size = bf_get_le64(a->size.b);
	const uint32_t flags = bf_get_le32(a->flags.b);
	const bool all = flags == BF_VFU_UNMAP_ALL;
	uint8_t *p;
	int rc;

	if (bf_get_le32(a->argsz.b) < sizeof(*a) || (flags && !all))
		return bf_vfu_refuse(s, -EINVAL, "DMA_UNMAP: flags 0x%x, argsz %u", flags, bf_get_le32(a->argsz.b));
	if (all ? iova || size : !size || iova + (size - 1) < iova)
		return bf_vfu_refuse(s, -EINVAL, "DMA_UNMAP: 0x%llx bytes at 0x%llx, flags 0x%x",
				     (unsigned long long)size, (unsigned long long)iova, flags);
	rc = drop_range(s, iova, all ? UINT64_MAX : iova + (size - 1));
	if (rc)
		return rc;
	p = bf_vfu_reply(s, m, sizeof(*a), -1);
	if (p)
		memcpy(p, a, sizeof(*a));
	return 0;
}

void bf_vfu_maps_close(struct bf_vfio_user *s)
{
	drop_range(s, 0, UINT64_MAX);
	for (uint32_t i = 0; i < BF_VFU_FILES; i++)
		unmap_file(&s->files[i]);
	bf_space_fini(&s->space);
}
