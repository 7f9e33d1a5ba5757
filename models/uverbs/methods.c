/* The methods of the ioctl ABI: which attributes each has (Linux drivers/infiniband/core/uverbs_std_types*.c). */
#include "models/uverbs/uverbs_internal.h"

#define IN(id, bytes)                                                                                                  \
	{                                                                                                              \
		(id), BF_UV_IN, false, 0, (bytes), (bytes)                                                             \
	}
#define IN_FROM(id, bytes)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_IN, false, 0, (bytes), 0                                                                   \
	} /* that long or longer */
#define IN_OPT(id, bytes)                                                                                              \
	{                                                                                                              \
		(id), BF_UV_IN, true, 0, (bytes), (bytes)                                                              \
	}
#define OUT(id, bytes)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_OUT, false, 0, (bytes), 0                                                                  \
	}
#define OUT_OPT(id, bytes)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_OUT, true, 0, (bytes), 0                                                                   \
	}
#define NEW(id)                                                                                                        \
	{                                                                                                              \
		(id), BF_UV_NEW, false, 0, 0, 0                                                                        \
	}
#define READ(id, object)                                                                                               \
	{                                                                                                              \
		(id), BF_UV_READ, false, (object), 0, 0                                                                \
	}
#define READ_OPT(id, object)                                                                                           \
	{                                                                                                              \
		(id), BF_UV_READ, true, (object), 0, 0                                                                 \
	}
#define DESTROY(id, object)                                                                                            \
	{                                                                                                              \
		(id), BF_UV_DESTROY, false, (object), 0, 0                                                             \
	}
#define FD_NEW(id)                                                                                                     \
	{                                                                                                              \
		(id), BF_UV_FD_NEW, false, 0, 0, 0                                                                     \
	}
#define FD(id, object)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_FD, false, (object), 0, 0                                                                  \
	}
#define FD_OPT(id, object)                                                                                             \
	{                                                                                                              \
		(id), BF_UV_FD, true, (object), 0, 0                                                                   \
	}
#define RAW_FD_OPT(id)                                                                                                 \
	{                                                                                                              \
		(id), BF_UV_RAW_FD, true, 0, 0, 0                                                                      \
	}
#define CONST 8    /* bytes of enumerations and flags by mask (kernel: UVERBS_ATTR_CONST_IN) */
#define CMD_MIN 16 /* bytes of the shortest command block and answer */

#define SPEC static const struct bf_uv_spec

