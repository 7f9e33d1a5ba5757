/*
 * Records of memory, links, DMA and faults (type numbers 40 to 79).
 *
 * Times inside the fixed parts are absolute. Payloads of at most BF_DMA_INLINE_MAX bytes (completions, doorbell
 * records, WQEs, doorbells) travel as the record's tail; longer ones are left out.
 */
#ifndef BELFRY_SIM_RECORDS_IO_H
#define BELFRY_SIM_RECORDS_IO_H

#include "sim/record.h"

/* A memory region: which simulated addresses are what. Emitted on creation and by bf_space_describe(). */
#define BF_REC_REGION_FIELDS(F)                                                                                        \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, size, DEC, "B")                                                                                         \
	F(u32, kind, ENUM, "0=dram;1=vram;2=mmio")                                                                     \
	F(u32, id, DEC, "")                                                                                            \
	F(text32, name, TEXT, "")                                                                                      \
	F(text32, space, TEXT, "")
BF_RECORD_DECLARE(region, 40, BF_CLASS_META, BF_REC_REGION_FIELDS);

/* A store reached the device. The actor is the link (none for a region without one); the tail is what was stored. */
#define BF_REC_MMIO_ARRIVE_FIELDS(F)                                                                                   \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, offset, HEX, "")                                                                                        \
	F(u32, region, DEC, "")                                                                                        \
	F(u32, len, DEC, "B")
BF_RECORD_DECLARE(mmio_arrive, 41, BF_CLASS_MMIO, BF_REC_MMIO_ARRIVE_FIELDS);

/* A load of a device register: what it returned, and when the processor has it. */
#define BF_REC_MMIO_LOAD_FIELDS(F)                                                                                     \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, done_ps, TIME, "")                                                                                      \
	F(u32, region, DEC, "")                                                                                        \
	F(u32, len, DEC, "B")
BF_RECORD_DECLARE(mmio_load, 42, BF_CLASS_MMIO, BF_REC_MMIO_LOAD_FIELDS);

/* A DMA read sampled memory; its data are at the device at `done_ps`. */
#define BF_REC_DMA_READ_FIELDS(F)                                                                                      \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, done_ps, TIME, "")                                                                                      \
	F(u32, len, DEC, "B")                                                                                          \
	F(i32, status, INT, "")
BF_RECORD_DECLARE(dma_read, 43, BF_CLASS_DMA, BF_REC_DMA_READ_FIELDS);

/* A posted DMA write changed memory; one record for each contiguous run of its target. */
#define BF_REC_DMA_WRITE_FIELDS(F)                                                                                     \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, flags, HEX, "")
BF_RECORD_DECLARE(dma_write, 44, BF_CLASS_DMA, BF_REC_DMA_WRITE_FIELDS);

/* A device's atomic changed memory: up to the first eight bytes before and after, as the host's order reads them. */
#define BF_REC_DMA_RMW_FIELDS(F)                                                                                       \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, before, HEX, "")                                                                                        \
	F(u64, after, HEX, "")                                                                                         \
	F(u64, done_ps, TIME, "")                                                                                      \
	F(u32, len, DEC, "B")                                                                                          \
	F(i32, status, INT, "")
BF_RECORD_DECLARE(dma_rmw, 45, BF_CLASS_DMA, BF_REC_DMA_RMW_FIELDS);

/* A translation that failed. The actor is the device. */
#define BF_REC_IOMMU_FAULT_FIELDS(F)                                                                                   \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, len, DEC, "B")                                                                                          \
	F(u32, access, ENUM, "1=read;2=write;3=atomic")                                                                \
	F(u32, reason, ENUM, "1=unmapped;2=permission;3=injected;4=own-registers")
BF_RECORD_DECLARE(iommu_fault, 46, BF_CLASS_DMA, BF_REC_IOMMU_FAULT_FIELDS);

/* A rule of the fault plan fired at the actor. */
#define BF_REC_FAULT_INJECTED_FIELDS(F)                                                                                \
	F(u64, delay_ps, TIME, "")                                                                                     \
	F(u64, draw, HEX, "")                                                                                          \
	F(u64, queue, HEX, "")                                                                                         \
	F(u32, kind, ENUM,                                                                                             \
	  "0=drop;1=duplicate;2=reorder;3=delay;4=corrupt;5=link-down;6=dma-fault;7=lost-completion;"                  \
	  "8=device-stall;9=lost-doorbell;10=qp-error;11=cq-overrun;12=access-error")                                  \
	F(u32, rule, DEC, "")
BF_RECORD_DECLARE(fault_injected, 47, BF_CLASS_FAULT, BF_REC_FAULT_INJECTED_FIELDS);

#endif
