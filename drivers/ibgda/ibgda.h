/*
 * IBGDA: the state that device code works on, after NVSHMEM's layout of ideas (nvshmem_common_ibgda.h; reference
 * names kept: resv_head, ready_head, prod_idx, cons_idx, get_head, get_tail, ibuf) and DeepEP's use of it.
 *
 * Everything here lives in memory of the PE and is shared by its threads; the host side fills it in (host.h), device
 * code in device.h works on it. Pointers are dereferenceable by the PE's threads; addresses named `va` and keys go on
 * the wire. C and CUDA clean.
 *
 * All counts are of the whole PE, over all its devices (NVSHMEM's are of each device): the queues of several devices
 * lie in one table, and each says by `dev_idx` whose it is. `dev_idx` counts selected devices from 0.
 */
#ifndef BELFRY_DRIVERS_IBGDA_IBGDA_H
#define BELFRY_DRIVERS_IBGDA_IBGDA_H

#include <stdint.h>

#include "sim/bytes.h"

/* Which set of rules device code follows where the sources differ. */
enum bf_ibgda_flavour {
	BF_IBGDA_NVSHMEM, /* overflow wait in the reservation, last WQE of a group signalled, batches by reservation */
	BF_IBGDA_DEEPEP,  /* every WQE signalled, no overflow wait, batch of four by message index */
};

/*
 * The order of tables. Three lines of source are about that must not be mixed:
 *   L1  NVSHMEM 3.5: RCs by (i, PE), a CQ object each, numbered like the queue it belongs to
 *   L2  NVSHMEM 3.4.5: RCs by (PE, i), CQs carved from shared objects and numbered in turn, no gap for oneself
 *   L3  as DeepEP patched it, with backups: RCs by (i, PE), a send and a receive CQ each, a gap of two for oneself
 * Where a layout may be left open, 0 stands for L3.
 */
enum bf_ibgda_layout_id { BF_IBGDA_L1 = 1, BF_IBGDA_L2, BF_IBGDA_L3 };

enum bf_ibgda_qp_type { BF_IBGDA_DCI = 1, BF_IBGDA_DCT, BF_IBGDA_RC };

/* What picks a thread's DCI (NVSHMEM IBGDA_DCI_MAP_BY). */
enum bf_ibgda_dci_map { BF_IBGDA_MAP_CTA, BF_IBGDA_MAP_SM, BF_IBGDA_MAP_WARP, BF_IBGDA_MAP_DCT };

/*
 * Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default.
 */
