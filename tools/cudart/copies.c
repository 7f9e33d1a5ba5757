/* Copies and fills of areas and volumes, of several pieces, between devices; and all of them in the thread's own
 * stream. */
#include <string.h>

#include "tools/cudart/runtime.h"

static CUdeviceptr va(const void *p)
{
	return (uintptr_t)p;
}

/* A call that has been put into the calling thread's stream is waited for there. */
static int waited(int rc)
{
	return rc ? rc : bf_rt_done(cuStreamSynchronize(BF_CU_STREAM_THREAD));
}

static CUstream own(CUstream s)
{
	return s ? s : BF_CU_STREAM_THREAD;
}

/* ---- areas and volumes ---- */

BF_CU_API int cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
				     size_t height, int kind, CUstream s)
{
	return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, own(s));
}

BF_CU_API int cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
				size_t height, int kind)
{
	return waited(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, BF_CU_STREAM_THREAD));
}

BF_CU_API int cudaMemcpy3DAsync_ptsz(const struct bf_rt_volume *v, CUstream s)
{
	return cudaMemcpy3DAsync(v, own(s));
}

BF_CU_API int cudaMemcpy3D_ptds(const struct bf_rt_volume *v)
{
	return waited(cudaMemcpy3DAsync(v, BF_CU_STREAM_THREAD));
}

/* cudaMemcpy3DPeerParms: where a copy between devices has each device's number beside its memory. */
struct peer_volume {
	void *src_array;
	size_t src_pos[3];
	struct bf_rt_pitched src;
	int src_device;
	void *dst_array;
	size_t dst_pos[3];
	struct bf_rt_pitched dst;
	int dst_device;
	struct bf_rt_extent extent;
};

BF_CU_API int cudaMemcpy3DPeerAsync(const struct peer_volume *p, CUstream s)
{
	struct bf_rt_volume v;

	if (!p)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	v = (struct bf_rt_volume){
		.src_array = p->src_array, .src = p->src, .dst_array = p->dst_array, .dst = p->dst, .extent = p->extent
	};
	memcpy(v.src_pos, p->src_pos, sizeof(v.src_pos));
	memcpy(v.dst_pos, p->dst_pos, sizeof(v.dst_pos));
	return cudaMemcpy3DAsync(&v, s);
}

BF_CU_API int cudaMemcpy3DPeerAsync_ptsz(const struct peer_volume *p, CUstream s)
{
	return cudaMemcpy3DPeerAsync(p, own(s));
}

BF_CU_API int cudaMemcpy3DPeer(const struct peer_volume *p)
{
	const int rc = cudaMemcpy3DPeerAsync(p, NULL);

	return rc ? rc : bf_rt_done(cuStreamSynchronize(NULL));
}

BF_CU_API int cudaMemcpy3DPeer_ptds(const struct peer_volume *p)
{
	return waited(cudaMemcpy3DPeerAsync(p, BF_CU_STREAM_THREAD));
}

/* ---- fills ---- */

BF_CU_API int cudaMemset2DAsync_ptsz(void *at, size_t pitch, int value, size_t width, size_t height, CUstream s)
{
	return cudaMemset2DAsync(at, pitch, value, width, height, own(s));
}

BF_CU_API int cudaMemset2D_ptds(void *at, size_t pitch, int value, size_t width, size_t height)
{
	return cudaMemset2DAsync(at, pitch, value, width, height, BF_CU_STREAM_THREAD);
}

/* Planes that follow one another are one area, unless lines lie between them. */
BF_CU_API int cudaMemset3DAsync(struct bf_rt_pitched at, int value, struct bf_rt_extent e, CUstream s)
{
	int rc = bf_rt_enter();

	for (size_t z = 0; !rc && z < e.depth; z++)
		rc = cuMemsetD2D8Async(va(at.at) + z * at.pitch * at.y, at.pitch, (unsigned char)value, e.width,
				       e.height, s);
	return bf_rt_done(rc);
}

BF_CU_API int cudaMemset3DAsync_ptsz(struct bf_rt_pitched at, int value, struct bf_rt_extent e, CUstream s)
{
	return cudaMemset3DAsync(at, value, e, own(s));
}

BF_CU_API int cudaMemset3D(struct bf_rt_pitched at, int value, struct bf_rt_extent e)
{
	return cudaMemset3DAsync(at, value, e, NULL);
}

BF_CU_API int cudaMemset3D_ptds(struct bf_rt_pitched at, int value, struct bf_rt_extent e)
{
	return cudaMemset3DAsync(at, value, e, BF_CU_STREAM_THREAD);
}

/* ---- symbols ---- */

BF_CU_API int cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *from, size_t size, size_t offset, int kind,
					   CUstream s)
{
	return cudaMemcpyToSymbolAsync(symbol, from, size, offset, kind, own(s));
}

BF_CU_API int cudaMemcpyFromSymbolAsync_ptsz(void *to, const void *symbol, size_t size, size_t offset, int kind,
					     CUstream s)
{
	return cudaMemcpyFromSymbolAsync(to, symbol, size, offset, kind, own(s));
}

/* ---- managed memory ---- */

BF_RT_BOTH(cudaStreamAttachMemAsync, (CUstream s, void *p, size_t size, unsigned flags),
	   cuStreamAttachMemAsync(s, va(p), size, flags))

/* ---- arrays: there are none, but what one would be made of can be said ---- */

/* cudaChannelFormatDesc */
struct channel {
	int bits[4], kind;
};

BF_CU_API struct channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct channel){ .bits = { x, y, z, w }, .kind = kind };
}
