/* Memory that DEVX objects have their rings in: a list of pages, here those of the program's own addresses. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#define SMALL_SHIFT 12u
#define LARGE_SHIFT 21u
#define MANY_PAGES 65536u
#define KNOWN_ACCESS 0x1fu /* local write to window binding */

static int command(struct bf_uv_call *c, uint64_t address, uint64_t len, uint32_t *id)
{
	uint32_t shift = len >> SMALL_SHIFT < MANY_PAGES ? SMALL_SHIFT : LARGE_SHIFT;
	uint64_t first = address >> shift, n = ((address + len - 1) >> shift) - first + 1;
	uint8_t out[16], *in;
	int err;

	in = n > UINT32_MAX / 8 ? NULL : calloc(1, BF_CREATE_UMEM_MTT + 8 * n);
	if (!in)
		return -ENOMEM;
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_LOG_PAGE_SIZE, shift - SMALL_SHIFT);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_PAGE_OFFSET, (uint32_t)(address & ((1u << shift) - 1)));
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, (uint32_t)n);
	for (uint64_t i = 0; i < n; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + 8 * i, (first + i) << shift);
	err = bf_mlx5_ib_cmd(c->u, BF_MLX5_CMD_CREATE_UMEM, in, BF_CREATE_UMEM_MTT + 8 * n, out, sizeof(out));
	free(in);
	if (!err)
		*id = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

int bf_mlx5_ib_umem_reg(struct bf_uv_call *c)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	uint64_t address, len, sizes;
	struct bf_mlx5_ib_umem *umem;
	uint32_t access, id;
	int err;

	if (!bf_mlx5_ib_file_of(c->f)->devx)
		return -EINVAL;
	if (bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &address, sizeof(address)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &len, sizeof(len)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &access, sizeof(access)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, &sizes, sizeof(sizes)))
		return -EFAULT;
	if (access & ~KNOWN_ACCESS || !len || address + len < address)
		return -EINVAL;
	if (bf_uv_attr(c, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP)->present && !(sizes & ~(uint64_t)(BF_UV_PAGE - 1)))
		return -EINVAL; /* no page is as small as that */
	if (bf_uv_attr(c, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD)->present)
		err = bf_uv_dmabuf(c, (int)bf_uv_attr(c, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD)->data, &address, len);
	else
		err = 0;
	if (!err)
		err = h->pin(h->arg, address, len, access != 0);
	if (!err)
		err = command(c, address, len, &id);
	if (err)
		return err;
	umem = bf_uv_new(c, MLX5_IB_OBJECT_DEVX_UMEM, sizeof(*umem));
	if (!umem) {
		bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_DESTROY_UMEM, id, NULL);
		return -ENOMEM;
	}
	c->number = umem->id = id;
	if (bf_uv_attr_put(c, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &id, sizeof(id)) ||
	    bf_uv_attr_handle(c, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, umem->o.handle)) {
		bf_uv_destroy(&umem->o, true);
		return -EFAULT;
	}
	return 0;
}

int bf_mlx5_ib_umem_destroy(struct bf_uv_object *o, bool forced)
{
	(void)forced;
	return bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_UMEM, ((struct bf_mlx5_ib_umem *)o)->id, NULL);
}
