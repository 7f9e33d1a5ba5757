/*
 * What is unfinished: stuck.c keeps entries and threads while records come; stuck_life.c moves entries by the rows of
 * their devices, stuck_barrier.c, stuck_capture.c, stuck_cm.c and stuck_thread.c know the others; stuck_group.c finds
 * the first missing steps, and stuck_text.c says them.
 */
#ifndef BELFRY_TRACES_LIFE_STUCK_INTERNAL_H
#define BELFRY_TRACES_LIFE_STUCK_INTERNAL_H

#include <inttypes.h>
#include <string.h>

#include "traces/life/facts.h"
#include "traces/life/stuck.h"
#include "traces/container/number_map_internal.h"

/* What has handlers of its own; lives that are told by rows (traces/device.h) follow, by their number. */
enum bf_stuck_kind { BF_STUCK_CAPTURE, BF_STUCK_KINDS };

struct bf_stuck_entry {
	uint64_t key[3];              /* in the map: queue, index or identifier, which of the two */
	uint64_t index;               /* as its driver counts */
	uint64_t last_ps;             /* of its last point */
	uint64_t order;               /* of its beginning */
	uint32_t points;              /* bits of those that it has passed */
	uint32_t who[BF_LIFE_POINTS]; /* actors plus one: who took it to each */
	struct bf_life_facts facts;   /* of a device's rows */
	uint32_t nth;                 /* of those with this slot, from 1 */
	uint32_t line;                /* of a capture */
	bool open;
	bool signalled;
	uint64_t next_free; /* plus one */
};

struct bf_stuck_queue {
	uint32_t kind;
	struct bf_life_queue life; /* of a device's rows; life.life NULL: it has handlers of its own */
	uint32_t pe;
	uint64_t number;
	char name[64]; /* the device's, "nic0.qp0x100"; "queue N of PE M" before */
	char device[24];
	uint64_t size;           /* of the ring, in its own terms; 0: not known */
	uint64_t fetched, below; /* rows: so far the device has read, software has seen */
	uint64_t lost;           /* rows: entries that may be waiting for a later completion */
	uint64_t dbrec;          /* of a capture: the doorbell record at the last doorbell */
	uint64_t remote_qpn, remote_ipv4, ipv4;
	uint64_t stopped_at; /* rows: the index at which it stopped */
	bool known_dbrec, has_fetched, driver, stopped;
	bool captured;     /* rows: by records of a capture */
	char trouble[120]; /* a fault or an error of the queue, as a sentence */
};

struct bf_stuck_barrier {
	uint32_t actor;
	uint64_t address, word, phases, parked, asking, since_ps, by[64];
	uint64_t arrived, arrived_before; /* warps, a bit each */
	bool live;
};

struct bf_stuck_thread {
	uint32_t actor;
	bool waits, deadlock, ended;
	bool looks; /* its nap is over, and it has not gone on to sleep: it looks at its place again */
	uint64_t since_ps, va, value;
	uint64_t polls_ps; /* since when it has waited for nothing but this address */
	char what[40];
};

enum bf_stuck_conn_state {
	BF_STUCK_CONN_ASKED,
	BF_STUCK_CONN_ANSWERED, /* by REP */
	BF_STUCK_CONN_REFUSED,
	BF_STUCK_CONN_GIVEN_UP,
	BF_STUCK_CONN_MADE,
	BF_STUCK_CONN_ENDED /* by this side's own will, or the asker's */
};

/* A request of the connection manager, of this side or of a peer. */
struct bf_stuck_conn {
	uint64_t service, peer, since_ps, tries, reason;
	uint32_t actor;
	enum bf_stuck_conn_state state;
	bool ours, datagram, busy; /* busy: the peer has asked for time */
};

#define BF_STUCK_MOVES 8u /* rows of one type of record, of all lives */

/* A row of a life that is told by rows; `kind` tells lives apart. */
struct bf_stuck_move {
	const struct bf_life *life;
	const struct bf_life_row *row;
	uint32_t kind;
	bool noted; /* sentences speak of the queue's last record of that type */
};

