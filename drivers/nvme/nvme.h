/*
 * NVMe, polled from user space: the state that device code works on, after the shape of libnvm (enfiskutensykkel/
 * ssd-gpu-dma, include/nvm_types.h: no, head, tail, phase, last, db, vaddr, ioaddr) with what is wrong there put right.
 *
 * A queue pair belongs to one thread, or to several that take tickets for its slots (share.h). Everything here lies in
 * memory of the PE; the host side fills it in (host.h), device code in device.h works on it. Pointers are
 * dereferenceable by the PE's threads; what is named ioaddr goes to the controller. C and CUDA clean.
 */
#ifndef BELFRY_DRIVERS_NVME_NVME_H
#define BELFRY_DRIVERS_NVME_NVME_H

#include <stdint.h>

/* Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default. */
__extension__ typedef unsigned __int128 bf_nvme_drv_bug_set;
#define BF_NVME_DRV_BIT(n) ((bf_nvme_drv_bug_set)1 << (n))
#define BF_NVME_DRV_BUG_AQA_SWAPPED BF_NVME_DRV_BIT(0) /* AQA.ASQS and ACQS exchanged (libnvm ctrl.c) */
#define BF_NVME_DRV_BUG_OPCODE_MASK BF_NVME_DRV_BIT(1) /* opcodes lose bit 7 (libnvm nvm_cmd.h) */
#define BF_NVME_DRV_BUG_STALE_FIELDS                                                                                   \
	BF_NVME_DRV_BIT(2) /* fields that a command does not use are not written (libnvm) */
#define BF_NVME_DRV_BUG_PRP_NO_CHAIN                                                                                   \
	BF_NVME_DRV_BIT(3) /* a PRP list goes on past its page as if it were data (libnvm) */
#define BF_NVME_DRV_BUG_PRP_LIST_OFFSET                                                                                \
	BF_NVME_DRV_BIT(4)                      /* PRP2 names the list's page, not where in it the list begins */
#define BF_NVME_DRV_BUG_NUMD BF_NVME_DRV_BIT(5) /* Get Log Page asks for one dword too many (libnvm) */
#define BF_NVME_DRV_BUG_PHASE_INVERTED BF_NVME_DRV_BIT(6) /* the poller starts with the other phase */
#define BF_NVME_DRV_BUG_SQ_BY_COUNT                                                                                    \
	BF_NVME_DRV_BIT(7) /* slots are freed by the number of completions, not by SQHD (libnvm) */
#define BF_NVME_DRV_BUG_NO_FENCE                                                                                       \
	BF_NVME_DRV_BIT(8) /* no fence between entry and doorbell (libnvm without its macros) */
#define BF_NVME_DRV_BUG_CQ_NOT_RUNG BF_NVME_DRV_BIT(9)    /* the CQ head doorbell is never rung */
#define BF_NVME_DRV_BUG_LOST_BATCH BF_NVME_DRV_BIT(10)    /* only whole batches are announced */
#define BF_NVME_DRV_BUG_CID_BY_TAIL BF_NVME_DRV_BIT(11)   /* the command identifier is the slot's number (libnvm) */
#define BF_NVME_DRV_BUG_PLAIN_POLL BF_NVME_DRV_BIT(12)    /* completions are polled with plain loads */
#define BF_NVME_DRV_BUG_NO_INVALIDATE BF_NVME_DRV_BIT(13) /* GPU caches in front of VRAM are never invalidated */
#define BF_NVME_DRV_BUG_FLUSH_TYPE BF_NVME_DRV_BIT(14)    /* they are, with the wrong flush type */
#define BF_NVME_DRV_BUG_CACHED_SQ                                                                                      \
	BF_NVME_DRV_BIT(15) /* queues in VRAM are mapped cached, and no fence before the doorbell */
