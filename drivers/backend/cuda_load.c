/* Finds the GPU's part of the live backend. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "drivers/backend/cuda_internal.h"

int bf_cuda_load(const struct bf_cuda_api **out, char *why, size_t cap)
{
	/* Never closed: grids may outlive the world that started them. */
	void *library = dlopen(BF_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const struct bf_cuda_api *api;

	*out = NULL;
	if (!library) {
		snprintf(why, cap,
			 "no " BF_CUDA_LIBRARY ": build with -DBELFRY_CUDA=ON on a machine that has nvcc (%.120s)",
			 dlerror());
		return -ENOENT;
	}
	api = dlsym(library, "bf_cuda_api");
	if (!api || api->version != BF_CUDA_API) {
		snprintf(why, cap, BF_CUDA_LIBRARY " is of another version of Belfry");
		return -ENOTSUP;
	}
	*out = api;
	return 0;
}
