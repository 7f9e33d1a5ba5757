/* Where a send ring and its doorbell record lie, as facts of a queue pair. */
#ifndef BELFRY_TRACES_RULES_MLX5_RING_H
#define BELFRY_TRACES_RULES_MLX5_RING_H

#include "traces/rules/mlx5/mlx5.h"

/* Slots for a ring of so many WQEBBs; a depth that no ring has, or lack of memory, changes nothing. */
void bf_mlx5_rule_set_depth(struct bf_mlx5_rule_queue *q, uint64_t depth);

/* ibgda_build and ibgda_post: the stores just before tell where the ring is, and the record. */
void bf_mlx5_rule_find_ring(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e);
void bf_mlx5_rule_find_dbrec(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e);

/* Stored before the queue was made, an index that another one's record had there; a 0 may be this one's beginning. */
bool bf_mlx5_rule_of_another(const struct bf_mlx5_rule_queue *q, const struct bf_store *s);

/* Of a driver that says nothing: the ring is where the device has it, the record where it has read one. */
void bf_mlx5_rule_assume_ring(struct bf_rules *r, struct bf_rule_queue *queue);
void bf_mlx5_rule_learn_dbrec(struct bf_rules *r, struct bf_rule_queue *queue, uint64_t va);

/* A store, and one that becomes visible: perhaps of an entry or a doorbell record. */
void bf_mlx5_rule_note_store(struct bf_rules *r, const struct bf_seen *e);
void bf_mlx5_rule_note_visible(struct bf_rules *r, const struct bf_seen *e);
void bf_mlx5_rule_note_command(struct bf_rules *r, const struct bf_seen *e);

#endif
