/*
 * Completion queues as their pollers read them: which completions some thread has seen, and how many a consumer says it
 * has taken. For drivers that say nothing of what they do, and of queues whose completions go round (not collapsed).
 */
#ifndef BELFRY_TRACES_RULES_MLX5_POLLS_H
#define BELFRY_TRACES_RULES_MLX5_POLLS_H

#include "traces/rules/mlx5/cqs.h"

#define BF_MLX5_POLLERS 1024u

struct bf_mlx5_rule_polled_cq {
	uint32_t pe, unit, cqn, cqes, size; /* cqes 0: this place is free */
	struct bf_ring *area;               /* its memory, known from the first completion on */
	struct bf_rule_queue *queue;        /* of the last completion */
	uint64_t written;                   /* completions */
	uint64_t seen;                      /* those below were loaded by some thread */
	uint64_t loads;                     /* that found a completion */
	/* A thread looked here and not at those from `seen` on, which nobody has looked at since (skipped > 0). */
	uint64_t ahead, skipped, ahead_ps, ahead_record;
	uint32_t ahead_actor;
	uint64_t title; /* of the last compressed block, plus one; 0: the last completion stands for itself */
	uint64_t dbrec; /* where the consumer says how many it has taken; 0: not known yet, */
	uint64_t maybe; /* but perhaps here */
	uint32_t maybe_value;
	struct bf_mlx5_rule_cq_slot {
		struct bf_rule_queue *queue;
		uint64_t done; /* entries of that queue below were complete */
		uint64_t
		    title; /* it holds short entries of this compressed block, plus one, and nobody has stored here */
	} * slots;         /* owned; [cqes] */
};

/* What a thread saw when it looked last, and where it waits. By number; of two that share a place the later counts. */
struct bf_mlx5_rule_poller {
	uint32_t actor, cq, slot; /* cq: its place plus one; 0: the last load was elsewhere */
	uint64_t load_va, value, load_ps;
	uint32_t load_len;
	uint64_t wait_va, wait_ps, wait_record; /* 0: it does not wait */
	bool wait_more;                         /* it waits at other lines as well */
	/* The first error that it has read, and of which queue. */
	struct bf_rule_queue *error;
	uint64_t error_index, error_ps, error_record;
	/* Where it first looked for a completion inside of a compressed block. */
	struct bf_rule_queue *inside;
	uint64_t inside_number, title, inside_ps, inside_record;
	uint32_t inside_cqn;
};

struct bf_mlx5_rule_polls {
	struct bf_mlx5_rule_polled_cq cq[BF_MLX5_CQS]; /* by hash */
	struct bf_mlx5_rule_poller poller[BF_MLX5_POLLERS];
	bool blocks; /* some CQ has compressed ones */
	/* A store that says more were taken than there are (BF_MLX5_TOOK_EARLY). */
	const struct bf_mlx5_rule_polled_cq *early;
	uint32_t early_taken;
};

void bf_mlx5_rule_note_polls(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e);
void bf_mlx5_rule_forget_polls(struct bf_mlx5_rule_polls *p);

/* Of the run. */
const struct bf_mlx5_rule_polls *bf_mlx5_rule_polls_of(struct bf_rules *r);
const struct bf_mlx5_rule_polled_cq *bf_mlx5_rule_polled(const struct bf_mlx5_rule_polls *p,
							 const struct bf_rule_queue *of, uint32_t cqn);

/* A thread that waits at the slot and has not ended; NULL. Known at the end only. */
const struct bf_mlx5_rule_poller *bf_mlx5_rule_awaited_slot(struct bf_rules *r, const struct bf_mlx5_rule_polled_cq *cq,
							    uint64_t slot);

/* The completion that was written to a slot last; false: none was. */
bool bf_mlx5_rule_last_in(const struct bf_mlx5_rule_polled_cq *cq, uint64_t slot, uint64_t *number);

#endif
