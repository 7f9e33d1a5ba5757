/* Grids that wait for the next run, on a real GPU. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/backend/cuda_internal.h"
#include "drivers/backend/machine_internal.h"
#include "drivers/ibgda/kernels.h"
#include "drivers/nvme/kernels.h"

/* Which kernel of which driver it is, in the words of the GPU's part. */
static bool find_kernel(bf_kernel_fn *kernel, enum bf_cuda_driver *driver, uint32_t *work)
{
	const struct bf_ibgda_kernels *ibgda = bf_ibgda_kernels(BF_PLATFORM_NATIVE);
	const struct bf_nvme_drv_kernels *nvme = bf_nvme_drv_kernels(BF_PLATFORM_NATIVE);

	*driver = BF_CUDA_IBGDA;
	for (*work = 0; *work < BF_IBGDA_WORKS; ++*work)
		if (ibgda->run[*work] == kernel)
			return true;
	*driver = BF_CUDA_NVME;
	for (*work = 0; *work < BF_NVME_DRV_WORKS; ++*work)
		if (nvme->run[*work] == kernel)
			return true;
	*work = BF_CUDA_NVME_RING;
	return nvme->ring == kernel;
}

int bf_cuda_start_grids(const struct bf_cuda_api *api, struct bf_world *m)
{
	struct bf_grid **at = &m->grids, *g;
	enum bf_cuda_driver driver;
	char why[160] = "it has no such kernel";
	uint32_t work;
	int rc = 0;

	while (!rc && (g = *at)) {
		if (g->cpu) {
			at = &g->next;
			continue;
		}
		rc = find_kernel(g->kernel, &driver, &work)
			 ? api->launch(driver, work, g->blocks, g->warps, g->arg, why, sizeof(why))
			 : -ENOTSUP;
		if (rc)
			bf_fail(m->err, rc, "the real GPU: %s", why);
		*at = g->next;
		free(g);
	}
	for (m->grids_tail = &m->grids; *m->grids_tail;)
		m->grids_tail = &(*m->grids_tail)->next;
	return rc;
}

bool bf_cuda_wait_grids(const struct bf_cuda_api *api, struct bf_world *m, int *rc)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	struct timespec began, now;
	char why[160];
	int done;

	clock_gettime(CLOCK_MONOTONIC, &began);
	while ((done = api->done(why, sizeof(why))) == 0) {
		nanosleep(&nap, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (m->limit_ps != BF_NEVER && (uint64_t)(now.tv_sec - began.tv_sec) > m->limit_ps / BF_S)
			return true;
	}
	if (done < 0)
		*rc = bf_fail(m->err, done, "the real GPU: %s", why);
	return false;
}
