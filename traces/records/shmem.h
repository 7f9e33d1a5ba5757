/* Records of the NVSHMEM-style kernels; see shmem.def. */
#ifndef BELFRY_TRACES_RECORDS_SHMEM_H
#define BELFRY_TRACES_RECORDS_SHMEM_H

#define BF_RECORDS_DEF "traces/records/shmem.def"
#include "sim/record_declare.h"

#endif
