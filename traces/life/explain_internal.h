/*
 * What the parts of the story share: explain.c takes records in, explain_driver.c, explain_queue.c and explain_wire.c
 * know a send entry (what its driver did, what happens at its own queue, its packets and the other end),
 * explain_barrier.c a barrier; rows.c takes the rows of a device; explain_memory.c adds what was visible to whom.
 */
#ifndef BELFRY_TRACES_LIFE_EXPLAIN_INTERNAL_H
#define BELFRY_TRACES_LIFE_EXPLAIN_INTERNAL_H

#include <inttypes.h>
#include <string.h>

#include "traces/container/number_map_internal.h"
#include "traces/life/explain.h"
#include "traces/life/facts.h"

#define BF_EXPLAIN_TYPES 1024u
#define BF_EXPLAIN_PSN_MASK 0xffffffu

enum bf_explain_stage {
	BF_EXPLAIN_STAGE_WAITING,
	BF_EXPLAIN_STAGE_FETCHED,
	BF_EXPLAIN_STAGE_STARTED,
	BF_EXPLAIN_STAGE_DONE,
	BF_EXPLAIN_STAGE_ENDED
};

/* A record, from whichever source. */
struct bf_explain_view {
	uint64_t time_ps;
	const char *actor;
	uint64_t number;
	const struct bf_rec_schema *type;
	const uint8_t *fixed, *tail;
	uint32_t tail_len;
};

typedef void bf_explain_on(struct bf_explain *l, const struct bf_explain_view *v);

/* A type of record and who takes it; ends with a NULL type. */
struct bf_explain_handler {
	const char *type;
	bf_explain_on *on;
};

/* Memory that belongs to the thing: the entry's bytes, a doorbell record. Stores and device reads in it are told. */
#define BF_EXPLAIN_RANGES 4u
struct bf_explain_range {
	const char *name;
	uint64_t va, len;
	uint64_t from, to; /* records; a store before `to` is followed until it is visible */
	bool value;        /* tell the value that is stored, too: big-endian of four bytes */
};

struct bf_explain_barrier;

struct bf_explain_packet {
	uint64_t id;
	bool request;
	char text[128];
};

#define BF_EXPLAIN_OTHERS 8u

struct bf_explain {
	struct bf_sink sink; /* first: the sink's functions get this pointer */
	struct bf_explain_target target;
	const struct bf_explain_handler *handlers;
	struct {
		const struct bf_rec_schema *type;
		bf_explain_on *on;
	} cache[BF_EXPLAIN_TYPES];
	uint64_t number;  /* of the next record */
	bool device_only; /* drivers of several PEs may mean the same number: the first device that is rung decides */
	int64_t pe;       /* whose driver's records count; negative: any */
	uint32_t qpn, remote_qpn;
	uint16_t index;
	bool has_remote;
	enum bf_explain_stage stage;
	struct bf_explain_step *steps;
	size_t nsteps, cap;
	/* Steps before the fetch that may turn out to be this entry's. */
	struct bf_explain_step posted, rang;
	bool has_written, has_posted, has_rang, has_record;
	uint16_t announced; /* value of the doorbell record in `posted` */
	uint16_t producer;  /* what the device last read in the doorbell record */
	bool has_producer;
	uint32_t others[BF_EXPLAIN_OTHERS], nothers; /* other queue pairs that were rung; one more: there are more */
	uint64_t last_ps;                            /* of the last record */
	uint64_t capture_line;                       /* of the last captured event; 0: this is no replay */
	uint64_t capture_ps;
	bool ran;                 /* a device has done something */
	bool own_cqe, in_capture; /* the completion was its own; the capture has it too */
	/* A driver's part of the story, by its own records. */
	bool reserved, built, published, posted_by_driver, handed_off, polled, recycled, quiet;
	char builder[48], ringer[48];
	uint64_t ring_seq, mmio_seq; /* the store to the doorbell that belongs to the post; the last one of all */
	char mmio_actor[48];
	uint64_t begin_record, fetch_record, rung_record;
	uint64_t next_fetch; /* the device's counter as the stream went on; it tells laps apart */
	bool has_fetched;
	uint32_t depth, blocks; /* of the ring; of the entry */
	/* Its completion in memory. */
	uint64_t cqe_iova, cqe_va, cqe_bytes;
	bool cqe_known, cqe_landed, cqe_loaded;
	/* Commands and packets. */
	/* A device's rows. */
	struct bf_life_facts facts;
	struct bf_life_queue queue;
	char by[BF_LIFE_POINTS][48]; /* who took it to each point */
	uint64_t told;               /* bits of rows */
	bool over;                   /* its slot or name is another's now */
	bool captured, told_by_software;
	uint64_t fetch_before;
	struct bf_number_map last_read; /* and the record, plus one, of the last entry that was read at an address */
	uint32_t seen_nth;
	uint64_t cq_base, entry_va, entry_len, ring_va, ring_bytes;
	bool failed;
	struct bf_explain_barrier *barrier;

	unsigned nunknown;
	char unknown[8][160];
	char device[24], far_device[24]; /* the far one is known once a packet has arrived there */
	uint32_t psn, npsn;
	bool arrived, answered, unsignalled;
	bool dc; /* the entry has an address vector */
	bool expects_recv_cqe;
	struct bf_explain_packet *packets; /* sent, not yet arrived */
	size_t npackets, packets_cap;
	const struct bf_rec_schema *types[BF_EXPLAIN_TYPES];
	char (*actors)[48];
	size_t nactors;
	int status;
};

