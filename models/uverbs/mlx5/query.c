/*
 * What a device and its ports say of themselves: a ConnectX-7, but only what the model does. Figures that the hardware
 * tells come from its capabilities, the rest is what Linux hw/mlx5/main.c answers.
 */
#include "models/mlx5/prm_eth.h"
#include "models/mlx5/prm_hca.h"
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define VENDOR 0x02c9u
#define PART_CX7 4129u
#define FIRMWARE (28ull << 32 | 39ull << 16 | 1002ull)
#define PAGE_SIZES 0xfffffffffffff000ull
#define ATOMIC_HCA 1u /* atomic among all queue pairs of this device */
#define ACK_DELAY 16u
#define MAX_PD (1u << 23)
#define MAX_MCAST_GROUPS (1u << 21)
#define MAX_MCAST_QPS 240u
#define CLOCK_KHZ 1000000u /* time stamps count nanoseconds */
#define MODERATION_COUNT 0xffffu
#define MODERATION_PERIOD 0xfffu

/* Of a port, as the verbs number it. */
#define STATE_DOWN 1u
#define STATE_ACTIVE 4u
#define PHYS_DISABLED 3u
#define PHYS_LINK_UP 5u
#define MTU_4096 5u
#define WIDTH_4X 2u
#define SPEED_NDR 128u
#define LINK_INFINIBAND 1u
#define FOUR_LANES 3u /* VL0 to VL3, IBA vol. 1 section 14.2.5.6 VLCap */
#define SUBNET_TIMEOUT 18u
#define LINK_ETHERNET 2u
#define MAX_MESSAGE (1u << 30)

static uint32_t device_flags(const uint8_t *cap)
{
	uint32_t flags = IB_UVERBS_DEVICE_PORT_ACTIVE_EVENT | IB_UVERBS_DEVICE_SYS_IMAGE_GUID |
			 IB_UVERBS_DEVICE_RC_RNR_NAK_GEN | IB_UVERBS_DEVICE_BAD_QKEY_CNTR |
			 IB_UVERBS_DEVICE_CURR_QP_STATE_MOD;

	if (BF_MLX5_GET(cap, BF_CAP_XRC))
		flags |= IB_UVERBS_DEVICE_XRC;
	if (BF_MLX5_GET(cap, BF_CAP_NIC_FLOW_TABLE))
		flags |= IB_UVERBS_DEVICE_MANAGED_FLOW_STEERING | IB_UVERBS_DEVICE_RAW_IP_CSUM;
	return flags | IB_UVERBS_DEVICE_MEM_WINDOW | IB_UVERBS_DEVICE_MEM_MGT_EXTENSIONS |
	       IB_UVERBS_DEVICE_MEM_WINDOW_TYPE_2B;
}

static void fill_device(struct bf_uverbs *u, struct ib_uverbs_query_device_resp *r)
{
	uint8_t cap[BF_HCA_CAP_LEN];

	bf_mlx5_ib_caps(u, BF_HCA_CAP_GENERAL, cap);
	*r = (struct ib_uverbs_query_device_resp){
		.fw_ver = FIRMWARE,
		.node_guid = bf_htobe64(u->opts.node_guid),
		.sys_image_guid = bf_htobe64(u->opts.node_guid),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = PAGE_SIZES,
		.vendor_id = VENDOR,
		.vendor_part_id = PART_CX7,
		.max_qp = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_QP),
		.max_qp_wr = 1u << BF_MLX5_IB_LOG_MAX_QP_SZ,
		.device_cap_flags = device_flags(cap),
		.max_sge = BF_MLX5_IB_MAX_SGE,
		.max_sge_rd = BF_MLX5_IB_MAX_SGE,
		.max_cq = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_CQ),
		.max_cqe = (1u << BF_MLX5_IB_LOG_MAX_CQ_SZ) - 1,
		.max_mr = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_MKEY),
		.max_pd = MAX_PD,
		.max_qp_rd_atom = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_RA_REQ_QP),
		.max_qp_init_rd_atom = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_RA_RES_QP),
		.atomic_cap = ATOMIC_HCA,
		.max_mw = 1u << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_MKEY),
		.max_mcast_grp = MAX_MCAST_GROUPS,
		.max_mcast_qp_attach = MAX_MCAST_QPS,
		.max_total_mcast_qp_attach = MAX_MCAST_QPS * MAX_MCAST_GROUPS,
		.max_ah = INT32_MAX,
		.max_srq = MAX_PD,
		.max_srq_wr = BF_MLX5_IB_MAX_SRQ_WR,
		.max_srq_sge = BF_MLX5_IB_MAX_SRQ_SGE,
		.max_pkeys = 1,
		.local_ca_ack_delay = ACK_DELAY,
		.phys_port_cnt = (uint8_t)BF_MLX5_GET(cap, BF_CAP_NUM_PORTS),
	};
	r->max_res_rd_atom = r->max_qp_rd_atom * r->max_qp;
}

