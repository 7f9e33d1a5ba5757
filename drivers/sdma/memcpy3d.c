#include "drivers/sdma/memcpy3d.h"

#include <errno.h>
#include <inttypes.h>

#include "drivers/sdma/copy.h"
#include "sim/compiler.h"

const char *bf_hip_path_name(enum bf_hip_path p)
{
	static const char *const names[BF_HIP_PATHS] = {
		[BF_HIP_PATH_NONE] = "nothing to do", [BF_HIP_PATH_HOST] = "host copy", [BF_HIP_PATH_RECT] = "rect",
		[BF_HIP_PATH_ROWS] = "rows",          [BF_HIP_PATH_SHADER] = "shader",
	};

	return (uint32_t)p < BF_HIP_PATHS ? names[p] : "?";
}

/* ---- the descriptor ---- */

/* What the kind says of each side of a pointer copy. */
static enum bf_hip_memory src_of(enum bf_hip_kind kind)
{
	return kind == BF_HIP_DEFAULT                     ? BF_HIP_UNIFIED
	       : kind == BF_HIP_H2H || kind == BF_HIP_H2D ? BF_HIP_HOST
							  : BF_HIP_DEVICE;
}

static enum bf_hip_memory dst_of(enum bf_hip_kind kind)
{
	return kind == BF_HIP_DEFAULT                     ? BF_HIP_UNIFIED
	       : kind == BF_HIP_H2H || kind == BF_HIP_D2H ? BF_HIP_HOST
							  : BF_HIP_DEVICE;
}

static void swap(uint32_t *a, uint32_t *b)
{
	const uint32_t v = *a;

	*a = *b;
	*b = v;
}

/* Sizes above 32 bits are cut off, as they are on their way into HIP_MEMCPY3D. */
void bf_hip_describe(const struct bf_hip_parms *p, struct bf_hip_memcpy3d *out)
{
	const struct bf_hip_array *counts = p->src_array ? p->src_array : p->dst_array;

	*out = (struct bf_hip_memcpy3d){
		.src_x_in_bytes = (uint32_t)p->src_pos.x * (p->src_array ? p->src_array->element : 1),
		.src_y = (uint32_t)p->src_pos.y,
		.src_z = (uint32_t)p->src_pos.z,
		.dst_x_in_bytes = (uint32_t)p->dst_pos.x * (p->dst_array ? p->dst_array->element : 1),
		.dst_y = (uint32_t)p->dst_pos.y,
		.dst_z = (uint32_t)p->dst_pos.z,
		.width_in_bytes = (uint32_t)p->extent.width * (counts ? counts->element : 1),
		.height = (uint32_t)p->extent.height,
		.depth = (uint32_t)p->extent.depth,
		.src_array = p->src_array,
		.dst_array = p->dst_array,
		.src_type = BF_HIP_ARRAY,
		.dst_type = BF_HIP_ARRAY,
	};
	if (!p->src_array) {
		out->src_type = src_of(p->kind);
		out->src = p->src_ptr.ptr;
		out->src_pitch = (uint32_t)p->src_ptr.pitch;
		out->src_height = (uint32_t)p->src_ptr.ysize;
	} else if (p->src_array->layered_1d) {
		swap(&out->src_y, &out->src_z);
	}
	if (!p->dst_array) {
		out->dst_type = dst_of(p->kind);
		out->dst = p->dst_ptr.ptr;
		out->dst_pitch = (uint32_t)p->dst_ptr.pitch;
		out->dst_height = (uint32_t)p->dst_ptr.ysize;
	} else if (p->dst_array->layered_1d) {
		swap(&out->dst_y, &out->dst_z);
	}
	if (counts && counts->layered_1d)
		swap(&out->height, &out->depth);
}

void bf_hip_describe_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height,
			enum bf_hip_kind kind, struct bf_hip_memcpy3d *out)
{
	*out = (struct bf_hip_memcpy3d){
		.src = src,
		.dst = dst,
		.src_type = src_of(kind),
		.dst_type = dst_of(kind),
		.src_pitch = (uint32_t)src_pitch,
		.dst_pitch = (uint32_t)dst_pitch,
		.width_in_bytes = (uint32_t)width,
		.height = (uint32_t)height,
		.depth = 1,
	};
}

