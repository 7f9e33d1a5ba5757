#include "drivers/ibgda/ll_records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(ll_cast, type, name, kind, unit)
BF_RECORD_DEFINE(ll_cast, BF_REC_LL_CAST_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ll_send, type, name, kind, unit)
BF_RECORD_DEFINE(ll_send, BF_REC_LL_SEND_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ll_count, type, name, kind, unit)
BF_RECORD_DEFINE(ll_count, BF_REC_LL_COUNT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ll_recv, type, name, kind, unit)
BF_RECORD_DEFINE(ll_recv, BF_REC_LL_RECV_FIELDS(F));
#undef F
