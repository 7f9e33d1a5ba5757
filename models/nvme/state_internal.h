/*
 * The NVMe model's state: the device, its queues, its requests.
 *
 * A queue entry's way, as a request sees it (enum bf_nvme_rq_state):
 *   STARTING   fetched, waits for its turn in the command processor
 *   RUNNING    io*.c or admin*.c work on it: it waits for its event, for DMA reads, or for the host (async events)
 *   COMPLETING waits for the completion unit
 *   HELD       its completion waits for room in the completion queue
 * A request that a reset takes away while DMA reads are on their way is `dropped`: it is freed when they are back.
 */
#ifndef BELFRY_MODELS_NVME_STATE_INTERNAL_H
#define BELFRY_MODELS_NVME_STATE_INTERNAL_H

#include "models/nvme/nvme.h"
#include "models/nvme/records.h"
#include "sim/stats.h"

struct bf_nvme_rq;
struct bf_nvme_sq;
struct bf_nvme_cq;
struct bf_nvme_ns;
struct bf_nvme_media;

/* Status words: SCT << 8 | SC as in prm.h, or'ed with these. They are the CQE's status field without the phase tag. */
#define BF_NVME_DNR 0x4000u
#define BF_NVME_STATUS_MASK 0x7ffu

#define BF_NVME_VERSION 0x00020000u /* VS and Identify VER: 2.0.0 */
#define BF_NVME_READY_TIMEOUT 60u   /* CAP.TO and CRTO.CRWMT, in 500 ms: as the 970 PRO's CAP has it */
#define BF_NVME_CELLS 10u           /* registers that hosts write */
#define BF_NVME_VENDOR 0x1b36u      /* VID and SSVID; a controller behind a PCI function has the same (models/pci) */
#define BF_NVME_CNTLID 1u
#define BF_NVME_FRMW 0x17u /* slot 1 read-only (0), three slots (3:1), activation without reset (4) */
#define BF_NVME_SELF_TEST_LOG 564u
#define BF_NVME_SELF_TEST_MINUTES 1u
#define BF_NVME_KELVIN 313u /* the temperature that it always has */
#define BF_NVME_WARNING_KELVIN 343u
#define BF_NVME_CRITICAL_KELVIN 358u
#define BF_NVME_NS_MAX 64u         /* NN: most namespaces of a controller */
#define BF_NVME_COMMANDS_MAX 4096u /* commands that the controller works on at a time: assumed */
#define BF_NVME_FETCHES 8u         /* fetches of submission queue entries in flight: assumed */
#define BF_NVME_FETCH_MAX 64u      /* most entries of one fetch, whatever the profile says */
#define BF_NVME_BELLS 4u           /* doorbell arrivals that a queue tells apart */
#define BF_NVME_AER_LIMIT 8u       /* AERL + 1 */
#define BF_NVME_ABORT_LIMIT 4u     /* ACL + 1; no abort waits, so that it is never reached */
#define BF_NVME_ERROR_ENTRIES 64u  /* ELPE + 1 */
#define BF_NVME_EVENTS 16u         /* asynchronous events that wait for a command to report them */
#define BF_NVME_LBA_RANGES 64u     /* feature 03h: most entries, and bytes of one */
#define BF_NVME_LBA_RANGE 64u
#define BF_NVME_COPY_RANGES 128u    /* MSRC + 1 */
#define BF_NVME_COPY_BLOCKS 0x8000u /* MCL: most blocks of a Copy; MSSRL is the same */

/*
 * What Identify says of optional commands (ONCS, FUSES, SGLS) is what these files implement: Compare, Write
 * Uncorrectable, Dataset Management, Write Zeroes, save/select of features, Timestamp, Verify, Copy.
 */
#define BF_NVME_ONCS 0x01dfu
#define BF_NVME_FUSES 0x0001u /* Compare and Write */
/* SGLs of any alignment (1), bit bucket (bit 16), longer than the data (bit 18). No metadata: bits 17, 19 are clear. */
#define BF_NVME_SGLS 0x00050001u

/* Requests in a list through `next`, first in first out. */
struct bf_nvme_list {
	struct bf_nvme_rq *head, **tail;
};

enum bf_nvme_dir { BF_NVME_TO_HOST, BF_NVME_FROM_HOST };

/* Ends of steps: `status` is a status word, 0 for success. */
typedef void bf_nvme_done_fn(struct bf_nvme_rq *rq, uint32_t status);

