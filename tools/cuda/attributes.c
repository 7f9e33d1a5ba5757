/*
 * Attributes of devices. Numbers by cuda.h (CUdevice_attribute); values are an H100's as its driver reports them, or
 * the profile's.
 */
#include "tools/cuda/driver_internal.h"

static const struct {
	int attribute, value;
} fixed[] = {
	{ 1, 1024 },                                           /* threads of a block */
	{ 2, 1024 },        { 3, 1024 },         { 4, 64 },    /* its sides */
	{ 5, INT32_MAX },   { 6, 65535 },        { 7, 65535 }, /* a grid's */
	{ 8, 48 << 10 },                                       /* shared memory of a block */
	{ 9, 64 << 10 },                                       /* constant memory */
	{ 10, 32 },                                            /* lanes of a warp */
	{ 11, INT32_MAX },                                     /* pitch */
	{ 12, 65536 },                                         /* registers of a block */
	{ 14, 512 },                                           /* alignment of textures */
	{ 15, 1 },                                             /* copies beside kernels */
	{ 17, 0 },                                             /* run time limit */
	{ 18, 0 },                                             /* integrated */
	{ 19, 1 },                                             /* maps host memory */
	{ 20, 0 },                                             /* compute mode */
	{ 31, 1 },                                             /* concurrent kernels */
	{ 32, 1 },                                             /* ECC */
	{ 34, 0 },                                             /* PCI device; the bus is below */
	{ 35, 0 },          { 40, 3 },           { 41, 1 },    /* TCC; copy engines; one address space */
	{ 78, 1 },                                             /* stream priorities */
	{ 79, 1 },          { 80, 1 },                         /* L1 caches */
	{ 82, 65536 },                                         /* registers of an SM */
	{ 83, 1 },                                             /* managed memory */
	{ 84, 0 },          { 85, 0 },                         /* boards of several GPUs */
	{ 86, 0 },                                             /* native atomics to the host */
	{ 87, 2 },                                             /* double to single */
	{ 88, 0 },                                             /* pageable memory */
	{ 89, 1 },          { 90, 1 },           { 91, 1 },    { 92, 0 },  { 93, 0 },
	{ 94, 0 },                                           /* stream memory operations of before CUDA 11.7 */
	{ 95, 1 },          { 96, 0 },                       /* cooperative launch, of several devices */
	{ 98, 0 },          { 99, 1 },                       /* flush of remote writes; host register */
	{ 100, 0 },         { 101, 0 },          { 102, 1 }, /* VMM */
	{ 103, 1 },         { 104, 0 },          { 105, 0 },   { 107, 0 }, { 108, 32768000 },
	{ 109, 134217728 }, { 110, 1 },                                    /* what persists in L2: hints */
	{ 111, 1024 },                                                     /* reserved shared memory of a block */
	{ 112, 0 },         { 113, 1 },          { 114, 0 },   { 115, 1 }, /* pools */
	{ 116, 1 },         { 117, 1 },          { 118, 100 },             /* GPUDirect RDMA */
	{ 119, 1 },         { 120, 1 },                                    /* handles of pools; clusters */
	{ 121, 0 },         { 122, 1 },          { 123, 1 },   { 124, 1 }, /* DMA-BUF */
	{ 125, 1 },         { 126, 4 },          { 127, 0 },   { 128, 0 }, /* IPC events; fabric handles: not there */
	{ 129, 0 },         { 130, 0 },          { 131, -1 },  { 132, 0 }, /* multicast: not there */
	{ 133, 0 },         { 134, 0 },          { 135, 0 },   { 136, 0 }, { 137, 0 },
	{ 138, 0 },         { 139, 0x1de50000 }, { 140, 0 },   { 141, 0 }, { 142, 0 },
	{ 143, 0 },         { 144, 0 },          { 145, 0 },   { 146, 0 }, { 147, 0 },
};

static int of_profile(int *value, int attribute, int device)
{
	const struct bf_exec_gpu_profile *p = bf_cu.profile;

	switch (attribute) {
	case 13:
		*value = (int)p->clock_khz;
		return BF_CU_OK;
	case 16:
		*value = (int)p->sms;
		return BF_CU_OK;
	case 33:
		*value = 0x40 + device;
		return BF_CU_OK;
	case 36:
		*value = (int)p->memory_khz;
		return BF_CU_OK;
	case 37:
		*value = (int)p->bus_bits;
		return BF_CU_OK;
	case 38:
		*value = (int)p->l2_bytes;
		return BF_CU_OK;
	case 39:
		*value = (int)p->threads;
		return BF_CU_OK;
	case 50:
		*value = (int)bf_cu_pci_domain();
		return BF_CU_OK;
	case 75:
		*value = (int)p->major;
		return BF_CU_OK;
	case 76:
		*value = (int)p->minor;
		return BF_CU_OK;
	case 81:
		*value = (int)p->shared_sm;
		return BF_CU_OK;
	case 97:
		*value = (int)p->shared_block;
		return BF_CU_OK;
	case 106:
		*value = (int)p->blocks;
		return BF_CU_OK;
	default:
		return BF_CU_INVALID_VALUE;
	}
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	const int rc = bf_cu_ready();

	if (rc || !value)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (device < 0 || (uint32_t)device >= bf_cu.count)
		return BF_CU_INVALID_DEVICE;
	for (size_t i = 0; i < BF_ARRAY_LEN(fixed); i++)
		if (fixed[i].attribute == attribute) {
			*value = fixed[i].value;
			return BF_CU_OK;
		}
	if ((attribute >= 21 && attribute <= 30) || (attribute >= 42 && attribute <= 74 && attribute != 50) ||
	    attribute == 77) {
		*value = 0; /* limits of textures and surfaces, which are not there */
		return BF_CU_OK;
	}
	return of_profile(value, attribute, device);
}