#define BF_NVME_DRV_BUG_MOVED_BUFFER BF_NVME_DRV_BIT(16)   /* data addresses from before the buffer moved */
#define BF_NVME_DRV_BUG_NO_FULL_CHECK BF_NVME_DRV_BIT(17)  /* entries are laid over such that were not fetched */
#define BF_NVME_DRV_BUG_IGNORE_STATUS BF_NVME_DRV_BIT(18)  /* error completions are taken for good ones */
#define BF_NVME_DRV_BUG_UNMAPPED BF_NVME_DRV_BIT(19)       /* data addresses are offsets, which are mapped nowhere */
#define BF_NVME_DRV_BUG_DOORBELL_FIRST BF_NVME_DRV_BIT(20) /* the doorbell is rung before the entry is stored */
#define BF_NVME_DRV_BUG_PHASE_KEPT BF_NVME_DRV_BIT(21)     /* the phase tag is not inverted when the queue wraps */
#define BF_NVME_DRV_BUG_CQE_EARLY BF_NVME_DRV_BIT(22)      /* a completion's SQHD is read before its phase tag */
#define BF_NVME_DRV_BUG_PHASE_BIT BF_NVME_DRV_BIT(23)      /* the poller looks at the bit next to the phase tag */
#define BF_NVME_DRV_BUG_DOORBELL_WIDE BF_NVME_DRV_BIT(24)  /* doorbells are 8-byte stores */
#define BF_NVME_DRV_BUG_STRIDE BF_NVME_DRV_BIT(25)         /* CAP.DSTRD is taken for 0 (QEMU's decoder, libnvm's map) */
#define BF_NVME_DRV_BUG_QSIZE BF_NVME_DRV_BIT(26)          /* QSIZE holds the number of slots, not that minus one */
#define BF_NVME_DRV_BUG_SQ_FIRST BF_NVME_DRV_BIT(27) /* a submission queue is created before its completion queue */
#define BF_NVME_DRV_BUG_CQ_DELETED_FIRST                                                                               \
	BF_NVME_DRV_BIT(28)                              /* a completion queue is deleted before its submission queue */
#define BF_NVME_DRV_BUG_QUEUE_OFFSET BF_NVME_DRV_BIT(29) /* queues begin inside a page */
#define BF_NVME_DRV_BUG_QUEUE_PIECES                                                                                   \
	BF_NVME_DRV_BIT(30)                               /* PC is clear, and PRP1 names the ring, not a list of pages \
							   */
#define BF_NVME_DRV_BUG_CQID BF_NVME_DRV_BIT(31)          /* submission queues name completion queue 0 */
#define BF_NVME_DRV_BUG_NO_READY_WAIT BF_NVME_DRV_BIT(32) /* commands are sent before CSTS.RDY */
#define BF_NVME_DRV_BUG_NO_RESET_WAIT BF_NVME_DRV_BIT(33) /* CC.EN is set again before CSTS.RDY is 0 */
#define BF_NVME_DRV_BUG_LATE_AQA BF_NVME_DRV_BIT(34)   /* the admin queues' registers are written after CC.EN is set */
#define BF_NVME_DRV_BUG_ASQ_OFFSET BF_NVME_DRV_BIT(35) /* the admin submission queue begins inside a page */
#define BF_NVME_DRV_BUG_CC_MPS BF_NVME_DRV_BIT(36)     /* CC.MPS is larger than CAP.MPSMAX */
#define BF_NVME_DRV_BUG_QUEUE_UNMAPPED BF_NVME_DRV_BIT(37) /* queues lie where nothing is mapped */
#define BF_NVME_DRV_BUG_MDTS BF_NVME_DRV_BIT(38)           /* the largest transfer is not looked at */
#define BF_NVME_DRV_BUG_FUSED_HALF BF_NVME_DRV_BIT(39)     /* a Compare is marked as fused, but no Write follows */
#define BF_NVME_DRV_BUG_PSDT BF_NVME_DRV_BIT(40)           /* entries with PRPs say that they hold an SGL */
#define BF_NVME_DRV_BUG_PRP_OFFSETS BF_NVME_DRV_BIT(41)    /* each PRP keeps the offset of the first */
#define BF_NVME_DRV_BUG_LBA_UNITS BF_NVME_DRV_BIT(42)      /* blocks are taken to be 512 bytes, whatever the format */
#define BF_NVME_DRV_BUG_NLB BF_NVME_DRV_BIT(43)            /* NLB holds the number of blocks, not that minus one */
#define BF_NVME_DRV_BUG_NSID BF_NVME_DRV_BIT(44)           /* commands name namespace 0 */
#define BF_NVME_DRV_BUG_FEATURE_NSID BF_NVME_DRV_BIT(45)   /* Get Features, Error Recovery, names namespace 0 */
#define BF_NVME_DRV_BUG_CNS BF_NVME_DRV_BIT(46)            /* Identify asks for a structure that there is not */
#define BF_NVME_DRV_BUG_AER_WAITED                                                                                     \
	BF_NVME_DRV_BIT(47) /* an Asynchronous Event Request is waited for like any command */
#define BF_NVME_DRV_BUG_LATE_COUNT BF_NVME_DRV_BIT(48) /* the number of queues is set after they were created */
#define BF_NVME_DRV_BUG_VECTOR BF_NVME_DRV_BIT(49)     /* completion queues have a vector that there is not */
#define BF_NVME_DRV_BUG_SHADOW_SWAPPED                                                                                 \
	BF_NVME_DRV_BIT(50) /* shadow doorbells and EventIdx exchanged in their command */