int bf_mlx5_ib_query_device(struct bf_uv_call *c)
{
	struct ib_uverbs_query_device_resp resp;
	struct ib_uverbs_query_device cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	fill_device(c->u, &resp);
	return bf_uv_response(c, &resp, sizeof(resp));
}

/* The provider's part: offloads for packets, all absent, padded entries, and stream channels of DC initiators. */
static int answer_uhw(struct bf_uv_call *c)
{
	uint32_t len = c->uhw_out.len;
	struct mlx5_ib_query_device_resp r = { 0 };
	uint8_t cap[BF_HCA_CAP_LEN];

	if (!len)
		return 0;
	if (len < offsetof(struct mlx5_ib_query_device_resp, tso_caps))
		return -EINVAL;
	bf_mlx5_ib_caps(c->u, BF_HCA_CAP_GENERAL, cap);
	r.response_length = len < sizeof(r) ? len : sizeof(r);
	bf_mlx5_ib_rss_caps(c->u, NULL, NULL, &r.rss_caps);
	r.flags = MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_PAD;
	if (BF_MLX5_GET(cap, BF_CAP_CQE_COMPRESSION_128))
		r.flags |= MLX5_IB_QUERY_DEV_RESP_FLAGS_CQE_128B_COMP;
	if (BF_MLX5_GET(cap, BF_CAP_CQE_COMPRESSION)) {
		r.cqe_comp_caps.max_num = BF_MLX5_GET(cap, BF_CAP_CQE_COMPRESSION_MAX);
		r.cqe_comp_caps.supported_format = MLX5_IB_CQE_RES_FORMAT_HASH | MLX5_IB_CQE_RES_FORMAT_CSUM;
	}
	r.dci_streams_caps.max_log_num_concurent = (uint8_t)BF_MLX5_GET(cap, BF_CAP_LOG_MAX_DCI_STREAMS);
	r.dci_streams_caps.max_log_num_errored = (uint8_t)BF_MLX5_GET(cap, BF_CAP_LOG_MAX_DCI_ERRORED);
	return bf_uv_put(c, &c->uhw_out, &r, sizeof(r));
}

int bf_mlx5_ib_query_device_ex(struct bf_uv_call *c)
{
	struct ib_uverbs_ex_query_device_resp resp = { 0 };
	struct ib_uverbs_ex_query_device cmd;
	uint8_t memic[BF_HCA_CAP_LEN];
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	if (cmd.comp_mask || cmd.reserved)
		return -EINVAL;
	err = answer_uhw(c);
	if (err)
		return err;
	fill_device(c->u, &resp.base);
	bf_mlx5_ib_caps(c->u, BF_HCA_CAP_MEMIC, memic);
	resp.response_length = c->core_out.len < sizeof(resp) ? c->core_out.len : sizeof(resp);
	resp.timestamp_mask = BF_MLX5_IB_CLOCK_MASK;
	resp.hca_core_clock = CLOCK_KHZ;
	resp.device_cap_flags_ex = resp.base.device_cap_flags;
	bf_mlx5_ib_fill_odp_caps(c->u, &resp.odp_caps, &resp.xrc_odp_caps);
	bf_mlx5_ib_rss_caps(c->u, &resp.rss_caps, &resp.max_wq_type_rq, NULL);
	resp.max_dm_size = BF_MLX5_GET(memic, BF_MEMIC_CAP_MAX);
	resp.cq_moderation_caps.max_cq_moderation_count = MODERATION_COUNT;
	resp.cq_moderation_caps.max_cq_moderation_period = MODERATION_PERIOD;
	return bf_uv_response(c, &resp, sizeof(resp));
}

