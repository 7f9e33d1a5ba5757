/* Where lanes never act for each other: bf_lead(), bf_act() and their like of platform.h. */
#ifndef BELFRY_DRIVERS_PLATFORM_PLATFORM_APART_H
#define BELFRY_DRIVERS_PLATFORM_PLATFORM_APART_H

#include "drivers/platform/platform.h"

BF_DEVICE enum bf_led bf_lead(struct bf_thread *t, uint32_t mask, uint32_t *done)
{
	(void)t;
	(void)mask;
	(void)done;
	return BF_APART;
}
BF_DEVICE int bf_lead_goes_on(const struct bf_thread *t)
{
	(void)t;
	return 0;
}
BF_DEVICE void bf_lead_end(struct bf_thread *t, uint32_t mask, uint32_t done)
{
	(void)t;
	(void)mask;
	(void)done;
}

BF_DEVICE enum bf_led bf_act(struct bf_thread *t, uint32_t next)
{
	(void)t;
	(void)next;
	return BF_APART;
}
BF_DEVICE uint32_t bf_anew(const struct bf_thread *t)
{
	(void)t;
	return 0;
}
BF_DEVICE int bf_acts(const struct bf_thread *t)
{
	(void)t;
	return 0;
}
BF_DEVICE void bf_act_end(struct bf_thread *t)
{
	(void)t;
}
BF_DEVICE void bf_act_pay(struct bf_thread *t, uint32_t loads, uint32_t stores, uint32_t others_loads,
			  uint32_t others_stores)
{
	(void)t;
	(void)loads;
	(void)stores;
	(void)others_loads;
	(void)others_stores;
}
BF_DEVICE void bf_act_stored(struct bf_thread *t, const void *p, uint64_t len, uint64_t n)
{
	(void)t;
	(void)p;
	(void)len;
	(void)n;
}
BF_DEVICE void bf_act_stored_by(struct bf_thread *t, uint32_t lane, const void *p, uint64_t len)
{
	(void)t;
	(void)lane;
	(void)p;
	(void)len;
}
BF_DEVICE void bf_act_as(struct bf_thread *t, uint32_t lane, struct bf_thread *as)
{
	(void)t;
	(void)lane;
	(void)as;
}

#define bf_ld_warp32 bf_ld_weak32
#define bf_ld_warp64 bf_ld_weak64

#endif
