/* Vector clocks: of each thread, how many of its stores somebody knows of. */
#ifndef BELFRY_TRACES_RULES_ORDER_CLOCK_H
#define BELFRY_TRACES_RULES_ORDER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: knows of nothing. free(c->at) gives it back. */
struct bf_order_clock {
	uint32_t *at; /* by thread's number */
	uint32_t n, cap;
};

static inline uint32_t bf_order_at(const struct bf_order_clock *c, uint32_t thread)
{
	return thread < c->n ? c->at[thread] : 0;
}

/* Each returns false for lack of memory. */
bool bf_order_set(struct bf_order_clock *c, uint32_t thread, uint32_t value);
/* Knows what `from` does as well. */
bool bf_order_join(struct bf_order_clock *c, const struct bf_order_clock *from);

#endif