/*
 * The device's side of a transfer: where byte `offset` of the command's data lies; `*run` is cut to what lies there
 * together.
 */
typedef uint8_t *bf_nvme_at_fn(struct bf_nvme_rq *rq, uint64_t offset, uint64_t *run);

#define BF_NVME_LIST_BYTES                                                                                             \
	512u /* of a PRP list or SGL segment in one fetch: assumed, a usual Max_Read_Request_Size                      \
	      */

/* Where a request stands in its data pointer; data*.c's own. Offsets are into the range that the pointer describes. */
struct bf_nvme_data_state {
	bf_nvme_done_fn *done;
	bf_nvme_at_fn *at;
	uint8_t *bytes;              /* of a plain transfer: where byte `begin` lies */
	uint64_t total;              /* bytes that the pointer describes; set before the first of several calls */
	uint64_t begin, issued, end; /* of this call; DMA was asked for everything before `issued` */
	uint64_t covered;            /* bytes that the walk has come to */
	uint64_t run_iova, run_len;  /* what is left of the run at hand */
	uint64_t list_iova;          /* next entry to fetch */
	uint64_t segment_left;       /* SGL: bytes of the segment at hand that are not fetched */
	uint64_t start_ps;
	uint32_t list_at, list_count; /* entries in `list` */
	uint32_t fetched;             /* SGL: descriptors so far */
	uint32_t status;              /* the first error */
	uint8_t step;                 /* data_prp.c, data_sgl.c */
	uint8_t dir;                  /* enum bf_nvme_dir */
	uint8_t place;                /* of the data: unknown, host, controller memory buffer */
	bool begun;                   /* the pointer was looked at */
	bool bucket;                  /* the run at hand is a bit bucket */
	bool lend;                    /* set by the caller: bytes for the host need no copy (bf_nvme_lend()) */
	bool last_segment;            /* SGL: the segment at hand is the last */
	bool calling, returned;       /* inside bf_nvme_reads(); which has called back */
	uint32_t fetch;               /* bytes of `list` that the walk waits for */
	const struct bf_nvme_walk *walk;
	uint8_t *list; /* BF_NVME_LIST_BYTES once one is needed; the last member: stays for the next request */
};

/*
 * How one kind of data pointer turns into runs of contiguous addresses. Each returns 0 or a status word. `begin` looks
 * at the command's fields and may leave the first run; `next` leaves a run, or asks for bytes of `list` by `fetch`;
 * `filled` checks them when they are there.
 */
struct bf_nvme_walk {
	uint32_t (*begin)(struct bf_nvme_rq *rq);
	uint32_t (*next)(struct bf_nvme_rq *rq);
	uint32_t (*filled)(struct bf_nvme_rq *rq);
};
extern const struct bf_nvme_walk bf_nvme_prp_walk, bf_nvme_sgl_walk;

/* Where an NVM command stands; io*.c's own. Set by each command before use. */
struct bf_nvme_io_state {
	uint64_t offset, len;    /* bytes in the namespace; Copy: the source range at hand */
	uint64_t delay_ps;       /* that the error map adds */
	uint8_t *stage, *ranges; /* buffers from the device's pool; NULL: none */
	uint32_t stage_class, ranges_class;
	uint32_t status;
	/* Commands with ranges. */
	bool (*step)(struct bf_nvme_rq *rq);
	uint64_t to, range_left, copied; /* Copy: where the range at hand goes, what is left of it, bytes so far */
	uint32_t range, nranges;
	bool inside, again; /* a step is being made; it is over already */
	bool loaded;        /* Copy: the buffer holds a piece */
	uint32_t n;         /* queue.c: entries of a queue's page list so far */
};

enum bf_nvme_rq_state { BF_NVME_RQ_STARTING, BF_NVME_RQ_RUNNING, BF_NVME_RQ_COMPLETING, BF_NVME_RQ_HELD };

