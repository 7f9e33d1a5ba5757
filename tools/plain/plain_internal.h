/* What plain.c has for plain_atomic.c and cuda.c: accesses of a simulated thread that are called by name. Not
 * installed. */
#ifndef BELFRY_TOOLS_PLAIN_PLAIN_INTERNAL_H
#define BELFRY_TOOLS_PLAIN_PLAIN_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/view.h"

/* The access that was announced last is made. Before anything that gives way to other threads. */
void belfry_plain_settle(void);

/* Whether `p` is memory of the calling thread's machine; settles as well. */
bool belfry_plain_reaches(const void *p, uint32_t len);

/* False: `p` is not memory of the calling thread's machine, and nothing was done. `from`: where in the code. */
bool belfry_plain_load(const void *p, void *to, uint32_t len, enum bf_sem sem, enum bf_scope scope, const void *from);
bool belfry_plain_store(void *p, const void *value, uint32_t len, enum bf_sem sem, enum bf_scope scope,
			const void *from);
bool belfry_plain_change(const void *p, uint32_t len, bf_atomic_fn *apply, void *arg, void *old, enum bf_sem sem,
			 enum bf_scope scope, const void *from);

/* Where what stands at `at` really lies for the thread behind bf_agent.mine: of __shared__ variables; else `at`. */
uint8_t *belfry_plain_shared(const void *of, const void *at);

#endif
