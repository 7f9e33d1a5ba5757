/*
 * The life of one send entry, told from a record stream: the store that announced it, what the device read and checked,
 * its packets there and back, what the other side did, and its completion.
 *
 * Reads records by the names of their types and fields, live (as a sink) or from a trace of any version. One thread per
 * life. Times are picoseconds of the stream.
 */
#ifndef BELFRY_TRACES_LIFE_H
#define BELFRY_TRACES_LIFE_H

#include "sim/record.h"
#include "traces/trace.h"

/* Who does something. */
enum bf_life_place { BF_LIFE_SOFTWARE, BF_LIFE_DEVICE, BF_LIFE_WIRE, BF_LIFE_REMOTE, BF_LIFE_CAPTURE };

struct bf_life_step {
	uint64_t time_ps;
	enum bf_life_place place;
	const char *what; /* short name: "doorbell", "fetch", "packet", ... */
	char text[160];   /* one line */
	char device[16];  /* "nic0"; empty for software and the capture */
	bool detail;      /* belongs to the step before: no time of its own */
	bool far;         /* done by the other side of a connection of a device with itself */
};

struct bf_life; /* opaque */

/*
 * Follows entry `index` (16-bit WQEBB counter) of queue pair `qpn`; the first time when the counter comes round. Several
 * devices may have a queue pair of that number: `device` ("nic0") says which is meant, NULL the first that is rung for
 * the entry. Free with bf_life_free(). 0 or -ENOMEM.
 */
int bf_life_create(const char *device, uint32_t qpn, uint16_t index, struct bf_life **out);
void bf_life_free(struct bf_life *l);

/* A sink that listens; records of the classes META, QUEUE, NET and FAULT are what it needs. */
struct bf_sink *bf_life_sink(struct bf_life *l);

/* After the last record of a sink: adds what the entry still waits for, if it never came to its end. */
void bf_life_finish(struct bf_life *l);

/* Both with the rest of a trace. Returns bf_trace_next()'s error, if any, after what could be read. */
int bf_life_read(struct bf_life *l, struct bf_trace *t);

/* The steps in order of time. `*count` may be 0: the stream has nothing of that entry. */
const struct bf_life_step *bf_life_steps(const struct bf_life *l, size_t *count);

/* The stream has captured events and nothing that a device did with them: it was imported, and not replayed. */
bool bf_life_never_ran(const struct bf_life *l);

/*
 * Prints the story, at most 100 columns wide. Long runs of packets are shortened. Says so when there is none.
 */
void bf_life_print(const struct bf_life *l, FILE *out);

const char *bf_life_place_name(enum bf_life_place p); /* "software", "device", "wire", "remote", "capture" */

#endif
