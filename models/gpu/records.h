/* Records of the GPU's memory (type numbers 350 to 369). Addresses are the GPU's virtual ones unless named paddr. */
#ifndef BELFRY_MODELS_GPU_RECORDS_H
#define BELFRY_MODELS_GPU_RECORDS_H

#include "sim/record.h"

/* A buffer came, moved, went, or changed its pins. `paddr`: of its first byte, 0 in host memory. */
#define BF_REC_GPU_BO_FIELDS(F)                                                                                        \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, size, DEC, "B")                                                                                         \
	F(u64, paddr, HEX, "")                                                                                         \
	F(u32, region, DEC, "")                                                                                        \
	F(u32, line, DEC, "B")                                                                                         \
	F(u32, pins, DEC, "")                                                                                          \
	F(u16, mtype, ENUM, "0=RW;1=UC")                                                                               \
	F(u8, place, ENUM, "0=vram;1=gtt")                                                                             \
	F(u8, what, ENUM, "0=alloc;1=move;2=free;3=pin;4=unpin;5=move-refused")                                        \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(gpu_bo, 350, BF_CLASS_META, BF_REC_GPU_BO_FIELDS);

/* A write of `by` reached memory and the GPU does not see it: from now on this line is served as it was before. */
#define BF_REC_GPU_ARRIVED_FIELDS(F)                                                                                   \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, by, DEC, "")                                                                                            \
	F(u32, in_l2, DEC, "")                                                                                         \
	F(u32, held, DEC, "")
BF_RECORD_DECLARE(gpu_arrived, 351, BF_CLASS_MEM, BF_REC_GPU_ARRIVED_FIELDS);

/* The line became visible; `age` since its first unseen write. */
#define BF_REC_GPU_VISIBLE_FIELDS(F)                                                                                   \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, age, TIME, "ps")                                                                                        \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, cause, ENUM, "0=invalidation;1=background;2=eviction;3=moved")
BF_RECORD_DECLARE(gpu_visible, 352, BF_CLASS_MEM, BF_REC_GPU_VISIBLE_FIELDS);

/*
 * A load of the GPU missed what memory has held since `since` by a write of `by`. Told once for a line until something
 * about the line changes.
 */
#define BF_REC_GPU_STALE_LOAD_FIELDS(F)                                                                                \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, value, HEX, "")                                                                                         \
	F(u64, fresh, HEX, "")                                                                                         \
	F(u64, since, TIME, "")                                                                                        \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, by, DEC, "")                                                                                            \
	F(u32, from, ENUM, "0=not-visible;1=L2")                                                                       \
	F(u32, through, ENUM, "0=cached;1=past-caches")
BF_RECORD_DECLARE(gpu_stale_load, 353, BF_CLASS_MEM, BF_REC_GPU_STALE_LOAD_FIELDS);

/* An engine has done its request. `lines` became visible. */
#define BF_REC_GPU_INVALIDATE_FIELDS(F)                                                                                \
	F(u32, request, HEX, "")                                                                                       \
	F(u32, lines, DEC, "")                                                                                         \
	F(u16, engine, DEC, "")                                                                                        \
	F(u16, vmids, HEX, "")                                                                                         \
	F(u16, flush_type, ENUM, "0=legacy;1=lightweight;2=heavyweight")                                               \
	F(u8, hub, ENUM, "0=GCVM;1=MMVM")                                                                              \
	F(u8, verdict, ENUM, "0=done;1=other-hub;2=other-engine;3=not-heavyweight;4=no-vmid")
BF_RECORD_DECLARE(gpu_invalidate, 354, BF_CLASS_MMIO, BF_REC_GPU_INVALIDATE_FIELDS);

/* Bytes (`mask`: one bit for each, `mask_high` from byte 64 on) that a store of `by` left in the L2 are in memory. */
#define BF_REC_GPU_WRITE_BACK_FIELDS(F)                                                                                \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, mask, HEX, "")                                                                                          \
	F(u64, mask_high, HEX, "")                                                                                     \
	F(u64, age, TIME, "ps")                                                                                        \
	F(u32, by, DEC, "")                                                                                            \
	F(u32, cause, ENUM, "0=fence;1=background;2=eviction;3=moved")
BF_RECORD_DECLARE(gpu_write_back, 355, BF_CLASS_MEM, BF_REC_GPU_WRITE_BACK_FIELDS);

/* A device read memory while the L2 has held a newer store of `by` since `since`: a system-scope fence was missing. */
#define BF_REC_GPU_LATE_STORE_FIELDS(F)                                                                                \
	F(u64, va, HEX, "")                                                                                            \
	F(u64, since, TIME, "")                                                                                        \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, by, DEC, "")                                                                                            \
	F(u32, reader, DEC, "")                                                                                        \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(gpu_late_store, 356, BF_CLASS_MEM, BF_REC_GPU_LATE_STORE_FIELDS);

/* A store to a register other than those of the invalidation engines. */
#define BF_REC_GPU_REGISTER_FIELDS(F)                                                                                  \
	F(u32, offset, HEX, "")                                                                                        \
	F(u32, value, HEX, "")                                                                                         \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, effect, ENUM, "0=none;1=hdp-flush-without-effect;2=reset;3=not-a-32-bit-access")
BF_RECORD_DECLARE(gpu_register, 357, BF_CLASS_MMIO, BF_REC_GPU_REGISTER_FIELDS);

/*
 * A device wrote through addresses that it was given for buffer `meant`, which has moved away. Now `va` (0: nobody) of
 * buffer `owner` lies there.
 */
#define BF_REC_GPU_STRAY_WRITE_FIELDS(F)                                                                               \
	F(u64, iova, HEX, "")                                                                                          \
	F(u64, paddr, HEX, "")                                                                                         \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, by, DEC, "")                                                                                            \
	F(text32, meant, TEXT, "")                                                                                     \
	F(text32, owner, TEXT, "")
BF_RECORD_DECLARE(gpu_stray_write, 358, BF_CLASS_FAULT, BF_REC_GPU_STRAY_WRITE_FIELDS);

#endif
