/*
 * DEVX: command blocks that programs write themselves. The kernel looks at the opcode, puts its mark on the block, and
 * keeps what undoes it (Linux drivers/infiniband/hw/mlx5/devx.c).
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

/* Commands that make an object, and those that take it away. */
static const struct {
	uint16_t create, destroy;
	uint16_t min; /* bytes that are looked at here */
} kinds[] = {
	{ BF_MLX5_CMD_CREATE_MKEY, BF_MLX5_CMD_DESTROY_MKEY, BF_CREATE_MKEY_MKC + 64 },
	{ BF_MLX5_CMD_CREATE_CQ, BF_MLX5_CMD_DESTROY_CQ, BF_CREATE_CQ_UMEM_OFFSET + 16 },
	{ BF_MLX5_CMD_CREATE_QP, BF_MLX5_CMD_DESTROY_QP, BF_CREATE_QP_LEN },
	{ BF_MLX5_CMD_ALLOC_PD, BF_MLX5_CMD_DEALLOC_PD, 0 },
	{ BF_MLX5_CMD_CREATE_RMP, BF_MLX5_CMD_DESTROY_RMP, BF_CREATE_RMP_LEN },
	{ BF_MLX5_CMD_CREATE_SRQ, BF_MLX5_CMD_DESTROY_SRQ, 0 },
	{ BF_MLX5_CMD_CREATE_DCT, BF_MLX5_CMD_DESTROY_DCT, 0 },
	{ BF_MLX5_CMD_ATTACH_TO_MCG, BF_MLX5_CMD_DETACH_FROM_MCG, BF_MCG_LEN },
	{ BF_MLX5_CMD_CREATE_GENERAL_OBJECT, BF_MLX5_CMD_DESTROY_GENERAL_OBJECT, 0 },
	{ BF_MLX5_CMD_ALLOC_XRCD, BF_MLX5_CMD_DEALLOC_XRCD, 0 },
	{ BF_MLX5_CMD_CREATE_XRC_SRQ, BF_MLX5_CMD_DESTROY_XRC_SRQ, 0 },
	{ BF_MLX5_CMD_ALLOC_TRANSPORT_DOMAIN, BF_MLX5_CMD_DEALLOC_TRANSPORT_DOMAIN, 0 },
	{ BF_MLX5_CMD_CREATE_TIS, BF_MLX5_CMD_DESTROY_TIS, 0 },
	{ BF_MLX5_CMD_CREATE_SQ, BF_MLX5_CMD_DESTROY_SQ, BF_ETH_LEN },
	{ BF_MLX5_CMD_CREATE_RQ, BF_MLX5_CMD_DESTROY_RQ, BF_ETH_LEN },
	{ BF_MLX5_CMD_CREATE_RQT, BF_MLX5_CMD_DESTROY_RQT, 0 },
	{ BF_MLX5_CMD_CREATE_TIR, BF_MLX5_CMD_DESTROY_TIR, BF_ETH_LEN },
	{ BF_MLX5_CMD_CREATE_FLOW_TABLE, BF_MLX5_CMD_DESTROY_FLOW_TABLE, BF_FT_CREATE_LEN },
	{ BF_MLX5_CMD_CREATE_FLOW_GROUP, BF_MLX5_CMD_DESTROY_FLOW_GROUP, BF_FG_LEN },
	{ BF_MLX5_CMD_SET_FLOW_TABLE_ENTRY, BF_MLX5_CMD_DELETE_FLOW_TABLE_ENTRY, BF_FTE_LEN },
	{ BF_MLX5_CMD_ALLOC_FLOW_COUNTER, BF_MLX5_CMD_DEALLOC_FLOW_COUNTER, 0 },
};

/* Others that Linux lets through to make objects; this device has none of them and says so. */
static const uint16_t absent[] = {
	0x205, /* CREATE_PSV */
	0x717, /* CREATE_XRQ */
	0x771, /* ALLOC_Q_COUNTER */
};

static const uint16_t modify_commands[] = {
	BF_MLX5_CMD_MODIFY_CQ,    BF_MLX5_CMD_MODIFY_RMP, BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_INIT2RTR_QP,
	BF_MLX5_CMD_INIT2INIT_QP, BF_MLX5_CMD_RTR2RTS_QP, BF_MLX5_CMD_RTS2RTS_QP,  BF_MLX5_CMD_SQERR2RTS_QP,
	BF_MLX5_CMD_2ERR_QP,      BF_MLX5_CMD_2RST_QP,    BF_MLX5_CMD_RTS2SQD_QP,  BF_MLX5_CMD_SQD_RTS_QP,
	BF_MLX5_CMD_ARM_RQ,       BF_MLX5_CMD_MODIFY_SQ,  BF_MLX5_CMD_MODIFY_RQ,   BF_MLX5_CMD_ARM_XRC_SRQ,
};

