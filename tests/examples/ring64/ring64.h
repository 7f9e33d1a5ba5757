/* ring64: a device that copies memory. One ring of 64-byte descriptors, a doorbell, completions of 8 bytes. */
#ifndef RING64_H
#define RING64_H

#include <belfry.h>

/* Registers, each little-endian. */
#define RING64_REG_BASE 0x00u        /* 8 bytes: address of the ring */
#define RING64_REG_COMPLETIONS 0x08u /* 8 bytes: address of as many completions */
#define RING64_REG_ENTRIES 0x10u     /* 4 bytes: how many; a store here starts the queue */
#define RING64_REG_DOORBELL 0x18u    /* 8 bytes: entries produced since the start */

/* A descriptor; the rest of its 64 bytes is zero. */
#define RING64_ENTRY 64u
#define RING64_OPCODE 0u /* 4 bytes: 1 */
#define RING64_BYTES 4u  /* 4 bytes: 1 to 4096 */
#define RING64_SRC 8u    /* 8 bytes */
#define RING64_DST 16u   /* 8 bytes */
#define RING64_OP_COPY 1u
#define RING64_MAX 4096u

/* A completion. */
#define RING64_CQE 8u
#define RING64_CQE_STATUS 0u /* 4 bytes */
#define RING64_CQE_COUNT 4u  /* 4 bytes, written last: the entry's number, from 1 */

#define BF_RECORDS_DEF "ring64.def"
#include "sim/record_declare.h"

struct ring64; /* the model: ring64.c */
extern const struct bf_device_model ring64_model;
/* What its driver maps: the registers. */
void *ring64_registers(const struct ring64 *dev);

/* What traces, rules and pictures know of it: device.c. */
extern const struct bf_device ring64_device;

#endif
