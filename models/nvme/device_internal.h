/*
 * The NVMe model's inside: what its files share. See nvme.h for the order in which a request travels through them.
 *
 * A queue entry's way, as a request sees it (enum bf_nvme_rq_state):
 *   STARTING   fetched, waits for its turn in the command processor
 *   RUNNING    io*.c or admin*.c work on it: it waits for its event, for DMA reads, or for the host (async events)
 *   COMPLETING waits for the completion unit
 *   HELD       its completion waits for room in the completion queue
 * A request that a reset takes away while DMA reads are on their way is `dropped`: it is freed when they are back.
 */
#ifndef BELFRY_MODELS_NVME_DEVICE_INTERNAL_H
#define BELFRY_MODELS_NVME_DEVICE_INTERNAL_H

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
#define BF_NVME_FRMW 0x17u          /* slot 1 read-only (0), three slots (3:1), activation without reset (4) */
#define BF_NVME_SELF_TEST_LOG 564u
#define BF_NVME_SELF_TEST_MINUTES 1u
#define BF_NVME_KELVIN 313u         /* the temperature that it always has */
#define BF_NVME_WARNING_KELVIN 343u
#define BF_NVME_CRITICAL_KELVIN 358u
#define BF_NVME_NS_MAX 64u          /* NN: most namespaces of a controller */
#define BF_NVME_COMMANDS_MAX 4096u  /* commands that the controller works on at a time: assumed */
#define BF_NVME_FETCHES 8u          /* fetches of submission queue entries in flight: assumed */
#define BF_NVME_FETCH_MAX 64u       /* most entries of one fetch, whatever the profile says */
#define BF_NVME_BELLS 4u            /* doorbell arrivals that a queue tells apart */
#define BF_NVME_AER_LIMIT 8u        /* AERL + 1 */
#define BF_NVME_ABORT_LIMIT 4u      /* ACL + 1; no abort waits, so that it is never reached */
#define BF_NVME_ERROR_ENTRIES 64u   /* ELPE + 1 */
#define BF_NVME_EVENTS 16u          /* asynchronous events that wait for a command to report them */
#define BF_NVME_LBA_RANGES 64u      /* feature 03h: most entries, and bytes of one */
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

#define BF_NVME_LIST_BYTES 512u /* of a PRP list or SGL segment in one fetch: assumed, a usual Max_Read_Request_Size */

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
	uint8_t list[BF_NVME_LIST_BYTES]; /* the last one: not cleared for a new request */
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
	uint64_t offset, len;     /* bytes in the namespace; Copy: the source range at hand */
	uint64_t delay_ps;        /* that the error map adds */
	uint8_t *stage, *ranges;  /* buffers from the device's pool; NULL: none */
	uint32_t stage_class, ranges_class;
	uint32_t status;
	/* Commands with ranges. */
	bool (*step)(struct bf_nvme_rq *rq);
	uint64_t to, range_left, copied; /* Copy: where the range at hand goes, what is left of it, bytes so far */
	uint32_t range, nranges;
	bool inside, again;       /* a step is being made; it is over already */
	bool loaded;              /* Copy: the buffer holds a piece */
	uint32_t n;               /* queue.c: entries of a queue's page list so far */
};

enum bf_nvme_rq_state { BF_NVME_RQ_STARTING, BF_NVME_RQ_RUNNING, BF_NVME_RQ_COMPLETING, BF_NVME_RQ_HELD };

