/*
 * Datagrams of management as the communication manager uses them: fields by (byte offset of a big-endian dword, mask),
 * for BF_MLX5_GET() and BF_MLX5_SET(), and what the numbers in them mean.
 *
 * IBA vol. 1 section 13.4.3 (the common header, 24 bytes) and chapter 12 (what follows); Linux
 * include/rdma/ibta_vol1_c12.h has the same offsets without the header. Layouts and names only.
 */
#ifndef BELFRY_MODELS_RDMACM_MAD_H
#define BELFRY_MODELS_RDMACM_MAD_H

#include "models/mlx5/prm.h"

#define BF_MAD_LEN 256u
#define BF_MAD_BASE_VERSION 0x00, 0xff000000u
#define BF_MAD_CLASS 0x00, 0x00ff0000u
#define BF_MAD_CLASS_VERSION 0x00, 0x0000ff00u
#define BF_MAD_METHOD 0x00, 0x000000ffu
#define BF_MAD_TID 0x08 /* be64 */
#define BF_MAD_ATTRIBUTE 0x10, 0xffff0000u
#define BF_MAD_CLASS_CM 0x07u
#define BF_MAD_CLASS_VERSION_CM 2u
#define BF_MAD_SEND 0x03u

enum bf_cm_kind {
	BF_CM_REQ = 0x10,
	BF_CM_MRA,
	BF_CM_REJ,
	BF_CM_REP,
	BF_CM_RTU,
	BF_CM_DREQ,
	BF_CM_DREP,
	BF_CM_SIDR_REQ,
	BF_CM_SIDR_REP,
	BF_CM_LAP,
	BF_CM_APR,
};

/* In all of them but SIDR_REQ and SIDR_REP, which have the asker's number where LOCAL_ID is. */
#define BF_CM_LOCAL_ID 0x18, 0xffffffffu
#define BF_CM_REMOTE_ID 0x1c, 0xffffffffu /* not in REQ */
#define BF_CM_MESSAGE 0x20, 0xc0000000u   /* MRA, REJ: which one is meant, BF_CM_OF_* */
#define BF_CM_OF_REQ 0u
#define BF_CM_OF_REP 1u
#define BF_CM_OF_OTHER 2u

#define BF_CM_REQ_SERVICE 0x20 /* be64 */
#define BF_CM_REQ_CA_GUID 0x28 /* be64 */
#define BF_CM_REQ_QPN 0x38, 0xffffff00u
#define BF_CM_REQ_RESPONDER_RESOURCES 0x38, 0x000000ffu
#define BF_CM_REQ_INITIATOR_DEPTH 0x3c, 0x000000ffu
#define BF_CM_REQ_REMOTE_TIMEOUT 0x40, 0x000000f8u /* that the receiver has for its answers */
#define BF_CM_REQ_TRANSPORT 0x40, 0x00000006u      /* 0: RC, 1: UC, 3: the extended one */
#define BF_CM_TRANSPORT_EXTENDED 3u
#define BF_CM_REQ_FLOW_CONTROL 0x40, 0x00000001u
#define BF_CM_REQ_PSN 0x44, 0xffffff00u
#define BF_CM_REQ_LOCAL_TIMEOUT 0x44, 0x000000f8u
#define BF_CM_REQ_RETRY_COUNT 0x44, 0x00000007u
#define BF_CM_REQ_PKEY 0x48, 0xffff0000u
#define BF_CM_REQ_MTU 0x48, 0x0000f000u
#define BF_CM_REQ_RNR_RETRY 0x48, 0x00000700u
#define BF_CM_REQ_MAX_RETRIES 0x48, 0x000000f0u
#define BF_CM_REQ_SRQ 0x48, 0x00000008u
#define BF_CM_REQ_EXTENDED 0x48, 0x00000007u
#define BF_CM_EXTENDED_XRC 1u
#define BF_CM_REQ_LOCAL_LID 0x4c, 0xffff0000u
#define BF_CM_REQ_REMOTE_LID 0x4c, 0x0000ffffu
#define BF_CM_LID_PERMISSIVE 0xffffu
#define BF_CM_REQ_LOCAL_GID 0x50  /* 16 bytes */
#define BF_CM_REQ_REMOTE_GID 0x60 /* 16 bytes */
#define BF_CM_REQ_FLOW_LABEL 0x70, 0xfffff000u
#define BF_CM_REQ_RATE 0x70, 0x0000003fu
#define BF_CM_REQ_TRAFFIC_CLASS 0x74, 0xff000000u
#define BF_CM_REQ_HOP_LIMIT 0x74, 0x00ff0000u
#define BF_CM_REQ_SL 0x74, 0x0000f000u
#define BF_CM_REQ_ACK_TIMEOUT 0x74, 0x000000f8u
#define BF_CM_REQ_PRIVATE 0xa4
#define BF_CM_REQ_PRIVATE_LEN 92u

