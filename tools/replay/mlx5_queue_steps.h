/*
 * What a trace says of the queue pairs of mlx5: the entries that each was given, and the completions that came of them,
 * in order. For those who compare two traces.
 */
#ifndef BELFRY_TOOLS_REPLAY_MLX5_QUEUE_STEPS_H
#define BELFRY_TOOLS_REPLAY_MLX5_QUEUE_STEPS_H

#include "traces/container/trace.h"

/* An entry as it was fetched. */
struct bf_queue_entry {
	uint8_t bytes[64]; /* its beginning, without the queue pair's number */
	uint32_t len;      /* of that */
	uint32_t length;   /* payload */
	uint16_t index;
	uint8_t opcode, flags; /* flags: fence, completion, solicited */
};

struct bf_queue_completion {
	uint32_t byte_cnt; /* 0 of an error, which has none */
	uint32_t cq;       /* index in bf_queue_side.cq; UINT32_MAX: the trace does not say which */
	uint16_t index;
	uint8_t opcode, wqe_opcode, syndrome;
	uint8_t op_own; /* as it stands in the CQE; 0 in traces without its bytes */
};

struct bf_queue_entries {
	struct bf_queue_entry *at;
	size_t n, cap;
};

struct bf_queue_completions {
	struct bf_queue_completion *at;
	size_t n, cap;
};

struct bf_step_queue {
	char device[32];
	uint32_t remote, nth; /* address, and how many queue pairs of the device to it came before */
	uint32_t qpn, send_cqn, recv_cqn, pd;
	bool connected, matched; /* matched: for the comparer, false at first */
	struct bf_queue_entries entries;
	struct bf_queue_completions completions;
};

struct bf_queue_cq {
	char device[32];
	uint32_t cqn;
	uint32_t entries;
	uint32_t feeder; /* the queue pair whose completions it has; UINT32_MAX: none yet */
	bool shared;     /* it has those of several */
};

/* One trace, read to its end; queue pairs and completion queues in order of their making. */
struct bf_queue_side {
	struct bf_step_queue *queue;
	size_t n, cap;
	struct bf_queue_cq *cq;
	size_t ncqs, cqs_cap;
	const char *layout; /* as the trace's command says it */
	uint32_t npes, rcs; /* rcs: connections to each PE */
};

/* Reads what is left of `t` into `s`, zeroed before. 0, or a negative errno with `err` set; free it in any case. */
int bf_queue_side_read(struct bf_trace *t, struct bf_queue_side *s, struct bf_error *err);
void bf_queue_side_free(struct bf_queue_side *s);

/* "nic0 to 10.0.0.2 #0" */
void bf_queue_name(const struct bf_step_queue *q, char *buf, size_t cap);

#endif