/* A command from its fetch to its completion. From the device's pool. */
struct bf_nvme_rq {
	struct bf_nvme *dev;
	struct bf_nvme_sq *sq;   /* NULL once COMPLETING: the queue may go before the completion is posted */
	struct bf_nvme_cq *cq;   /* the same queue's */
	struct bf_nvme_ns *ns;   /* set by whoever decodes the command; NULL where none takes part */
	struct bf_nvme_rq *mate; /* the other one of a fused pair */
	struct bf_nvme_rq *next; /* list that the state names, or pool */
	struct bf_nvme_rq *sq_next, **sq_link; /* commands of `sq` that are STARTING or RUNNING */
	struct bf_nvme_rq *hash_next;          /* by queue and command identifier */
	struct bf_nvme_sqe sqe;
	uint16_t sqid, cid, slot, sqhd;
	uint8_t opcode;
	uint8_t state;
	bool dropped;
	bool stuck;   /* cannot be taken back while RUNNING: no abort, deletion waits for its end */
	bool unnamed; /* not in the hash: its identifier was in use */
	uint32_t dw0, dw1;
	uint32_t status;
	uint16_t pel; /* error log: byte (7:0) and bit (10:8) of the command that is wrong; 0xffff: none */
	uint64_t error_lba;
	/* Waiting. */
	struct bf_event event;
	void (*wake)(struct bf_nvme_rq *rq);
	uint32_t reads; /* DMA reads in flight, holds included */
	uint32_t read_status;
	bf_nvme_done_fn *reads_done;
	/* Called once when the request goes, completed or dropped: frees what `io` or `buf` hold. NULL: nothing to
	 * free. */
	void (*release)(struct bf_nvme_rq *rq);
	uint8_t *buf; /* admin*.c: bytes that go to or come from the host; freed with the request */
	uint32_t buf_len;
	/* Times: arrival of the doorbell, start of the fetch, start, end, completion built. */
	uint64_t told_ps, fetch_ps, start_ps, end_ps, post_ps;
	uint64_t data_ps, media_ps; /* spent so far in data transfer and media, added by data.c and io*.c */
	uint64_t data_end_ps;       /* when the last data written is in memory */
	struct bf_nvme_data_state data;
	struct bf_nvme_io_state io;
};

/* Where a queue's entries are: physically contiguous, or a list of its pages. */
struct bf_nvme_ring {
	uint64_t base;
	uint64_t *pages; /* NULL: contiguous */
	uint32_t size;   /* entries */
	uint8_t shift;   /* of an entry */
	uint8_t page_shift;
};
/* IOVA of entry `slot`; `*run` gets how many of the `n` entries that begin there follow without a gap. */
uint64_t bf_nvme_ring_iova(const struct bf_nvme_ring *r, uint32_t slot, uint32_t n, uint32_t *run);

struct bf_nvme_bell {
	uint64_t at_ps;
	uint32_t tail;
};

struct bf_nvme_sq {
	struct bf_nvme *dev;
	struct bf_nvme_cq *cq;
	struct bf_nvme_ring ring;
	uint16_t qid;
	uint8_t prio;
	bool ready;   /* in a list of the arbiter */
	bool ringing; /* in the list of doorbells on their way to the arbiter */
	bool dead;    /* deleted: freed when the DMA reads on its behalf are back */
	bool shadow_busy, shadow_again;
	uint32_t tail;      /* last doorbell value */
	uint32_t fetch;     /* next slot to fetch */
	uint32_t head;      /* slots before it have been fetched: SQHD */
	uint32_t executing; /* commands that are STARTING or RUNNING */
	uint32_t fetching;  /* fetches in flight */
	uint32_t actor;
	uint32_t place; /* in dev->live_sqs */
	uint32_t seen;  /* live mode: what the doorbell's cell held at the last look */
	uint32_t shadow_value;
	struct bf_nvme_rq *rqs;     /* commands, newest first */
	struct bf_nvme_rq *fused;   /* first of a pair, waits for the second */
	struct bf_nvme_rq *deleter; /* the Delete command that waits for `executing` to be 0 */
	struct bf_nvme_sq *next;    /* arbiter's list */
	struct bf_nvme_sq *ring_next;
	uint64_t ready_ps;
	uint64_t doorbells, completed, errors;
	struct bf_nvme_bell bells[BF_NVME_BELLS]; /* oldest first: which doorbell announced which entries */
	uint32_t nbells;
	struct bf_dma_op shadow_op;
};

struct bf_nvme_cq {
	struct bf_nvme *dev;
	struct bf_nvme_ring ring;
	uint16_t qid, vector;
	bool interrupts;
	uint8_t phase; /* of the next entry */
	bool dead;
	bool shadow_busy, shadow_again;
	uint32_t tail, head;
	uint32_t users; /* submission queues */
	uint32_t actor;
	uint32_t place; /* in dev->live_cqs */
	uint32_t seen;
	uint32_t shadow_value;
	uint32_t nheld;
	struct bf_nvme_list held;
	uint64_t doorbells;
	struct bf_dma_op shadow_op;
	struct bf_nvme_cq *next; /* dead ones */
};

