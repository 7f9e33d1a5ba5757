/* What the model's files share: the device, and who calls whom. Its objects: objects_internal.h, qp_internal.h. */
#ifndef BELFRY_MODELS_MLX5_DEVICE_INTERNAL_H
#define BELFRY_MODELS_MLX5_DEVICE_INTERNAL_H

#include "models/mlx5/qp_internal.h"
#include "sim/fault.h"
#include "sim/pool.h"
#include "sim/stats.h"

/* A BlueFlame buffer: half of a register. Bytes that arrived since it last rang are marked. */
struct bf_mlx5_bf {
	struct bf_mlx5_bf *next; /* of the same page */
	uint32_t at;             /* offset in the page */
	uint64_t have;
	uint8_t bytes[64];
	uint8_t *copy; /* of `bytes` when they were whole, from the first time on: most rings bring eight bytes only */
	bool whole;    /* `copy` is a WQEBB that no ring has used */
	/* What came behind those 64 bytes, for devices that take more; which of its eight-byte words are there. */
	uint8_t *tail;
	uint32_t tail_have;
};

struct bf_mlx5_uar {
	struct bf_mlx5 *dev;
	struct bf_region *region;
	uint32_t index, users;
	uint32_t arm_word; /* first half of an arm doorbell that came in two stores */
	bool arm_half;
	bool allocated;
	struct bf_mlx5_bf *bf; /* that something was ever stored to: mostly one, and few are more than two */
};

/*
 * What a device counts beside its transport, in the order of the path; published under these names behind the device's
 * ("nic0.cqes").
 */
#define BF_MLX5_COUNTERS(C)                                                                                            \
	C(doorbells)         /* that a queue pair listened to */                                                       \
	C(doorbells_ignored) /* no such queue, another's page, not ready to send */                                    \
	C(dbrec_reads)                                                                                                 \
	C(ring_reads)                                                                                                  \
	C(wqes_fetched)                                                                                                \
	C(wqes_completed)                                                                                              \
	C(cqes) /* written, those with an error included */                                                            \
	C(error_cqes)                                                                                                  \
	C(events)      /* event queue entries written */                                                               \
	C(events_lost) /* those that a full or broken queue did not take */                                            \
	C(interrupts)                                                                                                  \
	C(page_faults)      /* of keys whose pages come on demand */                                                   \
	C(frames_unmatched) /* raw ones that no flow wanted */                                                         \
	C(dc_connects)      /* connections that DC initiators chose */                                                 \
	C(dc_cnaks_sent)    /* refusals by DC targets */                                                               \
	C(dct_evictions)    /* responder contexts that another initiator got */

struct bf_mlx5_counts {
#define C(name) uint64_t name;
	BF_MLX5_COUNTERS(C)
#undef C
};

/* What raw packets need beside queues: numbers, and where received frames go. */
#define BF_MLX5_LOG_MAX_ETH 14u
#define BF_MLX5_LOG_MAX_TABLES 10u
struct bf_mlx5_flow_table;
struct bf_mlx5_ethernet {
	struct bf_mlx5_table domains; /* numbers alone */
	struct bf_mlx5_table tises, rqts, tirs, tables, counters;
	struct bf_mlx5_flow_table *root; /* NULL: no frame is for a program */
	uint32_t flows;                  /* entries of tables */
};

