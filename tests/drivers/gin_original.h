/*
 * What a comparison with GPUNetIO's own device code says to both sides: the calls, and the structures that its headers
 * read. Also compiled by nvcc (tests/long/cuda/gin_original.cu), which checks the layouts against those headers.
 */
#ifndef BELFRY_TESTS_DRIVERS_GIN_ORIGINAL_H
#define BELFRY_TESTS_DRIVERS_GIN_ORIGINAL_H

#include <stdint.h>

enum gin_op {
	GIN_PUT,
	GIN_VALUE, /* `bytes` is the value */
	GIN_SIGNAL,
	GIN_PUT_SIGNAL,
	GIN_GET,
	GIN_GET_VISIBLE, /* with a DUMP behind it */
	GIN_COUNTER,     /* put with counter */
	GIN_VALUE_SIGNAL,
	GIN_SIGNAL_COUNTER,
	GIN_WAIT,        /* for the last of all that was reserved */
	GIN_WAIT_TICKET, /* for entry `bytes` */
	GIN_POLL,        /* once, for entry `bytes`; the answer goes into the results */
	GIN_OPS
};

struct gin_call {
	uint32_t op, flags; /* 2: without a look for room, 4: without a ring */
	uint64_t remote, local, bytes;
};

#define GIN_CALLS 16u

struct gin_job {
	uint64_t qp, companion;                    /* of the side's own structure */
	uint32_t rkey, lkey, signal_key, sink_key; /* as entries have them */
	uint64_t sink, signal, counter;            /* offsets */
	uint32_t sharing, calls;
	struct gin_call call[GIN_CALLS];
	uint64_t result; /* address of GIN_CALLS words */
};

struct gin_original_cq {
	uint64_t cqe_daddr;
	uint32_t cq_num, cqe_num;
	uint64_t dbrec, cqe_ci;
	uint32_t cqe_mask;
	uint8_t cqe_size, reserved1[3];
	uint64_t cqe_rsvd;
	uint32_t mem_type;
	uint8_t reserved2[12];
};

struct gin_original_qp {
	uint64_t sq_rsvd_index, sq_ready_index, sq_wqe_pi;
	uint32_t sq_num, sq_num_shift8, sq_num_shift8_be, sq_num_shift8_be_ds[5];
	uint32_t sq_lock;
	uint16_t sq_wqe_num, sq_wqe_mask;
	uint64_t sq_wqe_daddr, sq_dbrec, sq_db;
	uint8_t reserved1[72];
	struct gin_original_cq cq;
	uint8_t reserved3[64];
	uint32_t nic_handler, mem_type;
};

#endif
