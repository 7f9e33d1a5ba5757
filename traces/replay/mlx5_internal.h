/*
 * What the parts of a replay share. In the order of the work: mlx5_plan.c reads the capture into
 * queues, mlx5_plan_memory.c into memory and keys, mlx5_world.c builds devices for them, mlx5.c walks the capture,
 * mlx5_compare.c judges.
 */
#ifndef BELFRY_TRACES_REPLAY_MLX5_INTERNAL_H
#define BELFRY_TRACES_REPLAY_MLX5_INTERNAL_H

#include "sim/mem.h"
#include "traces/replay/mlx5.h"

struct bf_mlx5_sge;

/* A captured send entry. `at` is its first WQEBB, counted on past 2^16. */
struct bf_replay_entry {
	const struct bf_capture_event *ev;
	uint64_t at;
	uint32_t blocks;
	uint8_t opcode;
	uint8_t outcome; /* syndrome of its captured completion, 0 = none or good */
};

/* Memory that entries reach: sorted and merged once all are known. */
struct bf_replay_span {
	uint64_t lo, hi;
};
struct bf_replay_spans {
	struct bf_replay_span *span;
	size_t count, cap;
};

/* The made-up end of a connection. */
struct bf_replay_peer {
	uint32_t qpn;
	struct bf_region *ring;
	uint8_t *dbrec;
	uint32_t sq_mask, rq_mask;
	uint16_t sq_producer, rq_producer;
};

/* Its entries go in where the capture has them, which is when their places were free. */
struct bf_replay_srq {
	const struct bf_capture_srq *cap;
	struct bf_region *ring;
	uint8_t *dbrec;
	uint32_t number; /* of the model's */
	uint32_t entries, posted;
};

struct bf_replay_qp {
	const struct bf_capture_qp *cap;
	struct bf_replay_srq *srq; /* NULL: it has receives of its own */
	uint32_t line;
	struct bf_replay_qp *loop; /* the other end, when captured too */
	struct bf_replay_peer *peer;
	bool sends;     /* has doorbells, so it must reach RTS */
	bool rnr_error; /* a captured completion says that receiver-not-ready retries ran out */
	/* Send queue. */
	struct bf_replay_entry *entries;
	size_t nentries, entries_cap, next_entry;
	uint64_t producer; /* blocks rung so far */
	/* Where the capture begins, in the middle of the queue's life: blocks and receives before are unknown. */
	uint32_t sq_base, rq_base;
	bool sq_begun, rq_begun, rq_lines; /* rq_lines: an entry of the receive queue has had a line */
	uint32_t messages, received;       /* so far: sent in the capture, and received that were sent in it */
	int64_t in_flight;                 /* received in the capture, less than what its other end has sent in it */
	uint32_t doorbells, send_stand_ins;
	/* Receive queue: entries by running number; NULL where the capture has none. */
	const struct bf_capture_event **recv;
	uint32_t nrecv, recv_cap, recv_captured, recv_posted, recv_consumed;
	uint64_t send_last; /* running counter of the last captured completion */
	struct bf_region *ring;
	uint8_t *dbrec;
};

struct bf_replay_cq {
	uint32_t cqn, entries;
	struct bf_region *ring;
	uint8_t *dbrec;
	uint32_t consumer;
	struct bf_replay_cqe *captured, *simulated;
	uint32_t ncaptured, captured_cap, nsimulated, simulated_cap;
	uint32_t seen;                  /* captured ones that the walk has passed */
	uint32_t late_from, late_count; /* stretch of `captured` that was not there in time */
	uint64_t late_producer;         /* blocks rung on the late one's queue pair by then */
};

struct bf_replay_key {
	uint32_t key, access;
	uint64_t lo, hi;
	bool listed; /* by the capture; otherwise implied by an entry */
};
struct bf_replay_keys {
	struct bf_replay_key *key;
	size_t count, cap;
};

/* One device and the host that it serves. [0] is the captured side, [1] the made-up one. */
struct bf_replay_side_state {
	struct bf_space space;
	struct bf_ioas ioas;
	bool space_ready, ioas_ready;
	struct bf_mlx5 *dev;
	struct bf_region *records; /* doorbell records, 8 bytes each */
	uint32_t records_used;
	struct bf_region *uar;
	uint32_t uar_page, pd;
	struct bf_replay_spans memory;
	struct bf_replay_keys keys;
	struct bf_region *scratch; /* peer: what it sends and where messages go; ours: where its WRITE_IMMs go */
	uint32_t scratch_key;
	uint32_t ipv4;
};

struct bf_replay {
	const struct bf_capture *capture;
	const struct bf_replay_opts *opts;
	struct bf_error *err;
	struct bf_sim *sim;
	struct bf_capture_actors actors; /* of the captured events in the record stream */
	struct bf_event tick;
	struct bf_fabric *fabric;
	struct bf_replay_side_state host[2];
	bool needs_peer;
	uint32_t peer_cqn, max_scratch;
	uint32_t mtu;
	struct bf_replay_qp *qps;
	size_t nqps;
	struct bf_replay_cq *cqs;
	size_t ncqs;
	struct bf_replay_srq *srqs;
	size_t nsrqs;
	struct bf_replay_result *result;
};

/* mlx5_plan.c */
int bf_replay_no_memory(struct bf_replay *r); /* -ENOMEM, said */
/* Counts on from `last` to the number whose low 16 bits are `low`: at most half the circle away. */
uint64_t bf_replay_unwrap(uint64_t last, uint32_t low);
int bf_replay_plan(struct bf_replay *r);
void bf_replay_plan_free(struct bf_replay *r);
struct bf_replay_qp *bf_replay_find_qp(const struct bf_replay *r, uint32_t qpn);
struct bf_replay_cq *bf_replay_find_cq(const struct bf_replay *r, uint32_t cqn);
struct bf_replay_srq *bf_replay_find_srq(const struct bf_replay *r, uint32_t srqn);
void bf_replay_read_cqe(const uint8_t *bytes, struct bf_replay_cqe *out);
/* A completion of an entry in front of the capture's first one: nothing to compare. */
bool bf_replay_is_earlier(const struct bf_replay *r, const struct bf_replay_cqe *c);
enum bf_replay_side bf_replay_cqe_side(const struct bf_replay_cqe *c);
/* Whether a message of this opcode consumes a receive. */
bool bf_replay_takes_receive(uint8_t opcode);

/* mlx5_plan_memory.c */
struct bf_replay_key *bf_replay_find_key(const struct bf_replay_keys *keys, uint32_t key);
/* Memory behind scatter/gather entries. What no key allows needs none: the device will not get that far. */
int bf_replay_plan_sges(struct bf_replay *r, const struct bf_mlx5_sge *sge, uint32_t n);
int bf_replay_plan_key(struct bf_replay *r, const struct bf_capture_event *ev);
int bf_replay_plan_memory(struct bf_replay *r); /* once all entries are known */

/* mlx5_world.c */
int bf_replay_world_open(struct bf_replay *r);
void bf_replay_world_close(struct bf_replay *r);
/* A key takes the meaning that a later line of the capture gives it. */
int bf_replay_change_key(struct bf_replay *r, const struct bf_capture_mkey *m);

/* mlx5_compare.c */
int bf_replay_compare(struct bf_replay *r);

#endif