struct bf_mlx5 {
	struct bf_dma_port dma; /* first, and so in as few lines as it can be */
	struct bf_link link;
	struct bf_rdma rdma; /* its transport */
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_mlx5_port ports[BF_MLX5_PORTS];
	uint32_t port_count;
	bool infiniband; /* bf_mlx5_opts */
	struct bf_mlx5_profile profile;
	void (*irq)(void *owner, uint32_t vector); /* NULL: nobody listens */
	void *irq_owner;
	uint32_t actor;
	char refusal[192];           /* why the command at hand is refused; empty: its status says it all */
	struct bf_mlx5_wqe decoded;  /* scratch */
	struct bf_roce_path ud_path; /* of the datagram at hand */
	struct bf_mlx5_group *groups;
	struct bf_fault_timer failure; /* of queue pairs, by the clock */
	struct bf_mlx5_xfer *xfers;
	struct bf_mlx5_xfer_block *xfer_blocks;
	struct bf_mlx5_sq_copy *spare[17]; /* copies of send queues of 2^i WQEBBs that nobody uses */
	struct bf_mlx5_table reserved;     /* blocks of QPNs that no queue pair gets */
	struct bf_mlx5_table xrcds;        /* numbers alone */
	uint32_t no_record_qps;            /* queue pairs without a doorbell record */
	struct bf_region *memic;           /* device memory; NULL: none */
	struct bf_ioas *memic_ioas;
	uint64_t memic_pages; /* a bit for each page that is given out */
	bool paging;          /* bf_mlx5_opts */
	struct {
		uint64_t va, len;
		uint32_t key;
	} absent; /* what the last key check missed: after BF_MLX5_KEY_ABSENT */
	struct bf_mlx5_page_fault *page_faults;
	uint32_t page_fault_token;
	struct bf_mlx5_table qps, cqs, mkeys, pds, umems, dcts, eqs, srqs;
	struct bf_mlx5_ethernet eth;
	uint32_t dc_sessions; /* last one given out: later ones are newer, also after a DCI was reset */
	uint32_t entries;     /* of translations: pages and pieces that keys and UMEMs keep, at most BF_MLX5_ENTRIES */
	struct bf_space *space;
	struct bf_mlx5_uar **uars;     /* [uar_end]; NULL: not there yet */
	uint32_t uar_count, uar_end;   /* uar_count: pages that there may be */
	uint32_t uar_free;             /* all before are allocated, or not to be had */
	struct bf_mlx5_qp *zombie_qps; /* destroyed while DMA was in flight */
	struct bf_mlx5_cq *zombie_cqs;
	struct bf_mlx5_srq *zombie_srqs;
	struct bf_mlx5_counts count;
	struct bf_hist *latency;
	uint8_t description[64]; /* the node's, as its host gives it */
	char name[24];
};

struct bf_mlx5_mail;

