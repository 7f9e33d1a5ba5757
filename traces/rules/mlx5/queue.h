/* How facts of a queue pair come about (mlx5.h has them). */
#ifndef BELFRY_TRACES_RULES_MLX5_QUEUE_H
#define BELFRY_TRACES_RULES_MLX5_QUEUE_H

#include "traces/rules/mlx5/mlx5.h"

#define BF_MLX5_READS 64u

/* A DMA read that may have been of a doorbell record. */
struct bf_mlx5_rule_dbrec_read {
	uint64_t va, sampled_ps, done_ps, record;
	uint32_t pe;
	uint16_t producer;
};

/* The last ones of a run. */
struct bf_mlx5_rule_reads {
	struct bf_mlx5_rule_dbrec_read read[BF_MLX5_READS];
	uint32_t n; /* in all */
};

/* A dma_read record. */
void bf_mlx5_rule_note_read(struct bf_mlx5_rule_reads *reads, const struct bf_seen *e);

/* A record of the queue pair e->queue. */
void bf_mlx5_rule_note_queue(struct bf_rules *r, const struct bf_mlx5_rule_reads *reads, const struct bf_seen *e);

#endif