static const uint16_t query_commands[] = {
	BF_MLX5_CMD_QUERY_MKEY,    BF_MLX5_CMD_QUERY_CQ,           BF_MLX5_CMD_QUERY_RMP, BF_MLX5_CMD_QUERY_QP,
	BF_MLX5_CMD_QUERY_SRQ,     BF_MLX5_CMD_QUERY_DCT,          BF_MLX5_CMD_QUERY_SQ,  BF_MLX5_CMD_QUERY_RQ,
	BF_MLX5_CMD_QUERY_XRC_SRQ, BF_MLX5_CMD_QUERY_FLOW_COUNTER, BF_MLX5_CMD_QUERY_TIS,
};

/* Commands without an object; what the device lacks of them it refuses by itself. */
static const uint16_t general_commands[] = {
	BF_MLX5_CMD_QUERY_HCA_CAP,
	BF_MLX5_CMD_QUERY_ADAPTER,
	BF_MLX5_CMD_QUERY_ISSI,
	BF_MLX5_CMD_QUERY_VPORT_STATE,
	BF_MLX5_CMD_QUERY_NIC_VPORT_CONTEXT,
	0x752, /* QUERY_ESW_VPORT_CONTEXT */
	0x760, /* QUERY_ROCE_ADDRESS */
	0x762, /* QUERY_HCA_VPORT_CONTEXT */
	0x76f, /* QUERY_VNIC_ENV */
	0x770, /* QUERY_VPORT_COUNTER */
	0x80d, /* NOP */
	0x822, /* QUERY_CONG_STATUS */
	0x824, /* QUERY_CONG_PARAMS */
	0x826, /* QUERY_CONG_STATISTICS */
	0x842, /* QUERY_LAG */
};
#define GENERAL_FIRST 0xb00u /* commands that are open to all, with and without an object (mlx5_ifc.h) */
#define GENERAL_END 0xd00u

static bool listed(const uint16_t *list, size_t n, uint32_t opcode)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == opcode)
			return true;
	return false;
}
#define LISTED(list, opcode) listed(list, BF_ARRAY_LEN(list), opcode)

/* A command block on its way, and the room for its answer. */
struct block {
	uint8_t *in, *out;
	uint32_t in_len, out_len;
	uint32_t opcode;
};

static int take_block(struct bf_uv_call *c, uint16_t in_id, uint32_t out_len, struct block *b)
{
	uint32_t in_len = bf_uv_attr(c, in_id)->bytes.len;

	if (!bf_mlx5_ib_file_of(c->f)->devx)
		return -EINVAL;
	*b = (struct block){ .in_len = in_len, .out_len = out_len };
	b->in = malloc((size_t)in_len + out_len);
	if (!b->in)
		return -ENOMEM;
	b->out = b->in + in_len;
	memset(b->out, 0, out_len);
	if (bf_uv_attr_get(c, in_id, b->in, in_len)) {
		free(b->in);
		return -EFAULT;
	}
	b->opcode = BF_MLX5_GET(b->in, BF_CMD_OPCODE);
	BF_MLX5_SET(b->in, BF_CMD_UID, c->f->number);
	return 0;
}

/* A device that refuses says why in the answer, and Linux (from 5.18 on) EREMOTEIO. */
static int execute(struct bf_uv_call *c, const struct block *b, uint16_t out_id)
{
	int err = bf_mlx5_cmd(c->u->opts.device, b->in, b->in_len, b->out, b->out_len);

	if (err)
		return err;
	err = bf_uv_attr_put(c, out_id, b->out, b->out_len);
	if (!err && BF_MLX5_GET(b->out, BF_CMD_OUT_STATUS))
		err = -EREMOTEIO;
	return err;
}

