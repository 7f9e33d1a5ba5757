/* Records of the bootstrap (type numbers 290 to 299). */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_RECORDS_H
#define BELFRY_DRIVERS_BOOTSTRAP_RECORDS_H

#include "sim/record.h"

/* A collective call of PE `pe`, at its end: how long it took in all, the bytes for each PE, 0 or a negative errno. */
#define BF_REC_BOOT_CALL_FIELDS(F)                                                                                     \
	F(u64, waited, TIME, "ps")                                                                                     \
	F(u64, bytes, DEC, "B")                                                                                        \
	F(u32, pe, DEC, "")                                                                                            \
	F(u32, npes, DEC, "")                                                                                          \
	F(i32, result, INT, "")                                                                                        \
	F(u32, op, ENUM, "1=allgather;2=alltoall;3=barrier")
BF_RECORD_DECLARE(boot_call, 290, BF_CLASS_DRIVER, BF_REC_BOOT_CALL_FIELDS);

#endif
