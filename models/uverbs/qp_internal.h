/* Attributes of queue pairs as the verbs number them (Linux include/rdma/ib_verbs.h enum ib_qp_attr_mask). */
#ifndef BELFRY_MODELS_UVERBS_QP_INTERNAL_H
#define BELFRY_MODELS_UVERBS_QP_INTERNAL_H

#include "models/uverbs/uverbs_internal.h"

#define BF_UV_QP_STATE (1u << 0)
#define BF_UV_QP_CUR_STATE (1u << 1)
#define BF_UV_QP_EN_SQD_ASYNC_NOTIFY (1u << 2)
#define BF_UV_QP_ACCESS_FLAGS (1u << 3)
#define BF_UV_QP_PKEY_INDEX (1u << 4)
#define BF_UV_QP_PORT (1u << 5)
#define BF_UV_QP_QKEY (1u << 6)
#define BF_UV_QP_AV (1u << 7)
#define BF_UV_QP_PATH_MTU (1u << 8)
#define BF_UV_QP_TIMEOUT (1u << 9)
#define BF_UV_QP_RETRY_CNT (1u << 10)
#define BF_UV_QP_RNR_RETRY (1u << 11)
#define BF_UV_QP_RQ_PSN (1u << 12)
#define BF_UV_QP_MAX_QP_RD_ATOMIC (1u << 13)
#define BF_UV_QP_ALT_PATH (1u << 14)
#define BF_UV_QP_MIN_RNR_TIMER (1u << 15)
#define BF_UV_QP_SQ_PSN (1u << 16)
#define BF_UV_QP_MAX_DEST_RD_ATOMIC (1u << 17)
#define BF_UV_QP_PATH_MIG_STATE (1u << 18)
#define BF_UV_QP_CAP (1u << 19)
#define BF_UV_QP_DEST_QPN (1u << 20)
#define BF_UV_QP_LEGACY_MASK ((1u << 21) - 1)
#define BF_UV_QP_RATE_LIMIT (1u << 25)

/* States as the verbs number them. */
enum { BF_UV_QPS_RESET, BF_UV_QPS_INIT, BF_UV_QPS_RTR, BF_UV_QPS_RTS, BF_UV_QPS_SQD, BF_UV_QPS_SQE, BF_UV_QPS_ERR };

#define BF_UV_PM_MIGRATED 3u
#define BF_UV_ACCESS_TO_QP(a, bit) (!!((a)&IB_UVERBS_ACCESS_REMOTE_##bit))
#define BF_UV_ATOMIC_MODE 3u /* 8 bytes and all that is extended (Linux MLX5_ATOMIC_MODE_8B) */

#endif
