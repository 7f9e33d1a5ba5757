/* Kernels: what they take of an SM, what may be set, and how many of their blocks fit. */
#include <string.h>

#include "tools/cuda/driver_internal.h"

#define SHARED_RESERVED 1024u

enum {
	FN_MAX_THREADS,
	FN_SHARED,
	FN_CONST,
	FN_LOCAL,
	FN_REGISTERS,
	FN_PTX,
	FN_BINARY,
	FN_CACHE,
	FN_DYNAMIC,
	FN_CARVEOUT,
	FN_CLUSTER_SET,
	FN_CLUSTER_X,
	FN_CLUSTER_Y,
	FN_CLUSTER_Z,
	FN_WIDE_CLUSTERS,
	FN_CLUSTER_POLICY,
};

static int get_attribute(int *value, int attribute, const struct bf_cu_function *f)
{
	const int arch = (int)bf_cu_arch();

	switch (attribute) {
	case FN_MAX_THREADS:
		*value = (int)f->info.max_threads;
		return BF_CU_OK;
	case FN_SHARED:
		*value = (int)f->info.static_shared;
		return BF_CU_OK;
	case FN_CONST:
	case FN_CACHE:
	case FN_CLUSTER_POLICY:
		*value = 0;
		return BF_CU_OK;
	case FN_LOCAL:
		*value = (int)f->info.local_bytes;
		return BF_CU_OK;
	case FN_REGISTERS:
		*value = (int)f->registers;
		return BF_CU_OK;
	case FN_PTX:
	case FN_BINARY:
		*value = arch;
		return BF_CU_OK;
	case FN_DYNAMIC:
		*value = (int)f->dynamic_shared;
		return BF_CU_OK;
	case FN_CARVEOUT:
		*value = f->carveout;
		return BF_CU_OK;
	case FN_CLUSTER_SET:
		*value = f->info.cluster[0] != 0;
		return BF_CU_OK;
	case FN_CLUSTER_X:
	case FN_CLUSTER_Y:
	case FN_CLUSTER_Z:
		*value = (int)f->cluster[attribute - FN_CLUSTER_X];
		return BF_CU_OK;
	case FN_WIDE_CLUSTERS:
		*value = f->wide_clusters;
		return BF_CU_OK;
	default:
		return BF_CU_INVALID_VALUE;
	}
}

int cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);

	if (!value || !f)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	return get_attribute(value, attribute, f);
}

int cuKernelGetAttribute(int *value, int attribute, CUfunction kernel, int device)
{
	(void)device;
	return cuFuncGetAttribute(value, attribute, kernel);
}

int cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
	struct bf_cu_function *f = bf_cu_function_of(function);

	if (!f)
		return BF_CU_INVALID_HANDLE;
	switch (attribute) {
	case FN_DYNAMIC:
		if (value < 0 || (uint32_t)value + f->info.static_shared > bf_cu.profile->shared_block)
			return BF_CU_INVALID_VALUE;
		f->dynamic_shared = (uint32_t)value;
		return BF_CU_OK;
	case FN_CARVEOUT:
		if (value < -1 || value > 100)
			return BF_CU_INVALID_VALUE;
		f->carveout = value;
		return BF_CU_OK;
	case FN_CLUSTER_X:
	case FN_CLUSTER_Y:
	case FN_CLUSTER_Z:
		if (value < 0 || f->info.cluster[0])
			return BF_CU_INVALID_VALUE;
		f->cluster[attribute - FN_CLUSTER_X] = (uint32_t)value;
		return BF_CU_OK;
	case FN_WIDE_CLUSTERS:
		f->wide_clusters = value != 0;
		return BF_CU_OK;
	case FN_CLUSTER_POLICY:
		return BF_CU_OK; /* a hint */
	default:
		return BF_CU_INVALID_VALUE;
	}
}

int cuKernelSetAttribute(int attribute, int value, CUfunction kernel, int device)
{
	(void)device;
	return cuFuncSetAttribute(kernel, attribute, value);
}

