/*
 * mlx5 layouts: queues of raw packets, what spreads received ones over them, and flow tables. Offsets are those of
 * Linux include/linux/mlx5/mlx5_ifc.h (6.12): sqc, rqc, tisc, tirc, rqtc, flow_table_context, flow_context,
 * fte_match_param.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_ETH_H
#define BELFRY_MODELS_MLX5_PRM_ETH_H

#include "models/mlx5/prm.h"

/* CREATE_ and MODIFY_ of SQ, RQ, TIR, TIS, RQT, and QUERY's output: context at 0x20. */
#define BF_ETH_CONTEXT 0x20
#define BF_ETH_CONTEXT_LEN 0xf0
#define BF_ETH_LEN (BF_ETH_CONTEXT + BF_ETH_CONTEXT_LEN)
#define BF_ETH_MODIFY_STATE 0x08, 0xf0000000u /* of a queue: the state that it is in */
#define BF_ETH_MODIFY_MASK 0x10               /* be64: what changes */
#define BF_ETH_RST 0u
#define BF_ETH_RDY 1u
#define BF_ETH_ERR 3u

/* A send queue; its ring is a work queue (BF_WQ_*) of WQEBBs. */
#define BF_SQC_STATE 0x00, 0x00f00000u
#define BF_SQC_USER_INDEX 0x04, 0x00ffffffu
#define BF_SQC_CQN 0x08, 0x00ffffffu
#define BF_SQC_TIS_COUNT 0x20, 0xffff0000u
#define BF_SQC_TIS 0x2c, 0x00ffffffu
#define BF_SQC_WQ 0x30

/* A receive queue. */
#define BF_RQC_VLAN_KEPT 0x00, 0x10000000u /* vsd: VLAN tags stay */
#define BF_RQC_SCATTER_FCS 0x00, 0x20000000u
#define BF_RQC_MEMORY 0x00, 0x0f000000u /* 0: a ring of its own */
#define BF_RQC_STATE 0x00, 0x00f00000u
#define BF_RQC_USER_INDEX 0x04, 0x00ffffffu
#define BF_RQC_CQN 0x08, 0x00ffffffu
#define BF_RQC_WQ 0x30
#define BF_RQ_MODIFY_VLAN 2ull /* MODIFY_RQ's mask; of the others nothing is modelled */

#define BF_TISC_DOMAIN 0x24, 0x00ffffffu
#define BF_TIS_OUT 0x10 /* QUERY_TIS: where its answer has the context */
#define BF_TIS_OUT_LEN 0xb0

/* A TIR: a receive queue, or a table of them with a hash that chooses. */
#define BF_TIRC_TYPE 0x04, 0xf0000000u
#define BF_TIRC_DIRECT 0u
#define BF_TIRC_INDIRECT 1u
#define BF_TIRC_MERGE 0x10, 0x00000f00u /* packet_merge_mask: LRO */
#define BF_TIRC_RQN 0x1c, 0x00ffffffu
#define BF_TIRC_SYMMETRIC 0x20, 0x80000000u
#define BF_TIRC_TUNNELED 0x20, 0x20000000u
#define BF_TIRC_RQT 0x20, 0x00ffffffu
#define BF_TIRC_HASH 0x24, 0xf0000000u
#define BF_TIRC_HASH_NONE 0u
#define BF_TIRC_HASH_XOR8 1u
#define BF_TIRC_HASH_TOEPLITZ 2u
#define BF_TIRC_BLOCK_SELF 0x24, 0x03000000u /* what the NIC itself sent does not come back: 1 unicast, 2 multicast */
#define BF_TIRC_DOMAIN 0x24, 0x00ffffffu
#define BF_TIRC_KEY 0x28 /* 40 bytes */
#define BF_TIRC_KEY_LEN 40u
#define BF_TIRC_FIELDS 0x50 /* BF_RX_HASH_* */
#define BF_TIRC_FIELDS_INNER 0x54
#define BF_RX_HASH_IPV6 0x00, 0x80000000u /* else IPv4 */
#define BF_RX_HASH_UDP 0x00, 0x40000000u  /* else TCP */
#define BF_RX_HASH_FIELDS 0x00, 0x3fffffffu
#define BF_RX_HASH_SRC_IP 1u
#define BF_RX_HASH_DST_IP 2u
#define BF_RX_HASH_SRC_PORT 4u
#define BF_RX_HASH_DST_PORT 8u