#define BF_CM_REP_QPN 0x24, 0xffffff00u
#define BF_CM_REP_EECN 0x28, 0xffffff00u /* XRC: the queue pair's number */
#define BF_CM_REP_PSN 0x2c, 0xffffff00u
#define BF_CM_REP_RESPONDER_RESOURCES 0x30, 0xff000000u
#define BF_CM_REP_INITIATOR_DEPTH 0x30, 0x00ff0000u
#define BF_CM_REP_ACK_DELAY 0x30, 0x0000f800u
#define BF_CM_REP_FLOW_CONTROL 0x30, 0x00000100u
#define BF_CM_REP_RNR_RETRY 0x30, 0x000000e0u
#define BF_CM_REP_SRQ 0x30, 0x00000010u
#define BF_CM_REP_CA_GUID 0x34 /* be64 */
#define BF_CM_REP_PRIVATE 0x3c
#define BF_CM_REP_PRIVATE_LEN 196u

#define BF_CM_MRA_TIMEOUT 0x20, 0x00f80000u /* how long the answer may take */

#define BF_CM_REJ_INFO_LEN 0x20, 0x00fe0000u
#define BF_CM_REJ_REASON 0x20, 0x0000ffffu
#define BF_CM_REJ_PRIVATE 0x6c
#define BF_CM_REJ_PRIVATE_LEN 148u

#define BF_CM_DREQ_QPN 0x20, 0xffffff00u /* the receiver's */

#define BF_CM_SIDR_REQ_PKEY 0x1c, 0xffff0000u
#define BF_CM_SIDR_REQ_SERVICE 0x20 /* be64 */
#define BF_CM_SIDR_REQ_PRIVATE 0x28
#define BF_CM_SIDR_REQ_PRIVATE_LEN 216u

#define BF_CM_SIDR_REP_STATUS 0x1c, 0xff000000u
#define BF_CM_SIDR_REP_QPN 0x20, 0xffffff00u
#define BF_CM_SIDR_REP_SERVICE 0x24 /* be64 */
#define BF_CM_SIDR_REP_QKEY 0x2c, 0xffffffffu
#define BF_CM_SIDR_REP_PRIVATE 0x78
#define BF_CM_SIDR_REP_PRIVATE_LEN 136u

/* Why (IBA vol. 1 table "REJ Reason Codes"). */
#define BF_CM_REJ_NO_RESOURCES 3u
#define BF_CM_REJ_TIMEOUT 4u
#define BF_CM_REJ_INVALID_COMM_ID 6u
#define BF_CM_REJ_INVALID_SERVICE 8u
#define BF_CM_REJ_INVALID_TRANSPORT 9u
#define BF_CM_REJ_STALE 10u
#define BF_CM_REJ_CONSUMER 28u
#define BF_CM_REJ_VENDOR_OPTION 35u

/* SIDR_REP status. */
#define BF_CM_SIDR_OK 0u
#define BF_CM_SIDR_UNSUPPORTED 1u
#define BF_CM_SIDR_REJECT 2u

/* In front of private data of REQ and SIDR_REQ: who asks whom (annex A11; Linux core/cma.c struct cma_hdr). */
#define BF_CMA_HEAD_LEN 36u
#define BF_CMA_HEAD_VERSION 0x00, 0xff000000u /* 0 */
#define BF_CMA_HEAD_IP_VERSION 0x00, 0x00f00000u
#define BF_CMA_HEAD_PORT 0x00, 0x0000ffffu /* the asker's */
#define BF_CMA_HEAD_SRC 0x04               /* 16 bytes; IPv4 in the last 4 */
#define BF_CMA_HEAD_DST 0x14

#endif
