/*
 * Requests of a program, as bytes. Each step: one byte kind, two bytes length L (little-endian), L bytes. Kinds modulo
 * 4: 0 an ioctl whose block begins with the L bytes, 1 the same with its own lengths and driver put right, so that the
 * attributes count, 2 a write, 3 time passes and the file is closed and opened again when L is 0. The data of
 * attributes with flag 0x8000 are offsets in the program's memory, which begins with the block: what libFuzzer cannot
 * guess.
 */
#include "tests/models/uverbs_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BLOCK 4096u
#define PLACE 0x8000u

static void put_places(struct uv_rig *r, uint8_t *block, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *at = block + 24 + 16u * i;
		uint16_t flags = bf_get_le16(at + 4);

		if (flags & PLACE) {
			bf_put_le16(at + 4, (uint16_t)(flags & ~PLACE));
			bf_put_le64(at + 8, r->request + (bf_get_le64(at + 8) & (UV_MEM - 1)));
		}
	}
}

static void ioctl_step(struct uv_rig *r, uint32_t len, bool right)
{
	uint8_t *block = uv_host(r, r->request);
	uint32_t most = len > 24 ? (len - 24) / 16 : 0, count = bf_get_le16(block + 6) & 31;

	if (count > most)
		count = most;
	if (right) {
		bf_put_le16(block, (uint16_t)(24 + 16 * count));
		bf_put_le16(block + 6, (uint16_t)count);
		memset(block + 8, 0, 16);
		block[16] = RDMA_DRIVER_MLX5;
		put_places(r, block, count);
	}
	bf_uverbs_ioctl(r->f, RDMA_VERBS_IOCTL, r->request);
}

static void step(struct uv_rig *r, uint8_t kind, const uint8_t *bytes, uint32_t len)
{
	struct bf_uverbs_mapping map;

	if (len > BLOCK)
		len = BLOCK;
	memset(uv_host(r, r->request), 0, BLOCK);
	memcpy(uv_host(r, r->request), bytes, len);
	switch (kind & 3) {
	case 0:
	case 1:
		ioctl_step(r, len, kind & 1);
		break;
	case 2:
		bf_uverbs_write(r->f, r->request, len);
		break;
	default:
		uv_run(r);
		if (len >= 8)
			bf_uverbs_mmap(r->f, bf_get_le64(bytes), 4096, &map);
		if (len)
			break;
		bf_uverbs_close(r->f);
		UV_MUST(!bf_uverbs_open(r->u, &r->f));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_uverbs_counts n;
	struct uv_world w;
	struct uv_rig r;
	size_t at = 0;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	while (at + 3 <= size && r.fds < UV_FDS) {
		uint32_t len = bf_get_le16(data + at + 1);

		if (len > size - at - 3)
			len = (uint32_t)(size - at - 3);
		step(&r, data[at], data + at + 3, len);
		at += 3 + len;
	}
	bf_uverbs_close(r.f);
	bf_uverbs_counts(r.u, &n);
	UV_MUST(!(n.pds | n.mrs | n.dms | n.xrcds | n.mws | n.cqs | n.qps | n.srqs | n.ahs | n.channels | n.uars |
		  n.umems | n.devx_objects | n.flows | n.matchers));
	uv_rig_close(&r);
	return 0;
}
