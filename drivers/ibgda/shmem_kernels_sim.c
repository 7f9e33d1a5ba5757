/* The NVSHMEM-style kernels for agents in virtual time. */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/shmem_kernels_internal.h"

bf_kernel_fn bf_shmem_kernel_sim;
void bf_shmem_kernel_sim(struct bf_thread *t, void *arg)
{
	bf_shmem_run(t, (const struct bf_shmem_job *)arg);
}
