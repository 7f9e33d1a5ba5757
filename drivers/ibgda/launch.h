/* IBGDA, host side: kernels on a PE, and the CPU's thread that rings for them where one does (proxy.h). */
#ifndef BELFRY_DRIVERS_IBGDA_LAUNCH_H
#define BELFRY_DRIVERS_IBGDA_LAUNCH_H

#include "drivers/ibgda/host.h"

struct bf_ibgda_grid {
	uint32_t blocks, warps;
	uint32_t lanes; /* that run of each warp (struct bf_world_opts); 0: all */
};

/*
 * As the backend's launch(). With cpu_proxy a thread of the CPU runs beside the grid until all of the grid's threads
 * have ended. Negative errno: the backend's, or -ENOMEM.
 */
int bf_ibgda_launch(const struct bf_backend *be, struct bf_world *w, struct bf_ibgda_host *h, uint32_t pe,
		    const struct bf_ibgda_grid *grid, bf_kernel_fn *kernel, void *arg);

#endif
