/* What rules keep of the completion queues of a run: how each was set up. */
#ifndef BELFRY_TRACES_RULES_MLX5_CQS_H
#define BELFRY_TRACES_RULES_MLX5_CQS_H

#include "traces/rules/mlx5/mlx5.h"

#define BF_MLX5_CQS 1024u

struct bf_mlx5_rule_cq {
	uint32_t pe, unit, cqn, cqes;
	bool known, collapsed, overrun_ignore;
};

/* By hash; of two that share a place the later one is kept. */
struct bf_mlx5_rule_cqs {
	struct bf_mlx5_rule_cq cq[BF_MLX5_CQS];
};

static inline uint32_t bf_mlx5_rule_cq_place(uint64_t pe, uint64_t unit, uint64_t cqn)
{
	return (uint32_t)((pe << 28 ^ unit << 24 ^ cqn) * 0x9e3779b97f4a7c15ull >> 40) % BF_MLX5_CQS;
}

static inline void bf_mlx5_rule_note_cq(struct bf_mlx5_rule_cqs *s, const struct bf_seen *e)
{
	s->cq[bf_mlx5_rule_cq_place(e->pe, e->unit, e->cq_config.cqn)] =
	    (struct bf_mlx5_rule_cq){ .pe = e->pe,
				      .unit = e->unit,
				      .cqn = (uint32_t)e->cq_config.cqn,
				      .cqes = (uint32_t)e->cq_config.cqes,
				      .known = true,
				      .collapsed = e->cq_config.collapsed != 0,
				      .overrun_ignore = e->cq_config.overrun_ignore != 0 };
}

/* That of a queue pair's device; NULL: nothing is known of it. */
static inline const struct bf_mlx5_rule_cq *bf_mlx5_rule_find_cq(const struct bf_mlx5_rule_cqs *s,
								 const struct bf_rule_queue *of, uint32_t cqn)
{
	const struct bf_mlx5_rule_cq *cq = &s->cq[bf_mlx5_rule_cq_place(of->pe, of->unit, cqn)];

	return cq->known && cq->pe == of->pe && cq->unit == of->unit && cq->cqn == cqn ? cq : NULL;
}

#endif
