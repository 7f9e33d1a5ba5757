#include "tools/exec/needs.h"

#include <stddef.h>

const struct bf_exec_need bf_exec_needs[] = {
	{ "ibverbs", "libibverbs.so.1", "RDMA programs for belfry exec", "apt-get install libibverbs1" },
	{ "mlx5", "libmlx5.so.1", "its provider for the device of belfry exec", "apt-get install ibverbs-providers" },
	{ NULL, NULL, NULL, NULL },
};
