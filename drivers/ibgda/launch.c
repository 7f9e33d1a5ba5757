#include "drivers/ibgda/launch.h"

#include "drivers/ibgda/launch_internal.h"

int bf_ibgda_launch(const struct bf_backend *be, struct bf_world *w, struct bf_ibgda_host *h, uint32_t pe,
		    const struct bf_ibgda_grid *grid, bf_kernel_fn *kernel, void *arg)
{
	const struct bf_ibgda_served_kernels *k =
	    be->platform == BF_PLATFORM_SIM ? &bf_ibgda_served_sim : &bf_ibgda_served_native;
	struct bf_ibgda_proxy *proxy = bf_ibgda_host_proxy(h, pe);
	struct bf_ibgda_served *s;
	struct bf_memory m;
	int rc;

	if (!proxy)
		return be->launch(w, pe, grid->blocks, grid->warps, kernel, arg);
	rc = be->alloc(w, pe, BF_PLACE_HOST, sizeof(*s), "served grid", &m);
	if (rc)
		return rc;
	s = m.ptr;
	*s = (struct bf_ibgda_served){ .kernel = kernel,
				       .arg = arg,
				       .proxy = proxy,
				       .threads = grid->blocks * grid->warps * (grid->lanes ? grid->lanes : BF_LANES) };
	rc = be->launch(w, pe, grid->blocks, grid->warps, k->grid, s);
	return rc ? rc : be->launch_cpu(w, pe, 1, k->proxy, s);
}