/* A command from its fetch to its completion. From the device's pool. */
struct bf_nvme_rq {
	struct bf_nvme *dev;
	struct bf_nvme_sq *sq; /* NULL once COMPLETING: the queue may go before the completion is posted */
	struct bf_nvme_cq *cq; /* the same queue's */
	struct bf_nvme_ns *ns; /* set by whoever decodes the command; NULL where none takes part */
	struct bf_nvme_rq *mate; /* the other one of a fused pair */
	struct bf_nvme_rq *next; /* list that the state names, or pool */
	struct bf_nvme_rq *sq_next, **sq_link; /* commands of `sq` that are STARTING or RUNNING */
	struct bf_nvme_rq *hash_next;          /* by queue and command identifier */
	struct bf_nvme_sqe sqe;
	uint16_t sqid, cid, slot, sqhd;
	uint8_t opcode;
	uint8_t state;
	bool dropped;
	bool stuck;      /* cannot be taken back while RUNNING: no abort, deletion waits for its end */
	bool unnamed;    /* not in the hash: its identifier was in use */
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
	/* Called once when the request goes, completed or dropped: frees what `io` or `buf` hold. NULL: nothing to free. */
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
	bool ready;     /* in a list of the arbiter */
	bool ringing;   /* in the list of doorbells on their way to the arbiter */
	bool dead;      /* deleted: freed when the DMA reads on its behalf are back */
	bool shadow_busy, shadow_again;
	uint32_t tail;  /* last doorbell value */
	uint32_t fetch; /* next slot to fetch */
	uint32_t head;  /* slots before it have been fetched: SQHD */
	uint32_t executing; /* commands that are STARTING or RUNNING */
	uint32_t fetching;  /* fetches in flight */
	uint32_t actor;
	uint32_t place;     /* in dev->live_sqs */
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
	uint8_t phase;  /* of the next entry */
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
	bool dulbe; /* feature 05h: reads of deallocated blocks fail */
	uint16_t tler; /* feature 05h, stored */
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
#define BF_NVME_COUNTERS(C)                                                                                          \
	C(doorbells)         /* that changed a queue's state */                                                      \
	C(doorbells_ignored) /* wrong value, no such queue, not ready */                                             \
	C(fetches)           /* DMA reads of submission queue entries */                                             \
	C(commands)          /* fetched */                                                                           \
	C(completions)       /* posted */                                                                            \
	C(errors)            /* completions with an error status */                                                  \
	C(held)              /* completions that had to wait for room */                                             \
	C(interrupts)                                                                                                \
	C(driver_errors)     /* wrong uses that were noticed */                                                      \
	C(async_events)                                                                                              \
	C(resets)

struct bf_nvme_counts {
#define C(name) uint64_t name;
	BF_NVME_COUNTERS(C)
#undef C
};

/* Feature values (section 5.27 of the Base specification), as they are now. */
struct bf_nvme_features {
	uint32_t arbitration;      /* 01h */
	uint32_t power;            /* 02h */
	uint16_t temp_over, temp_under; /* 04h, composite */
	bool wce;                  /* 06h: the volatile write cache is on */
	uint32_t queues;           /* 07h: all that there can be, NCQ << 16 | NSQ, 0-based */
	uint32_t coalescing;       /* 08h */
	uint32_t atomicity;        /* 0Ah: bit 0 disable normal */
	uint32_t events;           /* 0Bh */
	uint64_t timestamp_ms;     /* 0Eh: set value, counted from `timestamp_ps` */
	uint64_t timestamp_ps;
	uint8_t timestamp_origin;
	uint32_t keep_alive;       /* 0Fh, ms */
	uint8_t host_behavior[512]; /* 16h; byte 0 ACRE, byte 2 LBAFEE */
	uint8_t progress;          /* 80h */
	uint8_t host_id[16];       /* 81h */
};

enum bf_nvme_phase {
	BF_NVME_OFF,       /* EN = 0, RDY = 0 */
	BF_NVME_ENABLING,  /* EN = 1, RDY = 0 */
	BF_NVME_ON,        /* EN = 1, RDY = 1 */
	BF_NVME_DISABLING, /* EN fell, RDY = 1 */
	BF_NVME_FAILED,    /* CFS */
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
struct bf_nvme_block; /* pools */
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
	uint32_t page_shift; /* CC.MPS while enabled */
	uint32_t cells[BF_NVME_CELLS]; /* live mode: what writable registers' cells held at the last look */