SPEC invoke_write[] = {
	{ UVERBS_ATTR_CORE_IN, BF_UV_IN, true, 0, 0, 0 },
	OUT_OPT(UVERBS_ATTR_CORE_OUT, 0),
	IN(UVERBS_ATTR_WRITE_CMD, CONST),
};
SPEC info_handles[] = {
	IN(UVERBS_ATTR_INFO_OBJECT_ID, CONST),
	OUT_OPT(UVERBS_ATTR_INFO_TOTAL_HANDLES, 4),
	OUT(UVERBS_ATTR_INFO_HANDLES_LIST, 4),
};
SPEC query_port[] = { IN(UVERBS_ATTR_QUERY_PORT_PORT_NUM, CONST), OUT(UVERBS_ATTR_QUERY_PORT_RESP, 8) };
SPEC query_port_mlx5[] = { IN(MLX5_IB_ATTR_QUERY_PORT_PORT_NUM, 4), OUT(MLX5_IB_ATTR_QUERY_PORT, 8) };
SPEC get_context[] = {
	OUT_OPT(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4),
	OUT_OPT(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8),
};
SPEC query_context[] = {
	OUT_OPT(UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 4),
	OUT_OPT(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 8),
	OUT_OPT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX, 8),
};
SPEC query_gid_table[] = {
	IN(UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, CONST),
	IN_OPT(UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, 4),
	OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, 0),
	OUT(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, 8),
};
SPEC query_gid_entry[] = {
	IN(UVERBS_ATTR_QUERY_GID_ENTRY_PORT, 4),
	IN(UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, 4),
	IN_OPT(UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, 4),
	OUT(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, sizeof(struct ib_uverbs_gid_entry)),
};
SPEC destroy_pd[] = { DESTROY(UVERBS_ATTR_DESTROY_PD_HANDLE, UVERBS_OBJECT_PD) };
SPEC query_pd[] = {
	READ(MLX5_IB_ATTR_QUERY_PD_HANDLE, UVERBS_OBJECT_PD),
	OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN, 4),
};
SPEC destroy_mr[] = { DESTROY(UVERBS_ATTR_DESTROY_MR_HANDLE, UVERBS_OBJECT_MR) };
SPEC advise_mr[] = {
	READ(UVERBS_ATTR_ADVISE_MR_PD_HANDLE, UVERBS_OBJECT_PD),
	IN(UVERBS_ATTR_ADVISE_MR_ADVICE, CONST),
	IN(UVERBS_ATTR_ADVISE_MR_FLAGS, 4),
	IN_FROM(UVERBS_ATTR_ADVISE_MR_SGE_LIST, sizeof(struct ib_uverbs_sge)),
};
SPEC query_mr[] = {
	READ(UVERBS_ATTR_QUERY_MR_HANDLE, UVERBS_OBJECT_MR),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LKEY, 4),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_RKEY, 4),
	OUT(UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 8),
	OUT_OPT(UVERBS_ATTR_QUERY_MR_RESP_IOVA, 8),
};
SPEC reg_dmabuf[] = {
	NEW(UVERBS_ATTR_REG_DMABUF_MR_HANDLE),
	READ(UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, UVERBS_OBJECT_PD),
	IN(UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8),
	IN(UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8),
	IN(UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8),
	IN(UVERBS_ATTR_REG_DMABUF_MR_FD, 4), /* a number, not a descriptor's attribute */
	IN(UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 4),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4),
	OUT(UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4),
};
SPEC destroy_mw[] = { DESTROY(UVERBS_ATTR_DESTROY_MW_HANDLE, UVERBS_OBJECT_MW) };
SPEC destroy_ah[] = { DESTROY(UVERBS_ATTR_DESTROY_AH_HANDLE, UVERBS_OBJECT_AH) };
SPEC create_cq[] = {
	NEW(UVERBS_ATTR_CREATE_CQ_HANDLE),
	IN(UVERBS_ATTR_CREATE_CQ_CQE, 4),
	IN(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 8),
	FD_OPT(UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, UVERBS_OBJECT_COMP_CHANNEL),
	IN(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 4),
	{ UVERBS_ATTR_CREATE_CQ_FLAGS, BF_UV_IN, true, 0, 4, 8 },
	OUT(UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4),
	FD_OPT(UVERBS_ATTR_CREATE_CQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
};
SPEC destroy_cq[] = {
	DESTROY(UVERBS_ATTR_DESTROY_CQ_HANDLE, UVERBS_OBJECT_CQ),
	OUT(UVERBS_ATTR_DESTROY_CQ_RESP, sizeof(struct ib_uverbs_destroy_cq_resp)),
};
SPEC create_qp[] = {
	NEW(UVERBS_ATTR_CREATE_QP_HANDLE),
	READ_OPT(UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, UVERBS_OBJECT_XRCD),
	READ_OPT(UVERBS_ATTR_CREATE_QP_PD_HANDLE, UVERBS_OBJECT_PD),
	READ_OPT(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, UVERBS_OBJECT_SRQ),
	READ_OPT(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, UVERBS_OBJECT_CQ),
	READ_OPT(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, UVERBS_OBJECT_CQ),
	READ_OPT(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE, UVERBS_OBJECT_RWQ_IND_TBL),
	IN(UVERBS_ATTR_CREATE_QP_USER_HANDLE, 8),
	IN(UVERBS_ATTR_CREATE_QP_CAP, sizeof(struct ib_uverbs_qp_cap)),
	IN(UVERBS_ATTR_CREATE_QP_TYPE, CONST),
	{ UVERBS_ATTR_CREATE_QP_FLAGS, BF_UV_IN, true, 0, 4, 8 },
	IN_OPT(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, 4),
	FD_OPT(UVERBS_ATTR_CREATE_QP_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
	OUT(UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(struct ib_uverbs_qp_cap)),
	OUT(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4),
};
SPEC destroy_qp[] = {
	DESTROY(UVERBS_ATTR_DESTROY_QP_HANDLE, UVERBS_OBJECT_QP),
	OUT(UVERBS_ATTR_DESTROY_QP_RESP, sizeof(struct ib_uverbs_destroy_qp_resp)),
};
SPEC create_srq[] = {
	NEW(UVERBS_ATTR_CREATE_SRQ_HANDLE),
	READ(UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, UVERBS_OBJECT_PD),
	IN(UVERBS_ATTR_CREATE_SRQ_TYPE, CONST),
	IN(UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 8),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_WR, 4),
	IN(UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 4),
	IN(UVERBS_ATTR_CREATE_SRQ_LIMIT, 4),
	READ_OPT(UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, UVERBS_OBJECT_XRCD),
	READ_OPT(UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, UVERBS_OBJECT_CQ),
	IN_OPT(UVERBS_ATTR_CREATE_SRQ_MAX_NUM_TAGS, 4),
	FD_OPT(UVERBS_ATTR_CREATE_SRQ_EVENT_FD, UVERBS_OBJECT_ASYNC_EVENT),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4),
	OUT(UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4),
	OUT_OPT(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4),
};
SPEC destroy_srq[] = {
	DESTROY(UVERBS_ATTR_DESTROY_SRQ_HANDLE, UVERBS_OBJECT_SRQ),
	OUT(UVERBS_ATTR_DESTROY_SRQ_RESP, sizeof(struct ib_uverbs_destroy_srq_resp)),
};
SPEC alloc_async[] = { FD_NEW(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE) };

