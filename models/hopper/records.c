#include "models/hopper/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_op, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_op, BF_REC_HOPPER_OP_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_wait, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_wait, BF_REC_HOPPER_WAIT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_cache, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_cache, BF_REC_HOPPER_CACHE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_remote, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_remote, BF_REC_HOPPER_REMOTE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_cta, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_cta, BF_REC_HOPPER_CTA_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_fault, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_fault, BF_REC_HOPPER_FAULT_FIELDS(F));
#undef F
