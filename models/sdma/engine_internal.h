/* The engine's objects, shared by the files of this folder. */
#ifndef BELFRY_MODELS_SDMA_ENGINE_INTERNAL_H
#define BELFRY_MODELS_SDMA_ENGINE_INTERNAL_H

#include "models/sdma/decode.h"
#include "models/sdma/records.h"
#include "models/sdma/sdma.h"
#include "sim/rng.h"

#define BF_SDMA_MAX_COPIES 64u
#define BF_SDMA_MAX_QUEUES 512u

/*
 * The doorbell area: slots of 8 bytes, 1024 a process (libhsakmt src/queues.c, from gfx9 on), and behind them slots of
 * 4 bytes for queues whose indices wrap (before gfx9).
 */
#define BF_SDMA_BELL_WRAPPED 8192u
#define BF_SDMA_BELL_BYTES 12288u

/* Dwords on their way to the decoder: bytes [next, next + len) lie at buf + head. */
struct bf_sdma_stream {
	struct bf_sdma_queue *q;
	uint8_t *buf;
	uint32_t cap, head, len;
	uint64_t next;    /* index of the first byte not yet dispatched */
	uint64_t fetched; /* index behind the last byte asked for */
	struct bf_dma_op op;
	bool fetching;
	bool drop; /* what the fetch brings is void */
};

#define BF_SDMA_QUEUE_COUNTERS(C)                                                                                      \
	C(packets)                                                                                                     \
	C(bytes) C(doorbells) C(doorbells_early) C(fetches) C(rptr_writes) C(polls) C(traps) C(suspects) C(faults)

struct bf_sdma_counts {
#define C(name) uint64_t name;
	BF_SDMA_QUEUE_COUNTERS(C)
#undef C
};

struct bf_sdma_queue {
	struct bf_sdma *dev;
	struct bf_sdma_queue *next_zombie;
	struct bf_sdma_queue_opts opts;
	uint32_t id, actor;
	uint64_t mask; /* of a position in the ring */
	uint64_t published, retired;
	struct bf_sdma_stream ring, ib;
	struct bf_sdma_stream *from; /* where packets come from */
	uint64_t ib_base, ib_bytes;
	uint64_t skip; /* bytes that COND_EXE jumps over */

	struct bf_event step;  /* the next packet */
	struct bf_event timer; /* of the packet in front: poll interval, trap on its way */
	struct bf_event rptr;  /* write-back */
	struct bf_dma_op op;   /* of the packet in front */
	uint64_t op_value;
	bool op_busy;
	uint64_t rptr_written;
	struct bf_sdma_packet pkt; /* the packet in front */
	uint32_t tries;
	uint64_t polled, polled_end; /* the last poll: its address, and where it ended in its stream */
	uint64_t timestamp_offset;

	const char *waits; /* what the packet in front waits for */
	bool in_packet;    /* it has begun and is not over */
	bool for_slot;     /* it waits for a copy slot */
	bool paused, dead;
	uint32_t running; /* copies and fills */
	struct bf_sdma_fault fault;
	struct bf_sdma_counts count;
};

/* A box of rows: `bytes` each, `rows` in a slice, `slices`. */
struct bf_sdma_box {
	uint64_t src, dst, dst2;
	uint64_t bytes, rows, slices;
	uint64_t src_pitch, dst_pitch, src_slice, dst_slice;
};

/* A copy or fill that runs. */
struct bf_sdma_job {
	struct bf_event due;
	struct bf_sdma *dev;
	struct bf_sdma_queue *q;
	uint64_t index, indirect;
	uint64_t start_ps, total;
	struct bf_sdma_box box;
	uint64_t slice, row, at;          /* where the next piece begins */
	uint64_t piece_bytes, piece_rows; /* the piece on its way; 0 rows: none yet */
	uint32_t id;
	uint32_t element; /* log2 */
	uint32_t pattern, fill_size;
	uint8_t dword_src, dword_dst, dword_dst2; /* of the addresses, for faults */
	bool fill, cast, backwards;
	bool src_vram, dst_vram, dst2_vram;
};