SPEC alloc_uar[] = {
	NEW(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE),         IN(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, CONST),
	OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, 8), OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, 4),
	OUT(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, 4),
};
SPEC destroy_uar[] = { DESTROY(MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_UAR) };
SPEC devx_other[] = {
	IN_FROM(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, CMD_MIN),
	OUT(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, CMD_MIN),
};
SPEC devx_query_uar[] = {
	IN(MLX5_IB_ATTR_DEVX_QUERY_UAR_USER_IDX, 4),
	OUT(MLX5_IB_ATTR_DEVX_QUERY_UAR_DEV_IDX, 4),
};
SPEC devx_query_eqn[] = {
	IN(MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, 4),
	OUT(MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, 4),
};
SPEC devx_subscribe[] = {
	FD(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD),
	READ_OPT(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ),
	IN_FROM(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, 2),
	IN_OPT(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, 8),
	RAW_FD_OPT(MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM),
};
SPEC devx_create[] = {
	NEW(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE),
	IN_FROM(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, CMD_MIN),
	OUT(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, CMD_MIN),
};
SPEC devx_destroy[] = { DESTROY(MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE, MLX5_IB_OBJECT_DEVX_OBJ) };
SPEC devx_modify[] = {
	READ(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE, BF_UV_ANY),
	IN_FROM(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, CMD_MIN),
	OUT(MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT, CMD_MIN),
};
SPEC devx_query[] = {
	READ(MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE, BF_UV_ANY),
	IN_FROM(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, CMD_MIN),
	OUT(MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT, CMD_MIN),
};
SPEC devx_query_async[] = {
	READ(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, BF_UV_ANY),
	IN_FROM(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, CMD_MIN),
	FD(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD),
	IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, 8),
	IN(MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, 2),
};
SPEC umem_reg[] = {
	NEW(MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, 8),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, 8),
	IN(MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, 4),
	IN_OPT(MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, 8),
	RAW_FD_OPT(MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD),
	OUT(MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4),
};
SPEC umem_dereg[] = { DESTROY(MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE, MLX5_IB_OBJECT_DEVX_UMEM) };
SPEC devx_cmd_fd[] = { FD_NEW(MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE) };
SPEC devx_event_fd[] = {
	FD_NEW(MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE),
	{ MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, BF_UV_IN, true, 0, 4, 8 },
};

#define METHOD(object, method, name, run, specs)                                                                       \
	{                                                                                                              \
		object, method, name, run, specs, BF_ARRAY_LEN(specs), false                                           \
	}
#define WITH_UHW(object, method, name, run, specs)                                                                     \
	{                                                                                                              \
		object, method, name, run, specs, BF_ARRAY_LEN(specs), true                                            \
	}
/* Refused before anything is read. */
#define REFUSE(object, method, name)                                                                                   \
	{                                                                                                              \
		object, method, name, bf_uv_refuse, NULL, 0, true                                                      \
	}

