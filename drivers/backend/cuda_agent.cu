/*
 * libbelfry-cuda.so: the drivers compiled as CUDA, launched for backends on the wall clock. See cuda_internal.h.
 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "drivers/platform/platform_cuda.h"

#include "drivers/backend/cuda_internal.h"
#include "drivers/ibgda/kernels_internal.h"
#include "drivers/nvme/kernels_internal.h"

static __global__ void ibgda(struct bf_ibgda_job job, uint32_t work)
{
	struct bf_thread t;

	bf_ibgda_work(&t, &job, (enum bf_ibgda_work)work);
}

static __global__ void nvme(struct bf_nvme_drv_job job, uint32_t work)
{
	struct bf_thread t;

	bf_nvme_drv_work_io(&t, &job, (enum bf_nvme_drv_work)work);
}

static __global__ void nvme_ring(struct bf_nvme_drv_job job)
{
	struct bf_thread t;

	bf_nvme_drv_work_ring(&t, &job);
}

/* Grids of a run execute side by side: they may wait for each other's messages. */
#define STREAMS 64u

/* The one GPU; a loaded library is used by one world at a time. */
static struct {
	cudaStream_t stream[STREAMS];
	unsigned nstreams, next;
	void **pin; /* what is mapped */
	unsigned npins;
	bool is_open;
} gpu;

static int failed(cudaError_t e, const char *step, char *why, size_t cap)
{
	if (e == cudaSuccess)
		return 0;
	snprintf(why, cap, "%s: %s", step, cudaGetErrorString(e));
	return e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver ? -ENODEV : -EIO;
}

/* The context stays: others of this process have memory in it. */
static void gpu_close(void)
{
	if (!gpu.is_open)
		return;
	while (gpu.nstreams)
		cudaStreamDestroy(gpu.stream[--gpu.nstreams]);
	while (gpu.npins)
		cudaHostUnregister(gpu.pin[--gpu.npins]);
	free(gpu.pin);
	gpu.pin = NULL;
	gpu.is_open = false;
}

/*
 * Now rather than at the first launch: the driver copies nothing while it loads, and waits with that for kernels that
 * run, which may be waiting for a copy.
 */
static int load_kernels(char *why, size_t cap)
{
	const void *const all[] = { (const void *)ibgda, (const void *)nvme, (const void *)nvme_ring };
	cudaFuncAttributes attributes;
	int rc = 0;

	for (unsigned i = 0; !rc && i < sizeof(all) / sizeof(all[0]); i++)
		rc = failed(cudaFuncGetAttributes(&attributes, all[i]), "cudaFuncGetAttributes", why, cap);
	return rc;
}

static int gpu_open(char *why, size_t cap)
{
	cudaDeviceProp prop;
	int rc, usable = 0;

	if (gpu.is_open) {
		snprintf(why, cap, "the GPU serves another world of this process");
		return -EBUSY;
	}
	rc = failed(cudaGetDeviceProperties(&prop, 0), "no usable NVIDIA GPU", why, cap);
	if (rc)
		return rc;
	cudaDeviceGetAttribute(&usable, cudaDevAttrCanUseHostPointerForRegisteredMem, 0);
	if (!usable) {
		snprintf(why, cap, "%s cannot use host addresses of pinned memory", prop.name);
		return -ENOTSUP;
	}
	while (!rc && gpu.nstreams < STREAMS) {
		rc = failed(cudaStreamCreateWithFlags(&gpu.stream[gpu.nstreams], cudaStreamNonBlocking), "cudaStreamCreate",
			    why, cap);
		gpu.nstreams += !rc;
	}
	gpu.is_open = true;
	if (!rc)
		rc = load_kernels(why, cap);
	if (!rc)
		snprintf(why, cap, "%s", prop.name);
	else
		gpu_close();
	return rc;
}

/* Queue pairs may share a doorbell page. */
static bool is_mapped(const void *p)
{
	unsigned i = 0;

	while (i < gpu.npins && gpu.pin[i] != p)
		i++;
	return i < gpu.npins;
}

static int gpu_map(void *p, size_t len, bool io, char *why, size_t cap)
{
	const unsigned flags = cudaHostRegisterMapped | cudaHostRegisterPortable | (io ? cudaHostRegisterIoMemory : 0);
	void **more, *there = NULL;
	int rc;

	if (io && is_mapped(p))
		return 0;
	more = (void **)realloc(gpu.pin, (gpu.npins + 1) * sizeof(*more));
	if (!more) {
		snprintf(why, cap, "no memory");
		return -ENOMEM;
	}
	gpu.pin = more;
	rc = failed(cudaHostRegister(p, len, flags), "cudaHostRegister", why, cap);
	if (rc)
		return rc;
	gpu.pin[gpu.npins++] = p;
	rc = failed(cudaHostGetDevicePointer(&there, p, 0), "cudaHostGetDevicePointer", why, cap);
	if (rc || there == p)
		return rc;
	snprintf(why, cap, "the GPU has it at another address");
	return -ENOTSUP;
}

static int gpu_launch(enum bf_cuda_driver driver, uint32_t work, uint32_t blocks, uint32_t warps, const void *job,
		      char *why, size_t cap)
{
	const unsigned threads = warps * BF_LANES;
	cudaStream_t stream = gpu.stream[gpu.next++ % gpu.nstreams];

	if (driver == BF_CUDA_IBGDA)
		ibgda<<<blocks, threads, 0, stream>>>(*(const struct bf_ibgda_job *)job, work);
	else if (work == BF_CUDA_NVME_RING)
		nvme_ring<<<blocks, threads, 0, stream>>>(*(const struct bf_nvme_drv_job *)job);
	else
		nvme<<<blocks, threads, 0, stream>>>(*(const struct bf_nvme_drv_job *)job, work);
	return failed(cudaGetLastError(), "kernel launch", why, cap);
}

static int gpu_done(char *why, size_t cap)
{
	for (unsigned i = 0; i < gpu.nstreams; i++) {
		const cudaError_t e = cudaStreamQuery(gpu.stream[i]);

		if (e == cudaErrorNotReady)
			return 0;
		if (e != cudaSuccess)
			return failed(e, "a grid failed", why, cap);
	}
	return 1;
}

extern "C" const struct bf_cuda_api bf_cuda_api;
const struct bf_cuda_api bf_cuda_api = { BF_CUDA_API, gpu_open, gpu_close, gpu_map, gpu_launch, gpu_done };
