/* Shared by ll.c and ll_verify.c: who chooses which experts, and what tokens hold. */
#ifndef BELFRY_DRIVERS_IBGDA_LL_HOST_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LL_HOST_INTERNAL_H

#include "drivers/ibgda/ll.h"

struct bf_ll_router {
	const struct bf_ll_shape *shape;
	uint64_t *below; /* [experts + 1]: sum of the weights of all experts in front of one */
};

int bf_ll_router_init(struct bf_ll_router *r, const struct bf_ll_shape *s, struct bf_error *err);
void bf_ll_router_free(struct bf_ll_router *r);

/* The experts of a token and, as bits of floats, their weights: topk of each. */
void bf_ll_route(const struct bf_ll_router *r, uint32_t round, uint32_t pe, uint32_t token, uint32_t *choice,
		 uint32_t *weight);

/* Element `i` of a token, BF16. */
uint16_t bf_ll_x(uint32_t round, uint32_t pe, uint32_t token, uint32_t i);

#endif
