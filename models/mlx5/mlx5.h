/*
 * The ConnectX model: an mlx5 device on a PCIe link and a fabric port.
 *
 * It sees what the hardware sees: command mailboxes (bf_mlx5_cmd), stores to its UAR pages, ring and record bytes read
 * by DMA, packets. Everything else (QPs, keys, retries) lives behind those. A request travels through the files in this
 * order: uar.c (doorbell) -> sq.c (doorbell record, fetch) -> wqe.c (decode) -> the transport, models/rdma: tx.c
 * (packets) -> [fabric] -> rx.c (WRITE, SEND) or answer.c (READ, atomic, ACK, NAK) -> [fabric] -> ack.c -> sq.c
 * (in order) -> cq.c (completion). What the transport asks of this device is in transport.c. A DC initiator chooses and
 * opens its connection in dci.c before the transport sends, a DC target finds the responder context in dct.c before it
 * takes the packet. Datagrams take the same way; what they add is in ud.c.
 * Beside the path: rq.c and srq.c (receives), mkey.c, mkey_map.c and umr.c (keys),
 * mcg.c (groups), qp.c (states), eq.c (events), cmd*.c (commands), memic.c (memory of the device), paging.c (keys whose
 * pages come on demand), xrc.c (queues that requests name), cq_compress.c (blocks of completions).
 *
 * What is known of the hardware, and how well: docs/hardware/mlx5.md, docs/hardware/roce.md. One thread per device, the
 * simulation's.
 */
#ifndef BELFRY_MODELS_MLX5_MLX5_H
#define BELFRY_MODELS_MLX5_MLX5_H

#include <stdio.h>

#include "models/fabric/fabric.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/profile.h"
#include "sim/pcie.h"

struct bf_mlx5; /* opaque */

#define BF_MLX5_MEMIC_MAX (256u << 10)

struct bf_mlx5_opts {
	const char *name;                      /* "nic0" */
	const struct bf_mlx5_profile *profile; /* NULL: bf_mlx5_cx7; copied */
	struct bf_space *space;                /* where the UAR BAR appears */
	struct bf_ioas *ioas;                  /* what DMA sees */
	struct bf_fabric *fabric;
	uint32_t ports;   /* 1 or 2; 0: 1 */
	uint32_t ipv4[2]; /* of each port */
	/*
	 * Commands tell of InfiniBand ports: LIDs (the low 16 bits of a port's address), GIDs made of the port's MAC,
	 * no RoCE. What goes over the fabric are RoCEv2 frames either way (the model's own liberty).
	 */
	bool infiniband;
	uint32_t uar_pages;  /* 0: 64 */
	uint32_t first_uar;  /* pages before it are never given out: something else is there */
	uint32_t host, rail; /* place in a topology (bf_port_opts) of the first port; the second has the next rail */
	/* An event queue has got its first entry since it was armed: its interrupt. NULL: nobody listens. */
	void (*irq)(void *owner, uint32_t vector);
	void *irq_owner;
	uint32_t first_qpn; /* queue pair numbers are first_qpn .. first_qpn + qpns - 1; 0: 0x100 and up */
	uint32_t qpns;      /* 0: as many as the profile allows */
	uint32_t memic;     /* bytes of device memory: whole pages, at most BF_MLX5_MEMIC_MAX; 0: none */
	bool paging;        /* keys may be made whose pages are absent at first: paging on demand */
	void *memic_bytes;  /* where they are, borrowed; NULL: in memory of its own */
};

/* Returns 0, -ENOMEM or -EINVAL with sim->error set. */
int bf_mlx5_create(struct bf_sim *sim, const struct bf_mlx5_opts *opts, struct bf_mlx5 **out);
void bf_mlx5_destroy(struct bf_mlx5 *dev);

/*
 * Executes a command mailbox (Linux mlx5 "mlx5_cmd_exec" shape): big-endian `in`, status and syndrome in `out`. Returns
 * 0 when the command was understood as such (look at the status), -EINVAL when a buffer is shorter than 16 bytes.
 * Anything a caller may put in a mailbox is answered with a status, never with a crash.
 */
int bf_mlx5_cmd(struct bf_mlx5 *dev, const void *in, size_t in_len, void *out, size_t out_len);

/* The MMIO region of UAR page `index` (from ALLOC_UAR); NULL when out of range. */
struct bf_region *bf_mlx5_uar(struct bf_mlx5 *dev, uint32_t index);

/* Device memory, which ALLOC_MEMIC deals out: addresses in that command are the region's. NULL: there is none. */
struct bf_region *bf_mlx5_memic(struct bf_mlx5 *dev);

/*
 * Pages of a key that was made without them are there from now on: what a driver's UMR WQEs would say to the device.
 * 0, -EINVAL (no such key) or -ENOMEM. A fault that waits for them is ended by PAGE_FAULT_RESUME.
 */