#define BF_NVME_DRV_BUG_SHADOW_NO_FENCE                                                                                \
	BF_NVME_DRV_BIT(51)                                /* EventIdx is read before the shadow doorbell is visible   \
							    */
#define BF_NVME_DRV_BUG_SHADOW_COMPARE BF_NVME_DRV_BIT(52) /* EventIdx is compared without regard to wrapping */
#define BF_NVME_DRV_BUG_CQ_AHEAD                                                                                       \
	BF_NVME_DRV_BIT(53) /* the CQ head doorbell gives back one entry more than was taken                           \
			     */
#define BF_NVME_DRV_BUG_TAIL_COUNTER BF_NVME_DRV_BIT(54)   /* the tail doorbell gets a count that does not wrap */
#define BF_NVME_DRV_BUG_DOORBELL_TWICE BF_NVME_DRV_BIT(55) /* each tail doorbell is rung twice */
#define BF_NVME_DRV_BUG_DOORBELL_REORDER                                                                               \
	BF_NVME_DRV_BIT(56)                             /* an older tail arrives after a newer one (rocm-xio#114) */
#define BF_NVME_DRV_BUG_FLUSH_EARLY BF_NVME_DRV_BIT(57) /* the only Flush is sent while writes are in flight */
#define BF_NVME_DRV_BUG_PRACT BF_NVME_DRV_BIT(58)    /* protection information is requested, but the format has none */
#define BF_NVME_DRV_BUG_IOSQES BF_NVME_DRV_BIT(59)   /* CC.IOSQES and CC.IOCQES stay 0 */
#define BF_NVME_DRV_BUG_NO_QUEUE BF_NVME_DRV_BIT(60) /* submission queues are used and never created */
#define BF_NVME_DRV_BUG_LIST_SHARED BF_NVME_DRV_BIT(61) /* commands in flight have one PRP list (rocm-xio PR#164) */
#define BF_NVME_DRV_BUG_SHADOW_KEPT                                                                                    \
	BF_NVME_DRV_BIT(62) /* shadow doorbells and EventIdx hold what was there before a reset */
#define BF_NVME_DRV_BUG_FLUSH_VMID BF_NVME_DRV_BIT(63) /* GPU caches are invalidated for no VMID */
#define BF_NVME_DRV_BUG_LOCK_KEPT                                                                                      \
	BF_NVME_DRV_BIT(64) /* share.h: nothing new in the queue, and its lock is not given back */
#define BF_NVME_DRV_BUG_BUFFER_SHARED BF_NVME_DRV_BIT(65) /* commands of a thread have one data buffer */
#define BF_NVME_DRV_BUG_CQ_UNLOCKED BF_NVME_DRV_BIT(66)   /* share.h: completions are taken without the queue's lock */

/* Table of the bits above: option name and one line of what is wrong, for help texts. Ends with a NULL name. */
struct bf_nvme_drv_bug {
	bf_nvme_drv_bug_set bit;
	const char *name; /* "aqa-swapped" */
	const char *summary;
};
extern const struct bf_nvme_drv_bug bf_nvme_drv_bugs[];

#define BF_NVME_DRV_SQE 64u
#define BF_NVME_DRV_CQE 16u

/* One submission or completion queue. Counters are the owner's; head and tail are slots, never counts. */
struct bf_nvme_drv_queue {
	uint32_t no;      /* identifier; 0: admin */
	uint32_t entries; /* slots in the ring, any number from 2 */
	uint32_t head, tail;
	uint32_t phase;   /* CQ: tag of the next new entry */
	uint32_t last;    /* value that the doorbell was given last */
	uint8_t *vaddr;   /* the ring, zeroed */
	uint64_t ioaddr;  /* the same for the controller */
	uint32_t *db;     /* doorbell register */
	uint32_t *shadow; /* shadow doorbell (Doorbell Buffer Config), NULL: none */
	uint32_t *event;  /* its EventIdx */
	uint32_t device;  /* the ring lies in the controller's own memory, which is no memory to us */
	uint32_t *proxy;  /* somebody else rings: the value plus one goes here; NULL: the owner does */
};

/* What threads that share a queue pair have in common; see share.h. */
struct bf_nvme_drv_share {
	uint64_t ticket; /* slots handed out; counts, never wraps */
	uint64_t tail;   /* slots below are stored and announced */
	uint64_t head;   /* slots below were fetched */
	uint32_t sq_lock, cq_lock;
	uint32_t cq_head, cq_phase;
	uint32_t *filled;     /* [sq.entries]: lap of the entry that lies there, from 1 */
	uint64_t *done;       /* [cids]: 0 while pending, then BF_NVME_DRV_DONE with status and result */
	uint32_t cids, stray; /* completions that nobody waits for */
};

