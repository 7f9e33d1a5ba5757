/* What a device tells about itself: capabilities, revisions, names. */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"
#include "models/mlx5/prm_hca.h"

#define LOG_MAX_RA 4u /* READs and atomics of a queue pair at a time: 16, what ibv_devinfo -v tells of ConnectX */
#define LOG_MAX_MSG 30u
#define MAX_WQE (BF_MLX5_MAX_WQEBBS * BF_MLX5_WQEBB)
#define MAX_RECV_WQE 512u
#define CLOCK_MHZ 1000u /* CQEs carry nanoseconds */
#define ISSI 1u         /* the command interface's revision that Linux uses (mlx5_core_set_issi()) */
#define IEEE_VENDOR 0x0002c9u
#define PSID "BELFRY0000000001"
#define LOG_MAX_GROUPS 8u
#define GROUP_MEMBERS 240u
#define MTU 4200u /* of Ethernet frames: RoCE's 4096 and headers */

/*
 * What changes for the kernel's driver and InfiniBand. Keys are made by command: without changes of entity size UMR is
 * no way to fill them (umr.h mlx5r_umr_can_load_pas()). No BlueFlame, as the driver would test it on queues of Ethernet
 * (core/wc.c).
 */
static void infiniband(uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_CAP_PORT_TYPE, 0);
	BF_MLX5_SET(cap, BF_CAP_IB_VIRT, 1); /* ports tell of themselves by commands instead of MADs */
	BF_MLX5_SET(cap, BF_CAP_VPORT_COUNTERS, 1);
	BF_MLX5_SET(cap, BF_CAP_NUM_VHCA_PORTS, 0);
	BF_MLX5_SET(cap, BF_CAP_ROCE, 0);
	BF_MLX5_SET(cap, BF_CAP_BF, 0);
	BF_MLX5_SET(cap, BF_CAP_UMR_NO_ENTITY_SIZE, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_KLM, BF_MLX5_LOG_MAX_KLM);
	BF_MLX5_SET(cap, BF_CAP_LOG_PG_SZ, 12);
	BF_MLX5_SET(cap, BF_CAP_UARS_PER_PAGE, 1);
	BF_MLX5_SET(cap, BF_CAP_DRIVER_VERSION, 1);
	BF_MLX5_SET(cap, BF_CAP_MAX_QP_MCG, GROUP_MEMBERS);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_MCG, LOG_MAX_GROUPS);
}

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
	BF_MLX5_SET(cap, BF_CAP_FIXED_BUFFER_SIZE, 1);
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
	BF_MLX5_SET(cap, BF_CAP_CQE_COMPRESSION, 1);
	BF_MLX5_SET(cap, BF_CAP_CQE_COMPRESSION_128, 1);
	BF_MLX5_SET(cap, BF_CAP_CQE_COMPRESSION_TIMEOUT, BF_MLX5_BLOCK_US);
	BF_MLX5_SET(cap, BF_CAP_CQE_COMPRESSION_MAX, BF_MLX5_BLOCK_MAX);
	BF_MLX5_SET(cap, BF_CAP_BLOCK_LB_MC, 1);
	BF_MLX5_SET(cap, BF_CAP_XRC, 1);
	BF_MLX5_SET(cap, BF_CAP_LOG_MAX_XRCD, BF_MLX5_LOG_MAX_XRCD);
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
	BF_MLX5_SET(cap, BF_CAP_CD, p->traits.core_direct);
	BF_MLX5_SET(cap, BF_CAP_OOO_RW_RC, p->traits.ooo_rw);
	BF_MLX5_SET(cap, BF_CAP_OOO_ALL_RC, p->traits.ooo_all);
	BF_MLX5_SET(cap, BF_CAP_PG, dev->paging);
	if (dev->infiniband)
		infiniband(cap);
	else
		bf_mlx5_eth_caps_general(cap);
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

static void general_2(const struct bf_mlx5 *dev, uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_CAP2_LOG_RESERVED_QPNS, BF_MLX5_LOG_RESERVED_QPNS);
	BF_MLX5_SET(cap, BF_CAP2_DP_ORDERING_FORCE, dev->profile.traits.ordering_force);
	BF_MLX5_SET(cap, BF_CAP2_NO_RECORD, dev->profile.traits.no_record);
}

/* The range of source ports is that of RFC 6335 section 6, which annex A17.9.2 of IBA takes. */
static void roce(uint8_t *cap)
{
	BF_MLX5_SET(cap, BF_ROCE_CAP_MIN_UDP_SPORT, 0xc000);
	BF_MLX5_SET(cap, BF_ROCE_CAP_MAX_UDP_SPORT, 0xffff);
	BF_MLX5_SET(cap, BF_ROCE_CAP_TABLE_SIZE, BF_MLX5_ROCE_ADDRESSES);
}

/*
 * General, atomic and RoCE capabilities, as much as fits `out`; offsets from struct mlx5_ifc_cmd_hca_cap_bits and
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
		general_2(m->dev, cap);
	else if (type == BF_HCA_CAP_ROCE && !m->dev->infiniband)
		roce(cap);
	else if (type == BF_HCA_CAP_ETHERNET && !m->dev->infiniband)
		bf_mlx5_eth_caps(cap);
	else if (type == BF_HCA_CAP_FLOW && !m->dev->infiniband)
		bf_mlx5_flow_caps(cap);
	else if (type == BF_HCA_CAP_ODP)
		bf_mlx5_paging_caps(m->dev, cap);
	else if (type == BF_HCA_CAP_MEMIC)
		bf_mlx5_memic_caps(m->dev, cap);
	memcpy(m->out + BF_HCA_CAP, cap, room < sizeof(cap) ? room : sizeof(cap));
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

/* Ports are not aggregated: the context, 8 bytes at 0x08, is zeros (mlx5_ifc.h query_lag_out, lagc.lag_state). */
uint8_t bf_mlx5_cmd_query_lag(struct bf_mlx5_mail *m)
{
	m->number = 0;
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

uint8_t bf_mlx5_cmd_query_nic_vport(struct bf_mlx5_mail *m)
{
	const uint64_t guid = bf_mlx5_guid(&m->dev->ports[0]);
	uint8_t *ctx = m->out + BF_NIC_VPORT_CTX;

	BF_MLX5_SET(ctx, BF_NIC_VPORT_ROCE, 1);
	BF_MLX5_SET(ctx, BF_NIC_VPORT_MTU, MTU);
	bf_put_be64(ctx + BF_NIC_VPORT_SYSTEM_GUID, guid);
	bf_put_be64(ctx + BF_NIC_VPORT_PORT_GUID, guid);
	bf_put_be64(ctx + BF_NIC_VPORT_NODE_GUID, guid);
	return BF_MLX5_CMD_OK;
}
