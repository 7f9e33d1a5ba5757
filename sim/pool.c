#include "sim/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/sanitizers.h"
#include "sim/sim.h"

#ifndef MADV_COLLAPSE /* since Linux 6.1 (include/uapi/asm-generic/mman-common.h) */
#define MADV_COLLAPSE 25
#endif

#define GRAIN 16u
#define LINE 64u
#define FINE 4096u /* larger objects are rounded up more */
#define COARSE_GRAIN 1024u
#define CLASSES (FINE / GRAIN + (BF_POOL_MAX - FINE) / COARSE_GRAIN)
#define HUGE_PAGE (2u << 20)
#define FIRST_BLOCK (64u << 10)
#define LAST_SMALL_BLOCK (512u << 10)
#define HUGE_FROM (32u << 20) /* in small simulations the unused end of a huge page would count */
#define EXTENT (64u << 20)    /* of addresses; memory is there when it is touched */

/* Under AddressSanitizer each object is an allocation of its own, so that it finds what is used after its end. */
#define APART (BF_ASAN != 0)

struct spare {
	struct spare *next;
};

/* A mapping that is being used up from its start. */
struct extent {
	struct extent *next;
	uint8_t *base;
	size_t size, used;
	size_t live; /* bytes of pages that are in use */
};

struct bf_pool {
	struct spare *spare[CLASSES];
	struct extent *blocks;   /* of objects; the first is the one in use */
	struct extent *pages[2]; /* that may be used, or that are addresses only; likewise */
	size_t next_block;
	bool huge; /* on huge pages from now on */
};

static struct bf_pool *pool_of(struct bf_sim *sim)
{
	if (!sim->pool) {
		sim->pool = calloc(1, sizeof(*sim->pool));
		if (sim->pool)
			sim->pool->next_block = FIRST_BLOCK;
	}
	return sim->pool;
}

