/* Steps of linking: link.c joins, reach.c follows calls, layout.c gives places. */
#ifndef BELFRY_PTX_LINK_INTERNAL_H
#define BELFRY_PTX_LINK_INTERNAL_H

#include "models/ptx/parse_internal.h"

struct bf_ptx_linker {
	struct bf_ptx_program_block *p;
	const struct bf_ptx_link_opts *opts;
	jmp_buf leave;
};

_Noreturn void bf_ptx_link_fail(struct bf_ptx_linker *l, int code, const char *fmt, ...) BF_PRINTF(3, 4);

/* "name:line" of a function or variable, for messages; returns buf. */
const char *bf_ptx_place_of(const struct bf_ptx_program *p, uint32_t module, uint32_t line, char *buf, size_t cap);

/* What each kernel can reach. */
void bf_ptx_reach(struct bf_ptx_linker *l);

/* Places in .global and .const; places in .shared, which need bf_ptx_reach(). */
void bf_ptx_layout_images(struct bf_ptx_linker *l);
void bf_ptx_layout_shared(struct bf_ptx_linker *l);

static inline struct bf_ptx_func_block *bf_ptx_func_block(struct bf_ptx_func *f)
{
	return BF_CONTAINER_OF(f, struct bf_ptx_func_block, pub);
}

static inline const struct bf_ptx_func_block *bf_ptx_func_block_const(const struct bf_ptx_func *f)
{
	return (const struct bf_ptx_func_block *)(const void *)((const char *)f -
								offsetof(struct bf_ptx_func_block, pub));
}

static inline struct bf_ptx_var_block *bf_ptx_var_block(struct bf_ptx_var *v)
{
	return BF_CONTAINER_OF(v, struct bf_ptx_var_block, pub);
}

#endif
