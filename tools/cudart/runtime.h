/*
 * The CUDA runtime API as far as Belfry has it: own declarations of what cuda_runtime_api.h and crt/host_runtime.h of
 * CUDA 13 declare, each a few lines over the driver API (tools/cuda/driver.h). Errors have the driver's numbers.
 */
#ifndef BELFRY_TOOLS_CUDART_RUNTIME_H
#define BELFRY_TOOLS_CUDART_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/cuda/driver.h"

enum bf_rt_error {
	BF_RT_INVALID_CONFIGURATION = 9,
	BF_RT_INVALID_SYMBOL = 13,
	BF_RT_INVALID_DIRECTION = 21,
	BF_RT_MISSING_CONFIGURATION = 52,
	BF_RT_INVALID_FUNCTION = 98,
};

struct bf_dim3 {
	unsigned x, y, z;
};

struct bf_rt_pitched {
	void *at;
	size_t pitch, x, y;
};

struct bf_rt_extent {
	size_t width, height, depth;
};

/* cudaMemcpy3DParms */
struct bf_rt_volume {
	void *src_array;
	size_t src_pos[3];
	struct bf_rt_pitched src;
	void *dst_array;
	size_t dst_pos[3];
	struct bf_rt_pitched dst;
	struct bf_rt_extent extent;
	int kind;
};

/* Where members of cudaDeviceProp are, and the attribute whose value they have. */
struct bf_rt_layout {
	size_t size;
	const struct bf_rt_member {
		uint16_t at, attribute;
	} * ints, *sizes;
	size_t int_count, size_count;
};

/* cudaPointerAttributes; what follows in CUDA 13 is reserved. */
struct bf_rt_pointer {
	int type, device;
	void *device_at, *host_at;
};

/* Of all calls: what it returns is the thread's last error, too, if it is one. */
int bf_rt_done(int error);

/* The calling thread has a context: that of its device. 0 or an error. */
int bf_rt_enter(void);
int bf_rt_device(void);

/* The end of a call that is one of the driver's. */
#define BF_RT_ENTERED(call)                                                                                            \
	do {                                                                                                           \
		const int entered = bf_rt_enter();                                                                     \
                                                                                                                       \
		return bf_rt_done(entered ? entered : (call));                                                         \
	} while (0)

/* Such a call on a stream `s`, and again with _ptsz, where stream 0 is the thread's own. */
#define BF_RT_BOTH(name, params, call)                                                                                 \
	BF_CU_API int name params                                                                                      \
	{                                                                                                              \
		BF_RT_ENTERED(call);                                                                                   \
	}                                                                                                              \
	BF_CU_API int name##_ptsz params                                                                               \
	{                                                                                                              \
		s = s ? s : BF_CU_STREAM_THREAD;                                                                       \
		BF_RT_ENTERED(call);                                                                                   \
	}

/* A call that is not there: counted, and answers so. */
#define BF_RT_ABSENT(name)                                                                                             \
	BF_CU_API int name(void);                                                                                      \
	BF_CU_API int name(void)                                                                                       \
	{                                                                                                              \
		return bf_rt_done(bf_cu_unsupported(#name));                                                           \
	}

/* register.c: the kernel that a host function stands for; NULL with the error. */
int bf_rt_kernel(const void *stub, CUfunction *out);
/* The variable that a host one stands for. */
int bf_rt_symbol(const void *host, CUdeviceptr *at, size_t *size);
/* For what differs between versions (version_12.c, version_13.c). */
BF_CU_API int cudaRuntimeGetVersion(int *version);
int bf_rt_properties(void *out, const struct bf_rt_layout *l, int device);
int bf_rt_pointer(struct bf_rt_pointer *out, const void *p);

/* The function that stands for a kernel, or the kernel. */
const void *bf_rt_stub(CUfunction f);

/* memory.c: the driver's structure for a copy; a place in a variable. 0 or an error. */
int bf_rt_volume(const struct bf_rt_volume *v, struct bf_cu_copy3d *out);
int bf_rt_symbol_place(const void *symbol, size_t size, size_t offset, void **out);

/* memory.c: what copies.c does in a thread's own stream. */
BF_CU_API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
				size_t height, int kind, CUstream stream);
BF_CU_API int cudaMemcpy3DAsync(const struct bf_rt_volume *v, CUstream stream);
BF_CU_API int cudaMemset2DAsync(void *at, size_t pitch, int value, size_t width, size_t height, CUstream stream);
BF_CU_API int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset, int kind,
				      CUstream stream);
BF_CU_API int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int kind,
					CUstream stream);

/* graph.c: cudaGraphAddNode(), the same in all versions. */
int bf_rt_add_node(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, void *params);

#endif
