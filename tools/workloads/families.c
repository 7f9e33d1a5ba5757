/* The families of workloads: a line each. */
#include "tools/workloads/family.h"

extern const struct bf_family bf_nvme_work_gpu_family, bf_nvme_work_family, bf_sdma_work_family, bf_mbar_family,
    bf_ll_family, bf_shmem_family, bf_gin_family, bf_ibgda_family;

/* The first prefix that fits a name takes it. */
const struct bf_family *const bf_families[] = {
	&bf_ibgda_family,     &bf_nvme_work_gpu_family, &bf_nvme_work_family,
	&bf_sdma_work_family, &bf_mbar_family,          &bf_ll_family,
	&bf_shmem_family,     &bf_gin_family,           NULL,
};
