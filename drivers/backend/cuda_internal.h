/*
 * GPU threads for backends on the wall clock: the drivers' device code on a real NVIDIA GPU, against models on the CPU
 * or a real NIC.
 *
 * The GPU's part is a library of its own, libbelfry-cuda.so (cuda_agent.cu, built by nvcc with -DBELFRY_CUDA=ON), which
 * is loaded when it is asked for: Belfry itself needs neither CUDA nor a GPU. What is in host memory, doorbell pages
 * included, is pinned and mapped for the GPU at its own addresses.
 */
#ifndef BELFRY_DRIVERS_BACKEND_CUDA_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_CUDA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/backend/gpu_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What the library exports as `bf_cuda_api`. Functions return 0 or a negative errno with the reason in `why` (cap
 * bytes). One thread calls them.
 */
struct bf_cuda_api {
	uint32_t version; /* BF_CUDA_API */
	/* Takes the first GPU; its name in `why`. */
	int (*open)(char *why, size_t cap);
	void (*close)(void); /* not while a grid runs: the process's end is what ends such a one */
	/* Pins memory and maps it for the GPU at the same address, until close. `io`: it is a device's page. */
	int (*map)(void *p, size_t len, bool io, char *why, size_t cap);
	/* Work number `work` of a driver, which takes its job; that is copied. */
	int (*launch)(enum bf_cuda_driver driver, uint32_t work, uint32_t blocks, uint32_t warps, const void *job,
		      char *why, size_t cap);
	/* 1: all grids have ended; 0: not yet; negative: a grid failed. */
	int (*done)(char *why, size_t cap);
};
#define BF_CUDA_API 2u
#define BF_CUDA_LIBRARY "libbelfry-cuda.so"

/* Loads the library and checks its version. 0 or a negative errno with what is missing in `why`. */
int bf_cuda_load(const struct bf_cuda_api **out, char *why, size_t cap);

struct bf_world;

/* Starts the waiting grids of GPUs on the real one; those of CPUs stay in the list. The error is the world's. */
int bf_cuda_start_grids(const struct bf_cuda_api *api, struct bf_world *m);

/* Waits for all of them, or for the world's time limit. True when that strikes first; `*rc` when one has failed. */
bool bf_cuda_wait_grids(const struct bf_cuda_api *api, struct bf_world *m, int *rc);

#ifdef __cplusplus
}
#endif

#endif
