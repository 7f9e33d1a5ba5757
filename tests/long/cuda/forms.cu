// Memory in all its forms: copies and fills of lines, areas, volumes and batches, registration, pointers, pools, virtual
// memory, handles, and what each says to what it does not allow.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#define SAY(call) printf("%s: %s\n", #call, cudaGetErrorName((cudaError_t)(call)))
#define OK(call)                                                                                                       \
	do {                                                                                                           \
		const int error_ = (int)(call);                                                                        \
		if (error_)                                                                                            \
			printf("line %d: %s\n", __LINE__, cudaGetErrorName((cudaError_t)error_));                      \
	} while (0)

__global__ void add(int *p, int v)
{
	*p += v;
}

static unsigned sum(const void *p, size_t n)
{
	unsigned s = 0;

	for (size_t i = 0; i < n; i++)
		s = s * 31 + ((const unsigned char *)p)[i];
	return s;
}

static void areas()
{
	unsigned char host[4096], back[4096];
	char *d, *e;
	size_t pitch;

	for (int i = 0; i < 4096; i++)
		host[i] = (unsigned char)(i * 7);
	OK(cudaMallocPitch(&d, &pitch, 60, 20));
	OK(cudaMalloc(&e, 4096));
	printf("pitch %zu\n", pitch);
	OK(cudaMemset(e, 0, 4096));
	OK(cudaMemcpy2D(d, pitch, host, 60, 60, 20, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2D(e + 5, 33, d + 3, pitch, 31, 20, cudaMemcpyDeviceToDevice));
	OK(cudaMemcpy(back, e, 4096, cudaMemcpyDeviceToHost));
	printf("area %x\n", sum(back, 4096));
	OK(cudaMemset2D(e, 64, 9, 30, 40));
	OK(cudaMemset2DAsync(e + 7, 64, 3, 5, 10, 0));
	OK(cudaMemset3D(make_cudaPitchedPtr(e + 1, 16, 8, 4), 2, make_cudaExtent(4, 2, 3)));
	OK(cudaMemcpy(back, e, 4096, cudaMemcpyDefault));
	printf("fills %x\n", sum(back, 4096));
	cudaMemcpy3DParms v = {};
	v.srcPtr = make_cudaPitchedPtr(host, 24, 20, 6);
	v.srcPos = make_cudaPos(2, 1, 1);
	v.dstPtr = make_cudaPitchedPtr(e, 40, 40, 8);
	v.dstPos = make_cudaPos(1, 2, 0);
	v.extent = make_cudaExtent(13, 4, 3);
	v.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&v));
	cudaMemcpy3DPeerParms w = {};
	w.srcPtr = make_cudaPitchedPtr(e, 40, 40, 8);
	w.dstPtr = make_cudaPitchedPtr(e + 2000, 50, 40, 8);
	w.extent = make_cudaExtent(20, 5, 2);
	OK(cudaMemcpy3DPeer(&w));
	OK(cudaMemcpyPeer(e + 3500, 0, e + 10, 0, 100));
	OK(cudaMemcpy(back, e, 4096, cudaMemcpyDefault));
	printf("volumes %x\n", sum(back, 4096));
	OK(cuMemsetD16((CUdeviceptr)e, 0x1234, 9));
	OK(cuMemsetD2D32((CUdeviceptr)e + 64, 16, 0x55667788, 2, 3));
	OK(cuMemsetD2D16((CUdeviceptr)e + 256, 16, 0xabcd, 3, 3));
	OK(cuMemcpyDtoH(back, (CUdeviceptr)e, 4096));
	printf("driver's %x\n", sum(back, 4096));
	SAY(cudaMemcpy2D(d, 10, host, 60, 60, 20, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy2D(d, pitch, host, 10, 60, 20, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy2D(d, 10, host, 60, 0, 20, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy(nullptr, host, 0, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy(nullptr, host, 4, cudaMemcpyHostToDevice));
	SAY(cudaMemcpy(d, host, 4, (cudaMemcpyKind)7));
	SAY(cudaMemset(nullptr, 0, 4));
	SAY(cudaMemset(d, 0, 0));
	SAY(cudaMemset2D(d, 10, 0, 20, 3));
	SAY(cuMemsetD32((CUdeviceptr)e + 2, 0, 4));
	SAY(cuMemcpyDtoH(back, 0, 4));
	(void)cudaGetLastError();
	OK(cudaFree(d));
	OK(cudaFree(e));
}

static void batches()
{
	int *d, out[3] = {}, in[3] = { 4, 5, 6 };
	cudaStream_t s;
	cudaMemcpyAttributes a = {};
	size_t sizes[3] = { 4, 8, 4 }, first[1] = { 0 };

	OK(cudaMalloc(&d, 64));
	OK(cudaStreamCreate(&s));
	OK(cudaMemset(d, 0, 64));
	a.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	const void *from[3] = { in, in + 1, in };
	void *to[3] = { d, d + 4, d + 8 };
	SAY(cudaMemcpyBatchAsync(to, from, sizes, 3, &a, first, 1, s));
	SAY(cudaMemcpyBatchAsync(to, from, sizes, 3, &a, first, 1, 0));
	SAY(cudaMemcpyBatchAsync(to, from, sizes, 0, &a, first, 1, s));
	SAY(cudaMemcpyBatchAsync(to, from, sizes, 3, &a, first, 0, s));
	(void)cudaGetLastError();
	OK(cudaStreamSynchronize(s));
	OK(cudaMemcpy(out, d + 4, 8, cudaMemcpyDeviceToHost));
	printf("batch %d %d\n", out[0], out[1]);
	OK(cudaStreamDestroy(s));
	OK(cudaFree(d));
}

static void attributes()
{
	cudaStream_t a, b;
	cudaStreamAttrValue v = {}, w = {};
	int priority = 9, least, greatest;

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	printf("priorities %d %d\n", least, greatest);
	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	v.syncPolicy = cudaSyncPolicyYield;
	SAY(cudaStreamSetAttribute(a, cudaLaunchAttributeSynchronizationPolicy, &v));
	v.priority = -2;
	SAY(cudaStreamSetAttribute(a, cudaLaunchAttributePriority, &v));
	SAY(cudaStreamCopyAttributes(b, a));
	SAY(cudaStreamGetAttribute(b, cudaLaunchAttributeSynchronizationPolicy, &w));
	printf("policy %d\n", (int)w.syncPolicy);
	SAY(cudaStreamGetAttribute(b, cudaLaunchAttributePriority, &w));
	SAY(cudaStreamGetPriority(b, &priority));
	printf("priority %d %d\n", (int)w.priority, priority);
	SAY(cudaStreamSetAttribute(a, cudaLaunchAttributeCooperative, &v));
	(void)cudaGetLastError();
}

static void registered()
{
	const size_t size = 1 << 16;
	char *p = (char *)aligned_alloc(4096, size);
	int *d;
	unsigned flags = 77;
	cudaPointerAttributes is;

	memset(p, 0, size);
	SAY(cudaHostUnregister(p));
	SAY(cudaHostRegister(p, size, cudaHostRegisterPortable | cudaHostRegisterMapped));
	SAY(cudaHostRegister(p, size, 0));
	SAY(cudaHostGetFlags(&flags, p));
	printf("flags %u\n", flags);
	OK(cudaHostGetDevicePointer(&d, p, 0));
	add<<<1, 1>>>(d, 5);
	OK(cudaDeviceSynchronize());
	printf("registered %d, same address %d\n", *(int *)p, (char *)d == p);
	OK(cudaPointerGetAttributes(&is, p + 100));
	printf("type %d, device %d\n", (int)is.type, is.device);
	SAY(cudaHostUnregister(p));
	SAY(cudaHostGetDevicePointer(&d, p, 0));
	SAY(cudaPointerGetAttributes(&is, p));
	printf("type %d, device %d\n", (int)is.type, is.device);
	SAY(cudaHostRegister(p, 0, 0));
	SAY(cudaHostRegister(nullptr, 4096, 0));
	SAY(cudaFreeHost(p));
	SAY(cudaFree(p));
	SAY(cudaHostAlloc(&d, 64, 64));
	(void)cudaGetLastError();
	OK(cudaHostAlloc(&d, 64, cudaHostAllocMapped | cudaHostAllocWriteCombined));
	SAY(cudaHostGetFlags(&flags, d));
	printf("flags %u\n", flags);
	SAY(cudaHostUnregister(d));
	OK(cudaFreeHost(d));
	(void)cudaGetLastError();
	free(p);
}

static void managed()
{
	int *m;
	cudaPointerAttributes is;
	cudaStream_t s;

	OK(cudaMallocManaged(&m, 4096));
	OK(cudaStreamCreate(&s));
	*m = 1;
	SAY(cudaStreamAttachMemAsync(s, m, 0, cudaMemAttachSingle));
	add<<<1, 1, 0, s>>>(m, 2);
	OK(cudaStreamSynchronize(s));
	printf("managed %d\n", *m);
	OK(cudaPointerGetAttributes(&is, m));
	printf("type %d\n", (int)is.type);
	SAY(cudaMemPrefetchAsync(m, 4096, cudaMemLocation{ cudaMemLocationTypeDevice, 0 }, 0, s));
	SAY(cudaMemAdvise(m, 4096, cudaMemAdviseSetReadMostly, cudaMemLocation{ cudaMemLocationTypeDevice, 0 }));
	int mostly = 7;
	SAY(cudaMemRangeGetAttribute(&mostly, 4, cudaMemRangeAttributeReadMostly, m, 4096));
	printf("read mostly %d\n", mostly);
	SAY(cudaMallocManaged(&m, 0));
	SAY(cudaMallocManaged(&m, 64, 8));
	SAY(cudaStreamAttachMemAsync(s, &s, 0, cudaMemAttachSingle));
	(void)cudaGetLastError();
}

static void pools()
{
	cudaMemPool_t p, q;
	cudaMemPoolProps props = {};
	int *a;
	uint64_t used = 1;

	OK(cudaDeviceGetDefaultMemPool(&p, 0));
	OK(cudaDeviceGetMemPool(&q, 0));
	printf("same pool %d\n", p == q);
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
	SAY(cudaMemPoolCreate(&q, &props));
	OK(cudaMallocFromPoolAsync(&a, 256, q, 0));
	OK(cudaMemPoolGetAttribute(q, cudaMemPoolAttrUsedMemCurrent, &used));
	printf("used %llu\n", (unsigned long long)used);
	int fd = -1;
	SAY(cudaMemPoolExportToShareableHandle(&fd, q, cudaMemHandleTypePosixFileDescriptor, 0));
	printf("descriptor %d\n", fd >= 0);
	cudaMemPoolPtrExportData data;
	SAY(cudaMemPoolExportPointer(&data, a));
	OK(cudaFreeAsync(a, 0));
	OK(cudaDeviceSynchronize());
	SAY(cudaMemPoolDestroy(q));
	SAY(cudaMemPoolDestroy(p));
	SAY(cudaMallocAsync(&a, 0, 0));
	SAY(cudaFreeAsync(nullptr, 0));
	(void)cudaGetLastError();
}

static void virtual_memory()
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle h, k;
	CUmemAccessDesc access = {};
	CUdeviceptr at, other;
	size_t grain;
	unsigned long long flags = 9;
	int fd = -1, out = 0;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	OK(cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	printf("grain %zu\n", grain);
	OK(cuMemAddressReserve(&at, 4 * grain, 0, 0, 0));
	OK(cuMemCreate(&h, 2 * grain, &prop, 0));
	SAY(cuMemCreate(&k, 100, &prop, 0));
	OK(cuMemMap(at, 2 * grain, 0, h, 0));
	SAY(cuMemMap(at, 2 * grain, 0, h, 0));
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	OK(cuMemSetAccess(at, 2 * grain, &access, 1));
	OK(cuMemGetAccess(&flags, &prop.location, at));
	printf("access %llu\n", flags);
	OK(cuMemsetD32(at, 7, 4));
	OK(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemImportFromShareableHandle(&k, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	OK(cuMemAddressReserve(&other, 2 * grain, 0, 0, 0));
	OK(cuMemMap(other, 2 * grain, 0, k, 0));
	OK(cuMemSetAccess(other, 2 * grain, &access, 1));
	add<<<1, 1>>>((int *)other, 3);
	OK(cuMemcpyDtoH(&out, at, 4));
	printf("alias %d\n", out);
	SAY(cuMemAddressFree(at, 4 * grain));
	SAY(cuMemRelease(h));
	SAY(cuMemUnmap(at, 2 * grain));
	SAY(cuMemUnmap(other, 2 * grain));
	SAY(cuMemRelease(k));
	SAY(cuMemAddressFree(at, 4 * grain));
	SAY(cuMemAddressFree(other, 2 * grain));
	CUdeviceptr d;
	OK(cuMemAlloc(&d, 1 << 21));
	SAY(cuMemGetHandleForAddressRange(&fd, d, 1 << 21, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	printf("dma-buf %d\n", fd >= 0);
	CUdeviceptr base;
	size_t size;
	OK(cuMemGetAddressRange(&base, &size, d + 100));
	printf("range %d %zu\n", base == d, size);
	cudaIpcMemHandle_t ipc;
	SAY(cudaIpcGetMemHandle(&ipc, (void *)d));
	void *opened;
	SAY(cudaIpcOpenMemHandle(&opened, ipc, cudaIpcMemLazyEnablePeerAccess));
	OK(cuMemFree(d));
	SAY(cuMemFree(d));
	SAY(cuMemAlloc(&d, 0));
	(void)cudaGetLastError();
}

static void peers()
{
	int can = 7;

	SAY(cudaDeviceCanAccessPeer(&can, 0, 0));
	printf("can %d\n", can);
	SAY(cudaDeviceEnablePeerAccess(0, 0));
	SAY(cudaDeviceEnablePeerAccess(5, 0));
	SAY(cudaDeviceDisablePeerAccess(0));
	(void)cudaGetLastError();
}

static void words()
{
	CUdeviceptr p;
	CUstream s;
	unsigned out[4] = {};
	CUstreamBatchMemOpParams ops[2] = {};

	OK(cuMemAlloc(&p, 64));
	OK(cuStreamCreate(&s, 0));
	OK(cuStreamWriteValue32(s, p, 5, 0));
	OK(cuStreamWaitValue32(s, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuStreamWriteValue64(s, p + 8, 0x100000002ull, 0));
	ops[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
	ops[0].writeValue.address = p + 4;
	ops[0].writeValue.value = 6;
	ops[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
	ops[1].waitValue.address = p + 4;
	ops[1].waitValue.value = 6;
	ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
	OK(cuStreamBatchMemOp(s, 2, ops, 0));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(out, p, 16));
	printf("words %u %u %u %u\n", out[0], out[1], out[2], out[3]);
	SAY(cuStreamWriteValue32(s, p + 2, 1, 0));
	SAY(cuStreamWaitValue32(s, p + 1, 1, 0));
	SAY(cuStreamWriteValue32(s, 0, 1, 0));
	ops[0].operation = (CUstreamBatchMemOpType)77;
	SAY(cuStreamBatchMemOp(s, 1, ops, 0));
	SAY(cuStreamBatchMemOp(s, 1, ops, 5));
}

int main()
{
	OK(cudaFree(0));
	areas();
	batches();
	attributes();
	registered();
	managed();
	pools();
	virtual_memory();
	peers();
	words();
	printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
