/* Backend "cuda": looks for an NVIDIA GPU and its driver. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "drivers/backend/absent_internal.h"
#include "drivers/backend/backends_internal.h"

static int probe(char *why, size_t cap)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		dlclose(lib);
	if (!lib)
		snprintf(why, cap,
			 "this build runs nothing on GPUs, and the machine has no libcuda.so.1: needs an NVIDIA GPU "
			 "and its driver");
	else if (access("/dev/nvidiactl", F_OK))
		snprintf(why, cap, "this build runs nothing on GPUs (libcuda.so.1 is there, but no /dev/nvidiactl)");
	else
		snprintf(why, cap, "this build runs nothing on GPUs (libcuda.so.1 and /dev/nvidiactl are there)");
	return -ENOTSUP;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	(void)opts;
	*out = NULL;
	return bf_absent_open("cuda", probe, err);
}

const struct bf_backend bf_backend_cuda = {
	.name = "cuda",
	.summary = "a real NVIDIA GPU runs the driver as device code",
	.probe = probe,
	.open = world_open,
	.platform = BF_PLATFORM_CUDA,
};
