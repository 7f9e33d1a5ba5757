/*
 * The CUDA driver API as far as Belfry has it: own declarations of what cuda.h and NVIDIA's CUDA Driver API reference
 * document (names, numbers and layouts of CUDA 13), for libcuda.so.1 and for the runtime library that sits on it.
 *
 * Names are those of the symbols, which programs ask for. All calls may come from any thread.
 */
#ifndef BELFRY_TOOLS_CUDA_DRIVER_H
#define BELFRY_TOOLS_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define BF_CU_API __attribute__((visibility("default")))
#define BF_CU_VERSION 13000 /* that it says it is */

/* CUresult, and cudaError_t, which has the same numbers. */
enum bf_cu_result {
	BF_CU_OK = 0,
	BF_CU_INVALID_VALUE = 1,
	BF_CU_OUT_OF_MEMORY = 2,
	BF_CU_NOT_INITIALIZED = 3,
	BF_CU_DEINITIALIZED = 4,
	BF_CU_UNAVAILABLE = 46,
	BF_CU_NO_DEVICE = 100,
	BF_CU_INVALID_DEVICE = 101,
	BF_CU_INVALID_IMAGE = 200,
	BF_CU_INVALID_CONTEXT = 201,
	BF_CU_NO_BINARY = 209,
	BF_CU_UNSUPPORTED_LIMIT = 215,
	BF_CU_PEER_UNSUPPORTED = 217,
	BF_CU_INVALID_PTX = 218,
	BF_CU_FILE_NOT_FOUND = 301,
	BF_CU_OPERATING_SYSTEM = 304,
	BF_CU_INVALID_HANDLE = 400,
	BF_CU_ILLEGAL_STATE = 401,
	BF_CU_NOT_FOUND = 500,
	BF_CU_NOT_READY = 600,
	BF_CU_LAUNCH_OUT_OF_RESOURCES = 701,
	BF_CU_PEER_ENABLED = 704,
	BF_CU_PEER_NOT_ENABLED = 705,
	BF_CU_REGISTERED = 712,
	BF_CU_NOT_REGISTERED = 713,
	BF_CU_LAUNCH_FAILED = 719,
	BF_CU_TOO_LARGE = 720,
	BF_CU_NOT_PERMITTED = 800,
	BF_CU_NOT_SUPPORTED = 801,
	BF_CU_CAPTURE_UNSUPPORTED = 900,
	BF_CU_CAPTURE_INVALIDATED = 901,
	BF_CU_CAPTURE_MERGE = 902,
	BF_CU_CAPTURE_UNMATCHED = 903,
	BF_CU_CAPTURE_UNJOINED = 904,
	BF_CU_CAPTURE_ISOLATION = 905,
	BF_CU_CAPTURE_IMPLICIT = 906,
	BF_CU_CAPTURED_EVENT = 907,
	BF_CU_CAPTURE_WRONG_THREAD = 908,
	BF_CU_GRAPH_UPDATE = 910,
	BF_CU_CLUSTER = 912,
	BF_CU_UNKNOWN = 999,
};

typedef struct bf_cu_context *CUcontext;
typedef struct bf_cu_module *CUmodule;     /* CUlibrary, too */
typedef struct bf_cu_function *CUfunction; /* CUkernel, too */
typedef struct bf_cu_stream *CUstream;
typedef struct bf_cu_event *CUevent;
typedef struct bf_cu_pool *CUmemoryPool;
typedef struct bf_cu_link *CUlinkState;
typedef struct bf_cu_graph *CUgraph;
typedef struct bf_cu_node *CUgraphNode;
typedef struct bf_cu_exec *CUgraphExec;
typedef struct bf_cu_user_object *CUuserObject;
typedef uint64_t CUdeviceptr;
typedef void bf_cu_host_fn(void *arg);
typedef void bf_cu_stream_fn(CUstream stream, int result, void *arg);

#define BF_CU_STREAM_LEGACY ((CUstream)1)
#define BF_CU_STREAM_THREAD ((CUstream)2)

struct bf_cu_uuid {
	uint8_t bytes[16];
};

struct bf_cu_attribute {
	uint32_t id, pad;
	union bf_cu_attribute_value {
		uint32_t words[16];
		uint8_t bytes[64];
	} value;
};

struct bf_cu_config {
	uint32_t grid[3], block[3];
	uint32_t shared;
	uint32_t pad;
	CUstream stream;
	struct bf_cu_attribute *attributes;
	uint32_t count;
};

enum bf_cu_memory_type { BF_CU_HOST = 1, BF_CU_DEVICE = 2, BF_CU_ARRAY = 3, BF_CU_UNIFIED = 4 };

struct bf_cu_copy2d {
	size_t src_x, src_y;
	uint32_t src_type;
	const void *src_host;
	CUdeviceptr src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x, dst_y;
	uint32_t dst_type;
	void *dst_host;
	CUdeviceptr dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width, height;
};