/* memic.c */
int bf_mlx5_memic_open(struct bf_mlx5 *dev, const struct bf_mlx5_opts *opts); /* 0 or a negative errno */
void bf_mlx5_memic_close(struct bf_mlx5 *dev);
void bf_mlx5_memic_caps(const struct bf_mlx5 *dev, uint8_t *cap);
uint8_t bf_mlx5_cmd_alloc_memic(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_dealloc_memic(struct bf_mlx5_mail *m);
/* `k`, whose start and length are filled in, becomes one of device memory. A command status. */
uint8_t bf_mlx5_memic_key(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k);

/* paging.c */
void bf_mlx5_paging_caps(const struct bf_mlx5 *dev, uint8_t *cap);
struct bf_mlx5_paging *bf_mlx5_paging_new(void); /* of a key whose pages are all absent; NULL: no memory */
void bf_mlx5_paging_free(struct bf_mlx5_paging *p);
/* Are they there, of a key whose pages come on demand? If not, dev->absent says which. */
enum bf_mlx5_key_fault bf_mlx5_pages_check(struct bf_mlx5 *dev, const struct bf_mlx5_mkey *k, uint64_t va,
					   uint64_t len);
/*
 * A key check of the queue pair has found dev->absent. True: the request waits, and asks again (a requester when its
 * queue runs, a responder when its peer repeats). False: it fails, since nobody has the page.
 */
bool bf_mlx5_page_fault(struct bf_mlx5_qp *qp, enum bf_rdma_side side);
void bf_mlx5_page_faults_forget(struct bf_mlx5_qp *qp);
void bf_mlx5_page_fault_fail(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s);
uint8_t bf_mlx5_cmd_page_fault_resume(struct bf_mlx5_mail *m);

/* stats.c */
int bf_mlx5_stats_open(struct bf_mlx5 *dev); /* 0 or -ENOMEM */
void bf_mlx5_stats_close(struct bf_mlx5 *dev);

/* device.c */
/* UAR page `index`, made when it is first asked for; NULL when out of range or on lack of memory. */
struct bf_mlx5_uar *bf_mlx5_uar_get(struct bf_mlx5 *dev, uint32_t index);
/* The same if it is allocated to a driver, else NULL. */
static inline struct bf_mlx5_uar *bf_mlx5_uar_find(const struct bf_mlx5 *dev, uint32_t index)
{
	struct bf_mlx5_uar *uar = index < dev->uar_end ? dev->uars[index] : NULL;

	return uar && uar->allocated ? uar : NULL;
}
struct bf_mlx5_xfer *bf_mlx5_xfer_get(struct bf_mlx5 *dev);
static inline void bf_mlx5_xfer_put(struct bf_mlx5 *dev, struct bf_mlx5_xfer *x)
{
	x->next = dev->xfers;
	dev->xfers = x;
}

/* uar.c */
extern const struct bf_mmio_ops bf_mlx5_uar_ops;

/* sq.c */
/* The producer index becomes `value`, which a register said. */
void bf_mlx5_bell_index(struct bf_mlx5_qp *qp, uint16_t value);
void bf_mlx5_bell_fired(struct bf_event *ev);
void bf_mlx5_dbrec_read(struct bf_mlx5_qp *qp);
/* Completes what can, sends what can, fetches more: after anything that may have made room. */
void bf_mlx5_sq_run(struct bf_mlx5_qp *qp);
void bf_mlx5_sq_complete(struct bf_rdma_qp *rdma, struct bf_rdma_send *send, enum bf_rdma_end end);
static inline struct bf_mlx5_send *bf_mlx5_send_at(const struct bf_mlx5_qp *qp, uint16_t index)
{
	return &((struct bf_mlx5_send *)qp->rdma.sends)[index & qp->rdma.sq_mask];
}

/* wait.c: WAIT, which holds a companion's send queue until a CQ has got enough entries */
/* False: it waits on, and the CQ's next entry will run the queue; or the WQE failed. */
bool bf_mlx5_wait_over(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s);
void bf_mlx5_wait_forget(struct bf_mlx5_qp *qp);    /* it waits for nothing any more */
void bf_mlx5_wait_forget_cq(struct bf_mlx5_cq *cq); /* the CQ goes: who waits for it waits for ever */
void bf_mlx5_wait_wake(struct bf_mlx5_cq *cq);      /* it has got an entry */

/* dci.c */
int bf_mlx5_dci_create(struct bf_mlx5_qp *qp, const uint8_t *qpc); /* 0 or a command status */
void bf_mlx5_dci_free(struct bf_mlx5_qp *qp);
void bf_mlx5_dci_reset(struct bf_mlx5_qp *qp);
/* The connection that WQE `s` needs is there or chosen. False: not yet, or the WQE failed. */
bool bf_mlx5_dci_ready(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s);
/* A packet may leave now; opens the connection when that has not been done. */
bool bf_mlx5_dci_gate(struct bf_mlx5_qp *qp);
void bf_mlx5_dci_again(struct bf_mlx5_qp *qp); /* before the next packet the connection is opened anew */
void bf_mlx5_dci_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt);
/* Streams. */
void bf_mlx5_dci_deal(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint16_t stream);
void bf_mlx5_dci_run(struct bf_mlx5_qp *qp);
void bf_mlx5_dci_told(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s); /* a stream has completed the WQE */
void bf_mlx5_dci_stream_error(struct bf_mlx5_qp *qp);
uint8_t bf_mlx5_dci_stream_reset(struct bf_mlx5_qp *qp, uint32_t stream);

/* The fields of `r` that say of which DC connection a packet of this queue pair is. */
void bf_mlx5_dc_address(const struct bf_mlx5_qp *qp, struct bf_roce *r);

/* Whom a LID names that is used at this port (prm.h, address vector). */
static inline uint32_t bf_mlx5_lid_ipv4(const struct bf_mlx5_port *port, uint16_t lid)
{
	return (port->ipv4 & 0xffff0000u) | lid;
}

/* Whom an address vector names. */
struct bf_mlx5_target {
	struct bf_roce_path_opts path;
	uint32_t number; /* DC target or queue pair */
	uint64_t key;    /* UD: Q_Key in the upper half */
};
int bf_mlx5_read_av(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s,
		    struct bf_mlx5_target *t); /* 0 or -EINVAL: it names nobody */

/* ud.c */
/* Queue pair 0 or 1 of its port from now on, if its context `qpc` says so. */
void bf_mlx5_special_open(struct bf_mlx5_qp *qp, const uint8_t *qpc);
void bf_mlx5_special_close(struct bf_mlx5_qp *qp); /* no more, if it is one */
/* The fields of `r`, and the path of `dev->ud_path`, for the datagram of WQE `s`. False: it names nobody. */
bool bf_mlx5_ud_address(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_roce *r);
void bf_mlx5_ud_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt);
/* The same for a queue pair that is known, and for a datagram that waited for a receive WQE. */
void bf_mlx5_ud_take(struct bf_mlx5_qp *qp, const struct bf_mlx5_port *port, struct bf_packet *pkt);
void bf_mlx5_ud_request(struct bf_mlx5_qp *qp, struct bf_packet *pkt);

