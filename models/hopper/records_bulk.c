#include "models/hopper/records_bulk.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_bulk, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_bulk, BF_REC_HOPPER_BULK_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_bulk_piece, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_bulk_piece, BF_REC_HOPPER_BULK_PIECE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_bulk_signal, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_bulk_signal, BF_REC_HOPPER_BULK_SIGNAL_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_bulk_end, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_bulk_end, BF_REC_HOPPER_BULK_END_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_group, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_group, BF_REC_HOPPER_GROUP_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_stale_read, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_stale_read, BF_REC_HOPPER_STALE_READ_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_proxy_fence, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_proxy_fence, BF_REC_HOPPER_PROXY_FENCE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_bulk_fault, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_bulk_fault, BF_REC_HOPPER_BULK_FAULT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_ldgsts, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_ldgsts, BF_REC_HOPPER_LDGSTS_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_ldgsts_arrive, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_ldgsts_arrive, BF_REC_HOPPER_LDGSTS_ARRIVE_FIELDS(F));
#undef F