int bf_mlx5_ib_devx_other(struct bf_uv_call *c)
{
	struct block b;
	int err = take_block(c, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN,
			     bf_uv_attr(c, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT)->bytes.len, &b);

	if (err)
		return err;
	c->number = b.opcode;
	if (LISTED(general_commands, b.opcode) || (b.opcode >= GENERAL_FIRST && b.opcode < GENERAL_END))
		err = execute(c, &b, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
	else
		err = -EINVAL;
	free(b.in);
	return err;
}

/* Rings and records of DEVX objects lie in registered memory, never at plain addresses. */
static void force_umem(const struct block *b)
{
	uint8_t *in = b->in, *wq = in + BF_RMP_RMPC + BF_RMPC_WQ;

	switch (b->opcode) {
	case BF_MLX5_CMD_CREATE_CQ:
		BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
		BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_DBR_UMEM_VALID, 1);
		break;
	case BF_MLX5_CMD_MODIFY_CQ:
		BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
		break;
	case BF_MLX5_CMD_CREATE_QP:
		BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, 1);
		BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_DBR_UMEM_VALID, 1);
		break;
	case BF_MLX5_CMD_CREATE_SQ:
	case BF_MLX5_CMD_CREATE_RQ:
		wq = in + BF_ETH_CONTEXT + (b->opcode == BF_MLX5_CMD_CREATE_SQ ? BF_SQC_WQ : BF_RQC_WQ);
		/* fall through */
	case BF_MLX5_CMD_CREATE_RMP:
		BF_MLX5_SET(wq, BF_WQ_UMEM_VALID, 1);
		BF_MLX5_SET(wq, BF_WQ_DBR_UMEM_VALID, 1);
		break;
	case BF_MLX5_CMD_CREATE_MKEY:
		if (BF_MLX5_GET(in + BF_CREATE_MKEY_MKC, BF_MKC_ACCESS_MODE) < BF_MKC_ACCESS_KLM)
			BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_VALID, 1);
		break;
	default:
		break;
	}
}

/* Tables, groups and entries are named by where they stand. */
static void note_table(struct bf_mlx5_ib_devx *d, const struct block *b)
{
	uint8_t *out = d->destroy;

	switch (b->opcode) {
	case BF_MLX5_CMD_CREATE_FLOW_TABLE:
		BF_MLX5_SET(out, BF_FT_ID, d->number);
		break;
	case BF_MLX5_CMD_CREATE_FLOW_GROUP:
		BF_MLX5_SET(out, BF_FT_ID, BF_MLX5_GET(b->in, BF_FT_ID));
		BF_MLX5_SET(out, BF_FG_ID, d->number);
		break;
	case BF_MLX5_CMD_SET_FLOW_TABLE_ENTRY:
		d->number = BF_MLX5_GET(b->in, BF_FTE_INDEX);
		BF_MLX5_SET(out, BF_FT_ID, BF_MLX5_GET(b->in, BF_FT_ID));
		BF_MLX5_SET(out, BF_FTE_INDEX, d->number);
		break;
	default:
		return;
	}
	BF_MLX5_SET(out, BF_CMD_IN_NUMBER, 0);
	BF_MLX5_SET(out, BF_FT_TYPE, BF_MLX5_GET(b->in, BF_FT_TYPE));
	d->destroy_len = sizeof(d->destroy);
}

