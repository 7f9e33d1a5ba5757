/* Grids that wait for the next run, on a real GPU. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "drivers/backend/cuda_internal.h"
#include "drivers/backend/machine_internal.h"

int bf_cuda_start_grids(const struct bf_cuda_api *api, struct bf_world *m)
{
	struct bf_grid **at = &m->grids, *g;
	struct bf_gpu_kernel k;
	char why[160] = "it has no such kernel";
	int rc = 0;

	while (!rc && (g = *at)) {
		if (g->cpu) {
			at = &g->next;
			continue;
		}
		rc = bf_gpu_kernel_find(BF_PLATFORM_NATIVE, g->kernel, &k) && k.driver != BF_CUDA_NO_DRIVER
			 ? api->launch(k.driver, k.work, g->blocks, g->warps, g->arg, why, sizeof(why))
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
