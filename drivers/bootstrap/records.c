#include "drivers/bootstrap/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(boot_call, type, name, kind, unit)
BF_RECORD_DEFINE(boot_call, BF_REC_BOOT_CALL_FIELDS(F));
#undef F
