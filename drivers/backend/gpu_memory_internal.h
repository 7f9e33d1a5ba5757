/*
 * Memory of this machine's first NVIDIA GPU, by the CUDA driver: what processors do not reach and a NIC does. The
 * driver is loaded when it is asked for; nothing is linked with it. Names and values: CUDA driver API reference, cuda.h
 * of CUDA 13.
 *
 * One thread at a time. Functions return 0 or a negative errno.
 */
#ifndef BELFRY_DRIVERS_BACKEND_GPU_MEMORY_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_GPU_MEMORY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

struct bf_gpu_memory;

/* Smaller pieces would share pages of the GPU, which are what a NIC gets to see. */
#define BF_GPU_PAGE (2ull << 20)

/* Takes the GPU's primary context. `why` (cap bytes) gets the GPU's name, or what is missing. */
int bf_gpu_memory_open(struct bf_gpu_memory **out, char *why, size_t cap);
/* NULL is allowed. What was allocated is freed before. */
void bf_gpu_memory_close(struct bf_gpu_memory *g);

/* Zeroed, in whole pages of BF_GPU_PAGE; -ENOMEM when the GPU has no more. */
int bf_gpu_memory_alloc(struct bf_gpu_memory *g, uint64_t bytes, uint64_t *va);
void bf_gpu_memory_free(struct bf_gpu_memory *g, uint64_t va);

/* Copies, done when they return; grids that run are not waited for. */
int bf_gpu_memory_write(struct bf_gpu_memory *g, uint64_t va, const void *from, uint64_t bytes);
int bf_gpu_memory_read(struct bf_gpu_memory *g, void *to, uint64_t va, uint64_t bytes);

/*
 * The first pages of an allocation as a DMA-BUF: a descriptor, the caller's to close. -EOPNOTSUPP where driver or GPU
 * have none: before CUDA 11.7, and with the driver's closed kernel modules.
 */
int bf_gpu_memory_dmabuf(struct bf_gpu_memory *g, uint64_t va, uint64_t bytes, int *fd);

#endif
