/* Where lanes never act for each other: bf_lead() and its like of platform.h. */
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

#endif
