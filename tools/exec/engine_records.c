#include "tools/exec/engine_records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_start, type, name, kind, unit)
BF_RECORD_DEFINE(exec_start, BF_REC_EXEC_START_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_slot, type, name, kind, unit)
BF_RECORD_DEFINE(exec_slot, BF_REC_EXEC_SLOT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_store, type, name, kind, unit)
BF_RECORD_DEFINE(exec_store, BF_REC_EXEC_STORE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_page, type, name, kind, unit)
BF_RECORD_DEFINE(exec_page, BF_REC_EXEC_PAGE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_missing, type, name, kind, unit)
BF_RECORD_DEFINE(exec_missing, BF_REC_EXEC_MISSING_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_image, type, name, kind, unit)
BF_RECORD_DEFINE(exec_image, BF_REC_EXEC_IMAGE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(exec_patch, type, name, kind, unit)
BF_RECORD_DEFINE(exec_patch, BF_REC_EXEC_PATCH_FIELDS(F));
#undef F