/*
 * A namespace; ns.c. `media` holds its bytes. Sizes are in blocks of 1 << lba_shift bytes; `bytes` is the capacity.
 */
struct bf_nvme_ns {
	struct bf_nvme *dev;
	uint32_t nsid;
	uint8_t lba_shift; /* 9 or 12 */
	bool attached, read_only;
	bool dulbe;          /* feature 05h: reads of deallocated blocks fail */
	uint16_t tler;       /* feature 05h, stored */
	uint8_t *lba_ranges; /* feature 03h, as the host set it; NULL: one range, the whole namespace */
	uint32_t nlba_ranges;
	uint64_t bytes, blocks;
	uint8_t eui64[8], nguid[16];
	struct bf_nvme_media *media;
};

/* Counted where it happens (io*.c), reported in the SMART log. */
struct bf_nvme_smart {
	uint64_t sectors_read, sectors_written; /* of 512 bytes, by host commands */
	uint64_t host_reads, host_writes;
	uint64_t media_errors;
	uint64_t power_cycles, unsafe_shutdowns;
	uint64_t busy_ps;
};

/* What a device counts; published under these names behind the device's ("ssd0.commands"). */
#define BF_NVME_COUNTERS(C)                                                                                            \
	C(doorbells)         /* that changed a queue's state */                                                        \
	C(doorbells_ignored) /* wrong value, no such queue, not ready */                                               \
	C(fetches)           /* DMA reads of submission queue entries */                                               \
	C(commands)          /* fetched */                                                                             \
	C(completions)       /* posted */                                                                              \
	C(errors)            /* completions with an error status */                                                    \
	C(held)              /* completions that had to wait for room */                                               \
	C(interrupts)                                                                                                  \
	C(driver_errors) /* wrong uses that were noticed */                                                            \
	C(async_events)                                                                                                \
	C(resets)

struct bf_nvme_counts {
#define C(name) uint64_t name;
	BF_NVME_COUNTERS(C)
#undef C
};

/* Feature values (section 5.27 of the Base specification), as they are now. */
struct bf_nvme_features {
	uint32_t arbitration;           /* 01h */
	uint32_t power;                 /* 02h */
	uint16_t temp_over, temp_under; /* 04h, composite */
	bool wce;                       /* 06h: the volatile write cache is on */
	uint32_t queues;                /* 07h: all that there can be, NCQ << 16 | NSQ, 0-based */
	uint32_t coalescing;            /* 08h */
	uint32_t atomicity;             /* 0Ah: bit 0 disable normal */
	uint32_t events;                /* 0Bh */
	uint64_t timestamp_ms;          /* 0Eh: set value, counted from `timestamp_ps` */
	uint64_t timestamp_ps;
	uint8_t timestamp_origin;
	uint32_t keep_alive;        /* 0Fh, ms */
	uint8_t host_behavior[512]; /* 16h; byte 0 ACRE, byte 2 LBAFEE */
	uint8_t progress;           /* 80h */
	uint8_t host_id[16];        /* 81h */
};

struct bf_nvme_regs {
	uint64_t cap, asq, acq, cmbmsc;
	uint32_t vs, intms, cc, csts, aqa, cmbsts;
};

/* An error log entry as Get Log Page 01h shows it. */
struct bf_nvme_error {
	uint64_t count, lba;
	uint32_t nsid;
	uint16_t sqid, cid, status, pel;
	uint8_t opcode;
};

struct bf_nvme_event {
	uint8_t type, info, page;
};

struct bf_nvme_vector {
	struct bf_event event;
	struct bf_nvme *dev;
	bool uncoalesced; /* feature 09h CD */
	uint32_t waiting; /* completions since the last interrupt */
};

struct bf_nvme_fetch; /* sq.c */
struct bf_nvme_xfer;  /* dma.c */
struct bf_nvme_xfer_block;
struct bf_nvme_block;    /* pools */
struct bf_nvme_firmware; /* admin_firmware.c */

/* Arbitration classes: admin, urgent, high, medium, low. Round robin uses the first but one for all. */
#define BF_NVME_CLASSES 5u
struct bf_nvme_ready {
	struct bf_nvme_sq *head, **tail;
	uint32_t credit; /* weighted round robin: entries that the class may still send this turn */
};