static bool port_is_up(struct bf_uverbs *u, uint32_t port)
{
	uint8_t in[BF_ACCESS_REG_DATA + BF_PAOS_LEN] = { 0 }, out[BF_ACCESS_REG_DATA + BF_PAOS_LEN];

	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_ACCESS_REG_READ);
	BF_MLX5_SET(in, BF_ACCESS_REG_ID, BF_REG_PAOS);
	BF_MLX5_SET(in + BF_ACCESS_REG_DATA, BF_PAOS_PORT, port);
	return !bf_mlx5_ib_cmd(u, BF_MLX5_CMD_ACCESS_REG, in, sizeof(in), out, sizeof(out)) &&
	       BF_MLX5_GET(out + BF_ACCESS_REG_DATA, BF_PAOS_OPER) == BF_PAOS_UP;
}

static int fill_port(struct bf_uv_call *c, uint64_t port, struct ib_uverbs_query_port_resp *r)
{
	uint8_t cap[BF_HCA_CAP_LEN];
	bool up;

	if (!c->f->context)
		return -EINVAL;
	bf_mlx5_ib_caps(c->u, BF_HCA_CAP_GENERAL, cap);
	if (!port || port > BF_MLX5_GET(cap, BF_CAP_NUM_PORTS))
		return -EINVAL;
	up = port_is_up(c->u, (uint32_t)port);
	*r = (struct ib_uverbs_query_port_resp){
		.port_cap_flags = IB_UVERBS_PCF_CM_SUP | IB_UVERBS_PCF_IP_BASED_GIDS,
		.max_msg_sz = MAX_MESSAGE,
		.gid_tbl_len = BF_UV_GID_ROOM,
		.pkey_tbl_len = 1,
		.state = up ? STATE_ACTIVE : STATE_DOWN,
		.max_mtu = MTU_4096,
		.active_mtu = bf_uverbs_active_mtu(c->u),
		.active_width = WIDTH_4X,
		.active_speed = SPEED_NDR,
		.phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = LINK_ETHERNET,
		.flags = IB_UVERBS_QPF_GRH_REQUIRED,
	};
	if (c->u->opts.infiniband) {
		r->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
		r->link_layer = LINK_INFINIBAND;
		r->flags = 0;
		r->lid = (uint16_t)c->u->opts.ipv4;
		r->sm_lid = BF_UVERBS_SM_LID;
		r->max_vl_num = FOUR_LANES;
		r->subnet_timeout = SUBNET_TIMEOUT;
	}
	return 0;
}

int bf_mlx5_ib_query_port(struct bf_uv_call *c)
{
	struct ib_uverbs_query_port_resp_ex resp = { 0 };
	uint64_t port;
	int err = bf_uv_attr_get(c, UVERBS_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));

	if (!err)
		err = fill_port(c, port, &resp.legacy_resp);
	return err ? err : bf_uv_attr_put(c, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
}

int bf_mlx5_ib_query_port_write(struct bf_uv_call *c)
{
	struct ib_uverbs_query_port_resp resp;
	struct ib_uverbs_query_port cmd;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (!err)
		err = fill_port(c, cmd.port_num, &resp);
	return err ? err : bf_uv_response(c, &resp, sizeof(resp));
}

/* There is no embedded switch, so nothing of it is told (hw/mlx5/std_types.c). */
int bf_mlx5_ib_query_port_mlx5(struct bf_uv_call *c)
{
	struct mlx5_ib_uapi_query_port resp = { 0 };
	struct ib_uverbs_query_port_resp unused;
	uint32_t port;
	int err = bf_uv_attr_get(c, MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, &port, sizeof(port));

	if (!err)
		err = fill_port(c, port, &unused);
	return err ? err : bf_uv_attr_put(c, MLX5_IB_ATTR_QUERY_PORT, &resp, sizeof(resp));
}