struct bf_nvme_drv_qp {
	struct bf_nvme_drv_queue sq, cq;
	struct bf_nvme_drv_share *share; /* NULL: one thread's own */
	uint64_t pad[3];
} __attribute__((aligned(64)));

/* Where a bring-up stands; bf_nvme_drv_step_name() gives the texts. */
enum bf_nvme_drv_step {
	BF_NVME_DRV_STEP_START,
	BF_NVME_DRV_STEP_DISABLE,
	BF_NVME_DRV_STEP_PAGE_SIZE,
	BF_NVME_DRV_STEP_CMB,
	BF_NVME_DRV_STEP_ENABLE,
	BF_NVME_DRV_STEP_IDENTIFY,
	BF_NVME_DRV_STEP_NAMESPACES,
	BF_NVME_DRV_STEP_NAMESPACE,
	BF_NVME_DRV_STEP_QUEUE_COUNT,
	BF_NVME_DRV_STEP_DBBUF,
	BF_NVME_DRV_STEP_CREATE_CQ,
	BF_NVME_DRV_STEP_CREATE_SQ,
	BF_NVME_DRV_STEP_READY,
	BF_NVME_DRV_STEP_DELETE_SQ,
	BF_NVME_DRV_STEP_DELETE_CQ,
	BF_NVME_DRV_STEP_SHUTDOWN,
	BF_NVME_DRV_STEPS
};

/* Why a step or a command failed, apart from the status of a completion (which is positive). */
#define BF_NVME_DRV_TIMEOUT (-1)  /* no answer in time */
#define BF_NVME_DRV_GONE (-2)     /* registers read all ones */
#define BF_NVME_DRV_FATAL (-3)    /* CSTS.CFS */
#define BF_NVME_DRV_UNSUITED (-4) /* the controller cannot do what is asked for */
#define BF_NVME_DRV_STRAY (-5)    /* a completion for a command that is not in flight */
#define BF_NVME_DRV_FULL (-6)     /* no room for the PRP list */

/* Memory for data and lists: contiguous for the CPU or GPU, and for the controller. */
struct bf_nvme_drv_room {
	uint8_t *vaddr;
	uint64_t ioaddr;
	uint64_t bytes;
};

struct bf_nvme_drv_ctrl {
	uint8_t *regs; /* BAR0 */
	uint64_t regs_bytes;
	bf_nvme_drv_bug_set bugs; /* BF_NVME_DRV_BUG_* */
	uint32_t page;            /* bytes: CC.MPS */
	uint64_t timeout_ns;      /* for one command */
	/* What the bring-up learns. */
	uint64_t cap;
	uint32_t vs, dstrd;
	uint32_t max_pages; /* MDTS in pages of CAP.MPSMIN; 0: no limit */
	uint32_t mpsmin;    /* bytes */
	uint32_t vwc, oncs, oacs, lpa;
	uint32_t nsid, lba_shift;
	uint64_t nsze;                           /* blocks */
	char serial[20], model[40], firmware[8]; /* padded with spaces */
	/* Where it stands, and what went wrong there: a status (SCT << 8 | SC), or one of BF_NVME_DRV_* above. */
	uint32_t step, step_index;
	int32_t failure;
	uint32_t csts; /* read when it failed */
	/*
	 * A GPU whose L2 DMA does not reach: the register that makes what arrived visible, and what to store there; see
	 * models/gpu/prm.h. NULL: there is no need.
	 */
	uint32_t *invalidate;
	uint32_t invalidate_value;
	uint8_t data_hidden; /* data lies there and completions do not: these do not say that those are visible */
	struct bf_nvme_drv_qp admin;
	struct bf_nvme_drv_room scratch; /* pages for Identify and logs; the admin queue's alone */
};

/* What the bring-up is to make, filled in by the host: queues with their memory, numbers and sizes. */
struct bf_nvme_drv_boot {
	struct bf_nvme_drv_ctrl *ctrl;
	struct bf_nvme_drv_qp *qps;
	uint32_t nqps;
	uint32_t page;   /* of CC.MPS, bytes */
	uint32_t nsid;   /* which namespace; 0: the first that is active */
	uint64_t cmb;    /* I/O address of the controller memory buffer, when queues lie there; 0: it is not used */
	uint32_t *dbbuf; /* shadow doorbells and, a page behind, EventIdx; NULL: none */
	uint64_t dbbuf_ioaddr;
};

#endif
