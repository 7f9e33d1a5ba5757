/*
 * What the parts of the story share: explain.c takes records in, rows.c tells them by the rows of a device's life,
 * wire.c adds the packets between two ends, seen.c what software and memory have of the entry, memory.c what was
 * visible to whom; barrier.c knows barriers.
 */
#ifndef BELFRY_TRACES_LIFE_EXPLAIN_INTERNAL_H
#define BELFRY_TRACES_LIFE_EXPLAIN_INTERNAL_H

#include <inttypes.h>
#include <string.h>

#include "traces/container/numbering_internal.h"
#include "traces/life/explain.h"
#include "traces/life/facts.h"

#define BF_EXPLAIN_TYPES 1024u
#define BF_EXPLAIN_PSN_MASK 0xffffffu

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
#define BF_EXPLAIN_AHEAD 2u     /* rows of one life that are told with others */
#define BF_EXPLAIN_ROW_WORDS 2u /* bits of rows */

struct bf_explain {
	struct bf_sink sink; /* first: the sink's functions get this pointer */
	struct bf_explain_target target;
	const struct bf_explain_handler *handlers;
	struct {
		const struct bf_rec_schema *type;
		bf_explain_on *on;
		uint64_t rows[BF_EXPLAIN_ROW_WORDS]; /* of the life: those of this type */
		bool mentioned;                      /* its sentences speak of it */
	} cache[BF_EXPLAIN_TYPES];
	uint64_t number;  /* of the next record */
	bool device_only; /* drivers of several PEs may mean the same number: the first device that is rung decides */
	int64_t pe;       /* whose driver's records count; negative: any */
	struct bf_explain_step *steps;
	size_t nsteps, cap;
	uint64_t last_ps;      /* of the last record */
	uint64_t capture_line; /* of the last captured event; 0: this is no replay */
	uint64_t capture_ps;
	bool ran; /* a device has done something */
	const struct bf_rec_schema *types[BF_EXPLAIN_TYPES];
	char (*actors)[48];
	size_t actors_cap;
	struct bf_numbering actor_places; /* among them */
	int status;
	char device[24], far_device[24]; /* the far one is known once a packet has arrived there */
	unsigned nunknown;
	char unknown[8][160];

	/* An entry, by the rows of its device. */
	struct bf_life_facts facts;
	struct bf_life_queue queue;
	char by[BF_LIFE_POINTS][48];         /* who took it to each point */
	uint64_t at_ps[BF_LIFE_POINTS];      /* when */
	uint64_t told[BF_EXPLAIN_ROW_WORDS]; /* bits of rows */
	bool over;                           /* its slot or name is another's now */
	bool captured, told_by_software, begun, built, recycled, polled;
	bool ends_itself; /* its completion was its own, not one that covers it */
	uint64_t fetch_before, begin_record, fetch_record;
	struct bf_number_map last_read; /* and the record, plus one, of the last entry that was read at an address */
	uint32_t seen_nth;
	uint64_t cq_base, entry_va, entry_len, ring_va, ring_bytes;
	uint64_t next_fetch; /* the device's counter as the stream went on; it tells laps apart */
	bool has_fetched;
	struct {
		const struct bf_life_row *row;
		struct bf_explain_step step;
		bool about;
	} ahead[BF_EXPLAIN_AHEAD];
	uint64_t others[BF_EXPLAIN_OTHERS]; /* queues that were rung */
	uint32_t nothers;                   /* one more: there are more */

	/* What a thread stored last to a device; the store that was for this entry. */
	bool posted;
	char mmio_actor[48], ringer[48];
	uint64_t ring_seq, mmio_seq;
	/* Its completion in memory. */
	uint64_t cqe_iova, cqe_va, cqe_bytes;
	bool cqe_known, cqe_landed, cqe_loaded;

	/* Its packets, and the other end. */
	uint64_t remote;
	uint32_t psn, npsn;
	bool has_remote, has_psn, arrived, answered;
	struct bf_explain_packet *packets; /* sent, not yet arrived */
	size_t npackets, packets_cap;

	struct bf_explain_barrier *barrier;
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

/* The actor belongs to the entry's device (any, while that is unknown); to the one at the other end. */
bool bf_explain_from_device(const struct bf_explain *l, const char *actor);
bool bf_explain_from_far(const struct bf_explain *l, const char *actor);
/* The packet number is one of the entry's own. */
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
extern const struct bf_explain_handler bf_explain_barrier_handlers[];
void bf_explain_barrier_end(struct bf_explain *l);

/* rows.c */
extern const struct bf_explain_handler bf_explain_rows_handlers[];
bf_explain_on bf_explain_rows_take;
void bf_explain_rows_end(struct bf_explain *l);

/* seen.c */
bf_explain_on bf_explain_on_mmio_store, bf_explain_on_store_visible, bf_explain_on_dma_write, bf_explain_on_load;

/* wire.c */
bf_explain_on bf_explain_on_packet;

/* barrier.c */
void bf_explain_barrier_free(struct bf_explain *l);

/* memory.c: reads the trace once more and adds what was stored into the thing's memory, and when it was seen. */
int bf_explain_memory(struct bf_explain *l, struct bf_trace *t, struct bf_error *err);

/* target.c: finds the entry that a completion is about. -ENOENT with `err` set when there is no such one. */
int bf_explain_resolve(const struct bf_explain_target *want, struct bf_trace *t, struct bf_explain_target *out,
		       struct bf_error *err);
/* The life whose entries go by two numbers alone, "0x100:81"; NULL: no device has one. */
const struct bf_life *bf_explain_plain_life(void);

/* trace.c: notes what the stream has, and says what it lacks. */
void bf_explain_note_types(struct bf_explain *l, struct bf_trace *t);

#endif