	/* Queues by number; 0 is the admin pair. */
	struct bf_nvme_sq **sqs;
	struct bf_nvme_cq **cqs;
	uint32_t *sq_actors, *cq_actors;
	uint32_t max_sqs, max_cqs; /* entries of the tables */
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

/* Requests: request.c. ------------------------------------------------------------------------------------------------ */

/*
 * Executes an I/O command (io.c) and an admin command (admin.c): each ends with bf_nvme_complete(). Of a fused pair
 * the first is started, once both are here, with rq->mate the second (still STARTING); io.c completes both, the first
 * first.
 */
void bf_nvme_io_start(struct bf_nvme_rq *rq);
void bf_nvme_admin_start(struct bf_nvme_rq *rq);

/*
 * Ends a request: `status` is SCT << 8 | SC, or'ed with BF_NVME_DNR where a retry is useless; rq->dw0 and dw1 are the
 * result. No DMA read of it is in flight. The caller touches the request no more.
 */
void bf_nvme_complete(struct bf_nvme_rq *rq, uint32_t status);

/* Shorthand for a field that is wrong: notes where (for the error log) and gives Invalid Field with DNR. */
uint32_t bf_nvme_bad_field(struct bf_nvme_rq *rq, uint32_t byte, uint32_t bit);

/*
 * Calls `wake` at `when_ps` (now: in an event of its own). While a request waits in here Abort and queue deletion may
 * take it: then `wake` never runs, `release` does. All waiting for the media goes through here, once at a time.
 */
void bf_nvme_wait_until(struct bf_nvme_rq *rq, uint64_t when_ps, void (*wake)(struct bf_nvme_rq *rq));

/*
 * DMA on behalf of a request (dma.c), to host memory or to the controller memory buffer. Reads: any number of
 * bf_nvme_read(), then one bf_nvme_reads(): `done` runs when all have ended, at once when they already have; `status`
 * is 0 or Data Transfer Error. If the request is dropped meanwhile, `done` never runs. `dst` must stay valid until
 * `done` or `release`. A write returns 0 or Data Transfer Error at once; bytes are copied.
 */
void bf_nvme_read(struct bf_nvme_rq *rq, uint64_t iova, void *dst, uint32_t len);
void bf_nvme_reads(struct bf_nvme_rq *rq, bf_nvme_done_fn *done);
uint32_t bf_nvme_write(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len);
/* The same without a copy: `src` stays in place as long as the device. What arrives is what it holds then. */
uint32_t bf_nvme_lend(struct bf_nvme_rq *rq, uint64_t iova, const void *src, uint32_t len);

/* True when `iova` lies in the controller memory buffer as the host placed it. */
bool bf_nvme_in_cmb(const struct bf_nvme *dev, uint64_t iova);

/*
 * Something outside of the simulation works for the request (a file operation): it is not freed before the matching
 * bf_nvme_unhold(), which is false when the request was dropped meanwhile and is gone now. Loop thread only.
 */
void bf_nvme_hold(struct bf_nvme_rq *rq);
bool bf_nvme_unhold(struct bf_nvme_rq *rq);

/* Data: data.c. -------------------------------------------------------------------------------------------------- */

/*
 * Moves `len` bytes between `bytes` and the request's data pointer; what earlier calls moved is skipped. Checks that
 * need the pointer only (alignment, types, lengths) are made first: when one fails no byte moves. `done` may run before
 * this returns. Admin commands (rq->sqid 0) may only use PRPs. `bytes` must stay valid until `done` or `release`.
 */
void bf_nvme_data(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, void *bytes, uint64_t len, bf_nvme_done_fn *done);

/* The same where the device's side is in pieces. Each byte of `at` is asked for once, in order. */
void bf_nvme_data_at(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, bf_nvme_at_fn *at, uint64_t len,
		     bf_nvme_done_fn *done);

/* Namespaces and media: ns.c, media*.c. --------------------------------------------------------------------------- */

/* The namespace of `nsid`; NULL when there is none that is attached. */
struct bf_nvme_ns *bf_nvme_ns_find(struct bf_nvme *dev, uint32_t nsid);

/* Channels and cache, shared by all namespaces, with the error map; before the first namespace. 0 or negative errno. */
int bf_nvme_media_open(struct bf_nvme *dev, const char *errors);
void bf_nvme_media_close(struct bf_nvme *dev);
/* When all that was written is on the media, if nothing more is written. */
uint64_t bf_nvme_media_settled_ps(const struct bf_nvme *dev);

/* Allocates namespace `nsid` with the opts' capacity and attaches it: dev->ns[nsid - 1]. 0 or negative errno. */
int bf_nvme_ns_open(struct bf_nvme *dev, uint32_t nsid, const struct bf_nvme_ns_opts *opts);
void bf_nvme_ns_close(struct bf_nvme *dev, uint32_t nsid);
/* Forgets all data and changes the block size; no command of the namespace is executing. 0 or a status word. */
uint32_t bf_nvme_ns_format(struct bf_nvme_ns *ns, uint8_t lba_shift);
/* Identify Namespace (CNS 00h), CNS 05h (NVM command set) and CNS 08h data of 4096 bytes, zeroed before. */
void bf_nvme_ns_identify(const struct bf_nvme_ns *ns, uint8_t *page);
void bf_nvme_ns_identify_nvm(const struct bf_nvme_ns *ns, uint8_t *page);
void bf_nvme_ns_identify_independent(const struct bf_nvme_ns *ns, uint8_t *page);
/* Identify Controller of the NVM command set (CNS 06h, CSI 0): VSL, WZSL, DMRL and so on. */
void bf_nvme_io_identify(const struct bf_nvme *dev, uint8_t *page);

/* The core's own. ------------------------------------------------------------------------------------------------- */

/* bar.c */
extern const struct bf_mmio_ops bf_nvme_bar0_ops;
uint32_t bf_nvme_bar_size(const struct bf_nvme *dev);
/* Live mode: shows the registers as they stand; stores 0 to the doorbell at `offset`. */
void bf_nvme_publish(struct bf_nvme *dev);
void bf_nvme_clear_cell(struct bf_nvme *dev, uint32_t offset);
/* A doorbell value that was found in the shadow buffer. */
void bf_nvme_shadow_sq(struct bf_nvme_sq *sq, uint32_t value);
void bf_nvme_shadow_cq(struct bf_nvme_cq *cq, uint32_t value);
/* A wrong use by the driver that the controller notices. */
void bf_nvme_driver_error(struct bf_nvme *dev, enum bf_nvme_wrong wrong, uint32_t qid, uint64_t value, uint64_t limit);

/* ctrl.c */
void bf_nvme_ctrl_init(struct bf_nvme *dev);
void bf_nvme_write_cc(struct bf_nvme *dev, uint32_t value);
void bf_nvme_subsystem_reset(struct bf_nvme *dev);
/* CSTS.CFS: nothing more is fetched or posted until a reset. */
void bf_nvme_fatal(struct bf_nvme *dev, enum bf_nvme_fatal_reason why, uint64_t value);
/* True while commands are fetched and completions posted. */
static inline bool bf_nvme_running(const struct bf_nvme *dev)
{
	return dev->phase == BF_NVME_ON && dev->bus_master;
}

/* queue.c */
int bf_nvme_queue_open(struct bf_nvme *dev);
void bf_nvme_queue_close(struct bf_nvme *dev);
int bf_nvme_admin_queues(struct bf_nvme *dev);
/* Removes all queues with their commands; returns how many commands there were. The controller is off then. */
uint32_t bf_nvme_drop_queues(struct bf_nvme *dev);
/* Frees a deleted queue if nothing of it is in flight any more. */
void bf_nvme_sq_put(struct bf_nvme_sq *sq);
void bf_nvme_cq_put(struct bf_nvme_cq *cq);
void bf_nvme_create_sq(struct bf_nvme_rq *rq);
void bf_nvme_create_cq(struct bf_nvme_rq *rq);
void bf_nvme_delete_sq(struct bf_nvme_rq *rq);
void bf_nvme_delete_cq(struct bf_nvme_rq *rq);
/* Something of `sq` ended: ends its deletion when that was the last. */
void bf_nvme_sq_idle(struct bf_nvme_sq *sq);

/* sq.c */
void bf_nvme_sq_init(struct bf_nvme *dev);
int bf_nvme_sq_open(struct bf_nvme *dev);
void bf_nvme_sq_close(struct bf_nvme *dev);
void bf_nvme_sq_tail(struct bf_nvme_sq *sq, uint32_t tail);
/* Fetches from whatever queue may be fetched from now. */
void bf_nvme_arbitrate(struct bf_nvme *dev);
void bf_nvme_sq_ready(struct bf_nvme_sq *sq);
void bf_nvme_arbiter_forget(struct bf_nvme_sq *sq);

/* request.c */
void bf_nvme_request_init(struct bf_nvme *dev);
void bf_nvme_request_close(struct bf_nvme *dev);
/* An entry has arrived: a request of it, on its way to bf_nvme_io_start() or bf_nvme_admin_start(). */
bool bf_nvme_accept(struct bf_nvme_sq *sq, uint32_t slot, const uint8_t *entry, uint32_t batch, uint64_t told_ps,
		    uint64_t fetch_ps);
struct bf_nvme_rq *bf_nvme_rq_find(struct bf_nvme *dev, uint16_t sqid, uint16_t cid);
/* Ends a command early with `status` if that is possible; false: it takes its course. */
bool bf_nvme_rq_take(struct bf_nvme_rq *rq, uint32_t status);
void bf_nvme_sq_abort_all(struct bf_nvme_sq *sq);
void bf_nvme_rq_free(struct bf_nvme_rq *rq);
/* Takes all commands of all queues away; returns their number. */
uint32_t bf_nvme_drop_commands(struct bf_nvme *dev);

/* cq.c */
void bf_nvme_cq_init(struct bf_nvme *dev);
int bf_nvme_cq_open(struct bf_nvme *dev);
void bf_nvme_cq_close(struct bf_nvme *dev);
void bf_nvme_post(struct bf_nvme_rq *rq);
void bf_nvme_cq_head(struct bf_nvme_cq *cq, uint32_t head);
/* The queue goes: so do the completions that wait for it. */
void bf_nvme_cq_forget(struct bf_nvme_cq *cq);
void bf_nvme_cq_resume(struct bf_nvme *dev);
uint32_t bf_nvme_drop_completions(struct bf_nvme *dev);
void bf_nvme_unmasked(struct bf_nvme *dev);

/* dma.c: `status` words, 0 or Data Transfer Error. */
uint32_t bf_nvme_dma_write(struct bf_nvme *dev, uint64_t iova, const void *src, uint32_t len);
void bf_nvme_dma_read(struct bf_nvme *dev, struct bf_dma_op *op);
void bf_nvme_dma_close(struct bf_nvme *dev);

/* cmb.c */
int bf_nvme_cmb_open(struct bf_nvme *dev, struct bf_space *space, uint64_t bytes, struct bf_link *link);
void bf_nvme_cmb_close(struct bf_nvme *dev);
void bf_nvme_write_cmbmsc(struct bf_nvme *dev, uint64_t value);
/* The buffer's bytes for `len` bytes at `iova`, which bf_nvme_in_cmb(); NULL when they reach beyond its end. */
uint8_t *bf_nvme_cmb_at(const struct bf_nvme *dev, uint64_t iova, uint32_t len);

/* event.c */
void bf_nvme_async_event(struct bf_nvme *dev, uint8_t type, uint8_t info, uint8_t page);
void bf_nvme_async_request(struct bf_nvme_rq *rq);
/* Takes an outstanding Asynchronous Event Request back; false when `rq` is none. */
bool bf_nvme_async_take(struct bf_nvme_rq *rq);
/* Log page `page` was read with RAE = 0: events of its type are reported again. */
void bf_nvme_async_read(struct bf_nvme *dev, uint8_t page);
void bf_nvme_log_error(struct bf_nvme_rq *rq);
void bf_nvme_event_reset(struct bf_nvme *dev);

/* dbbuf.c */
void bf_nvme_dbbuf_config(struct bf_nvme_rq *rq);
/* Looks at a queue's shadow doorbell. */
void bf_nvme_shadow_read_sq(struct bf_nvme_sq *sq);
void bf_nvme_shadow_read_cq(struct bf_nvme_cq *cq);
/* The controller stops looking at the queue by itself: tells the host to ring, then looks once more. */
void bf_nvme_shadow_sleep_sq(struct bf_nvme_sq *sq);
void bf_nvme_shadow_sleep_cq(struct bf_nvme_cq *cq);

/* admin*.c */
void bf_nvme_admin_init(struct bf_nvme *dev);
int bf_nvme_admin_open(struct bf_nvme *dev);
void bf_nvme_admin_close(struct bf_nvme *dev);
void bf_nvme_admin_reset(struct bf_nvme *dev);
void bf_nvme_keep_alive_restart(struct bf_nvme *dev);
bool bf_nvme_temperature_alarm(const struct bf_nvme *dev);
/* While dev->formatting: commands for namespace `nsid` fail with Format in Progress. */
bool bf_nvme_is_formatting(const struct bf_nvme *dev, uint32_t nsid);
void bf_nvme_features_log(uint8_t *page);
int bf_nvme_firmware_open(struct bf_nvme *dev);
void bf_nvme_firmware_close(struct bf_nvme *dev);
void bf_nvme_firmware_reset(struct bf_nvme *dev);
void bf_nvme_firmware_log(const struct bf_nvme *dev, uint8_t *page);
const char *bf_nvme_firmware_revision(const struct bf_nvme *dev);
void bf_nvme_self_test_init(struct bf_nvme *dev);
void bf_nvme_self_test_reset(struct bf_nvme *dev);
void bf_nvme_self_test_log(const struct bf_nvme *dev, uint8_t *page);
void bf_nvme_identify(struct bf_nvme_rq *rq);
void bf_nvme_get_log(struct bf_nvme_rq *rq);
void bf_nvme_get_features(struct bf_nvme_rq *rq);
void bf_nvme_set_features(struct bf_nvme_rq *rq);
void bf_nvme_features_init(struct bf_nvme *dev);
void bf_nvme_features_reset(struct bf_nvme *dev);
/* The list as it is, or by default; returns DW0. Takes what the host sent in rq->buf; 0 or a status word. */
uint32_t bf_nvme_lba_ranges_get(const struct bf_nvme_ns *ns, bool current, uint8_t *list);
uint32_t bf_nvme_lba_ranges_set(struct bf_nvme_rq *rq);
void bf_nvme_lba_ranges_forget(struct bf_nvme_ns *ns);
void bf_nvme_format(struct bf_nvme_rq *rq);
void bf_nvme_ns_manage(struct bf_nvme_rq *rq);
void bf_nvme_ns_attach(struct bf_nvme_rq *rq);
void bf_nvme_firmware_download(struct bf_nvme_rq *rq);
void bf_nvme_firmware_commit(struct bf_nvme_rq *rq);
void bf_nvme_self_test(struct bf_nvme_rq *rq);
/* Sends `rq->buf` to the host and completes the command. */
void bf_nvme_admin_send(struct bf_nvme_rq *rq, uint32_t len);
/* A zeroed buffer of `len` bytes as rq->buf; NULL: completed with Internal Error. */
uint8_t *bf_nvme_admin_buf(struct bf_nvme_rq *rq, uint32_t len);

/* stats.c */
int bf_nvme_stats_open(struct bf_nvme *dev);
void bf_nvme_stats_close(struct bf_nvme *dev);

/* Slots from `from` forward to `to` in a ring of `size`. */
static inline uint32_t bf_nvme_ahead(uint32_t to, uint32_t from, uint32_t size)
{
	return to >= from ? to - from : to + size - from;
}

static inline void bf_nvme_list_init(struct bf_nvme_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static inline void bf_nvme_list_add(struct bf_nvme_list *l, struct bf_nvme_rq *rq)
{
	rq->next = NULL;
	*l->tail = rq;
	l->tail = &rq->next;
}

static inline struct bf_nvme_rq *bf_nvme_list_pop(struct bf_nvme_list *l)
{
	struct bf_nvme_rq *rq = l->head;

	l->head = rq->next;
	if (!l->head)
		l->tail = &l->head;
	return rq;
}

#endif
