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
