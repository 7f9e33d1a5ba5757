/* The NVSHMEM-style kernels for threads of this machine. */
#include "drivers/platform/platform_native.h"

#include "drivers/ibgda/shmem_kernels_internal.h"

bf_kernel_fn bf_shmem_kernel_native;
void bf_shmem_kernel_native(struct bf_thread *t, void *arg)
{
	bf_shmem_run(t, (const struct bf_shmem_job *)arg);
}
