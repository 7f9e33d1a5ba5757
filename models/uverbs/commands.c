/* The write commands: sizes as in Linux include/uapi/rdma/ib_user_verbs.h, which the kernel's table repeats. */
#include "models/uverbs/uverbs_internal.h"

/* `last_in` is the last member that a request must have, `last_out` that of an answer. */
#define END(type, last) ((uint16_t)(offsetof(struct type, last) + sizeof(((struct type *)0)->last)))
#define CMD(n) IB_USER_VERBS_CMD_##n
#define EX(n) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##n)

static const struct bf_uv_command commands[] = {
	{ CMD(GET_CONTEXT), END(ib_uverbs_get_context, response), END(ib_uverbs_get_context_resp, num_comp_vectors),
	  true, "get_context", bf_uv_get_context_write },
	{ CMD(QUERY_DEVICE), END(ib_uverbs_query_device, response), END(ib_uverbs_query_device_resp, reserved), false,
	  "query_device", bf_uv_query_device },
	{ CMD(QUERY_PORT), END(ib_uverbs_query_port, reserved), END(ib_uverbs_query_port_resp, reserved), false,
	  "query_port", bf_uv_query_port_write },
	{ CMD(ALLOC_PD), END(ib_uverbs_alloc_pd, response), END(ib_uverbs_alloc_pd_resp, pd_handle), true, "alloc_pd",
	  bf_uv_alloc_pd },
	{ CMD(DEALLOC_PD), END(ib_uverbs_dealloc_pd, pd_handle), 0, false, "dealloc_pd", bf_uv_dealloc_pd },
	{ CMD(CREATE_AH), END(ib_uverbs_create_ah, attr), END(ib_uverbs_create_ah_resp, ah_handle), true, "create_ah",
	  bf_uv_create_ah },
	{ CMD(DESTROY_AH), END(ib_uverbs_destroy_ah, ah_handle), 0, false, "destroy_ah", bf_uv_destroy_ah },
	{ CMD(REG_MR), END(ib_uverbs_reg_mr, access_flags), END(ib_uverbs_reg_mr_resp, rkey), true, "reg_mr",
	  bf_uv_reg_mr },
	{ CMD(REREG_MR), END(ib_uverbs_rereg_mr, access_flags), END(ib_uverbs_rereg_mr_resp, rkey), true, "rereg_mr",
	  bf_uv_rereg_mr },
	{ CMD(DEREG_MR), END(ib_uverbs_dereg_mr, mr_handle), 0, false, "dereg_mr", bf_uv_dereg_mr },
	{ CMD(ALLOC_MW), END(ib_uverbs_alloc_mw, reserved), END(ib_uverbs_alloc_mw_resp, rkey), true, "alloc_mw",
	  bf_uv_alloc_mw },
	{ CMD(DEALLOC_MW), END(ib_uverbs_dealloc_mw, mw_handle), 0, false, "dealloc_mw", bf_uv_dealloc_mw },
	{ CMD(CREATE_COMP_CHANNEL), END(ib_uverbs_create_comp_channel, response),
	  END(ib_uverbs_create_comp_channel_resp, fd), false, "create_comp_channel", bf_uv_create_comp_channel },
	{ CMD(CREATE_CQ), END(ib_uverbs_create_cq, reserved), END(ib_uverbs_create_cq_resp, cqe), true, "create_cq",
	  bf_uv_create_cq_write },
	{ CMD(RESIZE_CQ), END(ib_uverbs_resize_cq, cqe), END(ib_uverbs_resize_cq_resp, cqe), true, "resize_cq",
	  bf_uv_resize_cq },
	{ CMD(DESTROY_CQ), END(ib_uverbs_destroy_cq, cq_handle), END(ib_uverbs_destroy_cq_resp, async_events_reported),
	  false, "destroy_cq", bf_uv_destroy_cq_write },
	{ CMD(CREATE_QP), END(ib_uverbs_create_qp, reserved), END(ib_uverbs_create_qp_resp, reserved), true,
	  "create_qp", bf_uv_create_qp_write },
	{ CMD(QUERY_QP), END(ib_uverbs_query_qp, attr_mask), END(ib_uverbs_query_qp_resp, reserved), false, "query_qp",
	  bf_uv_query_qp },
	{ CMD(MODIFY_QP), END(ib_uverbs_modify_qp, reserved), 0, false, "modify_qp", bf_uv_modify_qp },
	{ CMD(DESTROY_QP), END(ib_uverbs_destroy_qp, qp_handle), END(ib_uverbs_destroy_qp_resp, events_reported), false,
	  "destroy_qp", bf_uv_destroy_qp_write },
	{ CMD(ATTACH_MCAST), END(ib_uverbs_attach_mcast, mlid), 0, false, "attach_mcast", bf_uv_attach_mcast },
	{ CMD(DETACH_MCAST), END(ib_uverbs_detach_mcast, mlid), 0, false, "detach_mcast", bf_uv_detach_mcast },
	{ CMD(CREATE_SRQ), END(ib_uverbs_create_srq, srq_limit), END(ib_uverbs_create_srq_resp, srqn), true,
	  "create_srq", bf_uv_create_srq_write },
	{ CMD(MODIFY_SRQ), END(ib_uverbs_modify_srq, srq_limit), 0, true, "modify_srq", bf_uv_modify_srq },
	{ CMD(QUERY_SRQ), END(ib_uverbs_query_srq, srq_handle), END(ib_uverbs_query_srq_resp, reserved), false,
	  "query_srq", bf_uv_query_srq },
	{ CMD(DESTROY_SRQ), END(ib_uverbs_destroy_srq, srq_handle), END(ib_uverbs_destroy_srq_resp, events_reported),
	  false, "destroy_srq", bf_uv_destroy_srq_write },
	{ CMD(OPEN_XRCD), END(ib_uverbs_open_xrcd, oflags), END(ib_uverbs_open_xrcd_resp, xrcd_handle), true,
	  "open_xrcd", bf_uv_open_xrcd },
	{ CMD(OPEN_QP), END(ib_uverbs_open_qp, qp_type), END(ib_uverbs_create_qp_resp, qpn), true, "open_qp",
	  bf_uv_open_qp },
	{ CMD(CLOSE_XRCD), END(ib_uverbs_close_xrcd, xrcd_handle), 0, false, "close_xrcd", bf_uv_close_xrcd },
	{ CMD(CREATE_XSRQ), END(ib_uverbs_create_xsrq, cq_handle), END(ib_uverbs_create_srq_resp, srqn), true,
	  "create_xsrq", bf_uv_create_xsrq },
	{ EX(QUERY_DEVICE), END(ib_uverbs_ex_query_device, reserved),
	  END(ib_uverbs_ex_query_device_resp, response_length), true, "query_device_ex", bf_uv_query_device_ex },
	{ EX(CREATE_CQ), END(ib_uverbs_ex_create_cq, reserved), END(ib_uverbs_ex_create_cq_resp, response_length), true,
	  "create_cq_ex", bf_uv_create_cq_ex },
	{ EX(CREATE_QP), END(ib_uverbs_ex_create_qp, comp_mask), END(ib_uverbs_ex_create_qp_resp, response_length),
	  true, "create_qp_ex", bf_uv_create_qp_ex },
	{ EX(MODIFY_QP), sizeof(struct ib_uverbs_modify_qp), END(ib_uverbs_ex_modify_qp_resp, response_length), true,
	  "modify_qp_ex", bf_uv_modify_qp_ex },
	{ EX(CREATE_FLOW), END(ib_uverbs_create_flow, flow_attr), END(ib_uverbs_create_flow_resp, flow_handle), false,
	  "create_flow", bf_uv_create_flow },
	{ EX(DESTROY_FLOW), END(ib_uverbs_destroy_flow, flow_handle), 0, false, "destroy_flow", bf_uv_destroy_flow },
	{ EX(CREATE_WQ), END(ib_uverbs_ex_create_wq, max_sge), END(ib_uverbs_ex_create_wq_resp, wqn), true, "create_wq",
	  bf_uv_create_wq },
	{ EX(MODIFY_WQ), END(ib_uverbs_ex_modify_wq, curr_wq_state), 0, true, "modify_wq", bf_uv_modify_wq },
	{ EX(DESTROY_WQ), END(ib_uverbs_ex_destroy_wq, wq_handle), END(ib_uverbs_ex_destroy_wq_resp, reserved), false,
	  "destroy_wq", bf_uv_destroy_wq },
	{ EX(CREATE_RWQ_IND_TBL), END(ib_uverbs_ex_create_rwq_ind_table, log_ind_tbl_size),
	  END(ib_uverbs_ex_create_rwq_ind_table_resp, ind_tbl_num), true, "create_rwq_ind_table",
	  bf_uv_create_rwq_ind_table },
	{ EX(DESTROY_RWQ_IND_TBL), END(ib_uverbs_ex_destroy_rwq_ind_table, ind_tbl_handle), 0, false,
	  "destroy_rwq_ind_table", bf_uv_destroy_rwq_ind_table },
	{ EX(MODIFY_CQ), END(ib_uverbs_ex_modify_cq, reserved), 0, false, "modify_cq", bf_uv_modify_cq },
};

const struct bf_uv_command *bf_uv_command_find(uint32_t number)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(commands); i++)
		if (commands[i].number == number)
			return &commands[i];
	return NULL;
}
