#include "models/uverbs/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(uverbs_call, type, name, kind, unit)
BF_RECORD_DEFINE(uverbs_call, BF_REC_UVERBS_CALL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(uverbs_unknown, type, name, kind, unit)
BF_RECORD_DEFINE(uverbs_unknown, BF_REC_UVERBS_UNKNOWN_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(uverbs_event, type, name, kind, unit)
BF_RECORD_DEFINE(uverbs_event, BF_REC_UVERBS_EVENT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(uverbs_mr, type, name, kind, unit)
BF_RECORD_DEFINE(uverbs_mr, BF_REC_UVERBS_MR_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(uverbs_qp1, type, name, kind, unit)
BF_RECORD_DEFINE(uverbs_qp1, BF_REC_UVERBS_QP1_FIELDS(F));
#undef F
