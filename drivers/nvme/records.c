#include "drivers/nvme/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_build, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_build, BF_REC_NVM_BUILD_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_ring, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_ring, BF_REC_NVM_RING_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_completion, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_completion, BF_REC_NVM_COMPLETION_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_timeout, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_timeout, BF_REC_NVM_TIMEOUT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_step, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_step, BF_REC_NVM_STEP_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvm_mismatch, type, name, kind, unit)
BF_RECORD_DEFINE(nvm_mismatch, BF_REC_NVM_MISMATCH_FIELDS(F));
#undef F
