#include "models/sdma/records.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_queue, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_queue, BF_REC_SDMA_QUEUE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_doorbell, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_doorbell, BF_REC_SDMA_DOORBELL_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_fetch, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_fetch, BF_REC_SDMA_FETCH_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_packet, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_packet, BF_REC_SDMA_PACKET_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_copied, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_copied, BF_REC_SDMA_COPIED_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_piece, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_piece, BF_REC_SDMA_PIECE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_rptr, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_rptr, BF_REC_SDMA_RPTR_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_fault, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_fault, BF_REC_SDMA_FAULT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_suspect, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_suspect, BF_REC_SDMA_SUSPECT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(sdma_result, type, name, kind, unit)
BF_RECORD_DEFINE(sdma_result, BF_REC_SDMA_RESULT_FIELDS(F));
#undef F
