/* Backend "kfd": looks for an AMD GPU's compute driver. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "drivers/backend/absent_internal.h"
#include "drivers/backend/backends_internal.h"

static int probe(char *why, size_t cap)
{
	if (access("/dev/kfd", F_OK))
		snprintf(why, cap,
			 "this build does not drive real GPUs, and the machine has no /dev/kfd: needs an AMD GPU "
			 "and the amdgpu driver");
	else if (access("/dev/kfd", R_OK | W_OK))
		snprintf(why, cap,
			 "this build does not drive real GPUs (/dev/kfd is there; its group is usually 'render')");
	else
		snprintf(why, cap, "this build does not drive real GPUs (/dev/kfd is there)");
	return -ENOTSUP;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	(void)opts;
	*out = NULL;
	return bf_absent_open("kfd", probe, err);
}

const struct bf_backend bf_backend_kfd = {
	.name = "kfd",
	.summary = "a real AMD SDMA queue",
	.probe = probe,
	.open = world_open,
	.platform = BF_PLATFORM_HIP,
};