#define BF_IBGDA_BUG_NO_WQE_FENCE (1u << 0)      /* no fence between WQE bytes and publication */
#define BF_IBGDA_BUG_NO_DBREC_FENCE (1u << 1)    /* no order between DBREC and doorbell */
#define BF_IBGDA_BUG_DOORBELL_FIRST (1u << 2)    /* doorbell rung before the doorbell record is stored */
#define BF_IBGDA_BUG_NO_OVERFLOW_WAIT (1u << 3)  /* reservation does not wait for free slots */
#define BF_IBGDA_BUG_CTA_FENCE (1u << 4)         /* fence of block scope where GPU or system scope is needed */
#define BF_IBGDA_BUG_NO_READY_ORDER (1u << 5)    /* publishes without waiting for earlier reservations */
#define BF_IBGDA_BUG_NO_LOCK (1u << 6)           /* post_send without its lock */
#define BF_IBGDA_BUG_LOST_BATCH (1u << 7)        /* batching that never rings the last group */
#define BF_IBGDA_BUG_POLL_NO_MINUS2 (1u << 8)    /* 16-bit window of poll_cq off by one */
#define BF_IBGDA_BUG_DBREC_INDEX (1u << 9)       /* DBREC holds the last posted index, not the next free one */
#define BF_IBGDA_BUG_NO_CHUNK (1u << 10)         /* ignores memory-key boundaries */
#define BF_IBGDA_BUG_IGNORE_ERROR (1u << 11)     /* poll_cq ignores error CQEs */
#define BF_IBGDA_BUG_WQE_AFTER_READY (1u << 12)  /* WQE bytes written after the slot was published */
#define BF_IBGDA_BUG_POLL_STORE (1u << 13)       /* pollers store cons_idx, where it takes an atomic maximum */
#define BF_IBGDA_BUG_POLL_WIDEN (1u << 14)       /* poll_cq widens the counter without the index it waits for */
#define BF_IBGDA_BUG_QUIET_NO_WAIT (1u << 15)    /* quiet does not wait */
#define BF_IBGDA_BUG_CQ_NO_CONSUMER (1u << 16)   /* plain CQ: the consumer index is not told to the device */
#define BF_IBGDA_BUG_LKEY_SWAPPED (1u << 17)     /* local keys in the processor's byte order */
#define BF_IBGDA_BUG_NO_REMOTE_CHUNK (1u << 18)  /* ignores memory-key boundaries of the remote side only */
#define BF_IBGDA_BUG_WRITE_IMM (1u << 19)        /* puts carry an immediate, for which nobody has posted a receive */
#define BF_IBGDA_BUG_CQ_NOT_CLEARED (1u << 20)   /* host: CQs start with what was in their memory */
#define BF_IBGDA_BUG_CQ_NO_OI (1u << 21)         /* host: collapsed CQs mind overrun */
#define BF_IBGDA_BUG_CQ_TOO_SMALL (1u << 22)     /* host: plain CQs have an eighth of the send ring's entries */
#define BF_IBGDA_BUG_CQ_NOT_COLLAPSED (1u << 23) /* host: CQs are rings, and device code looks at entry 0 */
#define BF_IBGDA_BUG_READ_DEPTH (1u << 24)       /* host: more reads outstanding than the peer answers */
#define BF_IBGDA_BUG_KEY_NO_ATOMIC (1u << 25)    /* host: memory keys do not allow atomics */
#define BF_IBGDA_BUG_RNR_FINITE (1u << 26)       /* host: a receiver that is not ready is asked once more only */
#define BF_IBGDA_BUG_RADDR_ZERO (1u << 27)       /* host: addresses of the peers' heaps are not exchanged */
#define BF_IBGDA_BUG_QP_LEAK (1u << 28)          /* host: queue pairs are not destroyed at the end */
#define BF_IBGDA_BUG_RTS_SKIPPED (1u << 29)      /* host: queue pairs stay in RTR */
#define BF_IBGDA_BUG_ENTRY_INDEX (1u << 30)      /* puts: the control segment has the next entry's index */
#define BF_IBGDA_BUG_ENTRY_QPN (1u << 31)        /* puts: ... the number of another queue pair */
#define BF_IBGDA_BUG_ENTRY_SHORT (1ull << 32)    /* puts: ... a segment less than there are */
#define BF_IBGDA_BUG_NO_PUBLISH (1ull << 33)     /* slots are filled and not published */
#define BF_IBGDA_BUG_PUBLISH_MORE (1ull << 34)   /* one more slot is published than was reserved */
#define BF_IBGDA_BUG_NO_QUIET (1ull << 35)       /* the kernel ends without a quiet */
#define BF_IBGDA_BUG_DC_KEY (1ull << 36)         /* host: DC targets have another access key than their vectors */
#define BF_IBGDA_BUG_DCT_SWAPPED (1ull << 37)    /* host: numbers of DC targets in the processor's byte order */
#define BF_IBGDA_BUG_RESERVE_SHORT (1ull << 38)  /* a group reserves a slot less than it fills */
#define BF_IBGDA_BUG_NO_CST (1ull << 39)         /* quiet leaves the consistency step behind gets out */
#define BF_IBGDA_BUG_IBUF_NO_WAIT (1ull << 40)   /* slots of the ibuf are taken before they are given back */
#define BF_IBGDA_BUG_ERROR_WAITS (1ull << 41)    /* poll_cq waits on at an error CQE */
#define BF_IBGDA_BUG_NO_CQE (1ull << 42)         /* the last entry of a group asks for no completion */
#define BF_IBGDA_BUG_OWNER_IGNORED (1ull << 43)  /* plain CQ: an entry of any lap is taken */
#define BF_IBGDA_BUG_WEAK_POLL (1ull << 44)      /* CQEs are polled with weak loads */
#define BF_IBGDA_BUG_KEY_DEVICE_0 (1ull << 45)   /* keys are looked up for device 0, whichever the queue is on */
#define BF_IBGDA_BUG_CQ_COMPRESSED (1ull << 46)  /* host: plain CQs ask for compressed completions */

/* Table of the bits above: option name and one line of what is wrong, for help texts. Ends with a NULL name. */
struct bf_ibgda_bug {
	uint64_t bit;
	const char *name; /* "no-wqe-fence" */
	const char *summary;
};
extern const struct bf_ibgda_bug bf_ibgda_bugs[];

/*
 * What readers of the sources suspect to be wrong there, each as a variant of its own. Never set by default. The device
 * side looks at bf_ibgda_state.suspects, the host side at its options.
 */
