#include "drivers/ibgda/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_reserve, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_reserve, BF_REC_IBGDA_RESERVE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_build, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_build, BF_REC_IBGDA_BUILD_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_publish, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_publish, BF_REC_IBGDA_PUBLISH_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_post, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_post, BF_REC_IBGDA_POST_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_poll, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_poll, BF_REC_IBGDA_POLL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_quiet, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_quiet, BF_REC_IBGDA_QUIET_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_handoff, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_handoff, BF_REC_IBGDA_HANDOFF_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_move, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_move, BF_REC_IBGDA_MOVE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_replay, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_replay, BF_REC_IBGDA_REPLAY_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_consume, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_consume, BF_REC_IBGDA_CONSUME_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_astray, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_astray, BF_REC_IBGDA_ASTRAY_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_result, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_result, BF_REC_IBGDA_RESULT_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ibgda_ibuf, type, name, kind, unit)
BF_RECORD_DEFINE(ibgda_ibuf, BF_REC_IBGDA_IBUF_FIELDS(F));
#undef F
