#include "models/ptx/names_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/module.h"
#include "sim/grow.h"

#define CHUNK_BYTES (64u << 10)

struct bf_ptx_chunk {
	struct bf_ptx_chunk *older;
	size_t used, size;
	_Alignas(16) unsigned char bytes[];
};

static void *or_leave(struct bf_ptx_arena *a, void *p)
{
	if (!p)
		longjmp(*a->out_of_memory, ENOMEM);
	return p;
}

void *bf_ptx_arena_take(struct bf_ptx_arena *a, size_t bytes)
{
	size_t need = (bytes + 15) & ~(size_t)15;
	struct bf_ptx_chunk *c = a->chunks;

	if (!c || c->size - c->used < need) {
		size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

		c = or_leave(a, calloc(1, sizeof(*c) + size));
		c->size = size;
		c->older = a->chunks;
		a->chunks = c;
	}
	c->used += need;
	return c->bytes + c->used - need;
}

void bf_ptx_arena_destroy(struct bf_ptx_arena *a)
{
	struct bf_ptx_chunk *older;

	for (struct bf_ptx_chunk *c = a->chunks; c; c = older) {
		older = c->older;
		free(c);
	}
	a->chunks = NULL;
}

void bf_ptx_grow(struct bf_ptx_arena *a, void **array, uint32_t *capacity, uint32_t count, size_t element)
{
	if (bf_grow_u32(array, capacity, (size_t)count + 1, element))
		or_leave(a, NULL);
}

struct bf_ptx_name *bf_ptx_name_find(const struct bf_ptx_names *t, const char *text, size_t len, uint32_t hash)
{
	if (!t->size)
		return NULL;
	for (uint32_t i = hash & (t->size - 1);; i = (i + 1) & (t->size - 1)) {
		struct bf_ptx_name *n = t->slots[i];

		if (!n)
			return NULL;
		if (n->hash == hash && n->len == len && memcmp(n->text, text, len) == 0)
			return n;
	}
}

static void place(struct bf_ptx_name **slots, uint32_t size, struct bf_ptx_name *n)
{
	uint32_t i = n->hash & (size - 1);

	while (slots[i])
		i = (i + 1) & (size - 1);
	slots[i] = n;
}

static void widen(struct bf_ptx_names *t, struct bf_ptx_arena *a)
{
	uint32_t size = t->size ? t->size * 2 : 256;
	struct bf_ptx_name **slots = or_leave(a, calloc(size, sizeof(struct bf_ptx_name *)));

	for (uint32_t i = 0; i < t->size; i++)
		if (t->slots[i])
			place(slots, size, t->slots[i]);
	free(t->slots);
	t->slots = slots;
	t->size = size;
}

struct bf_ptx_name *bf_ptx_name_get(struct bf_ptx_names *t, struct bf_ptx_arena *a, const char *text, size_t len)
{
	uint32_t hash = bf_ptx_hash(BF_PTX_HASH_SEED, text, len);
	struct bf_ptx_name *n = bf_ptx_name_find(t, text, len, hash);
	char *copy;

	if (n)
		return n;
	if (t->count * 2 >= t->size)
		widen(t, a);
	n = bf_ptx_arena_take(a, sizeof(*n));
	copy = bf_ptx_arena_take(a, len + 1);
	memcpy(copy, text, len);
	n->text = copy;
	n->len = (uint32_t)len;
	n->hash = hash;
	n->best_func = BF_PTX_NONE;
	n->best_var = BF_PTX_NONE;
	place(t->slots, t->size, n);
	t->count++;
	return n;
}
