#include "sim/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/sim.h"

#define GRAIN 16u
#define LINE 64u
#define CLASSES (BF_POOL_MAX / GRAIN)
#define HUGE_PAGE (2u << 20)
#define FIRST_BLOCK (64u << 10)
#define LAST_BLOCK (4u << 20)
#define HUGE_FROM (32u << 20) /* in small simulations the unused end of a huge page would count */
#define EXTENT (64u << 20) /* of addresses; memory is there when it is touched */

/* Under AddressSanitizer each object is an allocation of its own, so that it finds what is used after its end. */
#if defined(__SANITIZE_ADDRESS__)
#define APART true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define APART true
#endif
#endif
#ifndef APART
#define APART false
#endif

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
	size_t next_block, block_bytes;
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

/* Maps `size` bytes, `huge`: on huge pages where they are as many. */
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
	madvise(p + before, size, MADV_HUGEPAGE); /* where there are none, small ones do */
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
	const size_t grain = bytes < BF_POOL_LINES ? GRAIN : LINE;

	return (bytes + grain - 1) & ~(grain - 1);
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

void *bf_pool_take(struct bf_sim *sim, size_t bytes)
{
	const size_t size = round_up(bytes), class = size / GRAIN - 1;
	struct bf_pool *pool;
	struct spare *spare;

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
	if (!has_room(pool->blocks, size)) {
		if (!add_extent(&pool->blocks, pool->next_block, PROT_READ | PROT_WRITE,
				pool->block_bytes >= HUGE_FROM))
			return NULL;
		pool->block_bytes += pool->next_block;
		if (pool->next_block < LAST_BLOCK)
			pool->next_block *= 2;
	}
	return carve(pool->blocks, size);
}

void bf_pool_give(struct bf_sim *sim, void *p, size_t bytes)
{
	struct spare *spare = p, **list;

	if (APART) {
		free(p);
		return;
	}
	if (!p)
		return;
	list = &sim->pool->spare[round_up(bytes) / GRAIN - 1];
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