#define BF_IBGDA_SUSPECT_FENCE_DIVIDES (1ull << 0)
#define BF_IBGDA_SUSPECT_QP_QUIET_IGNORES_HANDLE (1ull << 1)
#define BF_IBGDA_SUSPECT_PUT_LOSES_QP_INDEX (1ull << 2)
#define BF_IBGDA_SUSPECT_SIGNAL_LOSES_QP_INDEX (1ull << 3)
#define BF_IBGDA_SUSPECT_BASE_NOT_BROADCAST (1ull << 4)
#define BF_IBGDA_SUSPECT_LKEY_NO_OVERFLOW (1ull << 5)
#define BF_IBGDA_SUSPECT_RECV_LKEY_SWAP (1ull << 6)
#define BF_IBGDA_SUSPECT_RC_ORDER_V1 (1ull << 7)
#define BF_IBGDA_SUSPECT_ASYNC_CAS_PROD (1ull << 8)
#define BF_IBGDA_SUSPECT_EPS_INDEX_DEVICE0 (1ull << 16)
#define BF_IBGDA_SUSPECT_CQ_POINTERS_STALE (1ull << 17)
#define BF_IBGDA_SUSPECT_MVARS_POINTERS_STALE (1ull << 18)
#define BF_IBGDA_SUSPECT_PROXY_RECV_WORD (1ull << 19)
#define BF_IBGDA_SUSPECT_PROXY_SLOT_ZERO (1ull << 20)
#define BF_IBGDA_SUSPECT_PROXY_NULL_SELF (1ull << 21)
#define BF_IBGDA_SUSPECT_DEV_ID_TWICE (1ull << 22)
#define BF_IBGDA_SUSPECT_SKIP_CST_LATE (1ull << 23)
#define BF_IBGDA_SUSPECT_DCI_EP_LEAK (1ull << 24)

enum bf_ibgda_side { BF_IBGDA_DEVICE_SIDE, BF_IBGDA_HOST_SIDE };

/* Table of the bits above: who reads the bit, its option name, what it does. Ends with a NULL name. */
struct bf_ibgda_suspect {
	uint64_t bit;
	enum bf_ibgda_side side;
	const char *name; /* "fence-divides" */
	const char *summary;
};
extern const struct bf_ibgda_suspect bf_ibgda_suspects[];

/* Sets the bit of the bug or suspect called `name`; 0 when there is neither. */
int bf_ibgda_set_wrong(const char *name, uint64_t *bugs, uint64_t *suspects);

/*
 * What a machine may lack, as a bit each: what host code then says at the start (host.h). Table: option name, and what
 * it tells whoever meets it. Ends with a NULL name.
 */
#define BF_IBGDA_LACKS_GPU_UAR (1u << 0)        /* doorbell pages cannot be mapped to the GPU */
#define BF_IBGDA_LACKS_PEER_MEMORY (1u << 1)    /* NICs cannot register GPU memory */
#define BF_IBGDA_LACKS_ADDRESS_HANDLE (1u << 2) /* ports have no address that a peer could be reached by */
#define BF_IBGDA_LACKS_GPU_BUFFERS (1u << 3)    /* no GPU memory for rings, records and completion queues */
extern const struct bf_ibgda_bug bf_ibgda_lacks[];

/*
 * What an atomic does. SET and SWAP differ in whether the caller looks at the old value; put-with-signal uses ADD or
 * SET.
 */
enum bf_ibgda_amo_op {
	BF_IBGDA_AMO_INC,
	BF_IBGDA_AMO_ADD,
	BF_IBGDA_AMO_SET,
	BF_IBGDA_AMO_SWAP,
	BF_IBGDA_AMO_AND,
	BF_IBGDA_AMO_OR,
	BF_IBGDA_AMO_XOR,
	BF_IBGDA_AMO_CAS,   /* fetching only */
	BF_IBGDA_AMO_FETCH, /* fetching only */
	BF_IBGDA_AMO_OPS
};

/* What tells one version of a structure from another: the layout and the size (NVSHMEM: 1 << 16 + sizeof). */
#define BF_IBGDA_VERSION(layout, type) ((uint32_t)(layout) << 16 | (uint32_t)sizeof(type))

/*
 * A completion queue, in the table `cqs`. The counters it points to are in its queue pair's mvars; a receive CQ has no
 * prod_idx and no ready_head.
 */
