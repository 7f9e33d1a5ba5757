/* Protection domains. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

int bf_mlx5_ib_alloc_pd(struct bf_uv_call *c)
{
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct mlx5_ib_alloc_pd_resp uhw = { 0 };
	struct ib_uverbs_alloc_pd cmd;
	struct bf_uv_pd *pd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	pd = bf_uv_new(c, UVERBS_OBJECT_PD, sizeof(*pd));
	if (!pd)
		return -ENOMEM;
	err = bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_ALLOC_PD, 0, &pd->pdn);
	if (err) {
		bf_uv_free(&pd->o);
		return err;
	}
	c->number = uhw.pdn = pd->pdn;
	resp.pd_handle = pd->o.handle;
	err = bf_uv_put(c, &c->uhw_out, &uhw, sizeof(uhw));
	if (!err)
		err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&pd->o, true);
	return err;
}

int bf_mlx5_ib_pd_destroy(struct bf_uv_object *o, bool forced)
{
	(void)forced;
	return bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DEALLOC_PD, ((struct bf_uv_pd *)o)->pdn, NULL);
}

int bf_mlx5_ib_query_pd(struct bf_uv_call *c)
{
	const struct bf_uv_pd *pd = (struct bf_uv_pd *)bf_uv_attr_object(c, MLX5_IB_ATTR_QUERY_PD_HANDLE);

	return bf_uv_attr_put(c, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->pdn, sizeof(pd->pdn));
}