/* An indirection table: numbers of receive queues, be32 each. */
#define BF_RQTC_MAX 0x14, 0x0000ffffu
#define BF_RQTC_COUNT 0x18, 0x0000ffffu
#define BF_RQTC_RQNS 0xf0
#define BF_RQT_LOG_MAX 10u

/* Flow tables: where the table stands, in all its commands but CREATE_FLOW_TABLE's number. */
#define BF_FT_OTHER_VPORT 0x08, 0x80000000u
#define BF_FT_TYPE 0x10, 0xff000000u
#define BF_FT_NIC_RX 0u
#define BF_FT_ID 0x14, 0x00ffffffu
#define BF_FT_CONTEXT 0x18
#define BF_FT_CREATE_LEN 0x40
#define BF_FTC_UNSUPPORTED 0x00, 0xf0000000u /* reformat, decapsulation, software's own, termination */
#define BF_FTC_MISS_ACTION 0x00, 0x0f000000u
#define BF_FT_MISS_DEFAULT 0u
#define BF_FT_MISS_TABLE 1u
#define BF_FTC_LEVEL 0x00, 0x00ff0000u
#define BF_FTC_LOG_SIZE 0x00, 0x000000ffu
#define BF_FTC_MISS_ID 0x04, 0x00ffffffu
#define BF_FT_MODIFY_SELECT 0x0c, 0x0000ffffu
#define BF_FT_MODIFY_MISS 1u
#define BF_FT_LOG_MAX 16u
#define BF_FT_MAX_LEVEL 63u

/* CREATE_FLOW_GROUP: entries [start, end] of the table look at the bits of the mask. */
#define BF_FG_START 0x1c, 0xffffffffu
#define BF_FG_END 0x24, 0xffffffffu
#define BF_FG_CRITERIA 0x3c, 0x000000ffu /* which parts of the mask count */
#define BF_FG_OUTER 1u
#define BF_FG_MASK 0x40
#define BF_FG_LEN 0x400
#define BF_FG_ID 0x18, 0xffffffffu /* DESTROY_FLOW_GROUP */

/* SET_, DELETE_ and QUERY_FLOW_TABLE_ENTRY. */
#define BF_FTE_INDEX 0x20, 0xffffffffu
#define BF_FTE_CONTEXT 0x40
#define BF_FTE_LEN 0x340
#define BF_FTE_GROUP 0x04, 0xffffffffu
#define BF_FTE_TAG 0x08, 0x00ffffffu
#define BF_FTE_ACTION 0x0c, 0x0000ffffu
#define BF_FTE_ALLOW 1u
#define BF_FTE_DROP 2u
#define BF_FTE_FORWARD 4u
#define BF_FTE_COUNT 8u
#define BF_FTE_EXTENDED 0x10, 0x80000000u
#define BF_FTE_DESTINATIONS 0x10, 0x00ffffffu
#define BF_FTE_COUNTERS 0x14, 0x00ffffffu
#define BF_FTE_VALUE 0x40
#define BF_FTE_LIST 0x300 /* destinations, then numbers of counters, 8 bytes each */
#define BF_FTE_LIST_MAX 16u
#define BF_FD_TYPE 0x00, 0xff000000u
#define BF_FD_TABLE 1u
#define BF_FD_TIR 2u
#define BF_FD_ID 0x00, 0x00ffffffu

