/* Kernels that tell the CPU's thread when the last of them has ended, and that thread. */
#ifndef BELFRY_DRIVERS_IBGDA_LAUNCH_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LAUNCH_KERNELS_INTERNAL_H

#include "drivers/ibgda/launch_internal.h"
#include "drivers/ibgda/proxy.h"

static void bf_ibgda_run_served(struct bf_thread *t, void *arg)
{
	struct bf_ibgda_served *s = arg;

	s->kernel(t, s->arg);
	if (bf_atomic_add32(t, &s->ended, 1, BF_AT_SYS) + 1 == s->threads)
		bf_st_release32(t, &s->proxy->stop, 1, BF_AT_SYS);
}

static void bf_ibgda_run_proxy(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_served *s = arg;

	bf_ibgda_proxy_run(t, s->proxy);
}

#define BF_IBGDA_SERVED_TABLE                                                                                          \
	{                                                                                                              \
		.grid = bf_ibgda_run_served, .proxy = bf_ibgda_run_proxy                                               \
	}

#endif
