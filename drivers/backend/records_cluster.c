#include "drivers/backend/records_cluster.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_label, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_label, BF_REC_HOPPER_LABEL_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_init_fence, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_init_fence, BF_REC_HOPPER_INIT_FENCE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_hazard, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_hazard, BF_REC_HOPPER_HAZARD_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hopper_standing, type, name, kind, unit)
BF_RECORD_DEFINE(hopper_standing, BF_REC_HOPPER_STANDING_FIELDS(F));
#undef F
