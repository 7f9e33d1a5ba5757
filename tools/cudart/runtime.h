/*
 * The CUDA runtime API as far as Belfry has it: own declarations of what cuda_runtime_api.h and crt/host_runtime.h of
 * CUDA 13 declare, each a few lines over the driver API (tools/cuda/driver.h). Errors have the driver's numbers.
 */
#ifndef BELFRY_TOOLS_CUDART_RUNTIME_H
#define BELFRY_TOOLS_CUDART_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cuda/driver.h"

enum bf_rt_error {
	BF_RT_INVALID_CONFIGURATION = 9,
	BF_RT_INVALID_SYMBOL = 13,
	BF_RT_INVALID_DIRECTION = 21,
	BF_RT_MISSING_CONFIGURATION = 52,
	BF_RT_INVALID_FUNCTION = 98,
};

struct bf_dim3 {
	unsigned x, y, z;
};

/* Of all calls: what it returns is the thread's last error, too, if it is one. */
int bf_rt_done(int error);

/* The calling thread has a context: that of its device. 0 or an error. */
int bf_rt_enter(void);
int bf_rt_device(void);

/* register.c: the kernel that a host function stands for; NULL with the error. */
int bf_rt_kernel(const void *stub, CUfunction *out);
/* The variable that a host one stands for. */
int bf_rt_symbol(const void *host, CUdeviceptr *at, size_t *size);

#endif