struct bf_cu_copy3d {
	size_t src_x, src_y, src_z, src_lod;
	uint32_t src_type;
	const void *src_host;
	CUdeviceptr src_device;
	void *src_array, *src_reserved;
	size_t src_pitch, src_height;
	size_t dst_x, dst_y, dst_z, dst_lod;
	uint32_t dst_type;
	void *dst_host;
	CUdeviceptr dst_device;
	void *dst_array, *dst_reserved;
	size_t dst_pitch, dst_height;
	size_t width, height, depth;
};

struct bf_cu_location {
	uint32_t type; /* 1 device, 2 host, 3 NUMA node of the host */
	int id;
};

struct bf_cu_allocation {
	uint32_t type;    /* 1: pinned */
	uint32_t handles; /* 0, 1: file descriptor, 8: fabric */
	struct bf_cu_location location;
	void *windows;
	struct {
		uint8_t compression, rdma;
		uint16_t usage;
		uint8_t reserved[4];
	} flags;
};

/* CUmemPoolProps */
struct bf_cu_pool_properties {
	uint32_t type, handles;
	struct bf_cu_location location;
	void *windows;
	size_t most;
	uint16_t usage;
	uint8_t reserved[54];
};

/* CUDA_MEM_ALLOC_NODE_PARAMS */
struct bf_cu_alloc_node {
	struct bf_cu_pool_properties pool;
	const void *access;
	size_t access_count, size;
	CUdeviceptr at;
};

/* CUDA_BATCH_MEM_OP_NODE_PARAMS */
struct bf_cu_words_node {
	CUcontext context;
	unsigned count;
	const void *params;
	unsigned flags;
};

/* CUmemcpyAttributes */
struct bf_cu_copy_attribute {
	uint32_t order; /* 1 of the stream, 2 during the call, 3 any */
	struct bf_cu_location from, to;
	uint32_t flags;
};

struct bf_cu_access {
	struct bf_cu_location location;
	uint32_t flags; /* 0 none, 1 read, 3 read and write */
};

struct bf_cu_ipc {
	uint8_t bytes[64];
};

/* CUDA_KERNEL_NODE_PARAMS; the last two came with CUDA 12. */
struct bf_cu_kernel_node {
	CUfunction fn;
	uint32_t grid[3], block[3], shared;
	void **params, **extra;
	CUfunction kernel; /* when `fn` is NULL */
	CUcontext context;
};

/* CUDA_MEMSET_NODE_PARAMS */
struct bf_cu_fill_node {
	CUdeviceptr at;
	size_t pitch;
	uint32_t value, size; /* of an element */
	size_t width, height;
};

/* CUDA_CONDITIONAL_NODE_PARAMS */
struct bf_cu_condition_node {
	uint64_t handle;
	int type;
	unsigned size;
	CUgraph *graphs;
	CUcontext context;
};

struct bf_cu_host_node {
	bf_cu_host_fn *fn;
	void *arg;
};

/* CUgraphNodeParams */
struct bf_cu_node_params {
	int type, reserved[3];
	union {
		long long all[29];
		struct bf_cu_kernel_node kernel;
		struct {
			int flags, reserved;
			CUcontext context;
			struct bf_cu_copy3d copy;
		} copy;
		struct bf_cu_fill_node fill;
		struct bf_cu_host_node host;
		struct bf_cu_alloc_node alloc;
		struct bf_cu_words_node words;
		struct bf_cu_condition_node condition;
		CUdeviceptr freed;
		CUgraph child;
		CUevent event;
	};
	long long last;
};

/* CUDA_GRAPH_INSTANTIATE_PARAMS */
struct bf_cu_instantiate {
	uint64_t flags;
	CUstream upload;
	CUgraphNode failed;
	int result;
};

/* CUgraphExecUpdateResultInfo */
struct bf_cu_update {
	int result;
	CUgraphNode node, from;
};

#define BF_CU_CALL(version, name, symbol, ...) BF_CU_API int symbol(__VA_ARGS__);
#include "tools/cuda/calls.inc"
#undef BF_CU_CALL

/* The runtime's name of an error, or NULL. */
BF_CU_API const char *bf_cu_runtime_name(int error);

/* cuLibraryLoadData() with a name for messages. */
BF_CU_API int bf_cu_library_load(CUmodule *out, const void *image, const char *name);

/* 1: the handle is a kernel's, which *out gets. */
BF_CU_API int bf_cu_is_function(const void *handle, CUfunction *out);

/* A call that Belfry has not got: counted, told at the end. Returns BF_CU_NOT_SUPPORTED. `name` is static. */
BF_CU_API int bf_cu_unsupported(const char *name);

#endif
