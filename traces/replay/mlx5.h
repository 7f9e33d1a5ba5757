/*
 * Replay: a capture's entries and doorbells through the model, and its completions against the model's.
 *
 * The device gets the captured queues (same numbers, depths and CQ sizes), the captured keys, and memory wherever the
 * captured entries point. The other end of each connection is the captured one when both are in the capture, otherwise
 * it is made up: a second device that has the queue pair of the captured number, keys for what the entries reach (but
 * not for one that ended in a remote access error), a receive entry for each message that wants one, and that sends
 * what captured receive completions say has come. Captured bytes are put into the ring at the captured indices, the
 * doorbell record is set, the doorbell rings; the rest is the model's doing.
 *
 * The capture is walked in its order: a step waits for the completions that the capture has in front of it, as the
 * software that was captured did. A flush completion of an entry that the capture lacks gets a stand-in entry with the
 * completion's opcode: the device that failed no longer fetched it.
 *
 * A capture may begin in the middle of a queue's life: NOPs and empty messages take the places of what came before, and
 * completions of that are not compared. Nor are those of messages that were under way when it began; an entry that was
 * fetched before the first doorbell of the capture has had its doorbell before it.
 *
 * Compared are, per completion queue: order (but not how sends and receives alternate where the peer is made up: when
 * it sends is the replay's choice), opcode, queue pair, WQE counter, the requester's WQE opcode, the byte
 * count where the device defines it (receive, READ, atomic), immediate data, and the syndromes of errors. Time stamps
 * and signatures are not.
 */
#ifndef BELFRY_TRACES_REPLAY_MLX5_H
#define BELFRY_TRACES_REPLAY_MLX5_H

#include "models/mlx5/mlx5.h"
#include "traces/import/capture.h"

struct bf_replay_opts {
	uint64_t seed;
	const struct bf_mlx5_profile *profile;                      /* NULL: bf_mlx5_cx7 */
	uint32_t mtu;                                               /* 256 .. 4096, a power of two; 0: 1024 */
	uint32_t record_mask;                                       /* BF_CLASS_*; 0 = off */
	struct bf_sink *sink;                                       /* borrowed; may be NULL */
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* events of the capture; may be NULL */
	void *progress_arg;
	void (*done)(void *arg, const struct bf_sim *sim); /* after a replay, for its statistics; may be NULL */
	void *done_arg;
};

/* Sides of a queue pair. */
enum bf_replay_side { BF_REPLAY_SEND, BF_REPLAY_RECV };

/* A completion, reduced to what is compared. */
struct bf_replay_cqe {
	uint8_t opcode;     /* enum bf_mlx5_cqe_opcode */
	uint8_t wqe_opcode; /* requester only */
	uint8_t syndrome, vendor;
	uint32_t qpn;
	uint16_t counter;
	uint32_t byte_count, imm;
	uint64_t time_ps; /* captured: when the recorder saw it; simulated: when memory held it */
	uint32_t number;  /* in its queue, from the first: as the capture says, or as polled */
	uint32_t line;    /* of the capture; 0 in simulated ones */
};

enum bf_replay_verdict {
	BF_REPLAY_MISSING,   /* captured, never simulated */
	BF_REPLAY_LATE,      /* simulated, but not where the capture had it: the device had nothing left to do */
	BF_REPLAY_EXTRA,     /* simulated, not captured */
	BF_REPLAY_SWAPPED,   /* this one and the next changed places */
	BF_REPLAY_DIFFERENT, /* a field differs */
	BF_REPLAY_NUMBERING, /* the capture's own running number jumps */
};

struct bf_replay_divergence {
	enum bf_replay_verdict verdict;
	uint32_t cqn, number;                     /* place in the queue */
	struct bf_replay_cqe captured, simulated; /* the one that is not there is zero */
	char text[240];                           /* what differs, with both values, or why there is none */
};

/* One row of the summary: one side of one queue pair. */
struct bf_replay_queue {
	uint32_t qpn, cqn, depth;
	enum bf_replay_side side;
	uint32_t entries;             /* captured */
	uint32_t stand_ins;           /* posted in place of entries that the capture lacks */
	uint32_t doorbells;           /* send side: rung as captured */
	uint32_t unrung;              /* send side: captured entries that no doorbell of the capture covers */
	uint32_t captured, simulated; /* completions */
	uint32_t errors;              /* simulated completions that are errors */
	uint32_t divergences;
	bool made_up_peer;
};

/* Why the life of an entry says most: the first of these that there is. */
enum bf_replay_example {
	BF_REPLAY_EXAMPLE_NONE,
	BF_REPLAY_EXAMPLE_DIVERGED, /* the first send entry with a divergence */
	BF_REPLAY_EXAMPLE_FAILED,   /* the first with an error completion */
	BF_REPLAY_EXAMPLE_UNRUNG,   /* the first that no doorbell covers */
	BF_REPLAY_EXAMPLE_SENT,     /* the first with a completion */
	BF_REPLAY_EXAMPLE_PEER,     /* what the peer sent for the first receive */
};

struct bf_replay_result {
	struct bf_replay_queue *queues;
	size_t nqueues;
	struct bf_replay_divergence *divergences;
	size_t ndivergences;
	uint32_t captured, simulated; /* completions in all */
	uint64_t time_ps, events, records, hash;
	uint64_t packets; /* sent by both devices */
	enum bf_replay_example example;
	uint32_t example_qpn; /* of the peer's queue pair with BF_REPLAY_EXAMPLE_PEER */
	uint16_t example_index;
};

/*
 * Replays `c`. Returns 0 with the comparison in `*out` (free with bf_replay_free()), -EBADMSG when the capture does not
 * add up (with the line), -E2BIG when it needs more memory than a replay may have, -ENOTSUP for a capture of both
 * ends that begins in the middle of a receive queue, or another negative errno; `err` says what. Divergences are no
 * error. One thread.
 */
int bf_replay_run(const struct bf_capture *c, const struct bf_replay_opts *opts, struct bf_replay_result **out,
		  struct bf_error *err);
void bf_replay_free(struct bf_replay_result *r);

const char *bf_replay_verdict_name(enum bf_replay_verdict v); /* "missing", "late", ... */

#endif
