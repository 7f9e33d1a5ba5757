#include "models/fabric/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(packet, type, name, kind, unit)
BF_RECORD_DEFINE(packet, BF_REC_PACKET_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(link, type, name, kind, unit)
BF_RECORD_DEFINE(link, BF_REC_LINK_FIELDS(F));
#undef F
