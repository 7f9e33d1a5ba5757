/* Kernels that a CPU thread rings for, for real threads. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/launch_kernels_internal.h"

const struct bf_ibgda_served_kernels bf_ibgda_served_native = BF_IBGDA_SERVED_TABLE;
