/*
 * hipMemcpy3D and hipMemcpy2D: from the call's parameters to packets, or to whoever else does the copy.
 *
 *   bf_hip_parms        what the caller fills in (hipMemcpy3DParms)
 *   bf_hip_describe()   -> bf_hip_memcpy3d (HIP_MEMCPY3D: everything in bytes, 32 bits each)
 *   bf_hip_plan()       -> bf_hip_plan: direction, both sides as buffer rectangles, and the path that does it
 *   bf_hip_packets()    the packets of a plan whose path is an engine's
 *
 * Sources: ROCm/clr hipamd/src/hip_memory.cpp (ihipMemcpyParam3D and its validation), hip_conversions.hpp
 * (getDrvMemcpy3DDesc), rocclr/platform/memory.cpp (BufferRect::create), rocclr/device/rocm/rocblit.cpp
 * (DmaBlitManager::copyBufferRect). Field meanings are the public API's. One thread per call; no state.
 */
#ifndef BELFRY_DRIVERS_SDMA_MEMCPY3D_H
#define BELFRY_DRIVERS_SDMA_MEMCPY3D_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/sdma/build.h"
#include "sim/error.h"

/* hipMemcpyKind. Default: each pointer says itself where it lies. */
enum bf_hip_kind { BF_HIP_H2H, BF_HIP_H2D, BF_HIP_D2H, BF_HIP_D2D, BF_HIP_DEFAULT };

enum bf_hip_memory { BF_HIP_HOST, BF_HIP_DEVICE, BF_HIP_ARRAY, BF_HIP_UNIFIED };

/* hipPos: x in bytes for pointers, in elements for arrays. hipExtent: width likewise, when an array takes part. */
struct bf_hip_pos {
	size_t x, y, z;
};
struct bf_hip_extent {
	size_t width, height, depth;
};
/* hipPitchedPtr: bytes of a row, of which xsize are used; rows of a slice. */
struct bf_hip_pitched_ptr {
	void *ptr;
	size_t pitch, xsize, ysize;
};
/* hipArray: an image in a layout of the device's own. */
struct bf_hip_array {
	void *data;
	uint32_t element; /* bytes */
	size_t width, height, depth;
	bool layered_1d; /* its layers count along y for the caller and z for the device */
};

struct bf_hip_parms {
	const struct bf_hip_array *src_array, *dst_array;
	struct bf_hip_pos src_pos, dst_pos;
	struct bf_hip_pitched_ptr src_ptr, dst_ptr;
	struct bf_hip_extent extent;
	enum bf_hip_kind kind;
};

/* HIP_MEMCPY3D. Its sizes are unsigned int, and so is the product of pitch and height that makes a slice. */
struct bf_hip_memcpy3d {
	uint32_t src_x_in_bytes, src_y, src_z, src_pitch, src_height;
	uint32_t dst_x_in_bytes, dst_y, dst_z, dst_pitch, dst_height;
	uint32_t width_in_bytes, height, depth;
	enum bf_hip_memory src_type, dst_type;
	const void *src;
	void *dst;
	const struct bf_hip_array *src_array, *dst_array;
};

/* Everything into bytes. For 2D copies depth is 1. */
void bf_hip_describe(const struct bf_hip_parms *p, struct bf_hip_memcpy3d *out);
/* hipMemcpy2D: rows of `width` bytes. */
void bf_hip_describe_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			enum bf_hip_kind kind, struct bf_hip_memcpy3d *out);

/* What the runtime knows of a pointer. */
struct bf_hip_pointer {
	bool device; /* memory of the GPU's; otherwise of the host's */
	bool direct; /* host code can reach it without a copy */
	uint64_t va; /* as engines see it */
};
/* 0, or -ENOENT for a pointer that nobody allocated. */
typedef int bf_hip_resolve_fn(void *arg, const void *ptr, struct bf_hip_pointer *out);

/* Who does the copy. */
enum bf_hip_path {
	BF_HIP_PATH_NONE,   /* an extent is zero: success, nothing is done */
	BF_HIP_PATH_HOST,   /* the processor, before the call returns */
	BF_HIP_PATH_RECT,   /* an engine, sub-window copies */
	BF_HIP_PATH_ROWS,   /* an engine, one linear copy a row */
	BF_HIP_PATH_SHADER, /* a blit kernel on the compute units */
	BF_HIP_PATHS
};
const char *bf_hip_path_name(enum bf_hip_path p); /* "host copy", "rect", "rows", "shader" */

/* BufferRect: offsets from the allocation's start, all in bytes. */
struct bf_hip_buffer_rect {
	uint64_t va; /* of the allocation, as engines see it */
	uint64_t start, row_pitch, slice_pitch;
};

struct bf_hip_plan {
	enum bf_hip_path path;
	const char *why;                       /* what led away from the rect path; NULL when nothing did */
	enum bf_sdma_drv_rect_error refused;   /* by the rect path, with path SHADER */
	enum bf_hip_memory src_type, dst_type; /* resolved */
	struct bf_hip_buffer_rect src, dst;
	uint32_t width, height, depth; /* bytes, rows, slices */
	bool to_device_engine;         /* the engine for host-to-device copies; otherwise the other one */
	bool waits;                    /* the call returns when the copy is done */
	uint64_t copies;               /* linear copies or packets that the path takes */
};

struct bf_hip_plan_opts {
	const struct bf_sdma_drv_caps *caps;
	bf_hip_resolve_fn *resolve;
	void *resolve_arg;
	bool d2d_by_engine; /* device to device: the engine as well, instead of a shader as HIP does */
};

/*
 * Decides. 0, or -EINVAL with `err` set for what the API refuses (hipErrorInvalidValue): a pitch narrower than the
 * width, a slice that is no whole number of rows or has too few, a null pointer, an unknown pointer.
 */
int bf_hip_plan(const struct bf_hip_memcpy3d *d, const struct bf_hip_plan_opts *opts, struct bf_hip_plan *out,
		struct bf_error *err);

/* Adds the packets of a plan with path RECT or ROWS to the body; nothing for the others. */
void bf_hip_packets(const struct bf_hip_plan *plan, struct bf_sdma_drv_body *body);

#endif
