#include "drivers/ibgda/shmem_records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(shmem_call, type, name, kind, unit)
BF_RECORD_DEFINE(shmem_call, BF_REC_SHMEM_CALL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(shmem_waited, type, name, kind, unit)
BF_RECORD_DEFINE(shmem_waited, BF_REC_SHMEM_WAITED_FIELDS(F));
#undef F
