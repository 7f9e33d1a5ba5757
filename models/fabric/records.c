#include "models/fabric/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(packet, type, name, kind, unit)
BF_RECORD_DEFINE(packet, BF_REC_PACKET_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(link, type, name, kind, unit)
BF_RECORD_DEFINE(link, BF_REC_LINK_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(hop, type, name, kind, unit)
BF_RECORD_DEFINE(hop, BF_REC_HOP_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(pause, type, name, kind, unit)
BF_RECORD_DEFINE(pause, BF_REC_PAUSE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(reroute, type, name, kind, unit)
BF_RECORD_DEFINE(reroute, BF_REC_REROUTE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(link_load, type, name, kind, unit)
BF_RECORD_DEFINE(link_load, BF_REC_LINK_LOAD_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(rate, type, name, kind, unit)
BF_RECORD_DEFINE(rate, BF_REC_RATE_FIELDS(F));
#undef F
