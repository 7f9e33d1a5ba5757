/*
 * Matchers of mlx5dv_create_flow_matcher(3), and flows by mlx5dv_create_flow(3): mask and value as the device has them
 * (Linux hw/mlx5/fs.c UVERBS_HANDLER(MLX5_IB_METHOD_CREATE_FLOW)). mlx5dv_dr makes table 0 of a domain of these.
 *
 * What the device's tables do not have is refused when the matcher is made, since programs try there what there is.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define EGRESS 2u /* enum ib_flow_flags */

/* Which way frames go: received ones alone. */
static int check_direction(struct bf_uv_call *c)
{
	uint64_t type = MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX, flags = 0;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_FLOW_MATCHER_FT_TYPE, &type, sizeof(type)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (flags & ~(uint64_t)EGRESS || type > MLX5_IB_UAPI_FLOW_TABLE_TYPE_RDMA_TX)
		return -EINVAL;
	return flags || type != MLX5_IB_UAPI_FLOW_TABLE_TYPE_NIC_RX ? -EOPNOTSUPP : 0;
}

int bf_mlx5_ib_create_matcher(struct bf_uv_call *c)
{
	const uint32_t len = bf_uv_attr(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK)->bytes.len;
	struct bf_mlx5_ib_matcher *m;
	uint16_t priority;
	uint8_t criteria;
	int err = check_direction(c);

	if (err)
		return err;
	if (bf_uv_attr_get(c, MLX5_IB_ATTR_FLOW_MATCHER_FLOW_TYPE, &priority, sizeof(priority)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_CRITERIA, &criteria, sizeof(criteria)))
		return -EFAULT;
	if (priority > BF_MLX5_IB_LAST_PRIORITY || len > BF_MATCH_PARAM_LEN)
		return -EINVAL;
	if (criteria & ~BF_FG_OUTER)
		return -EOPNOTSUPP;
	m = bf_uv_new(c, MLX5_IB_OBJECT_FLOW_MATCHER, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->priority = priority;
	m->criteria = criteria;
	err = bf_uv_attr_get(c, MLX5_IB_ATTR_FLOW_MATCHER_MATCH_MASK, m->mask, len);
	if (!err)
		err = bf_uv_attr_handle(c, MLX5_IB_ATTR_FLOW_MATCHER_CREATE_HANDLE, m->o.handle);
	if (err)
		bf_uv_free(&m->o);
	return err;
}

/* ---- flows ---- */

/* Where frames go: a queue pair's hash or queue, or a DEVX object that is one or a table. */
static int take_destination(struct bf_uv_call *c, struct bf_mlx5_ib_rule *r, struct bf_uv_object **used)
{
	const struct bf_uv_attr *to_qp = bf_uv_attr(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_QP),
				*to_devx = bf_uv_attr(c, MLX5_IB_ATTR_CREATE_FLOW_DEST_DEVX);
	const struct bf_mlx5_ib_devx *devx = (const struct bf_mlx5_ib_devx *)to_devx->object;
	const struct bf_uv_qp *qp = (const struct bf_uv_qp *)to_qp->object;
	uint32_t flags = 0;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_CREATE_FLOW_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (flags & ~(uint32_t)(MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS | MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP))
		return -EINVAL;
	if (to_qp->present + to_devx->present + !!(flags & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DEFAULT_MISS) +
		!!(flags & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP) !=
	    1)
		return -EINVAL;
	r->action = flags & MLX5_IB_ATTR_CREATE_FLOW_FLAGS_DROP ? BF_FTE_DROP : flags ? BF_FTE_ALLOW : BF_FTE_FORWARD;
	r->to_type = BF_FD_TIR;
	if (to_qp->present) {
		if (qp->type != IB_UVERBS_QPT_RAW_PACKET || !qp->raw.tirn)
			return -EINVAL;
		r->to = qp->raw.tirn;
		*used = to_qp->object;
	} else if (to_devx->present) {
		if (devx->opcode == BF_MLX5_CMD_CREATE_FLOW_TABLE)
			r->to_type = BF_FD_TABLE;
		else if (devx->opcode != BF_MLX5_CMD_CREATE_TIR)
			return -EINVAL;
		r->to = devx->number;
		*used = to_devx->object;
	}
	return 0;
}

/* A counter of DEVX, one at most: a handle, and which one of those that were made together. */
static int take_counter(struct bf_uv_call *c, struct bf_mlx5_ib_rule *r, struct bf_uv_object **used)
{
	const struct bf_uv_attr *handles = bf_uv_attr(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX);
	const struct bf_mlx5_ib_devx *devx;
	uint32_t handle = 0, offset = 0;
	int err;

	if (!handles->present)
		return 0;
	if (handles->bytes.len != sizeof(handle))
		return -EINVAL;
	if (bf_uv_attr_get(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX, &handle, sizeof(handle)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_COUNTERS_DEVX_OFFSET, &offset, sizeof(offset)))
		return -EFAULT;
	err = bf_uv_lookup(c->f, MLX5_IB_OBJECT_DEVX_OBJ, handle, used);
	if (err)
		return err;
	devx = (const struct bf_mlx5_ib_devx *)*used;
	if (devx->opcode != BF_MLX5_CMD_ALLOC_FLOW_COUNTER || offset)
		return -EINVAL;
	r->counter = devx->number;
	r->action |= BF_FTE_COUNT;
	return 0;
}

static int take_rule(struct bf_uv_call *c, const struct bf_mlx5_ib_matcher *m, struct bf_mlx5_ib_rule *r,
		     struct bf_uv_object *used[2])
{
	const uint32_t len = bf_uv_attr(c, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE)->bytes.len;
	int err;

	if (bf_uv_attr(c, MLX5_IB_ATTR_CREATE_FLOW_ARR_FLOW_ACTIONS)->present)
		return -EOPNOTSUPP; /* changes of the frame */
	if (len > sizeof(r->value))
		return -EINVAL;
	if (bf_uv_attr_get(c, MLX5_IB_ATTR_CREATE_FLOW_MATCH_VALUE, r->value, len) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_CREATE_FLOW_TAG, &r->tag, sizeof(r->tag)))
		return -EFAULT;
	if (r->tag >> 24)
		return -EINVAL;
	memcpy(r->mask, m->mask, sizeof(r->mask));
	r->criteria = m->criteria;
	err = take_destination(c, r, &used[0]);
	return err ? err : take_counter(c, r, &used[1]);
}

int bf_mlx5_ib_create_matcher_flow(struct bf_uv_call *c)
{
	struct bf_uv_object *m = bf_uv_attr_object(c, MLX5_IB_ATTR_CREATE_FLOW_MATCHER), *used[2] = { NULL };
	struct bf_mlx5_ib_rule r = { .tag = 0 };
	struct bf_mlx5_ib_flow *flow;
	int err = take_rule(c, (const struct bf_mlx5_ib_matcher *)m, &r, used);

	if (err)
		return err;
	flow = bf_uv_new(c, UVERBS_OBJECT_FLOW, sizeof(*flow));
	if (!flow)
		return -ENOMEM;
	flow->priority = ((const struct bf_mlx5_ib_matcher *)m)->priority;
	err = bf_mlx5_ib_flow_insert(c->u, flow, &r);
	if (err) {
		bf_uv_free(&flow->o);
		return err;
	}
	bf_mlx5_ib_flow_use(flow, m);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(used); i++)
		if (used[i])
			bf_mlx5_ib_flow_use(flow, used[i]);
	err = bf_uv_attr_handle(c, MLX5_IB_ATTR_CREATE_FLOW_HANDLE, flow->o.handle);
	if (err)
		bf_uv_destroy(&flow->o, true);
	return err;
}
