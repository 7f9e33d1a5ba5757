#include "drivers/sdma/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_reserve, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_reserve, BF_REC_SDMA_RESERVE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_publish, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_publish, BF_REC_SDMA_PUBLISH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_waited, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_waited, BF_REC_SDMA_WAITED_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_surface, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_surface, BF_REC_SDMA_SURFACE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_mismatch, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_mismatch, BF_REC_SDMA_MISMATCH_FIELDS(F));
#undef F