struct bf_sdma {
	struct bf_sim *sim;
	struct bf_sdma_profile profile;
	struct bf_sdma_dialect dialect;
	char name[24];
	uint32_t actor;
	struct bf_link link;
	struct bf_dma_port dma;
	struct bf_region *bells;
	struct bf_rng rng;
	void (*trap)(void *arg, uint32_t id);
	void *trap_arg;
	uint64_t front_free_ps;        /* when the front end can take the next packet */
	uint64_t data_free_ps;         /* when the data path can take the next piece */
	struct bf_sdma_queue **queues; /* by id */
	struct bf_sdma_queue *zombies; /* destroyed while a DMA read was on its way */
	struct bf_sdma_job *jobs;
	uint64_t free_jobs; /* bit per job */
	bool going;         /* it is being destroyed, and its queues with it */
};

/* doorbell.c */
extern const struct bf_mmio_ops bf_sdma_bell_ops;

/* queue_life.c: frees the queue once no DMA read is left that would write into it. */
void bf_sdma_queue_bury(struct bf_sdma_queue *q);

/* queue.c: callbacks of the queue's events and fetches. */
void bf_sdma_on_step(struct bf_event *ev);
void bf_sdma_on_rptr(struct bf_event *ev);
void bf_sdma_on_fetched(struct bf_dma_op *op);
/* What was fetched ahead is void: the ring's memory may change while the queue is off. */
void bf_sdma_forget_fetched(struct bf_sdma_stream *s);
/* The packet in front is over: the queue goes on to the next one. */
void bf_sdma_packet_over(struct bf_sdma_queue *q);
/* The front end looks again at the packet in front. */
void bf_sdma_retry(struct bf_sdma_queue *q);
/* Stops the queue at dword `dword` of the packet in front. */
void bf_sdma_stop(struct bf_sdma_queue *q, enum bf_sdma_reason reason, uint32_t dword, uint64_t address);
/* The same for a packet that the front end is past. */
void bf_sdma_stop_at(struct bf_sdma_queue *q, uint64_t index, uint64_t indirect, enum bf_sdma_reason reason,
		     uint32_t dword, uint32_t value, uint64_t address);
void bf_sdma_suspect(struct bf_sdma_queue *q, uint32_t what, uint32_t dword, uint32_t value, uint64_t address);
/* Which packet is in front, for records. */
uint64_t bf_sdma_index(const struct bf_sdma_queue *q);
uint64_t bf_sdma_indirect(const struct bf_sdma_queue *q);
const uint32_t *bf_sdma_dwords(const struct bf_sdma_queue *q);

/* exec.c: what became of the packet in front. */
enum bf_sdma_progress {
	BF_SDMA_OVER,    /* it is done, or goes on by itself */
	BF_SDMA_WAITS,   /* bf_sdma_packet_over() comes later */
	BF_SDMA_STOPPED, /* bf_sdma_stop() was called */
};
enum bf_sdma_progress bf_sdma_execute(struct bf_sdma_queue *q);
/* The read that the packet in front waited for is back; its time is over. */
void bf_sdma_op_done(struct bf_dma_op *op);
void bf_sdma_on_timer(struct bf_event *ev);
/* True when packets of this kind may start while copies run. */
bool bf_sdma_may_overlap(enum bf_sdma_kind kind);

/* copy.c */
void bf_sdma_jobs_init(struct bf_sdma *dev);
bool bf_sdma_job_free(const struct bf_sdma *dev);
/* Starts the COPY, RECT or FILL packet in front; a job is free. */
enum bf_sdma_progress bf_sdma_job_start(struct bf_sdma_queue *q);
/* Ends the jobs of `q` without a trace. */
void bf_sdma_jobs_cancel(struct bf_sdma_queue *q);

/* rect.c: geometry. */
void bf_sdma_box_of(const struct bf_sdma_packet *p, struct bf_sdma_box *box);
/* True when a sub-window's rows leave their pitch or its slices run into each other. */
bool bf_sdma_leaves_surface(const struct bf_sdma_packet *p, uint32_t *dword);
/* True when the bytes of source and destination meet. */
bool bf_sdma_box_overlaps(const struct bf_sdma_box *box);
/* The same box with as few and as long rows as possible. */
void bf_sdma_box_merge(struct bf_sdma_box *box);

#endif
