/*
 * Captures of mlx5 queue traffic: JSON Lines as a recorder beside a device writes them, one event a line, flat objects:
 *
 *   {"t_ns":0,"ev":"mkey","key":"0x1000","addr":"0x563d84d0c000","length":8192,"access":1}
 *   {"t_ns":9,"ev":"qp","qpn":"0x101001","dest_qpn":"0x100001","sq_wqebbs":128,"rq_wqes":4,"rq_stride_log2":4,
 *    "user_index":0,"send_cqn":"0x1","send_cqes":256,"recv_cqn":"0x1","recv_cqes":256,"state":3}   (on one line)
 *   {"t_ns":20,"ev":"sq_doorbell","qpn":"0x101001","dbrec":28}
 *   {"t_ns":31,"ev":"wqe","qpn":"0x101001","index":0,"bytes":"..."}        64 to 1024 bytes, whole WQEBBs
 *   {"t_ns":42,"ev":"recv_wqe","qpn":"0x101001","index":0,"bytes":"..."}   16 to 1024 bytes, whole segments
 *   {"t_ns":9,"ev":"srq","srqn":"0x10","qpn":"0x101001","wqes":512,"stride_log2":5}
 *   {"t_ns":31,"ev":"srq_wqe","srqn":"0x10","index":0,"bytes":"..."}       the same, its next segment in front
 *   {"t_ns":53,"ev":"cqe","cqn":"0x1","index":0,"bytes":"..."}             64 bytes
 *
 * Access bits are those of verbs (IBV_ACCESS_*). The doorbell's line stands before the entries that it made the device
 * fetch. There is one "srq" for each queue pair that takes its receives from the SRQ; indices of SRQs are places in the
 * ring, those of other receive queues count on. Fields that are not listed are skipped; anything else that does not fit
 * is an error with line and column. The same events can come from an imported trace. One thread per capture.
 */
#ifndef BELFRY_TRACES_IMPORT_CAPTURE_H
#define BELFRY_TRACES_IMPORT_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"
#include "sim/record.h"
#include "traces/container/number_map_internal.h"

/* What a trace says of its origin when a capture was imported. */
#define BF_CAPTURE_FORM "mlx5-capture"

enum bf_capture_kind {
	BF_CAPTURE_MKEY,
	BF_CAPTURE_QP,
	BF_CAPTURE_DOORBELL,
	BF_CAPTURE_WQE,
	BF_CAPTURE_RECV_WQE,
	BF_CAPTURE_CQE,
	BF_CAPTURE_SRQ,
	BF_CAPTURE_SRQ_WQE,
	BF_CAPTURE_KINDS
};

/* Access bits of a memory key (libibverbs/verbs.h enum ibv_access_flags). Local reads are always allowed. */
#define BF_CAPTURE_LOCAL_WRITE 1u
#define BF_CAPTURE_REMOTE_WRITE 2u
#define BF_CAPTURE_REMOTE_READ 4u
#define BF_CAPTURE_REMOTE_ATOMIC 8u
#define BF_CAPTURE_RELAXED (1u << 20)

struct bf_capture_mkey {
	uint64_t addr, length;
	uint32_t key, access;
};

/* `dbrec`, depths and numbers as the device knows them; `rq_stride_log2` in bytes. */
struct bf_capture_qp {
	uint32_t qpn, dest_qpn, sq_wqebbs, rq_wqes, rq_stride_log2, user_index;
	uint32_t send_cqn, send_cqes, recv_cqn, recv_cqes, state;
};

/* A queue pair's shared receive queue: a linked list of entries. */
struct bf_capture_srq {
	uint32_t srqn, qpn, wqes, stride_log2;
};

/* Doorbells, entries and completions. */
struct bf_capture_queue {
	uint32_t qpn;   /* entries and doorbells of queue pairs */
	uint32_t srqn;  /* entries of SRQs */
	uint32_t cqn;   /* completions only */
	uint32_t index; /* entries and completions */
	uint32_t dbrec; /* doorbells only */
};

struct bf_capture_event {
	enum bf_capture_kind kind;
	uint32_t line; /* of the capture, from 1 */
	uint64_t t_ns; /* since the capture's start; never less than the event's before */
	union {
		struct bf_capture_mkey mkey;
		struct bf_capture_qp qp;
		struct bf_capture_srq srq;
		struct bf_capture_queue queue;
	};
	const uint8_t *bytes; /* owned by the capture */
	uint32_t len;
};

struct bf_capture {
	struct bf_capture_event *events;
	size_t count, cap;
	uint32_t line;          /* lines read */
	struct bf_arena *arena; /* bytes of entries and completions */
};

/*
 * Reads a capture from memory. Returns 0, or -EBADMSG with line, column and reason in `err`, or -ENOMEM. `*out` is set
 * in every case but -ENOMEM and holds all events before the damage. Free with bf_capture_free().
 */
int bf_capture_parse(const char *text, size_t len, struct bf_capture **out, struct bf_error *err);

/*
 * Reads `path` ("-": standard input): a capture, a trace that one was imported into, or one of `belfry exec`, whose
 * records hold the same events. The same rules; also -errno of opening or reading, -EBADMSG with no events when the
 * file is none of these.
 */
int bf_capture_load(const char *path, struct bf_capture **out, struct bf_error *err);

/* The same with what follows in `f`, which stays the caller's and is called `path` in messages. */
int bf_capture_load_file(FILE *f, const char *path, struct bf_capture **out, struct bf_error *err);

void bf_capture_free(struct bf_capture *c);

/* True when the bytes begin like a capture: an object with an "ev" in it. For telling captures from traces. */
bool bf_capture_probe(const char *text, size_t len);

/* Which actor of a stream stands for which captured queue. All zero at first; bf_capture_actors_free() at the end. */
struct bf_capture_actors {
	struct bf_number_map actors; /* by queue; plus one */
};

/*
 * Emits one event as a record (traces/records/capture.h) to an open stream, at whatever time its clock shows.
 * The actor is the queue that the event belongs to: "cap.qp101001", "cap.cq1", "cap.keys". One `actors` for all events
 * of a stream; on lack of memory the stream fails.
 */
void bf_capture_record(struct bf_stream *st, struct bf_capture_actors *actors, const struct bf_capture_event *ev);
void bf_capture_actors_free(struct bf_capture_actors *as);

/* Emits all of them; the record's time is the captured one. `sink` as for bf_stream_open(). */
int bf_capture_emit(const struct bf_capture *c, struct bf_sink *sink, struct bf_error *err);

#endif