int bf_mlx5_pages_come(struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint64_t len);

/*
 * Ports. A queue pair names its port in the primary address path (0 in RST2INIT: port 1), a DC target in its context;
 * packets that arrive at the other one do not reach it. A port whose link is down looks like a peer that does not
 * answer: retries, then syndrome 0x15. ACCESS_REG with PAOS tells a port's state.
 *
 * Service types of a queue pair: RC, UC, UD, XRC and DCI. What UC and UD send is done when it has left; what the
 * receiver cannot take (no receive WQE, wrong key or Q_Key, a message with a lost packet) is dropped and counted,
 * nobody is told. A send of theirs that fails puts the send queue alone into error: SQERR2RTS starts it again.
 *
 * DC transport. CREATE_QP with BF_QPC_ST_DCI makes an initiator, CREATE_DCT a target. SEND and WRITE with immediate
 * need a shared receive queue at the target; without one they end in syndrome 0x12. An initiator with stream channels
 * completes in order only within a channel. What becomes of errors:
 *
 *   access key wrong                                0x13, the target counts it (QUERY_DCT)
 *   target wants a full handshake                   0x12
 *   no such target, drained, other port             0x15
 *   rkey, rights, length at the target              as RC; the target's context fails, the target does not
 *   address vector that cannot be                   0x02
 *
 * The first three are assumed. Each puts the initiator into error, or the stream alone (mlx5dv_dci_stream_id_reset(3)).
 */

enum bf_mlx5_object { BF_MLX5_OBJ_QP, BF_MLX5_OBJ_CQ, BF_MLX5_OBJ_MKEY, BF_MLX5_OBJ_PD, BF_MLX5_OBJ_DCT };

/*
 * The next CREATE of this kind gets this number (mkey: index, without variant byte), as when a capture is replayed.
 * -EEXIST when taken, -ERANGE when above the limit.
 */
int bf_mlx5_next_number(struct bf_mlx5 *dev, enum bf_mlx5_object kind, uint32_t number);

/* Fabric port number `port`, from 1 as in the PRM; NULL when there is none. And the DMA port. */
struct bf_port *bf_mlx5_port(struct bf_mlx5 *dev, uint32_t port);
struct bf_dma_port *bf_mlx5_dma(struct bf_mlx5 *dev);

/* Where a QP stands; for "why is there no completion". */
struct bf_mlx5_qp_info {
	uint32_t qpn, state, remote_qpn, cqn_snd, cqn_rcv;
	uint16_t sq_producer;                          /* last value read from the doorbell record */
	uint16_t sq_fetched, sq_started, sq_completed; /* WQEBB counters */
	uint16_t rq_producer, rq_consumed;
	uint32_t send_psn, acked_psn, recv_psn;
	uint32_t doorbells, retries, rnr_naks;
	uint8_t syndrome, vendor_syndrome; /* first error, 0 = none */
};
int bf_mlx5_qp_info(struct bf_mlx5 *dev, uint32_t qpn, struct bf_mlx5_qp_info *out);

/* Calls `fn` for each QP in order of number. */
void bf_mlx5_each_qp(struct bf_mlx5 *dev, void (*fn)(void *arg, const struct bf_mlx5_qp_info *info), void *arg);

/*
 * Live mode: looks once at every allocated UAR's doorbell cells in memory; non-zero when one had rung. `arg` is the
 * struct bf_mlx5. The regions' bytes must have been made readable and writable (they are not in virtual time). A cell
 * is taken by an atomic exchange with 0, so stores of other threads, processes or GPUs are seen once each. Only the
 * first eight bytes of a BlueFlame write count here.
 */
int bf_mlx5_poll_uars(void *arg);

/*
 * The same for one page. Queue pairs that share it may ring the same cell between two looks, so that only one is seen:
 * when anything has rung, all of them count as rung whose doorbell records have moved on.
 */
int bf_mlx5_poll_uar(struct bf_region *region);

/*
 * Statistics (sim/stats.h), by name behind the device's: doorbells, dbrec_reads, wqes_fetched, wqes_completed, cqes,
 * packets_resent, timeouts, naks_sent.sequence, rx_drops.icrc and so on (stats.c lists all), and the
 * histogram `latency`: from the arrival of the doorbell that announced a WQE to its CQE in memory, of signalled WQEs
 * without error. Link, DMA port and fabric port have their own: NAME.pcie, NAME.dma, NAME.p1, NAME.p2.
 */

/*
 * Records: models/mlx5/records.h (types 100 to 125), models/rdma/records.h. Each QP, CQ and DCT is an actor of kind
 * "queue": "nic0.qp0x101".
 */

#endif