struct bf_ibgda_cq {
	uint32_t version;
	uint8_t qp_type;
	uint8_t plain;   /* a ring of entries with owner bits instead of a collapsed CQ */
	void *cqe;       /* entry 0; the only one that is used when the CQ is collapsed */
	uint32_t *dbrec; /* consumer index; used when plain */
	uint64_t *prod_idx, *cons_idx, *resv_head, *ready_head;
	uint32_t ncqes; /* depth: the window of the 16-bit test, or the entries of a plain CQ */
	uint32_t cqn, qpn;
};

/* The counters of a queue pair. All count WQEBBs (receive: entries) as "index + 1", start at 0 and never wrap. */
struct bf_ibgda_mvars {
	uint32_t post_send_lock;
	uint32_t status;     /* syndrome of the first error completion seen by a poller, 0 = none */
	uint64_t resv_head;  /* WQEBBs reserved; from BF_IBGDA_SEALED on: closed to reservations (failover.h) */
	uint64_t ready_head; /* filled, in order */
	uint64_t prod_idx;   /* doorbelled */
	uint64_t cons_idx;   /* known to be complete */
	uint64_t get_head;   /* last fetching operation + 1 */
	uint64_t get_tail;   /* last one made consistent */
	uint64_t ibuf_head, ibuf_tail;
	uint64_t cq_head; /* plain CQ: entries consumed */
	uint32_t cq_lock; /* plain CQ: one poller at a time */
	uint32_t version;
	uint64_t rx_resv_head; /* receive entries given to the device */
	uint64_t rx_cons_idx;  /* of them known to be consumed */
	/* All ones less the lowest index whose slots were given up when the queue failed; 0: none (failover.h). */
	uint64_t abandoned;
	uint64_t given_up; /* WQEBBs of all slots that were given up */
	uint64_t pad[1];
};

/* A send or receive queue. */
struct bf_ibgda_wq {
	uint16_t nwqes;  /* WQEBBs of a send ring, entries of 16 bytes of a receive ring; power of two */
	void *wqe;       /* ring */
	uint32_t *dbrec; /* this queue's word of the doorbell record */
	void
	    *bf; /* doorbell register; with use_async_postsend the 64-bit slot that the CPU proxy looks at. Send only */
	struct bf_ibgda_cq *cq; /* NULL: this entry of the table is not in use, or there is no receive queue */
	uint64_t *prod_idx;     /* into mvars: what tells the proxy or the device of more (prod_idx, rx_resv_head) */
};

struct bf_ibgda_qp {
	uint32_t version;
	uint8_t qp_type;
	uint8_t is_backup; /* in the table `backups` */
	uint16_t peer;     /* PE at the other end; a DCI has none */
	uint32_t qpn;      /* BF_IBGDA_UNUSED: this entry of the table is not in use (a PE's own) */
	uint32_t dev_idx;
	uint32_t ordinal; /* index in its table */
	struct {
		uint32_t nslots;     /* power of two; slot 0 before them is shared by non-fetching atomics */
		uint32_t lkey, rkey; /* big-endian, as stored into WQEs */
		void *buf;
		uint64_t va;
	} ibuf;
	struct bf_ibgda_wq tx_wq, rx_wq;
	struct bf_ibgda_mvars mvars __attribute__((aligned(64)));
};
#define BF_IBGDA_UNUSED 0xffffffffu
#define BF_IBGDA_SEALED (1ull << 62)

/*
 * An address vector towards a DCT, as it goes into entries: the compact form is the first 16 bytes (be64 access key,
 * be32 DCT number, rate, path bits, UDP source port), the full form is all 48 with bit 31 of word 2 set (mlx5dv.h
 * struct mlx5_wqe_av). Words as they lie in memory; bit 31 is set by the host when compact vectors are not supported.
 */
struct bf_ibgda_dct {
	uint32_t w[12];
} __attribute__((aligned(16)));
#define BF_IBGDA_DC_KEY 0x5623CEAFull /* access key of all DCTs (NVSHMEM) */

/* One entry per granule of the symmetric heap and device: big-endian key and where the registration ends. */
struct bf_ibgda_lkey {
	uint32_t key;
	uint64_t end; /* address */
};
struct bf_ibgda_rkey {
	uint32_t key;
	uint64_t end; /* heap offset */
};

#define BF_IBGDA_MAX_DEVICES 15u

