#include "models/mlx5/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(doorbell, type, name, kind, unit)
BF_RECORD_DEFINE(doorbell, BF_REC_DOORBELL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(wqe_fetch, type, name, kind, unit)
BF_RECORD_DEFINE(wqe_fetch, BF_REC_WQE_FETCH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(wqe_start, type, name, kind, unit)
BF_RECORD_DEFINE(wqe_start, BF_REC_WQE_START_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(wqe_done, type, name, kind, unit)
BF_RECORD_DEFINE(wqe_done, BF_REC_WQE_DONE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cqe, type, name, kind, unit)
BF_RECORD_DEFINE(cqe, BF_REC_CQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(recv_wqe_fetch, type, name, kind, unit)
BF_RECORD_DEFINE(recv_wqe_fetch, BF_REC_RECV_WQE_FETCH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(qp_state, type, name, kind, unit)
BF_RECORD_DEFINE(qp_state, BF_REC_QP_STATE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(mkey_error, type, name, kind, unit)
BF_RECORD_DEFINE(mkey_error, BF_REC_MKEY_ERROR_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(qp_error, type, name, kind, unit)
BF_RECORD_DEFINE(qp_error, BF_REC_QP_ERROR_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(retransmit, type, name, kind, unit)
BF_RECORD_DEFINE(retransmit, BF_REC_RETRANSMIT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cmd, type, name, kind, unit)
BF_RECORD_DEFINE(cmd, BF_REC_CMD_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dbrec, type, name, kind, unit)
BF_RECORD_DEFINE(dbrec, BF_REC_DBREC_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cq_arm, type, name, kind, unit)
BF_RECORD_DEFINE(cq_arm, BF_REC_CQ_ARM_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cq_event, type, name, kind, unit)
BF_RECORD_DEFINE(cq_event, BF_REC_CQ_EVENT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(rx_drop, type, name, kind, unit)
BF_RECORD_DEFINE(rx_drop, BF_REC_RX_DROP_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nak_sent, type, name, kind, unit)
BF_RECORD_DEFINE(nak_sent, BF_REC_NAK_SENT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(request_done, type, name, kind, unit)
BF_RECORD_DEFINE(request_done, BF_REC_REQUEST_DONE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(qp_config, type, name, kind, unit)
BF_RECORD_DEFINE(qp_config, BF_REC_QP_CONFIG_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cq_config, type, name, kind, unit)
BF_RECORD_DEFINE(cq_config, BF_REC_CQ_CONFIG_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(qp_path, type, name, kind, unit)
BF_RECORD_DEFINE(qp_path, BF_REC_QP_PATH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dc_wqe, type, name, kind, unit)
BF_RECORD_DEFINE(dc_wqe, BF_REC_DC_WQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dc_connection, type, name, kind, unit)
BF_RECORD_DEFINE(dc_connection, BF_REC_DC_CONNECTION_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dc_context, type, name, kind, unit)
BF_RECORD_DEFINE(dc_context, BF_REC_DC_CONTEXT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dct_state, type, name, kind, unit)
BF_RECORD_DEFINE(dct_state, BF_REC_DCT_STATE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dc_cnak, type, name, kind, unit)
BF_RECORD_DEFINE(dc_cnak, BF_REC_DC_CNAK_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(dci_stream, type, name, kind, unit)
BF_RECORD_DEFINE(dci_stream, BF_REC_DCI_STREAM_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ud_wqe, type, name, kind, unit)
BF_RECORD_DEFINE(ud_wqe, BF_REC_UD_WQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(umr, type, name, kind, unit)
BF_RECORD_DEFINE(umr, BF_REC_UMR_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(eq_config, type, name, kind, unit)
BF_RECORD_DEFINE(eq_config, BF_REC_EQ_CONFIG_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(eqe, type, name, kind, unit)
BF_RECORD_DEFINE(eqe, BF_REC_EQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(eq_update, type, name, kind, unit)
BF_RECORD_DEFINE(eq_update, BF_REC_EQ_UPDATE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(srq_config, type, name, kind, unit)
BF_RECORD_DEFINE(srq_config, BF_REC_SRQ_CONFIG_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(srq_take, type, name, kind, unit)
BF_RECORD_DEFINE(srq_take, BF_REC_SRQ_TAKE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cq_resize, type, name, kind, unit)
BF_RECORD_DEFINE(cq_resize, BF_REC_CQ_RESIZE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cmd_entry, type, name, kind, unit)
BF_RECORD_DEFINE(cmd_entry, BF_REC_CMD_ENTRY_FIELDS(F));
#undef F
