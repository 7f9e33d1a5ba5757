// NCCL's device headers of GIN, unmodified, on its own copy of GPUNetIO's: the calls of tests/drivers/gin_original.h by
// the interface that NCCL's device code has for its backends. tests/long/gin_original.sh compiles and runs this.
#include <cuda.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

// NCCL's host side fills the tables; here the kernel does, and a non-coherent load need not find what its kernel stored.
#define __ldg(at) (*(at))

#include "nccl.h"
#include "nccl_device.h"

#include "gin_layout.cuh"

#define PEER 1
constexpr auto gdaki = NCCL_NET_DEVICE_GIN_GDAKI;

// What NCCL's host side would have made: tables by peer, of which only that of PEER and of the own rank are looked at.
__device__ ncclGinGdakiGPUContext context;
__device__ ncclGinGdakiMemHandle window;
__device__ __be32 data_keys[2], signal_keys[2], own_keys[2];
__device__ uint64_t issued[2], visible[2];

__device__ ncclGinCtx connect(const gin_job &j)
{
	static const uint8_t modes[] = { NCCL_GIN_RESOURCE_SHARING_THREAD, NCCL_GIN_RESOURCE_SHARING_CTA,
					 NCCL_GIN_RESOURCE_SHARING_GPU };
	ncclGinCtx ctx = {};

	data_keys[PEER] = j.rkey;
	signal_keys[PEER] = j.signal_key;
	own_keys[0] = j.sink_key;
	window = { data_keys, j.lkey };
	context.gdqp = (doca_gpu_dev_verbs_qp *)j.qp - PEER;
	context.companion_gdqp = (doca_gpu_dev_verbs_qp *)j.companion - PEER;
	context.signals_table = { nullptr, signal_keys, j.sink_key, 0 };
	context.counters_table = { nullptr, own_keys, j.sink_key, 0 };
	context.sink_buffer_lkey = j.sink_key;
	context.last_issued_get = issued;
	context.last_visible_get = visible;
	issued[PEER] = visible[PEER] = 0;
	ctx.backend = gdaki;
	ctx.nRanks = 2;
	ctx.handle = &context;
	ctx.resourceSharingMode = modes[j.sharing];
	return ctx;
}

__device__ void put(const gin_job &j, ncclGinCtx ctx, const gin_call &c, bool data, bool signal, bool counter)
{
	ncclGinSignalDescriptor to = {};

	to.type = signal ? NCCL_GIN_SIGNAL_TYPE_INDEXED : NCCL_GIN_SIGNAL_TYPE_NONE;
	to.indexedSignal.signalId = (ncclGinSignal_t)(j.signal / 8);
	ncclGinApi_Put<gdaki>::call(ctx, ncclCoopThread(), PEER, data, &window, c.remote, &window, c.local, c.bytes, to,
				    ncclGinSignalInc, 0, counter, (ncclGinCounter_t)(j.counter / 8), false, nullptr,
				    cuda::thread_scope_device, cuda::thread_scope_thread,
				    (c.flags & 4 ? ncclGinOptFlagsAggregateRequests : 0) |
					    (c.flags & 2 ? ncclGinOptFlagsMaySkipCreditCheck : 0));
}

__device__ void value(const gin_job &j, ncclGinCtx ctx, const gin_call &c, bool signal)
{
	ncclGinSignalDescriptor to = {};

	to.type = signal ? NCCL_GIN_SIGNAL_TYPE_INDEXED : NCCL_GIN_SIGNAL_TYPE_NONE;
	to.indexedSignal.signalId = (ncclGinSignal_t)(j.signal / 8);
	ncclGinApi_PutValue<gdaki>::call(ctx, ncclCoopThread(), PEER, &window, c.remote, c.bytes, to, ncclGinSignalInc, 0,
					 false, nullptr, cuda::thread_scope_device, cuda::thread_scope_thread);
}

__device__ void flush(ncclGinCtx ctx, uint32_t *abort = nullptr)
{
	ncclGinRequest_t request;

	ncclGinApi_FlushAsync<gdaki>::call(ctx, PEER, &request, false, nullptr, 0);
	ncclGinApi_Wait<gdaki>::call(ctx, request, false, nullptr, cuda::memory_order_acquire, abort);
}

extern "C" __global__ void gin_original(const gin_job j)
{
	ncclGinCtx ctx = connect(j);

	for (uint32_t i = 0; i < j.calls; i++) {
		const gin_call &c = j.call[i];

		switch (c.op) {
		case GIN_PUT:
		case GIN_PUT_SIGNAL:
		case GIN_COUNTER:
			put(j, ctx, c, true, c.op == GIN_PUT_SIGNAL, c.op == GIN_COUNTER);
			break;
		case GIN_SIGNAL:
		case GIN_SIGNAL_COUNTER:
			put(j, ctx, c, false, true, c.op == GIN_SIGNAL_COUNTER);
			break;
		case GIN_VALUE:
		case GIN_VALUE_SIGNAL:
			value(j, ctx, c, c.op == GIN_VALUE_SIGNAL);
			break;
		case GIN_GET:
		case GIN_GET_VISIBLE:
			ncclGinApi_Get<gdaki>::call(ctx, ncclCoopThread(), PEER, &window, c.remote, &window, c.local, c.bytes,
						    false, nullptr);
			break;
		case GIN_WAIT:
			flush(ctx);
			break;
		default:
			__trap();
		}
	}
}

// ---- doubts: kernels for `belfry ptx trial` ----

__device__ uint32_t never;

__device__ gin_job job_of(CONNECTION)
{
	gin_job j = {};

	j.qp = (uint64_t)CONNECT;
	j.rkey = __byte_perm(rkey, 0, 0x0123);
	j.lkey = j.sink_key = __byte_perm(lkey, 0, 0x0123);
	j.sharing = 2;
	return j;
}

#define JOB job_of(sq, cq, record, doorbell, qpn, entries, cqes, local_va, lkey, remote_va, rkey)

// A flush behind puts, the last of which has `flags`: 4, and nobody rings.
extern "C" __global__ void nccl_flush(CONNECTION, uint32_t flags)
{
	const gin_job j = JOB;
	ncclGinCtx ctx = connect(j);
	const gin_call first = { GIN_PUT, 4, remote_va, local_va, 64 };
	const gin_call last = { GIN_PUT, flags, remote_va + 64, local_va + 64, 64 };

	put(j, ctx, first, true, false, false);
	put(j, ctx, last, true, false, false);
	flush(ctx);
}

// A put with a key that the peer does not have. With a flag to look at the flush waits for it forever, without one it ends
// as behind a good put.
extern "C" __global__ void nccl_error(CONNECTION, uint32_t flag)
{
	rkey ^= 0x5500;
	const gin_job j = JOB;
	ncclGinCtx ctx = connect(j);
	const gin_call bad = { GIN_PUT, 0, remote_va, local_va, 64 };

	put(j, ctx, bad, true, false, false);
	flush(ctx, flag ? &never : nullptr);
}