/* Memory outside of the heap that may be the local end of a transfer: a list, newest first. */
struct bf_ibgda_local_only {
	const struct bf_ibgda_local_only *next;
	const void *first, *last;             /* both inclusive */
	uint64_t va;                          /* of `first` */
	uint32_t lkeys[BF_IBGDA_MAX_DEVICES]; /* big-endian, by device */
	uint32_t sysmem;                      /* host memory: sources need a system fence */
};

/* Parts of the key and DCT tables that NVSHMEM keeps in constant memory; what is beyond lies in the overflow arrays. */
#define BF_IBGDA_CONST_KEYS 64u
#define BF_IBGDA_CONST_DCTS 128u

/* Round-robin counters (u8, wrapping, stored without atomics: rotation is approximate). */
enum bf_ibgda_switch {
	BF_IBGDA_SWITCH_DEFAULT, /* among the default RCs */
	BF_IBGDA_SWITCH_ANY,     /* among all RCs */
	BF_IBGDA_SWITCH_DCI,     /* among the devices of a DCI group */
	BF_IBGDA_SWITCHES = 4    /* bytes to allocate, aligned to 4 */
};

/* The failover word of an RC: which queue carries its traffic. Changed by compare-and-swap only (failover.h). */
#define BF_IBGDA_ON_BACKUP 1u /* the backup carries it */
#define BF_IBGDA_MOVING 2u    /* on its way: posters wait for this bit to go */
#define BF_IBGDA_LOST 4u      /* neither queue works: posters and waiters give up */
#define BF_IBGDA_EPOCH 8u     /* what is added by each move */

struct bf_ibgda_state {
	uint32_t version;
	enum bf_ibgda_flavour flavour;
	enum bf_ibgda_layout_id layout;
	enum bf_ibgda_dci_map dci_map;
	uint64_t bugs;     /* BF_IBGDA_BUG_* */
	uint64_t suspects; /* BF_IBGDA_SUSPECT_* */
	uint32_t mype, npes;
	uint32_t num_devices;
	uint32_t num_rc_per_pe;         /* QPs to each PE */
	uint32_t num_default_rc_per_pe; /* the first of them, which the default choice uses and quiet and fence cover */
	uint32_t num_backup_per_pe;     /* 0, or num_rc_per_pe: backups[x] is the backup of rcs[x] */
	uint32_t num_dci;               /* all: exclusive ones first, then num_shared_dci; groups of num_devices */
	uint32_t num_shared_dci;
	uint32_t
	    num_dct_per_pe; /* of each PE; DCT d of PE p is entry p * num_dct_per_pe + d, its device d % num_devices */
	uint32_t batch;     /* num_requests_in_batch, power of two */
	uint32_t log2_granularity;
	uint8_t system_scope;        /* rings or records in host memory (NVSHMEM: not nic_buf_on_gpumem) */
	uint8_t support_half_av_seg; /* DC entries carry the compact address vector */
	uint8_t may_skip_cst;        /* completed READs are in order with loads: no consistency step */
	uint8_t use_async_postsend;  /* a CPU thread rings (proxy.h) */
	uint64_t heap_va;            /* of this PE */
	uint64_t heap_size;
	void *heap; /* the same, dereferenceable */
	struct {
		struct bf_ibgda_lkey lkeys[BF_IBGDA_CONST_KEYS]; /* [granule * num_devices + dev] */
		struct bf_ibgda_rkey rkeys[BF_IBGDA_CONST_KEYS]; /* [(granule * npes + pe) * num_devices + dev] */
		struct bf_ibgda_dct dcts[BF_IBGDA_CONST_DCTS];
	} constmem;
	struct {
		const struct bf_ibgda_lkey *lkeys; /* entry BF_IBGDA_CONST_KEYS and on */
		const struct bf_ibgda_rkey *rkeys;
		const struct bf_ibgda_dct *dcts;
		const uint64_t *peer_heap_va; /* [pe] */
		struct bf_ibgda_qp *dcis;     /* [num_dci] */
		struct bf_ibgda_qp *rcs;      /* bf_ibgda_rc_index() */
		struct bf_ibgda_qp *backups;  /* the same order; NULL: none */
		uint32_t *failover;           /* word of each RC, the same order; NULL: no failover */
		struct bf_ibgda_cq *cqs;      /* bf_ibgda_cq_index() */
		uint8_t *qp_group_switches;   /* [BF_IBGDA_SWITCHES] */
		const struct bf_ibgda_local_only *local_only;
	} globalmem;
};

/*
 * What a run was told to do wrong. Built with BF_IBGDA_RIGHT, device code has no such switches, as what people ship has
 * none: it is for runs without mistakes, in which all of them are 0.
 */
