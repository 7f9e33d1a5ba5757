/*
 * Kernels of our drivers that a real GPU or a PTX machine can run, a line of gpu_kernels.c for each driver: what they
 * are called there, and what they take.
 */
#ifndef BELFRY_DRIVERS_BACKEND_GPU_KERNELS_H
#define BELFRY_DRIVERS_BACKEND_GPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the library for CUDA (cuda_internal.h). */
enum bf_cuda_driver { BF_CUDA_IBGDA, BF_CUDA_NVME, BF_CUDA_NO_DRIVER };

/* The extra work number of the NVMe driver's helper for admin queues. */
#define BF_CUDA_NVME_RING 100u

#define BF_GPU_KERNEL_JOB_MAX 1024u

struct bf_gpu_kernel {
	const char *name; /* of the entry in the drivers' PTX (ptx_agent.cu) */
	uint32_t bytes;   /* of the job that it takes by value */
	bool numbered;    /* `work` stands behind the job, as 32 bits */
	uint32_t work;
	enum bf_cuda_driver driver; /* BF_CUDA_NO_DRIVER: the library has none such */
};

struct bf_thread;

/* Which one the platform (enum bf_platform_id) calls by this function; false: none that a GPU has. */
bool bf_gpu_kernel_find(int platform, void (*kernel)(struct bf_thread *t, void *arg), struct bf_gpu_kernel *out);

#endif
