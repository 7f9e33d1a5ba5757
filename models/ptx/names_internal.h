/*
 * What a program is made of in memory: an arena that ends with it, and its names, one record for each spelling, with
 * what the name means where the reader stands.
 */
#ifndef BELFRY_PTX_NAMES_INTERNAL_H
#define BELFRY_PTX_NAMES_INTERNAL_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bf_ptx_arena {
	struct bf_ptx_chunk *chunks; /* newest first */
	jmp_buf *out_of_memory; /* where a failed allocation goes, with value ENOMEM; set while reading or linking */
};

/* Zeroed bytes, aligned to 16, that live as long as the arena. Never NULL: see out_of_memory. */
void *bf_ptx_arena_take(struct bf_ptx_arena *a, size_t bytes);
void bf_ptx_arena_destroy(struct bf_ptx_arena *a);

/* Makes room for one more element in a growing array of the C library. Never fails: see out_of_memory. */
void bf_ptx_grow(struct bf_ptx_arena *a, void **array, uint32_t *capacity, uint32_t count, size_t element);

/* What a name means within a function. */
enum bf_ptx_local_kind {
	BF_PTX_LOCAL_REG,
	BF_PTX_LOCAL_RANGE,
	BF_PTX_LOCAL_VAR,
	BF_PTX_LOCAL_LABEL,
	BF_PTX_LOCAL_PROTO
};

struct bf_ptx_local {
	enum bf_ptx_local_kind kind;
	uint32_t index; /* register (the first of a range), variable, label, table */
	uint32_t count; /* registers of a range; elements of a vector register, 1 for others */
	uint32_t depth; /* of the block that declares it */
	struct bf_ptx_name *name;
	struct bf_ptx_local *outer;    /* what it hides */
	struct bf_ptx_local *in_block; /* the one declared before it in the same block */
};

/* What a name means in a module, and over all of them. */
enum bf_ptx_symbol_kind { BF_PTX_SYMBOL_NONE, BF_PTX_SYMBOL_VAR, BF_PTX_SYMBOL_FUNC, BF_PTX_SYMBOL_LOC };

struct bf_ptx_name {
	const char *text;
	uint32_t len, hash;
	struct bf_ptx_local *local;
	enum bf_ptx_symbol_kind kind; /* in module number `module` */
	uint32_t module, index;
	struct bf_ptx_form *form; /* for spellings of instructions */
	/* While linking: the definition that the linker prefers so far, by number, or BF_PTX_NONE. */
	uint32_t best_func, best_var;
};

struct bf_ptx_names {
	struct bf_ptx_name **slots; /* open addressing; a power of two */
	uint32_t size, count;
};

#define BF_PTX_HASH_SEED 2166136261u

static inline uint32_t bf_ptx_hash(uint32_t hash, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash;
}

/* The record of a spelling whose hash is known, NULL: nobody has used it yet. */
struct bf_ptx_name *bf_ptx_name_find(const struct bf_ptx_names *t, const char *text, size_t len, uint32_t hash);

/* The same, made when missing. */
struct bf_ptx_name *bf_ptx_name_get(struct bf_ptx_names *t, struct bf_ptx_arena *a, const char *text, size_t len);

#endif
