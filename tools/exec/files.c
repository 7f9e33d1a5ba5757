/*
 * Which descriptors are device files: a table of two levels that is read without a lock. A file's memory is never given
 * back, so that who found it in the table may look whether it still is what it was.
 */
#include "tools/exec/exec_internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "sim/compiler.h"
#include "tools/exec/real_internal.h"

#define PAGE_FDS 1024u
#define PAGES 1024u
#define FILES_MAX 1024u
#define OWN_FDS_FROM 256 /* programs pick and close low numbers */

typedef _Atomic(struct bf_exec_file *) slot;

static struct {
	_Atomic(slot *) pages[PAGES];
	struct bf_exec_file pool[FILES_MAX];
	atomic_bool any; /* there has been one: until then nobody needs to look */
} files;

static slot *find_slot(int fd)
{
	slot *page;

	if (fd < 0 || (unsigned)fd >= PAGES * PAGE_FDS)
		return NULL;
	page = atomic_load_explicit(&files.pages[(unsigned)fd / PAGE_FDS], memory_order_acquire);
	return page ? &page[(unsigned)fd % PAGE_FDS] : NULL;
}

static slot *make_slot(int fd)
{
	_Atomic(slot *) *place = &files.pages[(unsigned)fd / PAGE_FDS];
	slot *none = NULL, *page;

	if (fd < 0 || (unsigned)fd >= PAGES * PAGE_FDS)
		return NULL;
	if (!atomic_load_explicit(place, memory_order_acquire)) {
		page = mmap(NULL, PAGE_FDS * sizeof(slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (page == MAP_FAILED)
			return NULL;
		if (!atomic_compare_exchange_strong(place, &none, page))
			munmap(page, PAGE_FDS * sizeof(slot));
	}
	return find_slot(fd);
}

/* ---- files ---- */

static bool hold(struct bf_exec_file *f)
{
	unsigned refs = atomic_load(&f->refs);

	while (refs) {
		if (atomic_compare_exchange_weak(&f->refs, &refs, refs + 1))
			return true;
	}
	return false;
}

static void close_manager(struct bf_exec_file *f)
{
	bf_engine_cm_close(f->engine, f->manager);
	BF_CALL_REAL(close)(f->events);
}

void bf_exec_files_put(struct bf_exec_file *f)
{
	const int keep = errno;

	if (atomic_fetch_sub(&f->refs, 1) != 1)
		return;
	if (f->file)
		bf_engine_close(f->engine, f->file);
	else
		close_manager(f);
	atomic_store(&f->taken, false);
	errno = keep;
}

bool bf_exec_files_maybe(int fd)
{
	const slot *s;

	if (BF_LIKELY(!atomic_load_explicit(&files.any, memory_order_relaxed)))
		return false;
	s = find_slot(fd);
	return s && atomic_load_explicit(s, memory_order_relaxed);
}

/* A descriptor that was closed behind our back may be something else by now. */
static bool is_still(const struct bf_exec_file *f, int fd)
{
	const int keep = errno;
	struct stat st;
	const bool still = BF_CALL_REAL(fstat)(fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;

	errno = keep;
	return still;
}

struct bf_exec_file *bf_exec_files_get(int fd)
{
	struct bf_exec_file *f;
	slot *s;

	if (!bf_exec_files_maybe(fd))
		return NULL;
	s = find_slot(fd);
	while ((f = atomic_load(s))) {
		if (!hold(f))
			continue; /* it is being closed: its place empties, or has another already */
		if (atomic_load(s) == f) {
			if (is_still(f, fd))
				return f;
			bf_exec_files_forget(fd);
			bf_exec_files_put(f);
			return NULL;
		}
		bf_exec_files_put(f);
	}
	return NULL;
}

int bf_exec_files_add(int fd, struct bf_engine *e, struct bf_uverbs_file *file, struct bf_rdmacm_file *manager)
{
	const int events = manager ? BF_CALL_REAL(fcntl)(fd, F_DUPFD_CLOEXEC, OWN_FDS_FROM) : -1;
	slot *s = make_slot(fd);
	struct stat st;

	if (!s || (manager && events < 0) || BF_CALL_REAL(fstat)(fd, &st)) {
		if (events >= 0)
			BF_CALL_REAL(close)(events);
		return -EMFILE;
	}
	for (struct bf_exec_file *f = files.pool; f < files.pool + FILES_MAX; f++) {
		bool no = false, unused = !atomic_load(&f->taken);

		if (!unused || !atomic_compare_exchange_strong(&f->taken, &no, true))
			continue;
		f->engine = e;
		f->file = file;
		f->manager = manager;
		f->events = events;
		f->dev = st.st_dev;
		f->ino = st.st_ino;
		atomic_store(&f->refs, 1);
		atomic_store(&files.any, true);
		f = atomic_exchange(s, f);
		if (f)
			bf_exec_files_put(f);
		return 0;
	}
	if (events >= 0)
		BF_CALL_REAL(close)(events);
	return -ENFILE;
}

/* ---- copies and ends ---- */

void bf_exec_files_forget(int fd)
{
	slot *s;
	struct bf_exec_file *f;

	if (!bf_exec_files_maybe(fd))
		return;
	s = find_slot(fd);
	f = atomic_exchange(s, NULL);
	if (f)
		bf_exec_files_put(f);
}

void bf_exec_files_forget_range(unsigned first, unsigned last)
{
	if (!atomic_load_explicit(&files.any, memory_order_relaxed))
		return;
	for (unsigned page = first / PAGE_FDS; page < PAGES && page <= last / PAGE_FDS; page++) {
		if (!atomic_load_explicit(&files.pages[page], memory_order_acquire))
			continue;
		for (unsigned i = 0; i < PAGE_FDS; i++) {
			const unsigned fd = page * PAGE_FDS + i;

			if (fd >= first && fd <= last)
				bf_exec_files_forget((int)fd);
		}
	}
}

void bf_exec_files_copy(int from, int to)
{
	struct bf_exec_file *f = bf_exec_files_get(from);
	slot *s;

	if (from == to && f) {
		bf_exec_files_put(f);
		return;
	}
	bf_exec_files_forget(to);
	if (!f)
		return;
	s = make_slot(to);
	f = s ? atomic_exchange(s, f) : f;
	if (f)
		bf_exec_files_put(f);
}
