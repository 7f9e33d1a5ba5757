/* What a grid whose doorbells a CPU thread rings shares with that thread. */
#ifndef BELFRY_DRIVERS_IBGDA_LAUNCH_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_LAUNCH_INTERNAL_H

#include "drivers/ibgda/launch.h"

/* In memory of the PE. */
struct bf_ibgda_served {
	bf_kernel_fn *kernel;
	void *arg;
	struct bf_ibgda_proxy *proxy;
	uint32_t threads, ended;
};

struct bf_ibgda_served_kernels {
	bf_kernel_fn *grid, *proxy; /* of a struct bf_ibgda_served */
};
extern const struct bf_ibgda_served_kernels bf_ibgda_served_sim, bf_ibgda_served_native;

#endif
