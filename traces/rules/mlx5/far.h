/* What the other end of a connection recorded: a requester's error says that it was refused, the responder says why. */
#ifndef BELFRY_TRACES_RULES_MLX5_FAR_H
#define BELFRY_TRACES_RULES_MLX5_FAR_H

#include "traces/rules/mlx5/mlx5.h"

/* Takes in what a responder records: refusals, packets that it dropped, its path. */
void bf_mlx5_rule_note_answer(struct bf_mlx5_rule_queue *q, const struct bf_seen *e);

/* The queue pair at the other end; NULL: the trace does not have it, or knows nothing of the connection. */
struct bf_rule_queue *bf_mlx5_rule_far(struct bf_rules *r, const struct bf_rule_queue *queue);

/*
 * A queue pair at the address that this one sends to, which names this one as its peer though this one names another:
 * the one that was meant. NULL: there is none.
 */
struct bf_rule_queue *bf_mlx5_rule_meant(struct bf_rules *r, const struct bf_rule_queue *queue);

/* Adds where the set-up of both ends of a connection disagrees. */
void bf_mlx5_rule_compare(struct bf_finding *f, const struct bf_rule_queue *queue, const struct bf_rule_queue *far);

/* Adds to a finding about a requester's error what the other end recorded, and where both sides disagree. */
void bf_mlx5_rule_say_far(struct bf_rules *r, struct bf_finding *f, struct bf_rule_queue *queue);

/*
 * A qp_error record of a requester whose retries ran out: finds it, if the peer dropped its last packets for `why`
 * (enum bf_rdma_drop); `sentence` says what that means.
 */
void bf_mlx5_rule_dropped_for(struct bf_rule_run *r, const struct bf_seen *e, uint8_t why, const char *sentence);

/* The same at the end, for a queue pair that waits for an acknowledgement when nothing more comes. */
void bf_mlx5_rule_drops_for(struct bf_rule_run *r, struct bf_rule_queue *queue, uint8_t why, const char *sentence);

#endif