/* general.c */
#define BF_MLX5_LOG_RESERVED_QPNS 6u /* of a block */
/* Ends a command with `status`, and says which field is wrong and what it may be. Returns `status`. */
uint8_t bf_mlx5_refuse(struct bf_mlx5 *dev, uint8_t status, const char *fmt, ...) BF_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* as bf_fail() */
#define bf_mlx5_refuse(dev, status, ...) ((bf_mlx5_refuse)(dev, status, __VA_ARGS__), (status))
#endif
uint8_t bf_mlx5_cmd_create_object(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_object(struct bf_mlx5_mail *m);

/* mcg.c */
uint32_t bf_mlx5_group_ipv4(const uint8_t gid[16]); /* 0: not the address of a group */
void bf_mlx5_groups_rx(struct bf_mlx5_port *port, struct bf_packet *pkt);
void bf_mlx5_groups_forget(struct bf_mlx5 *dev, const struct bf_mlx5_qp *qp); /* NULL: all */
uint8_t bf_mlx5_cmd_attach_mcg(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_detach_mcg(struct bf_mlx5_mail *m);

/* dct.c */
void bf_mlx5_dct_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt);
void bf_mlx5_dct_expect(struct bf_mlx5 *dev, const uint8_t *frame);
void bf_mlx5_dct_free(struct bf_mlx5_dct *dct);
uint8_t bf_mlx5_cmd_create_dct(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_drain_dct(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_dct(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_dct(struct bf_mlx5_mail *m);

/* sq_copy.c: qp->rdma.sends and sq_bytes */
bool bf_mlx5_sq_copy_take(struct bf_mlx5_qp *qp); /* false on lack of memory; true when it has one */
void bf_mlx5_sq_copy_give(struct bf_mlx5_qp *qp);
void bf_mlx5_sq_copy_free(struct bf_mlx5_qp *qp);
void bf_mlx5_sq_copies_fini(struct bf_mlx5 *dev);

/* transport.c: what the transport asks of this device. */
extern const struct bf_rdma_ops bf_mlx5_transport;
void bf_mlx5_rx(void *owner, struct bf_packet *pkt);
void bf_mlx5_expect(void *owner, const struct bf_packet *pkt);
/* Fails the WQE: it completes with `err` when it is the oldest, and nothing after it is sent. */
void bf_mlx5_send_fail(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, struct bf_mlx5_err err, const char *why);
/* What a CQE says of a cause. */
struct bf_mlx5_err bf_mlx5_err_of(enum bf_rdma_cause cause);
static inline void bf_mlx5_qp_use_port(struct bf_mlx5_qp *qp, struct bf_mlx5_port *port)
{
	qp->port = port;
	qp->rdma.port = port->port;
}

/* sge.c: pieces of a WQE's scatter/gather list, read from the device's copy of the ring. */
/* Copies `len` bytes from `at` of the WQE. */
void bf_mlx5_copy_wqe(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, uint32_t at, uint8_t *to,
		      uint32_t len);
bool bf_mlx5_next_piece(struct bf_rdma_walk *w, uint32_t want, struct bf_rdma_piece *out);
/* Checks all keys of a WQE, and finds out whether one translates. */
enum bf_mlx5_key_fault bf_mlx5_check_sges(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t access);
/* Puts bytes of an answer where the WQE says, or keeps them for its CQE. 0, or it cannot be written. */
int bf_mlx5_scatter(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t offset, const uint8_t *data, uint32_t len);

/* rq.c */
enum bf_rdma_take bf_mlx5_rq_take(struct bf_mlx5_qp *qp);
/* Scatters `len` bytes into the receive WQE at hand. */
enum bf_rdma_cause bf_mlx5_rq_scatter(struct bf_mlx5_qp *qp, const uint8_t *data, uint32_t len);
void bf_mlx5_rq_flush(struct bf_mlx5_qp *qp);
/* The receive WQE at hand is this one: `len` bytes of data segments. */
void bf_mlx5_rq_begin(struct bf_mlx5_qp *qp, const uint8_t *bytes, uint32_t len, uint16_t index, uint16_t producer);

/* eth_queue.c */
void bf_mlx5_eth_caps_general(uint8_t *cap);
void bf_mlx5_eth_caps(uint8_t *cap);
void bf_mlx5_flow_caps(uint8_t *cap);
uint8_t bf_mlx5_cmd_alloc_domain(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_dealloc_domain(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_tis(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_tis(struct bf_mlx5_mail *m);
void bf_mlx5_tises_free(struct bf_mlx5 *dev);
uint8_t bf_mlx5_cmd_destroy_tis(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_sq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_sq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_sq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_sq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_rq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_rq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_rq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_rq(struct bf_mlx5_mail *m);

/* eth_tir.c */
uint8_t bf_mlx5_cmd_create_rqt(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_rqt(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_tir(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_tir(struct bf_mlx5_mail *m);
uint32_t bf_mlx5_toeplitz(const uint8_t key[40], const uint8_t *data, uint32_t len);
bool bf_mlx5_tir_hold(struct bf_mlx5 *dev, uint32_t number, uint32_t by); /* false: there is none */
void bf_mlx5_tirs_free(struct bf_mlx5 *dev);
/* A copy of the frame goes to the TIR's queue; `tag` is its flow's. */
void bf_mlx5_tir_receive(struct bf_mlx5_port *port, uint32_t number, uint32_t tag, const struct bf_packet *pkt);
void bf_mlx5_raw_request(struct bf_mlx5_qp *qp, struct bf_packet *pkt); /* ops->datagram of a raw queue */

/* flow.c */
uint8_t bf_mlx5_cmd_create_flow_table(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_flow_table(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_flow_table(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_set_flow_root(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_flow_group(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_flow_group(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_set_flow_entry(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_delete_flow_entry(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_alloc_flow_counter(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_flow_counter(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_dealloc_flow_counter(struct bf_mlx5_mail *m);
void bf_mlx5_flow_tables_free(struct bf_mlx5 *dev);
/* A frame has come that is no RoCE: the tables say where it goes. Takes it. */
void bf_mlx5_flow_rx(struct bf_mlx5_port *port, struct bf_packet *pkt);

/* xrc.c */
/* The queue pair serves the shared receive queue that the request at hand names. False: it is none of its domain. */
bool bf_mlx5_xrc_select(struct bf_mlx5_qp *qp);
void bf_mlx5_xrc_forget(struct bf_mlx5_srq *srq); /* it goes */
/* The fields of `r` that say that a packet is XRC's, and of WQE `s` (NULL: an answer) for which queue. */
void bf_mlx5_xrc_address(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_roce *r);

/* srq.c */
#define BF_MLX5_SRQ_STRIDE_MAX 2048u
enum bf_rdma_take bf_mlx5_srq_take(struct bf_mlx5_qp *qp); /* as bf_mlx5_rq_take() */
/* The queue pair waits no more for a WQE of its shared receive queue. */
void bf_mlx5_srq_leave_line(struct bf_mlx5_qp *qp);
uint8_t bf_mlx5_cmd_create_srq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_srq(struct bf_mlx5_mail *m); /* or RMP */
uint8_t bf_mlx5_cmd_query_srq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_arm_rq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_rmp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_rmp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_rmp(struct bf_mlx5_mail *m);

/* cq.c */
struct bf_mlx5_completion {
	uint8_t opcode, wqe_opcode;
	bool solicited;
	uint16_t index;
	uint32_t byte_cnt, imm;
	uint32_t flags_rqpn; /* a datagram: BF_MLX5_CQE_GRH and so on, and its sender's number */
	struct bf_mlx5_err err;
	uint64_t told_ps;    /* a send that succeeded: when its doorbell arrived; 0: none */
	const uint8_t *data; /* bytes that the CQE carries itself; NULL: none */
	uint8_t data_len;
	uint8_t format; /* BF_MLX5_CQE_INLINE_*, when there are data */
	uint16_t slid;  /* an InfiniBand datagram's sender */
	bool is_frame;  /* then: */
	struct {
		uint32_t hash, tag;
		uint8_t hash_type, checks, types; /* BF_MLX5_CQE_HASH_TYPE, _HDS, _L4_TYPE */
	} frame;
};
void bf_mlx5_cq_write(struct bf_mlx5_cq *cq, struct bf_mlx5_qp *qp, const struct bf_mlx5_completion *c);
/* All that a CQE says of its queue. */
struct bf_mlx5_cqe_source {
	uint32_t qpn, user_index;
	uint64_t ns;
};
void bf_mlx5_cq_put(struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from, const struct bf_mlx5_completion *c);
/* The same for `n` entries at once, whose bytes are `title` and, already there, what it stands for. */
void bf_mlx5_cq_put_block(struct bf_mlx5_cq *cq, uint32_t n, const struct bf_mlx5_cqe_source *from,
			  const struct bf_mlx5_completion *c, struct bf_mlx5_cqe *title);
void bf_mlx5_cqe_build(const struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from,
		       const struct bf_mlx5_completion *c, struct bf_mlx5_cqe *cqe);

/* cq_compress.c */
#define BF_MLX5_BLOCK_MAX 64u                     /* entries of a compressed block: assumed */
#define BF_MLX5_BLOCK_US 1u                       /* how long an entry may wait for others: assumed */
bool bf_mlx5_session_open(struct bf_mlx5_cq *cq); /* false on lack of memory */
void bf_mlx5_session_close(struct bf_mlx5_cq *cq);
/* Takes the entry; it is written at once, or with those that follow it. */
void bf_mlx5_session_take(struct bf_mlx5_cq *cq, const struct bf_mlx5_cqe_source *from,
			  const struct bf_mlx5_completion *c);
void bf_mlx5_session_flush(struct bf_mlx5_cq *cq); /* what waits is written */
uint32_t bf_mlx5_session_count(const struct bf_mlx5_cq *cq);

/* cq.c again */
void bf_mlx5_cq_arm(struct bf_mlx5_uar *uar, uint64_t doorbell);
void bf_mlx5_cq_free(struct bf_mlx5_cq *cq);
/* The most bytes of data that a CQE of this queue carries when a queue pair asks for `want` (32 or 64). */
static inline uint8_t bf_mlx5_cq_carries(const struct bf_mlx5_cq *cq, uint8_t want)
{
	return cq->cqe_size == 128 ? want : want ? 32 : 0;
}
static inline uint8_t bf_mlx5_cqe_format(uint8_t carries)
{
	return carries == 64 ? BF_MLX5_CQE_INLINE_64 : BF_MLX5_CQE_INLINE_32;
}
/* Sees to it that there is cq->extra. False on lack of memory. */
bool bf_mlx5_cq_extend(struct bf_mlx5_cq *cq);
/* Events wait as said there; zeros: they do not. False on lack of memory. */
bool bf_mlx5_cq_moderate(struct bf_mlx5_cq *cq, uint32_t period_us, uint32_t max_count);
/* The last entry of a ring that is about to be replaced; false when it cannot be written. */
bool bf_mlx5_cq_end_ring(struct bf_mlx5_cq *cq);

/* eq.c: what asynchronous events and completion events are told to, if there is a queue that wants them. */
void bf_mlx5_event_comp(struct bf_mlx5_cq *cq);
void bf_mlx5_event_cq_error(struct bf_mlx5_cq *cq, uint8_t syndrome);
void bf_mlx5_event_qp(struct bf_mlx5_qp *qp, enum bf_mlx5_event type);
void bf_mlx5_event_number(struct bf_mlx5 *dev, enum bf_mlx5_event type, uint32_t number); /* an SRQ, a DC target */
/* A request was refused for good without a receive WQE that could tell why. */
void bf_mlx5_event_refused(struct bf_mlx5_qp *qp, uint8_t nak);
void bf_mlx5_event_port(struct bf_mlx5_port *port, bool up);
void bf_mlx5_event_page_fault(struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint64_t len, uint32_t token);
bool bf_mlx5_event_wanted(const struct bf_mlx5 *dev, enum bf_mlx5_event type);
void bf_mlx5_event_cmd(struct bf_mlx5 *dev, uint32_t entries); /* of the command queue: they are done */
/* The doorbell `word`: consumer index of an event queue, which is armed or not. */
void bf_mlx5_eq_update(struct bf_mlx5_uar *uar, uint32_t word, bool arm);
void bf_mlx5_eq_free(struct bf_mlx5_eq *eq);
uint8_t bf_mlx5_cmd_create_eq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_eq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_eq(struct bf_mlx5_mail *m);

/* mkey.c */
enum bf_mlx5_key_fault bf_mlx5_mkey_check(struct bf_mlx5_qp *qp, uint32_t key, uint64_t va, uint64_t len,
					  uint32_t access, uint16_t index, const struct bf_mlx5_mkey **out);
/* What bf_mlx5_mkey_check() checks, without a record. `qpn` 0: whosesoever the key is. */
enum bf_mlx5_key_fault bf_mlx5_mkey_allows(const struct bf_mlx5 *dev, uint32_t pd, uint32_t qpn, uint32_t key,
					   uint64_t va, uint64_t len, uint32_t access, const struct bf_mlx5_mkey **out);
uint32_t bf_mlx5_mkc_access(const uint8_t *mkc); /* BF_MLX5_ACCESS_* of a context */
void bf_mlx5_mkey_free(struct bf_mlx5 *dev, struct bf_mlx5_mkey *k);
/* Syndrome of a local key failure. */
struct bf_mlx5_err bf_mlx5_local_fault(enum bf_mlx5_key_fault f);

/*
 * Real devices keep translations in memory that the host gives them (MANAGE_PAGES), so a host pays for its own lists.
 * Here they are this process's: 16 M entries are 64 GiB in pages of 4 KiB, and half a GiB at most. Assumed.
 */
#define BF_MLX5_ENTRIES (1u << 24)
#define BF_MLX5_LOG_MAX_KLM 16u /* pieces of a key, log_max_klm_list_size */

/* mkey_map.c */
struct bf_mlx5_xlat *bf_mlx5_xlat_new(struct bf_mlx5 *dev, uint32_t count); /* NULL: no memory, or no more entries */
void bf_mlx5_xlat_free(struct bf_mlx5 *dev, struct bf_mlx5_xlat *x);
/* The other keys that bytes of a key lie in allow the access as well. */
enum bf_mlx5_key_fault bf_mlx5_map_check(struct bf_mlx5 *dev, const struct bf_mlx5_mkey *k, uint64_t va, uint64_t len,
					 uint32_t access);
/* The IOVA of address `va` of a key that was checked; `*len` becomes how many bytes follow there, at least 1. */
uint64_t bf_mlx5_map(const struct bf_mlx5 *dev, uint32_t key, uint64_t va, uint32_t access, uint32_t *len);
/* Writes to addresses of a key that was checked. 0 or -EFAULT. */
int bf_mlx5_key_write(struct bf_mlx5 *dev, uint32_t key, uint64_t va, const uint8_t *data, uint32_t len);

/* umr.c */
bool bf_mlx5_umr(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s);     /* false: the WQE failed */
bool bf_mlx5_remote_invalidate(struct bf_mlx5_qp *qp, uint32_t key); /* false: that is not allowed */
struct bf_mlx5_xlat *bf_mlx5_read_list(struct bf_mlx5 *dev, const uint8_t *list,
				       uint32_t n); /* `n` KLMs; NULL: cannot be, or no memory */
struct bf_mlx5_xlat *bf_mlx5_read_ksms(struct bf_mlx5 *dev, const uint8_t *list, uint32_t n,
				       uint32_t log_size); /* the same of KSMs of 2^`log_size` bytes each */

/* qp.c */
void bf_mlx5_qp_init(struct bf_mlx5_qp *qp, struct bf_mlx5 *dev);
/* Creates a queue pair, or a half; destroys it. A status. */
uint8_t bf_mlx5_qp_create(struct bf_mlx5_mail *m, enum bf_mlx5_raw raw);
uint8_t bf_mlx5_qp_destroy(struct bf_mlx5_qp *qp);
/* Keeps the context for QUERY; 0 or a status. */
uint8_t bf_mlx5_qp_keep(struct bf_mlx5_qp *qp, const uint8_t *qpc);
uint32_t bf_mlx5_gid_ipv4(const uint8_t gid[16]);     /* 0: none that can be reached */
int bf_mlx5_qp_prepare(struct bf_mlx5_qp *qp);        /* what is needed from INIT on; 0 or -ENOMEM */
bool bf_mlx5_qp_make_receives(struct bf_mlx5_qp *qp); /* false on lack of memory */
void bf_mlx5_qp_set_state(struct bf_mlx5_qp *qp, uint8_t state, enum bf_mlx5_qp_cause cause);
void bf_mlx5_qp_error(struct bf_mlx5_qp *qp, enum bf_mlx5_qp_cause cause);
void bf_mlx5_qp_reset(struct bf_mlx5_qp *qp);
void bf_mlx5_qp_release(struct bf_mlx5_qp *qp); /* a DMA operation of a dead QP has ended */
void bf_mlx5_qp_free(struct bf_mlx5_qp *qp);
/* A reason in a record has little room: without the place that it begins with, and no word is cut, if it is too long.
 */
void bf_mlx5_short_reason(char *out, size_t cap, const char *why);
void bf_mlx5_qp_report(struct bf_mlx5_qp *qp, uint8_t side, uint16_t index, uint8_t opcode, uint32_t psn, uint8_t nak,
		       struct bf_mlx5_err err, const char *why);

/* cmd.c and its parts. A handler fills `out` behind the first 8 bytes and returns a status. */
struct bf_mlx5_mail {
	struct bf_mlx5 *dev;
	const uint8_t *in;
	uint8_t *out;
	size_t in_len, out_len;
	uint32_t opcode;
	uint32_t syndrome; /* says more than the status: which check failed, see the handlers */
	uint32_t number;
};
/* Puts an object that was just made into the table, and its number into `number` and the answer. Frees it on failure.
 */
uint8_t bf_mlx5_cmd_add(struct bf_mlx5_mail *m, struct bf_mlx5_table *t, void *obj, uint32_t *number);
/* Takes the object that the command names out of the table, and frees it. */
uint8_t bf_mlx5_cmd_remove(struct bf_mlx5_mail *m, struct bf_mlx5_table *t);
/* The same of objects that are a number and nothing else. */
uint8_t bf_mlx5_cmd_add_number(struct bf_mlx5_mail *m, struct bf_mlx5_table *t);
uint8_t bf_mlx5_cmd_remove_number(struct bf_mlx5_mail *m, struct bf_mlx5_table *t);
uint8_t bf_mlx5_cmd_create_cq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_cq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_cq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_cq(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_qp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_qp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_qp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_qp(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_mkey(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_mkey(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_mkey(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_hca_cap(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_adapter(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_issi(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_set_issi(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_special_contexts(struct bf_mlx5_mail *m);
/* roce_address.c */
#define BF_MLX5_ROCE_ADDRESSES 8u /* what a gid_table_size of 0 says */
uint8_t bf_mlx5_cmd_query_roce_address(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_lag(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_vport_state(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_nic_vport(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_access_reg(struct bf_mlx5_mail *m);
/* vport.c */
uint64_t bf_mlx5_guid(const struct bf_mlx5_port *port);
/* A peer's MAC for who has only its address: it is made of that where the peer is not in this process. */
void bf_mlx5_peer_mac(const struct bf_mlx5_port *port, uint32_t ipv4, uint8_t mac[6]);
uint8_t bf_mlx5_cmd_query_hca_vport(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_modify_hca_vport(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_hca_vport_gid(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_hca_vport_pkey(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_query_vport_counter(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_create_umem(struct bf_mlx5_mail *m);
uint8_t bf_mlx5_cmd_destroy_umem(struct bf_mlx5_mail *m);
/* A UMEM, without a number, of `n` pages listed as be64; `offset` is that of its first byte. 0 or a status. */
uint8_t bf_mlx5_umem_make(struct bf_mlx5 *dev, const uint8_t *list, uint32_t n, uint32_t log_page, uint64_t offset,
			  struct bf_mlx5_umem **out);
void bf_mlx5_umem_free(struct bf_mlx5 *dev, struct bf_mlx5_umem *u); /* nobody uses it, and it has no number */
/* The one that a command names; NULL: there is none. */
struct bf_mlx5_umem *bf_mlx5_umem_find(const struct bf_mlx5 *dev, uint32_t id);
/*
 * Pages behind the command, which are there, of 4096 << `log_page` bytes; the ring begins `parts` 64ths into the first.
 * 0 or a status.
 */
uint8_t bf_mlx5_buf_pages(const struct bf_mlx5_mail *m, struct bf_mlx5_buf *b, uint32_t log_page, uint32_t parts,
			  uint64_t len);
static inline bool bf_mlx5_has_pages(const struct bf_mlx5_mail *m)
{
	return m->in_len > BF_CREATE_PAS;
}
/* `len` bytes at `offset` of `u`. 0 or a status. */
uint8_t bf_mlx5_buf_in(struct bf_mlx5_buf *b, struct bf_mlx5_umem *u, uint64_t offset, uint64_t len);
/* A ring or record of `len` bytes at `offset` of UMEM `id` (`valid`) or at IOVA `offset`. 0 or a status. */
uint8_t bf_mlx5_buf_init(struct bf_mlx5 *dev, struct bf_mlx5_buf *b, bool valid, uint32_t id, uint64_t offset,
			 uint64_t len);

/* uar.c: a rule of the fault plan that fails queue pairs is due. */
void bf_mlx5_failure_due(struct bf_event *ev);

#endif
