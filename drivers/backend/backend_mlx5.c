/* Backend "mlx5": looks for a ConnectX with a Linux driver. */
#include <errno.h>
#include <stdio.h>

#include "drivers/backend/absent_internal.h"
#include "drivers/backend/backends_internal.h"

static bool is_mlx5(const char *dir, const char *entry)
{
	return bf_absent_file_begins(dir, entry, "device/vendor", "0x15b3");
}

static int probe(char *why, size_t cap)
{
	char dev[64];

	if (bf_absent_first("/sys/class/infiniband", is_mlx5, dev, sizeof(dev)))
		snprintf(why, cap, "this build does not drive real cards (%s is there)", dev);
	else
		snprintf(why, cap,
			 "this build does not drive real cards, and the machine has no ConnectX: no device of "
			 "vendor 0x15b3 in /sys/class/infiniband");
	return -ENOTSUP;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	(void)opts;
	*out = NULL;
	return bf_absent_open("mlx5", probe, err);
}

const struct bf_backend bf_backend_mlx5 = {
	.name = "mlx5",
	.summary = "a real ConnectX through libibverbs and mlx5dv",
	.probe = probe,
	.open = world_open,
	.platform = BF_PLATFORM_NATIVE,
};