BF_FN uint64_t bf_ibgda_mistakes(const struct bf_ibgda_state *state)
{
#ifdef BF_IBGDA_RIGHT
	(void)state;
	return 0;
#else
	return state->bugs;
#endif
}
BF_FN uint64_t bf_ibgda_suspected(const struct bf_ibgda_state *state)
{
#ifdef BF_IBGDA_RIGHT
	(void)state;
	return 0;
#else
	return state->suspects;
#endif
}

/* Where the device code's operations go: a queue pair and, if that is a DCI, to whom. */
struct bf_ibgda_to {
	struct bf_ibgda_qp *qp;
	uint32_t pe;
	uint32_t dct; /* entry of the DCT table; DCI only */
};

/* Handles of RCs for callers who choose (NVSHMEM's qp_index): these two, or what creating queues returned. */
#define BF_IBGDA_QP_DEFAULT 0xfffffffeu
#define BF_IBGDA_QP_ANY 0xffffffffu

/* A send queue as the CPU proxy (proxy.h) sees it. */
struct bf_ibgda_proxy_queue {
	const uint64_t *slot; /* what tx_wq.bf of the queue points to */
	uint32_t *dbrec;      /* send word of the doorbell record */
	void *bf;             /* doorbell register */
	uint32_t qpn;
	uint64_t posted; /* the proxy's own: what the device was told */
};

/* What a proxy thread works on; `stop` is set by whoever ends it, after the last quiet. */
struct bf_ibgda_proxy {
	struct bf_ibgda_proxy_queue *queues;
	uint32_t nqueues;
	uint32_t stop;
	uint32_t idle_ns; /* pause after a look that found nothing */
};

/* Place of RC `i` towards `pe` in tables of RCs. */
BF_FN uint32_t bf_ibgda_rc_index(enum bf_ibgda_layout_id layout, uint32_t npes, uint32_t num_rc_per_pe, uint32_t pe,
				 uint32_t i)
{
	return layout == BF_IBGDA_L2 ? pe * num_rc_per_pe + i : i * npes + pe;
}

/* The PE that place `index` leads to, and which of the RCs to it that is. */
BF_FN uint32_t bf_ibgda_rc_pe(enum bf_ibgda_layout_id layout, uint32_t npes, uint32_t num_rc_per_pe, uint32_t index)
{
	return layout == BF_IBGDA_L2 ? index / num_rc_per_pe : index % npes;
}
BF_FN uint32_t bf_ibgda_rc_number(enum bf_ibgda_layout_id layout, uint32_t npes, uint32_t num_rc_per_pe, uint32_t index)
{
	return layout == BF_IBGDA_L2 ? index % num_rc_per_pe : index / npes;
}

/* What the numbering of CQs depends on. */
struct bf_ibgda_counts {
	enum bf_ibgda_layout_id layout;
	uint32_t mype, npes;
	uint32_t num_dci, num_rc_per_pe, num_backup_per_pe;
};

/* Entries of the table of CQs, those that belong to nobody included. */
BF_FN uint32_t bf_ibgda_cq_count(const struct bf_ibgda_counts *c)
{
	switch (c->layout) {
	case BF_IBGDA_L1:
		return c->num_dci + (c->num_rc_per_pe + c->num_backup_per_pe) * c->npes;
	case BF_IBGDA_L2:
		return c->num_dci + (c->num_rc_per_pe + c->num_backup_per_pe) * (c->npes - 1);
	case BF_IBGDA_L3:
	default:
		return c->num_dci + 2 * (c->num_rc_per_pe + c->num_backup_per_pe) * c->npes;
	}
}

/*
 * Place of the send CQ of RC `index` (or of its backup), which is not the PE's own; DCI d has CQ d. In L3 the receive
 * CQ is the next one; the other layouts have none.
 */
BF_FN uint32_t bf_ibgda_cq_index(const struct bf_ibgda_counts *c, uint32_t index, int backup)
{
	uint32_t first = c->num_dci;

	switch (c->layout) {
	case BF_IBGDA_L1:
		return first + (backup ? c->num_rc_per_pe * c->npes : 0) + index;
	case BF_IBGDA_L2:
		first += backup ? c->num_rc_per_pe * (c->npes - 1) : 0;
		return first + index - (index / c->num_rc_per_pe > c->mype ? c->num_rc_per_pe : 0);
	case BF_IBGDA_L3:
	default:
		return first + 2 * ((backup ? c->num_rc_per_pe * c->npes : 0) + index);
	}
}

#endif
