/* What a ConnectX takes for each step, and what it has room for. */
#ifndef BELFRY_MODELS_MLX5_PROFILE_H
#define BELFRY_MODELS_MLX5_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "models/mlx5/traits.h"
#include "sim/compiler.h"
#include "sim/pcie.h"

BF_API_BEGIN

/*
 * Timing and limits. bf_mlx5_cx7 is a ConnectX-7 on PCIe Gen5 x16 with a 400 Gb/s port, bf_mlx5_cx6 and bf_mlx5_cx8 are
 * the generations beside it; each constant has its source, or "assumed", where it is defined.
 */
struct bf_mlx5_profile {
	const char *name;
	struct bf_link_profile pcie;
	uint64_t port_latency_ps, port_ps_per_kib;
	uint64_t doorbell_ps;     /* doorbell arrival to first fetch */
	uint64_t wqe_ps;          /* decode and schedule one WQE */
	uint64_t packet_tx_ps;    /* build one packet */
	uint64_t packet_rx_ps;    /* check one packet */
	uint64_t answer_ps;       /* between two READ response packets of a QP; 0: the port alone paces them */
	uint32_t gather_window;   /* most payload reads of a QP on the way from memory; 0: any number */
	uint64_t ack_delay_ps;    /* how long a responder may hold an ACK to coalesce; 0: till its moment is over */
	uint32_t ack_every;       /* packets per ACK while more are coming; 1: each has its own */
	uint32_t fetch_wqebbs;    /* most WQEBBs in one fetch */
	uint32_t bf_bytes;        /* of an entry that is stored to a BlueFlame buffer: 64, 128, 192 or 256 are taken */
	uint32_t max_outstanding; /* unacknowledged packets of a QP */
	uint32_t log_max_qp, log_max_cq, log_max_mkey;
	uint32_t dct_contexts;    /* responder contexts of a DC target; 0: no DC transport */
	uint64_t dct_idle_ps;     /* a connected one that was silent for this long may be given to another initiator */
	uint64_t dc_busy_ps;      /* how long an initiator waits when all are taken */
	uint32_t log_dci_streams; /* most stream channels of a DC initiator */
	bool host_endian_atomics; /* 8-byte atomic results in host order (mlx5 "host endianness request mode") */
	bool icrc;                /* compute and check ICRC */
	bool atomics_hold;        /* an atomic keeps the next one on the same word waiting until it is done */
	struct bf_mlx5_traits traits;
};
extern const struct bf_mlx5_profile bf_mlx5_cx6, bf_mlx5_cx7, bf_mlx5_cx8;
/* The same limits, and nothing takes time: for foreign programs on the wall clock. No ICRC. */
extern const struct bf_mlx5_profile bf_mlx5_instant;
/* With timing that is fitted to published figures of the generation (profile_timed.c). */
extern const struct bf_mlx5_profile bf_mlx5_cx5_timed, bf_mlx5_cx6_timed, bf_mlx5_cx7_timed, bf_mlx5_cx8_timed;

BF_API_END

#endif
