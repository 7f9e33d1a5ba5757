/* What the NVSHMEM-style kernels say of themselves (class DRIVER): one record a call, by the warp's first lane. */
#ifndef BELFRY_DRIVERS_IBGDA_SHMEM_RECORDS_H
#define BELFRY_DRIVERS_IBGDA_SHMEM_RECORDS_H

#include "sim/record.h"

enum bf_shmem_call {
	BF_SHMEM_CALL_PUT,       /* to `pe` by `qpn` */
	BF_SHMEM_CALL_FLAG,      /* a word that tells `pe` of earlier puts, which may have gone by other queue pairs */
	BF_SHMEM_CALL_SIGNAL,    /* one that tells it of the put before, and comes behind that by itself */
	BF_SHMEM_CALL_COMPLETE,  /* a fence or quiet has returned: all queue pairs */
	BF_SHMEM_CALL_OVERWRITE, /* the source of puts to `pe` is stored to */
	BF_SHMEM_CALL_MEET,      /* the warp comes to a barrier of all PEs */
	BF_SHMEM_CALL_LEAVE,     /* and leaves it */
};

#define BF_REC_SHMEM_CALL_FIELDS(F)                                                                                    \
	F(u32, call, ENUM, "0=put;1=flag;2=signal;3=complete;4=overwrite;5=meet;6=leave")                              \
	F(u32, pe, DEC, "")                                                                                            \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u32, reserved, DEC, "")
BF_RECORD_DECLARE(shmem_call, 269, BF_CLASS_DRIVER, BF_REC_SHMEM_CALL_FIELDS);

/* A wait for a word to become `wanted` or more returned; it had last seen `found`. */
#define BF_REC_SHMEM_WAITED_FIELDS(F)                                                                                  \
	F(u64, wanted, DEC, "")                                                                                        \
	F(u64, found, DEC, "")
BF_RECORD_DECLARE(shmem_waited, 264, BF_CLASS_DRIVER, BF_REC_SHMEM_WAITED_FIELDS);

#endif
