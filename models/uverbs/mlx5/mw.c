/* Memory windows: keys without memory, which work requests bind. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define TYPE_1 1u
#define TYPE_2 2u
#define ANY_QP 0xffffffu

/* A type 2 window begins free: only a work request makes it valid (hw/mlx5/mr.c mlx5_ib_alloc_mw()). */
static int make_key(struct bf_uverbs *u, const struct bf_uv_pd *pd, uint8_t type, uint32_t *key)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, out[16], *mkc = in + BF_CREATE_MKEY_MKC;
	int err;

	BF_MLX5_SET(mkc, BF_MKC_FREE, 1);
	BF_MLX5_SET(mkc, BF_MKC_UMR_EN, 1);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_KLM);
	BF_MLX5_SET(mkc, BF_MKC_EN_RINVAL, type == TYPE_2);
	BF_MLX5_SET(mkc, BF_MKC_QPN, ANY_QP);
	BF_MLX5_SET(mkc, BF_MKC_KEY, bf_mlx5_ib_of(u)->key_variant);
	BF_MLX5_SET(mkc, BF_MKC_PD, pd->pdn);
	BF_MLX5_SET(mkc, BF_MKC_XLT_OCTOWORDS, 1);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in), out, sizeof(out));
	if (!err)
		*key = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8 | bf_mlx5_ib_of(u)->key_variant++;
	return err;
}

int bf_mlx5_ib_alloc_mw(struct bf_uv_call *c)
{
	struct ib_uverbs_alloc_mw_resp resp = { 0 };
	struct ib_uverbs_alloc_mw cmd;
	struct bf_uv_pd *pd;
	struct bf_uv_mw *mw;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	if (!pd || (cmd.mw_type != TYPE_1 && cmd.mw_type != TYPE_2))
		return -EINVAL;
	mw = bf_uv_new(c, UVERBS_OBJECT_MW, sizeof(*mw));
	if (!mw)
		return -ENOMEM;
	err = make_key(c->u, pd, cmd.mw_type, &mw->key);
	if (err) {
		bf_uv_free(&mw->o);
		return err;
	}
	mw->pd = pd;
	mw->type = cmd.mw_type;
	pd->o.users++;
	c->number = resp.rkey = mw->key;
	resp.mw_handle = mw->o.handle;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&mw->o, true);
	return err;
}

int bf_mlx5_ib_mw_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_uv_mw *mw = (struct bf_uv_mw *)o;
	int err = bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DESTROY_MKEY, mw->key >> 8, NULL);

	if (!err || forced)
		mw->pd->o.users--;
	return err;
}
