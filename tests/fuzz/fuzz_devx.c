/*
 * DEVX command blocks, as bytes. Each step: one byte kind, one byte handle, two bytes length L (little-endian), L bytes
 * of a block. Kinds modulo 8: 0 create, 1 general, 2 modify, 3 query, 4 destroy, 5 registers memory, 6 subscribes, 7
 * time passes.
 */
#include "tests/models/uverbs_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 2048u

static void command(struct uv_rig *r, uint16_t object, uint16_t method, uint8_t handle, const uint8_t *bytes,
		    uint16_t len)
{
	bool named = object != MLX5_IB_OBJECT_DEVX;

	uv_begin(r, object, method);
	if (named)
		uv_handle(r, 0x1000, handle);
	uv_in(r, named ? 0x1001 : 0x1000, bytes, len);
	uv_out(r, named ? 0x1002 : 0x1001, 512);
	uv_call(r);
}

static void umem(struct uv_rig *r, const uint8_t *bytes)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	uv_handle(r, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	uv_in64(r, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, r->mem->va + bf_get_le16(bytes));
	uv_in64(r, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, bf_get_le32(bytes + 2));
	uv_in32(r, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, bytes[6]);
	uv_out(r, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4);
	uv_call(r);
}

static void subscribe(struct uv_rig *r, int fd, uint8_t handle, const uint8_t *bytes, uint16_t len)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
	uv_handle(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, fd);
	if (handle < 128)
		uv_handle(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, handle);
	uv_in(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, bytes, len < 512 ? len : 512);
	uv_call(r);
}

static void step(struct uv_rig *r, int fd, uint8_t kind, uint8_t handle, const uint8_t *bytes, uint16_t len)
{
	static const uint16_t methods[] = { MLX5_IB_METHOD_DEVX_OBJ_CREATE, MLX5_IB_METHOD_DEVX_OTHER,
					    MLX5_IB_METHOD_DEVX_OBJ_MODIFY, MLX5_IB_METHOD_DEVX_OBJ_QUERY };
	uint8_t block[BLOCK] = { 0 };

	if (len > BLOCK)
		len = BLOCK;
	memcpy(block, bytes, len);
	switch (kind & 7) {
	case 0:
	case 1:
	case 2:
	case 3:
		command(r, (kind & 7) == 1 ? MLX5_IB_OBJECT_DEVX : MLX5_IB_OBJECT_DEVX_OBJ, methods[kind & 3], handle,
			block, len);
		break;
	case 4:
		uv_destroy(r, kind & 8 ? MLX5_IB_OBJECT_DEVX_OBJ : MLX5_IB_OBJECT_DEVX_UMEM, 0x1001, handle, 0, NULL);
		break;
	case 5:
		umem(r, block);
		break;
	case 6:
		subscribe(r, fd, handle, block, len);
		break;
	default:
		uv_run(r);
		break;
	}
}

static int event_fd(struct uv_rig *r)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
	uv_handle(r, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, 0);
	UV_MUST(!uv_call(r));
	return (int)uv_find(r, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)->data_s64;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_uverbs_counts n;
	struct uv_world w;
	struct uv_rig r;
	size_t at = 0;
	int fd;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	fd = event_fd(&r);
	while (at + 4 <= size) {
		uint16_t len = bf_get_le16(data + at + 2);

		if (len > size - at - 4)
			len = (uint16_t)(size - at - 4);
		step(&r, fd, data[at], data[at + 1], data + at + 4, len);
		at += 4u + len;
	}
	uv_run(&r);
	bf_uverbs_close(r.f);
	bf_uverbs_counts(r.u, &n);
	UV_MUST(!(n.pds | n.cqs | n.qps | n.channels | n.uars | n.umems | n.devx_objects));
	uv_rig_close(&r);
	return 0;
}