struct bf_nvme {
	struct bf_sim *sim;
	struct bf_nvme_profile profile;
	char name[24], serial[21];
	uint32_t actor;
	struct bf_link link;
	struct bf_dma_port dma;
	struct bf_region *bar0, *cmb;
	uint8_t *cmb_bytes;
	uint64_t cmb_size;
	bool bus_master, polled;
	bool unclean; /* enabled since power came or the last shutdown was complete */
	void (*interrupt)(void *arg, uint32_t vector);
	void *interrupt_arg;

	/* ctrl.c */
	struct bf_nvme_regs regs;
	enum bf_nvme_phase phase;
	struct bf_event ctrl_event, shutdown_event;
	uint32_t page_shift;           /* CC.MPS while enabled */
	uint32_t cells[BF_NVME_CELLS]; /* live mode: what writable registers' cells held at the last look */

	/* Queues by number; 0 is the admin pair. */
	struct bf_nvme_sq **sqs;
	struct bf_nvme_cq **cqs;
	uint32_t *sq_actors, *cq_actors;
	uint32_t max_sqs, max_cqs;     /* entries of the tables */
	uint16_t *live_sqs, *live_cqs; /* numbers of the queues that exist, in no order */
	uint32_t nlive_sqs, nlive_cqs;
	struct bf_nvme_sq *dead_sqs; /* deleted while DMA was in flight */
	struct bf_nvme_cq *dead_cqs;

	/* sq.c */
	struct bf_event bell_event, start_event;
	struct bf_nvme_sq *bell_head, **bell_tail;
	struct bf_nvme_ready classes[BF_NVME_CLASSES];
	struct bf_nvme_fetch *fetches; /* free ones */
	struct bf_nvme_fetch *fetch_memory;
	struct bf_nvme_list starting;
	uint64_t processor_ps; /* when the command processor is free */
	uint32_t executing;    /* I/O commands that hold a request, and entries being fetched */
	bool arbitrating;
	bool starved; /* a queue waits for a request to be free */
	struct bf_nvme_rq *pool;
	struct bf_nvme_block *blocks;
	struct bf_nvme_xfer *xfers;
	struct bf_nvme_xfer_block *xfer_blocks;
	struct bf_nvme_rq *hash[BF_NVME_COMMANDS_MAX];

	/* cq.c */
	struct bf_event completion_event;
	struct bf_nvme_list completing;
	uint64_t completer_ps;
	struct bf_nvme_vector *vectors;
	uint32_t nvectors;

	/* event.c */
	struct bf_nvme_rq *aers[BF_NVME_AER_LIMIT];
	uint32_t naers;
	struct bf_nvme_event events[BF_NVME_EVENTS];
	uint32_t nevents;
	uint8_t masked; /* event types that wait for their log page to be read */
	struct bf_nvme_error errors[BF_NVME_ERROR_ENTRIES];
	uint64_t error_count;

	/* dbbuf.c */
	uint64_t dbbuf_shadow, dbbuf_event; /* 0: off */

	/* admin*.c */
	struct bf_nvme_features feat, feat_default, feat_saved;
	uint32_t changed[BF_NVME_NS_MAX]; /* changed namespace list, ascending */
	uint32_t nchanged;
	struct bf_nvme_firmware *firmware;
	struct bf_nvme_rq *formatting; /* Format NVM, or a deletion of namespaces */
	struct bf_event selftest_event;
	uint8_t selftest[BF_NVME_SELF_TEST_LOG]; /* log page 06h */
	uint32_t selftest_nsid;
	uint64_t selftest_ps; /* when the one that runs began */
	struct bf_event keep_alive_event;

	/* Namespaces by nsid - 1; NULL where none is allocated. */
	struct bf_nvme_ns *ns[BF_NVME_NS_MAX];
	uint32_t ns_made[BF_NVME_NS_MAX]; /* by nsid - 1: how many there have been */
	uint64_t capacity;                /* TNVMCAP */
	struct bf_nvme_media_unit *media; /* channels and cache, shared by the namespaces; media*.c */
	struct bf_live *live;             /* file operations run in its thread pool; NULL: they block */
	struct bf_nvme_smart smart;
	struct bf_nvme_counts count;
	struct bf_hist *hist_doorbell, *hist_fetch, *hist_data, *hist_completion, *hist_media;
};

#endif
