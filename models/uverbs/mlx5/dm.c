/*
 * Device memory: pages of the NIC's own that a program maps, and regions of them (Linux hw/mlx5/dm.c). Of the kinds
 * that libmlx5 knows there is MEMIC; those for steering need steering.
 */
#include "models/mlx5/prm_hca.h"
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define ACCESS                                                                                                         \
	(uint32_t)(IB_UVERBS_ACCESS_LOCAL_WRITE | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_READ |       \
		   IB_UVERBS_ACCESS_REMOTE_ATOMIC | IB_UVERBS_ACCESS_ZERO_BASED)

static int alloc_command(struct bf_uverbs *u, struct bf_uv_dm *dm, uint32_t alignment)
{
	uint8_t in[BF_ALLOC_MEMIC_LEN] = { 0 }, out[16], cap[BF_HCA_CAP_LEN];
	int err;

	bf_mlx5_ib_caps(u, BF_HCA_CAP_MEMIC, cap);
	if (!BF_MLX5_GET(cap, BF_MEMIC_CAP_MEMIC))
		return -EOPNOTSUPP;
	if (!dm->length || dm->length > BF_MLX5_GET(cap, BF_MEMIC_CAP_MAX))
		return -EINVAL;
	BF_MLX5_SET(in, BF_ALLOC_MEMIC_LOG_ALIGNMENT, alignment);
	memcpy(in + BF_ALLOC_MEMIC_RANGE, cap + BF_MEMIC_CAP_START, 8);
	BF_MLX5_SET(in, BF_ALLOC_MEMIC_RANGE_BYTES, BF_MLX5_GET(cap, BF_MEMIC_CAP_BYTES));
	BF_MLX5_SET(in, BF_ALLOC_MEMIC_BYTES, (uint32_t)dm->length);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_ALLOC_MEMIC, in, sizeof(in), out, sizeof(out));
	dm->address = bf_get_be64(out + BF_ALLOC_MEMIC_OUT_START);
	return err == -EAGAIN ? -ENOMEM : err;
}

static uint16_t first_page(const struct bf_uverbs *u, const struct bf_uv_dm *dm)
{
	return (uint16_t)((dm->address - bf_mlx5_memic(u->opts.device)->va) / BF_UV_PAGE);
}

int bf_mlx5_ib_alloc_dm(struct bf_uv_call *c)
{
	uint64_t length, type, offset;
	uint32_t alignment;
	uint16_t page;
	struct bf_uv_dm *dm;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment, sizeof(alignment)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, &type, sizeof(type)))
		return -EFAULT;
	if (type != MLX5_IB_UAPI_DM_TYPE_MEMIC)
		return -EOPNOTSUPP;
	dm = bf_uv_new(c, UVERBS_OBJECT_DM, sizeof(*dm));
	if (!dm)
		return -ENOMEM;
	dm->length = length;
	err = alloc_command(c->u, dm, alignment);
	if (err) {
		bf_uv_free(&dm->o);
		return err;
	}
	offset = dm->address % BF_UV_PAGE;
	page = first_page(c->u, dm);
	if (!bf_uv_attr_put(c, MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &offset, sizeof(offset)) &&
	    !bf_uv_attr_put(c, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX, &page, sizeof(page)) &&
	    !bf_uv_attr_handle(c, UVERBS_ATTR_ALLOC_DM_HANDLE, dm->o.handle))
		return 0;
	bf_uv_destroy(&dm->o, true);
	return -EFAULT;
}

int bf_mlx5_ib_dm_destroy(struct bf_uv_object *o, bool forced)
{
	const struct bf_uv_dm *dm = (struct bf_uv_dm *)o;
	uint8_t in[BF_DEALLOC_MEMIC_LEN] = { 0 }, out[16];

	(void)forced;
	bf_put_be64(in + BF_DEALLOC_MEMIC_START, dm->address);
	BF_MLX5_SET(in, BF_DEALLOC_MEMIC_BYTES, (uint32_t)dm->length);
	return bf_mlx5_ib_cmd(o->file->u, BF_MLX5_CMD_DEALLOC_MEMIC, in, sizeof(in), out, sizeof(out));
}

static int make_key(struct bf_uverbs *u, struct bf_uv_mr *mr, const struct bf_uv_pd *pd)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, out[16], *mkc = in + BF_CREATE_MKEY_MKC;
	int err;

	bf_mlx5_ib_fill_key(u, mr, pd, mkc);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MEMIC & 3);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE_HIGH, BF_MKC_ACCESS_MEMIC >> 2);
	bf_put_be64(mkc + BF_MKC_START, mr->address);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in), out, sizeof(out));
	if (!err)
		mr->key = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8 | bf_mlx5_ib_of(u)->key_variant++;
	return err;
}

/* Such a region counts from its own first byte, and says so. */
int bf_mlx5_ib_reg_dm_mr(struct bf_uv_call *c)
{
	struct bf_uv_pd *pd = (struct bf_uv_pd *)bf_uv_attr_object(c, UVERBS_ATTR_REG_DM_MR_PD_HANDLE);
	struct bf_uv_dm *dm = (struct bf_uv_dm *)bf_uv_attr_object(c, UVERBS_ATTR_REG_DM_MR_DM_HANDLE);
	uint64_t offset, length;
	uint32_t access;
	struct bf_uv_mr *mr;
	int err;

	if (bf_uv_attr_get(c, UVERBS_ATTR_REG_DM_MR_OFFSET, &offset, sizeof(offset)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DM_MR_LENGTH, &length, sizeof(length)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, &access, sizeof(access)))
		return -EFAULT;
	if (!(access & IB_UVERBS_ACCESS_ZERO_BASED) || access & ~ACCESS || offset > dm->length ||
	    length > dm->length - offset)
		return -EINVAL;
	mr = bf_uv_new(c, UVERBS_OBJECT_MR, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->address = dm->address + offset;
	mr->length = length;
	mr->access = access;
	err = make_key(c->u, mr, pd);
	if (err) {
		bf_uv_free(&mr->o);
		return err;
	}
	mr->pd = pd;
	mr->dm = dm;
	pd->o.users++;
	dm->o.users++;
	c->number = mr->key;
	bf_mlx5_ib_record_mr(c->u, mr);
	if (!bf_uv_attr_put(c, UVERBS_ATTR_REG_DM_MR_RESP_LKEY, &mr->key, sizeof(mr->key)) &&
	    !bf_uv_attr_put(c, UVERBS_ATTR_REG_DM_MR_RESP_RKEY, &mr->key, sizeof(mr->key)) &&
	    !bf_uv_attr_handle(c, UVERBS_ATTR_REG_DM_MR_HANDLE, mr->o.handle))
		return 0;
	bf_uv_destroy(&mr->o, true);
	return -EFAULT;
}

int bf_mlx5_ib_dm_mmap(struct bf_uverbs_file *f, uint64_t index, uint64_t len, struct bf_uverbs_mapping *out)
{
	for (const struct bf_uv_object *o = f->oldest; o; o = o->next) {
		const struct bf_uv_dm *dm = (const struct bf_uv_dm *)o;

		if (o->type != UVERBS_OBJECT_DM || first_page(f->u, dm) != index)
			continue;
		if (!len || len > ((dm->length + BF_UV_PAGE - 1) & ~(uint64_t)(BF_UV_PAGE - 1)))
			return -EINVAL;
		out->region = bf_mlx5_memic(f->u->opts.device);
		out->memory = true;
		out->offset = index * BF_UV_PAGE;
		return 0;
	}
	return -EINVAL;
}