int cuFuncSetCacheConfig(CUfunction f, int config)
{
	(void)config; /* a hint */
	return bf_cu_function_of(f) ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuKernelSetCacheConfig(CUfunction f, int config, int device)
{
	(void)device;
	return cuFuncSetCacheConfig(f, config);
}

/* Banks of shared memory are 4 bytes wide; asking for others has had no effect since Maxwell. */
#define BANKS_OF_FOUR 1

int cuFuncSetSharedMemConfig(CUfunction f, int config)
{
	(void)config;
	return bf_cu_function_of(f) ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

int cuCtxSetSharedMemConfig(int config)
{
	(void)config;
	return bf_cu_ready();
}

int cuCtxGetSharedMemConfig(int *config)
{
	if (!config)
		return BF_CU_INVALID_VALUE;
	*config = BANKS_OF_FOUR;
	return bf_cu_ready();
}

/* ---- occupancy ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t bf_cu_blocks_of_sm(const struct bf_cu_function *f, uint32_t threads, uint64_t dynamic)
{
	const struct bf_exec_gpu_profile *p = bf_cu.profile;
	const uint32_t warps = (threads + 31) / 32;
	const uint64_t shared = (f->info.static_shared + dynamic + 127) / 128 * 128 + SHARED_RESERVED;
	uint32_t n = least(p->blocks, p->threads / 32 / warps);

	n = least(n, (uint32_t)(p->shared_sm / shared));
	return least(n, 65536 / (f->registers * warps * 32));
}

int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int threads, size_t dynamic,
							 unsigned flags)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);

	if (!f || !blocks)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	if (threads < 1 || flags & ~1u)
		return BF_CU_INVALID_VALUE;
	*blocks = threads > 1024 || f->info.static_shared + dynamic > bf_cu.profile->shared_block
		      ? 0
		      : (int)bf_cu_blocks_of_sm(f, (uint32_t)threads, dynamic);
	return BF_CU_OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t dynamic)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, dynamic, 0);
}

int cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int threads)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);
	uint32_t each;

	if (!f || !bytes || blocks < 1 || threads < 1)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	each = bf_cu.profile->shared_sm / (uint32_t)blocks;
	each = each > SHARED_RESERVED + f->info.static_shared ? each - SHARED_RESERVED - f->info.static_shared : 0;
	*bytes = least(each, bf_cu.profile->shared_block - f->info.static_shared) / 128 * 128;
	return BF_CU_OK;
}

static void cluster_of(const struct bf_cu_config *config, uint32_t out[3])
{
	for (uint32_t i = 0; i < config->count; i++)
		if (config->attributes[i].id == 4)
			memcpy(out, config->attributes[i].value.words, 3 * sizeof(uint32_t));
}

int cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const struct bf_cu_config *config)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);
	uint32_t shape[3] = { 1, 1, 1 }, size, threads;

	if (!f || !clusters || !config)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	cluster_of(config, shape);
	size = shape[0] * shape[1] * shape[2];
	threads = config->block[0] * config->block[1] * config->block[2];
	if (!size || !threads || threads > 1024)
		return BF_CU_INVALID_VALUE;
	*clusters = (int)(bf_cu_blocks_of_sm(f, threads, config->shared) * bf_cu.profile->sms / size);
	return BF_CU_OK;
}

int cuOccupancyMaxPotentialClusterSize(int *size, CUfunction function, const struct bf_cu_config *config)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);

	if (!f || !size || !config)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	*size = f->wide_clusters ? 16 : 8;
	return BF_CU_OK;
}

/* The largest block of those that keep most threads on an SM, and how many of it fill the GPU. */
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, CUfunction function,
					      size_t (*dynamic_of)(int block), size_t dynamic, int limit,
					      unsigned flags)
{
	const struct bf_cu_function *f = bf_cu_function_of(function);
	int most = 0, blocks;

	if (!f || !grid || !block)
		return f ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	if (limit <= 0 || (uint32_t)limit > f->info.max_threads)
		limit = (int)f->info.max_threads;
	*grid = *block = 0;
	for (int threads = (limit + 31) / 32 * 32; threads > 0; threads -= 32) {
		const int tried = threads < limit ? threads : limit;
		const int rc = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		    &blocks, function, tried, dynamic_of ? dynamic_of(tried) : dynamic, flags);

		if (rc)
			return rc;
		if (blocks * tried > most) {
			most = blocks * tried;
			*block = tried;
			*grid = blocks * (int)bf_cu.profile->sms;
		}
	}
	return BF_CU_OK;
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, size_t (*dynamic_of)(int block),
				     size_t dynamic, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, f, dynamic_of, dynamic, limit, 0);
}
