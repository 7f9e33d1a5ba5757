#include "sim/records_io.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(region, type, name, kind, unit)
BF_RECORD_DEFINE(region, BF_REC_REGION_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(mmio_arrive, type, name, kind, unit)
BF_RECORD_DEFINE(mmio_arrive, BF_REC_MMIO_ARRIVE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(mmio_load, type, name, kind, unit)
BF_RECORD_DEFINE(mmio_load, BF_REC_MMIO_LOAD_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(dma_read, type, name, kind, unit)
BF_RECORD_DEFINE(dma_read, BF_REC_DMA_READ_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(dma_write, type, name, kind, unit)
BF_RECORD_DEFINE(dma_write, BF_REC_DMA_WRITE_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(dma_rmw, type, name, kind, unit)
BF_RECORD_DEFINE(dma_rmw, BF_REC_DMA_RMW_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(iommu_fault, type, name, kind, unit)
BF_RECORD_DEFINE(iommu_fault, BF_REC_IOMMU_FAULT_FIELDS(F));
#undef F

#define F(type, name, kind, unit) BF_RECORD_FIELD_(fault_injected, type, name, kind, unit)
BF_RECORD_DEFINE(fault_injected, BF_REC_FAULT_INJECTED_FIELDS(F));
#undef F
