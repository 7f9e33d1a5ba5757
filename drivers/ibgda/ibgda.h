/*
 * IBGDA: the state that device code works on, after NVSHMEM's layout of ideas (nvshmem_common_ibgda.h; reference
 * names kept: resv_head, ready_head, prod_idx, cons_idx, get_head, get_tail, ibuf) and DeepEP's use of it.
 *
 * Everything here lives in memory of the PE and is shared by its threads; the host side fills it in (host.h), device
 * code in device.h works on it. Pointers are dereferenceable by the PE's threads; addresses named `va` and keys go on
 * the wire. C and CUDA clean.
 */
#ifndef BELFRY_DRIVERS_IBGDA_IBGDA_H
#define BELFRY_DRIVERS_IBGDA_IBGDA_H

#include <stdint.h>

/* Which set of rules device code follows where the sources differ. */
enum bf_ibgda_flavour {
	BF_IBGDA_NVSHMEM, /* overflow wait in the reservation, last WQE of a group signalled, batches by reservation */
	BF_IBGDA_DEEPEP,  /* every WQE signalled, no overflow wait, batch of four by message index */
};

/*
 * Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default.
 */
#define BF_IBGDA_BUG_NO_WQE_FENCE (1u << 0)     /* no fence between WQE bytes and publication */
#define BF_IBGDA_BUG_NO_DBREC_FENCE (1u << 1)   /* no order between DBREC and doorbell */
#define BF_IBGDA_BUG_DOORBELL_FIRST (1u << 2)   /* doorbell rung before the doorbell record is stored */
#define BF_IBGDA_BUG_NO_OVERFLOW_WAIT (1u << 3) /* reservation does not wait for free slots */
#define BF_IBGDA_BUG_CTA_FENCE (1u << 4)        /* fence of block scope where GPU or system scope is needed */
#define BF_IBGDA_BUG_NO_READY_ORDER (1u << 5)   /* publishes without waiting for earlier reservations */
#define BF_IBGDA_BUG_NO_LOCK (1u << 6)          /* post_send without its lock */
#define BF_IBGDA_BUG_LOST_BATCH (1u << 7)       /* batching that never rings the last group */
#define BF_IBGDA_BUG_POLL_NO_MINUS2 (1u << 8)   /* 16-bit window of poll_cq off by one */
#define BF_IBGDA_BUG_DBREC_INDEX (1u << 9)      /* DBREC holds the last posted index, not the next free one */
#define BF_IBGDA_BUG_NO_CHUNK (1u << 10)        /* ignores memory-key boundaries */
#define BF_IBGDA_BUG_IGNORE_ERROR (1u << 11)    /* poll_cq ignores error CQEs */
#define BF_IBGDA_BUG_WQE_AFTER_READY (1u << 12) /* WQE bytes written after the slot was published */

/* Table of the bits above: option name and one line of what is wrong, for help texts. Ends with a NULL name. */
struct bf_ibgda_bug {
	uint32_t bit;
	const char *name; /* "no-wqe-fence" */
	const char *summary;
};
extern const struct bf_ibgda_bug bf_ibgda_bugs[];

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

struct bf_ibgda_cq {
	void *cqe;       /* entry 0; the only one that is used when the CQ is collapsed */
	uint32_t *dbrec; /* consumer index; used when plain */
	uint32_t ncqes;  /* depth: the window of the 16-bit test, or the entries of a plain CQ */
	uint32_t cqn;
	uint8_t plain; /* a ring of entries with owner bits instead of a collapsed CQ */
};

struct bf_ibgda_mvars {
	uint32_t post_send_lock;
	uint32_t status;     /* syndrome of the first error completion seen by a poller, 0 = none */
	uint64_t resv_head;  /* WQEBBs reserved */
	uint64_t ready_head; /* filled, in order */
	uint64_t prod_idx;   /* doorbelled */
	uint64_t cons_idx;   /* known to be complete */
	uint64_t get_head;   /* last fetching operation + 1 */
	uint64_t get_tail;   /* last one made consistent */
	uint64_t ibuf_head, ibuf_tail;
	uint64_t cq_head; /* plain CQ: entries consumed */
	uint32_t cq_lock; /* plain CQ: one poller at a time */
	uint32_t reserved;
	uint64_t pad[5];
};

struct bf_ibgda_qp {
	uint32_t qpn;
	uint32_t dev_idx;
	uint16_t nwqes; /* WQEBBs in the ring, power of two */
	uint16_t peer;  /* PE at the other end */
	uint32_t ordinal;
	void *wqe;       /* ring */
	uint32_t *dbrec; /* send word of the doorbell record */
	void *bf;        /* doorbell register */
	struct bf_ibgda_cq cq;
	struct {
		uint32_t nslots;     /* power of two; slot 0 before them is shared by non-fetching atomics */
		uint32_t lkey, rkey; /* big-endian, as stored into WQEs */
		void *buf;
		uint64_t va;
	} ibuf;
	struct bf_ibgda_mvars mvars __attribute__((aligned(64)));
};

/* One entry per granule of the symmetric heap and device: big-endian key and where the registration ends. */
struct bf_ibgda_lkey {
	uint32_t key;
	uint64_t end; /* address */
};
struct bf_ibgda_rkey {
	uint32_t key;
	uint64_t end; /* heap offset */
};

struct bf_ibgda_state {
	enum bf_ibgda_flavour flavour;
	uint32_t bugs; /* BF_IBGDA_BUG_* */
	uint32_t mype, npes;
	uint32_t num_rc_per_pe;
	uint32_t num_devices;
	uint32_t batch; /* num_requests_in_batch, power of two */
	uint32_t log2_granularity;
	uint8_t system_scope; /* rings or records in host memory */
	uint64_t heap_va;     /* of this PE */
	uint64_t heap_size;
	void *heap;                        /* the same, dereferenceable */
	const struct bf_ibgda_lkey *lkeys; /* [granule * num_devices + dev] */
	const struct bf_ibgda_rkey *rkeys; /* [granule * npes * num_devices + pe * num_devices + dev] */
	const uint64_t *peer_heap_va;      /* [pe] */
	struct bf_ibgda_qp *rcs;           /* [pe * num_rc_per_pe + i]; self entries unused */
};

#endif