struct bf_stuck {
	struct bf_trace *trace;
	struct bf_error *err;
	struct bf_number_map queues, entries, barriers, threads, counts;
	struct bf_number_map conn_numbers, conns_made; /* place in `conn` plus one; of the last that came about */
	struct bf_stuck_queue *queue;
	struct bf_stuck_entry *entry;
	struct bf_stuck_barrier *barrier;
	struct bf_stuck_thread *thread;
	struct bf_stuck_conn *conn;
	size_t nqueues, cap_queues, nentries, cap_entries, nbarriers, cap_barriers, nthreads, cap_threads;
	size_t nconns, cap_conns;
	uint64_t free_entry, order, end_ps;
	uint32_t last_actor;
	size_t last_thread;
	bool ran, device, deadlock; /* ran, device: some device did, or said, something */
	bool failed;                /* a queue stopped */
	bool meetings;              /* threads wait for each other alone */
	struct {
		const struct bf_rec_schema *type;
		const struct bf_stuck_row *row;
		struct bf_stuck_move moves[BF_STUCK_MOVES];
		uint32_t nmoves;
	} cache[1024];
	struct bf_stuck_group *groups;
	uint32_t ngroups, cap_groups;
	char (*unknown)[200];
	uint32_t nunknown, unknown_cap;
};

/* A type of record and who takes it. 0 or -ENOMEM. */
struct bf_stuck_row {
	const char *type;
	int (*on)(struct bf_stuck *s, const struct bf_trace_record *rec, const char *actor);
};
extern const struct bf_stuck_row bf_stuck_cm_rows[], bf_stuck_barrier_rows[], bf_stuck_capture_rows[],
    bf_stuck_thread_rows[]; /* each ends with a NULL type */
#define ROW(name) static int name(struct bf_stuck *s, const struct bf_trace_record *rec, const char *actor)

int bf_stuck_no_memory(struct bf_stuck *s);
uint64_t bf_stuck_field(const struct bf_trace_record *rec, const char *name);
/* The queue, made when it is new; NULL on lack of memory. `actor` names it when it is the device that speaks. */
struct bf_stuck_queue *bf_stuck_queue_of(struct bf_stuck *s, uint32_t kind, const char *actor, bool device,
					 uint64_t number);
/* An open entry; NULL. `space` tells indices from identifiers. */
struct bf_stuck_entry *bf_stuck_find(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index,
				     uint64_t space);
/* A new one in place of what was there; NULL on lack of memory. */
struct bf_stuck_entry *bf_stuck_begin(struct bf_stuck *s, const struct bf_stuck_queue *q, uint64_t index,
				      uint64_t space);
/* The entry goes by another number from now on. 0 or -ENOMEM. */
int bf_stuck_rename(struct bf_stuck *s, struct bf_stuck_entry *e, uint64_t index, uint64_t space);
void bf_stuck_end(struct bf_stuck *s, struct bf_stuck_entry *e);
/* All entries of a queue are gone. */
void bf_stuck_forget(struct bf_stuck *s, const struct bf_stuck_queue *q);
void bf_stuck_pass(struct bf_stuck_entry *e, uint32_t point, const struct bf_trace_record *rec);
struct bf_stuck_thread *bf_stuck_thread_of(struct bf_stuck *s, uint32_t actor);

/* stuck_life.c: the rows of all devices for a type of record; how many there are. */
uint32_t bf_stuck_life_find(const char *type, struct bf_stuck_move moves[BF_STUCK_MOVES]);
/* 0 or -ENOMEM. */
int bf_stuck_life_take(struct bf_stuck *s, const struct bf_stuck_move *move, const struct bf_trace_record *rec,
		       const char *actor);
/* The first step that an entry misses: a point's number, or the one behind the last; NOTHING: nobody can tell. */
#define BF_STUCK_NOTHING UINT32_MAX
uint32_t bf_stuck_life_step(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e);
/* Software learns of that point in groups, and need not look. */
bool bf_stuck_life_may_be_left(const struct bf_life *life, uint32_t point);
void bf_stuck_life_group(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			 uint32_t missing, struct bf_stuck_group *g);

/* stuck_text.c: appends to the group's text. */
void bf_stuck_say(struct bf_stuck_group *g, const char *fmt, ...) BF_PRINTF(2, 3);
/* What a thread does now; `actor` is its number plus one. */
void bf_stuck_say_thread(const struct bf_stuck *s, struct bf_stuck_group *g, uint32_t actor);

/* stuck_group.c: an empty group behind the others; NULL on lack of memory. */
struct bf_stuck_group *bf_stuck_new_group(struct bf_stuck *s);
/* The group of that key, with one more in it: the first one finds it empty. NULL on lack of memory. */
struct bf_stuck_group *bf_stuck_group_of(struct bf_stuck *s, struct bf_number_map *groups, const uint64_t key[3]);
/* Groups what is left. 0 or -ENOMEM. */
int bf_stuck_conclude(struct bf_stuck *s);

/* stuck_barrier.c, stuck_cm.c: the same for barriers and connections. */
int bf_stuck_group_barriers(struct bf_stuck *s);
int bf_stuck_group_connections(struct bf_stuck *s);

#endif