/* Counters of flows; ALLOC_ and DEALLOC_FLOW_COUNTER have the number where others have theirs. */
#define BF_FC_COUNT 0x18, 0x0000ffffu /* QUERY_FLOW_COUNTER: how many from BF_FC_ID on, 0 means one */
#define BF_FC_CLEAR 0x18, 0x80000000u
#define BF_FC_ID 0x1c, 0xffffffffu
#define BF_FC_PACKETS 0x10 /* of the answer, be64; then bytes */
#define BF_FC_OCTETS 0x18
#define BF_FC_LEN 0x20

/* fte_match_set_lyr_2_4, the outer headers of a frame. */
#define BF_MATCH_PARAM_LEN 0x200
#define BF_MATCH_LEN 0x40
#define BF_MATCH_SMAC 0x00 /* 6 bytes */
#define BF_MATCH_ETHERTYPE 0x04, 0x0000ffffu
#define BF_MATCH_DMAC 0x08 /* 6 bytes */
#define BF_MATCH_VLAN 0x0c, 0x0000ffffu
#define BF_MATCH_PROTOCOL 0x10, 0xff000000u
#define BF_MATCH_TOS 0x10, 0x00ff0000u
#define BF_MATCH_CVLAN_TAG 0x10, 0x00008000u
#define BF_MATCH_SVLAN_TAG 0x10, 0x00004000u
#define BF_MATCH_FRAGMENT 0x10, 0x00002000u
#define BF_MATCH_IP_VERSION 0x10, 0x00001e00u
#define BF_MATCH_TCP_FLAGS 0x10, 0x000001ffu
#define BF_MATCH_TCP_SPORT 0x14, 0xffff0000u
#define BF_MATCH_TCP_DPORT 0x14, 0x0000ffffu
#define BF_MATCH_TTL 0x18, 0x000000ffu
#define BF_MATCH_UDP_SPORT 0x1c, 0xffff0000u
#define BF_MATCH_UDP_DPORT 0x1c, 0x0000ffffu
#define BF_MATCH_SRC_IP 0x20 /* 16 bytes, IPv4 in the last four */
#define BF_MATCH_DST_IP 0x30

/* Capabilities of Ethernet queues and of tables (op_mod types 1 and 7). */
#define BF_HCA_CAP_ETHERNET 1u
#define BF_HCA_CAP_FLOW 7u
#define BF_CAP_NIC_FLOW_TABLE 0x34, 0x02000000u
#define BF_CAP_ETH_OFFLOADS 0x40, 0x00000008u
#define BF_CAP_LOG_MAX_DOMAIN 0x64, 0x1f000000u
#define BF_CAP_LOG_MAX_RQ 0x6c, 0x1f000000u
#define BF_CAP_LOG_MAX_SQ 0x6c, 0x001f0000u
#define BF_CAP_LOG_MAX_TIR 0x6c, 0x00001f00u
#define BF_CAP_LOG_MAX_TIS 0x6c, 0x0000001fu
#define BF_CAP_LOG_MAX_RQT 0x70, 0x001f0000u
#define BF_CAP_LOG_MAX_RQT_SIZE 0x70, 0x00001f00u
#define BF_CAP_LOG_MAX_TIS_PER_SQ 0x70, 0x0000001fu
#define BF_ETH_CAP_CHECKSUM 0x00, 0x80000000u
#define BF_ETH_CAP_INLINE 0x00, 0x00003000u /* 1: as little as the driver likes */
#define BF_ETH_CAP_RQT 0x00, 0x00000f00u    /* log of the size that all have at least */
#define BF_FLOW_CAP_RX 0x40                 /* of NIC_RX tables: */
#define BF_FLOW_CAP_SUPPORT 0x00, 0x80000000u
#define BF_FLOW_CAP_COUNTER 0x00, 0x20000000u
#define BF_FLOW_CAP_LOG_SIZE 0x04, 0x3f000000u
#define BF_FLOW_CAP_LEVEL 0x04, 0x000000ffu
#define BF_FLOW_CAP_LOG_TABLES 0x0c, 0x000000ffu
#define BF_FLOW_CAP_LOG_DESTINATIONS 0x10, 0x000000ffu
#define BF_FLOW_CAP_LOG_FLOWS 0x14, 0x000000ffu

#endif