/* ---- deciding ---- */

/* BufferRect::create: a pitch or slice of 0 stands for the tightest. */
static int make_rect(const char *side, uint32_t x, uint32_t y, uint32_t z, uint32_t pitch, uint32_t height,
		     const struct bf_hip_memcpy3d *d, struct bf_hip_buffer_rect *out, struct bf_error *err)
{
	const uint32_t slice = pitch * height; /* wraps at 4 GiB before it is widened */

	out->row_pitch = pitch ? pitch : d->width_in_bytes;
	out->slice_pitch = slice ? slice : out->row_pitch * d->height;
	if (out->row_pitch < d->width_in_bytes)
		return bf_fail(err, -EINVAL, "%s: the pitch of %" PRIu64 " bytes is narrower than the width of %u",
			       side, out->row_pitch, d->width_in_bytes);
	if (out->slice_pitch < d->height * out->row_pitch)
		return bf_fail(err, -EINVAL, "%s: a slice of %" PRIu64 " bytes has no %u rows of %" PRIu64 " bytes",
			       side, out->slice_pitch, d->height, out->row_pitch);
	if (out->slice_pitch % out->row_pitch)
		return bf_fail(err, -EINVAL,
			       "%s: a slice of %" PRIu64 " bytes is not a multiple of the pitch of %" PRIu64, side,
			       out->slice_pitch, out->row_pitch);
	out->start = z * out->slice_pitch + y * out->row_pitch + x;
	return 0;
}

/* Where a side lies. The kind's word is taken; only the default asks the pointer. */
static int resolve(const char *side, enum bf_hip_memory type, const void *ptr, const struct bf_hip_plan_opts *opts,
		   enum bf_hip_memory *out, struct bf_hip_pointer *p, struct bf_error *err)
{
	*p = (struct bf_hip_pointer){ .direct = type == BF_HIP_HOST };
	*out = type;
	if (type == BF_HIP_ARRAY)
		return 0;
	if (!ptr)
		return bf_fail(err, -EINVAL, "%s: a null pointer", side);
	if (opts->resolve(opts->resolve_arg, ptr, p))
		return bf_fail(err, -EINVAL, "%s: a pointer that the runtime knows nothing of", side);
	if (type == BF_HIP_UNIFIED)
		*out = p->device ? BF_HIP_DEVICE : BF_HIP_HOST;
	return 0;
}

static void choose(struct bf_hip_plan *plan, enum bf_hip_path path, const char *why)
{
	plan->path = path;
	plan->why = why;
}

static uint32_t packets_of(const struct bf_hip_plan *plan, const struct bf_sdma_drv_caps *caps)
{
	struct bf_sdma_drv_body measure;

	bf_sdma_drv_body_begin(&measure, caps, 0, NULL, 0);
	bf_hip_packets(plan, &measure);
	return measure.n;
}

/* The rect as it is asked for: offsets are zero, and both starts are part of the bases. */
static void fold(const struct bf_hip_plan *plan, struct bf_sdma_drv_rect *r)
{
	*r = (struct bf_sdma_drv_rect){
		.src = { plan->src.va + plan->src.start, plan->src.row_pitch, plan->src.slice_pitch },
		.dst = { plan->dst.va + plan->dst.start, plan->dst.row_pitch, plan->dst.slice_pitch },
		.range = { plan->width, plan->height, plan->depth },
	};
}

/*
 * An engine's copy: one rect when all four pitches are multiples of 4, else a linear copy for each row. A start that is
 * no multiple of 4 gets as far as the engine's checks, which refuse it; then a shader does the copy.
 */
