#include "models/nvme/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_doorbell, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_doorbell, BF_REC_NVME_DOORBELL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_fetch, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_fetch, BF_REC_NVME_FETCH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_start, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_start, BF_REC_NVME_START_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_completion, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_completion, BF_REC_NVME_COMPLETION_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_held, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_held, BF_REC_NVME_HELD_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_state, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_state, BF_REC_NVME_STATE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_driver_error, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_driver_error, BF_REC_NVME_DRIVER_ERROR_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_event, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_event, BF_REC_NVME_EVENT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_interrupt, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_interrupt, BF_REC_NVME_INTERRUPT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(nvme_queue, type, name, kind, unit)
BF_RECORD_DEFINE(nvme_queue, BF_REC_NVME_QUEUE_FIELDS(F));
#undef F