static void note_destroy(struct bf_mlx5_ib_devx *d, const struct block *b, uint32_t opcode)
{
	d->opcode = (uint16_t)b->opcode;
	d->number = BF_MLX5_GET(b->out, BF_CMD_OUT_NUMBER);
	d->destroy_len = 16;
	if (b->opcode == BF_MLX5_CMD_ATTACH_TO_MCG) {
		d->number = BF_MLX5_GET(b->in, BF_CMD_IN_NUMBER);
		d->destroy_len = BF_MCG_LEN;
		memcpy(d->destroy + BF_MCG_GID, b->in + BF_MCG_GID, 16);
	}
	if (b->opcode == BF_MLX5_CMD_CREATE_GENERAL_OBJECT)
		BF_MLX5_SET(d->destroy, BF_OBJ_TYPE, BF_MLX5_GET(b->in, BF_OBJ_TYPE));
	BF_MLX5_SET(d->destroy, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(d->destroy, BF_CMD_IN_NUMBER, d->number);
	note_table(d, b);
}

static int create(struct bf_uv_call *c, const struct block *b, uint32_t destroy_opcode)
{
	struct bf_mlx5_ib_devx *d = bf_uv_new(c, MLX5_IB_OBJECT_DEVX_OBJ, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	force_umem(b);
	err = execute(c, b, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	if (err && BF_MLX5_GET(b->out, BF_CMD_OUT_STATUS)) {
		bf_uv_free(&d->o);
		return err;
	}
	note_destroy(d, b, destroy_opcode);
	c->number = d->number;
	if (!err)
		err = bf_uv_attr_handle(c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE, d->o.handle);
	if (err)
		bf_uv_destroy(&d->o, true);
	return err;
}

int bf_mlx5_ib_devx_create(struct bf_uv_call *c)
{
	struct block b;
	int err = take_block(c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN,
			     bf_uv_attr(c, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT)->bytes.len, &b);

	if (err)
		return err;
	err = -EINVAL;
	if (LISTED(absent, b.opcode))
		err = execute(c, &b, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	for (size_t i = 0; i < BF_ARRAY_LEN(kinds); i++)
		if (kinds[i].create == b.opcode && b.in_len >= kinds[i].min)
			err = create(c, &b, kinds[i].destroy);
	free(b.in);
	return err;
}

/* A queue pair of raw packets is several objects. */
static bool names_half(const struct bf_uv_qp *qp, uint32_t made, uint32_t number)
{
	switch (made) {
	case BF_MLX5_CMD_CREATE_SQ:
		return number && qp->raw.sqn == number;
	case BF_MLX5_CMD_CREATE_RQ:
		return number && qp->raw.rqn == number;
	case BF_MLX5_CMD_CREATE_TIS:
		return number && qp->raw.tisn == number;
	default:
		return false;
	}
}

/* What the command speaks of must be what the handle names: of the program's DEVX objects, or of the verbs' own. */
static bool names(const struct bf_uv_object *o, const struct block *b)
{
	const struct bf_mlx5_ib_devx *d = (const struct bf_mlx5_ib_devx *)o;
	uint32_t number = b->opcode == BF_MLX5_CMD_QUERY_FLOW_COUNTER && b->in_len >= BF_FC_LEN
			      ? BF_MLX5_GET(b->in, BF_FC_ID)
			      : BF_MLX5_GET(b->in, BF_CMD_IN_NUMBER);
	uint32_t made = bf_mlx5_ib_devx_maker(b->opcode);

	switch (o->type) {
	case MLX5_IB_OBJECT_DEVX_OBJ:
		return d->opcode == made && d->number == number;
	case UVERBS_OBJECT_CQ:
		return made == BF_MLX5_CMD_CREATE_CQ && ((const struct bf_uv_cq *)o)->cqn == number;
	case UVERBS_OBJECT_SRQ:
		return made == BF_MLX5_CMD_CREATE_RMP && ((const struct bf_uv_srq *)o)->srqn == number;
	case UVERBS_OBJECT_WQ:
		return made == BF_MLX5_CMD_CREATE_RQ && bf_mlx5_ib_wq_number(o) == number;
	case UVERBS_OBJECT_QP:
		if (((const struct bf_uv_qp *)o)->type == IB_UVERBS_QPT_RAW_PACKET)
			return names_half((const struct bf_uv_qp *)o, made, number);
		if (((const struct bf_uv_qp *)o)->type == BF_UV_QPT_DCT)
			return made == BF_MLX5_CMD_CREATE_DCT && ((const struct bf_uv_qp *)o)->qpn == number;
		return made == BF_MLX5_CMD_CREATE_QP && ((const struct bf_uv_qp *)o)->qpn == number;
	default:
		return false;
	}
}

uint32_t bf_mlx5_ib_devx_maker(uint32_t opcode)
{
	switch (opcode) {
	case BF_MLX5_CMD_MODIFY_CQ:
	case BF_MLX5_CMD_QUERY_CQ:
		return BF_MLX5_CMD_CREATE_CQ;
	case BF_MLX5_CMD_MODIFY_RMP:
	case BF_MLX5_CMD_QUERY_RMP:
		return BF_MLX5_CMD_CREATE_RMP;
	case BF_MLX5_CMD_QUERY_MKEY:
		return BF_MLX5_CMD_CREATE_MKEY;
	case BF_MLX5_CMD_QUERY_SRQ:
	case BF_MLX5_CMD_ARM_RQ:
		return BF_MLX5_CMD_CREATE_SRQ;
	case BF_MLX5_CMD_QUERY_XRC_SRQ:
	case BF_MLX5_CMD_ARM_XRC_SRQ:
		return BF_MLX5_CMD_CREATE_XRC_SRQ;
	case BF_MLX5_CMD_MODIFY_SQ:
	case BF_MLX5_CMD_QUERY_SQ:
		return BF_MLX5_CMD_CREATE_SQ;
	case BF_MLX5_CMD_MODIFY_RQ:
	case BF_MLX5_CMD_QUERY_RQ:
		return BF_MLX5_CMD_CREATE_RQ;
	case BF_MLX5_CMD_QUERY_TIS:
		return BF_MLX5_CMD_CREATE_TIS;
	case BF_MLX5_CMD_QUERY_FLOW_COUNTER:
		return BF_MLX5_CMD_ALLOC_FLOW_COUNTER;
	case BF_MLX5_CMD_QUERY_DCT:
		return BF_MLX5_CMD_CREATE_DCT;
	default:
		return BF_MLX5_CMD_CREATE_QP;
	}
}

int bf_mlx5_ib_devx_modify(struct bf_uv_call *c)
{
	const struct bf_uv_object *o = bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE);
	struct block b;
	int err = take_block(c, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN,
			     bf_uv_attr(c, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT)->bytes.len, &b);

	if (err)
		return err;
	c->number = b.opcode;
	err = -EINVAL;
	if (LISTED(modify_commands, b.opcode) && names(o, &b) &&
	    (b.opcode != BF_MLX5_CMD_MODIFY_CQ || b.in_len >= BF_CREATE_CQ_UMEM_OFFSET + 16)) {
		force_umem(&b);
		err = execute(c, &b, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
	}
	free(b.in);
	return err;
}

int bf_mlx5_ib_devx_query(struct bf_uv_call *c)
{
	const struct bf_uv_object *o = bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE);
	struct block b;
	int err = take_block(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN,
			     bf_uv_attr(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT)->bytes.len, &b);

	if (err)
		return err;
	c->number = b.opcode;
	err = LISTED(query_commands, b.opcode) && names(o, &b) ? execute(c, &b, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT)
							       : -EINVAL;
	free(b.in);
	return err;
}

/* The answer comes as an event: what the program calls the request, and the block. */
int bf_mlx5_ib_devx_query_async(struct bf_uv_call *c)
{
	const struct bf_uv_object *o = bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE);
	struct bf_uv_object *fd = bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD);
	uint16_t out_len;
	uint64_t wr_id;
	struct block b;
	int err;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &out_len, sizeof(out_len)) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, &wr_id, sizeof(wr_id)))
		return -EFAULT;
	if (out_len < 16 || out_len + sizeof(struct mlx5_ib_uapi_devx_async_cmd_hdr) > BF_UVERBS_EVENT_MAX)
		return -EINVAL;
	err = take_block(c, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN,
			 out_len + (uint32_t)sizeof(struct mlx5_ib_uapi_devx_async_cmd_hdr), &b);
	if (err)
		return err;
	err = -EINVAL;
	if (LISTED(query_commands, b.opcode) && names(o, &b))
		err = bf_mlx5_cmd(c->u->opts.device, b.in, b.in_len,
				  b.out + sizeof(struct mlx5_ib_uapi_devx_async_cmd_hdr), out_len);
	memcpy(b.out, &wr_id, sizeof(wr_id));
	if (!err)
		bf_uv_put_raw((struct bf_uv_channel *)fd, b.out, b.out_len, b.opcode, 0);
	free(b.in);
	return err;
}

