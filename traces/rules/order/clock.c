#include "traces/rules/order/clock.h"

#include "sim/grow.h"

bool bf_order_set(struct bf_order_clock *c, uint32_t thread, uint32_t value)
{
	if (BF_GROW(c->at, c->cap, (size_t)thread + 1))
		return false;
	c->n = c->n > thread ? c->n : thread + 1;
	c->at[thread] = value;
	return true;
}

bool bf_order_join(struct bf_order_clock *c, const struct bf_order_clock *from)
{
	if (BF_GROW(c->at, c->cap, from->n))
		return false;
	c->n = c->n > from->n ? c->n : from->n;
	for (uint32_t i = 0; i < from->n; i++)
		c->at[i] = c->at[i] > from->at[i] ? c->at[i] : from->at[i];
	return true;
}