/* A step at the record's time; PLACE's device is the record's actor up to its first dot. */
struct bf_explain_step bf_explain_make(const struct bf_explain_view *v, enum bf_explain_place place, const char *what,
				       const char *fmt, ...) BF_PRINTF(4, 5);
void bf_explain_push(struct bf_explain *l, struct bf_explain_step s);
void bf_explain_detail(struct bf_explain *l, struct bf_explain_step s);
void bf_explain_sort(struct bf_explain *l);

/* Fields of a record: 0 or "" when its type has none of that name. Names of enumerated values, or their number. */
uint64_t bf_explain_get(const struct bf_explain_view *v, const char *name);
const char *bf_explain_get_name(const struct bf_explain_view *v, const char *name, char *buf, size_t cap);
const char *bf_explain_get_text(const struct bf_explain_view *v, const char *name, char *buf, size_t cap);

/* The actor belongs to the entry's device (any, while that is unknown). */
bool bf_explain_from_device(const struct bf_explain *l, const char *actor);
bool bf_explain_from_far(const struct bf_explain *l, const char *actor);
/* The record is about the entry's queue pair; about the one at the other end. */
bool bf_explain_is_own(const struct bf_explain *l, const struct bf_explain_view *v);
bool bf_explain_is_far(const struct bf_explain *l, const struct bf_explain_view *v);
/* The record is about this entry; the packet number is one of its own. */
bool bf_explain_is_mine(const struct bf_explain *l, const struct bf_explain_view *v);
bool bf_explain_psn_is_mine(const struct bf_explain *l, uint32_t psn);

/* The first number in an actor's name: PEs and their devices share it. Negative: there is none. */
int64_t bf_explain_pe(const char *actor);
/* The actor's device: its name up to the last dot. */
void bf_explain_device_name(const char *actor, char *out, size_t cap);
/* The record's actor is software of the PE that the device belongs to. */
bool bf_explain_from_driver(const struct bf_explain *l, const struct bf_explain_view *v);
/* A step of software: its thread is the record's actor. */
struct bf_explain_step bf_explain_by(const struct bf_explain_view *v, const char *what, const char *fmt, ...)
    BF_PRINTF(3, 4);
/* A step that did not happen, at the end of the records. */
void bf_explain_missing(struct bf_explain *l, enum bf_explain_place place, const char *what, const char *fmt, ...)
    BF_PRINTF(4, 5);

/* One for each kind: who takes its records, and what is missing at the end. */
extern const struct bf_explain_handler bf_explain_mlx5_handlers[], bf_explain_barrier_handlers[];
void bf_explain_mlx5_end(struct bf_explain *l);
void bf_explain_barrier_end(struct bf_explain *l);
/* By the rows of a device: rows.c. */
bf_explain_on bf_explain_rows_take;
void bf_explain_rows_end(struct bf_explain *l);

/* explain_driver.c; the last one tells of a send entry whose driver has spoken and whose device has not. */
bf_explain_on bf_explain_on_reserve, bf_explain_on_build, bf_explain_on_publish, bf_explain_on_handoff,
    bf_explain_on_post, bf_explain_on_poll, bf_explain_on_quiet, bf_explain_on_driver_replay, bf_explain_on_qp_config,
    bf_explain_on_mmio_store, bf_explain_on_store_visible, bf_explain_on_dma_write, bf_explain_on_load;
bool bf_explain_driver_end(struct bf_explain *l);

/* explain_queue.c */
bf_explain_on bf_explain_on_capture_qp, bf_explain_on_capture_doorbell, bf_explain_on_capture_wqe,
    bf_explain_on_doorbell, bf_explain_on_dbrec, bf_explain_on_dc_wqe, bf_explain_on_fetch, bf_explain_on_start,
    bf_explain_on_done, bf_explain_on_cqe, bf_explain_on_capture_cqe;

/* explain_wire.c */
bf_explain_on bf_explain_on_packet, bf_explain_on_dc_connection, bf_explain_on_dc_context, bf_explain_on_dc_cnak,
    bf_explain_on_retransmit, bf_explain_on_mkey_error, bf_explain_on_qp_error, bf_explain_on_qp_state,
    bf_explain_on_recv_fetch, bf_explain_on_request_done, bf_explain_on_nak_sent, bf_explain_on_cm_message;

/* explain_barrier.c */
void bf_explain_barrier_free(struct bf_explain *l);

/* explain_memory.c: reads the trace once more and adds what was stored into the thing's memory, and when it was seen.
 */
int bf_explain_memory(struct bf_explain *l, struct bf_trace *t, struct bf_error *err);

/* explain_target.c: finds the entry that a completion is about. -ENOENT with `err` set when there is no such one. */
int bf_explain_resolve(const struct bf_explain_target *want, struct bf_trace *t, struct bf_explain_target *out,
		       struct bf_error *err);

/* explain_trace.c: notes what the stream has, and says what it lacks. */
void bf_explain_note_types(struct bf_explain *l, struct bf_trace *t);

#endif
