/* What a device tells about itself: capabilities and port state. */
#include "models/mlx5/device_internal.h"

#define LOG_MAX_RA 4u  /* READs and atomics of a queue pair at a time: 16, what ibv_devinfo -v tells of ConnectX */
#define LOG_MAX_MSG 30u
#define MAX_WQE (BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB)
#define MAX_RECV_WQE 512u
#define CLOCK_MHZ 1000u /* CQEs carry nanoseconds */
#define ISSI 1u         /* the command interface's revision that Linux uses (mlx5_core_set_issi()) */
#define IEEE_VENDOR 0x0002c9u
#define PSID "BELFRY0000000001"
#define MTU 4200u /* of Ethernet frames: RoCE's 4096 and headers */

static void general(const struct bf_mlx5 *dev, uint8_t *cap)
{
	const struct bf_mlx5_profile *p = &dev->profile;

	BF_MLX5_SET(cap, BF_CAP_HAS_GENERAL_2, 1);
	bf_put_be64(cap + BF_CAP_OBJECT_TYPES, 1ull << BF_OBJ_RESERVED_QPN);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_QP_SZ, 15);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_QP, p->log_max_qp);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_CQ_SZ, 22);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_CQ, p->log_max_cq);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_SRQ_SZ, 15);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_SRQ, BF_MLX5_LOG_MAX_SRQ);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RMP, BF_MLX5_LOG_MAX_SRQ);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_EQ_SZ, 22);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_EQ, 7);
	BF_MLX5_SET(cap, BF_CAP_MAX_EQS, BF_MLX5_MAX_EQ);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_PD, 16);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_MRW_SZ, 64);
	BF_MLX5_SET(cap, BF_CAP_TERMINATE_MKEY, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_MKEY, p->log_max_mkey);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_REQ_QP, LOG_MAX_RA);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_RES_QP, LOG_MAX_RA);
	BF_MLX5_SET(cap, BF_CAP_PORT_TYPE, 1);
	BF_MLX5_SET(cap, BF_CAP_NUM_PORTS, dev->port_count);
	BF_MLX5_SET(cap, BF_CAP_NUM_VHCA_PORTS, dev->port_count);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_MSG, LOG_MAX_MSG);
	BF_MLX5_SET(cap, BF_CAP_QPC_EXTENSION, 1);
	BF_MLX5_SET(cap, BF_CAP_RTS2RTS_UDP_SPORT, 1);
	BF_MLX5_SET(cap, BF_CAP_CQE_VERSION, 1);
	BF_MLX5_SET(cap, BF_CAP_ROCE, 1);
	BF_MLX5_SET(cap, BF_CAP_ATOMIC, 1);
	BF_MLX5_SET(cap, BF_CAP_SCAT_CQE, 1);
	BF_MLX5_SET(cap, BF_CAP_CQ_OI, 1);
	BF_MLX5_SET(cap, BF_CAP_CQ_RESIZE, 1);
	BF_MLX5_SET(cap, BF_CAP_CQ_MODERATION, 1);
	BF_MLX5_SET(cap, BF_CAP_BLOCK_LB_MC, 1);
	BF_MLX5_SET(cap, BF_CAP_UD, 1);
	BF_MLX5_SET(cap, BF_CAP_UC, 1);
	BF_MLX5_SET(cap, BF_CAP_RC, 1);
	BF_MLX5_SET(cap, BF_CAP_UAR_4K, 1);
	BF_MLX5_SET(cap, BF_CAP_BF, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_BF_REG_SIZE, 9);
	BF_MLX5_SET(cap, BF_CAP_MAX_WQE_SQ, MAX_WQE);
	BF_MLX5_SET(cap, BF_CAP_MAX_WQE_RQ, MAX_RECV_WQE);
	BF_MLX5_SET(cap, BF_CAP_FREQUENCY_MHZ, CLOCK_MHZ);
	BF_MLX5_SET(cap, BF_CAP_FREQUENCY_KHZ, CLOCK_MHZ * 1000);
	if (!p->dct_contexts)
		return;
	BF_MLX5_SET(cap, BF_CAP_DCT, 1);
	BF_MLX5_SET(cap, BF_CAP_COMPACT_AV, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_REQ_DC, LOG_MAX_RA);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_RA_RES_DC, LOG_MAX_RA);
	BF_MLX5_SET(cap, BF_CAP_MAX_WQE_SQ_DC, MAX_WQE);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_DCT_CONNECTIONS, 31u - (uint32_t)__builtin_clz(p->dct_contexts));
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_DCI_STREAMS, p->log_dci_streams);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_DCI_ERRORED, p->log_dci_streams);
}

static void atomics(const struct bf_mlx5 *dev, uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_ATOMIC_CAP_8B_HOST, dev->profile.host_endian_atomics);
	BF_MLX5_SET(cap, BF_ATOMIC_CAP_OPERATIONS,
		    BF_ATOMIC_CS | BF_ATOMIC_FA | BF_ATOMIC_MASKED_CS | BF_ATOMIC_MASKED_FA);
	BF_MLX5_SET(cap, BF_ATOMIC_CAP_SIZE_QP, 4 | 8);
	BF_MLX5_SET(cap, BF_ATOMIC_CAP_SIZE_DC, dev->profile.dct_contexts ? 4 | 8 : 0);
}

