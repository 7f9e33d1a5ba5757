/* The driver: what it makes when it finds the hardware, the way to its mailbox, and what the verbs know of it. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <rdma/ib_user_ioctl_verbs.h>

#define MAIL 16u

/* Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c cmd_status_to_err(). */
int bf_mlx5_ib_status_errno(uint32_t status)
{
	switch (status) {
	case BF_MLX5_CMD_OK:
		return 0;
	case BF_MLX5_CMD_RES_BUSY:
		return -EBUSY;
	case BF_MLX5_CMD_LIM:
		return -ENOMEM;
	case BF_MLX5_CMD_NO_RES:
		return -EAGAIN;
	case BF_MLX5_CMD_BAD_OP:
	case BF_MLX5_CMD_BAD_PARAM:
	case BF_MLX5_CMD_BAD_RES:
	case BF_MLX5_CMD_BAD_RES_STATE:
	case BF_MLX5_CMD_IX:
	case BF_MLX5_CMD_BAD_QP_STATE:
	case BF_MLX5_CMD_BAD_SIZE:
		return -EINVAL;
	default:
		return -EIO;
	}
}

int bf_mlx5_ib_cmd(struct bf_uverbs *u, uint32_t opcode, void *in, size_t in_len, void *out, size_t out_len)
{
	int err;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	err = bf_mlx5_cmd(u->opts.device, in, in_len, out, out_len);
	return err ? err : bf_mlx5_ib_status_errno(BF_MLX5_GET(out, BF_CMD_OUT_STATUS));
}

int bf_mlx5_ib_simple(struct bf_uverbs *u, uint32_t opcode, uint32_t number, uint32_t *out)
{
	uint8_t in[MAIL] = { 0 }, answer[MAIL];
	int err;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	err = bf_mlx5_ib_cmd(u, opcode, in, sizeof(in), answer, sizeof(answer));
	if (!err && out)
		*out = BF_MLX5_GET(answer, BF_CMD_OUT_NUMBER);
	return err;
}

int bf_mlx5_ib_caps(struct bf_uverbs *u, uint32_t type, uint8_t cap[BF_HCA_CAP_LEN])
{
	uint8_t in[MAIL] = { 0 }, out[BF_HCA_CAP + BF_HCA_CAP_LEN];
	int err;

	BF_MLX5_SET(in, BF_CMD_OP_MOD, type << 1 | 1);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_QUERY_HCA_CAP, in, sizeof(in), out, sizeof(out));
	memcpy(cap, out + BF_HCA_CAP, BF_HCA_CAP_LEN);
	return err;
}

/* Time stamps count nanoseconds from simulated time 0, so that the page never needs what a kernel changes in it. */
static void start_clock(struct bf_uverbs *u)
{
	const struct mlx5_ib_clock_info info = { .nsec = u->opts.epoch_ns,
						 .mult = 1,
						 .mask = BF_MLX5_IB_CLOCK_MASK,
						 .overflow_period = BF_MLX5_IB_CLOCK_MASK };

	memcpy(bf_mlx5_ib_of(u)->clock, &info, sizeof(info));
}

static int open_driver(struct bf_uverbs *u)
{
	struct bf_mlx5_ib *d = bf_mlx5_ib_of(u);
	int err;

	start_clock(u);
	err = bf_mlx5_ib_simple(u, BF_MLX5_CMD_ALLOC_UAR, 0, &d->uar);
	if (err)
		return bf_fail(&u->sim->error, err, "%s: the device refuses a UAR page", u->opts.name);
	d->has_uar = true;
	return bf_mlx5_ib_eqs_open(u);
}

static void close_driver(struct bf_uverbs *u)
{
	bf_mlx5_ib_flows_close(u);
	bf_mlx5_ib_xrc_close(u);
	bf_mlx5_ib_eqs_close(u);
	if (bf_mlx5_ib_of(u)->has_uar)
		bf_mlx5_ib_simple(u, BF_MLX5_CMD_DEALLOC_UAR, bf_mlx5_ib_of(u)->uar, NULL);
}

static int mcast(struct bf_uverbs *u, bool attach, uint32_t qpn, const uint8_t gid[16])
{
	uint8_t in[BF_MCG_LEN] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	memcpy(in + BF_MCG_GID, gid, 16);
	return bf_mlx5_ib_cmd(u, attach ? BF_MLX5_CMD_ATTACH_TO_MCG : BF_MLX5_CMD_DETACH_FROM_MCG, in, sizeof(in), out,
			      sizeof(out));
}

static int destroy(struct bf_uv_object *o, bool forced)
{
	switch (o->type) {
	case UVERBS_OBJECT_PD:
		return bf_mlx5_ib_pd_destroy(o, forced);
	case UVERBS_OBJECT_MR:
		return bf_mlx5_ib_mr_destroy(o, forced);
	case UVERBS_OBJECT_DM:
		return bf_mlx5_ib_dm_destroy(o, forced);
	case UVERBS_OBJECT_MW:
		return bf_mlx5_ib_mw_destroy(o, forced);
	case UVERBS_OBJECT_CQ:
		return bf_mlx5_ib_cq_destroy(o, forced);
	case UVERBS_OBJECT_QP:
		return bf_mlx5_ib_qp_destroy(o, forced);
	case UVERBS_OBJECT_SRQ:
		return bf_mlx5_ib_srq_destroy(o, forced);
	case UVERBS_OBJECT_XRCD:
		return bf_mlx5_ib_xrcd_destroy(o, forced);
	case UVERBS_OBJECT_AH:
		return bf_mlx5_ib_ah_destroy(o, forced);
	case UVERBS_OBJECT_FLOW:
		return bf_mlx5_ib_flow_destroy(o, forced);
	case UVERBS_OBJECT_WQ:
		return bf_mlx5_ib_wq_destroy(o, forced);
	case UVERBS_OBJECT_RWQ_IND_TBL:
		return bf_mlx5_ib_table_destroy(o, forced);
	case MLX5_IB_OBJECT_UAR:
		return bf_mlx5_ib_uar_destroy(o, forced);
	case MLX5_IB_OBJECT_DEVX_UMEM:
		return bf_mlx5_ib_umem_destroy(o, forced);
	case MLX5_IB_OBJECT_FLOW_MATCHER:
		return 0; /* the device knows its flows alone */
	default:
		return bf_mlx5_ib_devx_destroy(o, forced);
	}
}

