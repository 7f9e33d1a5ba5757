#include "sim/records_agent.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(agent_start, type, name, kind, unit)
BF_RECORD_DEFINE(agent_start, BF_REC_AGENT_START_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(agent_wait, type, name, kind, unit)
BF_RECORD_DEFINE(agent_wait, BF_REC_AGENT_WAIT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(agent_wake, type, name, kind, unit)
BF_RECORD_DEFINE(agent_wake, BF_REC_AGENT_WAKE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(agent_end, type, name, kind, unit)
BF_RECORD_DEFINE(agent_end, BF_REC_AGENT_END_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(deadlock, type, name, kind, unit)
BF_RECORD_DEFINE(deadlock, BF_REC_DEADLOCK_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(store, type, name, kind, unit)
BF_RECORD_DEFINE(store, BF_REC_STORE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(store_visible, type, name, kind, unit)
BF_RECORD_DEFINE(store_visible, BF_REC_STORE_VISIBLE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(load, type, name, kind, unit)
BF_RECORD_DEFINE(load, BF_REC_LOAD_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(fence, type, name, kind, unit)
BF_RECORD_DEFINE(fence, BF_REC_FENCE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(atomic, type, name, kind, unit)
BF_RECORD_DEFINE(atomic, BF_REC_ATOMIC_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(mmio_store, type, name, kind, unit)
BF_RECORD_DEFINE(mmio_store, BF_REC_MMIO_STORE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(wc_evict, type, name, kind, unit)
BF_RECORD_DEFINE(wc_evict, BF_REC_WC_EVICT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(stale_load, type, name, kind, unit)
BF_RECORD_DEFINE(stale_load, BF_REC_STALE_LOAD_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(where, type, name, kind, unit)
BF_RECORD_DEFINE(where, BF_REC_WHERE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(image, type, name, kind, unit)
BF_RECORD_DEFINE(image, BF_REC_IMAGE_FIELDS(F));
#undef F