int bf_mlx5_ib_devx_destroy(struct bf_uv_object *o, bool forced)
{
	struct bf_mlx5_ib_devx *d = (struct bf_mlx5_ib_devx *)o;
	struct bf_uverbs *u = o->file->u;
	uint8_t out[16];
	int err;

	/* A DC target goes after it was drained (mlx5 hw/mlx5/qpc.c mlx5_core_destroy_dct()). */
	if (d->opcode == BF_MLX5_CMD_CREATE_DCT)
		bf_mlx5_ib_simple(u, BF_MLX5_CMD_DRAIN_DCT, d->number, NULL);
	err = bf_mlx5_cmd(u->opts.device, d->destroy, d->destroy_len, out, sizeof(out));
	if (!err)
		err = bf_mlx5_ib_status_errno(BF_MLX5_GET(out, BF_CMD_OUT_STATUS));
	if (!err || forced)
		bf_mlx5_ib_unsubscribe_object(o);
	return err;
}

int bf_mlx5_ib_devx_query_uar(struct bf_uv_call *c)
{
	uint32_t index, page;
	int64_t found;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, &index, sizeof(index)))
		return -EFAULT;
	found = bf_mlx5_ib_reg_page(c->f, index);
	if (found < 0)
		return (int)found;
	page = (uint32_t)found;
	return bf_uv_attr_put(c, MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, &page, sizeof(page));
}

int bf_mlx5_ib_devx_query_eqn(struct bf_uv_call *c)
{
	uint32_t vector;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &vector, sizeof(vector)))
		return -EFAULT;
	if (vector >= BF_UV_VECTORS)
		return -ENOENT;
	return bf_uv_attr_put(c, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &bf_mlx5_ib_of(c->u)->eq[1 + vector].eqn,
			      sizeof(uint32_t));
}