static uint32_t *count(struct bf_uverbs_counts *n, uint16_t type)
{
	switch (type) {
	case MLX5_IB_OBJECT_UAR:
		return &n->uars;
	case MLX5_IB_OBJECT_DEVX_UMEM:
		return &n->umems;
	case MLX5_IB_OBJECT_FLOW_MATCHER:
		return &n->matchers;
	default:
		return &n->devx_objects;
	}
}

/* A ConnectX-7 by its PCI names (vendor 15b3, device 1021). */
static const char *const identity[][2] = {
	{ "node_type", "1: CA" },
	{ "fw_ver", "28.39.1002" },
	{ "hw_rev", "0" },
	{ "board_id", "BELFRY0000001" },
	{ "hca_type", "MT4129" },
	{ "node_desc", "belfry" },
	{ "device/vendor", "0x15b3" },
	{ "device/device", "0x1021" },
	{ "device/subsystem_vendor", "0x15b3" },
	{ "device/subsystem_device", "0x0023" },
	{ "device/modalias", "pci:v000015B3d00001021sv000015B3sd00000023bc02sc00i00" },
	{ "ports/1/state", "4: ACTIVE" },
	{ "ports/1/phys_state", "5: LinkUp" },
	{ "ports/1/rate", "400 Gb/sec (4X NDR)" },
	{ "ports/1/sm_sl", "0" },
	{ "ports/1/lid_mask_count", "0" },
	{ "ports/1/cap_mask", "0x04010000" },
	{ "ports/1/pkeys/0", "0xffff" },
	{ NULL, NULL },
};

const struct bf_uv_provider bf_mlx5_ib = {
	.driver_id = RDMA_DRIVER_MLX5,
	.device_size = sizeof(struct bf_mlx5_ib),
	.file_size = sizeof(struct bf_mlx5_ib_file),
	.open = open_driver,
	.close = close_driver,
	.irq = bf_mlx5_ib_irq,
	.file_close = bf_mlx5_ib_context_close,
	.mmap = bf_mlx5_ib_mmap,
	.channel_gone = bf_mlx5_ib_unsubscribe_channel,
	.mcast = mcast,
	.destroy = destroy,
	.count = count,
	.mad_open = bf_mlx5_ib_mad_open,
	.mad_send = bf_mlx5_ib_mad_send,
	.mad_close = bf_mlx5_ib_mad_close,
	.identity = identity,
	.methods = bf_mlx5_ib_own_methods,
	.get_context = bf_mlx5_ib_get_context,
	.get_context_write = bf_mlx5_ib_get_context_write,
	.query_device = bf_mlx5_ib_query_device,
	.query_device_ex = bf_mlx5_ib_query_device_ex,
	.query_port = bf_mlx5_ib_query_port,
	.query_port_write = bf_mlx5_ib_query_port_write,
	.alloc_pd = bf_mlx5_ib_alloc_pd,
	.create_ah = bf_mlx5_ib_create_ah,
	.reg_mr = bf_mlx5_ib_reg_mr,
	.rereg_mr = bf_mlx5_ib_rereg_mr,
	.reg_dmabuf_mr = bf_mlx5_ib_reg_dmabuf_mr,
	.reg_dm_mr = bf_mlx5_ib_reg_dm_mr,
	.advise_mr = bf_mlx5_ib_advise_mr,
	.query_mr = bf_mlx5_ib_query_mr,
	.alloc_mw = bf_mlx5_ib_alloc_mw,
	.create_cq = bf_mlx5_ib_create_cq,
	.create_cq_write = bf_mlx5_ib_create_cq_write,
	.create_cq_ex = bf_mlx5_ib_create_cq_ex,
	.resize_cq = bf_mlx5_ib_resize_cq,
	.modify_cq = bf_mlx5_ib_modify_cq,
	.create_qp = bf_mlx5_ib_create_qp,
	.create_qp_write = bf_mlx5_ib_create_qp_write,
	.create_qp_ex = bf_mlx5_ib_create_qp_ex,
	.modify_qp = bf_mlx5_ib_modify_qp,
	.modify_qp_ex = bf_mlx5_ib_modify_qp_ex,
	.query_qp = bf_mlx5_ib_query_qp,
	.create_srq = bf_mlx5_ib_create_srq,
	.create_srq_write = bf_mlx5_ib_create_srq_write,
	.create_xsrq = bf_mlx5_ib_create_xsrq,
	.modify_srq = bf_mlx5_ib_modify_srq,
	.query_srq = bf_mlx5_ib_query_srq,
	.open_xrcd = bf_mlx5_ib_open_xrcd,
	.open_qp = bf_mlx5_ib_open_qp,
	.create_flow = bf_mlx5_ib_create_flow,
	.create_wq = bf_mlx5_ib_create_wq,
	.modify_wq = bf_mlx5_ib_modify_wq,
	.create_rwq_ind_table = bf_mlx5_ib_create_rwq_ind_table,
};