/* Maps `size` bytes, `huge`: where huge pages fit, should they be asked for. */
static uint8_t *map(size_t size, int prot, bool huge)
{
	const size_t slack = huge && size >= HUGE_PAGE ? HUGE_PAGE : 0;
	uint8_t *p = mmap(NULL, size + slack, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (p == MAP_FAILED)
		return NULL;
	if (!slack)
		return p;
	before = -(uintptr_t)p & (HUGE_PAGE - 1);
	if (before)
		munmap(p, before);
	if (before < slack)
		munmap(p + before + size, slack - before);
	return p + before;
}

static struct extent *add_extent(struct extent **list, size_t size, int prot, bool huge)
{
	struct extent *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->base = map(size, prot, huge);
	if (!x->base) {
		free(x);
		return NULL;
	}
	x->size = size;
	x->next = *list;
	return *list = x;
}

/*
 * The first extent lay on small pages until it was known that there is more to come. Where there are no huge pages,
 * small ones do.
 */
static void go_huge(struct bf_pool *pool)
{
	struct extent *x = pool->blocks;

	pool->huge = true;
	madvise(x->base, x->size, MADV_HUGEPAGE);
	madvise(x->base, x->used & ~(size_t)(HUGE_PAGE - 1), MADV_COLLAPSE);
}

static void *carve(struct extent *x, size_t bytes)
{
	void *p = x->base + x->used;

	x->used += bytes;
	x->live += bytes;
	return p;
}

/* Small objects share lines. */
static size_t round_up(size_t bytes)
{
	const size_t grain = bytes < BF_POOL_LINES ? GRAIN : bytes <= FINE ? LINE : COARSE_GRAIN;

	return (bytes + grain - 1) & ~(grain - 1);
}

/* Which list of spares has objects of a size that was rounded up. */
static size_t class_of(size_t size)
{
	return size <= FINE ? size / GRAIN - 1 : FINE / GRAIN - 1 + (size - FINE) / COARSE_GRAIN;
}

/* Room for a line is left out before an object that wants one of its own. */
static void align(struct extent *x, size_t size)
{
	if (x && size >= BF_POOL_LINES)
		x->used = (x->used + LINE - 1) & ~(size_t)(LINE - 1);
}

static bool has_room(const struct extent *x, size_t bytes)
{
	return x && bytes <= x->size - x->used;
}

/* A few small blocks, then extents. */
static bool add_block(struct bf_pool *pool)
{
	const size_t size = pool->next_block;
	const bool large = size == EXTENT;

	if (!add_extent(&pool->blocks, size, PROT_READ | PROT_WRITE, large))
		return false;
	if (large && pool->huge)
		madvise(pool->blocks->base, size, MADV_HUGEPAGE);
	pool->next_block = size < LAST_SMALL_BLOCK ? 2 * size : EXTENT;
	return true;
}

static void *take(struct bf_sim *sim, size_t bytes)
{
	const size_t size = round_up(bytes), class = class_of(size);
	struct bf_pool *pool;
	struct spare *spare;

	if (bytes > BF_POOL_MAX)
		return calloc(1, bytes);
	if (APART) {
		void *p = aligned_alloc(LINE, (size + LINE - 1) & ~(size_t)(LINE - 1));

		return p ? memset(p, 0, size) : NULL;
	}
	pool = pool_of(sim);
	if (!pool)
		return NULL;
	spare = pool->spare[class];
	if (spare) {
		pool->spare[class] = spare->next;
		return memset(spare, 0, size);
	}
	align(pool->blocks, size);
	if (!has_room(pool->blocks, size) && !add_block(pool))
		return NULL;
	if (BF_UNLIKELY(pool->blocks->used >= HUGE_FROM && !pool->huge))
		go_huge(pool);
	return carve(pool->blocks, size);
}

void *bf_pool_take(struct bf_sim *sim, size_t bytes)
{
	void *p = take(sim, bytes);

	if (BF_UNLIKELY(!p))
		bf_fail(&sim->error, -ENOMEM, "no memory for %zu bytes of a model", bytes);
	return p;
}

void bf_pool_give(struct bf_sim *sim, void *p, size_t bytes)
{
	struct spare *spare = p, **list;

	if (APART || bytes > BF_POOL_MAX) {
		free(p);
		return;
	}
	if (!p)
		return;
	list = &sim->pool->spare[class_of(round_up(bytes))];
	spare->next = *list;
	*list = spare;
}

void *bf_pool_pages_take(struct bf_sim *sim, size_t bytes, bool reserved)
{
	struct bf_pool *pool = pool_of(sim);
	const int prot = reserved ? PROT_NONE : PROT_READ | PROT_WRITE;
	struct extent **list;

	if (!pool)
		return NULL;
	list = &pool->pages[reserved];
	/* Not on huge pages: of rings and the like few pages are ever touched. */
	if (!has_room(*list, bytes) && !add_extent(list, EXTENT, prot, false))
		return NULL;
	return carve(*list, bytes);
}

static void free_extent(struct extent *x)
{
	munmap(x->base, x->size);
	free(x);
}

/* Addresses come back when all of an extent are free; until then only memory does. */
void bf_pool_pages_give(struct bf_sim *sim, void *p, size_t bytes, bool reserved)
{
	struct extent **link = &sim->pool->pages[reserved], *x;

	while ((size_t)((uint8_t *)p - (*link)->base) >= (*link)->size)
		link = &(*link)->next;
	x = *link;
	x->live -= bytes;
	if (!x->live) {
		*link = x->next;
		free_extent(x);
	} else if (!reserved) {
		madvise(p, bytes, MADV_DONTNEED);
	}
}

static void free_extents(struct extent *x)
{
	while (x) {
		struct extent *next = x->next;

		free_extent(x);
		x = next;
	}
}

void bf_pool_fini(struct bf_sim *sim)
{
	if (!sim->pool)
		return;
	free_extents(sim->pool->blocks);
	free_extents(sim->pool->pages[false]);
	free_extents(sim->pool->pages[true]);
	free(sim->pool);
	sim->pool = NULL;
}
