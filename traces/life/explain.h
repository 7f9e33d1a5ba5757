/*
 * The life of one thing, told from a record stream: of an entry of a queue (a send entry, a command, a packet:
 * traces/device.h), of a completion, or of a barrier in shared memory. Who reserved, built, published and rang, what
 * the device read and whether those bytes were visible by then, what it did, its completion, who saw that, and the
 * slot's return. For a barrier: phase by phase, who arrived, which bytes came, who waits.
 *
 * Reads records by the names of their types and fields, live (as a sink) or from a trace of any version. One thread per
 * life. Times are picoseconds of the stream.
 */
#ifndef BELFRY_TRACES_LIFE_EXPLAIN_H
#define BELFRY_TRACES_LIFE_EXPLAIN_H

#include "sim/record.h"
#include "traces/container/trace.h"

enum bf_explain_kind {
	BF_EXPLAIN_ROWS,       /* an entry of a device, by the rows of its life (traces/device.h) */
	BF_EXPLAIN_BARRIER,    /* of an SM */
	BF_EXPLAIN_COMPLETION, /* of a completion queue: the life of what it completes */
};

struct bf_life;

/* What is to be explained. */
struct bf_explain_target {
	enum bf_explain_kind kind;
	const struct bf_life *life; /* ROWS */
	char device[24];            /* "nic0"; empty: the first that has such a thing */
	uint64_t queue;             /* its number: QPN, CQN, SM, or what the actor's name ends with */
	/*
	 * Of an entry: its counter in blocks, which goes on counting where that of the device wraps. Of a command: its
	 * identifier, or its slot. Of a packet: its byte index. Of a barrier: its address. Of a completion: its number
	 * in its queue, from 0.
	 */
	uint64_t index;
	bool by_slot; /* a command by its slot */
	uint32_t nth; /* commands: which one of that slot or identifier, from 1; 0 is 1 */
};

/*
 * "nic0.qp0x100:81", "0x100:81", "gpu0.sm0:0x400", "nic0.cq0x40:#57", "ssd0.cq1:#3", or with the prefix of a device's
 * life: "ring0.r0:0x60"; if its entries have names, "ssd0.sq1:cid=5", "ssd0.sq1:slot=5" (or "ssd0.sq1:5"; the third
 * one:
 * "...:5#3"). False when the text is none of these.
 */
bool bf_explain_parse(const char *text, struct bf_explain_target *out);

/* "entry", "packet", ...: what such a thing is called. */
const char *bf_explain_thing(const struct bf_explain_target *t);

/* The same form from a target. `cap` of 80 is enough. Returns `buf`. */
const char *bf_explain_target_text(const struct bf_explain_target *t, char *buf, size_t cap);

/* Who does something. */
enum bf_explain_place {
	BF_EXPLAIN_SOFTWARE,
	BF_EXPLAIN_DEVICE,
	BF_EXPLAIN_WIRE,
	BF_EXPLAIN_REMOTE,
	BF_EXPLAIN_CAPTURE,
	BF_EXPLAIN_MEMORY /* what became visible to whom */
};

struct bf_explain_step {
	uint64_t time_ps;
	uint64_t record; /* place in the stream of the record that says it, from 0 */
	uint32_t order;  /* among the steps of that record */
	enum bf_explain_place place;
	const char *what; /* short name: "doorbell", "fetch", "packet", ... */
	char text[200];   /* one line */
	char device[24];  /* "nic0"; empty for software and the capture */
	char actor[48];   /* the thread; empty where the stream does not name one */
	bool detail;      /* belongs to the step before: no time of its own */
	bool far;         /* done by the other side of a connection of a device with itself */
	bool missing;     /* something that did not happen: the first one is where the thing is stuck */
};

struct bf_explain; /* opaque */

/*
 * Follows entry `index` (a 16-bit counter of blocks) of queue pair `qpn`; the first one when the counter wraps.
 * Several devices may have a queue pair of that number: `device` ("nic0") says which is meant, NULL the first that is
 * rung for the entry. Free with bf_explain_free(). 0 or -ENOMEM.
 */
int bf_explain_create(const char *device, uint32_t qpn, uint16_t index, struct bf_explain **out);

/* The same for anything but completions, which only bf_explain_trace() finds: -EINVAL for one. */
int bf_explain_follow(const struct bf_explain_target *target, struct bf_explain **out);
void bf_explain_free(struct bf_explain *l);

/* A sink that listens; records of the classes META, QUEUE, NET, FAULT and, for what software did, DRIVER and MEM. */
struct bf_sink *bf_explain_sink(struct bf_explain *l);

/* After the last record of a sink: adds what the thing still waits for, if it never came to its end. */
void bf_explain_finish(struct bf_explain *l);

/* Both with the rest of a trace. Returns bf_trace_next()'s error, if any, after what could be read. */
int bf_explain_read(struct bf_explain *l, struct bf_trace *t);

/*
 * The whole story from a trace that can seek: finds the device and what a completion belongs to, and adds which bytes
 * were visible when they were read. Reads the trace several times, from its start. 0 with `*out`; -ENOENT when the
 * stream has no such completion; -EBADMSG with `*out` when the trace is damaged, the rest having been read.
 */
int bf_explain_trace(const struct bf_explain_target *target, struct bf_trace *t, struct bf_explain **out,
		     struct bf_error *err);

/* What is followed; for a completion, the entry that it completes. */
const struct bf_explain_target *bf_explain_target_of(const struct bf_explain *l);

/* The steps in order of time. `*count` may be 0: the stream has nothing of that thing. */
const struct bf_explain_step *bf_explain_steps(const struct bf_explain *l, size_t *count);

/* It came to its end: a completion that was written and, as far as the stream tells, seen. */
bool bf_explain_ended(const struct bf_explain *l);

/* Sentences on what cannot be known because the stream has no records of it; NULL past the last. */
const char *bf_explain_unknown(const struct bf_explain *l, unsigned i);

/* The stream has captured events and nothing that a device did with them: it was imported, and not replayed. */
bool bf_explain_never_ran(const struct bf_explain *l);

/*
 * Prints the story, at most `columns` wide (60 or more; files have BF_EXPLAIN_COLUMNS). Long runs of packets are
 * shortened. Says so when there is none.
 */
#define BF_EXPLAIN_COLUMNS 100u
void bf_explain_print(const struct bf_explain *l, FILE *out, unsigned columns);

/* "software", "device", "wire", "remote", "capture", "memory" */
const char *bf_explain_place_name(enum bf_explain_place p);

#endif
