/*
 * Memory of NVIDIA GPUs, by the CUDA driver that the program has loaded: there is nothing to link with, and nothing is
 * loaded that the program did not load.
 *
 * Copies go by a stream of their own, beside whatever the program's kernels do, through the primary context of the
 * device. One thread at a time. Names and values: CUDA driver API reference, cuda.h of CUDA 13.
 */
#ifndef BELFRY_TOOLS_EXEC_CUDA_H
#define BELFRY_TOOLS_EXEC_CUDA_H

#include <stdint.h>

struct bf_cuda;
struct bf_cuda_device;

/* The driver in this process; NULL while there is none, or one without a function that is needed. */
struct bf_cuda *bf_cuda_find(void);
/* NULL is allowed. Streams and contexts are the driver's own to end with the process. */
void bf_cuda_destroy(struct bf_cuda *c);

/*
 * The device that has memory at `address`, ready for copies; `*end` gets where the allocation ends. NULL when it is no
 * memory of a GPU, or one that processors reach as well.
 */
struct bf_cuda_device *bf_cuda_device_at(struct bf_cuda *c, uint64_t address, uint64_t *end);

/* Copies, done when they return: 0 or -EFAULT. */
int bf_cuda_read(struct bf_cuda_device *d, void *dst, uint64_t address, uint32_t len);
int bf_cuda_write(struct bf_cuda_device *d, uint64_t address, const void *src, uint32_t len);

#endif
