/* Address handles: libmlx5 builds address vectors itself; the kernel checks them and tells the peer's MAC address. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

/* RoCE has no other address than a GID. */
bool bf_mlx5_ib_route_ok(const struct bf_uverbs *u, bool global, uint32_t sgid_index)
{
	return global ? sgid_index < bf_uv_gids(&u->opts) : u->opts.infiniband;
}

int bf_mlx5_ib_create_ah(struct bf_uv_call *c)
{
	struct ib_uverbs_create_ah_resp resp = { 0 };
	struct mlx5_ib_create_ah_resp uhw = { 0 };
	struct ib_uverbs_create_ah cmd;
	uint8_t mapped[16];
	struct bf_uv_pd *pd;
	struct bf_uv_ah *ah;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	pd = bf_uv_get_object(c, UVERBS_OBJECT_PD, cmd.pd_handle);
	if (!pd || cmd.attr.port_num != 1 || !bf_mlx5_ib_route_ok(c->u, cmd.attr.is_global, cmd.attr.grh.sgid_index))
		return -EINVAL;
	err = c->u->opts.infiniband ? 0 : bf_uv_gid_resolve(cmd.attr.grh.dgid, mapped, uhw.dmac);
	if (err)
		return err;
	ah = bf_uv_new(c, UVERBS_OBJECT_AH, sizeof(*ah));
	if (!ah)
		return -ENOMEM;
	ah->pd = pd;
	pd->o.users++;
	uhw.response_length = c->uhw_out.len < sizeof(uhw) ? c->uhw_out.len : sizeof(uhw);
	resp.ah_handle = ah->o.handle;
	err = bf_uv_put(c, &c->uhw_out, &uhw, sizeof(uhw));
	if (!err)
		err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&ah->o, true);
	return err;
}

int bf_mlx5_ib_ah_destroy(struct bf_uv_object *o, bool forced)
{
	(void)forced;
	((struct bf_uv_ah *)o)->pd->o.users--;
	return 0;
}
