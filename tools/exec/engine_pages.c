/*
 * Doorbell pages.
 *
 * One is memory that is mapped twice: at the region's own address for the engine, and where the program's mmap wants
 * it, inaccessible in trap mode. A child of fork() gets neither (as with the kernel's own mappings of a device).
 */
#include "tools/exec/engine_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/grow.h"
#include "traces/records/exec.h"

/* Index of the first page at or above `at`. */
static uint32_t first_at(const struct bf_engine *e, uintptr_t at)
{
	uint32_t lo = 0, hi = e->npages;

	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;

		if (e->pages[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct bf_engine_page *bf_engine_page_find(struct bf_engine *e, uintptr_t address)
{
	const uintptr_t at = address & ~(uintptr_t)(BF_PAGE - 1);
	uint32_t i = e->last_page;

	if (i < e->npages && e->pages[i].at == at)
		return &e->pages[i];
	i = first_at(e, at);
	if (i == e->npages || e->pages[i].at != at)
		return NULL;
	e->last_page = i;
	return &e->pages[i];
}

static bool is_mapped(const struct bf_engine *e, const struct bf_region *region)
{
	for (uint32_t i = 0; i < e->npages; i++)
		if (e->pages[i].region == region)
			return true;
	return false;
}

/* The engine's own view, of `fd` or of memory without a name. What an earlier program page left there goes. */
static int own_view(struct bf_region *r, int fd)
{
	const int kind = MAP_SHARED | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0);

	if (mmap(r->bytes, BF_PAGE, PROT_READ | PROT_WRITE, kind, fd, 0) == MAP_FAILED)
		return -errno;
	madvise(r->bytes, BF_PAGE, MADV_DONTFORK);
	return 0;
}

/* Both views by a descriptor, for a moment. Not for a region that is mapped already: its other pages would go. */
static void *both_views(struct bf_region *r, void *hint, int place)
{
	const int fd = memfd_create("belfry-doorbells", MFD_CLOEXEC);
	void *at = MAP_FAILED;

	if (fd < 0)
		return at;
	if (!ftruncate(fd, BF_PAGE) && !own_view(r, fd))
		at = mmap(hint, BF_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | place, fd, 0);
	close(fd);
	return at;
}

/* The program's view: the same memory again, which is what mremap() makes of a size of 0, but not below Valgrind. */
static void *program_view(const struct bf_engine *e, struct bf_region *r, void *hint, int prot, int flags)
{
	const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	void *at = mremap(r->bytes, 0, BF_PAGE, place ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, hint);

	if (at == MAP_FAILED && errno == EINVAL && !is_mapped(e, r))
		at = both_views(r, hint, place);
	if (at == MAP_FAILED)
		return at;
	madvise(at, BF_PAGE, MADV_DONTFORK);
	if (mprotect(at, BF_PAGE, e->opts.doorbells == BF_EXEC_TRAP ? PROT_NONE : prot)) {
		munmap(at, BF_PAGE);
		return MAP_FAILED;
	}
	return at;
}

static int reserve(struct bf_engine *e)
{
	return BF_GROW(e->pages, e->pages_cap, e->npages + 1);
}

static void insert(struct bf_engine *e, const struct bf_engine_page *page)
{
	const uint32_t i = first_at(e, page->at);

	if (i < e->npages && e->pages[i].at == page->at) {
		e->pages[i] = *page; /* the program had unmapped what was there */
		return;
	}
	memmove(&e->pages[i + 1], &e->pages[i], (e->npages - i) * sizeof(*page));
	e->pages[i] = *page;
	e->npages++;
}

/* A page to read: the program gets a copy. */
static void *copy_page(const uint8_t *page, void *hint, int prot, int flags)
{
	const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	void *at;

	if (prot & (PROT_WRITE | PROT_EXEC)) {
		errno = EPERM;
		return MAP_FAILED;
	}
	at = mmap(hint, BF_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | place, -1, 0);
	if (at == MAP_FAILED)
		return at;
	memcpy(at, page, BF_PAGE);
	mprotect(at, BF_PAGE, PROT_READ);
	return at;
}

/* Device memory: the same memory again, as with doorbell pages, but to be used as such. */
static void *memory_view(const struct bf_uverbs_mapping *m, void *hint, size_t len, int prot, int flags)
{
	const int place = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	void *at;

	if (prot & PROT_EXEC) {
		errno = EPERM;
		return MAP_FAILED;
	}
	at = mremap(m->region->bytes + m->offset, 0, len, place ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, hint);
	if (at == MAP_FAILED)
		return at;
	madvise(at, len, MADV_DONTFORK);
	if (mprotect(at, len, prot)) {
		munmap(at, len);
		return MAP_FAILED;
	}
	return at;
}

static void *map(struct bf_engine *e, struct bf_uverbs_file *f, void *hint, size_t len, int prot, int flags,
		 uint64_t offset)
{
	struct bf_uverbs_mapping m = { 0 };
	struct bf_engine_page page;
	void *at;
	int rc = bf_uverbs_mmap(f, offset, len, &m);

	if (!rc && m.page)
		return copy_page(m.page, hint, prot, flags);
	if (!rc && m.memory)
		return memory_view(&m, hint, len, prot, flags);
	if (!rc && (len != BF_PAGE || m.region->size != BF_PAGE))
		rc = -EINVAL;
	rc = rc ? rc : reserve(e);
	if (!rc && !is_mapped(e, m.region))
		rc = own_view(m.region, -1);
	if (rc) {
		errno = -rc;
		return MAP_FAILED;
	}
	at = program_view(e, m.region, hint, prot, flags);
	if (at == MAP_FAILED)
		return at;
	page = (struct bf_engine_page){ .at = (uintptr_t)at, .region = m.region, .file = f };
	insert(e, &page);
	BF_EMIT(e->sim, e->actor, exec_page, .address = page.at, .va = m.region->va, .uar = m.uar,
		.write_combining = m.write_combining);
	return at;
}

void *bf_engine_mmap(struct bf_engine *e, struct bf_uverbs_file *f, void *hint, size_t len, int prot, int flags,
		     uint64_t offset)
{
	struct bf_engine_caller c;
	void *at;
	int error;

	if (!bf_engine_call(e, &c)) {
		errno = EIO;
		return MAP_FAILED;
	}
	at = map(e, f, hint, len, prot, flags, offset);
	error = errno;
	bf_engine_return(e, &c);
	errno = error;
	return at;
}

bool bf_engine_has_page(struct bf_engine *e, const void *address)
{
	struct bf_engine_caller c;
	bool found;

	if (!bf_engine_call(e, &c))
		return false;
	found = bf_engine_page_find(e, (uintptr_t)address) != NULL;
	bf_engine_return(e, &c);
	return found;
}

void bf_engine_pages_forget(struct bf_engine *e, const struct bf_uverbs_file *file)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < e->npages; i++)
		if (e->pages[i].file != file)
			e->pages[kept++] = e->pages[i];
	e->npages = kept;
}

uint32_t bf_engine_pages_poll(struct bf_engine *e)
{
	uint32_t rung = 0;
	bool armed = false;

	for (uint32_t i = 0; i < e->npages; i++) {
		struct bf_region *r = e->pages[i].region;
		uint64_t *arm = (uint64_t *)(void *)(r->bytes + BF_MLX5_UAR_CQ_ARM);

		for (uint32_t at = BF_MLX5_UAR_BF; at < BF_PAGE; at += BF_MLX5_BF_BUF)
			bf_engine_glance_note(e, (uint64_t *)(void *)(r->bytes + at));
		bf_engine_glance_note(e, arm);
		armed |= __atomic_load_n(arm, __ATOMIC_RELAXED) != 0;
		rung += bf_mlx5_poll_uar(r) != 0;
	}
	if (rung)
		bf_engine_glance_rings(e, armed ? BF_MLX5_UAR_CQ_ARM : BF_MLX5_UAR_BF);
	return rung;
}
