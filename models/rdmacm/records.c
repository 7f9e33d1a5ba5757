#include "models/rdmacm/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(cm_message, type, name, kind, unit)
BF_RECORD_DEFINE(cm_message, BF_REC_CM_MESSAGE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cm_event, type, name, kind, unit)
BF_RECORD_DEFINE(cm_event, BF_REC_CM_EVENT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(cm_call, type, name, kind, unit)
BF_RECORD_DEFINE(cm_call, BF_REC_CM_CALL_FIELDS(F));
#undef F
