#include "models/gpu/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_bo, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_bo, BF_REC_GPU_BO_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_arrived, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_arrived, BF_REC_GPU_ARRIVED_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_visible, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_visible, BF_REC_GPU_VISIBLE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_stale_load, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_stale_load, BF_REC_GPU_STALE_LOAD_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_invalidate, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_invalidate, BF_REC_GPU_INVALIDATE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_write_back, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_write_back, BF_REC_GPU_WRITE_BACK_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_late_store, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_late_store, BF_REC_GPU_LATE_STORE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_register, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_register, BF_REC_GPU_REGISTER_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(gpu_stray_write, type, name, kind, unit)
BF_RECORD_DEFINE(gpu_stray_write, BF_REC_GPU_STRAY_WRITE_FIELDS(F));
#undef F
