/*
 * Records of a foreign program on the wall clock (type numbers 150 to 159). The actor is the process, "exec".
 */
#ifndef BELFRY_TOOLS_EXEC_ENGINE_RECORDS_H
#define BELFRY_TOOLS_EXEC_ENGINE_RECORDS_H

#include "sim/record.h"

/* The first of a trace; its tail is the command line. */
#define BF_REC_EXEC_START_FIELDS(F)                                                                                    \
	F(u64, pid, DEC, "")                                                                                           \
	F(u32, doorbells, ENUM, "0=trap;1=poll;2=direct")                                                              \
	F(u32, devices, DEC, "")
BF_RECORD_DECLARE(exec_start, 150, BF_CLASS_META, BF_REC_EXEC_START_FIELDS);

/* Which of the network's processes this is; its queue pair numbers follow from that. */
#define BF_REC_EXEC_SLOT_FIELDS(F)                                                                                     \
	F(u32, slot, DEC, "")                                                                                          \
	F(u32, first_qpn, HEX, "")
BF_RECORD_DECLARE(exec_slot, 151, BF_CLASS_META, BF_REC_EXEC_SLOT_FIELDS);

/*
 * A store of the program's to a doorbell page, before the device has it. `ip` is the instruction (0: it was found in
 * memory, in poll mode), `va` the device's address as in mmio_arrive; the tail is what was stored.
 */
#define BF_REC_EXEC_STORE_FIELDS(F)                                                                                    \
	F(u64, ip, HEX, "")                                                                                            \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, offset, HEX, "")                                                                                        \
	F(u32, len, DEC, "B")
BF_RECORD_DECLARE(exec_store, 152, BF_CLASS_MMIO, BF_REC_EXEC_STORE_FIELDS);

/* A doorbell page in the program's address space. */
#define BF_REC_EXEC_PAGE_FIELDS(F)                                                                                     \
	F(u64, address, HEX, "")                                                                                       \
	F(u64, va, HEX, "")                                                                                            \
	F(u32, uar, DEC, "")                                                                                           \
	F(u32, write_combining, DEC, "")
BF_RECORD_DECLARE(exec_page, 153, BF_CLASS_META, BF_REC_EXEC_PAGE_FIELDS);

/*
 * The device used memory that the program had taken away while it was registered: a page of zeros is there now, where
 * hardware would have gone on with the page that it had pinned.
 */
#define BF_REC_EXEC_MISSING_FIELDS(F)                                                                                  \
	F(u64, address, HEX, "")                                                                                       \
	F(u32, why, ENUM, "0=unmapped;1=protected;2=truncated")                                                        \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(exec_missing, 154, BF_CLASS_FAULT, BF_REC_EXEC_MISSING_FIELDS);

/* A file with code of the program: `ip` - `base` is the place in it. The tail is its path. */
#define BF_REC_EXEC_IMAGE_FIELDS(F)                                                                                    \
	F(u64, base, HEX, "")                                                                                          \
	F(u64, size, HEX, "B")
BF_RECORD_DECLARE(exec_image, 155, BF_CLASS_META, BF_REC_EXEC_IMAGE_FIELDS);

/* The instruction at `ip`, whose bytes are `len`, rings often: it is a jump to the library from now on. */
#define BF_REC_EXEC_PATCH_FIELDS(F)                                                                                    \
	F(u64, ip, HEX, "")                                                                                            \
	F(u32, len, DEC, "B")                                                                                          \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(exec_patch, 156, BF_CLASS_META, BF_REC_EXEC_PATCH_FIELDS);

#endif
