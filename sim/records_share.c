#include "sim/records_share.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(dmabuf, type, name, kind, unit)
BF_RECORD_DEFINE(dmabuf, BF_REC_DMABUF_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(iommufd, type, name, kind, unit)
BF_RECORD_DEFINE(iommufd, BF_REC_IOMMUFD_FIELDS(F));
#undef F