static const struct bf_uv_method methods[] = {
	WITH_UHW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, "invoke_write", bf_uv_invoke_write, invoke_write),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INFO_HANDLES, "info_handles", bf_uv_info_handles, info_handles),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, "query_port", bf_uv_query_port, query_port),
	WITH_UHW(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, "get_context", bf_uv_get_context, get_context),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_CONTEXT, "query_context", bf_uv_query_context,
	       query_context), /* its driver attribute has the number of UHW_IN */
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_TABLE, "query_gid_table", bf_uv_query_gid_table,
	       query_gid_table),
	METHOD(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_GID_ENTRY, "query_gid_entry", bf_uv_query_gid_entry,
	       query_gid_entry),
	METHOD(UVERBS_OBJECT_DEVICE, MLX5_IB_METHOD_QUERY_PORT, "query_port_mlx5", bf_uv_query_port_mlx5,
	       query_port_mlx5),
	METHOD(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, "dealloc_pd", NULL, destroy_pd),
	METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY, "query_pd", bf_uv_query_pd, query_pd),
	WITH_UHW(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, "create_cq", bf_uv_create_cq, create_cq),
	METHOD(UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, "destroy_cq", bf_uv_destroy_cq, destroy_cq),
	WITH_UHW(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, "create_qp", bf_uv_create_qp, create_qp),
	METHOD(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, "destroy_qp", bf_uv_destroy_qp, destroy_qp),
	WITH_UHW(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, "create_srq", bf_uv_create_srq, create_srq),
	METHOD(UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, "destroy_srq", bf_uv_destroy_srq, destroy_srq),
	METHOD(UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, "destroy_ah", NULL, destroy_ah),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, "dereg_mr", NULL, destroy_mr),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_ADVISE_MR, "advise_mr", bf_uv_advise_mr, advise_mr),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_QUERY_MR, "query_mr", bf_uv_query_mr, query_mr),
	METHOD(UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, "reg_dmabuf_mr", bf_uv_reg_dmabuf_mr, reg_dmabuf),
	REFUSE(UVERBS_OBJECT_MR, UVERBS_METHOD_DM_MR_REG, "reg_dm_mr"),
	METHOD(UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, "dealloc_mw", NULL, destroy_mw),
	REFUSE(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, "alloc_dm"),
	REFUSE(UVERBS_OBJECT_COUNTERS, UVERBS_METHOD_COUNTERS_CREATE, "create_counters"),
	REFUSE(UVERBS_OBJECT_WQ, UVERBS_METHOD_WQ_CREATE, "create_wq"),
	REFUSE(UVERBS_OBJECT_FLOW_ACTION, UVERBS_METHOD_FLOW_ACTION_ESP_CREATE, "create_flow_action"),
	METHOD(UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, "alloc_async_event", bf_uv_alloc_async,
	       alloc_async),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, "devx_general", bf_uv_devx_other, devx_other),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_UAR, "devx_query_uar", bf_uv_devx_query_uar,
	       devx_query_uar),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN, "devx_query_eqn", bf_uv_devx_query_eqn,
	       devx_query_eqn),
	METHOD(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT, "devx_subscribe", bf_uv_devx_subscribe,
	       devx_subscribe),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, "devx_create", bf_uv_devx_create, devx_create),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, "devx_destroy", NULL, devx_destroy),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, "devx_modify", bf_uv_devx_modify, devx_modify),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, "devx_query", bf_uv_devx_query, devx_query),
	METHOD(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY, "devx_query_async", bf_uv_devx_query_async,
	       devx_query_async),
	METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG, "umem_reg", bf_uv_umem_reg, umem_reg),
	METHOD(MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, "umem_dereg", NULL, umem_dereg),
	METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC, "devx_cmd_fd",
	       bf_uv_devx_cmd_fd, devx_cmd_fd),
	METHOD(MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC, "devx_event_fd",
	       bf_uv_devx_event_fd, devx_event_fd),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, "alloc_uar", bf_uv_alloc_uar, alloc_uar),
	METHOD(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, "destroy_uar", NULL, destroy_uar),
	REFUSE(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC, "alloc_var"),
	REFUSE(MLX5_IB_OBJECT_PP, MLX5_IB_METHOD_PP_OBJ_ALLOC, "alloc_pp"),
	REFUSE(MLX5_IB_OBJECT_FLOW_MATCHER, MLX5_IB_METHOD_FLOW_MATCHER_CREATE, "create_flow_matcher"),
	REFUSE(MLX5_IB_OBJECT_STEERING_ANCHOR, MLX5_IB_METHOD_STEERING_ANCHOR_CREATE, "create_steering_anchor"),
};

const struct bf_uv_method *bf_uv_method_find(uint16_t object, uint16_t method)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(methods); i++)
		if (methods[i].object == object && methods[i].method == method)
			return &methods[i];
	return NULL;
}