static void choose_engine(struct bf_hip_plan *plan, const struct bf_sdma_drv_caps *caps)
{
	struct bf_sdma_drv_body measure;
	struct bf_sdma_drv_rect r;

	if ((plan->src.row_pitch | plan->src.slice_pitch | plan->dst.row_pitch | plan->dst.slice_pitch) % 4) {
		choose(plan, BF_HIP_PATH_ROWS, "a pitch or slice is not a multiple of 4");
		plan->copies = (uint64_t)plan->height * plan->depth;
		return;
	}
	fold(plan, &r);
	bf_sdma_drv_body_begin(&measure, caps, 0, NULL, 0);
	plan->refused = bf_sdma_drv_rect_copy(&measure, &r);
	if (plan->refused != BF_SDMA_DRV_RECT_OK) {
		choose(plan, BF_HIP_PATH_SHADER, bf_sdma_drv_rect_error_name(plan->refused));
		return;
	}
	choose(plan, BF_HIP_PATH_RECT, NULL);
	plan->copies = packets_of(plan, caps) / BF_SDMA_RECT_DWORDS;
}

static void choose_path(struct bf_hip_plan *plan, bool direct, const struct bf_hip_plan_opts *opts)
{
	if (plan->src_type == BF_HIP_ARRAY || plan->dst_type == BF_HIP_ARRAY)
		choose(plan, BF_HIP_PATH_SHADER, "an array takes part: an image command");
	else if (plan->src_type == BF_HIP_HOST && plan->dst_type == BF_HIP_HOST)
		choose(plan, BF_HIP_PATH_HOST, "host to host");
	else if (direct)
		choose(plan, BF_HIP_PATH_HOST, "the host reaches both sides");
	else if (plan->src_type == BF_HIP_DEVICE && plan->dst_type == BF_HIP_DEVICE && !opts->d2d_by_engine)
		choose(plan, BF_HIP_PATH_SHADER, "device to device");
	else
		choose_engine(plan, opts->caps);
}

int bf_hip_plan(const struct bf_hip_memcpy3d *d, const struct bf_hip_plan_opts *opts, struct bf_hip_plan *out,
		struct bf_error *err)
{
	struct bf_hip_pointer src, dst;
	int rc;

	*out = (struct bf_hip_plan){ .width = d->width_in_bytes, .height = d->height, .depth = d->depth };
	if (!d->width_in_bytes || !d->height || !d->depth) {
		out->why = "a dimension is zero";
		return 0;
	}
	rc = resolve("source", d->src_type, d->src, opts, &out->src_type, &src, err);
	if (!rc)
		rc = resolve("destination", d->dst_type, d->dst, opts, &out->dst_type, &dst, err);
	if (!rc && out->src_type != BF_HIP_ARRAY)
		rc = make_rect("source", d->src_x_in_bytes, d->src_y, d->src_z, d->src_pitch, d->src_height, d,
			       &out->src, err);
	if (!rc && out->dst_type != BF_HIP_ARRAY)
		rc = make_rect("destination", d->dst_x_in_bytes, d->dst_y, d->dst_z, d->dst_pitch, d->dst_height, d,
			       &out->dst, err);
	if (rc)
		return rc;
	out->src.va = src.va;
	out->dst.va = dst.va;
	out->to_device_engine = out->src_type == BF_HIP_HOST && out->dst_type == BF_HIP_DEVICE;
	choose_path(out, src.direct && dst.direct, opts);
	out->waits = out->dst_type == BF_HIP_HOST || out->path == BF_HIP_PATH_HOST;
	return 0;
}

void bf_hip_packets(const struct bf_hip_plan *plan, struct bf_sdma_drv_body *body)
{
	struct bf_sdma_drv_rect r;

	if (plan->path == BF_HIP_PATH_RECT) {
		fold(plan, &r);
		bf_sdma_drv_rect_copy(body, &r);
	}
	if (plan->path != BF_HIP_PATH_ROWS)
		return;
	for (uint64_t z = 0; z < plan->depth; z++)
		for (uint64_t y = 0; y < plan->height; y++)
			bf_sdma_drv_copy(
			    body, plan->dst.va + plan->dst.start + z * plan->dst.slice_pitch + y * plan->dst.row_pitch,
			    plan->src.va + plan->src.start + z * plan->src.slice_pitch + y * plan->src.row_pitch,
			    plan->width);
}