/*
 * General and atomic capabilities, as much as fits `out`; offsets from struct mlx5_ifc_cmd_hca_cap_bits and
 * mlx5_ifc_atomic_caps_bits in Linux include/linux/mlx5/mlx5_ifc.h. Other types are answered with zeros: nothing
 * optional is there.
 */
uint8_t bf_mlx5_cmd_query_hca_cap(struct bf_mlx5_mail *m)
{
	uint32_t type = BF_MLX5_GET(m->in, BF_CMD_OP_MOD) >> 1;
	uint8_t cap[BF_HCA_CAP_LEN] = { 0 };
	size_t room = m->out_len - BF_HCA_CAP;

	if (type == BF_HCA_CAP_GENERAL)
		general(m->dev, cap);
	else if (type == BF_HCA_CAP_ATOMIC)
		atomics(m->dev, cap);
	else if (type == BF_HCA_CAP_GENERAL_2)
		BF_MLX5_SET(cap, BF_CAP2_LOG_RESERVED_QPNS, BF_MLX5_LOG_RESERVED_QPNS);
	memcpy(m->out + BF_HCA_CAP, cap, room < sizeof(cap) ? room : sizeof(cap));
	return BF_MLX5_CMD_OK;
}

/* PAOS tells whether a port's link is up; the model's ports are always enabled. */
uint8_t bf_mlx5_cmd_access_reg(struct bf_mlx5_mail *m)
{
	const uint8_t *in = m->in + BF_ACCESS_REG_DATA;
	uint8_t *out = m->out + BF_ACCESS_REG_DATA;
	uint32_t port = BF_MLX5_GET(in, BF_PAOS_PORT);
	struct bf_port_info info;

	if (BF_MLX5_GET(m->in, BF_ACCESS_REG_ID) != BF_REG_PAOS ||
	    BF_MLX5_GET(m->in, BF_CMD_OP_MOD) != BF_ACCESS_REG_READ || port - 1 >= m->dev->port_count)
		return BF_MLX5_CMD_BAD_PARAM;
	bf_port_info(m->dev->ports[port - 1].port, &info);
	memset(out, 0, BF_PAOS_LEN);
	BF_MLX5_SET(out, BF_PAOS_PORT, port);
	BF_MLX5_SET(out, BF_PAOS_ADMIN, BF_PAOS_UP);
	BF_MLX5_SET(out, BF_PAOS_OPER, info.up ? BF_PAOS_UP : BF_PAOS_DOWN);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_adapter(struct bf_mlx5_mail *m)
{
	BF_MLX5_SET(m->out, BF_QUERY_ADAPTER_VENDOR, IEEE_VENDOR);
	memcpy(m->out + BF_QUERY_ADAPTER_PSID, PSID, sizeof(PSID) - 1);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_issi(struct bf_mlx5_mail *m)
{
	BF_MLX5_SET(m->out, BF_QUERY_ISSI_CURRENT, ISSI);
	BF_MLX5_SET(m->out, BF_QUERY_ISSI_SUPPORTED, 1u << ISSI);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_set_issi(struct bf_mlx5_mail *m)
{
	return BF_MLX5_GET(m->in, BF_SET_ISSI_CURRENT) == ISSI ? BF_MLX5_CMD_OK : BF_MLX5_CMD_BAD_OP;
}

/* Of the special keys there is the one that ends a list. */
uint8_t bf_mlx5_cmd_query_special_contexts(struct bf_mlx5_mail *m)
{
	BF_MLX5_SET(m->out, BF_SPECIAL_TERMINATE, BF_MLX5_INVALID_LKEY);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_vport_state(struct bf_mlx5_mail *m)
{
	struct bf_port_info info;

	bf_port_info(m->dev->ports[0].port, &info);
	BF_MLX5_SET(m->out, BF_VPORT_STATE_ADMIN, 1);
	BF_MLX5_SET(m->out, BF_VPORT_STATE, info.up);
	return BF_MLX5_CMD_OK;
}

/* GUIDs are made of the first port's MAC, as EUI-64. */
uint8_t bf_mlx5_cmd_query_nic_vport(struct bf_mlx5_mail *m)
{
	const uint8_t *mac = m->dev->ports[0].mac;
	uint64_t guid = (uint64_t)bf_get_be16(mac) << 48 | (uint64_t)mac[2] << 40 | 0xfffeull << 24 |
			(bf_get_be32(mac + 2) & 0xffffff);
	uint8_t *ctx = m->out + BF_NIC_VPORT_CTX;

	BF_MLX5_SET(ctx, BF_NIC_VPORT_ROCE, 1);
	BF_MLX5_SET(ctx, BF_NIC_VPORT_MTU, MTU);
	bf_put_be64(ctx + BF_NIC_VPORT_SYSTEM_GUID, guid);
	bf_put_be64(ctx + BF_NIC_VPORT_PORT_GUID, guid);
	bf_put_be64(ctx + BF_NIC_VPORT_NODE_GUID, guid);
	return BF_MLX5_CMD_OK;
}
